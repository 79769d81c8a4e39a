//! Congestion controls.
//!
//! A control is told of acknowledgements, losses, delays and time, and answers with a window and,
//! if it likes, a pacing rate. It knows neither sequence numbers nor sockets: the transport detects
//! losses and decides what to retransmit, the control decides how much may be in flight. One file per
//! control; [`controls!`](self) below is the one line that registers it.
//!
//! Without the default feature `std` it needs `alloc` only; then there are no controls from outside.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod advice;
#[cfg(test)]
mod audit;
mod control;
mod hystart;
#[cfg(test)]
mod laws;
mod memo;
mod path_model;
mod reno;
mod replayable;
mod rounding;
mod rounds;
#[cfg(test)]
mod script;

pub mod bbr;
pub mod bbr3;
pub mod cdg;
pub mod compound;
pub mod cubic;
#[cfg(feature = "std")]
pub mod custom;
pub mod dctcp;
pub mod fledbat;
pub mod htcp;
pub mod illinois;
pub mod ledbat;
pub mod ledbatpp;
pub mod libutp;
pub mod newreno;
pub mod nice;
pub mod nimbus;
pub mod prague;
pub mod proteus_s;
pub mod scout;
pub mod scream;
pub mod tcp_lp;
pub mod vegas;
pub mod veno;
pub mod westwood;

use alloc::boxed::Box;
use alloc::vec::Vec;
pub use control::{
    Ack, AppLimited, Congestion, Control, EcnUse, Lost, Path, RateSample, Recovered, Repair, Signal, Stage, Start,
    Undo, Unused,
};

use sojourn_core::registry::{Advice, Descriptor, ParameterError, Params};
use sojourn_core::{Rate, Span, Stream, Time};

/// How [`AnyControl`] holds a control.
macro_rules! held {
    ($control:ty) => {
        $control
    };
    ($control:ty, boxed) => {
        Box<$control>
    };
}

