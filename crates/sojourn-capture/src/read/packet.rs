//! What the headers of a captured packet say: link layer, IPv4 and IPv6, TCP and UDP.
//!
//! Captures are mostly cut after the first bytes of each packet, sometimes among TCP's options, and what is there of them
//! still counts; libraries for headers refuse such packets.

use super::connections::{Connection, End};

/// What is looked at of a packet.
pub(super) struct Packet {
    pub connection: Connection,
    pub tos: u8,
    pub flags: u8,
    /// Of the IP packet.
    pub size_bytes: u32,
    pub payload_bytes: u32,
    pub seq: u32,
    pub ack: u32,
    /// As the header has it, before it is scaled.
    pub window: u16,
    pub options: Options,
}

/// Options of TCP; `sack` is the end of the first block, `scale` the shift of the window (RFC 7323).
#[derive(Default)]
pub(super) struct Options {
    pub stamp: u32,
    pub echo: u32,
    pub sack: u32,
    pub scale: u8,
    /// `HAS_STAMPS`, `HAS_SACK`, `HAS_SCALE`.
    pub found: u8,
}

const HAS_STAMPS: u8 = 1;
const HAS_SACK: u8 = 2;
const HAS_SCALE: u8 = 4;
const TCP: u8 = 6;
const UDP: u8 = 17;
const TCP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;
const MAX_TAGS: usize = 4;
const MAX_EXTENSIONS: usize = 8;

/// The headers of a packet of a type of link; `None` where they are not all there, or are of another protocol.
pub(super) fn decode(link: u32, frame: &[u8], wire_bytes: u32) -> Option<Packet> {
    let at = ip_at(link, frame)?;
    let bytes = frame.get(at..)?;
    let ip = if bytes.first()? >> 4 == 4 { ipv4(bytes)? } else { ipv6(bytes)? };
    // What a network card cuts into packets is captured before it has a length.
    let size_bytes = if ip.size_bytes == 0 { wire_bytes.checked_sub(at as u32)? } else { ip.size_bytes };
    let header = match ip.protocol {
        TCP => TCP_BYTES,
        UDP => UDP_BYTES,
        _ => return None,
    };
    let transport = bytes.get(ip.transport..)?;
    let payload = size_bytes.checked_sub((ip.transport + header) as u32)?;
    if transport.len() < header {
        return None;
    }
    let ends = [End::new(ip.source, u16_at(transport, 0)?), End::new(ip.destination, u16_at(transport, 2)?)];
    let connection = Connection { protocol: ip.protocol, ends };
    let mut packet = Packet {
        connection,
        tos: ip.tos,
        flags: 0,
        size_bytes,
        payload_bytes: payload,
        seq: 0,
        ack: 0,
        window: 0,
        options: Options::default(),
    };
    if ip.protocol == TCP {
        let length = usize::from(transport[12] >> 4) * 4;
        let options = length.checked_sub(TCP_BYTES)?;
        packet.payload_bytes = payload.checked_sub(options as u32)?;
        (packet.seq, packet.ack, packet.flags) = (u32_at(transport, 4)?, u32_at(transport, 8)?, transport[13]);
        packet.window = u16_at(transport, 14)?;
        packet.options = Options::of(&transport[TCP_BYTES..length.min(transport.len())]);
    }
    Some(packet)
}

/// Where the IP header begins; `None` where there is none. Types of links: tcpdump.org/linktypes.html.
fn ip_at(link: u32, frame: &[u8]) -> Option<usize> {
    let (kind_at, mut at) = match link {
        12 | 14 | 101 | 228 | 229 => return Some(0),
        0 | 108 => return Some(4),
        1 => (12, 14),
        113 => (14, 16),
        276 => (0, 20),
        _ => return None,
    };
    if frame.len() < at {
        return None;
    }
    let mut kind = u16_at(frame, kind_at)?;
    for _ in 0..MAX_TAGS {
        if !matches!(kind, 0x8100 | 0x88a8 | 0x9100) || at + 4 > frame.len() {
            break;
        }
        kind = u16_at(frame, at + 2)?;
        at += 4;
    }
    match kind {
        0x8864 => Some(at + 8), // PPPoE
        0x0800 | 0x86dd => Some(at),
        _ => None,
    }
}

struct Ip<'a> {
    protocol: u8,
    tos: u8,
    size_bytes: u32,
    source: &'a [u8],
    destination: &'a [u8],
    /// Where the transport's header begins.
    transport: usize,
}

fn ipv4(bytes: &[u8]) -> Option<Ip<'_>> {
    let header = usize::from(bytes[0] & 0xf) * 4;
    if bytes.len() < IPV4_BYTES || header < IPV4_BYTES || u16_at(bytes, 6)? & 0x1fff != 0 {
        return None;
    }
    Some(Ip {
        protocol: bytes[9],
        tos: bytes[1],
        size_bytes: u32::from(u16_at(bytes, 2)?),
        source: &bytes[12..16],
        destination: &bytes[16..20],
        transport: header,
    })
}

fn ipv6(bytes: &[u8]) -> Option<Ip<'_>> {
    if bytes[0] >> 4 != 6 || bytes.len() < IPV6_BYTES {
        return None;
    }
    let length = u32::from(u16_at(bytes, 4)?);
    let (mut protocol, mut transport) = (bytes[6], IPV6_BYTES);
    for _ in 0..MAX_EXTENSIONS {
        let is_fragment = protocol == 44;
        if !(matches!(protocol, 0 | 43 | 60) || is_fragment) || transport + 8 > bytes.len() {
            break;
        }
        if is_fragment && u16_at(bytes, transport + 2)? >> 3 != 0 {
            return None;
        }
        let extra = if is_fragment { 0 } else { usize::from(bytes[transport + 1]) };
        (protocol, transport) = (bytes[transport], transport + 8 + 8 * extra);
    }
    let first = u32_at(bytes, 0)?;
    Some(Ip {
        protocol,
        tos: (first >> 20) as u8,
        size_bytes: if length == 0 { 0 } else { length + IPV6_BYTES as u32 },
        source: &bytes[8..24],
        destination: &bytes[24..40],
        transport,
    })
}

impl Options {
    /// Timestamps and the window's scale (RFC 7323), and the first SACK block (RFC 2018), as far as they were captured.
    fn of(mut bytes: &[u8]) -> Options {
        let mut options = Options::default();
        while let [kind, length, ..] = *bytes {
            match kind {
                0 => break,
                1 => {
                    bytes = &bytes[1..];
                    continue;
                }
                _ => {}
            }
            let Some(option) = bytes.get(..usize::from(length)).filter(|option| option.len() >= 2) else { break };
            let words = u32_at(option, 2).zip(u32_at(option, 6));
            match (kind, words) {
                (8, Some((stamp, echo))) if length == 10 => {
                    (options.stamp, options.echo) = (stamp, echo);
                    options.found |= HAS_STAMPS;
                }
                (3, _) if length == 3 => {
                    options.scale = option[2];
                    options.found |= HAS_SCALE;
                }
                (5, Some((_, end))) => {
                    options.sack = end;
                    options.found |= HAS_SACK;
                }
                _ => {}
            }
            bytes = &bytes[usize::from(length)..];
        }
        options
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
