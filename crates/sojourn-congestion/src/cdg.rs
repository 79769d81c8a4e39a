//! CDG: congestion control by delay gradients (Hayes and Armitage 2011).
//!
//! Once per round trip:
//! 1. the least and greatest RTT of the round against those of the round before are its gradients; they are averaged
//!    over eight rounds;
//! 2. where the average g of the least, or else of the greatest, is positive, the flow backs off with probability
//!    1 - exp(-g/G), and leaves the next round out of the gradients, in which it sees its own back-off;
//! 3. five back-offs that did not make the queue fall say that others do not listen: gradients are then ignored;
//! 4. otherwise the window grows as Reno's.
//!
//! A shadow window follows what the flow would have without back-offs, and halves with losses: a loss leaves no less than
//! it. With tolerance a loss where the queue is not full (greatest RTT falling, or both rising) leaves the window.
//!
//! An acknowledgement of one segment, where others of several came just before, was held back by the receiver's timer: its
//! round-trip time may only lower the least one of its round. Without this the timer looks like a queue of 40 or 100 ms.
//!
//! Differences that are not kept: FreeBSD grows by a segment at the end of a round instead of by acknowledgements, takes
//! probabilities from a table that is one above 5 G, leaves out a round also where a back-off was ignored, and does not look
//! at delayed acknowledgements at all. Linux lowers the window over a round trip, which is the transport's business
//! (`reduction = "proportional"`).

mod descriptor;
mod gradient;
#[cfg(test)]
mod tests;

pub use descriptor::DESCRIPTOR;

use crate::control::{Ack, Congestion, Control, Path, Recovered, Signal, Stage, Start, Unused};
use crate::reno::Reno;
use crate::replayable::ReplayableRandom;
use crate::rounds::Rounds;
use descriptor::{FirstRound, FirstSamples, Hystart, Parameters, Repairs, Shadow, SlowStartGradient};
use gradient::{Extremes, Gradients};
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Span, Stream, Time};

/// Fewest segments that a back-off leaves.
const MIN_WINDOW: f64 = 2.0;
/// Linux's hybrid slow start: the longest gap in a train of acknowledgements, samples of a round before its least RTT
/// counts, and the least that half of the path's RTT or a rise is taken for.
const TRAIN_GAP: Span = Span::from_millis(3);
const DELAY_SAMPLES: u32 = 8;
const MIN_RISE: Span = Span::from_micros(125);
/// Acknowledgements of one segment that are taken for delayed ones after the last of several (`DLYACK_SMOOTH` in FreeBSD's
/// h_ertt.c, 5 in Linux).
const MAX_DELAYED: u32 = 5;

/// The state of CDG.
#[derive(Clone, Debug)]
pub struct Cdg {
    reno: Reno,
    shadow: f64,
    rounds: Rounds,
    /// Round-trip times of this round.
    round: Option<Extremes>,
    /// Acknowledgements of several segments, less those of one, since there were only the latter.
    several: u32,
    gradients: Gradients,
    /// The round after a back-off.
    easing: bool,
    /// Whether a repair is to be left out.
    repaired: bool,
    queue: Queue,
    /// Back-offs, also ignored ones, since the queue last fell.
    backoffs: u64,
    /// Back-offs that reduced the window, since the start.
    answered: u64,
    hystart: HyStart,
    random: ReplayableRandom,
    settings: Settings,
}

/// What gradients say of the bottleneck's queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Queue {
    Unknown,
    NotFull,
    Full,
}

/// Linux's hybrid slow start.
#[derive(Clone, Default, Debug)]
struct HyStart {
    least: Option<Span>,
    train: Option<Train>,
    samples: u32,
}

#[derive(Clone, Copy, Debug)]
struct Train {
    began: Time,
    last: Time,
}

/// What does not change.
#[derive(Clone, Debug)]
struct Settings {
    backoff: f64,
    loss_backoff: f64,
    scale_nanos: f64,
    extrapolate: bool,
    latest_in_slow_start: bool,
    noise_nanos: i64,
    ineffective: u64,
    hold: u64,
    shadow: Shadow,
    tolerance: bool,
    trains: bool,
    delays: bool,
    tick_nanos: i64,
    skips_repairs: bool,
    counts_handshake: bool,
}

