//! Congestion controls under any acknowledgements, losses and marks.

use crate::params::algorithm;
use crate::tape::Tape;
use sojourn_congestion::{
    Ack, AnyControl, AppLimited, Congestion, Control, DESCRIPTORS, Lost, Path, RateSample, Recovered, Repair, Signal,
    Stage, Start, Undo, Unused,
};
use sojourn_core::{Span, Stream, Time};

/// What is known of a flow that never was: true to itself in what a transport makes sure of.
struct Flow {
    control: AnyControl,
    now: Time,
    smoothed: Span,
    min: Span,
    max: Span,
    delivered: u64,
    lost: u64,
    /// Window and threshold before the last reduction.
    before: Option<(f64, f64)>,
}

impl Flow {
    fn acknowledge(&mut self, tape: &mut Tape<'_>) {
        let (what, newly_acked) = (tape.byte(), u32::from(tape.byte() % 32));
        let flight = f64::from(tape.word() % 2000);
        let rtt = (what & 1 == 0).then(|| Span::from_micros(u64::from(tape.word()) * 20 + 1));
        if let Some(rtt) = rtt {
            self.smoothed =
                if self.smoothed.is_zero() { rtt } else { self.smoothed.mul_f64(0.875) + rtt.mul_f64(0.125) };
            (self.min, self.max) = (self.min.min(rtt), self.max.max(rtt));
        }
        self.delivered += u64::from(newly_acked);
        let rate = self.control.wants_rate_samples().then(|| {
            // An acknowledgement is reported where it covers something, even if that is credited later.
            let newly_delivered = newly_acked.max(1);
            let delivered = newly_delivered + u32::from(tape.byte());
            RateSample {
                delivered,
                interval: if what & 2 == 0 { Span::ZERO } else { Span::from_micros(u64::from(tape.word()) * 10) },
                prior_delivered: self.delivered.saturating_sub(u64::from(delivered)),
                total_delivered: self.delivered,
                newly_delivered,
                lost: u64::from(tape.byte()).min(self.lost),
                tx_in_flight: u32::from(tape.word() % 2000),
                in_flight: u32::from(tape.word() % 2000),
                held: (what & 128 == 0).then(|| Span::from_micros(u64::from(tape.byte()) * 100)),
                repairing: what & 4 != 0,
                app_limited: what & 8 != 0,
            }
        });
        let sent = Time::from_nanos(self.now.as_nanos().saturating_sub(rtt.unwrap_or(Span::ZERO).as_nanos()));
        self.control.on_ack(&Ack {
            now: self.now,
            newly_acked,
            delivered: newly_acked,
            advanced: if what & 2 == 0 { newly_acked } else { 0 },
            outstanding: flight as u32,
            selective: what & 2 != 0,
            flight,
            window_limited: what & 16 == 0,
            in_recovery: what & 4 != 0,
            orderly: what & 4 == 0,
            rtt,
            smoothed_rtt: self.smoothed,
            min_rtt: self.min,
            max_rtt: self.max,
            one_way_delay_nanos: (what & 32 == 0).then(|| i64::from(tape.word()) * 20_000 - 300_000_000),
            sent,
            echoed: if what & 8 == 0 { sent } else { Time::from_nanos(sent.as_nanos() / 2) },
            marked: what & 64 != 0,
            unmarked: newly_acked / 2,
            rate,
        });
    }

    fn lose(&mut self, tape: &mut Tape<'_>) {
        self.lost += 1;
        self.control.on_lost(&Lost {
            now: self.now,
            tx_in_flight: u32::from(tape.word() % 2000),
            lost: 1 + u64::from(tape.byte()).min(self.lost - 1),
            prior_delivered: self.delivered.saturating_sub(u64::from(tape.word())),
            total_delivered: self.delivered,
            new_range: tape.flag(),
            app_limited: tape.flag(),
        });
    }

