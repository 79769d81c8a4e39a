//! Datagrams from and to bytes.

use crate::socket::ip_bytes;
use sojourn_congestion::Path;
use sojourn_core::Time;
use sojourn_transport::{Block, EcnFlags, MAX_BLOCKS, Options, Segment, SegmentKind};

/// Shortest datagram of a sender: the longest answer has as many bytes.
pub const MIN_BYTES: usize = ACK_BYTES + MAX_BLOCKS * BLOCK_BYTES;

const MAGIC: u16 = 0x4a53;
const VERSION: u8 = 1;
const HEAD_BYTES: usize = 24;
/// Head, delay and time of arrival.
const ACK_BYTES: usize = HEAD_BYTES + 16;
const BLOCK_BYTES: usize = 8;
const CWR: u8 = 1;
const ECE: u8 = 2;
const LAST: u8 = 4;
/// Times and delays beyond this (more than a year) are no clock's since it was started.
const LONGEST_NANOS: u64 = 1 << 55;

/// Bytes of a datagram with a full segment.
pub fn datagram_bytes(options: &Options) -> usize {
    MIN_BYTES.max(HEAD_BYTES + options.payload_bytes as usize)
}

/// What a control is told of packets as they are here, whatever headers the scenario's transport has.
pub fn path(options: &Options) -> Path {
    Path {
        header_bytes: ip_bytes(HEAD_BYTES) as u32,
        smallest_packet_bytes: ip_bytes(MIN_BYTES) as u32,
        ..options.path()
    }
}

/// What every datagram says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// Which connection it belongs to.
    pub connection: u32,
    /// Its number, or the next one expected.
    pub number: u32,
    /// When it, or what it answers, was sent.
    pub stamp: Time,
}

/// A segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data {
    /// Its head.
    pub head: Head,
    /// Its payload.
    pub payload_bytes: u16,
    /// Whether the sender has reduced its window.
    pub cwr: bool,
    /// Whether the application has no more for now.
    pub last: bool,
}

/// A datagram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// Asks for a connection.
    Syn {
        /// Its head.
        head: Head,
        /// The plan's token.
        token: u64,
    },
    /// Accepts it.
    SynAck {
        /// Its head.
        head: Head,
    },
    /// A segment.
    Data(Data),
    /// An acknowledgement.
    Ack {
        /// Its head.
        head: Head,
        /// Whether a mark is echoed.
        ece: bool,
        /// One-way delay of the segment that caused it.
        delay_nanos: i64,
        /// When that arrived.
        arrived: Time,
        /// What was received beyond the head's number.
        blocks: Vec<(u32, u32)>,
    },
}