impl Cdg {
    /// A control with the given parameters; `random` decides on back-offs.
    ///
    /// # Errors
    /// A number of back-offs to hold where none is ever ignored.
    pub fn new(params: &Params, path: &Path, random: Stream) -> Result<Cdg, ParameterError> {
        let declared = Parameters::of(params);
        let settings = Settings {
            backoff: declared.backoff,
            loss_backoff: declared.loss_backoff,
            scale_nanos: declared.scale.as_nanos() as f64,
            extrapolate: declared.first_samples == FirstSamples::Extrapolate,
            latest_in_slow_start: declared.slow_start_gradient == SlowStartGradient::Latest,
            noise_nanos: declared.noise.as_nanos() as i64,
            ineffective: declared.ineffective.unwrap_or(u64::MAX),
            hold: declared.hold.unwrap_or(u64::MAX),
            shadow: declared.shadow,
            tolerance: declared.tolerance,
            trains: matches!(declared.hystart, Hystart::Train | Hystart::Both),
            delays: matches!(declared.hystart, Hystart::Delay | Hystart::Both),
            tick_nanos: declared.tick.as_nanos() as i64,
            skips_repairs: declared.repairs == Repairs::LeftOut,
            counts_handshake: declared.first_round == FirstRound::Handshake,
        };
        if settings.ineffective == u64::MAX && settings.hold != u64::MAX {
            return Err(ParameterError::new(
                "hold",
                "must be auto where ineffective is auto: back-offs are held only after ineffective ones",
            ));
        }
        Ok(Cdg {
            reno: Reno::with(declared.arithmetic, path.initial_window),
            shadow: path.initial_window,
            rounds: Rounds::default(),
            round: None,
            several: 0,
            gradients: Gradients::new(declared.samples as usize),
            easing: false,
            repaired: false,
            queue: Queue::Unknown,
            backoffs: 0,
            answered: 0,
            hystart: HyStart::default(),
            random: ReplayableRandom::new(random),
            settings,
        })
    }

    /// [`AnyControl::fix_random`](crate::AnyControl::fix_random).
    pub(crate) fn fix_random(&mut self, lot: Option<f64>) {
        self.random.fix(lot);
    }

    #[inline]
    fn sample(&mut self, rtt: Span, ack: &Ack) {
        let nanos = self.ticks(rtt);
        if !ack.selective && self.was_delayed(ack) {
            if let Some(round) = &mut self.round {
                round.least = round.least.min(nanos);
            }
            return;
        }
        self.note(nanos);
    }

    /// In nanoseconds, rounded down to the clock's granularity.
    #[inline]
    fn ticks(&self, rtt: Span) -> i64 {
        let nanos = rtt.as_nanos() as i64;
        nanos - nanos.rem_euclid(self.settings.tick_nanos)
    }

    #[inline]
    fn note(&mut self, nanos: i64) {
        let round = self.round.get_or_insert(Extremes { least: nanos, greatest: nanos });
        round.least = round.least.min(nanos);
        round.greatest = round.greatest.max(nanos);
    }

    #[inline]
    fn was_delayed(&mut self, ack: &Ack) -> bool {
        let delayed = ack.advanced == 1 && self.several > 0;
        if delayed {
            self.several -= 1;
        } else if ack.advanced > 1 {
            self.several = (self.several + 1).min(MAX_DELAYED);
        }
        delayed
    }

    /// The end of a round; whether the flow backed off.
    fn end_round(&mut self) -> bool {
        self.hystart.train = None;
        self.hystart.samples = 0;
        let Some(round) = self.round.take() else { return false };
        if core::mem::take(&mut self.easing) {
            self.gradients.skip(round);
            return false;
        }
        let Some(latest) = self.gradients.round(round) else { return false };
        self.judge_queue();
        let gradient = self.gradient(latest);
        gradient > 0.0 && self.back_off(gradient)
    }

    /// Step 2: the gradient that counts, in nanoseconds per round; not positive where none is.
    fn gradient(&self, latest: Extremes) -> f64 {
        let sum = self.gradients.sum();
        let average = |sum: i64| sum as f64 / self.gradients.count(self.settings.extrapolate);
        let slow_start = self.settings.latest_in_slow_start && self.reno.in_slow_start();
        if slow_start && latest.least > 0 {
            latest.least as f64
        } else if sum.least > 0 {
            average(sum.least)
        } else if slow_start && latest.greatest > 0 {
            latest.greatest as f64
        } else {
            average(sum.greatest)
        }
    }

    fn judge_queue(&mut self) {
        let noise = self.settings.noise_nanos;
        let beyond = |sum: i64| if sum.abs() >= noise { sum.signum() } else { 0 };
        let sum = self.gradients.sum();
        match (beyond(sum.least), beyond(sum.greatest)) {
            (1, 0 | -1) => self.queue = Queue::Full,
            (0, -1) => {
                self.queue = Queue::NotFull;
                // The queue is empty: no other flow keeps it filled.
                if self.settings.shadow == Shadow::UntilEmpty {
                    self.shadow = 0.0;
                }
            }
            (1, 1) | (_, -1) => self.queue = Queue::NotFull,
            _ => {}
        }
        if beyond(sum.least) < 0 || beyond(sum.greatest) < 0 {
            self.backoffs = 0;
        }
    }

    /// Steps 2 and 3.
    fn back_off(&mut self, gradient: f64) -> bool {
        if !self.random.chance(1.0 - libm::exp(-gradient / self.settings.scale_nanos)) {
            return false;
        }
        self.backoffs += 1;
        let Settings { ineffective, hold, .. } = self.settings;
        if self.backoffs > ineffective {
            if self.backoffs - ineffective >= hold {
                self.backoffs = 0;
            }
            return false;
        }
        self.shadow = self.shadow.max(self.reno.window);
        let least = MIN_WINDOW.min(self.reno.window);
        self.reno.window = self.reno.rounded(self.reno.window * self.settings.backoff).max(least);
        self.reno.threshold = self.reno.window;
        self.reno.forget_credit();
        self.easing = true;
        self.answered += 1;
        true
    }

