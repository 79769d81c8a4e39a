//! A tiny path for the tests: leads a control through round trips that are written down.

use crate::{Ack, AnyControl, Congestion, Control, Path, RateSample, Recovered, Repair, Signal, Start, Undo, Unused};
use sojourn_core::registry::{Descriptor, Params, Value};
use sojourn_core::{Span, Stream, Time};
use std::fmt::Write;

/// Round-trip time without a queue.
pub(crate) const BASE_RTT: Span = Span::from_millis(50);
/// One-way delay without a queue, with the offset between two clocks in it.
pub(crate) const BASE_DELAY_NANOS: i64 = 25_000_000 - 3_000_000_000;

/// What happens in a round trip.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Round {
    /// The whole window is acknowledged, segment by segment, with so many milliseconds of queueing delay.
    Queue(u64),
    /// The same, and one segment is lost.
    Loss(u64),
    /// The same, and a congestion mark is echoed.
    Mark(u64),
    /// Nothing is acknowledged and the retransmission timer fires.
    Timeout,
    /// The flow is idle for so many seconds.
    Idle(u64),
}

/// A control with its clock.
pub(crate) struct Script {
    /// The control under test.
    pub(crate) control: AnyControl,
    /// The time.
    pub(crate) now: Time,
    /// Segments delivered by now.
    delivered: u64,
    params: Params,
}

/// `preset` of `descriptor` with some values changed.
pub(crate) fn params(descriptor: &'static Descriptor, preset: &str, changes: &[(&str, Value)]) -> Params {
    let preset = (preset != "default").then(|| descriptor.preset(preset).expect("a known preset"));
    let mut params = Params::new(descriptor, preset);
    for (name, value) in changes {
        params.set(name, *value);
    }
    params
}

/// The same with windows that have fractions, whatever the preset says: the formulas without rounding.
pub(crate) fn in_fractions(descriptor: &'static Descriptor, preset: &str, changes: &[(&str, Value)]) -> Params {
    let fractions = [("arithmetic", Value::Choice("fractions"))];
    params(descriptor, preset, &[&fractions[..], changes].concat())
}

/// An acknowledgement of one segment of a full window, at `now` and after `queue` of queueing delay.
pub(crate) fn ack(now: Time, window: f64, queue: Span) -> Ack {
    let rtt = BASE_RTT + queue;
    Ack {
        now,
        newly_acked: 1,
        delivered: 1,
        advanced: 1,
        outstanding: window as u32,
        selective: false,
        flight: window.floor(),
        window_limited: true,
        in_recovery: false,
        orderly: true,
        rtt: Some(rtt),
        smoothed_rtt: rtt,
        min_rtt: BASE_RTT,
        max_rtt: rtt,
        one_way_delay_nanos: Some(BASE_DELAY_NANOS + queue.as_nanos() as i64),
        sent: Time::from_nanos(now.as_nanos().saturating_sub(rtt.as_nanos())),
        echoed: Time::from_nanos(now.as_nanos().saturating_sub(rtt.as_nanos())),
        marked: false,
        unmarked: 0,
        rate: None,
    }
}

fn built(params: &Params, initial_window: f64, seed: u64) -> AnyControl {
    let path = Path { mss_bytes: 1460, header_bytes: 52, smallest_packet_bytes: 52, initial_window, sack: true };
    AnyControl::build(params, &path, Stream::new(seed, "control")).unwrap()
}

impl Script {
    /// A control with the given parameters, at time zero, for a transport with an initial window of 2.
    pub(crate) fn new(params: &Params) -> Script {
        Script::seeded(params, 2.0, 1)
    }

    /// The same for an initial window of `window` and a seed.
    pub(crate) fn seeded(params: &Params, window: f64, seed: u64) -> Script {
        Script { control: built(params, window, seed), now: Time::ZERO, delivered: 0, params: params.clone() }
    }

    /// Forgets all: a new flow with a window of `window`.
    pub(crate) fn begin(&mut self, window: f64) {
        self.control = built(&self.params, window, 1);
    }

    /// The window in segments.
    pub(crate) fn window(&self) -> f64 {
        self.control.window()
    }

