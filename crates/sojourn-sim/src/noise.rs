//! Impulse noise on a link, and what a modem does against it.

use sojourn_core::{Rate, Span, Stream, Time};
use sojourn_scenario::{Bursts, Noise, Protection};
use std::collections::VecDeque;

/// What becomes of a packet on a noisy wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It has crossed.
    Crossed,
    /// It is lost.
    Lost,
}

/// The noise on a wire and the protection from it.
#[derive(Debug)]
pub struct NoisyWire {
    noise: Noise,
    random: Stream,
    /// Starts of bursts that may still meet a packet, in order, and the start of the next.
    starts: VecDeque<Time>,
    next_start: Time,
    repair: Repair,
}

/// What is done about a packet that a burst has met.
#[derive(Debug)]
enum Repair {
    /// It is lost, and so is what is interleaved with it: all that was sent this long before the burst.
    None { reach: Span },
    /// It is sent again.
    Again(Retransmitter),
}

/// Sends spoilt packets again.
#[derive(Debug)]
struct Retransmitter {
    rate: Rate,
    round_trip: Span,
    max_delay: Span,
    /// Retransmissions to come, or just over: when each begins and how long it takes.
    booked: VecDeque<(Time, Span)>,
    /// When the last one ends.
    booked_until: Time,
    /// No packet arrives before this time, since packets arrive in order.
    held_until: Time,
}

impl NoisyWire {
    /// The wire of a link of `rate`; `None` where no burst can do any harm.
    pub fn new(noise: Noise, protection: Option<Protection>, rate: Rate, mut random: Stream) -> Option<NoisyWire> {
        let repair = match protection {
            Some(Protection::Interleaving { corrects, .. }) if noise.duration <= corrects => return None,
            Some(Protection::Interleaving { delay, .. }) => Repair::None { reach: delay },
            Some(Protection::Retransmission { round_trip, max_delay, .. }) => Repair::Again(Retransmitter {
                rate,
                round_trip,
                max_delay,
                booked: VecDeque::new(),
                booked_until: Time::ZERO,
                held_until: Time::ZERO,
            }),
            None => Repair::None { reach: Span::ZERO },
        };
        let first = match noise.bursts {
            Bursts::Periodic(period) => period.mul_f64(random.uniform()),
            Bursts::Random(mean) => Span::from_secs_f64(random.exponential(mean.as_secs_f64())),
        };
        Some(NoisyWire { noise, random, starts: VecDeque::new(), next_start: Time::ZERO + first, repair })
    }

    /// Retransmissions are sent at `rate` from now on.
    pub fn change_rate(&mut self, rate: Rate) {
        if let Repair::Again(again) = &mut self.repair {
            again.rate = rate;
        }
    }

    /// When a packet has been sent that would be sent from `now` to `end`: retransmissions go first.
    #[inline]
    pub fn end_of(&mut self, now: Time, end: Time) -> Time {
        match &mut self.repair {
            Repair::None { .. } => end,
            Repair::Again(again) => again.make_room(now, end),
        }
    }

    /// What becomes of a packet of `wire_bytes` bytes that was on the wire from `from` to `to`.
    pub fn pass(&mut self, wire_bytes: u32, from: Time, to: Time) -> Fate {
        self.forget(from);
        let reach = if let Repair::None { reach } = self.repair { reach } else { Span::ZERO };
        if !self.meets(from, to + reach) {
            return Fate::Crossed;
        }
        let Repair::Again(again) = &self.repair else { return Fate::Lost };
        let (rate, round_trip, deadline) = (again.rate, again.round_trip, to + again.max_delay);
        let time = rate.transmission(u64::from(wire_bytes));
        let (mut sent, mut free) = (to, again.booked_until);
        let mut attempts = Vec::new();
        let fate = loop {
            let start = (sent + round_trip).max(free);
            let end = start + time;
            if end > deadline {
                break Fate::Lost;
            }
            attempts.push((start, time));
            free = end;
            if !self.meets(start, end) {
                break Fate::Crossed;
            }
            sent = end;
        };
        let Repair::Again(again) = &mut self.repair else { unreachable!("it was just looked at") };
        again.booked.extend(attempts);
        again.booked_until = free;
        // What cannot come in time is waited for until then.
        again.held_until = again.held_until.max(if fate == Fate::Crossed { free } else { deadline });
        fate
    }

    /// Before when no packet may arrive at the far end, which passes packets on in order.
    pub fn held_until(&self) -> Time {
        match &self.repair {
            Repair::None { .. } => Time::ZERO,
            Repair::Again(again) => again.held_until,
        }
    }

    /// Whether a burst falls into the time from `from` to `to`.
    fn meets(&mut self, from: Time, to: Time) -> bool {
        while self.next_start < to {
            let start = self.draw();
            self.starts.push_back(start);
        }
        self.starts.iter().any(|&start| start < to && from < start + self.noise.duration)
    }

    /// The next burst; the start of the one after it is drawn.
    fn draw(&mut self) -> Time {
        let start = self.next_start;
        self.next_start += match self.noise.bursts {
            Bursts::Periodic(period) => period,
            Bursts::Random(mean) => {
                self.noise.duration + Span::from_secs_f64(self.random.exponential(mean.as_secs_f64()))
            }
        };
        start
    }

    /// Bursts that were over by `time` meet nothing any more.
    fn forget(&mut self, time: Time) {
        while self.next_start + self.noise.duration <= time {
            self.draw();
        }
        while self.starts.front().is_some_and(|&start| start + self.noise.duration <= time) {
            self.starts.pop_front();
        }
    }
}

