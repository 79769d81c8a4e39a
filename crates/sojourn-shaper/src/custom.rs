//! Controllers that come from outside.
//!
//! A controller of another crate implements [`Plugged`] and is added with [`add`] before the first scenario that names it is
//! read.

use crate::{BothWays, Controller, Gateway, Seen};
pub use sojourn_core::plugin::NameTaken;
use sojourn_core::plugin::{self, Added, Failure};
use sojourn_core::registry::{Descriptor, ParameterError, Params};
use sojourn_core::{Rate, Time};
use std::fmt::Debug;

/// A controller from outside.
pub trait Plugged: Debug + Send {
    /// The rates from now on.
    ///
    /// # Errors
    /// What is wrong with its answer, or what went wrong inside.
    fn step(&mut self, seen: &Seen<'_>) -> Result<BothWays<Rate>, String>;

    /// Shows its state for one direction, 0 or 1, as numbers by name.
    fn probe(&self, _way: usize, _visit: &mut dyn FnMut(&str, f64)) {}
}

/// What makes controllers of one kind.
pub trait Make: Send + Sync + 'static {
    /// A controller with `params` for a gateway.
    ///
    /// # Errors
    /// A combination of parameters that the controller cannot work with.
    fn make(&self, params: &Params, gateway: &Gateway) -> Result<Box<dyn Plugged>, ParameterError>;
}

impl<F, P> Make for F
where
    F: Fn(&Params, &Gateway) -> Result<P, ParameterError> + Send + Sync + 'static,
    P: Plugged + 'static,
{
    fn make(&self, params: &Params, gateway: &Gateway) -> Result<Box<dyn Plugged>, ParameterError> {
        Ok(Box::new(self(params, gateway)?))
    }
}

static ADDED: Added<dyn Make> = Added::new(crate::DESCRIPTORS);

/// Adds a controller. One that was added under the same name before gives way to it.
///
/// # Errors
/// [`NameTaken`] where a built-in controller has the name.
pub fn add(descriptor: &'static Descriptor, make: impl Make) -> Result<(), NameTaken> {
    ADDED.add(descriptor, Box::new(make))
}

/// Takes the controller that was added under this name off the list. Whether there was one.
pub fn remove(name: &str) -> bool {
    ADDED.remove(name)
}

/// All controllers that were added.
pub fn descriptors() -> Vec<&'static Descriptor> {
    ADDED.descriptors()
}

/// A controller from outside. After a failure it leaves the rates as they are.
#[derive(Debug)]
pub struct Custom {
    inside: Box<dyn Plugged>,
    name: &'static str,
    rates: BothWays<Rate>,
    failed: bool,
}

impl Custom {
    /// The controller that `params` belong to, where it was added.
    pub(crate) fn build(params: &Params, gateway: &Gateway) -> Option<Result<Custom, ParameterError>> {
        let made = ADDED.maker(params.descriptor())?.make(params, gateway);
        let name = params.descriptor().name;
        Some(made.map(|inside| Custom { inside, name, rates: gateway.base, failed: false }))
    }

    fn fail(&mut self, now: Time, what: String) {
        self.failed = true;
        plugin::fail(Failure {
            plugin: self.name,
            method: "step",
            now,
            whose: "the gateway's shaper".to_owned(),
            what,
        });
    }
}

impl Controller for Custom {
    fn step(&mut self, seen: &Seen<'_>) -> BothWays<Rate> {
        if !self.failed {
            match self.inside.step(seen) {
                Ok(rates) => self.rates = rates,
                Err(what) => self.fail(seen.now, what),
            }
        }
        self.rates
    }

    fn probe(&self, way: usize, visit: &mut dyn FnMut(&str, f64)) {
        if !self.failed {
            self.inside.probe(way, visit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AnyController;

    /// Halves the rate of the first direction at each step, down to 0.
    #[derive(Debug)]
    struct Halves(u64);

    impl Plugged for Halves {
        fn step(&mut self, _: &Seen<'_>) -> Result<BothWays<Rate>, String> {
            self.0 /= 2;
            let rate = Rate::from_bits_per_second(self.0).ok_or("a rate of 0")?;
            Ok([rate; 2])
        }
    }

    static HALVES: Descriptor = Descriptor { name: "halves", ..Descriptor::PLAIN };
    static AUTORATE: Descriptor = Descriptor { name: "autorate", ..Descriptor::PLAIN };

    #[test]
    fn an_answer_that_is_no_rate_ends_the_run_and_leaves_the_rates() {
        add(&HALVES, |_: &Params, gateway: &Gateway| Ok(Halves(gateway.base[0].bits_per_second()))).unwrap();
        let rate = |bits| Rate::from_bits_per_second(bits).unwrap();
        let gateway = Gateway { base: [rate(4), rate(9)], packet_bytes: [1500; 2] };
        let mut controller = AnyController::build(&Params::new(&HALVES, None), &gateway).unwrap();
        let seen = Seen { now: Time::from_nanos(2_000_000_000), replies: &[], sent_bytes: [0; 2] };
        assert_eq!([0; 2].map(|_| controller.step(&seen)), [[rate(2); 2], [rate(1); 2]]);
        assert_eq!(plugin::take_failure(), None);
        assert_eq!(controller.step(&seen), [rate(1); 2]);
        let told = plugin::take_failure().expect("0 bit/s is no rate").to_string();
        assert_eq!(told, "plug-in halves, step, at 2.000000 s, the gateway's shaper: a rate of 0");
        assert_eq!((remove("halves"), remove("halves")), (true, false));
    }

    #[test]
    fn nobody_takes_the_name_of_a_built_in_one() {
        assert_eq!(add(&AUTORATE, |_: &Params, _: &Gateway| Ok(Halves(1))), Err(NameTaken));
    }
}
