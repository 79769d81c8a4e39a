//! HyStart++ against RFC 9406 section 4, HyStart against Linux and ns-3.

use super::*;
use crate::script::ack as ack_of;
use proptest::prelude::*;
use sojourn_core::Time;

const BASE: Span = Span::from_millis(100);

/// Leads slow start through rounds of `count` acknowledgements, `gap` apart.
struct Rounds {
    slow_start: SlowStart,
    now: Time,
    window: f64,
    least: Span,
}

impl Rounds {
    fn new(hystart: Hystart) -> Rounds {
        Rounds { slow_start: SlowStart::new(hystart), now: Time::from_nanos(1), window: 100.0, least: Span::MAX }
    }

    /// A round of acknowledgements with this RTT; after which of them slow start was over.
    fn round(&mut self, rtt: Span, count: u32, gap: Span) -> Option<u32> {
        self.now += rtt;
        self.least = self.least.min(rtt);
        let mut over = None;
        for number in 1..=count {
            let sent = Time::from_nanos(self.now.as_nanos() - rtt.as_nanos());
            let ack = Ack { rtt: Some(rtt), min_rtt: self.least, sent, ..ack_of(self.now, self.window, Span::ZERO) };
            if self.slow_start.is_over(&ack, self.window) && over.is_none() {
                over = Some(number);
            }
            self.now += gap;
        }
        // What the last acknowledgement released arrives a round trip later; so this round's time is over.
        self.now = Time::from_nanos(self.now.as_nanos() - gap.as_nanos());
        over
    }

    fn quick(&mut self, rtt: Span) -> Option<u32> {
        self.round(rtt, 8, Span::from_nanos(1))
    }

    fn growth(&self) -> f64 {
        self.slow_start.growth(4.0)
    }
}

/// RttThresh = max(4 ms, min(last/8, 16 ms)), and at the threshold the rise counts.
#[test]
fn a_rise_of_an_eighth_within_4_and_16_ms_begins_conservative_slow_start() {
    for (base, rise) in [(8, 4_000), (32, 4_000), (40, 5_000), (100, 12_500), (128, 16_000), (400, 16_000)] {
        let base = Span::from_millis(base);
        for (less, expected) in [(1, 4.0), (0, 1.0)] {
            let mut rounds = Rounds::new(Hystart::Rfc9406);
            rounds.quick(base);
            rounds.quick(base + Span::from_micros(rise - less));
            assert_eq!(rounds.growth(), expected, "{base} and {rise} us less {less}");
        }
    }
}

#[test]
fn seven_samples_are_not_enough() {
    let mut rounds = Rounds::new(Hystart::Rfc9406);
    rounds.quick(BASE);
    rounds.round(BASE * 2, 7, Span::from_nanos(1));
    assert_eq!(rounds.growth(), 4.0);
    rounds.quick(BASE * 3);
    assert_eq!(rounds.growth(), 1.0, "seven samples still make a minimum to compare with");
}

/// The first round has nothing to compare with.
#[test]
fn a_single_round_is_no_rise() {
    let mut rounds = Rounds::new(Hystart::Rfc9406);
    rounds.quick(BASE * 10);
    assert_eq!(rounds.growth(), 4.0);
}

/// Only the least RTT of a round counts: one fast acknowledgement calls the rise off.
#[test]
fn the_least_of_a_round_counts() {
    for (first, expected) in [(BASE * 2, 1.0), (BASE, 4.0)] {
        let mut rounds = Rounds::new(Hystart::Rfc9406);
        rounds.quick(BASE);
        rounds.round(first, 1, Span::ZERO);
        for _ in 0..7 {
            let old = Time::from_nanos(2);
            let ack = Ack { rtt: Some(BASE * 2), sent: old, ..ack_of(rounds.now, 100.0, Span::ZERO) };
            rounds.slow_start.is_over(&ack, 100.0);
        }
        assert_eq!(rounds.growth(), expected);
    }
}

/// Five rounds, that of the rise included, then congestion avoidance.
#[test]
fn conservative_slow_start_lasts_five_rounds() {
    let mut rounds = Rounds::new(Hystart::Rfc9406);
    rounds.quick(BASE);
    let over: Vec<_> = (0..6).map(|_| rounds.quick(BASE * 2)).collect();
    assert_eq!(over, [None, None, None, None, None, Some(1)]);
    assert_eq!(rounds.quick(BASE * 4), None, "and that was all of it");
    assert_eq!(rounds.growth(), 4.0);
}

