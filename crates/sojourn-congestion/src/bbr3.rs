//! BBR version 3 (draft-ietf-ccwg-bbr): version 1's model with bounds from losses, and probes that keep out of the way.
//!
//! The steps of an acknowledgement are those of the draft's `UpdateOnACK()` and have their order. Amounts are in segments,
//! rates in segments per second.

mod descriptor;
mod losses;
mod marks;
mod probe;
mod probe_rtt;
mod startup;
#[cfg(test)]
mod tests;
mod window;

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
pub use descriptor::DESCRIPTOR;
use descriptor::Parameters;

use crate::control::{Ack, AppLimited, Congestion, Control, EcnUse, Lost, Path, RateSample, Signal, Start, Undo};
use crate::path_model::{Aggregation, LeastRtt, MIN_PIPE, Muted, Pacing, PacketTimedRounds, TwoSlots, WindowedMax};
use losses::Bounds;
use marks::Marks;
use probe::Probing;
use sojourn_core::registry::{Advice, ParameterError, Params};
use sojourn_core::{Rate, Span, Stream, Time};

/// Round trips for which aggregation is remembered: in Startup, and after (BBR.ExtraAckedFilterLen).
const EXTRA_ROUNDS: [u64; 2] = [1, 10];
/// What the window gain grows by in ProbeBW_UP.
const UP_WINDOW_GAIN: f64 = 0.25;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// `IsInAProbeBWState()`.
    fn probes_bandwidth(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// `IsProbingBW()`.
    fn accelerates(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }
}

/// The state of BBR version 3.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    settings: Settings,
    random: Stream,
    state: State,
    window: f64,
    /// BBR.prior_cwnd.
    prior_window: f64,
    pacing: Pacing,
    /// C.delivered.
    delivered: u64,
    rounds: PacketTimedRounds,
    max_bandwidth: TwoSlots,
    /// BBR.bw.
    bandwidth: f64,
    /// BBR.min_rtt.
    least_rtt: LeastRtt,
    /// BBR.probe_rtt_min_delay.
    recent_rtt: LeastRtt,
    aggregation: Aggregation,
    /// BBR.extra_acked_filter.
    extra: WindowedMax,
    muted: Muted,
    full: FullPipe,
    bounds: Bounds,
    /// Where marks have an answer of their own.
    marks: Option<Marks>,
    probing: Probing,
    /// BBR.drain_start_round.
    drain_began: u64,
    /// Whether the window was used up in the present and in the last round trip (C.is_cwnd_limited).
    window_used: [bool; 2],
    repairing: bool,
    idle_restart: bool,
    /// BBR.probe_rtt_done_stamp.
    probe_rtt_ends: Option<Time>,
    probe_rtt_round_done: bool,
}

/// The estimator of a full pipe.
#[derive(Clone, Copy, Default, Debug)]
struct FullPipe {
    /// BBR.full_bw.
    bandwidth: f64,
    /// BBR.full_bw_count.
    rounds: u32,
    /// BBR.full_bw_now.
    now: bool,
    /// BBR.full_bw_reached.
    ever: bool,
}

impl FullPipe {
    /// `ResetFullBW()`, with a first baseline.
    fn restart(&mut self, baseline: f64) {
        *self = FullPipe { bandwidth: baseline, ever: self.ever, ..FullPipe::default() };
    }
}

/// What does not change.
#[derive(Clone, Debug)]
struct Settings {
    segment_bytes: f64,
    initial_window: f64,
    sack: bool,
    startup_gain: f64,
    drain_gain: f64,
    down_gain: f64,
    up_gain: f64,
    window_gain: f64,
    loss_threshold: f64,
    beta: f64,
    headroom: f64,
    startup_losses: u32,
    probe_wait: Span,
    probe_rounds: f64,
    probe_rtt_duration: Span,
    probe_rtt_gain: f64,
    /// Pacing rate as a part of the bandwidth.
    below_bandwidth: f64,
}

/// An acknowledgement, as the steps see it.
#[derive(Clone, Copy, Debug)]
struct Seen<'a> {
    now: Time,
    sample: &'a RateSample,
    /// RS.delivery_rate.
    rate: f64,
    /// RS.is_app_limited.
    app_limited: bool,
    /// C.inflight.
    in_flight: f64,
    /// Whether nothing is lost or marked ([`Ack::orderly`]).
    orderly: bool,
}

