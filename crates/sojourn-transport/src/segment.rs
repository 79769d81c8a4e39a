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

/// What an AccECN option says: counters of payload bytes, of which 24 bits travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counters {
    /// Whether the first counter is of ECT(1) (order 1, EE1B) and not of ECT(0) (order 0, EE0B).
    pub ect1: bool,
    /// Bytes that came with that code point.
    pub ect_bytes: u32,
    /// Bytes that came with CE (ECEB).
    pub ce_bytes: u32,
}

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
    /// Carries payload, and acknowledges what comes the other way on the same connection (RFC 9293 section 3.8.6.3).
    DataAck,
    /// Carries payload that nobody acknowledges.
    Datagram,
    /// Carries payload that the receiver sends back.
    Ping,
    /// Asks for payload: travels from the receiver to the sender.
    Request,
    /// Asks for an echo.
    Probe,
    /// Answers a probe, a ping or a datagram: travels from the receiver to the sender.
    Echo,
}

impl SegmentKind {
    /// Whether it travels from the receiver to the sender.
    #[inline]
    pub fn travels_back(self) -> bool {
        matches!(self, SegmentKind::Ack | SegmentKind::SynAck | SegmentKind::Request | SegmentKind::Echo)
    }
}

/// Bytes of an AccECN option of two counters (RFC 9768 section 3.2.3).
const COUNTERS_BYTES: u32 = 8;
/// Beside 24 bits of a counter: that it is of ECT(1).
const ECT1: u32 = 1 << 24;

/// Flags of a header: those of ECN (RFC 3168, RFC 9768), and whether it has an AccECN option.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EcnFlags(u8);

impl EcnFlags {
    /// None of them.
    pub const NONE: EcnFlags = EcnFlags(0);
    /// A mark is echoed.
    pub const ECE: EcnFlags = EcnFlags(1);
    /// The congestion window was reduced.
    pub const CWR: EcnFlags = EcnFlags(2);
    /// Accurate ECN.
    pub const AE: EcnFlags = EcnFlags(4);
    /// All three, with which a SYN asks for counts.
    pub const ALL: EcnFlags = EcnFlags(7);
    /// The ACE field of the first value of a counter (RFC 9768 section 3.2.1).
    pub(crate) const FIRST_COUNT: EcnFlags = EcnFlags(5);
    /// The last SACK block is an AccECN option.
    const OPTION: EcnFlags = EcnFlags(8);

    /// `flag` where `holds`, or none.
    #[inline]
    pub fn when(holds: bool, flag: EcnFlags) -> EcnFlags {
        if holds { flag } else { EcnFlags::NONE }
    }

    /// The three flags as the low bits of `counter`.
    pub fn of_ace(counter: u32) -> EcnFlags {
        EcnFlags((counter & 7) as u8)
    }

    /// The three flags as a number, AE first: the ACE field.
    pub fn ace(self) -> u8 {
        self.0 & EcnFlags::ALL.0
    }

    /// Whether all of `flags` are set.
    #[inline]
    pub fn has(self, flags: EcnFlags) -> bool {
        self.0 & flags.0 == flags.0
    }
}

/// The transport header. Segments are numbered from zero; each carries one MSS, the last one of a
/// transfer perhaps less.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// What it is.
    pub kind: SegmentKind,
    /// The header's ECN flags.
    pub ecn: EcnFlags,
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

/// What every acknowledgement says. Nearly all say no more: no SACK blocks, no flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlainAck {
    /// The next number expected.
    pub number: u32,
    /// The echoed time (RFC 7323).
    pub stamp: Time,
    /// One-way delay of the segment that caused it, as in [`Segment::delay_nanos`].
    pub delay_nanos: i64,
}

impl Segment {
    /// A segment without acknowledgement fields.
    pub fn new(kind: SegmentKind, number: u32, stamp: Time) -> Segment {
        Segment {
            kind,
            ecn: EcnFlags::NONE,
            blocks: 0,
            number,
            stamp,
            delay_nanos: 0,
            sack: [Block::default(); MAX_BLOCKS],
        }
    }

    /// What it says as every acknowledgement does.
    #[inline]
    pub(crate) fn plain(&self) -> PlainAck {
        PlainAck { number: self.number, stamp: self.stamp, delay_nanos: self.delay_nanos }
    }

    /// The SACK blocks it carries.
    pub fn sack_blocks(&self) -> &[Block] {
        &self.sack[..usize::from(self.blocks)]
    }

