//! The delay up to which the path lets a queue grow, learnt from losses, and the target that follows from it.
//!
//! Sojourn's own: RFC 6817 has one target, whatever the queue can hold. LEDBAT yields to a loss-based flow only where that
//! flow drives the delay above the target. What ends the growth of such a flow is a loss or a mark, from a full buffer or from
//! an AQM. So the delay at losses is the top of the range in which the target must lie.
//!
//! 1. A loss or mark met the greatest delay of this round trip and the one before.
//! 2. The ceiling is the mean of these delays, in which a new one weighs an eighth, as in the smoothed round-trip time of
//!    RFC 6298 (section 2.3, alpha). The first one is the ceiling at once.
//! 3. The target is a part of the ceiling, and never above what it is without a ceiling.

use sojourn_core::{Span, Time};

/// What a new loss weighs.
const WEIGHT: f64 = 0.125;

/// The delay at losses.
#[derive(Clone, Debug)]
pub(super) struct Ceiling {
    part: f64,
    /// Step 2, in nanoseconds.
    nanos: Option<f64>,
    /// The greatest delay of this round trip, and of the one before.
    greatest: [i64; 2],
    round_ends: Time,
}

impl Ceiling {
    /// Nothing is known of it; the target is to be `part` of it.
    pub(super) fn new(part: f64) -> Ceiling {
        Ceiling { part, nanos: None, greatest: [0; 2], round_ends: Time::ZERO }
    }

    /// A delay was measured.
    pub(super) fn sample(&mut self, queueing_nanos: i64, now: Time, smoothed_rtt: Span) {
        if now >= self.round_ends {
            // After a silence of more than a round trip nothing is known of the one before.
            let before = if now.since(self.round_ends) < smoothed_rtt { self.greatest[0] } else { 0 };
            (self.greatest, self.round_ends) = ([0, before], now + smoothed_rtt);
        }
        self.greatest[0] = self.greatest[0].max(queueing_nanos);
    }

    /// Steps 1 and 2: a packet was lost or marked.
    pub(super) fn met(&mut self) {
        let delay = self.greatest[0].max(self.greatest[1]) as f64;
        self.nanos = Some(self.nanos.map_or(delay, |ceiling| ceiling + WEIGHT * (delay - ceiling)));
    }

    /// Step 3.
    pub(super) fn target_nanos(&self, most: f64, least: f64) -> f64 {
        self.nanos.map_or(most, |ceiling| (self.part * ceiling).max(least).min(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(50);
    const MOST: f64 = 100e6;
    const LEAST: f64 = 1e5;

    /// A ceiling that has seen delays, in milliseconds, 10 ms after one another.
    fn seen(millis: &[i64]) -> Ceiling {
        let mut ceiling = Ceiling::new(0.25);
        for (at, delay) in (0..).zip(millis) {
            ceiling.sample(delay * 1_000_000, Time::ZERO + Span::from_millis(10) * at, RTT);
        }
        ceiling
    }

    fn target_ms(ceiling: &Ceiling) -> f64 {
        ceiling.target_nanos(MOST, LEAST) / 1e6
    }

    #[test]
    fn a_quarter_of_the_delay_at_the_first_loss_is_the_target() {
        let mut ceiling = seen(&[8, 20, 40, 36]);
        assert_eq!(target_ms(&ceiling), 100.0, "nothing was lost");
        ceiling.met();
        assert_eq!(target_ms(&ceiling), 10.0);
    }

    /// 40 + (8 - 40)/8 = 36, and 36 + (8 - 36)/8 = 32.5.
    #[test]
    fn later_losses_weigh_an_eighth() {
        let mut ceiling = seen(&[40]);
        ceiling.met();
        ceiling.sample(8_000_000, Time::ZERO + Span::from_secs(1), RTT);
        ceiling.met();
        assert_eq!(target_ms(&ceiling), 9.0);
        ceiling.met();
        assert_eq!(target_ms(&ceiling), 8.125);
    }

    #[test]
    fn a_loss_met_the_greatest_delay_of_two_round_trips() {
        let mut ceiling = seen(&[12, 3, 3, 3, 3, 2, 2]);
        ceiling.met();
        assert_eq!(target_ms(&ceiling), 3.0, "12 ms were in the round trip before");
        let mut ceiling = seen(&[12, 4, 4, 4, 4, 8, 4, 4, 4, 4, 4]);
        ceiling.met();
        assert_eq!(target_ms(&ceiling), 2.0, "12 ms are longer ago, 8 ms are not");
        let mut ceiling = seen(&[12]);
        ceiling.sample(4_000_000, Time::ZERO + Span::from_secs(9), RTT);
        ceiling.met();
        assert_eq!(target_ms(&ceiling), 1.0, "silence lies between");
    }

    #[test]
    fn the_target_stays_within_its_bounds() {
        for (delay, target) in [(0, 0.1), (-3, 0.1), (400, 100.0), (900, 100.0)] {
            let mut ceiling = seen(&[delay]);
            ceiling.met();
            assert_eq!(target_ms(&ceiling), target, "lost at {delay} ms");
        }
    }
}
