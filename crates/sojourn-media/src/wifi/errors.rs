//! How often frames are lost at a signal-to-noise ratio: OFDM's modulations behind a convolutional code.
//!
//! Bit errors of a modulation in white noise (Proakis), and the union bound with the weights of the code's paths for what the
//! decoder leaves of them: Pei and Henderson, Validation of OFDM error rate model in ns-3, 2010. A receiver that sees all
//! streams apart is assumed, and one signal of which each stream has its part.

/// How bits are sent on a subcarrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Coding {
    /// Coded bits of a subcarrier and a symbol: 1, 2, 4, 6 or 8.
    pub bits: u32,
    /// Rate of the code: data bits over coded bits.
    pub rate: (u32, u32),
}

/// What a code's paths of growing distance weigh: the first distance, the step to the next one, and the weights.
type Paths = (i32, i32, &'static [f64]);

/// Of the code of constraint length 7 that is not punctured (Frenger et al., 1999).
const HALF: Paths =
    (10, 2, &[36.0, 211.0, 1_404.0, 11_633.0, 77_433.0, 502_690.0, 3_322_763.0, 21_292_910.0, 134_365_911.0]);
/// Punctured to 2/3 and to 3/4 (Frenger et al.).
const TWO_THIRDS: Paths =
    (6, 1, &[3.0, 70.0, 285.0, 1_276.0, 6_160.0, 27_128.0, 117_019.0, 498_860.0, 2_103_891.0, 8_784_123.0]);
const THREE_QUARTERS: Paths = (
    5,
    1,
    &[42.0, 201.0, 1_492.0, 10_469.0, 62_935.0, 379_644.0, 2_253_373.0, 13_073_811.0, 75_152_755.0, 428_005_675.0],
);
/// Punctured to 5/6 (Haccoun and Begin, 1989).
const FIVE_SIXTHS: Paths = (
    4,
    1,
    &[
        92.0,
        528.0,
        8_694.0,
        79_453.0,
        792_114.0,
        7_375_573.0,
        67_884_974.0,
        610_875_423.0,
        5_427_275_376.0,
        47_664_215_639.0,
    ],
);

impl Coding {
    /// The probability that a data bit is wrong at `snr`, a ratio.
    pub fn bit_errors(self, snr: f64) -> f64 {
        let coded = self.coded_errors(snr);
        let distance = libm::sqrt(4.0 * coded * (1.0 - coded));
        let (first, step, weights) = match self.rate {
            (1, 2) => HALF,
            (2, 3) => TWO_THIRDS,
            (3, 4) => THREE_QUARTERS,
            _ => FIVE_SIXTHS,
        };
        let (mut power, ratio) = (libm::pow(distance, f64::from(first)), libm::pow(distance, f64::from(step)));
        let mut sum = 0.0;
        for weight in weights {
            sum += weight * power;
            power *= ratio;
        }
        // Data bits per branch of the punctured code.
        (sum / (2.0 * f64::from(self.rate.0))).min(1.0)
    }

    /// The probability that a coded bit is wrong.
    fn coded_errors(self, snr: f64) -> f64 {
        match self.bits {
            1 => 0.5 * libm::erfc(libm::sqrt(snr)),
            2 => 0.5 * libm::erfc(libm::sqrt(snr / 2.0)),
            bits => {
                let points = f64::from(1u32 << bits);
                let side = libm::sqrt(points);
                let errors = libm::erfc(libm::sqrt(snr / (2.0 * (points - 1.0) / 3.0)));
                (side - 1.0) / (side * f64::from(bits) / 2.0) * errors
            }
        }
    }
}

/// The probability that one of the bits of `bytes` is wrong.
pub(super) fn frame_loss(bit_errors: f64, bytes: u32) -> f64 {
    if bit_errors >= 1.0 {
        return 1.0;
    }
    -libm::expm1(f64::from(bytes) * 8.0 * libm::log1p(-bit_errors))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coding(bits: u32, rate: (u32, u32)) -> Coding {
        Coding { bits, rate }
    }

    /// The SNR in dB at which a frame of 1500 bytes is lost in a tenth of all cases.
    fn needed_db(coding: Coding) -> f64 {
        let (mut low, mut high) = (-10.0, 60.0);
        for _ in 0..60 {
            let middle: f64 = (low + high) / 2.0;
            let lost = frame_loss(coding.bit_errors(libm::pow(10.0, middle / 10.0)), 1536);
            if lost > 0.1 { low = middle } else { high = middle }
        }
        low
    }

    /// Q functions from tables: erfc(1) = 0.157299, erfc(2) = 0.00467773.
    #[test]
    fn coded_bits_are_those_of_the_modulation() {
        let close = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-5, "{found} {expected}");
        close(coding(1, (1, 2)).coded_errors(1.0), 0.157_299_2 / 2.0);
        close(coding(2, (1, 2)).coded_errors(2.0), 0.157_299_2 / 2.0);
        close(coding(4, (1, 2)).coded_errors(10.0), 0.375 * 0.157_299_2);
        close(coding(6, (1, 2)).coded_errors(42.0), 7.0 / 24.0 * 0.157_299_2);
        close(coding(8, (1, 2)).coded_errors(170.0), 15.0 / 64.0 * 0.157_299_2);
        close(coding(1, (1, 2)).coded_errors(4.0), 0.004_677_735 / 2.0);
    }

    /// The first term alone where errors are rare: with a coded error rate p it is 18 (4 p)^5 at rate 1/2.
    #[test]
    fn what_the_decoder_leaves_is_the_union_bound() {
        let snr = 5.0;
        let coded = 0.5 * libm::erfc(libm::sqrt(snr));
        let found = coding(1, (1, 2)).bit_errors(snr);
        let first = 18.0 * libm::pow(4.0 * coded * (1.0 - coded), 5.0);
        assert!(found > first && found < 1.05 * first, "{found} {first}");
        assert_eq!(coding(8, (5, 6)).bit_errors(1.0), 1.0);
        assert_eq!(frame_loss(1.0, 1), 1.0);
        assert_eq!(frame_loss(0.0, 65_535), 0.0);
        assert!((frame_loss(1e-5, 125) - (1.0 - libm::pow(1.0 - 1e-5, 1000.0))).abs() < 1e-12);
    }

    /// Faster modulations need more, and twice the bits of a symbol between 3 and 8 dB.
    #[test]
    fn faster_rates_need_more() {
        let all: Vec<f64> = [
            (1, (1, 2)),
            (2, (1, 2)),
            (2, (3, 4)),
            (4, (1, 2)),
            (4, (3, 4)),
            (6, (2, 3)),
            (6, (3, 4)),
            (6, (5, 6)),
            (8, (3, 4)),
            (8, (5, 6)),
        ]
        .map(|(bits, rate)| needed_db(coding(bits, rate)))
        .to_vec();
        assert!(all.is_sorted(), "{all:?}");
        assert!((all[1] - all[0] - 3.01).abs() < 0.01, "QPSK is two BPSKs: {all:?}");
        assert!(all[0] > 3.0 && all[0] < 5.0 && all[7] > 22.0 && all[7] < 25.0, "{all:?}");
    }
}