/// An RTT below that at which it began: back to slow start, and a new rise begins it anew.
#[test]
fn a_spurious_rise_is_taken_back() {
    let mut rounds = Rounds::new(Hystart::Rfc9406);
    rounds.quick(BASE);
    rounds.quick(BASE * 2);
    rounds.quick(BASE * 2);
    assert_eq!(rounds.growth(), 1.0, "no fall");
    rounds.round(BASE * 2 - Span::from_nanos(1), 7, Span::from_nanos(1));
    assert_eq!(rounds.growth(), 1.0, "seven samples");
    rounds.quick(BASE * 2 - Span::from_nanos(1));
    assert_eq!(rounds.growth(), 4.0);
    let over: Vec<_> = (0..6).map(|_| rounds.quick(BASE * 3)).collect();
    assert_eq!(over, [None, None, None, None, None, Some(1)], "five rounds again");
}

/// Only the first slow start of a flow.
#[test]
fn after_congestion_slow_start_is_standard() {
    let mut rounds = Rounds::new(Hystart::Rfc9406);
    rounds.quick(BASE);
    rounds.slow_start.on_congestion(false);
    rounds.quick(BASE * 2);
    assert_eq!(rounds.growth(), 4.0);
}

/// The ninth RTT is compared: the least of the round must exceed the least of all by more than the threshold.
#[test]
fn hystart_leaves_at_once_when_the_delay_rose() {
    let apart = Span::ZERO;
    for (kind, base, rise) in [
        (Hystart::Linux, 16, 4),
        (Hystart::Linux, 80, 10),
        (Hystart::Linux, 400, 16),
        (Hystart::Ns3, 2, 4),
        (Hystart::Ns3, 80, 80),
        (Hystart::Ns3, 2000, 1000),
    ] {
        let (base, rise) = (Span::from_millis(base), Span::from_millis(rise));
        let mut rounds = Rounds::new(kind);
        assert_eq!(rounds.round(base, 20, apart), None);
        assert_eq!(rounds.round(base + rise, 20, apart), None, "{kind:?} {base}: at the threshold");
        assert_eq!(rounds.round(base + rise + Span::from_nanos(1), 20, apart), Some(9), "{kind:?} {base}");
    }
}

/// Linux: (least RTT + 1 ms)/2 for 100 ms is 50.5 ms, so the 102nd gap of 0.5 ms; ns-3: the 201st.
#[test]
fn hystart_leaves_when_a_train_fills_the_path() {
    for (kind, rtt, expected) in [(Hystart::Linux, BASE, 103), (Hystart::Ns3, BASE + BASE / 2, 202)] {
        let mut rounds = Rounds::new(kind);
        rounds.quick(BASE);
        assert_eq!(rounds.round(rtt, 250, Span::from_micros(500)), Some(expected), "{kind:?}");
    }
    let mut rounds = Rounds::new(Hystart::Linux);
    assert_eq!(rounds.round(BASE, 45, Span::from_micros(2_001)), None, "gaps of more than 2 ms are no train");
    assert_eq!(rounds.round(BASE, 45, Span::from_millis(2)), Some(27), "gaps of 2 ms are");
}

#[test]
fn hystart_acts_from_a_window_of_16_and_once_until_a_timeout() {
    let mut rounds = Rounds::new(Hystart::Linux);
    rounds.window = 15.0;
    assert_eq!(rounds.round(BASE, 90, Span::from_millis(1)), None);
    rounds.window = 16.0;
    assert_eq!(rounds.round(BASE, 90, Span::from_millis(1)), Some(52));
    assert_eq!(rounds.round(BASE, 90, Span::from_millis(1)), None);
    rounds.slow_start.on_congestion(false);
    assert_eq!(rounds.round(BASE, 90, Span::from_millis(1)), None);
    rounds.slow_start.on_congestion(true);
    assert_eq!(rounds.round(BASE, 90, Span::from_millis(1)), Some(52));
    assert_eq!(rounds.growth(), 4.0, "its growth is that of slow start");
}

proptest! {
    /// Without a rise of 4 ms nothing ever ends slow start, unless trains do.
    #[test]
    fn jitter_below_4_ms_is_not_heard(jitter in prop::collection::vec(0u64..3_999, 20..400), kind in prop::sample::select(vec![Hystart::Off, Hystart::Rfc9406, Hystart::Linux, Hystart::Ns3])) {
        let mut rounds = Rounds::new(kind);
        for micros in jitter {
            prop_assert_eq!(rounds.round(BASE + Span::from_micros(micros), 1, Span::ZERO), None);
            prop_assert_eq!(rounds.growth(), 4.0);
        }
    }
}
