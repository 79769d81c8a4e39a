//! The E-model of ITU-T G.107, with all that does not depend on the network at its default: R = 93.2 - Id - Ie,eff.

/// R without delay and loss (G.107: all parameters at their defaults).
const DEFAULT_R: f64 = 93.2;

/// Id, of which only Idd is left without echo: `delay_ms` from mouth to ear (G.107 equations 7-27 and 7-28).
fn delay_impairment(delay_ms: f64) -> f64 {
    if delay_ms <= 100.0 {
        return 0.0;
    }
    let x = libm::log2(delay_ms / 100.0);
    let bend = |x: f64| libm::pow(1.0 + libm::pow(x, 6.0), 1.0 / 6.0);
    25.0 * (bend(x) - 3.0 * bend(x / 3.0) + 2.0)
}

/// Ie,eff of a codec with `ie` and `bpl` where the share `loss` of all packets is lost, independently of each other:
/// BurstR is 1 (G.107 equation 7-29).
fn equipment_impairment((ie, bpl): (f64, f64), loss: f64) -> f64 {
    let percent = 100.0 * loss;
    ie + (95.0 - ie) * percent / (percent + bpl)
}

/// The transmission rating R, 0 to 100.
pub fn rating(quality: (f64, f64), delay_ms: f64, loss: f64) -> f64 {
    (DEFAULT_R - delay_impairment(delay_ms) - equipment_impairment(quality, loss)).clamp(0.0, 100.0)
}

/// The mean opinion score that goes with R (G.107 Annex B).
pub fn opinion(r: f64) -> f64 {
    // Between R = 0 and 6.5 the polynomial dips below 1, the worst there is.
    (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "found {found}, expected {expected}");
    }

    /// G.107 Table B.1: the lower limits of the classes of user satisfaction. Its 4.03 is 4.024 by its own formula.
    #[test]
    fn opinions_of_the_table() {
        for (r, mos) in [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58)] {
            close(opinion(r), mos, 0.0065);
        }
        assert_eq!((opinion(0.0), opinion(100.0)), (1.0, 4.5));
        close(opinion(DEFAULT_R), 4.41, 0.005);
    }

    /// Worked by hand: at 200 ms X is 1, at 400 ms 2.
    #[test]
    fn impairment_by_delay() {
        assert_eq!((delay_impairment(0.0), delay_impairment(100.0)), (0.0, 0.0));
        let sixth = |x: f64| x.powf(1.0 / 6.0);
        close(delay_impairment(200.0), 25.0 * (sixth(2.0) - 3.0 * sixth(1.0 + 1.0 / 729.0) + 2.0), 1e-9);
        close(delay_impairment(200.0), 3.04, 0.01);
        close(delay_impairment(400.0), 25.0 * (sixth(65.0) - 3.0 * sixth(1.0 + 64.0 / 729.0) + 2.0), 1e-9);
        close(delay_impairment(400.0), 24.08, 0.05);
    }

    /// A published table of Ie at 2 % loss: 7 for G.711 with concealment, 19 for G.729A with voice activity detection.
    #[test]
    fn impairments_at_two_percent() {
        close(equipment_impairment((0.0, 25.1), 0.02), 7.0, 0.05);
        close(equipment_impairment((11.0, 19.0), 0.02), 19.0, 0.05);
    }

    /// No loss leaves Ie; as much loss in percent as Bpl leaves half of what is left to 95.
    #[test]
    fn impairment_by_loss() {
        assert_eq!(equipment_impairment((11.0, 19.0), 0.0), 11.0);
        close(equipment_impairment((11.0, 19.0), 0.19), 11.0 + 42.0, 1e-9);
        close(equipment_impairment((0.0, 25.1), 0.01), 95.0 / 26.1, 1e-9);
        close(rating((0.0, 25.1), 50.0, 0.0), 93.2, 1e-9);
        assert_eq!(rating((0.0, 25.1), 5000.0, 1.0), 0.0);
    }
}
