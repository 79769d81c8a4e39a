//! Controllers of a gateway's shapers.
//!
//! A controller sees the delays of pings through the gateway, the line behind it and back, and what its shapers have sent. It
//! answers with the rates at which they send from then on. It knows neither a simulator nor a socket. One file per controller;
//! [`controllers!`](self) below is the one line that registers it.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod autorate;
pub mod custom;

use sojourn_core::registry::{Descriptor, ParameterError, Params};
use sojourn_core::{Rate, Span, Time};

/// Something of each direction: of the bottleneck's first, then of the return link's.
pub type BothWays<T> = [T; 2];

/// The gateway before its first packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gateway {
    /// The rates of its shapers, before anything sets them.
    pub base: BothWays<Rate>,
    /// What a full-size packet occupies on the wire.
    pub packet_bytes: BothWays<u32>,
}

/// The answer to a ping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reply {
    /// When it came.
    pub at: Time,
    /// Which of the reflectors sent it: they are numbered from 0.
    pub reflector: u32,
    /// How long ping and answer took in each direction; together the round-trip time.
    pub delays: BothWays<Span>,
}

/// What a controller sees at one step.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The time of the step.
    pub now: Time,
    /// The answers since the step before, in order of time.
    pub replies: &'a [Reply],
    /// What the shapers have sent since the start, as their rates count it.
    pub sent_bytes: BothWays<u64>,
}

/// Says how fast a gateway's shapers send.
pub trait Controller {
    /// The rates from now on.
    fn step(&mut self, seen: &Seen<'_>) -> BothWays<Rate>;

    /// Shows its state for one direction, 0 or 1, as numbers by name.
    fn probe(&self, _way: usize, _visit: &mut dyn FnMut(&str, f64)) {}
}

/// Registers controllers: what a scenario names, and static dispatch over all of them.
macro_rules! controllers {
    ($($module:ident::$name:ident),+ $(,)?) => {
        /// All built-in controllers.
        pub static DESCRIPTORS: &[&Descriptor] = &[$(&$module::DESCRIPTOR),+];

        /// Any controller.
        #[derive(Debug)]
        pub enum AnyController {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $name(Box<$module::$name>),)+
            /// One from outside.
            Custom(custom::Custom),
        }

        impl AnyController {
            /// The controller that `params` belong to, for a gateway.
            ///
            /// # Errors
            /// Parameters that do not fit together.
            ///
            /// # Panics
            /// Where `params` are those of no controller.
            pub fn build(params: &Params, gateway: &Gateway) -> Result<AnyController, ParameterError> {
                $(if std::ptr::eq(params.descriptor(), &$module::DESCRIPTOR) {
                    return Ok(AnyController::$name(Box::new($module::$name::new(params, gateway)?)));
                })+
                custom::Custom::build(params, gateway).expect("the parameters of a controller").map(AnyController::Custom)
            }
        }

        impl Controller for AnyController {
            fn step(&mut self, seen: &Seen<'_>) -> BothWays<Rate> {
                match self {
                    $(AnyController::$name(controller) => controller.step(seen),)+
                    AnyController::Custom(controller) => controller.step(seen),
                }
            }

            fn probe(&self, way: usize, visit: &mut dyn FnMut(&str, f64)) {
                match self {
                    $(AnyController::$name(controller) => controller.probe(way, visit),)+
                    AnyController::Custom(controller) => controller.probe(way, visit),
                }
            }
        }
    };
}

controllers! { autorate::Autorate }
