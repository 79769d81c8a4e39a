//! The blocks of a pcapng file (draft-ietf-opsawg-pcapng).

use std::io::{self, Write};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Packets begin with their IP header.
const LINKTYPE_RAW: u16 = 101;
const OPTION_END: u16 = 0;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;

/// Writes what comes before packets: one section with one interface, `name`, with times in ns.
pub fn begin(out: &mut impl Write, name: &str) -> io::Result<()> {
    let mut section = Vec::new();
    section.extend(BYTE_ORDER_MAGIC.to_le_bytes());
    section.extend(1u16.to_le_bytes());
    section.extend(0u16.to_le_bytes());
    section.extend((-1i64).to_le_bytes());
    block(out, SECTION_HEADER, &section)?;

    let mut interface = Vec::new();
    interface.extend(LINKTYPE_RAW.to_le_bytes());
    interface.extend(0u16.to_le_bytes());
    interface.extend(0u32.to_le_bytes());
    option(&mut interface, IF_NAME, name.as_bytes());
    option(&mut interface, IF_TSRESOL, &[9]);
    option(&mut interface, OPTION_END, &[]);
    block(out, INTERFACE_DESCRIPTION, &interface)
}

/// Writes a packet of which `captured` was captured and that had `wire_bytes` bytes.
pub fn packet(out: &mut impl Write, nanos: u64, captured: &[u8], wire_bytes: u32) -> io::Result<()> {
    let mut body = Vec::with_capacity(20 + captured.len() + 3);
    body.extend(0u32.to_le_bytes());
    body.extend(((nanos >> 32) as u32).to_le_bytes());
    body.extend((nanos as u32).to_le_bytes());
    body.extend((captured.len() as u32).to_le_bytes());
    body.extend(wire_bytes.to_le_bytes());
    body.extend(captured);
    pad(&mut body);
    block(out, ENHANCED_PACKET, &body)
}

fn block(out: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let length = (body.len() as u32 + 12).to_le_bytes();
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&length)?;
    out.write_all(body)?;
    out.write_all(&length)
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad(body);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_begin_and_end_with_their_length_and_are_aligned() {
        let mut file = Vec::new();
        begin(&mut file, "bottleneck").unwrap();
        packet(&mut file, 5_000_000_001, &[7; 41], 1500).unwrap();
        let mut kinds = Vec::new();
        let mut rest = &file[..];
        while !rest.is_empty() {
            let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
            let length = word(4) as usize;
            assert_eq!(length % 4, 0);
            assert_eq!(word(length - 4) as usize, length);
            kinds.push(word(0));
            if word(0) == ENHANCED_PACKET {
                assert_eq!((u64::from(word(12)) << 32) + u64::from(word(16)), 5_000_000_001);
                assert_eq!((word(20), word(24)), (41, 1500));
            }
            rest = &rest[length..];
        }
        assert_eq!(kinds, [SECTION_HEADER, INTERFACE_DESCRIPTION, ENHANCED_PACKET]);
    }
}