/// Derives the registry and the statically dispatched [`AnyControl`] from one list.
macro_rules! controls {
    ($($(#[$when:meta])? $module:ident::$name:ident $($boxed:ident)?),+ $(,)?) => {
        /// Every control, in the order of the documentation.
        pub static DESCRIPTORS: &[&Descriptor] = &[$($(#[$when])? &$module::DESCRIPTOR),+];

        /// Any of the registered controls, without dynamic dispatch.
        ///
        /// A flow has one. Those that know more than a window and a few numbers are boxed, so that flows with a small one do
        /// not have their size. The kind is a byte of its own, because it is asked for with each packet and should not have to be
        /// worked out from other fields.
        #[allow(missing_docs)]
        #[derive(Clone, Debug)]
        #[repr(u8)]
        pub enum AnyControl {
            $($(#[$when])? $name(held!($module::$name $(, $boxed)?))),+,
            /// One that was [added](custom::add) from outside.
            #[cfg(feature = "std")]
            Custom(Box<custom::Custom>),
        }

        impl AnyControl {
            /// Builds the control that `params` belongs to, for a flow on `path`.
            ///
            /// # Errors
            /// A combination of parameters that the control cannot work with.
            pub fn build(params: &Params, path: &Path, random: Stream) -> Result<AnyControl, ParameterError> {
                $($(#[$when])? if core::ptr::eq(params.descriptor(), &$module::DESCRIPTOR) {
                    return Ok(AnyControl::$name($module::$name::new(params, path, random)?.into()));
                })+
                #[cfg(feature = "std")]
                if let Some(control) = custom::Custom::build(params, path, random) {
                    return control.map(|control| AnyControl::Custom(Box::new(control)));
                }
                panic!("{} is not a registered control", params.descriptor().name)
            }
        }

        impl AnyControl {
            /// The parameters of the control `descriptor` that a running connection can take from [`retune`](Control::retune).
            pub fn tunable(descriptor: &Descriptor) -> impl Iterator<Item = &'static str> {
                let fixed = AnyControl::fixed_of(descriptor);
                let all = fixed.map(|fixed| descriptor.parameters.iter().filter(|one| !fixed.contains(&one.name)));
                all.into_iter().flatten().map(|parameter| parameter.name)
            }

            fn fixed_of(descriptor: &Descriptor) -> Option<&'static [&'static str]> {
                $($(#[$when])? if core::ptr::eq(descriptor, &$module::DESCRIPTOR) {
                    return <$module::$name as Control>::fixed();
                })+
                None
            }

            /// What a careful user would not do with `params`, although it is legal.
            pub fn advice(params: &Params) -> Vec<Advice> {
                $($(#[$when])? if core::ptr::eq(params.descriptor(), &$module::DESCRIPTOR) {
                    return <$module::$name as Control>::advice(params);
                })+
                Vec::new()
            }
        }

        impl Control for AnyControl {
            #[inline]
            fn on_ack(&mut self, ack: &Ack) {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => {
                        // By itself, so that none saves registers for the others.
                        #[inline(never)]
                        fn on_ack(control: &mut $module::$name, ack: &Ack) {
                            control.on_ack(ack);
                        }
                        on_ack(control, ack);
                    })+
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.on_ack(ack),
                }
            }
            fn on_congestion(&mut self, event: &Congestion) {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.on_congestion(event)),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.on_congestion(event),
                }
            }
            fn on_connected(&mut self, now: Time, rtt: Span) {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.on_connected(now, rtt)),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.on_connected(now, rtt),
                }
            }
            fn on_lost(&mut self, lost: &Lost) {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.on_lost(lost)),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.on_lost(lost),
                }
            }
            fn on_recovered(&mut self, recovered: &Recovered) {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.on_recovered(recovered)),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.on_recovered(recovered),
                }
            }
            fn on_undo(&mut self, undo: &Undo) {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.on_undo(undo)),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.on_undo(undo),
                }
            }
            fn on_start(&mut self, start: &Start) {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.on_start(start)),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.on_start(start),
                }
            }
            fn on_restart_of_repair(&mut self, start: &Start) {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.on_restart_of_repair(start)),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.on_restart_of_repair(start),
                }
            }
            fn on_app_limited(&mut self, limited: &AppLimited) {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.on_app_limited(limited)),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.on_app_limited(limited),
                }
            }
            fn on_classic_feedback(&mut self) {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.on_classic_feedback()),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.on_classic_feedback(),
                }
            }
            fn on_syn_lost(&mut self) {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.on_syn_lost()),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.on_syn_lost(),
                }
            }
            fn set_window(&mut self, window: f64, threshold: f64) {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.set_window(window, threshold)),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.set_window(window, threshold),
                }
            }
            fn on_closed(&mut self, now: Time) {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.on_closed(now)),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.on_closed(now),
                }
            }
            #[inline(always)]
            fn window(&self) -> f64 {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.window()),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.window(),
                }
            }
            #[inline]
            fn waits_for_timeout(&self) -> bool {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.waits_for_timeout()),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.waits_for_timeout(),
                }
            }
            #[inline]
            fn slow_start_threshold(&self) -> f64 {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.slow_start_threshold()),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.slow_start_threshold(),
                }
            }
            #[inline(always)]
            fn pacing_rate(&self) -> Option<Rate> {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.pacing_rate()),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.pacing_rate(),
                }
            }
            fn is_paced(&self) -> bool {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.is_paced()),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.is_paced(),
                }
            }
            fn retune(&mut self, fresh: &AnyControl) {
                match (self, fresh) {
                    $($(#[$when])? (AnyControl::$name(control), AnyControl::$name(fresh)) => control.retune(fresh)),+,
                    _ => {}
                }
            }
            fn reduced(&self) -> bool {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.reduced()),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.reduced(),
                }
            }
            fn wants_rate_samples(&self) -> bool {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.wants_rate_samples()),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.wants_rate_samples(),
                }
            }
            fn sends_short_segments(&self) -> bool {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.sends_short_segments()),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.sends_short_segments(),
                }
            }
            fn segment_bytes(&self) -> Option<u32> {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.segment_bytes()),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.segment_bytes(),
                }
            }
            fn ecn(&self) -> EcnUse {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.ecn()),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.ecn(),
                }
            }
            fn answers_both(&self) -> bool {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.answers_both()),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.answers_both(),
                }
            }
            fn leads_reductions(&self) -> bool {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.leads_reductions()),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.leads_reductions(),
                }
            }
            fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
                match self {
                    $($(#[$when])? AnyControl::$name(control) => control.probe(visit)),+,
                    #[cfg(feature = "std")]
                    AnyControl::Custom(control) => control.probe(visit),
                }
            }
        }
    };
}

controls! {
    newreno::NewReno,
    cubic::Cubic boxed,
    westwood::Westwood boxed,
    vegas::Vegas boxed,
    veno::Veno boxed,
    illinois::Illinois boxed,
    htcp::Htcp boxed,
    dctcp::Dctcp boxed,
    prague::Prague boxed,
    scream::Scream boxed,
    compound::Compound boxed,
    bbr::Bbr boxed,
    bbr3::Bbr3 boxed,
    ledbat::Ledbat boxed,
    fledbat::FairLedbat boxed,
    ledbatpp::LedbatPlusPlus boxed,
    libutp::Libutp boxed,
    nice::Nice boxed,
    tcp_lp::TcpLp boxed,
    cdg::Cdg boxed,
    proteus_s::ProteusS boxed,
    nimbus::Nimbus boxed,
    scout::Scout boxed,
}

impl AnyControl {
    /// For replays: each lot that it draws is `lot` from now on, from 0 to below 1; `None` makes them random again. Only BBR and
    /// CDG draw random numbers that recordings show.
    pub fn fix_random(&mut self, lot: Option<f64>) {
        match self {
            AnyControl::Bbr(control) => control.fix_random(lot),
            AnyControl::Cdg(control) => control.fix_random(lot),
            _ => {}
        }
    }
}

