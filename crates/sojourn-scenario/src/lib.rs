//! The scenario file: the one place that knows its format.
//!
//! [`Scenario::parse`] turns text into a [`Scenario`] that can be run as it is, or into
//! [`Diagnostics`] that name every problem with its line, key, what was found, what is allowed and the
//! nearest valid name. The format itself is data (the module `format`), from which checking, defaults,
//! the JSON [`schema`], the [`reference_markdown`] and the canonical text are derived.

mod algorithm;
mod build;
mod check;
mod describe;
mod diagnostic;
mod fields;
mod format;
mod node;
mod overrides;
mod parse;
mod quantity;
mod ready;
mod rules;
mod source;
mod trace;
mod types;
mod value;
mod write;

pub use diagnostic::{Diagnostic, Diagnostics};
pub use parse::Loaded;
pub use ready::{Ready, ready};
pub use trace::{Base, TraceError};
pub use types::{Capacity, Direction, Group, Hop, Jitter, Link, Place, Scenario, Shape, Start, Trace, Traffic};
