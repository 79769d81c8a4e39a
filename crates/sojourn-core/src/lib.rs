//! What every part of Sojourn shares and nothing more: integer [time](Time), [rates](Rate), named
//! [random streams](Stream), the [registry types](registry) with which an
//! algorithm describes itself, and the list to which [plug-ins](plugin) are added.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod plugin;
pub mod registry;
mod rng;
mod units;

pub use rng::{Parts, Stream};
pub use units::{Amount, Rate, Serializer, Span, Time};
