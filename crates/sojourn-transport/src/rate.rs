//! Delivery-rate samples and what was lost meanwhile (draft-ietf-ccwg-bbr, "Delivery Rate Samples").

use sojourn_congestion::{Lost, RateSample};
use sojourn_core::{Ring, Span, Time};

/// What is remembered of the connection when a segment is sent.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot {
    sent: Time,
    /// P.first_send_time.
    first_sent: Time,
    /// P.delivered.
    delivered: u64,
    /// P.delivered_time.
    delivered_at: Time,
    /// P.lost.
    lost: u64,
    /// P.tx_in_flight.
    tx_in_flight: u32,
    /// P.is_app_limited.
    app_limited: bool,
}

impl Snapshot {
    const NONE: Snapshot = Snapshot {
        sent: Time::ZERO,
        first_sent: Time::ZERO,
        delivered: 0,
        delivered_at: Time::ZERO,
        lost: 0,
        tx_in_flight: 0,
        app_limited: false,
    };
}

/// What the sender knows at the end of an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Present {
    /// The time.
    pub now: Time,
    /// Segments in flight.
    pub in_flight: u32,
    /// How long pacing holds back the next segment, where that is told.
    pub held: Option<Span>,
    /// Least round-trip time of the connection, with that of its handshake (C.min_rtt); [`Span::MAX`] before the first.
    pub min_rtt: Span,
    /// Whether losses are under repair.
    pub repairing: bool,
}

/// Measures the rate at which segments reach the receiver, for controls that ask for it.
#[derive(Debug, Default)]
pub struct RateSampler {
    /// Those of all outstanding segments, by their numbers.
    snapshots: Ring<Snapshot>,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    lost: u64,
    /// The last segment judged lost.
    last_lost: Option<u32>,
    /// Segments delivered since the last sample.
    newly_delivered: u32,
    /// Segments beyond the acknowledged ones that duplicate acknowledgements without SACK showed to be delivered.
    ahead: u32,
    /// Until this many are delivered, samples are limited by the application; 0 for never.
    app_limited_until: u64,
}

impl RateSampler {
    /// Segments delivered on the connection (C.delivered).
    #[cfg(test)]
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Segment `number` is sent, for the first time or again, with `in_flight` others outstanding.
    #[inline]
    pub fn on_send(&mut self, number: u32, in_flight: u32, now: Time) {
        if in_flight == 0 {
            self.first_sent = now;
            self.delivered_at = now;
        }
        let snapshot = Snapshot {
            sent: now,
            first_sent: self.first_sent,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            lost: self.lost,
            tx_in_flight: in_flight + 1,
            app_limited: self.app_limited_until > 0,
        };
        // Written where it is to lie: a processor waits where it moves in one piece what it has just written in several.
        if number == self.snapshots.next() {
            self.snapshots.push(&Snapshot::NONE);
        }
        self.snapshots[number] = snapshot;
    }

    /// The application has nothing to send while `in_flight` segments are outstanding.
    pub fn on_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// What is sent now counts as limited by the network.
    #[cfg(test)]
    pub fn forget_limit(&mut self) {
        self.app_limited_until = 0;
    }

    /// Whether what is sent now counts as limited by the application.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    /// A duplicate acknowledgement without SACK: some segment was delivered, but not the first one outstanding (Linux
    /// `tcp_add_reno_sack`). Counting it only when the hole below is filled would put the deliveries of many round trips
    /// into one.
    pub fn on_duplicate(&mut self, now: Time) {
        if self.ahead + 1 < self.snapshots.len() {
            self.ahead += 1;
            self.delivered += 1;
            self.newly_delivered += 1;
            self.delivered_at = now;
        }
    }

    /// `newly` segments were delivered, `newest` the latest sent of them; all below `acknowledged` are done with.
    /// What was known when `newest` was sent, from which [`sample`](RateSampler::sample) is taken when the losses that
    /// the same acknowledgement shows are known too.
    #[inline]
    pub fn on_delivered(&mut self, newly: u32, newest: u32, acknowledged: u32, now: Time) -> Option<Snapshot> {
        // The hole itself is new (`tcp_remove_reno_sacks`).
        let known = self.ahead.min(newly - 1);
        self.ahead -= known;
        self.delivered += u64::from(newly - known);
        self.delivered_at = now;
        self.newly_delivered += newly - known;
        let is_known = (self.snapshots.first()..self.snapshots.next()).contains(&newest);
        let snapshot = is_known.then(|| self.snapshots[newest]);
        while self.snapshots.first() < acknowledged {
            self.snapshots.remove_first();
        }
        self.ahead = self.ahead.min(self.snapshots.len().saturating_sub(1));
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        if let Some(snapshot) = &snapshot {
            self.first_sent = snapshot.sent;
        }
        snapshot
    }