    /// Linux: slow start ends before the queue builds up.
    fn watch_slow_start(&mut self, ack: &Ack) {
        let (Some(round), true) = (self.round, self.reno.in_slow_start()) else { return };
        let least_of_round = Span::from_nanos(round.least as u64);
        let least = self.hystart.least.map_or(least_of_round, |least| least.min(least_of_round));
        self.hystart.least = Some(least);
        if self.settings.trains && self.train_is_long(ack, least) {
            self.reno.threshold = self.reno.window;
            return;
        }
        if self.settings.delays {
            if self.hystart.samples < DELAY_SAMPLES {
                self.hystart.samples += 1;
            } else if least_of_round > (least + least / 8).max(MIN_RISE) {
                self.reno.threshold = self.reno.window;
            }
        }
    }

    fn train_is_long(&mut self, ack: &Ack, least: Span) -> bool {
        match &mut self.hystart.train {
            Some(train) if ack.window_limited => {
                let close = ack.now.since(train.last) < TRAIN_GAP;
                if close {
                    train.last = ack.now;
                }
                close && ack.now.since(train.began) > (least / 2).max(MIN_RISE)
            }
            train => {
                *train = Some(Train { began: ack.now, last: ack.now });
                false
            }
        }
    }

    /// Step 4.
    #[inline]
    fn grow(&mut self, ack: &Ack) {
        let before = self.reno.window;
        if !ack.window_limited {
            self.shadow = self.shadow.min(before);
        } else if !ack.marked {
            self.reno.grow(f64::from(ack.newly_acked));
            if self.shadow > 0.0 {
                self.shadow += self.reno.window - before;
            }
        }
    }

    /// Linux: what was measured up to the end of a repair is only what the next round is compared with.
    fn leave_repair(&mut self, now: Time) {
        if let Some(round) = self.round.take() {
            self.gradients.skip(round);
        }
        self.queue = Queue::Unknown;
        self.easing = false;
        self.rounds.restart(now);
    }

    /// What a loss leaves.
    fn after_loss(&mut self, signal: Signal) -> f64 {
        let window = self.reno.window;
        let tolerated = self.settings.tolerance && self.queue == Queue::NotFull;
        if signal == Signal::Loss && (tolerated || self.easing) {
            return window;
        }
        self.shadow = self.reno.rounded(self.shadow / 2.0).min(window);
        let shadow = if self.settings.shadow == Shadow::Off { 0.0 } else { self.shadow };
        shadow.max(window * self.settings.loss_backoff)
    }
}

impl Control for Cdg {
    fn on_connected(&mut self, _now: Time, rtt: Span) {
        if self.settings.counts_handshake {
            self.note(self.ticks(rtt));
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.sample(rtt, ack);
        }
        if ack.in_recovery {
            self.repaired = self.settings.skips_repairs;
            return;
        }
        if core::mem::take(&mut self.repaired) {
            self.leave_repair(ack.now);
        }
        if self.settings.trains || self.settings.delays {
            self.watch_slow_start(ack);
        }
        if self.rounds.ends(ack) && self.end_round() {
            return;
        }
        if !self.easing {
            self.grow(ack);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let kept = self.after_loss(event.signal);
        self.reno.reduce(event.signal, kept);
        self.repaired |= event.stage == Stage::Repaired && self.settings.skips_repairs;
    }

    fn on_recovered(&mut self, recovered: &Recovered) {
        self.reno.recovered(recovered);
    }

    /// Linux: `CA_EVENT_CWND_RESTART` leaves nothing but the window, the one before as the shadow, also where that is so small
    /// that all of it is left.
    fn on_start(&mut self, start: &Start) {
        let window = self.reno.window;
        start.unused.leave_of(self);
        if start.unused != Unused::Keep {
            self.shadow = window;
            self.round = None;
            self.several = 0;
            self.gradients.clear();
            self.easing = false;
            self.repaired = false;
            self.queue = Queue::Unknown;
            self.backoffs = 0;
            self.hystart = HyStart::default();
            self.rounds.restart(start.now);
        }
    }

    /// Linux: a back-off is what a mark is (`tcp_enter_cwr`).
    fn reduced(&self) -> bool {
        self.settings.skips_repairs && self.easing
    }

    fn set_window(&mut self, window: f64, threshold: f64) {
        self.reno.set(window, threshold);
    }

    #[inline]
    fn window(&self) -> f64 {
        self.reno.window
    }

    #[inline]
    fn slow_start_threshold(&self) -> f64 {
        self.reno.threshold
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let sum = self.gradients.sum();
        let count = self.gradients.count(self.settings.extrapolate);
        visit("gradient_least_ms", sum.least as f64 / count / 1e6);
        visit("gradient_greatest_ms", sum.greatest as f64 / count / 1e6);
        visit("shadow_window", self.shadow);
        visit("backoffs", self.answered as f64);
    }

    fn retune(&mut self, fresh: &Cdg) {
        self.settings = fresh.settings.clone();
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&["arithmetic", "samples", "tick"])
    }
}
