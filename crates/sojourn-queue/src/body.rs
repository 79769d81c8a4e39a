//! What a discipline may read of a body.

use crate::Packet;
use sojourn_core::Time;

/// Most ranges of data that an acknowledgement reports beside its number, with timestamps (RFC 2018 section 3).
pub const MAX_RANGES: usize = 3;

/// A body of packets. Nearly all disciplines only carry it.
pub trait Body: Copy {
    /// What this says as an acknowledgement, if it is nothing but one: no data, no opening or closing of a connection.
    /// Read by acknowledgement filters.
    fn acknowledgement(&self) -> Option<Acknowledgement> {
        None
    }
}

impl Body for () {}

/// A pure acknowledgement, as the boxes on its way see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Acknowledgement {
    /// Everything below this number has arrived.
    pub number: u32,
    /// The echoed time (RFC 7323).
    pub stamp: Time,
    /// Whether it echoes a congestion mark.
    pub ece: bool,
    /// The header's flag CWR, which is part of a count (RFC 9768).
    pub cwr: bool,
    /// Half-open ranges that have arrived too (RFC 2018); unused ones are empty.
    pub ranges: [(u32, u32); MAX_RANGES],
}

impl Acknowledgement {
    /// The ranges that are used.
    pub fn ranges(&self) -> impl Iterator<Item = (u32, u32)> {
        self.ranges.into_iter().filter(|(start, end)| start < end)
    }
}

impl<B: Body> Packet<B> {
    /// What the packet says as an acknowledgement, if it is nothing else.
    #[inline]
    pub fn acknowledgement(&self) -> Option<Acknowledgement> {
        self.body.acknowledgement()
    }
}