impl Retransmitter {
    /// As [`NoisyWire::end_of`]. What was sent again while the wire was idle costs nothing.
    fn make_room(&mut self, now: Time, mut end: Time) -> Time {
        while let Some(&(start, time)) = self.booked.front()
            && start < end
        {
            let over = start + time;
            end += time.min(over.since(now));
            self.booked.pop_front();
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn micros(micros: u64) -> Time {
        Time::from_nanos(micros * 1_000)
    }

    /// Bursts of 1 ms at `starts`, in us, on a wire of 12 Mbit/s, where 1500 bytes take 1 ms.
    fn wire(starts: &[u64], protection: Option<Protection>) -> NoisyWire {
        let noise = Noise { bursts: Bursts::Periodic(Span::from_secs(1000)), duration: Span::from_millis(1) };
        let rate = Rate::from_bits_per_second(12_000_000).unwrap();
        let mut wire = NoisyWire::new(noise, protection, rate, Stream::new(1, "noise")).unwrap();
        wire.starts = starts.iter().map(|&start| micros(start)).collect();
        wire.next_start = Time::from_nanos(u64::MAX / 2);
        wire
    }

    fn again() -> Option<Protection> {
        let (round_trip, max_delay) = (Span::from_millis(4), Span::from_millis(10));
        Some(Protection::Retransmission { delay: Span::ZERO, round_trip, max_delay })
    }

    #[test]
    fn a_burst_spoils_what_it_meets() {
        let mut wire = wire(&[5_000], None);
        let pass = |wire: &mut NoisyWire, from, to| wire.pass(1500, micros(from), micros(to));
        assert_eq!(pass(&mut wire, 4_000, 5_000), Fate::Crossed);
        assert_eq!(pass(&mut wire, 4_500, 5_001), Fate::Lost);
        assert_eq!(pass(&mut wire, 5_200, 5_300), Fate::Lost);
        assert_eq!(pass(&mut wire, 5_999, 7_000), Fate::Lost);
        assert_eq!(pass(&mut wire, 6_000, 7_000), Fate::Crossed);
    }

    #[test]
    fn a_burst_too_long_for_the_code_spoils_all_that_is_interleaved_with_it() {
        let with = |corrects| Protection::Interleaving { delay: Span::from_millis(8), corrects };
        let mut wire = wire(&[20_000], Some(with(Span::from_micros(999))));
        assert_eq!(wire.pass(1500, micros(11_000), micros(12_000)), Fate::Crossed);
        assert_eq!(wire.pass(1500, micros(11_500), micros(12_500)), Fate::Lost);
        assert_eq!(wire.pass(1500, micros(21_000), micros(22_000)), Fate::Crossed);
        let noise = Noise { bursts: Bursts::Random(Span::from_secs(1)), duration: Span::from_millis(1) };
        let rate = Rate::from_bits_per_second(1).unwrap();
        assert!(NoisyWire::new(noise, Some(with(Span::from_millis(1))), rate, Stream::new(1, "noise")).is_none());
    }

    /// Spoilt on the wire from 4.5 to 5.5 ms; again from 9.5 to 10.5 ms, and where that is spoilt too, from 14.5 ms on.
    #[test]
    fn what_is_spoilt_is_sent_again() {
        let mut once = wire(&[5_000], again());
        assert_eq!(once.pass(1500, micros(4_500), micros(5_500)), Fate::Crossed);
        assert_eq!(once.held_until(), micros(10_500));
        let mut twice = wire(&[5_000, 10_000], again());
        assert_eq!(twice.pass(1500, micros(4_500), micros(5_500)), Fate::Crossed);
        assert_eq!(twice.held_until(), micros(15_500));
        // A third time would end at 20.5 ms, more than 10 ms after 5.5 ms.
        let mut thrice = wire(&[5_000, 10_000, 15_000], again());
        assert_eq!(thrice.pass(1500, micros(4_500), micros(5_500)), Fate::Lost);
        assert_eq!(thrice.held_until(), micros(15_500));
    }

    #[test]
    fn retransmissions_take_their_time_from_what_is_new() {
        let mut wire = wire(&[5_000], again());
        assert_eq!(wire.pass(1500, micros(4_500), micros(5_500)), Fate::Crossed);
        assert_eq!(wire.end_of(micros(5_500), micros(6_500)), micros(6_500));
        // From 9 to 10 ms, but from 9.5 to 10.5 ms something is sent again.
        assert_eq!(wire.end_of(micros(9_000), micros(10_000)), micros(11_000));
        assert_eq!(wire.end_of(micros(11_000), micros(12_000)), micros(12_000));
    }

    #[test]
    fn an_idle_wire_has_time_to_send_again() {
        let idle = |now, expected| {
            let mut wire = wire(&[5_000], again());
            wire.pass(1500, micros(4_500), micros(5_500));
            assert_eq!(wire.end_of(micros(now), micros(now + 1_000)), micros(expected));
        };
        idle(10_000, 11_500);
        idle(10_500, 11_500);
        idle(20_000, 21_000);
    }

    /// 100 bursts a second, the first within a period.
    #[test]
    fn periodic_noise_keeps_its_period() {
        let noise = Noise { bursts: Bursts::Periodic(Span::from_millis(10)), duration: Span::from_micros(100) };
        let rate = Rate::from_bits_per_second(1_000_000).unwrap();
        let mut wire = NoisyWire::new(noise, None, rate, Stream::new(7, "noise")).unwrap();
        assert!(wire.next_start < micros(10_000));
        let lost = (0..10_000u64).filter(|&at| wire.pass(1, micros(at * 100), micros(at * 100 + 1)) == Fate::Lost);
        assert_eq!(lost.count(), 100);
    }
}