/// The control called `name`, built in or added.
pub fn find(name: &str) -> Option<&'static Descriptor> {
    #[cfg(feature = "std")]
    return custom::ADDED.find(name);
    #[cfg(not(feature = "std"))]
    DESCRIPTORS.iter().copied().find(|descriptor| descriptor.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use script::{Round, Script, params};

    /// Unique names, the same ones at any time, values that are numbers or not there yet.
    #[test]
    fn every_control_shows_its_state() {
        for descriptor in DESCRIPTORS {
            let mut script = Script::new(&params(descriptor, "default", &[]));
            let names = |script: &Script| {
                let mut names = Vec::new();
                script.control.probe(&mut |name, value| {
                    assert!(!names.contains(&name), "{}: two probes are called {name}", descriptor.name);
                    assert!(!value.is_infinite(), "{} {name}", descriptor.name);
                    names.push(name);
                });
                names
            };
            let before = names(&script);
            for round in [Round::Queue(0), Round::Queue(20), Round::Loss(30), Round::Timeout, Round::Queue(0)] {
                script.round(round);
                assert_eq!(names(&script), before, "{}", descriptor.name);
            }
        }
    }

    #[test]
    fn presets_are_wise() {
        for descriptor in DESCRIPTORS {
            for name in descriptor.presets.iter().map(|preset| preset.name).chain(["default"]) {
                assert_eq!(AnyControl::advice(&params(descriptor, name, &[])), [], "{} {name}", descriptor.name);
            }
        }
    }

    /// What each piece of advice is about, just beside the last value that needs none.
    #[test]
    fn unwise_values_are_told() {
        use sojourn_core::Span;
        use sojourn_core::registry::Value::{Number, Span as Time};
        let (long, fine) = (Time(Span::from_millis(101)), Time(Span::from_millis(100)));
        for (control, parameter, wise, unwise) in [
            ("ledbat", "target", fine, long),
            ("ledbat", "gain", Number(1.0), Number(1.01)),
            ("ledbat", "allowed_increase", Number(1.0), Number(2.0)),
            ("fledbat", "target", fine, long),
            ("fledbat", "zeta", Number(0.1), Number(0.0)),
            ("ledbatpp", "target", fine, long),
            ("libutp", "target", fine, long),
            ("nice", "fraction", Number(0.99), Number(1.0)),
            ("nice", "threshold", Number(0.99), Number(1.0)),
            ("tcp_lp", "threshold", Number(0.99), Number(1.0)),
            ("newreno", "abe", Number(0.7), Number(0.69)),
            ("newreno", "abe", Number(0.85), Number(0.86)),
            ("cubic", "abe", Number(0.85), Number(0.9)),
            ("prague", "virtual_rtt", Time(Span::from_millis(1)), Time(Span::ZERO)),
        ] {
            let descriptor = find(control).expect("a control");
            let advice = |value| AnyControl::advice(&params(descriptor, "default", &[(parameter, value)]));
            assert_eq!(advice(wise), [], "{control} {parameter}");
            let told = advice(unwise);
            assert_eq!(told.iter().map(|advice| advice.parameter).collect::<Vec<_>>(), [parameter], "{control}");
        }
    }

    /// Linux halves once for each timeout that passed, but not below the restart window.
    #[test]
    fn unused_windows_decay_as_in_linux() {
        let halved = |times| Unused::Halve { window: 10.0, times }.left(100.0, 60.0);
        assert_eq!([1, 2, 3, 4, 9].map(halved), [(50.0, 75.0), (25.0, 75.0), (12.0, 75.0), (10.0, 75.0), (10.0, 75.0)]);
        assert_eq!(Unused::Halve { window: 10.0, times: 5 }.left(8.0, 60.0), (8.0, 60.0));
        assert_eq!(Unused::Restart { window: 10.0 }.left(100.0, 60.0), (10.0, 60.0));
        assert_eq!(Unused::Average { used: 20.0 }.left(101.0, 60.0), (60.0, 75.0));
        assert_eq!(Unused::Average { used: 20.0 }.left(20.0, 60.0), (20.0, 60.0));
    }

    #[test]
    fn every_preset_of_every_control_works() {
        for descriptor in DESCRIPTORS {
            for name in descriptor.presets.iter().map(|preset| preset.name).chain(["default"]) {
                let mut script = Script::new(&params(descriptor, name, &[]));
                script.table(&[Round::Queue(0), Round::Queue(20), Round::Loss(30), Round::Timeout, Round::Queue(0)]);
                // Below one segment only where a floor of less was asked for.
                let params = params(descriptor, name, &[]);
                let floor = params.iter().find(|(parameter, _)| parameter.name == "min_window");
                let floor = floor.map_or(1.0, |(_, _)| params.read::<f64>("min_window").min(1.0));
                assert!(script.window() >= floor, "{} {name}", descriptor.name);
            }
        }
    }
}