impl Message {
    /// The message in `bytes`, if they are one.
    pub fn read(bytes: &[u8]) -> Option<Message> {
        let (fixed, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let [low, high, version, kind, flags, blocks, ..] = *fixed;
        if u16::from_le_bytes([low, high]) != MAGIC || version != VERSION {
            return None;
        }
        let head = Head { connection: word(fixed, 8)?, number: word(fixed, 12)?, stamp: time(long(fixed, 16)?)? };
        match kind {
            0 => Some(Message::Syn { head, token: long(rest, 0)? }),
            1 => Some(Message::SynAck { head }),
            2 => {
                let payload_bytes = u16::from_le_bytes([fixed[6], fixed[7]]);
                let whole = rest.len() >= usize::from(payload_bytes);
                let (cwr, last) = (flags & CWR != 0, flags & LAST != 0);
                whole.then_some(Message::Data(Data { head, payload_bytes, cwr, last }))
            }
            3 => {
                let delay_nanos = long(rest, 0)? as i64;
                let arrived = time(long(rest, 8)?)?;
                let blocks = read_blocks(rest, blocks, head.number)?;
                let sane = delay_nanos.unsigned_abs() < LONGEST_NANOS;
                sane.then_some(Message::Ack { head, ece: flags & ECE != 0, delay_nanos, arrived, blocks })
            }
            _ => None,
        }
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (kind, flags, blocks, payload_bytes, head) = match self {
            Message::Syn { head, .. } => (0, 0, 0, 0, head),
            Message::SynAck { head } => (1, 0, 0, 0, head),
            Message::Data(Data { head, payload_bytes, cwr, last }) => {
                (2, flag(CWR, *cwr) | flag(LAST, *last), 0, *payload_bytes, head)
            }
            Message::Ack { head, ece, blocks, .. } => (3, flag(ECE, *ece), blocks.len() as u8, 0, head),
        };
        let mut bytes = Vec::with_capacity(MIN_BYTES.max(HEAD_BYTES + usize::from(payload_bytes)));
        bytes.extend(MAGIC.to_le_bytes());
        bytes.extend([VERSION, kind, flags, blocks]);
        bytes.extend(payload_bytes.to_le_bytes());
        bytes.extend(head.connection.to_le_bytes());
        bytes.extend(head.number.to_le_bytes());
        bytes.extend(head.stamp.as_nanos().to_le_bytes());
        self.put_rest(&mut bytes);
        bytes
    }

    fn put_rest(&self, bytes: &mut Vec<u8>) {
        match self {
            Message::Syn { token, .. } => {
                bytes.extend(token.to_le_bytes());
                bytes.resize(MIN_BYTES, 0);
            }
            Message::SynAck { .. } => {}
            Message::Data(Data { payload_bytes, .. }) => {
                bytes.resize(MIN_BYTES.max(HEAD_BYTES + usize::from(*payload_bytes)), 0);
            }
            Message::Ack { delay_nanos, arrived, blocks, .. } => {
                bytes.extend(delay_nanos.to_le_bytes());
                bytes.extend(arrived.as_nanos().to_le_bytes());
                for (start, end) in blocks {
                    bytes.extend(start.to_le_bytes());
                    bytes.extend(end.to_le_bytes());
                }
            }
        }
    }

    /// The acknowledgement `segment` of the connection, for a segment that `arrived` just now.
    pub fn acknowledgement(connection: u32, segment: &Segment, arrived: Time) -> Message {
        Message::Ack {
            head: Head { connection, number: segment.number, stamp: segment.stamp },
            ece: segment.ecn.has(EcnFlags::ECE),
            delay_nanos: segment.delay_nanos,
            arrived,
            blocks: segment.sack_blocks().iter().map(|block| (block.start, block.end)).collect(),
        }
    }

    /// What the transport's sender takes for an acknowledgement.
    pub fn as_acknowledgement(&self) -> Option<Segment> {
        let Message::Ack { head, ece, delay_nanos, blocks, .. } = self else { return None };
        let mut segment = Segment::new(SegmentKind::Ack, head.number, head.stamp);
        segment.ecn = EcnFlags::when(*ece, EcnFlags::ECE);
        segment.delay_nanos = *delay_nanos;
        segment.blocks = blocks.len() as u8;
        for (place, (start, end)) in segment.sack.iter_mut().zip(blocks) {
            *place = Block { start: *start, end: *end };
        }
        Some(segment)
    }
}

/// `count` SACK blocks, each a range beyond `number`.
fn read_blocks(bytes: &[u8], count: u8, number: u32) -> Option<Vec<(u32, u32)>> {
    if usize::from(count) > MAX_BLOCKS {
        return None;
    }
    (0..usize::from(count))
        .map(|index| {
            let at = ACK_BYTES - HEAD_BYTES + index * BLOCK_BYTES;
            let (start, end) = (word(bytes, at)?, word(bytes, at + 4)?);
            (number < start && start < end).then_some((start, end))
        })
        .collect()
}

fn flag(bit: u8, is_set: bool) -> u8 {
    if is_set { bit } else { 0 }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn time(nanos: u64) -> Option<Time> {
    (nanos < LONGEST_NANOS).then_some(Time::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn heads() -> impl Strategy<Value = Head> {
        (any::<u32>(), 0..u32::MAX - 100, 0..LONGEST_NANOS).prop_map(|(connection, number, nanos)| Head {
            connection,
            number,
            stamp: Time::from_nanos(nanos),
        })
    }

    fn messages() -> impl Strategy<Value = Message> {
        prop_oneof![
            (heads(), any::<u64>()).prop_map(|(head, token)| Message::Syn { head, token }),
            heads().prop_map(|head| Message::SynAck { head }),
            (heads(), any::<u16>(), any::<bool>(), any::<bool>())
                .prop_map(|(head, payload_bytes, cwr, last)| Message::Data(Data { head, payload_bytes, cwr, last })),
            (
                heads(),
                any::<bool>(),
                -1_000_000i64..1_000_000,
                0..LONGEST_NANOS,
                prop::collection::vec(1u32..50, 0..=3)
            )
                .prop_map(|(head, ece, delay_nanos, nanos, blocks)| {
                    let blocks = blocks.iter().map(|&step| (head.number + step, head.number + 2 * step)).collect();
                    Message::Ack { head, ece, delay_nanos, arrived: Time::from_nanos(nanos), blocks }
                }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(message in messages()) {
            prop_assert_eq!(Message::read(&message.to_bytes()), Some(message));
        }

        #[test]
        fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            let _ = Message::read(&bytes);
        }

        /// Damage leads to another message or to none, never to a message that breaks the rules.
        #[test]
        fn damaged_messages_keep_the_rules(message in messages(), at in 0usize..120, byte: u8, cut in 0usize..120) {
            let mut bytes = message.to_bytes();
            let place = at % bytes.len();
            bytes[place] = byte;
            bytes.truncate(bytes.len().saturating_sub(cut % 4));
            if let Some(Message::Ack { head, blocks, .. }) = Message::read(&bytes) {
                prop_assert!(blocks.len() <= MAX_BLOCKS);
                prop_assert!(blocks.iter().all(|(start, end)| head.number < *start && start < end));
            }
        }
    }

    /// The layout that the module describes, byte by byte.
    #[test]
    fn data_has_the_documented_layout() {
        let head = Head { connection: 0x0403_0201, number: 7, stamp: Time::from_nanos(0x0807_0605_0403_0201) };
        let bytes = Message::Data(Data { head, payload_bytes: 1448, cwr: true, last: true }).to_bytes();
        assert_eq!(bytes.len(), 1472, "1500 with IP and UDP");
        assert_eq!(bytes[..24], [0x53, 0x4a, 1, 2, 5, 0, 0xa8, 5, 1, 2, 3, 4, 7, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
        let short = Message::Data(Data { head, payload_bytes: 1, cwr: false, last: false }).to_bytes();
        assert_eq!(short.len(), MIN_BYTES);
    }
}
