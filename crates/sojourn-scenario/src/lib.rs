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
mod addresses;
mod algorithm;
mod build;
mod catalogue;
mod changes;
mod check;
mod declare;
mod derived;
mod describe;
mod diagnostic;
mod families;
mod fields;
mod form;
mod format;
mod group;
mod host;
mod link;
mod network;
mod node;
mod origin;
mod outside;
mod overrides;
mod parse;
mod phase;
mod quantity;
#[cfg(any(test, feature = "random"))]
pub mod random;
mod ready;
mod recording;
mod reference;
mod repeated;
mod routes;
mod rules;
mod schema;
mod shaper;
mod source;
mod stations;
mod trace;
mod traffic;
mod types;
mod value;
mod write;

pub use access::{Bursts, Line, Medium, Noise, Protection, Settings};
pub use addresses::Addresses;
pub use catalogue::catalogue;
pub use declare::Elsewhere;
pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use format::ScenarioKeys;
pub use group::{Group, GroupKeys, Moments, ReceiverControl, Stack};
pub use host::{Host, HostQueue, Paced, Qdisc};
pub use link::{
    Bucket, Capacity, Direction, EcnRemark, Hop, HopKeys, Jitter, Link, LinkKeys, Place, Remark, Route, Shape, Which,
};
pub use outside::CustomTraffic;
pub use outside::remove_traffic;
pub use parse::{Loaded, read_code_point, read_quantity, read_time};
pub use phase::Phase;
pub use ready::{Ready, ready};
pub use recording::Trace;
pub use reference::reference_pages;
pub use schema::schema;
pub use shaper::Shaper;
pub use trace::{Base, TraceError};
pub use traffic::{
    AdaptivePadding, AfterOff, Bulk, Cbr, Codec, Echo, Messages, OnOff, Padding, Ping, Program, Reach, Sizes,
    SteadyPadding, Times, Traffic, Train, Transfers, Video, Voip, Web, add_traffic,
};
pub use types::{Change, GroupChange, LinkChange, Scenario, Station};
