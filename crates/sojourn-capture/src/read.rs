//! Reads pcap and pcapng files up to the first damage (draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng).

mod connections;
mod packet;
mod window;

pub use connections::{Connection, End};

use connections::Connections;
use pcap_parser::nom::{Err, IResult};
use pcap_parser::pcapng::{parse_section_content_block_be, parse_section_content_block_le, parse_sectionheaderblock};
use pcap_parser::{Block, InterfaceDescriptionBlock, PcapError};
use pcap_parser::{parse_pcap_frame, parse_pcap_frame_be, parse_pcap_header};
use std::collections::BTreeSet;
use std::io::Read;
use window::Window;

/// Bytes of a packet in [`Captured::rows`]: the time in ns (8); its connection (4); whether it runs from the first end to
/// the second, the byte that holds the code point, the protocol and TCP's flags (1 each); bytes of the IP packet and of
/// its payload, sequence and acknowledgement numbers, timestamp, echo, end of the first SACK block (4 each); the window (2),
/// the option that scales it, and which of these options are there (1 each). All are little-endian.
pub const ROW_BYTES: usize = 48;

/// Rows that lie together in memory.
const ROWS_TOGETHER: usize = 1 << 15;

/// The TCP and UDP packets of a capture, in the order of the file.
#[derive(Default)]
pub struct Captured {
    /// `ROW_BYTES` for each packet, in parts, so that millions are neither moved nor copied while they grow.
    pub rows: Vec<Vec<u8>>,
    /// The ends of each connection by its number, without those that were forgotten because there are too many.
    pub connections: Vec<(u32, Connection)>,
    /// Packets of any kind.
    pub packets: u64,
    /// Link types that were seen (tcpdump.org/linktypes.html).
    pub links: BTreeSet<u32>,
    /// Why the reading ended before the end of the file, where it did.
    pub damage: Option<String>,
}

/// The largest that one packet may be, as tcpdump has it.
const MAX_PACKET_BYTES: u32 = 1 << 18;
const MAX_NS: i128 = 1 << 62;
const NS_PER_S: i128 = 1_000_000_000;
/// The kind of a block that begins a section, the same in either order of bytes.
const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const BYTE_ORDER: u32 = 0x1a2b_3c4d;

/// Reads a file that begins as one of the two formats, and at most `most` packets of it. Memory is for these packets and
/// for one block of the file, however long it is.
#[must_use]
pub fn read(file: impl Read, most: u64) -> Captured {
    let mut reading = Reading { most, ..Reading::default() };
    let read = Window::of(file).and_then(|mut window| {
        let is_pcapng = window.left().starts_with(&SECTION);
        if is_pcapng { reading.pcapng(&mut window) } else { reading.pcap(&mut window) }
    });
    let mut captured = reading.captured;
    let after = if captured.packets == 1 { "1 packet".to_owned() } else { format!("{} packets", captured.packets) };
    captured.damage = read.err().map(|damage| format!("{damage}, after {after}"));
    captured.connections = reading.connections.known();
    captured
}

#[derive(Default)]
struct Reading {
    captured: Captured,
    connections: Connections,
    most: u64,
}

/// An interface of a section.
struct Interface {
    link: u32,
    units: i128,
    offset_s: i64,
}

impl Interface {
    fn of(block: &InterfaceDescriptionBlock) -> Interface {
        let exponent = u32::from(block.if_tsresol & 0x7f);
        let base: i128 = if block.if_tsresol & 0x80 == 0 { 10 } else { 2 };
        // More than a number can hold is finer than any time that is written.
        let units = base.checked_pow(exponent).unwrap_or(i128::MAX);
        Interface { link: link_of(block.linktype.0), units, offset_s: block.if_tsoffset }
    }

    fn time_ns(&self, high: u32, low: u32) -> Result<i64, String> {
        let ticks = i128::from(u64::from(high) << 32 | u64::from(low));
        let time = ticks * NS_PER_S / self.units + i128::from(self.offset_s) * NS_PER_S;
        if (0..MAX_NS).contains(&time) { Ok(time as i64) } else { Err("a packet's time is out of range".to_owned()) }
    }
}

/// The type of a link; the upper bits say how frames end.
fn link_of(number: i32) -> u32 {
    number as u32 & 0x0fff_ffff
}

