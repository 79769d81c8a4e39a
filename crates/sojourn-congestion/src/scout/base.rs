//! The delay of an empty path, and what each acknowledgement shows beyond it.

use crate::control::Ack;
use alloc::collections::VecDeque;
use sojourn_core::Span;

const MINUTE_NANOS: u64 = 60_000_000_000;
/// Minutes whose minima make the base delay.
const MINUTES: usize = 10;
/// What a receiver's stamp counts.
const MICROSECOND_NANOS: i64 = 1_000;
/// Two clocks drift apart by no more than this part of the time: 500 ppm.
const DRIFT: u64 = 2_000;

/// Delays are held below 18 years, so that their sums and differences are numbers whatever a receiver's stamps say.
const LONGEST: i64 = i64::MAX / 16;

/// The one-way delay of the segment that caused an acknowledgement, in ns, from stamps of whole microseconds.
pub(super) fn one_way(ack: &Ack) -> Option<i64> {
    ack.one_way_delay_nanos.map(|nanos| nanos.div_euclid(MICROSECOND_NANOS).saturating_mul(MICROSECOND_NANOS))
}

/// What stamps have shown, in ns: the shortest delay, what clocks have added since the first, and when that was last known.
#[derive(Clone, Copy, Debug)]
struct OneWay {
    shortest: i64,
    apart: i64,
    at: u64,
}

/// The delays of an empty path, in ns: the shortest round-trip times of the last minutes, and the shortest one-way delay.
#[derive(Clone, Default, Debug)]
pub(super) struct Base {
    minima: VecDeque<u64>,
    minute: Option<u64>,
    rtt: Option<u64>,
    one_way: Option<OneWay>,
}

impl Base {
    /// The base round-trip time in ns; zero before the first one.
    #[inline]
    pub(super) fn rtt(&self) -> f64 {
        self.rtt.unwrap_or(0) as f64
    }

    /// The shortest of what [`delay_of`](Self::delay_of) gives.
    #[inline]
    pub(super) fn delay(&self) -> f64 {
        self.one_way.map_or(self.rtt(), |known| known.shortest as f64)
    }

    /// By how much an acknowledgement's one-way delay is longer than the first, in ns, without what clocks drift apart; the
    /// round-trip time without a receiver's stamp.
    #[inline]
    pub(super) fn delay_of(&mut self, ack: &Ack) -> Option<i64> {
        let rtt = ack.rtt.map(Span::as_nanos).filter(|rtt| *rtt > 0)?;
        let now = ack.now.as_nanos();
        let is_shorter = self.rtt.is_none_or(|base| rtt < base);
        let beyond = (rtt - self.hear(rtt, now)) as i64;
        let Some(told) = one_way(ack) else { return Some(rtt.min(LONGEST as u64) as i64) };
        let known = self.one_way.unwrap_or(OneWay { shortest: 0, apart: told, at: now });
        let delay = told.saturating_sub(known.apart).clamp(-LONGEST, LONGEST);
        // The way there was longer by no more than the way there and back; the rest is the clocks'.
        let most = if is_shorter { 0 } else { (now.saturating_sub(known.at) / DRIFT) as i64 };
        let drift = delay.saturating_sub(beyond).saturating_sub(known.shortest).clamp(0, most);
        let delay = delay - drift;
        let apart = known.apart.saturating_add(drift);
        self.one_way = Some(OneWay { shortest: known.shortest.min(delay), apart, at: now });
        Some(delay)
    }

    #[inline]
    fn hear(&mut self, rtt: u64, now: u64) -> u64 {
        let minute = now / MINUTE_NANOS;
        if self.minute.is_none_or(|last| minute > last) {
            if self.minima.len() == MINUTES {
                self.minima.pop_front();
            }
            self.minima.push_back(rtt);
            self.minute = Some(minute);
            self.rtt = self.minima.iter().copied().min();
        } else if let Some(last) = self.minima.back_mut()
            && rtt < *last
        {
            *last = rtt;
            self.rtt = self.rtt.min(Some(rtt));
        }
        self.rtt.unwrap_or(rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script;
    use alloc::vec::Vec;
    use sojourn_core::Time;

    const MS: u64 = 1_000_000;

    /// An acknowledgement after so many minutes, with a round-trip time and a one-way delay in ms.
    fn ack(minute: u64, rtt: u64, one_way: Option<i64>) -> Ack {
        Ack {
            rtt: Some(Span::from_nanos(rtt * MS)),
            one_way_delay_nanos: one_way.map(|millis| millis * MS as i64),
            ..script::ack(Time::from_nanos(minute * MINUTE_NANOS), 10.0, Span::ZERO)
        }
    }

    /// What each acknowledgement shows beyond the shortest, in ms.
    fn shown(acks: impl IntoIterator<Item = Ack>) -> Vec<f64> {
        let mut base = Base::default();
        let delays: Vec<f64> = acks.into_iter().map(|ack| base.delay_of(&ack).unwrap() as f64).collect();
        delays.iter().map(|delay| (delay - base.delay()) / 1e6).collect()
    }

    /// What the way back adds, as 30 ms, is not seen, nor is the offset of the receiver's clock; the way there is.
    #[test]
    fn only_the_way_there_counts() {
        for offset in [-5_000, 0, 7_000] {
            let delays = [(50, 20), (80, 20), (90, 24), (53, 23)];
            let acks = delays.map(|(rtt, one_way)| ack(0, rtt, Some(one_way + offset)));
            assert_eq!(shown(acks), [0.0, 0.0, 4.0, 3.0]);
        }
    }

    /// A receiver's clock that runs fast by 100 ppm makes delays seem to grow by 6 ms a minute: what a round-trip time does not
    /// bear out is the clock's. No clock gains 60 ms in a minute.
    #[test]
    fn a_round_trip_time_shows_what_clocks_that_drift_add() {
        let delays = [(0, 50, 20), (1, 51, 27), (2, 70, 32), (3, 50, 38), (4, 50, 98)];
        let acks = delays.map(|(at, rtt, one_way)| ack(at, rtt, Some(one_way)));
        assert_eq!(shown(acks), [0.0, 1.0, 6.0, 0.0, 30.0]);
    }

    /// A clock that is set back shows a shorter delay, which is then the shortest.
    #[test]
    fn a_clock_that_is_set_back_has_a_new_base() {
        let acks = [(50, 20), (53, -90), (90, -84)].map(|(rtt, one_way)| ack(0, rtt, Some(one_way)));
        assert_eq!(shown(acks)[1..], [0.0, 6.0]);
    }

    #[test]
    fn without_stamps_the_round_trip_time_counts_and_old_minima_are_forgotten() {
        let mut base = Base::default();
        let shown = [(0, 50), (1, 60)].map(|(minute, rtt)| base.delay_of(&ack(minute, rtt, None)).unwrap());
        assert_eq!((shown, base.rtt(), base.delay()), ([50_000_000, 60_000_000], 50e6, 50e6));
        for minute in 2..11 {
            base.delay_of(&ack(minute, 70, None));
        }
        assert_eq!(base.rtt(), 60e6);
    }

    /// Stamps count whole microseconds, below zero, too.
    #[test]
    fn stamps_are_of_a_microsecond() {
        let of = |nanos| one_way(&Ack { one_way_delay_nanos: Some(nanos), ..ack(0, 50, None) });
        assert_eq!([1_999, -1, i64::MIN].map(of), [Some(1_000), Some(-1_000), Some(i64::MIN)]);
    }
}
