//! Shared media: who may send when, where several queues share the air.
//!
//! A medium knows queues and time, and no event loop. It is told when something waits at a queue, says when it wants to be
//! called again, and takes packets from the queues and hands them on when it is. [`wifi`] is an access point and its stations;
//! `cell` is a cell of LTE or 5G. [`Medium`] is either.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod cell;
mod channel;
mod medium;
pub mod wifi;

pub use medium::{Medium, NAMES, Setup, Station};

use sojourn_core::{Span, Time};
use sojourn_queue::{Backlog, Packet};

/// A device of a medium: the access point is the first, its stations follow.
pub type Device = usize;

/// The access point, or the base station.
pub const ACCESS_POINT: Device = 0;

/// The most stations of a medium.
pub const MAX_STATIONS: usize = 255;

/// What a medium has above it: the queues that it serves, and those who get the packets.
pub trait Above<B> {
    /// Takes the next packet from queue `queue` of `device`, where there is one and it may leave now.
    fn take(&mut self, device: Device, queue: usize, now: Time) -> Option<Packet<B>>;

    /// What waits in queue `queue` of `device`.
    fn backlog(&self, device: Device, queue: usize) -> Backlog;

    /// The station, counted from 0, that a packet of the access point is for.
    fn station(&self, packet: &Packet<B>) -> usize;

    /// A packet that `device` took from its queue at `taken` has reached the other side.
    fn delivered(&mut self, device: Device, packet: Packet<B>, taken: Time);

    /// A packet of `device` was given up after too many tries.
    fn given_up(&mut self, device: Device, packet: Packet<B>);
}

/// What a device has done so far.
#[derive(Clone, Copy, Default, Debug)]
pub struct Tally {
    /// Exchanges that it began, or transport blocks that it sent, with and without success.
    pub exchanges: u64,
    /// Those that met another one; none in a cell.
    pub collisions: u64,
    /// Frames in them; packets that end in a block.
    pub frames: u64,
    /// Frames, or blocks, that had to be sent again.
    pub retries: u64,
    /// Packets given up.
    pub given_up: u64,
}

/// Air time that a station has used so far, answers included.
#[derive(Clone, Copy, Default, Debug)]
pub struct AirTime {
    /// For what the access point sent to it.
    pub down: Span,
    /// For what it sent.
    pub up: Span,
}

impl std::ops::Sub for Tally {
    type Output = Tally;

    fn sub(self, earlier: Tally) -> Tally {
        Tally {
            exchanges: self.exchanges - earlier.exchanges,
            collisions: self.collisions - earlier.collisions,
            frames: self.frames - earlier.frames,
            retries: self.retries - earlier.retries,
            given_up: self.given_up - earlier.given_up,
        }
    }
}