impl Reading {
    fn pcap(&mut self, window: &mut Window<impl Read>) -> Result<(), String> {
        let begin = window.left();
        let (after, header) = parse_pcap_header(begin).map_err(|_| "the file ends in its first header")?;
        let taken = begin.len() - after.len();
        window.take(taken);
        let frame = if header.is_bigendian() { parse_pcap_frame_be } else { parse_pcap_frame };
        let tick_ns = if header.is_nanosecond_precision() { 1 } else { 1000 };
        let link = link_of(header.network.0);
        window.each("packet", |bytes| {
            let Some((after, packet)) = whole(frame(bytes), "packet")? else { return Ok(None) };
            let parts = i128::from(packet.ts_usec) * tick_ns;
            if parts >= NS_PER_S {
                return Err("a packet's time has more than a second of parts".to_owned());
            }
            let time = (i128::from(packet.ts_sec) * NS_PER_S + parts) as i64;
            self.packet(time, link, packet.data, packet.origlen)?;
            Ok(Some(bytes.len() - after.len()))
        })
    }

    fn pcapng(&mut self, window: &mut Window<impl Read>) -> Result<(), String> {
        let (mut is_big, mut interfaces, mut untimed) = (false, Vec::new(), 0_u64);
        window.each("block", |bytes| {
            let begins = bytes.starts_with(&SECTION);
            if begins {
                let Some(magic) = bytes.get(8..12) else { return Ok(None) };
                is_big = order(magic)?;
            }
            let parsed = match (begins, is_big) {
                (true, _) => parse_sectionheaderblock(bytes).map(|(after, block)| (after, Block::SectionHeader(block))),
                (false, true) => parse_section_content_block_be(bytes),
                (false, false) => parse_section_content_block_le(bytes),
            };
            let Some((after, block)) = whole(parsed, "block")? else { return Ok(None) };
            match block {
                Block::SectionHeader(_) => interfaces.clear(),
                Block::InterfaceDescription(block) => interfaces.push(Interface::of(&block)),
                Block::EnhancedPacket(block) => {
                    let of: &Interface = interfaces.get(block.if_id as usize).ok_or_else(|| {
                        format!("a packet is of interface {}, which has not been described", block.if_id)
                    })?;
                    let bytes = block.data.get(..block.caplen as usize).ok_or("a packet's block is too short")?;
                    let (time, link) = (of.time_ns(block.ts_high, block.ts_low)?, of.link);
                    self.packet(time, link, bytes, block.origlen)?;
                }
                Block::SimplePacket(_) => untimed += 1,
                _ => {}
            }
            Ok(Some(bytes.len() - after.len()))
        })?;
        if untimed > 0 { Err(format!("{untimed} packets have no times")) } else { Ok(()) }
    }

    fn packet(&mut self, time_ns: i64, link: u32, bytes: &[u8], wire_bytes: u32) -> Result<(), String> {
        let largest = wire_bytes.max(bytes.len() as u32);
        if largest > MAX_PACKET_BYTES {
            return Err(format!("a packet claims to have {largest} bytes"));
        }
        if self.captured.packets == self.most {
            return Err("it has more packets than are read".to_owned());
        }
        self.captured.packets += 1;
        self.captured.links.insert(link);
        let Some(packet) = packet::decode(link, bytes, wire_bytes) else { return Ok(()) };
        let (number, forth) = self.connections.number(&packet.connection);
        if self.captured.rows.last().is_none_or(|part| part.len() == ROWS_TOGETHER * ROW_BYTES) {
            self.captured.rows.push(Vec::with_capacity(ROWS_TOGETHER * ROW_BYTES));
        }
        let rows = self.captured.rows.last_mut().expect("a part was there or was added");
        rows.extend(time_ns.to_le_bytes());
        rows.extend(number.to_le_bytes());
        rows.extend([u8::from(forth), packet.tos, packet.connection.protocol, packet.flags]);
        for field in [packet.size_bytes, packet.payload_bytes, packet.seq, packet.ack] {
            rows.extend(field.to_le_bytes());
        }
        for field in [packet.options.stamp, packet.options.echo, packet.options.sack] {
            rows.extend(field.to_le_bytes());
        }
        rows.extend(packet.window.to_le_bytes());
        rows.extend([packet.options.scale, packet.options.found]);
        Ok(())
    }
}

/// Whether a section with this magic number has its bytes in network order.
fn order(magic: &[u8]) -> Result<bool, String> {
    let magic: [u8; 4] = magic.try_into().map_err(|_| "the file ends in a block")?;
    match (u32::from_le_bytes(magic), u32::from_be_bytes(magic)) {
        (BYTE_ORDER, _) => Ok(false),
        (_, BYTE_ORDER) => Ok(true),
        _ => Err(format!("a section's byte order is {}", magic.map(|byte| format!("{byte:02x}")).join(" "))),
    }
}

