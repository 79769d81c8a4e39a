//! The scenario file: the one place that knows its format.
//!
//! [`Scenario::parse`] turns text into a [`Scenario`] that can be run as it is, or into
//! [`Diagnostics`] that name every problem with its line, key, what was found, what is allowed and the
//! nearest valid name. The format itself is data (the module `format`), from which checking, defaults,
//! the JSON [`schema`], the [`reference_pages`] and the canonical text are derived.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod access;
mod algorithm;
mod build;
mod catalogue;
mod changes;
mod check;
mod derived;
mod describe;
mod diagnostic;
mod fields;
mod format;
mod node;
mod origin;
mod outside;
mod overrides;
mod parse;
mod quantity;
#[cfg(any(test, feature = "random"))]
pub mod random;
mod ready;
mod reference;
mod rules;
mod schema;
mod source;
mod stations;
mod trace;
mod traffic;
mod types;
mod value;
mod write;

pub use access::{Bursts, Line, Medium, Noise, Protection, Settings};
pub use catalogue::catalogue;
pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use format::add_traffic;
pub use outside::CustomTraffic;
pub use outside::remove_traffic;
pub use parse::{Loaded, read_code_point, read_quantity, read_time};
pub use ready::{Ready, ready};
pub use reference::reference_pages;
pub use schema::schema;
pub use trace::{Base, TraceError};
pub use traffic::{Codec, Echo, Messages, Pace, Padding, Reach, Sizes, Traffic, Train, Video, Voip, Web};
pub use types::ReceiverControl;
pub use types::{
    Bucket, Capacity, Change, Direction, EcnRemark, Group, GroupChange, Hop, Host, HostQueue, Jitter, Link, LinkChange,
    Moments, Phase, Place, Qdisc, Remark, Scenario, Shape, Station, Trace, Which,
};
