//! What every part of Sojourn shares and nothing more: integer [time](Time), [rates](Rate), named
//! [random streams](Stream), and the [registry types](registry) with which an algorithm describes itself.

pub mod registry;
mod rng;
mod units;

pub use rng::{Parts, Stream};
pub use units::{Amount, Rate, Serializer, Span, Time};
