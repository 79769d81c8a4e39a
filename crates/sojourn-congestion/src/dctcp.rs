//! DCTCP: a window reduced in proportion to the part of segments that were marked (RFC 8257).
//!
//! Sections 3.3 to 3.5, in their order: segments acknowledged with an echo are counted against all; after each window of
//! data the estimate alpha moves by g towards their part; a mark leaves 1 - alpha/2 of the window, at most once for a
//! window of data, which the transport sees to; a loss is answered as by Reno. Section 3.5 allows one reduction for a window of
//! data across all signals, as RFC 3168 section 6.1.2 does: a loss beside a mark that has reduced it has no second answer.
//! Linux gives it all the same.
//!
//! Alpha means something only where the receiver echoes each mark (`ecn = "accurate"` of the transport) and the
//! queue marks at a step, such as RED with one threshold on the length of the moment.

#[cfg(test)]
mod tests;

use crate::control::{Ack, Congestion, Control, EcnUse, Path, Recovered, Signal, Stage};
use crate::newreno::Count;
use crate::newreno::{self, Growth, Halve};
use crate::reno::Arithmetic;
use crate::reno::{self, Reno};
use crate::rounds::Rounds;
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;
use sojourn_core::registry::declare::{choice, integer_in, number, or_auto};
use sojourn_core::registry::{Descriptor, Form, Linux, ParameterError, Params, Preset, Value};
use sojourn_core::{Stream, Time};
use sojourn_core::{choices, parameters};

choices! {
    /// Words of `window_end`.
    enum WindowEnd { Beyond = "beyond", Reached = "reached" }
    /// Words of `hold`.
    enum Hold { Echoes = "echoes", RoundTrip = "round-trip" }
    /// Words of `loss`.
    enum Loss { Once = "once", Halves = "halves", Alpha = "alpha" }
}

parameters! {
    /// What can be set.
    struct Parameters {
        slow_start_limit: Option<u64> = newreno::SLOW_START_LIMIT,
        count: Count = newreno::COUNT,
        halve: Halve = newreno::HALVE,
        arithmetic: Arithmetic = reno::ARITHMETIC,
        /// weight of the last window's marked part in alpha (g)
        gain: f64 = number(1.0 / 16.0, 1.0 / 1024.0..=1.0),
        /// alpha before the first window; 1 halves at the first mark, as Reno does
        initial_alpha: f64 = number(1.0, 0.0..=1.0),
        /// alpha is kept in whole parts of one in so many, rounded down, and is 0 from where a decrease would be less
        /// than a part; auto is exact
        alpha_steps: Option<u64> = or_auto(&integer_in(16..=1_000_000)),
        /// when a window of data ends for alpha: when more is acknowledged than was sent as it began (beyond, section 3.3
        /// step 4), or when that is (reached, Linux)
        window_end: WindowEnd = choice(WindowEnd::Beyond.value()),
        /// when the window does not grow beside recovery: on acknowledgements with an echo (RFC 3168), or also for the
        /// round trip that follows a reduction (Linux's state CWR)
        hold: Hold = choice(Hold::Echoes.value()),
        /// what a loss does: halve where no mark has reduced this window of data (once, section 3.5), or always, in the
        /// middle of a reduction what that has left so far, but where a tail loss probe has repaired it leave 1 - alpha/2
        /// as a mark does (halves, Linux), or leave 1 - alpha/2 as a mark does, which is nothing where no segment is
        /// marked (ns-3)
        loss: Loss = choice(Loss::Once.value()),
    }
}

