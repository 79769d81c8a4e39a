//! The scenario file: the one place that knows its format.

mod types;

pub use types::{Capacity, Direction, Group, Hop, Jitter, Link, Place, Scenario, Shape, Start, Trace, Traffic};
