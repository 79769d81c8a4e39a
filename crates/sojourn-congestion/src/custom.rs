//! Controls that come from outside.
//!
//! A control of another crate implements [`Control`] like a built-in one, beside `Clone`, `Debug`, `Send` and `Sync`, and is
//! added with [`add`] before the first scenario that names it is read:
//!
//! ```
//! use sojourn_congestion::{custom, Ack, Congestion, Control, Path};
//! use sojourn_core::registry::{Descriptor, Params};
//! use sojourn_core::Stream;
//!
//! /// A window of four segments, whatever happens.
//! #[derive(Clone, Debug)]
//! struct Four;
//!
//! impl Control for Four {
//!     fn on_ack(&mut self, _ack: &Ack) {}
//!     fn on_congestion(&mut self, _event: &Congestion) {}
//!     fn set_window(&mut self, _window: f64, _threshold: f64) {}
//!     fn window(&self) -> f64 {
//!         4.0
//!     }
//!     fn slow_start_threshold(&self) -> f64 {
//!         f64::INFINITY
//!     }
//! }
//!
//! static FOUR: Descriptor = Descriptor { name: "four", summary: "four segments", ..Descriptor::PLAIN };
//! custom::add(&FOUR, |_params: &Params, _path: &Path, _random: Stream| Ok(Four)).expect("no built-in control is called so");
//! assert_eq!(sojourn_congestion::find("four").map(|control| control.name), Some("four"));
//! ```

use crate::control::{Ack, AppLimited, Congestion, Control, EcnUse, Lost, Path, Recovered, Start, Undo};
pub use sojourn_core::plugin::NameTaken;
use sojourn_core::plugin::{self, Added, Failure};
use sojourn_core::registry::{Descriptor, ParameterError, Params};
use sojourn_core::{Rate, Span, Stream, Time};
use std::fmt::Debug;

/// A control that can stand behind a pointer. Every [`Control`] that is `Clone`, `Debug`, `Send` and `Sync` is one.
pub trait Plugged: Control + Debug + Send + Sync {
    /// A copy of its state, for the transport to return to when a reduction proves needless.
    fn copied(&self) -> Box<dyn Plugged>;
}

impl<C: Control + Clone + Debug + Send + Sync + 'static> Plugged for C {
    fn copied(&self) -> Box<dyn Plugged> {
        Box::new(self.clone())
    }
}

/// What makes controls of one kind.
pub trait Make: Send + Sync + 'static {
    /// A control with `params` for a flow on `path`.
    ///
    /// # Errors
    /// A combination of parameters that the control cannot work with.
    fn make(&self, params: &Params, path: &Path, random: Stream) -> Result<Box<dyn Plugged>, ParameterError>;
}

impl<F, P> Make for F
where
    F: Fn(&Params, &Path, Stream) -> Result<P, ParameterError> + Send + Sync + 'static,
    P: Plugged + 'static,
{
    fn make(&self, params: &Params, path: &Path, random: Stream) -> Result<Box<dyn Plugged>, ParameterError> {
        Ok(Box::new(self(params, path, random)?))
    }
}

pub(crate) static ADDED: Added<dyn Make> = Added::new(crate::DESCRIPTORS);

/// Adds a control. One that was added under the same name before gives way to it.
///
/// # Errors
/// [`NameTaken`] where a built-in control has the name.
pub fn add(descriptor: &'static Descriptor, make: impl Make) -> Result<(), NameTaken> {
    ADDED.add(descriptor, Box::new(make))
}

/// Takes the control that was added under this name off the list. Whether there was one.
pub fn remove(name: &str) -> bool {
    ADDED.remove(name)
}

/// All controls that were added.
pub fn descriptors() -> Vec<&'static Descriptor> {
    ADDED.descriptors()
}

/// A control from outside, watched: it cannot answer with a window that is no window.
#[derive(Debug)]
pub struct Custom {
    inside: Box<dyn Plugged>,
    name: &'static str,
    whose: String,
    /// What it answered last; a window changes only with what a control is told.
    window: f64,
    slow_start_threshold: f64,
    now: Time,
    failed: bool,
}

impl Clone for Custom {
    fn clone(&self) -> Custom {
        Custom { inside: self.inside.copied(), whose: self.whose.clone(), ..*self }
    }
}

impl Custom {
    /// The control that `params` belongs to, where it was added.
    pub(crate) fn build(params: &Params, path: &Path, random: Stream) -> Option<Result<Custom, ParameterError>> {
        let maker = ADDED.maker(params.descriptor())?;
        let inside = match maker.make(params, path, random) {
            Ok(inside) => inside,
            Err(error) => return Some(Err(error)),
        };
        let mut custom = Custom {
            inside,
            name: params.descriptor().name,
            whose: String::new(),
            window: path.initial_window,
            slow_start_threshold: f64::INFINITY,
            now: Time::ZERO,
            failed: false,
        };
        Some(match custom.look() {
            None => Ok(custom),
            Some(wrong) => Err(ParameterError::new("kind", format!("a control that starts well: {wrong}"))),
        })
    }

    /// Says whose it is, for messages.
    pub fn belongs_to(&mut self, whose: String) {
        self.whose = whose;
    }

