//! IPv4, TCP and UDP headers of simulated packets.

use sojourn_core::Time;
use sojourn_queue::{Ecn, Host, Packet, Protocol};
use sojourn_transport::{EcnFlags, Segment, SegmentKind};

const IP_BYTES: u32 = 20;
const TCP_BYTES: u32 = 20;
const MAX_TCP_BYTES: u32 = 60;
const UDP_BYTES: u16 = 8;

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
/// In the byte before the other flags.
const AE: u8 = 0x01;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

const NOP: u8 = 1;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const TIMESTAMPS_BYTES: usize = 12;
/// AccECN options, whose first counter is of ECT(0) or of ECT(1) (RFC 9768 section 3.2.3).
const ACCECN: [u8; 2] = [172, 174];
const ACCECN_BYTES: usize = 8;

/// What the headers of a flow's packets need beyond the packets themselves.
#[derive(Clone, Copy, Debug)]
pub struct FlowHeaders {
    /// Payload bytes of a full segment: one step of the sequence number.
    pub payload_bytes: u32,
    /// IP and TCP headers, without SACK blocks.
    pub header_bytes: u32,
    /// Whether the flow uses the timestamp option.
    pub timestamps: bool,
    /// Whether its data travels on a connection that the other end opens.
    pub answers: bool,
}

/// The headers of `packet`; cut off where the packet itself is shorter.
pub fn headers(packet: &Packet<Segment>, flow: &FlowHeaders) -> Vec<u8> {
    let mut bytes = ip(packet, flow);
    match packet.key.protocol {
        Protocol::Tcp => tcp(&mut bytes, packet, flow),
        Protocol::Udp => udp(&mut bytes, packet),
    }
    bytes.truncate(packet.bytes as usize);
    bytes
}