    /// The same of the first outstanding segment alone, behind which others are outstanding; what was known when it was sent.
    #[inline]
    pub fn on_first_delivered(&mut self, now: Time) -> Snapshot {
        let snapshot = self.snapshots[self.snapshots.first()];
        self.snapshots.remove_first();
        self.delivered += 1;
        self.delivered_at = now;
        self.newly_delivered += 1;
        self.ahead = self.ahead.min(self.snapshots.len() - 1);
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        self.first_sent = snapshot.sent;
        snapshot
    }

    /// Segment `number`, which is outstanding, was judged lost.
    pub fn on_lost(&mut self, number: u32, now: Time) -> Lost {
        let snapshot = self.snapshots[number];
        self.lost += 1;
        let new_range = self.last_lost.is_none_or(|last| number != last + 1);
        self.last_lost = Some(number);
        Lost {
            now,
            tx_in_flight: snapshot.tx_in_flight,
            lost: self.lost - snapshot.lost,
            prior_delivered: snapshot.delivered,
            total_delivered: self.delivered,
            new_range,
            app_limited: snapshot.app_limited,
        }
    }

    /// The sample of the acknowledgement that delivered a segment sent at `snapshot`.
    #[inline]
    pub fn sample(&mut self, snapshot: &Snapshot, present: &Present) -> RateSample {
        let micros =
            |to: Time, from: Time| Span::from_micros((to.as_nanos() / 1000).saturating_sub(from.as_nanos() / 1000));
        let send_elapsed = micros(snapshot.sent, snapshot.first_sent);
        let ack_elapsed = micros(present.now, snapshot.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        // The least round trip has parts of a microsecond, which the interval has not.
        let plausible = present.min_rtt == Span::MAX || interval + Span::from_micros(1) > present.min_rtt;
        RateSample {
            delivered: (self.delivered - snapshot.delivered) as u32,
            interval: if plausible { interval } else { Span::ZERO },
            prior_delivered: snapshot.delivered,
            total_delivered: self.delivered,
            newly_delivered: std::mem::take(&mut self.newly_delivered),
            lost: self.lost - snapshot.lost,
            tx_in_flight: snapshot.tx_in_flight,
            in_flight: present.in_flight,
            held: present.held,
            repairing: present.repairing,
            app_limited: snapshot.app_limited,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn present(millis: u64, min_rtt: Span) -> Present {
        Present { now: at(millis), in_flight: 0, held: None, min_rtt, repairing: false }
    }

    /// An acknowledgement of all up to `newest`, the last one sent of `newly` segments.
    fn ack(sampler: &mut RateSampler, newly: u32, newest: u32, millis: u64) -> RateSample {
        let snapshot = sampler.on_delivered(newly, newest, newest + 1, at(millis)).unwrap();
        sampler.sample(&snapshot, &present(millis, Span::from_millis(40)))
    }

    #[test]
    fn a_steady_flow_is_measured_at_its_rate() {
        // One segment per 10 ms, RTT 40 ms: after the first round trip every sample says 100 per second.
        let mut sampler = RateSampler::default();
        let mut last = None;
        for tick in 0..50u64 {
            if tick >= 4 {
                let number = (tick - 4) as u32;
                last = Some(ack(&mut sampler, 1, number, 10 * tick));
            }
            sampler.on_send(tick as u32, 4.min(tick as u32), at(10 * tick));
        }
        let sample = last.unwrap();
        assert!((sample.per_second() - 100.0).abs() < 1e-9, "{}", sample.per_second());
        assert!(!sample.app_limited);
    }

    #[test]
    fn a_burst_of_acknowledgements_cannot_raise_the_rate() {
        // Ten segments sent over 90 ms are acknowledged all at once: the send interval bounds the sample.
        let mut sampler = RateSampler::default();
        for number in 0..10u32 {
            sampler.on_send(number, number, at(10 * u64::from(number)));
        }
        let sample = ack(&mut sampler, 10, 9, 91);
        assert_eq!(sample.delivered, 10);
        assert_eq!(sample.interval, at(91).since(Time::ZERO));
    }

    #[test]
    fn idle_applications_are_told_apart() {
        let mut sampler = RateSampler::default();
        sampler.on_send(0, 0, at(0));
        sampler.on_app_limited(1);
        sampler.on_send(1, 1, at(5));
        assert!(!ack(&mut sampler, 1, 0, 40).app_limited);
        assert!(ack(&mut sampler, 1, 1, 45).app_limited);
        sampler.on_send(2, 0, at(50));
        assert!(!ack(&mut sampler, 1, 2, 90).app_limited);
    }

    #[test]
    fn an_interval_below_the_least_round_trip_proves_a_sample_wrong() {
        let mut sampler = RateSampler::default();
        sampler.on_send(0, 0, at(0));
        assert_eq!(ack(&mut sampler, 1, 0, 40).interval, Span::from_millis(40));
        // Sent twice, and the first copy arrived: 30 ms after the second.
        sampler.on_send(1, 0, at(50));
        sampler.on_send(1, 0, at(60));
        let snapshot = sampler.on_delivered(1, 1, 2, at(90)).unwrap();
        let sample = sampler.sample(&snapshot, &present(90, Span::from_millis(40)));
        assert_eq!((sample.interval, sample.per_second()), (Span::ZERO, 0.0));
    }

    #[test]
    fn losses_are_counted_over_the_life_of_a_segment() {
        // 0 to 9 are sent; 2, 3 and 6 are lost, 5 comes before 6 is judged; 10 is sent after that.
        let mut sampler = RateSampler::default();
        for number in 0..10u32 {
            sampler.on_send(number, number, at(u64::from(number)));
        }
        assert_eq!(ack(&mut sampler, 2, 1, 41).lost, 0);
        let ranges = [2, 3, 6].map(|number| sampler.on_lost(number, at(45)).new_range);
        assert_eq!(ranges, [true, false, true]);
        sampler.on_send(10, 7, at(45));
        let last = sampler.on_lost(7, at(46));
        assert_eq!((last.lost, last.tx_in_flight, last.total_delivered, last.new_range), (4, 8, 2, false));
        let sample = ack(&mut sampler, 1, 9, 50);
        assert_eq!((sample.lost, sample.tx_in_flight), (4, 10));
        let sample = ack(&mut sampler, 1, 10, 90);
        assert_eq!((sample.lost, sample.tx_in_flight), (1, 8));
    }

    /// The short way of one segment in order is the general one.
    #[test]
    fn the_first_segment_alone_is_a_delivery_as_any_other() {
        let mut samplers = [RateSampler::default(), RateSampler::default()];
        for sampler in &mut samplers {
            (0..8).for_each(|number| sampler.on_send(number, number, at(u64::from(number))));
            sampler.on_app_limited(3);
            (0..2).for_each(|_| sampler.on_duplicate(at(20)));
        }
        for number in 0..6 {
            let now = at(40 + 3 * u64::from(number));
            let [one, other] = &mut samplers;
            let snapshots = [one.on_first_delivered(now), other.on_delivered(1, number, number + 1, now).unwrap()];
            let present = present(40 + 3 * u64::from(number), Span::from_millis(40));
            assert_eq!(one.sample(&snapshots[0], &present), other.sample(&snapshots[1], &present));
            assert_eq!(format!("{one:?}"), format!("{other:?}"));
        }
    }

    /// Segment 0 is lost, 1 to 9 arrive one per 10 ms from 50 ms on: each duplicate counts when it comes. The
    /// retransmission was sent at 80 ms with 3 delivered; when it is acknowledged with all others at 140 ms, 7 more are,
    /// not 10. Sending took longest: nothing that was sent after 0 ms is known by its number.
    #[test]
    fn duplicates_are_deliveries() {
        let mut sampler = RateSampler::default();
        for number in 0..10u32 {
            sampler.on_send(number, number, at(10 * u64::from(number)));
        }
        for number in 1..10 {
            sampler.on_duplicate(at(40 + 10 * number));
            if number == 3 {
                sampler.on_lost(0, at(70));
                sampler.on_send(0, 6, at(80));
            }
        }
        let snapshot = sampler.on_delivered(10, 0, 10, at(140)).unwrap();
        let sample = sampler.sample(&snapshot, &present(140, Span::MAX));
        assert_eq!((sample.prior_delivered, sample.total_delivered, sample.newly_delivered), (3, 10, 10));
        assert_eq!((sample.delivered, sample.interval), (7, Span::from_millis(80)));
    }

    /// Of 0 to 5, 0 and 3 are lost: a hole is one delivery, and what lies between was counted before. Duplicates of what
    /// arrived twice cannot be told from others, but never count for more than is outstanding beyond the hole.
    #[test]
    fn partial_acknowledgements_take_their_duplicates_back() {
        let counted = |duplicates: u32| {
            let mut sampler = RateSampler::default();
            for number in 0..6u32 {
                sampler.on_send(number, number, at(u64::from(number)));
            }
            (0..duplicates).for_each(|_| sampler.on_duplicate(at(50)));
            [0, 3].map(|hole| {
                sampler.on_delivered(3, hole, hole + 3, at(60)).unwrap();
                (sampler.delivered, sampler.ahead)
            })
        };
        assert_eq!(counted(4), [(5, 2), (6, 0)]);
        assert_eq!(counted(9), [(6, 2), (7, 0)]);
        // The acknowledgements of two were lost.
        assert_eq!(counted(2), [(3, 0), (6, 0)]);
    }
}
