//! Delivery-rate samples (draft-ietf-ccwg-bbr section 4.1, "delivery rate samples").

use sojourn_congestion::RateSample;
use sojourn_core::Time;
use std::collections::VecDeque;

/// What is remembered of the connection when a segment is sent.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    sent: Time,
    /// P.first_send_time.
    first_sent: Time,
    /// P.delivered.
    delivered: u64,
    /// P.delivered_time.
    delivered_at: Time,
    /// P.is_app_limited.
    app_limited: bool,
}

/// Measures the rate at which segments reach the receiver, for controls that ask for it.
#[derive(Debug, Default)]
pub struct RateSampler {
    first: u32,
    snapshots: VecDeque<Snapshot>,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// Until this many are delivered, samples are limited by the application; 0 for never.
    app_limited_until: u64,
}

impl RateSampler {
    /// Segment `number` is sent, for the first time or again, with `in_flight` others outstanding.
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
            app_limited: self.app_limited_until > 0,
        };
        let index = (number - self.first) as usize;
        if index == self.snapshots.len() {
            self.snapshots.push_back(snapshot);
        } else {
            self.snapshots[index] = snapshot;
        }
    }

    /// The application has nothing to send while `in_flight` segments are outstanding.
    pub fn on_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// `newly` segments were delivered, `newest` the latest sent of them; all below `acknowledged` are done with.
    pub fn on_ack(&mut self, newly: u32, newest: u32, acknowledged: u32, now: Time) -> Option<RateSample> {
        self.delivered += u64::from(newly);
        self.delivered_at = now;
        let sample = newest.checked_sub(self.first).and_then(|index| self.snapshots.get(index as usize).copied());
        let done = (acknowledged - self.first) as usize;
        self.snapshots.drain(..done.min(self.snapshots.len()));
        self.first = acknowledged;
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let snapshot = sample?;
        self.first_sent = snapshot.sent;
        let send_elapsed = snapshot.sent.since(snapshot.first_sent);
        let ack_elapsed = now.since(snapshot.delivered_at);
        Some(RateSample {
            delivered: (self.delivered - snapshot.delivered) as u32,
            interval: send_elapsed.max(ack_elapsed),
            prior_delivered: snapshot.delivered,
            total_delivered: self.delivered,
            app_limited: snapshot.app_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_steady_flow_is_measured_at_its_rate() {
        // One segment per 10 ms, RTT 40 ms: after the first round trip every sample says 100 per second.
        let mut sampler = RateSampler::default();
        let mut last = None;
        for tick in 0..50u64 {
            if tick >= 4 {
                let number = (tick - 4) as u32;
                last = sampler.on_ack(1, number, number + 1, at(10 * tick));
            }
            sampler.on_send(tick as u32, 4.min(tick as u32), at(10 * tick));
        }
        let sample = last.unwrap();
        let rate = f64::from(sample.delivered) / sample.interval.as_secs_f64();
        assert!((rate - 100.0).abs() < 1e-9, "{rate}");
        assert!(!sample.app_limited);
    }

    #[test]
    fn a_burst_of_acknowledgements_cannot_raise_the_rate() {
        // Ten segments sent over 90 ms are acknowledged all at once: the send interval bounds the sample.
        let mut sampler = RateSampler::default();
        for number in 0..10u32 {
            sampler.on_send(number, number, at(10 * u64::from(number)));
        }
        let sample = sampler.on_ack(10, 9, 10, at(91)).unwrap();
        assert_eq!(sample.delivered, 10);
        assert_eq!(sample.interval, at(91).since(Time::ZERO));
    }

    #[test]
    fn idle_applications_are_told_apart() {
        let mut sampler = RateSampler::default();
        sampler.on_send(0, 0, at(0));
        sampler.on_app_limited(1);
        sampler.on_send(1, 1, at(5));
        assert!(!sampler.on_ack(1, 0, 1, at(40)).unwrap().app_limited);
        assert!(sampler.on_ack(1, 1, 2, at(45)).unwrap().app_limited);
        sampler.on_send(2, 0, at(50));
        assert!(!sampler.on_ack(1, 2, 3, at(90)).unwrap().app_limited);
    }
}
