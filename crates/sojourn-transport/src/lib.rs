//! A reliable transport as two state machines, [`Sender`] and [`Receiver`]: no I/O and no clock of their
//! own. Input and `now` go in, segments to send and deadlines come out.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod accecn;
mod host;
mod kept;
pub mod options;
mod rate;
mod receiver;
pub mod replay;
mod rtt;
mod scoreboard;
mod segment;
mod sender;
mod steering;

pub use accecn::Ability;
pub use host::{ByteLimit, SmallQueue};
pub use options::{AfterIdle, DESCRIPTOR, Detection, Ect, Options, Reducing, Undoing};
pub use receiver::{Arrival, Clock, Receiver};
pub use rtt::RttEstimator;
pub use segment::{Block, Counters, EcnFlags, MAX_BLOCKS, Segment, SegmentKind};
pub use sender::{BurstLimits, Phase, Sender, SenderCounts, Transmit, View};
