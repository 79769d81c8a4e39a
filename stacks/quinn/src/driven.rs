//! A congestion control of Sojourn as a `Controller` of quinn.
//!
//! Quinn counts bytes and Sojourn's controls count segments of an MSS, which is the MTU here. Quinn spaces packets by itself
//! and tells a control neither one-way delays nor rate samples: the round-trip time stands in for the former, so that the
//! acknowledgements' way counts too, and controls that need the latter are refused.

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use sojourn_congestion::{Ack, AnyControl, Congestion, Control, Path, Recovered, Repair, Signal, Stage, find};
use sojourn_core::registry::Params;
use sojourn_core::{Span, Stream, Time};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// The initial window in segments (RFC 9002 section 7.2).
const INITIAL_WINDOW: f64 = 10.0;
/// Headers of IPv4 and UDP; QUIC's own count in the MTU.
const HEADER_BYTES: u32 = 28;
/// The smallest window in segments (RFC 9002 section 7.2).
const MINIMUM_WINDOW: f64 = 2.0;

/// Makes a control of one kind for each path of a connection.
#[derive(Debug)]
pub struct Factory {
    params: Params,
    seed: u64,
}

impl Factory {
    /// Makes controls of the kind `name` with its default parameters, and random streams of `seed`.
    ///
    /// # Errors
    /// No control has that name, or it needs rate samples.
    pub fn new(name: &str, seed: u64) -> Result<Factory, String> {
        let descriptor = find(name).ok_or_else(|| format!("no congestion control is called {name}"))?;
        let factory = Factory { params: Params::new(descriptor, None), seed };
        if factory.control(1200).wants_rate_samples() {
            return Err(format!("{name} needs rate samples, which quinn does not give to controllers"));
        }
        Ok(factory)
    }

    fn control(&self, mtu: u16) -> AnyControl {
        let path = Path {
            mss_bytes: u32::from(mtu),
            header_bytes: HEADER_BYTES,
            smallest_packet_bytes: HEADER_BYTES,
            initial_window: INITIAL_WINDOW,
            sack: true,
        };
        AnyControl::build(&self.params, &path, Stream::new(self.seed, "control")).expect("defaults fit together")
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let control = self.control(mtu);
        Box::new(Driven {
            control,
            started: now,
            mtu: f64::from(mtu),
            in_flight: 0.0,
            acked: 0.0,
            newest: None,
            recovery_since: None,
            rtt: RoundTrips { smoothed: Span::ZERO, min: Span::MAX, max: Span::ZERO },
        })
    }
}

/// Round-trip times of a path.
#[derive(Clone, Copy, Debug)]
struct RoundTrips {
    smoothed: Span,
    min: Span,
    max: Span,
}

/// A control of Sojourn, and what it has to be told that quinn leaves to controllers.
#[derive(Clone, Debug)]
pub struct Driven {
    control: AnyControl,
    /// The control's time zero.
    started: Instant,
    /// Bytes of a segment.
    mtu: f64,
    /// Bytes that were sent and neither acknowledged nor lost.
    in_flight: f64,
    /// Acknowledged bytes of which the control does not know yet; what is less than a segment waits for the next time.
    acked: f64,
    /// When the newest packet was sent that this batch acknowledges.
    newest: Option<Instant>,
    /// When the last reduction was; over as soon as a packet is acknowledged that was sent later (RFC 9002 section 7.3.2).
    recovery_since: Option<Instant>,
    rtt: RoundTrips,
}

impl Driven {
    fn time(&self, instant: Instant) -> Time {
        Time::from_nanos(span(instant, self.started).as_nanos())
    }

    fn bytes(&self, segments: f64) -> u64 {
        (segments * self.mtu) as u64
    }
}

/// From `earlier` to `later`.
fn span(later: Instant, earlier: Instant) -> Span {
    Span::from_nanos(later.saturating_duration_since(earlier).as_nanos() as u64)
}