/// What `dctcp` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "dctcp",
    summary: "reduces the window in proportion to the marks of the last round trips; for data centres and step marking",
    sources: &["RFC 8257", "Linux 6.1 net/ipv4/tcp_dctcp.c", "ns-3.37 src/internet/model/tcp-dctcp.cc"],
    parameters: &Parameters::LIST,
    presets: &[
        Preset { name: "rfc", summary: "RFC 8257", values: &[] },
        Preset {
            name: "linux",
            summary: "Linux 6.1: alpha in parts of 1024, halves the window, holds it for a round trip after a mark",
            values: &[
                ("slow_start_limit", Value::Auto),
                ("halve", Value::Choice("window")),
                ("loss", Loss::Halves.value()),
                ("alpha_steps", Value::Integer(1024)),
                ("window_end", WindowEnd::Reached.value()),
                ("hold", Hold::RoundTrip.value()),
                ("arithmetic", Value::Choice("whole")),
            ],
        },
        Preset {
            name: "ns3",
            summary: "ns-3.37 TcpDctcp on its LinuxReno: a loss is answered as a mark",
            values: &[
                ("slow_start_limit", Value::Auto),
                ("halve", Value::Choice("window")),
                ("hold", Hold::RoundTrip.value()),
                ("loss", Loss::Alpha.value()),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form { name: "dctcp", module: "tcp_dctcp", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};

/// Fewest segments that a loss or a mark leaves.
const MIN_WINDOW: f64 = 2.0;

/// The state of RFC 8257.
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: Reno,
    /// `DCTCP.Alpha`, 0 to 1.
    alpha: f64,
    /// The window of data that ends at `DCTCP.WindowEnd`.
    observed: Observed,
    /// `DCTCP.BytesAcked`, in segments.
    acked: f64,
    /// `DCTCP.BytesMarked`, in segments.
    marked: f64,
    /// Whether the receiver only echoes marks, each of which halves: alpha stays at 1.
    classic: bool,
    /// No growth before what was sent from then on is acknowledged.
    held: Time,
    growth: Growth,
    settings: Settings,
}

/// The window of data over which marks are counted.
#[derive(Clone, Debug)]
enum Observed {
    /// It ends when something sent after it began is acknowledged.
    Beyond(Rounds),
    /// It ends when so many more segments are acknowledged (`dctcp_update_alpha`).
    Reached(u32),
}

/// What does not change.
#[derive(Clone, Debug)]
struct Settings {
    gain: f64,
    alpha_steps: Option<f64>,
    hold_round_trip: bool,
    on_loss: Loss,
    halve: Halve,
}

impl Dctcp {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// Whole segments with what only fractions can do.
    pub fn new(params: &Params, path: &Path, _random: Stream) -> Result<Dctcp, ParameterError> {
        let declared = Parameters::of(params);
        newreno::count_segments_where_whole(declared.arithmetic, declared.count)?;
        Ok(Dctcp {
            reno: Reno::with(declared.arithmetic, path.initial_window),
            alpha: declared.initial_alpha,
            observed: Observed::new(declared.window_end),
            acked: 0.0,
            marked: 0.0,
            classic: false,
            held: Time::ZERO,
            growth: Growth::new(declared.slow_start_limit, declared.count),
            settings: Settings {
                gain: declared.gain,
                alpha_steps: declared.alpha_steps.map(|count| count as f64),
                hold_round_trip: declared.hold == Hold::RoundTrip,
                on_loss: declared.loss,
                halve: declared.halve,
            },
        })
    }

    /// Section 3.3, steps 1 to 8.
    #[inline]
    fn measure(&mut self, ack: &Ack) {
        self.acked += f64::from(ack.delivered);
        self.marked += f64::from(ack.marked_segments());
        if self.acked > 0.0 && self.observed.ends(ack) {
            self.alpha = self.settings.moved(self.alpha, self.marked / self.acked);
            self.acked = 0.0;
            self.marked = 0.0;
        }
    }

    /// Whether the event is answered by alpha. Linux tells its module of losses by the state Recovery, which a tail loss
    /// probe does without (`tcp_process_tlp_ack`, `dctcp_state`).
    fn answers_as_mark(&self, event: &Congestion) -> bool {
        match self.settings.on_loss {
            Loss::Once => event.signal == Signal::Ecn,
            Loss::Halves => event.signal == Signal::Ecn || event.stage == Stage::Repaired,
            Loss::Alpha => true,
        }
    }

    /// Step 9: what a mark leaves of the window.
    fn left(&self) -> f64 {
        let window = self.reno.window;
        (window - self.reno.rounded(window * self.alpha / 2.0)).max(MIN_WINDOW)
    }
}

impl Observed {
    fn new(end: WindowEnd) -> Observed {
        match end {
            WindowEnd::Beyond => Observed::Beyond(Rounds::default()),
            WindowEnd::Reached => Observed::Reached(0),
        }
    }

    /// Whether the window ends with `ack`; then the next begins.
    #[inline]
    fn ends(&mut self, ack: &Ack) -> bool {
        match self {
            Observed::Beyond(rounds) => rounds.ends(ack),
            Observed::Reached(left) => {
                *left = left.saturating_sub(ack.advanced);
                let ends = *left == 0;
                if ends {
                    *left = ack.outstanding;
                }
                ends
            }
        }
    }
}

impl Settings {
    /// Alpha after a window of which `part` was marked.
    fn moved(&self, alpha: f64, part: f64) -> f64 {
        let Some(steps) = self.alpha_steps else {
            return (1.0 - self.gain) * alpha + self.gain * part;
        };
        let alpha = alpha * steps;
        let less = (alpha * self.gain).floor();
        let rest = if less > 0.0 { alpha - less } else { 0.0 };
        (rest + (part * self.gain * steps).floor()).min(steps) / steps
    }
}

impl Control for Dctcp {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if !self.classic {
            self.measure(ack);
        }
        if !ack.may_open() || ack.sent < self.held {
            return;
        }
        self.growth.open(&mut self.reno, f64::from(ack.newly_acked));
    }

    fn on_classic_feedback(&mut self) {
        self.classic = true;
        self.alpha = 1.0;
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let reduced = if self.answers_as_mark(event) {
            self.left()
        } else {
            let window = match event.stage {
                Stage::Reducing { window } => window,
                Stage::New | Stage::Repaired => self.reno.window,
            };
            (self.settings.halve.of(event, window) / 2.0).max(MIN_WINDOW)
        };
        self.reno.reduce(event.signal, reduced);
        if event.signal == Signal::Ecn && self.settings.hold_round_trip {
            self.held = event.now;
        }
    }

    fn on_recovered(&mut self, recovered: &Recovered) {
        self.reno.recovered(recovered);
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

    fn ecn(&self) -> EcnUse {
        if self.classic { EcnUse::Optional } else { EcnUse::Exact }
    }

    fn answers_both(&self) -> bool {
        !self.classic && self.settings.on_loss != Loss::Once
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("alpha", self.alpha);
    }

    fn retune(&mut self, fresh: &Dctcp) {
        self.growth = fresh.growth.clone();
        self.settings = fresh.settings.clone();
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&["arithmetic", "initial_alpha", "alpha_steps", "window_end"])
    }
}
