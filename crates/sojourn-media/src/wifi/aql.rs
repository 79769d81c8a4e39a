//! Airtime queue limits (AQL): how much of what waits may be in the firmware, where no discipline sees it.
//!
//! Linux since 5.5, `ieee80211_txq_airtime_check` and `ieee80211_calc_expected_tx_airtime`.

use super::phy::Mode;
use super::setup::Category;
use sojourn_core::Span;

/// Expected air time of one receiver's packets below which more may come at any time (IEEE80211_DEFAULT_AQL_TXQ_LIMIT_L).
pub const LOW: Span = Span::from_micros(5_000);
/// The same while little is in the firmware for all receivers (IEEE80211_DEFAULT_AQL_TXQ_LIMIT_H).
pub const HIGH: Span = Span::from_micros(12_000);
/// What is little: expected air time of a device's packets of all categories (IEEE80211_AQL_THRESHOLD).
pub const THRESHOLD: Span = Span::from_micros(24_000);

/// Expected air time of what the firmware holds of one access category.
#[derive(Debug)]
pub struct Aql {
    category: Category,
    pending: Vec<Span>,
}

impl Aql {
    /// The firmware holds nothing for so many receivers.
    pub fn new(category: Category, receivers: usize) -> Aql {
        Aql { category, pending: vec![Span::ZERO; receivers] }
    }

    /// Whether one more packet for `receiver` may come, where all that the device's firmware holds takes `total`.
    pub fn admits(&self, receiver: usize, total: Span) -> bool {
        let pending = self.pending[receiver];
        pending < LOW || (total < THRESHOLD && pending < HIGH)
    }

    /// What the packets for `receiver` take.
    pub fn pending(&self, receiver: usize) -> Span {
        self.pending[receiver]
    }

    /// A packet of `bytes` has come for `receiver`; returns the air time that is expected of it.
    pub fn add(&mut self, receiver: usize, mode: &Mode, bytes: u32) -> Span {
        let expected = expected(mode, bytes, self.category);
        self.pending[receiver] += expected;
        expected
    }

    /// Packets of which `expected` was expected are gone.
    pub fn remove(&mut self, receiver: usize, expected: Span) {
        self.pending[receiver] -= expected;
    }
}

/// Bytes that are added to a packet (the code says: for its Ethernet header and more).
const ADDED_BYTES: u32 = 38;
/// Bytes of a packet from whose duration the length of aggregates is guessed (AVG_PKT_SIZE).
const AVERAGE_BYTES: u64 = 1_024;
/// The least that is expected.
const LEAST: Span = Span::from_micros(4);

/// What Linux expects a packet of `bytes` to take: its bits, and a part of the overhead of an aggregate, the length of which
/// is guessed from the rate. Voice is not aggregated.
fn expected(mode: &Mode, bytes: u32, category: Category) -> Span {
    let bytes = u64::from(bytes + ADDED_BYTES);
    let time = |bytes: u64| Span::from_nanos(bytes * 8 * 1_000_000_000 / mode.rate().bits_per_second());
    let shift = match (category, time(AVERAGE_BYTES).as_nanos() / 1_000) {
        (Category::Voice, _) => 0,
        (_, 401..) => 1,
        (_, 251..) => 2,
        (_, 151..) => 3,
        (_, 71..) => 4,
        _ => 5,
    };
    let overhead = mode.expected_overhead(shift);
    LEAST.max(time(bytes) + overhead)
}

#[cfg(test)]
mod tests {
    use super::super::phy::{Air, Standard};
    use super::*;

    fn expected_us(air: Air, rate: &str, bytes: u32, category: Category) -> u64 {
        expected(&air.mode(rate, 1).unwrap(), bytes, category).as_nanos() / 1_000
    }

    /// Reckoned by hand from the lengths of the tables in the kernel.
    #[test]
    fn expected_air_time_is_that_of_linux() {
        let short = Air { short_guard: true, ..Air::plain(Standard::N) };
        // 1538 B at 144.4 Mbit/s, and a thirty-second of 44 us.
        assert_eq!(expected_us(short, "mcs15", 1500, Category::BestEffort), 85 + 1);
        // At 7.2 Mbit/s aggregates of two are assumed: half of 40 us.
        assert_eq!(expected_us(short, "mcs0", 1500, Category::BestEffort), 1_703 + 20);
        assert_eq!(expected_us(short, "mcs0", 1500, Category::Voice), 1_703 + 40);
        // Older standards: preamble, SIFS, and the bits, nothing of which is shared.
        assert_eq!(expected_us(Air::plain(Standard::G), "54 Mbit/s", 1500, Category::BestEffort), 227 + 36);
        assert_eq!(expected_us(Air::plain(Standard::B), "11 Mbit/s", 1500, Category::BestEffort), 1_118 + 202);
        let ac = Air { width_mhz: 80, short_guard: true, ..Air::plain(Standard::Ac) };
        assert_eq!(expected(&ac.mode("mcs9", 4).unwrap(), 0, Category::BestEffort), LEAST);
    }

    #[test]
    fn a_receiver_may_have_more_while_others_have_little() {
        let mode = Air::plain(Standard::N).mode("mcs7", 1).unwrap();
        let mut aql = Aql::new(Category::BestEffort, 2);
        let fill = |aql: &mut Aql, receiver: usize, total: Span| {
            while aql.admits(receiver, total) {
                aql.add(receiver, &mode, 1500);
            }
            aql.pending(receiver)
        };
        let one = expected(&mode, 1500, Category::BestEffort);
        let least = fill(&mut aql, 0, THRESHOLD);
        assert!(least >= LOW && least < LOW + one);
        let most = fill(&mut aql, 0, THRESHOLD - one);
        assert!(most >= HIGH && most < HIGH + one);
        aql.remove(0, most);
        assert_eq!(aql.pending(0), Span::ZERO);
        assert_eq!(aql.pending(1), Span::ZERO);
    }
}
