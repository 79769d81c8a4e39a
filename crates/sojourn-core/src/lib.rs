//! What every part of Sojourn shares and nothing more: integer [time](Time), [rates](Rate), named
//! [random streams](Stream), the [registry types](registry) with which an
//! algorithm describes itself, and the list to which plug-ins are added.
//!
//! Without the default feature `std` it needs `alloc` only; then there are no plug-ins, whose list needs a lock.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod float;
mod memory;
mod optional;
#[cfg(feature = "std")]
pub mod plugin;
pub mod registry;
mod ring;
mod rng;
mod units;

pub use float::Float;
pub use memory::{OutOfMemory, make_room};
pub use optional::Optional;
pub use ring::Ring;
pub use rng::{Parts, Stream};
pub use units::{Amount, Rate, Serializer, Span, Time};
