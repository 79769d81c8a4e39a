//! What sender and receiver exchange.

use sojourn_core::Time;

/// A half-open range of segment numbers that the receiver holds (RFC 2018).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// First segment of the range.
    pub start: u32,
    /// One past its last segment.
    pub end: u32,
}

/// Most SACK blocks that fit beside the timestamp option (RFC 2018 section 3).
pub const MAX_BLOCKS: usize = 3;

/// What a packet is to the transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentKind {
    /// Asks for a connection.
    Syn,
    /// Accepts it.
    SynAck,
    /// Carries payload.
    Data,
    /// Acknowledges.
    Ack,
    /// Carries payload that nobody acknowledges.
    Datagram,
}

/// The transport header. Segments are numbered from zero; each carries one MSS, the last one of a
/// transfer perhaps less.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// What it is.
    pub kind: SegmentKind,
    /// Data: congestion window reduced. Acknowledgement: unused.
    pub cwr: bool,
    /// Acknowledgement: a congestion mark is echoed (RFC 3168).
    pub ece: bool,
    /// Valid entries of `sack`.
    pub blocks: u8,
    /// Data: its number. Acknowledgement: the next number expected.
    pub number: u32,
    /// Data: when it was sent. Acknowledgement: the echoed time (RFC 7323).
    pub stamp: Time,
    /// Acknowledgement: one-way delay of the segment that caused it, receiver's clock minus sender's, in ns.
    pub delay_nanos: i64,
    /// Acknowledgement: what was received beyond `number`, most recent first.
    pub sack: [Block; MAX_BLOCKS],
}

impl Segment {
    /// A segment without acknowledgement fields.
    pub fn new(kind: SegmentKind, number: u32, stamp: Time) -> Segment {
        Segment {
            kind,
            cwr: false,
            ece: false,
            blocks: 0,
            number,
            stamp,
            delay_nanos: 0,
            sack: [Block::default(); MAX_BLOCKS],
        }
    }

    /// The SACK blocks it carries.
    pub fn sack_blocks(&self) -> &[Block] {
        &self.sack[..usize::from(self.blocks)]
    }

    /// Bytes that its SACK option adds to the header, padded as on the wire (RFC 2018 section 3).
    pub fn sack_bytes(&self) -> u32 {
        if self.blocks == 0 { 0 } else { 4 + 8 * u32::from(self.blocks) }
    }
}
