//! From the probability of the average (p_b) to that of a packet (p_a): drops are spread evenly (Floyd and Jacobson 1993,
//! section VII).

use super::descriptor::{BySize, Rule};
use sojourn_core::Stream;

/// What happened since the last drop.
#[derive(Debug)]
pub(crate) struct Spread {
    rule: Rule,
    by_size: BySize,
    mean_packet: u32,
    /// Arrivals since the last drop; -1 outside of the region where packets are dropped.
    count: i64,
    /// Their bytes.
    bytes: u64,
    /// The number that [`Rule::Threshold`] drew, in [0, 1).
    threshold: f64,
    /// To whole multiples of what that number is cut; 0 where it is not (Linux cuts: see [`Spread::cut_to`]).
    step: f64,
}

impl Spread {
    /// A spread that starts outside of the region where packets are dropped.
    pub(crate) fn new(rule: Rule, by_size: BySize, mean_packet: u32) -> Spread {
        Spread { rule, by_size, mean_packet, count: -1, bytes: 0, threshold: 0.0, step: 0.0 }
    }

    /// The same, with the number drawn for [`Rule::Threshold`] cut to a whole multiple of `step`.
    ///
    /// Linux compares count times the average's whole packets or bytes above min with a whole random number below
    /// (max - min)/max_p: in units of the latter's inverse, this step.
    pub(crate) fn cut_to(self, step: f64) -> Spread {
        Spread { step, ..self }
    }

    /// The average fell below the region where packets are dropped.
    #[inline]
    pub(crate) fn leave(&mut self) {
        self.count = -1;
        self.bytes = 0;
    }

    /// Whether no packet arrived in the region yet.
    #[inline]
    pub(crate) fn is_outside(&self) -> bool {
        self.count < 0
    }

    /// The first arrival in the region, which is not tested but counts (ns-2).
    pub(crate) fn arm(&mut self, bytes: u32) {
        self.count = 1;
        self.bytes = u64::from(bytes);
    }

    /// A packet was dropped or marked for another reason: the count restarts.
    pub(crate) fn restart(&mut self) {
        self.count = 0;
        self.bytes = 0;
    }

    /// The average is above the region: every packet is dropped. Linux draws anew when it comes back.
    pub(crate) fn force(&mut self) {
        self.restart();
        if self.rule == Rule::Threshold {
            self.leave();
        }
    }

    /// A packet arrives in the region at base probability `p`: whether to drop or mark it.
    pub(crate) fn test(&mut self, p: f64, bytes: u32, random: &mut Stream) -> bool {
        self.count += 1;
        self.bytes += u64::from(bytes);
        let hit = match self.rule {
            Rule::Threshold => self.reaches_threshold(p, bytes, random),
            _ => random.uniform() < self.spread(p, bytes),
        };
        if hit {
            self.restart();
            if self.rule == Rule::Threshold {
                self.threshold = random.uniform();
            }
        }
        hit
    }

    /// The probability for this packet (p_a), which is already counted, at base probability `p` (p_b).
    fn spread(&self, p: f64, bytes: u32) -> f64 {
        let scale = || f64::from(bytes) / f64::from(self.mean_packet);
        let p = if self.by_size == BySize::BeforeSpread { (p * scale()).min(1.0) } else { p };
        let count = match self.by_size {
            BySize::AfterSpread => (self.bytes / u64::from(self.mean_packet)) as f64,
            _ => self.count as f64,
        };
        let expected = count * p;
        let spread = match self.rule {
            Rule::Uniform if expected < 1.0 => p / (1.0 - expected),
            Rule::Wait if expected < 1.0 => 0.0,
            Rule::Wait if expected < 2.0 => p / (2.0 - expected),
            Rule::Uniform | Rule::Wait => 1.0,
            Rule::Independent | Rule::Threshold => p,
        };
        let scaled = if self.by_size == BySize::AfterSpread && spread < 1.0 { spread * scale() } else { spread };
        scaled.min(1.0)
    }

