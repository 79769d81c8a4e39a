//! BBR version 1 (Linux): a model of the path, its bandwidth and least round-trip time, sets pacing rate and window.
//!
//! The steps of an acknowledgement are those of `bbr_main` and have their order. Losses change the window only for the
//! time of their repair; marks change nothing. Bandwidth is in segments per second, windows are whole segments, as in the
//! kernel.

mod descriptor;
mod phases;
mod policer;
mod probe_rtt;
#[cfg(test)]
mod tests;
mod window;

pub use descriptor::DESCRIPTOR;

use crate::control::{Ack, AppLimited, Congestion, Control, Lost, Path, RateSample, Signal, Start, Undo};
use crate::memo::Memo;
use crate::path_model::{Aggregation, LeastRtt, Muted, Pacing, PacketTimedRounds, TwoSlots, WindowedMax};
use crate::replayable::ReplayableRandom;
use crate::rounding::rounded_down;
use descriptor::{MinRttRenewal, Parameters};
use policer::{Observation, Policer};
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Rate, Span, Stream, Time};

/// Pacing gains of the cycle (`bbr_pacing_gain`): probe for more, drain what that queued, cruise.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Round trips of a slot of the two that remember aggregation (`bbr_extra_acked_win_rtts`).
const EXTRA_ROUNDS: u32 = 5;
/// What rounding up leaves out: the kernel rounds bandwidth down, so a whole number of segments stays that number.
const ROUNDING_EPSILON: f64 = 1e-6;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// What the transport repairs (`icsk_ca_state`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Repair {
    None,
    Recovery,
    Loss,
}

/// The state of BBR.
#[derive(Clone, Debug)]
pub struct Bbr {
    settings: Settings,
    random: ReplayableRandom,
    window: f64,
    /// The window aimed at, with what it follows from.
    target: Memo<6>,
    threshold: f64,
    pacing: Pacing,
    rounds: PacketTimedRounds,
    bandwidth: WindowedMax,
    least_rtt: LeastRtt,
    policer: Policer,
    aggregation: Aggregation,
    extra: TwoSlots,
    /// Round trips of the present slot of `extra`.
    extra_rounds: u32,
    muted: Muted,
    mode: Mode,
    /// Place in [`CYCLE`].
    phase: usize,
    phase_began: Time,
    /// Bandwidth that the pipe must exceed not to be full.
    full_bandwidth: f64,
    full_rounds: u32,
    full: bool,
    /// When the path has been empty for long enough, once it is empty.
    probe_rtt_ends: Option<Time>,
    probe_rtt_round_done: bool,
    /// The window to return to after a repair or an emptied path.
    prior_window: f64,
    /// The transport's state now, and when the window was last set (`prev_ca_state`).
    repair: [Repair; 2],
    /// Whether as much is sent as is delivered: in the first round trip of a repair.
    conserving: bool,
    idle_restart: bool,
    newly_lost: u32,
    lost: u64,
    delivered: u64,
    delivered_at: Time,
}

/// What does not change.
#[derive(Clone, Debug)]
struct Settings {
    segment_bytes: f64,
    startup_gain: f64,
    drain_gain: f64,
    window_gain: f64,
    bandwidth_rounds: u64,
    renewed_by_equal: bool,
    probe_rtt_duration: Span,
    tick: Span,
    /// Pacing rate as a part of the bandwidth.
    below_bandwidth: f64,
    quantum: Option<f64>,
    policer: bool,
}

