//! A path for the tests of controls that want rate samples: everything of a round trip is told at once.

use crate::script::params;
use crate::{Ack, AnyControl, Congestion, Control, Lost, Path, RateSample, Signal, Start, Unused};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;
use sojourn_core::registry::{Descriptor, Value};
use sojourn_core::{Span, Stream, Time};

/// A path of fixed bandwidth and round-trip time without an end to its queue, and a control on it.
pub(crate) struct Pipe {
    pub(crate) control: AnyControl,
    pub(crate) now: Time,
    /// Segments per second.
    pub(crate) bandwidth: f64,
    pub(crate) rtt: Span,
    pub(crate) delivered: u64,
    pub(crate) app_limited: bool,
    /// How many of a round trip's acknowledgements carry a mark: the last ones.
    pub(crate) marked_acks: u32,
    /// How long the last round trip took, with its queue.
    last_rtt: Span,
    lost: u64,
    repairing: bool,
}

/// Segments acknowledged at once.
const AT_ONCE: u32 = 2;
/// The receive window, in segments: 10 MB. The queue has no end, so without it a control could have millions in flight.
const RECEIVE_WINDOW: u32 = 10_000;

impl Pipe {
    /// 1000 segments of 1000 B per second, 50 ms: 50 segments fill it.
    pub(crate) fn new(descriptor: &'static Descriptor, preset: &str, changes: &[(&str, Value)]) -> Pipe {
        Pipe::without_sack(descriptor, preset, changes, true)
    }

    pub(crate) fn without_sack(
        descriptor: &'static Descriptor,
        preset: &str,
        changes: &[(&str, Value)],
        sack: bool,
    ) -> Pipe {
        let path = Path { mss_bytes: 1000, header_bytes: 52, smallest_packet_bytes: 52, initial_window: 10.0, sack };
        let params = params(descriptor, preset, changes);
        let mut control = AnyControl::build(&params, &path, Stream::new(1, "control")).unwrap();
        let rtt = Span::from_millis(50);
        control.on_connected(Time::ZERO + rtt, rtt);
        let now = Time::ZERO + rtt;
        Pipe {
            control,
            now,
            bandwidth: 1000.0,
            rtt,
            delivered: 0,
            app_limited: false,
            marked_acks: 0,
            last_rtt: rtt,
            lost: 0,
            repairing: false,
        }
    }

    /// Segments in flight: what the windows allow, or what pacing sent in the last round trip if that is less.
    fn flight(&self) -> u32 {
        let paced = self.control.pacing_rate().unwrap().bytes_in(self.last_rtt.max(self.rtt)) / 1000.0;
        self.control.window().min(paced.max(4.0)).min(f64::from(RECEIVE_WINDOW)).floor() as u32
    }

    /// A round trip in which as much arrives as is in flight, over a queue if that is more than fills the pipe; `lose`
    /// segments of it are lost, apart from each other, of which the first acknowledgement tells.
    pub(crate) fn round(&mut self, lose: u32) {
        let flight = self.flight();
        let rtt = self.rtt.max(Span::from_secs_f64(f64::from(flight) / self.bandwidth));
        self.last_rtt = rtt;
        let prior = self.delivered;
        if lose > 0 {
            if !self.repairing {
                self.signal(Signal::Loss, flight);
            }
            for _ in 0..lose {
                self.lost += 1;
                let lost = self.lost;
                self.control.on_lost(&Lost {
                    now: self.now,
                    tx_in_flight: flight,
                    lost: lost.min(u64::from(lose)),
                    prior_delivered: prior,
                    total_delivered: self.delivered,
                    new_range: true,
                    app_limited: self.app_limited,
                });
            }
        }
        self.repairing = lose > 0;
        let arrive = flight - lose.min(flight);
        let acks = arrive.div_ceil(AT_ONCE).max(1);
        for index in 0..acks {
            self.now += rtt / u64::from(acks);
            let newly = AT_ONCE.min(arrive - index * AT_ONCE);
            self.delivered += u64::from(newly);
            let sample = RateSample {
                delivered: arrive,
                interval: rtt,
                prior_delivered: prior,
                total_delivered: self.delivered,
                newly_delivered: newly,
                lost: u64::from(lose),
                tx_in_flight: flight,
                in_flight: flight,
                held: None,
                repairing: self.repairing,
                app_limited: self.app_limited,
            };
            self.ack_with(Some(rtt), flight, sample, index + self.marked_acks >= acks);
        }
    }

    /// One acknowledgement that says `sample`, of a segment that took `rtt` if it was sent once only.
    pub(crate) fn ack(&mut self, rtt: Option<Span>, flight: u32, sample: RateSample) {
        self.ack_with(rtt, flight, sample, false);
    }

    /// The same, `marked` or not.
    pub(crate) fn ack_with(&mut self, rtt: Option<Span>, flight: u32, sample: RateSample, marked: bool) {
        let smoothed_rtt = rtt.unwrap_or(self.rtt);
        self.control.on_ack(&Ack {
            now: self.now,
            newly_acked: sample.newly_delivered,
            delivered: sample.newly_delivered,
            advanced: sample.newly_delivered,
            outstanding: flight,
            selective: false,
            orderly: !marked,
            flight: f64::from(flight),
            window_limited: true,
            in_recovery: sample.repairing,
            rtt,
            smoothed_rtt,
            min_rtt: self.rtt,
            max_rtt: smoothed_rtt,
            one_way_delay_nanos: None,
            sent: Time::from_nanos(self.now.as_nanos().saturating_sub(smoothed_rtt.as_nanos())),
            echoed: Time::from_nanos(self.now.as_nanos().saturating_sub(smoothed_rtt.as_nanos())),
            marked,
            unmarked: 0,
            rate: Some(sample),
        });
    }

    /// A signal, with `flight` segments in flight.
    pub(crate) fn signal(&mut self, signal: Signal, flight: u32) {
        let flight = f64::from(flight);
        self.control.on_congestion(&Congestion {
            now: self.now,
            signal,
            flight,
            pipe: flight,
            smoothed_rtt: self.rtt,
            stage: crate::Stage::New,
        });
    }

    /// Sending starts again after `idle` without data, now.
    pub(crate) fn start(&mut self, idle: Span) {
        let unused = Unused::Restart { window: 10.0 };
        let start = Start { now: self.now, idle, timeout: Span::from_secs(1), app_limited: true, unused };
        self.control.on_start(&start);
    }

    /// What the control shows as `name`.
    pub(crate) fn shown(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.control.probe(&mut |key, value| {
            if key == name {
                found = value;
            }
        });
        found
    }

    /// Window and pacing rate, in whole segments and segments per second.
    pub(crate) fn text(&self) -> String {
        let pace = self.control.pacing_rate().unwrap().bytes_per_second() / 1000.0;
        format!("{:.0}@{pace:.0}", (self.control.window() + 1e-9).floor())
    }

    /// Window and pacing rate after each of so many round trips.
    pub(crate) fn rounds(&mut self, count: u32) -> String {
        let mut shown = Vec::new();
        for _ in 0..count {
            self.round(0);
            shown.push(self.text());
        }
        shown.join(" ")
    }
}