    fn reaches_threshold(&mut self, p: f64, bytes: u32, random: &mut Stream) -> bool {
        if self.count == 0 {
            self.threshold = random.uniform();
            return false;
        }
        let scale =
            if self.by_size == BySize::BeforeSpread { f64::from(bytes) / f64::from(self.mean_packet) } else { 1.0 };
        // A whole number of steps reaches the threshold cut to whole steps if one more would pass the threshold itself.
        self.count as f64 * p * scale + self.step >= self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gaps between drops, in packets of `bytes` bytes, at a constant base probability; the first gap is counted from
    /// the entry into the region.
    fn gaps(rule: Rule, by_size: BySize, p: f64, bytes: u32, drops: usize) -> Vec<u32> {
        let mut spread = Spread::new(rule, by_size, 500);
        let mut random = Stream::new(3, "gaps");
        let mut gap = 0;
        let mut gaps = Vec::new();
        while gaps.len() < drops {
            gap += 1;
            if spread.test(p, bytes, &mut random) {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        gaps
    }

    fn mean(gaps: &[u32]) -> f64 {
        gaps.iter().map(|&gap| f64::from(gap)).sum::<f64>() / gaps.len() as f64
    }

    fn range(gaps: &[u32]) -> (u32, u32) {
        (*gaps.iter().min().unwrap(), *gaps.iter().max().unwrap())
    }

    /// Asserts that each length of the range is about equally frequent.
    fn assert_uniform(gaps: &[u32]) {
        let (low, high) = range(gaps);
        let expected = gaps.len() as f64 / f64::from(high - low + 1);
        for length in low..=high {
            let found = gaps.iter().filter(|&&gap| gap == length).count() as f64;
            assert!((found - expected).abs() < 6.0 * expected.sqrt(), "{length}: {found}, expected {expected}");
        }
    }

    /// Method 2 of the paper makes gaps uniform on 1...1/p. Its algorithm increases count before it is used, so
    /// that this holds from the entry into the region (count -1), and gaps after a drop (count 0) are one shorter.
    #[test]
    fn uniform_gaps_of_floyd_and_jacobson() {
        let firsts: Vec<u32> = (0..50_000)
            .map(|seed| {
                let mut spread = Spread::new(Rule::Uniform, BySize::No, 500);
                let mut random = Stream::new(seed, "first gap");
                (1..).find(|_| spread.test(0.02, 500, &mut random)).unwrap()
            })
            .collect();
        assert_eq!(range(&firsts), (1, 50));
        assert!((mean(&firsts) - 25.5).abs() < 0.3, "{}", mean(&firsts));
        assert_uniform(&firsts);

        let later = &gaps(Rule::Uniform, BySize::No, 0.02, 500, 50_000)[1..];
        assert_eq!(range(later), (1, 49));
        assert!((mean(later) - 25.0).abs() < 0.3, "{}", mean(later));
        assert_uniform(later);
    }

    #[test]
    fn uniform_gaps_of_linux() {
        let gaps = &gaps(Rule::Threshold, BySize::No, 0.02, 500, 50_000)[1..];
        assert_eq!(range(gaps), (1, 50));
        assert!((mean(gaps) - 25.5).abs() < 0.3, "{}", mean(gaps));
        assert_uniform(gaps);
    }

    /// max_p 0.1 over 40 packets is a step of 1/400. At 8 packets above min, p 0.02, count * 8 reaches the whole part of
    /// X = 400 u: gaps are 1...50 still, but the first has the numbers below 9 for it, and the last those from 393 on.
    #[test]
    fn a_random_number_cut_to_whole_packets() {
        let mut spread = Spread::new(Rule::Threshold, BySize::No, 500).cut_to(0.1 / 40.0);
        let mut random = Stream::new(3, "gaps");
        let mut gap = 0;
        let mut gaps = Vec::new();
        while gaps.len() < 50_000 {
            gap += 1;
            if spread.test(0.02, 500, &mut random) {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        assert_eq!(range(&gaps[1..]), (1, 50));
        let share = |length| gaps.iter().filter(|&&gap| gap == length).count() as f64 / 50_000.0;
        assert!((share(1) - 9.0 / 400.0).abs() < 0.003, "{}", share(1));
        assert!((share(20) - 8.0 / 400.0).abs() < 0.003, "{}", share(20));
        assert!((share(50) - 7.0 / 400.0).abs() < 0.003, "{}", share(50));
    }

    #[test]
    fn waiting_gaps_of_ns2() {
        let gaps = &gaps(Rule::Wait, BySize::No, 0.02, 500, 50_000)[1..];
        assert_eq!(range(gaps).0, 50);
        assert!((99..=100).contains(&range(gaps).1));
        assert!((mean(gaps) - 75.0).abs() < 1.0, "{}", mean(gaps));
    }

    #[test]
    fn independent_drops_are_geometric() {
        let gaps = gaps(Rule::Independent, BySize::No, 0.02, 500, 50_000);
        assert!((mean(&gaps) - 50.0).abs() < 1.0, "{}", mean(&gaps));
        assert!(range(&gaps).1 > 200);
    }

    /// A packet of 1500 B counts as three of the 500 B that ns-2 expects, and its p is tripled: gaps
    /// are about 1/(3p) to 2/(3p) packets. The first packet that can be dropped is the 17th (51 units of 500 B).
    #[test]
    fn byte_mode_of_ns2_counts_units() {
        let gaps = &gaps(Rule::Wait, BySize::AfterSpread, 0.02, 1500, 50_000)[1..];
        assert_eq!(range(gaps).0, 17);
        assert!(range(gaps).1 <= 34);
        assert!((mean(gaps) - 25.0).abs() < 1.0, "{}", mean(gaps));
    }

    /// 40 B acknowledgements are worth a twelfth of a unit, so a drop falls on a byte of theirs about as often as on others.
    #[test]
    fn byte_mode_of_ns2_spares_acknowledgements() {
        let gaps = &gaps(Rule::Wait, BySize::AfterSpread, 0.02, 40, 2_000)[1..];
        assert!(range(gaps).0 >= 50 * 500 / 40);
        assert!((mean(gaps) / (75.0 * 500.0 / 40.0) - 1.0).abs() < 0.03, "{}", mean(gaps));
    }

    #[test]
    fn sizes_scale_the_probability() {
        let small = mean(&gaps(Rule::Independent, BySize::BeforeSpread, 0.02, 250, 50_000));
        let large = mean(&gaps(Rule::Independent, BySize::BeforeSpread, 0.02, 1000, 50_000));
        assert!((small / large - 4.0).abs() < 0.15, "{small} {large}");
    }

    #[test]
    fn certainty_is_certain_and_zero_never() {
        let mut random = Stream::new(1, "edge");
        for rule in [Rule::Uniform, Rule::Independent] {
            let mut spread = Spread::new(rule, BySize::No, 500);
            for _ in 0..100 {
                assert!(!spread.test(0.0, 1500, &mut random));
            }
            spread.leave();
            for _ in 0..100 {
                assert!(spread.test(1.0, 1500, &mut random));
            }
        }
    }
}