    fn signal(&mut self, signal: Signal, tape: &mut Tape<'_>) {
        let flight = f64::from(tape.word() % 2000);
        let pipe = flight.min(f64::from(tape.word() % 2000));
        let smoothed_rtt = self.smoothed;
        let stage = match tape.byte() % 3 {
            0 => Stage::New,
            1 => Stage::Reducing { window: f64::from(tape.word() % 2000) },
            _ => Stage::Repaired,
        };
        self.before = Some((self.control.window(), self.control.slow_start_threshold()));
        self.control.on_congestion(&Congestion { now: self.now, signal, flight, pipe, smoothed_rtt, stage });
    }

    fn recover(&mut self, tape: &mut Tape<'_>) {
        let repair = [Repair::Partial, Repair::Selective, Repair::Timeout][usize::from(tape.byte() % 3)];
        self.control.on_recovered(&Recovered { now: self.now, repair, flight: f64::from(tape.byte()) });
    }

    /// Takes the last reduction back, if there was one.
    fn undo(&mut self) {
        if let Some((window, threshold)) = self.before.take() {
            self.control.on_undo(&Undo { now: self.now, window, threshold });
        }
    }

    /// Sending starts again, or the application limits it.
    fn start(&mut self, tape: &mut Tape<'_>) {
        let what = tape.byte();
        let window = f64::from(1 + tape.byte() % 10);
        let unused = match what % 4 {
            0 => Unused::Keep,
            1 => Unused::Restart { window },
            2 => Unused::Halve { window, times: 1 + u32::from(tape.byte() % 40) },
            _ => Unused::Average { used: window },
        };
        let before = self.control.window();
        let now = self.now;
        if what & 4 == 0 {
            let (idle, timeout) = (Span::from_millis(u64::from(tape.word())), Span::from_millis(200));
            let app_limited = what & 8 == 0;
            self.control.on_start(&Start { now, idle, timeout, app_limited, unused });
        } else {
            self.control.on_app_limited(&AppLimited { now, unused });
        }
        let restores = self.control.wants_rate_samples();
        assert!(restores || self.control.window() <= before.max(1.0), "a pause opens the window");
    }

    fn check(&self) {
        let window = self.control.window();
        assert!(window.is_finite() && window > 0.0, "window {window}");
        let threshold = self.control.slow_start_threshold();
        assert!(threshold > 0.0, "threshold {threshold}");
        let pacing_rate = self.control.pacing_rate();
        assert!(pacing_rate.is_none_or(|rate| rate.bits_per_second() > 0 && self.control.is_paced()));
        self.control.probe(&mut |name, value| assert!(!value.is_infinite(), "{name}"));
    }
}

/// Any control with any parameters: a finite window above zero, whatever happens.
pub(crate) fn control(bytes: &[u8]) {
    let mut tape = Tape(bytes);
    let params = algorithm(&mut tape, DESCRIPTORS);
    let path = Path {
        mss_bytes: 1460,
        header_bytes: 52,
        smallest_packet_bytes: 52,
        initial_window: f64::from(1 + tape.byte() % 10),
        sack: tape.flag(),
    };
    let Ok(control) = AnyControl::build(&params, &path, Stream::new(1, "fuzz")) else { return };
    let (now, smoothed) = (Time::from_nanos(1_000_000), Span::ZERO);
    let mut flow =
        Flow { control, now, smoothed, min: Span::MAX, max: Span::ZERO, delivered: 0, lost: 0, before: None };
    if tape.flag() {
        flow.control.on_connected(now, Span::from_millis(u64::from(tape.byte()) + 1));
    }
    while !tape.is_over() {
        let step = tape.byte();
        match step {
            0..=159 => flow.acknowledge(&mut tape),
            160..=169 if flow.control.wants_rate_samples() => flow.lose(&mut tape),
            160..=179 => flow.signal(Signal::Loss, &mut tape),
            180..=189 => flow.signal(Signal::Ecn, &mut tape),
            190..=199 => flow.signal(Signal::Timeout { repeated: step & 1 == 1 }, &mut tape),
            200..=207 => flow.recover(&mut tape),
            208..=209 => flow.undo(),
            210..=212 => flow.start(&mut tape),
            213..=249 => flow.now += Span::from_micros(u64::from(tape.word())),
            _ => flow.now += Span::from_millis(u64::from(tape.word())),
        }
        flow.check();
    }
}