impl Bbr3 {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// A window of the least round-trip time that does not cover one draining of the path.
    pub fn new(params: &Params, path: &Path, random: Stream) -> Result<Bbr3, ParameterError> {
        let declared = Parameters::of(params);
        let interval = declared.probe_rtt_interval;
        let window = declared.min_rtt_window;
        if window < interval {
            let rule = format!(
                "at least probe_rtt_interval, which is {interval}, so that the round-trip time found when the path was last drained is still known"
            );
            return Err(ParameterError::new("min_rtt_window", rule));
        }
        let settings = Settings {
            segment_bytes: f64::from(path.mss_bytes),
            initial_window: path.initial_window,
            sack: path.sack,
            startup_gain: declared.startup_gain,
            drain_gain: declared.drain_gain,
            down_gain: declared.down_gain,
            up_gain: declared.up_gain,
            window_gain: declared.window_gain,
            loss_threshold: declared.loss_threshold,
            beta: declared.beta,
            headroom: declared.headroom,
            startup_losses: declared.startup_losses as u32,
            probe_wait: declared.probe_wait,
            probe_rounds: declared.probe_rounds as f64,
            probe_rtt_duration: declared.probe_rtt_duration,
            probe_rtt_gain: declared.probe_rtt_gain,
            below_bandwidth: 1.0 - declared.pacing_margin,
        };
        Ok(Bbr3 {
            random,
            state: State::Startup,
            window: path.initial_window,
            prior_window: 0.0,
            pacing: Pacing::new(path.mss_bytes, path.initial_window, settings.startup_gain),
            settings,
            delivered: 0,
            rounds: PacketTimedRounds::default(),
            max_bandwidth: TwoSlots::default(),
            bandwidth: 0.0,
            least_rtt: LeastRtt::new(window),
            recent_rtt: LeastRtt::new(interval),
            aggregation: Aggregation::default(),
            extra: WindowedMax::default(),
            muted: Muted::default(),
            full: FullPipe::default(),
            bounds: Bounds::default(),
            marks: marks::of(&declared),
            probing: Probing::default(),
            drain_began: 0,
            window_used: [false; 2],
            repairing: false,
            idle_restart: false,
            probe_rtt_ends: None,
            probe_rtt_round_done: false,
        })
    }

    /// The table of the draft's "Summary of Control Behavior in the State Machine": pacing and window.
    #[inline]
    fn gains(&self) -> (f64, f64) {
        let settings = &self.settings;
        match self.state {
            State::Startup => (settings.startup_gain, settings.window_gain),
            State::Drain => (settings.drain_gain, settings.window_gain),
            State::Down => (settings.down_gain, settings.window_gain),
            State::Cruise | State::Refill => (1.0, settings.window_gain),
            State::Up => (settings.up_gain, settings.window_gain + UP_WINDOW_GAIN),
            State::ProbeRtt => (1.0, settings.probe_rtt_gain),
        }
    }

    /// `UpdateMaxBw()`.
    #[inline]
    fn update_max_bandwidth(&mut self, seen: &Seen<'_>) {
        self.rounds.on_ack(seen.sample.prior_delivered, seen.sample.total_delivered);
        if self.rounds.starts() {
            self.probing.rounds_since_up += 1;
        }
        if seen.rate > 0.0 && (seen.rate >= self.max_bandwidth.get() || !seen.app_limited) {
            self.max_bandwidth.update(seen.rate);
        }
    }

    /// `UpdateACKAggregation()`.
    #[inline]
    fn update_aggregation(&mut self, seen: &Seen<'_>) {
        let newly = f64::from(seen.sample.newly_delivered);
        let excess = self.aggregation.excess(newly, self.bandwidth, seen.now).min(self.window);
        self.extra.update(EXTRA_ROUNDS[usize::from(self.full.ever)], self.rounds.count(), excess);
    }

    /// `SetPacingRate()`.
    #[inline]
    fn set_pacing(&mut self, smoothed_rtt: Span) {
        self.pacing.begin(smoothed_rtt, self.settings.initial_window, self.settings.startup_gain);
        let (gain, _) = self.gains();
        self.pacing.follow(gain * self.bandwidth * self.settings.below_bandwidth, self.full.ever);
    }
}