    /// One acknowledgement of `segments` segments, a full window, after a round trip.
    pub(crate) fn whole_window(&mut self, segments: u32, queue: Span) {
        self.now += BASE_RTT + queue;
        let ack = ack(self.now, f64::from(segments), queue);
        self.control.on_ack(&Ack { newly_acked: segments, delivered: segments, advanced: segments, ..ack });
    }

    /// A congestion signal, now.
    pub(crate) fn congestion(&mut self, signal: Signal) {
        let flight = self.control.window().floor();
        self.control.on_congestion(&Congestion {
            now: self.now,
            signal,
            flight,
            pipe: flight,
            smoothed_rtt: BASE_RTT,
            stage: crate::Stage::New,
        });
    }

    /// One round trip.
    pub(crate) fn round(&mut self, round: Round) {
        match round {
            Round::Queue(millis) => self.acknowledge(Span::from_millis(millis)),
            Round::Loss(millis) => {
                self.acknowledge(Span::from_millis(millis));
                self.congestion(Signal::Loss);
                let flight = self.window();
                self.recovered(Repair::Partial, flight);
            }
            Round::Mark(millis) => {
                self.acknowledge(Span::from_millis(millis));
                self.congestion(Signal::Ecn);
            }
            Round::Timeout => {
                self.now += Span::from_secs(1);
                self.congestion(Signal::Timeout { repeated: false });
            }
            Round::Idle(secs) => {
                self.now += Span::from_secs(secs);
                self.start(Span::from_secs(secs), Unused::Restart { window: 2.0 });
            }
        }
    }

    /// A repair ends, now.
    pub(crate) fn recovered(&mut self, repair: Repair, flight: f64) {
        self.control.on_recovered(&Recovered { now: self.now, repair, flight });
    }

    /// Sending starts again after `idle`, now.
    pub(crate) fn start(&mut self, idle: Span, unused: Unused) {
        let timeout = Span::from_secs(1);
        self.control.on_start(&Start { now: self.now, idle, timeout, app_limited: true, unused });
    }

    /// A reduction is taken back, now.
    pub(crate) fn undo(&mut self, window: f64, threshold: f64) {
        self.control.on_undo(&Undo { now: self.now, window, threshold });
    }

    /// A window's worth of single acknowledgements, spread over a round trip.
    fn acknowledge(&mut self, queue: Span) {
        let segments = self.window().floor().max(1.0) as u64;
        for _ in 0..segments {
            self.now += (BASE_RTT + queue) / segments;
            let window = self.window();
            self.delivered += 1;
            let rate = self.control.wants_rate_samples().then(|| self.rate(window, queue));
            self.control.on_ack(&Ack { rate, ..ack(self.now, window, queue) });
            assert!(
                self.control.is_paced() || self.control.pacing_rate().is_none(),
                "a control with a pacing rate is paced"
            );
        }
    }

    /// What a transport says of a segment sent a round trip ago, since when a window has been delivered.
    fn rate(&self, window: f64, queue: Span) -> RateSample {
        let segments = window.floor().max(1.0) as u32;
        RateSample {
            delivered: segments,
            interval: BASE_RTT + queue,
            prior_delivered: self.delivered.saturating_sub(u64::from(segments)),
            total_delivered: self.delivered,
            newly_delivered: 1,
            lost: 0,
            tx_in_flight: segments,
            in_flight: segments - 1,
            held: None,
            repairing: false,
            app_limited: false,
        }
    }

    /// All rounds; what happened and the window in whole segments after each, several to a line.
    pub(crate) fn table(&mut self, rounds: &[Round]) -> String {
        let mut table = String::new();
        let mut last = None;
        for &round in rounds {
            self.round(round);
            let name = match round {
                Round::Queue(millis) => format!("queue {millis} ms"),
                Round::Loss(millis) => format!("loss at {millis} ms"),
                Round::Mark(millis) => format!("mark at {millis} ms"),
                Round::Timeout => "timeout".to_owned(),
                Round::Idle(secs) => format!("idle {secs} s"),
            };
            // Windows that arithmetic brought a hair below a whole number count as that number.
            let window = (self.window() + 1e-9).floor();
            if last != Some(round) {
                write!(table, "{}{name}:", if last.is_none() { "" } else { "\n" }).unwrap();
            }
            write!(table, " {window}").unwrap();
            last = Some(round);
        }
        table
    }
}