/// RFC 791.
fn ip(packet: &Packet<Segment>, flow: &FlowHeaders) -> Vec<u8> {
    let ecn = match packet.ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    let protocol = match packet.key.protocol {
        Protocol::Tcp => 6,
        Protocol::Udp => 17,
    };
    let mut bytes = vec![0x45, packet.dscp.number() << 2 | ecn];
    bytes.extend(total_length(packet).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    let forth = travels_forth(packet.body.kind) != flow.answers;
    bytes.extend(address(forth, packet.key.source));
    bytes.extend(address(!forth, packet.key.destination));
    let sum = checksum(&bytes).to_be_bytes();
    bytes[10..12].copy_from_slice(&sum);
    bytes
}

/// The IP header has no room for more than 65535.
fn total_length(packet: &Packet<Segment>) -> u16 {
    u16::try_from(packet.bytes).unwrap_or(u16::MAX)
}

/// RFC 9293. The checksum stays zero: it covers payload that does not exist.
fn tcp(bytes: &mut Vec<u8>, packet: &Packet<Segment>, flow: &FlowHeaders) {
    let body = &packet.body;
    let options_bytes = options_bytes(flow.header_bytes, body.option_bytes());
    let at = |number: u32| number.wrapping_mul(flow.payload_bytes).wrapping_add(1);
    let (sequence, acknowledgement, mut flags) = match body.kind {
        SegmentKind::Syn => (0, 0, SYN),
        SegmentKind::SynAck => (0, 1, SYN | ACK),
        SegmentKind::Data | SegmentKind::Datagram | SegmentKind::Ping | SegmentKind::Probe => (at(body.number), 1, ACK),
        SegmentKind::DataAck => (at(body.number), at(body.carried().0), ACK),
        SegmentKind::Ack => (1, at(body.number), ACK),
        SegmentKind::Request | SegmentKind::Echo => (1, 1, ACK),
    };
    let flag = |flag, bit| if body.ecn.has(flag) { bit } else { 0 };
    flags |= flag(EcnFlags::ECE, ECE) | flag(EcnFlags::CWR, CWR);
    bytes.extend(packet.key.source_port.to_be_bytes());
    bytes.extend(packet.key.destination_port.to_be_bytes());
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(acknowledgement.to_be_bytes());
    let offset = ((TCP_BYTES as usize + options_bytes) / 4 * 16) as u8;
    bytes.extend([offset | flag(EcnFlags::AE, AE), flags, 0xff, 0xff, 0, 0, 0, 0]);
    let end = bytes.len() + options_bytes;
    if flow.timestamps && options_bytes >= TIMESTAMPS_BYTES {
        timestamps(bytes, body);
    }
    if !body.sack_blocks().is_empty() && bytes.len() + 4 + 8 * usize::from(body.blocks) <= end {
        bytes.extend([NOP, NOP, SACK, 2 + 8 * body.blocks]);
        for block in body.sack_blocks() {
            bytes.extend(at(block.start).to_be_bytes());
            bytes.extend(at(block.end).to_be_bytes());
        }
    }
    if let Some(counters) = body.counters().filter(|_| bytes.len() + ACCECN_BYTES <= end) {
        bytes.extend([ACCECN[usize::from(counters.ect1)], ACCECN_BYTES as u8]);
        bytes.extend(&counters.ect_bytes.to_be_bytes()[1..]);
        bytes.extend(&counters.ce_bytes.to_be_bytes()[1..]);
    }
    bytes.resize(end, NOP);
}

/// RFC 7323, with clocks of 1 ms.
fn timestamps(bytes: &mut Vec<u8>, body: &Segment) {
    let millis = |time: Time| (time.as_nanos() / 1_000_000) as u32;
    let (value, echo) = match body.kind {
        SegmentKind::Ack | SegmentKind::SynAck => {
            let arrived = body.stamp.as_nanos().saturating_add_signed(body.delay_nanos);
            (millis(Time::from_nanos(arrived)), millis(body.stamp))
        }
        SegmentKind::DataAck => (millis(body.stamp), millis(body.carried().1)),
        SegmentKind::Syn
        | SegmentKind::Data
        | SegmentKind::Datagram
        | SegmentKind::Ping
        | SegmentKind::Request
        | SegmentKind::Probe
        | SegmentKind::Echo => (millis(body.stamp), 0),
    };
    bytes.extend([NOP, NOP, TIMESTAMPS, 10]);
    bytes.extend(value.to_be_bytes());
    bytes.extend(echo.to_be_bytes());
}

/// RFC 768; without a checksum, which IPv4 allows.
fn udp(bytes: &mut Vec<u8>, packet: &Packet<Segment>) {
    bytes.extend(packet.key.source_port.to_be_bytes());
    bytes.extend(packet.key.destination_port.to_be_bytes());
    bytes.extend(total_length(packet).saturating_sub(IP_BYTES as u16).max(UDP_BYTES).to_be_bytes());
    bytes.extend([0, 0]);
}

/// Room for TCP options: whole words that the header size leaves with `more` bytes, as TCP allows.
fn options_bytes(header_bytes: u32, more: u32) -> usize {
    let tcp = (header_bytes + more).saturating_sub(IP_BYTES).clamp(TCP_BYTES, MAX_TCP_BYTES);
    ((tcp - TCP_BYTES) / 4 * 4) as usize
}

/// Whether the data's sender sent it.
fn travels_forth(kind: SegmentKind) -> bool {
    matches!(
        kind,
        SegmentKind::Syn
            | SegmentKind::Data
            | SegmentKind::DataAck
            | SegmentKind::Datagram
            | SegmentKind::Ping
            | SegmentKind::Probe
    )
}

/// Senders of data are in 10.1.0.0/16, receivers in 10.2.0.0/16; host numbers count from one. Where those are used up, the
/// next ones are in 10.3.0.0/16 and 10.4.0.0/16, and so on.
fn address(sends_data: bool, host: Host) -> [u8; 4] {
    let [_, network, high, low] = (host.number() + 1).to_be_bytes();
    [10, 2 * network + if sends_data { 1 } else { 2 }, high, low]
}

/// RFC 1071.
fn checksum(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks_exact(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_queue::{Dscp, FlowKey};
    use sojourn_transport::{Block, Counters};

    const FLOW: FlowHeaders = FlowHeaders { payload_bytes: 1448, header_bytes: 52, timestamps: true, answers: false };

    fn packet(kind: SegmentKind, number: u32, bytes: u32) -> Packet<Segment> {
        Packet {
            flow: 3,
            bytes,
            enqueued: Time::ZERO,
            key: FlowKey {
                source: 3.into(),
                destination: 3.into(),
                source_port: 40_000,
                destination_port: 5_001,
                protocol: Protocol::Tcp,
            },
            ecn: Ecn::Ect0,
            dscp: Dscp::from_name("le").unwrap(),
            class: 0,
            body: Segment::new(kind, number, Time::from_nanos(2_500_000_000)),
        }
    }

    fn word(bytes: &[u8], at: usize) -> u32 {
        u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn the_checksum_is_that_of_the_worked_example() {
        // The often printed IPv4 header of 115 bytes from 192.168.0.1 to 192.168.0.199.
        let header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x00, 0x00, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8,
            0x00, 0xc7,
        ];
        assert_eq!(checksum(&header), 0xb861);
    }

    #[test]
    fn a_full_segment_has_headers_of_the_size_that_the_scenario_says() {
        let bytes = headers(&packet(SegmentKind::Data, 2, 1500), &FLOW);
        assert_eq!(bytes.len(), 52);
        assert_eq!(bytes[1], 1 << 2 | 2);
        assert_eq!(checksum(&bytes[..20]), 0);
        assert_eq!(word(&bytes, 24), 1 + 2 * 1448);
        assert_eq!(bytes[32] >> 4, 8);
        assert_eq!(word(&bytes, 44), 2500);
    }

    #[test]
    fn an_acknowledgement_carries_its_blocks() {
        let mut ack = packet(SegmentKind::Ack, 5, 64);
        ack.body.blocks = 1;
        ack.body.sack[0] = Block { start: 7, end: 9 };
        let bytes = headers(&ack, &FLOW);
        assert_eq!(bytes.len(), 64);
        assert_eq!(word(&bytes, 28), 1 + 5 * 1448);
        assert_eq!(bytes[54..56], [SACK, 10]);
        assert_eq!((word(&bytes, 56), word(&bytes, 60)), (1 + 7 * 1448, 1 + 9 * 1448));
    }

    /// With two SACK blocks, for which there is room and no more: what is beside them in the packet stays whole.
    #[test]
    fn data_carries_an_acknowledgement() {
        let mut ack = Segment::new(SegmentKind::Ack, 5, Time::from_nanos(7_000_000_000));
        ack.blocks = 2;
        let mut data = packet(SegmentKind::Data, 2, 1520);
        data.body.carry(11, &ack);
        let bytes = headers(&data, &FLOW);
        assert_eq!(bytes.len(), 52 + 20);
        assert_eq!((word(&bytes, 24), word(&bytes, 28)), (1 + 2 * 1448, 1 + 5 * 1448));
        assert_eq!((word(&bytes, 44), word(&bytes, 48)), (2500, 7000));
        let back = headers(&data, &FlowHeaders { answers: true, ..FLOW });
        assert_eq!((bytes[13], bytes[17], back[13], back[17]), (1, 2, 2, 1));
    }

    /// r.cep = 5 + 9: the ACE field is 14 modulo 8 = 6, AE and CWR. 2896 B came with ECT(1), and 13,032 B = 0x32e8 with CE.
    #[test]
    fn an_acknowledgement_carries_its_counts() {
        let mut ack = packet(SegmentKind::Ack, 11, 80);
        ack.body.ecn = EcnFlags::of_ace(5 + 9);
        ack.body.blocks = 3;
        ack.body.sack = [(12, 14), (15, 16), (17, 18)].map(|(start, end)| Block { start, end });
        ack.body.set_counters(&Counters { ect1: true, ect_bytes: 1 + 2896, ce_bytes: 13_032 });
        assert_eq!((ack.body.option_bytes(), ack.body.blocks), (20 + 8, 2));
        let bytes = headers(&ack, &FLOW);
        assert_eq!(bytes.len(), 20 + 60);
        assert_eq!((bytes[32], bytes[33]), (0xf0 | AE, ACK | CWR));
        assert_eq!(bytes[54..56], [SACK, 18]);
        assert_eq!(bytes[72..80], [174, 8, 0x00, 0x0b, 0x51, 0x00, 0x32, 0xe8]);
        ack.body.set_counters(&Counters { ect1: false, ect_bytes: 1, ce_bytes: 0 });
        assert_eq!(headers(&ack, &FLOW)[72..80], [172, 8, 0, 0, 1, 0, 0, 0]);
    }

    /// A SYN that asks for counts, and one for echoes (RFC 3168).
    #[test]
    fn a_syn_asks_with_its_flags() {
        for (flags, expected) in [(EcnFlags::ALL, (AE, SYN | ECE | CWR)), (EcnFlags::of_ace(3), (0, SYN | ECE | CWR))] {
            let mut syn = packet(SegmentKind::Syn, 0, 52);
            syn.body.ecn = flags;
            let bytes = headers(&syn, &FLOW);
            assert_eq!((bytes[32] & 0x0f, bytes[33]), expected);
        }
    }

    #[test]
    fn a_packet_shorter_than_its_headers_is_cut() {
        assert_eq!(headers(&packet(SegmentKind::Data, 0, 29), &FLOW).len(), 29);
    }
}