    /// Tells it something, unless it has failed; looks at its answer.
    fn tell(&mut self, method: &'static str, now: Time, tell: impl FnOnce(&mut dyn Plugged)) {
        if self.failed {
            return;
        }
        self.now = now;
        tell(&mut *self.inside);
        if let Some(what) = self.look() {
            self.failed = true;
            plugin::fail(Failure { plugin: self.name, method, now: self.now, whose: self.whose.clone(), what });
        }
    }

    /// Takes over what it answers now; what is wrong with that, if anything.
    fn look(&mut self) -> Option<String> {
        let (window, threshold) = (self.inside.window(), self.inside.slow_start_threshold());
        if let Some(error) = self.inside.take_error() {
            Some(error)
        } else if !(window.is_finite() && window >= 0.0) {
            Some(format!("the window is {window} segments; allowed: a finite number, 0 or more"))
        } else if threshold.is_nan() || threshold < 0.0 {
            Some(format!("the slow-start threshold is {threshold} segments; allowed: 0 or more, or infinite"))
        } else {
            (self.window, self.slow_start_threshold) = (window, threshold);
            None
        }
    }
}

impl Control for Custom {
    fn on_ack(&mut self, ack: &Ack) {
        self.tell("on_ack", ack.now, |control| control.on_ack(ack));
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.tell("on_congestion", event.now, |control| control.on_congestion(event));
    }

    fn on_connected(&mut self, now: Time, rtt: Span) {
        self.tell("on_connected", now, |control| control.on_connected(now, rtt));
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.tell("on_lost", lost.now, |control| control.on_lost(lost));
    }

    fn on_recovered(&mut self, recovered: &Recovered) {
        self.tell("on_recovered", recovered.now, |control| control.on_recovered(recovered));
    }

    fn on_undo(&mut self, undo: &Undo) {
        self.tell("on_undo", undo.now, |control| control.on_undo(undo));
    }

    fn on_start(&mut self, start: &Start) {
        self.tell("on_start", start.now, |control| control.on_start(start));
    }

    fn on_restart_of_repair(&mut self, start: &Start) {
        self.tell("on_restart_of_repair", start.now, |control| control.on_restart_of_repair(start));
    }

    fn on_app_limited(&mut self, limited: &AppLimited) {
        self.tell("on_app_limited", limited.now, |control| control.on_app_limited(limited));
    }

    fn on_syn_lost(&mut self) {
        self.tell("on_syn_lost", self.now, |control| control.on_syn_lost());
    }

    fn on_classic_feedback(&mut self) {
        self.tell("on_classic_feedback", self.now, |control| control.on_classic_feedback());
    }

    fn set_window(&mut self, window: f64, threshold: f64) {
        self.tell("set_window", self.now, |control| control.set_window(window, threshold));
    }

    fn on_closed(&mut self, now: Time) {
        self.tell("on_closed", now, |control| control.on_closed(now));
    }

    #[inline]
    fn window(&self) -> f64 {
        self.window
    }

    fn waits_for_timeout(&self) -> bool {
        !self.failed && self.inside.waits_for_timeout()
    }

    #[inline]
    fn slow_start_threshold(&self) -> f64 {
        self.slow_start_threshold
    }

    /// Whoever adds a control need not say whether it is paced.
    fn is_paced(&self) -> bool {
        true
    }

    fn pacing_rate(&self) -> Option<Rate> {
        if self.failed { None } else { self.inside.pacing_rate() }
    }

    fn wants_rate_samples(&self) -> bool {
        self.inside.wants_rate_samples()
    }

    fn sends_short_segments(&self) -> bool {
        self.inside.sends_short_segments()
    }

    fn segment_bytes(&self) -> Option<u32> {
        if self.failed { None } else { self.inside.segment_bytes() }
    }

    fn ecn(&self) -> EcnUse {
        self.inside.ecn()
    }

    fn answers_both(&self) -> bool {
        self.inside.answers_both()
    }

    fn leads_reductions(&self) -> bool {
        self.inside.leads_reductions()
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        if !self.failed {
            self.inside.probe(visit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AnyControl;

    /// Its threshold is the number of things that it was told beside acknowledgements.
    #[derive(Clone, Debug, Default)]
    struct Told(f64);

    impl Control for Told {
        fn on_ack(&mut self, _ack: &Ack) {}
        fn on_congestion(&mut self, _event: &Congestion) {}
        fn set_window(&mut self, _window: f64, _threshold: f64) {}
        fn on_syn_lost(&mut self) {
            self.0 += 1.0;
        }
        fn on_classic_feedback(&mut self) {
            self.0 += 10.0;
        }
        fn window(&self) -> f64 {
            2.0
        }
        fn slow_start_threshold(&self) -> f64 {
            self.0
        }
    }

    static TOLD: Descriptor = Descriptor { name: "told", summary: "counts what it is told", ..Descriptor::PLAIN };

    /// What has a default in the trait must reach an added control all the same.
    #[test]
    fn an_added_control_is_told_what_a_handshake_shows() {
        add(&TOLD, |_: &Params, _: &Path, _: Stream| Ok(Told::default())).unwrap();
        let path =
            Path { mss_bytes: 1448, header_bytes: 52, smallest_packet_bytes: 52, initial_window: 10.0, sack: true };
        let mut control = AnyControl::build(&Params::new(&TOLD, None), &path, Stream::new(1, "told")).unwrap();
        control.on_classic_feedback();
        assert_eq!(control.slow_start_threshold(), 10.0);
        control.on_syn_lost();
        assert_eq!(control.slow_start_threshold(), 11.0);
        remove(TOLD.name);
    }
}