impl Control for Bbr3 {
    /// `UpdateOnACK()`.
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        let Some(sample) = &ack.rate else { return };
        let app_limited = sample.app_limited || self.muted.covers(sample.prior_delivered);
        let in_flight = f64::from(sample.in_flight);
        let seen =
            Seen { now: ack.now, sample, rate: sample.per_second(), app_limited, in_flight, orderly: ack.orderly };
        self.delivered = sample.total_delivered;
        self.window_used[0] |= ack.flight + 1.0 > self.window;
        self.update_latest_delivery(&seen);
        self.update_max_bandwidth(&seen);
        if self.marks.is_some() {
            self.update_marks(&seen, ack.marked_segments());
        }
        self.update_congestion_signals();
        self.update_aggregation(&seen);
        self.check_full(&seen);
        self.check_startup_done(&seen);
        self.check_drain_done(&seen);
        self.update_cycle(&seen);
        let expired = self.update_least_rtt(&seen, ack.rtt);
        self.check_probe_rtt(&seen, expired);
        self.bounds.advance_latest(&seen);
        self.bandwidth = self.max_bandwidth.get().min(self.bounds.bandwidth);
        if self.repairing && !sample.repairing {
            self.repairing = false;
            self.restore_window();
        }
        self.set_pacing(ack.smoothed_rtt);
        self.set_window(f64::from(sample.newly_delivered));
        if self.rounds.starts() {
            self.window_used = [false, self.window_used[0]];
        }
    }

    fn on_connected(&mut self, now: Time, rtt: Span) {
        self.least_rtt.set(rtt, now);
        self.recent_rtt.set(rtt, now);
        self.pacing.begin(rtt, self.settings.initial_window, self.settings.startup_gain);
    }

    /// Marks count as losses then.
    fn on_classic_feedback(&mut self) {
        self.marks = None;
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.handle_lost(lost);
    }

    /// `OnEnterFastRecovery()` and `OnEnterRTO()`.
    fn on_congestion(&mut self, event: &Congestion) {
        match event.signal {
            Signal::Ecn if self.marks.is_some() => {}
            Signal::Ecn => self.note_loss(),
            Signal::Loss => {
                self.save_window();
                self.repairing = true;
            }
            Signal::Timeout { .. } => {
                self.save_window();
                self.repairing = true;
                self.window = 1.0;
            }
        }
    }

    /// `HandleSpuriousLossDetection()`: what the loss said is forgotten.
    fn on_undo(&mut self, _undo: &Undo) {
        self.forget_loss();
    }

    /// `HandleRestartFromIdle()`: the window stays, what is known of the path is not exceeded, and a drained path may have
    /// been drained for long enough by now.
    fn on_start(&mut self, start: &Start) {
        if !start.app_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(start.now);
        if self.state.probes_bandwidth() {
            self.pacing.follow(self.bandwidth * self.settings.below_bandwidth, self.full.ever);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(start.now);
        }
    }

    /// The window follows from the model.
    fn on_app_limited(&mut self, _limited: &AppLimited) {}

    fn set_window(&mut self, window: f64, _threshold: f64) {
        self.window = window;
    }

    #[inline]
    fn window(&self) -> f64 {
        self.window
    }

    #[inline]
    fn slow_start_threshold(&self) -> f64 {
        f64::INFINITY
    }

    fn is_paced(&self) -> bool {
        true
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.pacing.rate())
    }

    fn wants_rate_samples(&self) -> bool {
        true
    }

    fn ecn(&self) -> EcnUse {
        if self.marks.is_some() { EcnUse::Scalable } else { EcnUse::Optional }
    }

    fn advice(params: &Params) -> Vec<Advice> {
        if Parameters::of(params).probe_rtt_interval == descriptor::PROBE_RTT_INTERVAL {
            return Vec::new();
        }
        let text = "each flow must use the standard 5 s, so that flows drain the path together (draft-ietf-ccwg-bbr, ProbeRTT Design Rationale); with another value their round-trip times include each other's queues";
        vec![Advice::new("probe_rtt_interval", text)]
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("least_rtt_ms", self.least_rtt.get().map_or(f64::NAN, Span::as_millis_f64));
        visit("bandwidth_segments_per_s", self.bandwidth);
        visit("pacing_gain", self.gains().0);
        let bound = |segments: f64| if segments.is_finite() { segments } else { f64::NAN };
        visit("inflight_longterm_segments", bound(self.bounds.long_term));
        visit("inflight_shortterm_segments", bound(self.bounds.short_term));
        visit("alpha", marks::alpha(&self.marks));
    }

    fn retune(&mut self, fresh: &Bbr3) {
        self.settings = fresh.settings.clone();
        marks::retune(&mut self.marks, &fresh.marks);
        self.least_rtt.retune(&fresh.least_rtt);
        self.recent_rtt.retune(&fresh.recent_rtt);
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&["ecn"])
    }
}