impl Bbr {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// None: all combinations work.
    pub fn new(params: &Params, path: &Path, random: Stream) -> Result<Bbr, ParameterError> {
        let declared = Parameters::of(params);
        let settings = Settings {
            segment_bytes: f64::from(path.mss_bytes),
            startup_gain: declared.startup_gain,
            drain_gain: declared.drain_gain,
            window_gain: declared.window_gain,
            bandwidth_rounds: declared.bandwidth_rounds,
            renewed_by_equal: declared.min_rtt_renewal == MinRttRenewal::Equal,
            probe_rtt_duration: declared.probe_rtt_duration,
            tick: declared.tick,
            below_bandwidth: 1.0 - declared.pacing_margin,
            quantum: declared.quantum.map(|count| count as f64),
            policer: declared.policer,
        };
        let first_gain = settings.startup_gain * settings.below_bandwidth;
        Ok(Bbr {
            random: ReplayableRandom::new(random),
            window: path.initial_window,
            target: Memo::NOTHING,
            threshold: f64::INFINITY,
            pacing: Pacing::new(path.mss_bytes, path.initial_window, first_gain),
            settings,
            rounds: PacketTimedRounds::default(),
            bandwidth: WindowedMax::default(),
            least_rtt: LeastRtt::new(declared.min_rtt_window),
            policer: Policer::default(),
            aggregation: Aggregation::default(),
            extra: TwoSlots::default(),
            extra_rounds: 0,
            muted: Muted::default(),
            mode: Mode::Startup,
            phase: 0,
            phase_began: Time::ZERO,
            full_bandwidth: 0.0,
            full_rounds: 0,
            full: false,
            probe_rtt_ends: None,
            probe_rtt_round_done: false,
            prior_window: 0.0,
            repair: [Repair::None; 2],
            conserving: false,
            idle_restart: false,
            newly_lost: 0,
            lost: 0,
            delivered: 0,
            delivered_at: Time::ZERO,
        })
    }

    /// [`AnyControl::fix_random`](crate::AnyControl::fix_random).
    pub(crate) fn fix_random(&mut self, lot: Option<f64>) {
        self.random.fix(lot);
    }

    /// `bbr_update_gains`: pacing and window.
    #[inline]
    fn gains(&self) -> (f64, f64) {
        match self.mode {
            Mode::Startup => (self.settings.startup_gain, self.settings.startup_gain),
            Mode::Drain => (self.settings.drain_gain, self.settings.startup_gain),
            Mode::ProbeBandwidth if self.policer.rate().is_some() => (1.0, self.settings.window_gain),
            Mode::ProbeBandwidth => (CYCLE[self.phase], self.settings.window_gain),
            Mode::ProbeRtt => (1.0, 1.0),
        }
    }

    /// `bbr_bw`.
    #[inline]
    fn estimate(&self) -> f64 {
        self.policer.rate().unwrap_or(self.bandwidth.get())
    }

    /// `bbr_update_bw`.
    #[inline]
    fn update_bandwidth(&mut self, now: Time, sample: &RateSample, app_limited: bool) {
        self.rounds.pass();
        if sample.interval.is_zero() {
            return;
        }
        self.rounds.on_ack(sample.prior_delivered, sample.total_delivered);
        if self.rounds.starts() {
            self.conserving = false;
        }
        self.look_for_policer(self.newly_lost > 0, self.rounds.starts(), app_limited, now);
        let per_micro = f64::from(sample.delivered) * 16_777_216.0 / (sample.interval.as_nanos() / 1000) as f64;
        let rate = rounded_down(per_micro) / 16_777_216.0 * 1e6;
        if !app_limited || rate >= self.bandwidth.get() {
            self.bandwidth.update(self.settings.bandwidth_rounds, self.rounds.count(), rate);
        }
    }

    #[inline(always)]
    fn look_for_policer(&mut self, losses: bool, round_starts: bool, app_limited: bool, now: Time) {
        if !self.settings.policer {
            return;
        }
        let seen = Observation {
            now: self.delivered_at,
            delivered: self.delivered,
            lost: self.lost,
            losses,
            round_starts,
            app_limited,
            steady: self.mode == Mode::ProbeBandwidth,
        };
        if self.policer.observe(&seen, self.settings.segment_bytes) {
            self.enter_probe_bandwidth(now);
        }
    }