    /// Not zero where it says anything besides its number and its times: SACK blocks, flags.
    #[inline]
    pub(crate) fn reports(&self) -> u32 {
        u32::from(self.blocks | self.ecn.0)
    }

    /// Bytes that its options add to the header, padded as on the wire (RFC 2018 section 3).
    #[inline]
    pub fn option_bytes(&self) -> u32 {
        if self.kind == SegmentKind::DataAck {
            return self.sack[2].start;
        }
        let sack = if self.blocks == 0 { 0 } else { 4 + 8 * u32::from(self.blocks) };
        if self.ecn.has(EcnFlags::OPTION) { sack + COUNTERS_BYTES } else { sack }
    }

    /// What its AccECN option says, if it has one.
    pub fn counters(&self) -> Option<Counters> {
        let Block { start, end } = self.sack[MAX_BLOCKS - 1];
        let counters = Counters { ect1: start & ECT1 != 0, ect_bytes: start & !ECT1, ce_bytes: end };
        self.ecn.has(EcnFlags::OPTION).then_some(counters)
    }

    /// Makes data of it that acknowledges what `ack` does, packet `number` of its direction. There is no room for blocks and
    /// options: who sends it keeps them.
    pub fn carry(&mut self, number: u32, ack: &Segment) {
        let stamp = ack.stamp.as_nanos();
        self.kind = SegmentKind::DataAck;
        self.ecn = EcnFlags(self.ecn.0 | ack.ecn.0 & EcnFlags::ALL.0);
        self.sack[0] = Block { start: number, end: ack.number };
        self.sack[1] = Block { start: (stamp >> 32) as u32, end: stamp as u32 };
        self.sack[2] = Block { start: ack.option_bytes(), end: 0 };
    }

    /// The next number expected and the echoed time that data says which [carries](Segment::carry) an acknowledgement.
    pub fn carried(&self) -> (u32, Time) {
        let [number, stamp, _] = self.sack;
        (number.end, Time::from_nanos(u64::from(stamp.start) << 32 | u64::from(stamp.end)))
    }

    /// Gives it an AccECN option. Beside timestamps that and two SACK blocks fill the header, and so the last block goes.
    pub fn set_counters(&mut self, counters: &Counters) {
        let start = counters.ect_bytes | if counters.ect1 { ECT1 } else { 0 };
        self.blocks = self.blocks.min(MAX_BLOCKS as u8 - 1);
        self.sack[MAX_BLOCKS - 1] = Block { start, end: counters.ce_bytes };
        self.ecn.0 |= EcnFlags::OPTION.0;
    }
}

impl Body for Segment {
    /// An acknowledgement's own measurement of the one-way delay goes with it: the later one brings its own. One with the flag
    /// AE is taken for none: filters do not know that flag, and leave it alone (`cake_tcph_may_drop`).
    fn acknowledgement(&self) -> Option<Acknowledgement> {
        (self.kind == SegmentKind::Ack && !self.ecn.has(EcnFlags::AE)).then(|| {
            let mut ranges = [(0, 0); MAX_RANGES];
            for (range, block) in ranges.iter_mut().zip(self.sack_blocks()) {
                *range = (block.start, block.end);
            }
            Acknowledgement {
                number: self.number,
                stamp: self.stamp,
                ece: self.ecn.has(EcnFlags::ECE),
                cwr: self.ecn.has(EcnFlags::CWR),
                ranges,
            }
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
        ack.ecn = EcnFlags::ECE;
        ack.sack[0] = Block { start: 9, end: 11 };
        ack.sack[1] = Block { start: 20, end: 30 };
        ack.blocks = 1;
        let ranges = [(9, 11), (0, 0), (0, 0)];
        let expected = Acknowledgement { number: 7, stamp: Time::from_nanos(5), ece: true, cwr: false, ranges };
        assert_eq!(ack.acknowledgement(), Some(expected));
        assert_eq!(expected.ranges().collect::<Vec<_>>(), [(9, 11)]);
        ack.ecn = EcnFlags::of_ace(0b010);
        assert_eq!(ack.acknowledgement(), Some(Acknowledgement { ece: false, cwr: true, ..expected }));
        ack.ecn = EcnFlags::of_ace(0b101);
        assert_eq!(ack.acknowledgement(), None, "filters leave AE alone");
    }
}
