//! Packet-level discrete-event simulation of a scenario.
//!
//! A run is a pure function of the scenario and a seed. [`simulate`] does one run; [`run_all`] does
//! several on several threads, with the same results at any number of them. A [`Session`] is a run that the caller
//! advances.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod agenda;
mod air;
mod build;
mod changes;
mod clock;
mod decisions;
mod device;
mod dialer;
mod duplex;
mod ends;
mod flow;
mod gateway;
mod grants;
mod line;
mod link;
mod meter;
mod network;
mod noise;
mod opportunities;
mod outcome;
mod outside;
mod packets;
mod phases;
mod record;
mod runs;
mod series;
mod session;
mod summary;
mod times;
mod tokens;
mod wanted;
mod world;

pub use build::{header_bytes, options};
pub use decisions::{Decision, DecisionLog, DecisionRow};
pub use flow::FIRST_PORT;
pub use network::{BOTTLENECK, named_links, place};
pub use outcome::{Monitor, Outcome, Stopped};
pub use outside::{Departure, Glimpse, OutsidePacket};
pub use packets::{PacketEvent, PacketLog, PacketRow};
pub use record::metric::{Metric, metrics};
pub use record::{
    AccessRecord, ByName, ClassRecord, DelayMs, Fct, FlowRecord, GroupRecord, LinkRecord, Mean, Milliseconds,
    PaddingRecord, PhaseGroupRecord, PhaseLinkRecord, PhaseRecord, QueueMs, Record, StationRecord, TrainRecord,
    VideoRecord, VoipRecord,
};
pub use runs::{run_all, simulate};
pub use series::{FlowProbes, FlowSeries, Probes, QueueProbes, QueueSeries, Series};
pub use session::Session;
pub use sojourn_traffic::Completed;
pub use summary::capacity_bytes;
pub use times::Times;
pub use wanted::Wanted;
pub use world::TransferRow;

/// A packet as the simulator moves it.
type Packet = sojourn_queue::Packet<sojourn_transport::Segment>;