impl Controller for Driven {
    fn on_sent(&mut self, _now: Instant, bytes: u64, _last_packet_number: u64) {
        self.in_flight += bytes as f64;
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, _app_limited: bool, rtt: &RttEstimator) {
        self.acked += bytes as f64;
        self.newest = self.newest.max(Some(sent));
        let sample = span(now, sent);
        // Before its first sample the estimator answers with a guess.
        let first = self.rtt.min == Span::MAX;
        self.rtt.smoothed = if first { sample } else { Span::from_nanos(rtt.get().as_nanos() as u64) };
        self.rtt.min = self.rtt.min.min(sample);
        self.rtt.max = self.rtt.max.max(sample);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        let left = in_flight as f64;
        let before = left + self.acked;
        self.in_flight = left;
        let Some(sent) = self.newest.take() else { return };
        if self.recovery_since.is_some_and(|since| sent > since) {
            self.recovery_since = None;
            let flight = left / self.mtu;
            self.control.on_recovered(&Recovered { now: self.time(now), repair: Repair::Selective, flight });
        }
        let segments = (self.acked / self.mtu).floor();
        self.acked -= segments * self.mtu;
        let in_recovery = self.recovery_since.is_some();
        // A packet number is used once only, so that each sample is of the packet that was sent then.
        let rtt = span(now, sent);
        self.control.on_ack(&Ack {
            now: self.time(now),
            newly_acked: segments as u32,
            delivered: segments as u32,
            advanced: segments as u32,
            outstanding: (left / self.mtu) as u32,
            selective: false,
            flight: before / self.mtu,
            window_limited: !app_limited,
            in_recovery,
            orderly: !in_recovery,
            rtt: Some(rtt),
            smoothed_rtt: self.rtt.smoothed,
            min_rtt: self.rtt.min,
            max_rtt: self.rtt.max,
            one_way_delay_nanos: Some(rtt.as_nanos() as i64),
            sent: self.time(sent),
            echoed: self.time(sent),
            marked: false,
            unmarked: 0,
            rate: None,
        });
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
        let flight = self.in_flight / self.mtu;
        self.in_flight = (self.in_flight - lost_bytes as f64).max(0.0);
        let signal = match lost_bytes {
            _ if persistent => Signal::Timeout { repeated: false },
            _ if self.recovery_since.is_some_and(|since| sent <= since) => return,
            0 => Signal::Ecn,
            _ => Signal::Loss,
        };
        self.recovery_since = Some(now);
        self.control.on_congestion(&Congestion {
            now: self.time(now),
            signal,
            flight,
            pipe: self.in_flight / self.mtu,
            smoothed_rtt: self.rtt.smoothed,
            stage: Stage::New,
        });
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        // The window stays the same in bytes: a larger packet is no reason to send more.
        let (was, now) = (self.mtu, f64::from(mtu));
        let (window, threshold) = (self.control.window(), self.control.slow_start_threshold());
        self.mtu = now;
        self.control.set_window(window * was / now, threshold * was / now);
    }

    fn window(&self) -> u64 {
        self.bytes(self.control.window().max(MINIMUM_WINDOW))
    }

    fn metrics(&self) -> ControllerMetrics {
        let threshold = self.control.slow_start_threshold();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.ssthresh = threshold.is_finite().then(|| self.bytes(threshold));
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.bytes(INITIAL_WINDOW)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_window_of_data_is_reduced_once() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut driven = Arc::new(Factory::new("newreno", 1).unwrap()).build(start, 1000);
        driven.on_sent(at(1), 10_000, 9);
        assert_eq!(driven.window(), 10_000);
        driven.on_congestion_event(at(50), at(1), false, 1000);
        assert_eq!(driven.window(), 5000, "half of what was in flight");
        driven.on_congestion_event(at(60), at(2), false, 1000);
        assert_eq!(driven.window(), 5000, "sent before the reduction");
        driven.on_congestion_event(at(70), at(55), false, 1000);
        assert_eq!(driven.window(), 4000, "half of the eight that are left");
        driven.on_congestion_event(at(80), at(56), true, 1000);
        assert_eq!(driven.window(), 2000, "nothing came through: the minimum");
    }

    #[test]
    fn another_mtu_leaves_the_window_in_bytes() {
        let mut driven = Arc::new(Factory::new("newreno", 1).unwrap()).build(Instant::now(), 1000);
        driven.on_mtu_update(1250);
        assert_eq!((driven.window(), driven.initial_window()), (10_000, 12_500));
    }

    #[test]
    fn what_quinn_cannot_tell_is_not_guessed() {
        assert!(Factory::new("bbr", 1).unwrap_err().contains("rate samples"));
        assert!(Factory::new("renno", 1).unwrap_err().contains("renno"));
    }
}