    /// `bbr_update_ack_aggregation`.
    #[inline]
    fn update_aggregation(&mut self, now: Time, sample: &RateSample) {
        if sample.interval.is_zero() {
            return;
        }
        if self.rounds.starts() {
            self.extra_rounds += 1;
            if self.extra_rounds >= EXTRA_ROUNDS {
                self.extra_rounds = 0;
                self.extra.advance();
            }
        }
        let newly = f64::from(sample.newly_delivered);
        let now = Time::from_nanos(now.as_nanos() / 1000 * 1000);
        let excess = self.aggregation.excess(newly, self.estimate(), now);
        self.extra.update_rounded_up(excess - ROUNDING_EPSILON, self.window);
    }
}

impl Control for Bbr {
    /// `bbr_main`.
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        let Some(sample) = &ack.rate else { return };
        self.delivered = sample.total_delivered;
        self.delivered_at = ack.now;
        let app_limited = sample.app_limited || self.muted.covers(sample.prior_delivered);
        self.update_bandwidth(ack.now, sample, app_limited);
        self.update_aggregation(ack.now, sample);
        self.update_cycle(ack);
        self.check_full(app_limited);
        self.check_drain(ack.now, sample);
        self.update_least_rtt(ack.now, ack.rtt, sample);
        self.pacing.begin(ack.smoothed_rtt, self.window, self.settings.startup_gain * self.settings.below_bandwidth);
        let (pacing_gain, window_gain) = self.gains();
        self.pacing.follow(self.estimate() * pacing_gain * self.settings.below_bandwidth, self.full);
        self.set_window(sample, window_gain);
        self.newly_lost = 0;
    }

    fn on_connected(&mut self, now: Time, rtt: Span) {
        self.least_rtt.set(rtt, self.at_tick(now));
        self.pacing.begin(rtt, self.window, self.settings.startup_gain * self.settings.below_bandwidth);
    }

    fn on_lost(&mut self, _lost: &Lost) {
        self.newly_lost += 1;
        self.lost += 1;
    }

    /// `bbr_ssthresh` and `bbr_set_state`.
    fn on_congestion(&mut self, event: &Congestion) {
        match event.signal {
            Signal::Ecn => {}
            Signal::Loss => {
                self.save_window();
                self.repair[0] = Repair::Recovery;
            }
            Signal::Timeout { .. } => {
                self.save_window();
                self.repair = [Repair::Loss; 2];
                self.full_bandwidth = 0.0;
                self.newly_lost = 0;
                self.look_for_policer(true, true, false, event.now);
                self.window = 1.0;
            }
        }
    }

    /// `bbr_undo_cwnd`: the window comes back as the repair ends.
    fn on_undo(&mut self, _undo: &Undo) {
        self.full_bandwidth = 0.0;
        self.full_rounds = 0;
        self.policer.reset();
    }

    /// `bbr_cwnd_event`: the window stays, what is known of the path is not exceeded, and an emptied path may have been
    /// empty for long enough by now.
    fn on_start(&mut self, start: &Start) {
        if !start.app_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation = Aggregation::beginning(start.now);
        match self.mode {
            Mode::ProbeBandwidth => self.pacing.follow(self.estimate() * self.settings.below_bandwidth, self.full),
            Mode::ProbeRtt => self.check_probe_rtt_done(start.now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_restart_of_repair(&mut self, start: &Start) {
        self.on_start(start);
    }

    /// The window follows from the model (`cong_control`).
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
        self.threshold
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

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("least_rtt_ms", self.least_rtt.get().map_or(f64::NAN, Span::as_millis_f64));
        visit("bandwidth_segments_per_s", self.estimate());
        visit("pacing_gain", self.gains().0);
    }

    fn retune(&mut self, fresh: &Bbr) {
        self.settings = fresh.settings.clone();
        self.target = Memo::NOTHING;
        self.least_rtt.retune(&fresh.least_rtt);
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&["tick"])
    }
}