/// What was parsed, and what comes after it; `None` where not all of it has been read yet.
fn whole<'a, T>(
    parsed: IResult<&'a [u8], T, PcapError<&'a [u8]>>,
    what: &str,
) -> Result<Option<(&'a [u8], T)>, String> {
    match parsed {
        Ok(found) => Ok(Some(found)),
        Err(Err::Incomplete(_)) => Ok(None),
        Err(_) => Err(format!("a {what} contradicts itself")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcapng;

    /// A segment of 1,000 bytes with timestamps 9 and 8, of which the headers were captured.
    fn segment() -> Vec<u8> {
        let mut bytes = vec![0; 52];
        bytes[0] = 0x45;
        bytes[1] = 0x03;
        bytes[2..4].copy_from_slice(&1052_u16.to_be_bytes());
        bytes[9] = 6;
        bytes[12..20].copy_from_slice(&[192, 0, 2, 1, 192, 0, 2, 2]);
        bytes[20..24].copy_from_slice(&[0, 80, 0x9c, 0x40]);
        bytes[24..28].copy_from_slice(&5_u32.to_be_bytes());
        bytes[32] = 0x80;
        bytes[33] = 0x10;
        bytes[40..44].copy_from_slice(&[1, 1, 8, 10]);
        bytes[44..52].copy_from_slice(&[0, 0, 0, 9, 0, 0, 0, 8]);
        bytes
    }

    fn written(packets: u64) -> Vec<u8> {
        let mut file = Vec::new();
        pcapng::begin(&mut file, "test").expect("memory takes all");
        for number in 0..packets {
            pcapng::packet(&mut file, 1_000_000_007 * number, &segment(), 1052).expect("memory takes all");
        }
        file
    }

    #[test]
    fn what_was_written_is_read() {
        let found = read(&*written(3), 10);
        assert_eq!((found.packets, found.damage.as_deref()), (3, None));
        let rows = found.rows.concat();
        assert_eq!(rows.len(), 3 * ROW_BYTES);
        let last = &rows[2 * ROW_BYTES..];
        assert_eq!(last[..8], 2_000_000_014_i64.to_le_bytes());
        assert_eq!(last[12..16], [1, 3, 6, 0x10]);
        let words: Vec<u32> =
            last[16..44].chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect();
        assert_eq!(words, [1052, 1000, 5, 0, 9, 8, 0]);
        let [(0, connection)] = found.connections[..] else { panic!("one connection") };
        assert_eq!(connection.ends[0].to_bytes(), [192, 0, 2, 1, 0, 80]);
    }

    #[test]
    fn a_file_is_read_up_to_its_damage_and_its_bound() {
        let file = written(3);
        let found = read(&file[..file.len() - 5], 10);
        assert_eq!(found.rows.concat().len(), 2 * ROW_BYTES);
        assert_eq!(found.damage.as_deref(), Some("the file ends in the middle of a block, after 2 packets"));
        let damage = read(&*file, 2).damage;
        assert_eq!(damage.as_deref(), Some("it has more packets than are read, after 2 packets"));
    }

    /// A file of which one byte comes at a time, and one that cannot be read to its end.
    #[test]
    fn a_file_may_come_in_pieces_and_break_off() {
        struct Bytes(Vec<u8>, usize);
        impl Read for Bytes {
            fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
                let byte = self.0.get(self.1).ok_or_else(|| std::io::Error::other("a fault"))?;
                into[0] = *byte;
                self.1 += 1;
                Ok(1)
            }
        }
        let file = written(3);
        let found = read(Bytes(file[..file.len() - 5].to_vec(), 0), 10);
        let damage = "the file cannot be read on (a fault), after 2 packets";
        assert_eq!((found.packets, found.damage.as_deref()), (2, Some(damage)));
    }

    /// Far more than a window holds, where blocks lie across its ends, and a block that is longer than any.
    #[test]
    fn a_long_file_is_read_through_its_window() {
        let mut file = written(20_000);
        let found = read(&*file, 30_000);
        assert_eq!((found.packets, found.damage.as_deref()), (20_000, None));
        let times: Vec<[u8; 8]> =
            found.rows.concat().chunks(ROW_BYTES).map(|row| row[..8].try_into().expect("eight bytes")).collect();
        let wanted: Vec<[u8; 8]> = (0..20_000_i64).map(|number| (1_000_000_007 * number).to_le_bytes()).collect();
        assert_eq!(times, wanted);
        file.extend([0xad, 0x0b, 0, 0]);
        file.extend((40_u32 << 20).to_le_bytes());
        file.resize(file.len() + (40 << 20), 0);
        let damage = "a block has more than 16777216 bytes, after 20000 packets";
        assert_eq!(read(&*file, 30_000).damage.as_deref(), Some(damage));
    }

    /// Any byte of a file changed, and any beginning of it, is read or told as damage.
    #[test]
    fn no_byte_upsets_it() {
        let file = written(2);
        for place in 0..file.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = file.clone();
                changed[place] = value;
                assert!(read(&*changed, 10).packets <= 2);
            }
            assert!(read(&file[..place], 10).packets < 2);
        }
    }
}
