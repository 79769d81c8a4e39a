//! What sender and receiver exchange.

use sojourn_core::Time;
use sojourn_queue::{Acknowledgement, Body, MAX_RANGES};

/// A half-open range of segment numbers that the receiver holds (RFC 2018).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// First segment of the range.
    pub start: u32,
    /// One past its last segment.
    pub end: u32,
}

/// Most SACK blocks that fit beside the timestamp option (RFC 2018 section 3).
pub const MAX_BLOCKS: usize = MAX_RANGES;

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
    /// Asks for payload: travels from the receiver to the sender.
    Request,
    /// Asks for an echo.
    Probe,
    /// Answers a probe: travels from the receiver to the sender.
    Echo,
}

impl SegmentKind {
    /// Whether it travels from the receiver to the sender.
    #[inline]
    pub fn travels_back(self) -> bool {
        matches!(self, SegmentKind::Ack | SegmentKind::SynAck | SegmentKind::Request | SegmentKind::Echo)
    }
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
    /// Data, request: its number. Acknowledgement: the next number expected.
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

impl Body for Segment {
    /// An acknowledgement's own measurement of the one-way delay goes with it: the later one brings its own.
    fn acknowledgement(&self) -> Option<Acknowledgement> {
        (self.kind == SegmentKind::Ack).then(|| {
            let mut ranges = [(0, 0); MAX_RANGES];
            for (range, block) in ranges.iter_mut().zip(self.sack_blocks()) {
                *range = (block.start, block.end);
            }
            Acknowledgement { number: self.number, stamp: self.stamp, ece: self.ece, ranges }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_acknowledgements_are_read_as_such() {
        for kind in
            [SegmentKind::Syn, SegmentKind::SynAck, SegmentKind::Data, SegmentKind::Datagram, SegmentKind::Request]
        {
            assert_eq!(Segment::new(kind, 7, Time::ZERO).acknowledgement(), None, "{kind:?}");
        }
        let mut ack = Segment::new(SegmentKind::Ack, 7, Time::from_nanos(5));
        ack.ece = true;
        ack.sack[0] = Block { start: 9, end: 11 };
        ack.sack[1] = Block { start: 20, end: 30 };
        ack.blocks = 1;
        let ranges = [(9, 11), (0, 0), (0, 0)];
        let expected = Acknowledgement { number: 7, stamp: Time::from_nanos(5), ece: true, ranges };
        assert_eq!(ack.acknowledgement(), Some(expected));
        assert_eq!(expected.ranges().collect::<Vec<_>>(), [(9, 11)]);
    }
}
