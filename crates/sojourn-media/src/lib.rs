//! Shared media: who may send when, where several queues share the air.
//!
//! A medium knows queues and time, and no event loop. It is told when something waits at a queue, says when it wants to be
//! called again, and takes packets from the queues and hands them on when it is. [`wifi`] is the one there is.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod wifi;

use sojourn_core::Time;
use sojourn_queue::Packet;

/// A device of a medium: the access point is the first, its stations follow.
pub type Device = usize;

/// The access point.
pub const ACCESS_POINT: Device = 0;

/// What a medium has above it: the queues that it serves, and those who get the packets.
pub trait Above<B> {
    /// Takes the next packet from queue `queue` of `device`, where there is one and it may leave now.
    fn take(&mut self, device: Device, queue: usize, now: Time) -> Option<Packet<B>>;

    /// The station, counted from 0, that a packet of the access point is for.
    fn station(&self, packet: &Packet<B>) -> usize;

    /// A packet that `device` took from its queue at `taken` has reached the other side.
    fn delivered(&mut self, device: Device, packet: Packet<B>, taken: Time);

    /// A packet of `device` was given up after too many tries.
    fn given_up(&mut self, device: Device, packet: Packet<B>);
}
