//! What one read of a device gives: a packet, or several segments of one TCP connection that the kernel left together.
//!
//! A kernel hands a device that can segment (TSO) up to 64 KiB of a connection in one piece, with one header before all. A queue
//! counts and drops the packets that a link carries, so the segments are cut apart here as the kernel would have done it
//! (`tcp_gso_segment` of net/ipv4/tcp_offload.c). UDP is not left together: a kernel that has no room for a piece counts one
//! packet, and how many datagrams that were is not known.

/// Bytes before each packet of a device: `struct virtio_net_hdr` of include/uapi/linux/virtio_net.h.
pub const PREFIX_BYTES: usize = 10;

/// A checksum is that of the pseudo header alone, and whoever takes the packet completes it.
const NEEDS_CHECKSUM: u8 = 1;
/// Places in the prefix, its flags first.
const KIND: usize = 1;
const SEGMENT_BYTES: usize = 4;
const CHECKSUM_START: usize = 6;
const CHECKSUM_OFFSET: usize = 8;
/// The first segment of the piece may have CWR set, the others not.
const KIND_ECN: u8 = 0x80;
const KIND_TCP4: u8 = 1;
const KIND_TCP6: u8 = 4;

/// Places and flags in the header of TCP (RFC 9293 section 3.1).
mod tcp {
    pub const SEQUENCE: usize = 4;
    pub const OFFSET: usize = 12;
    pub const FLAGS: usize = 13;
    pub const CHECKSUM: usize = 16;
    pub const HEADER_BYTES: usize = 20;
    pub const PROTOCOL: u8 = 6;
    pub const FIN: u8 = 1;
    pub const PSH: u8 = 8;
    pub const CWR: u8 = 0x80;
}

/// What was read: the prefix, and one packet or several.
#[derive(Clone, Copy, Debug)]
pub struct Bundle<'a> {
    bytes: &'a [u8],
    /// Where the header of TCP begins and where it ends, and payload bytes of a segment; of several segments alone.
    cut: Option<Cut>,
}

#[derive(Clone, Copy, Debug)]
struct Cut {
    transport: usize,
    headers: usize,
    segment: usize,
}

impl<'a> Bundle<'a> {
    /// What a device gave, its prefix first; `None` where it is shorter than that, or is to be cut and cannot be.
    pub fn new(bytes: &'a [u8]) -> Option<Bundle<'a>> {
        let prefix = bytes.get(..PREFIX_BYTES)?;
        let cut = match prefix[KIND] & !KIND_ECN {
            0 => None,
            KIND_TCP4 | KIND_TCP6 => Some(Cut::new(bytes)?),
            _ => return None,
        };
        Some(Bundle { bytes, cut })
    }

    /// All of it as one packet of IP.
    pub fn whole(&self) -> &'a [u8] {
        &self.bytes[PREFIX_BYTES..]
    }

    /// How many packets it is.
    pub fn count(&self) -> usize {
        self.cut.map_or(1, |cut| (self.bytes.len() - cut.headers).div_ceil(cut.segment).max(1))
    }

    /// Writes packet `index` into `room`, with the prefix that a device wants.
    pub fn write(&self, index: usize, room: &mut Vec<u8>) {
        room.clear();
        let Some(cut) = self.cut else {
            room.extend_from_slice(self.bytes);
            return;
        };
        let from = cut.headers + index * cut.segment;
        let to = (from + cut.segment).min(self.bytes.len());
        room.extend_from_slice(&self.bytes[..cut.headers]);
        room.extend_from_slice(&self.bytes[from..to]);
        // Of the prefix the checksum's place stays.
        room[KIND..CHECKSUM_START].fill(0);
        let packet = &mut room[PREFIX_BYTES..];
        write_network(packet, index);
        let (network, segment) = packet.split_at_mut(cut.transport - PREFIX_BYTES);
        write_transport(segment, index * cut.segment, index == 0, index + 1 == self.count());
        let sum = pseudo_header_sum(network, segment.len());
        segment[tcp::CHECKSUM..tcp::CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

impl Cut {
    fn new(bytes: &[u8]) -> Option<Cut> {
        let number = |at: usize| usize::from(u16::from_ne_bytes([bytes[at], bytes[at + 1]]));
        let (segment, transport) = (number(SEGMENT_BYTES), PREFIX_BYTES + number(CHECKSUM_START));
        let header = bytes.get(transport..transport + tcp::HEADER_BYTES)?;
        let headers = transport + 4 * usize::from(header[tcp::OFFSET] >> 4);
        let is_whole = bytes[0] & NEEDS_CHECKSUM != 0 && number(CHECKSUM_OFFSET) == tcp::CHECKSUM;
        let has_network = transport >= PREFIX_BYTES + if bytes[PREFIX_BYTES] >> 4 == 6 { 40 } else { 20 };
        let can_be_cut = segment > 0 && headers >= transport + tcp::HEADER_BYTES && headers <= bytes.len();
        (is_whole && has_network && can_be_cut).then_some(Cut { transport, headers, segment })
    }
}

/// Length, and for IPv4 identification and checksum, of the packet `index` of a piece (RFC 791, RFC 8200).
fn write_network(packet: &mut [u8], index: usize) {
    let bytes = packet.len() as u16;
    if packet[0] >> 4 == 6 {
        packet[4..6].copy_from_slice(&(bytes - 40).to_be_bytes());
        return;
    }
    packet[2..4].copy_from_slice(&bytes.to_be_bytes());
    let identification = u16::from_be_bytes([packet[4], packet[5]]).wrapping_add(index as u16);
    packet[4..6].copy_from_slice(&identification.to_be_bytes());
    packet[10..12].fill(0);
    let header_bytes = 4 * usize::from(packet[0] & 0xf);
    let sum = !folded(words(&packet[..header_bytes]));
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// Sequence number and flags of the segment that begins `offset` bytes into the piece.
fn write_transport(segment: &mut [u8], offset: usize, is_first: bool, is_last: bool) {
    let place = tcp::SEQUENCE..tcp::SEQUENCE + 4;
    let sequence = u32::from_be_bytes([segment[4], segment[5], segment[6], segment[7]]).wrapping_add(offset as u32);
    segment[place].copy_from_slice(&sequence.to_be_bytes());
    if !is_last {
        segment[tcp::FLAGS] &= !(tcp::FIN | tcp::PSH);
    }
    if !is_first {
        segment[tcp::FLAGS] &= !tcp::CWR;
    }
}

/// The sum over the pseudo header (RFC 9293 section 3.1, RFC 8200 section 8.1) of a segment behind the header of IP.
fn pseudo_header_sum(network: &[u8], segment_bytes: usize) -> u16 {
    let addresses = if network[0] >> 4 == 6 { &network[8..40] } else { &network[12..20] };
    folded(words(addresses) + u32::from(tcp::PROTOCOL) + segment_bytes as u32)
}

fn words(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum()
}

fn folded(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{PacketBuilder, SlicedPacket, TcpSlice, TransportSlice};
    use proptest::prelude::*;

    const PAYLOAD: usize = 5000;

    /// A piece as a kernel hands it over, with options, CWR, PSH and FIN.
    fn piece(is_ipv6: bool, segment: u16) -> Vec<u8> {
        let (ip, kind, transport) = if is_ipv6 {
            (PacketBuilder::ipv6([1; 16], [2; 16], 64), KIND_TCP6, 40)
        } else {
            (PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64), KIND_TCP4, 20)
        };
        let payload: Vec<u8> = (0..PAYLOAD).map(|index| index as u8).collect();
        let builder = ip.tcp(5201, 40_000, u32::MAX - 1000, 1000).ack(7).psh().fin().cwr();
        let builder = builder.options_raw(&[1; 12]).expect("options");
        let mut bytes = vec![NEEDS_CHECKSUM, kind | KIND_ECN, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes[SEGMENT_BYTES..SEGMENT_BYTES + 2].copy_from_slice(&segment.to_ne_bytes());
        bytes[CHECKSUM_START..CHECKSUM_START + 2].copy_from_slice(&(transport as u16).to_ne_bytes());
        bytes[CHECKSUM_OFFSET..].copy_from_slice(&(tcp::CHECKSUM as u16).to_ne_bytes());
        builder.write(&mut bytes, &payload).expect("a packet");
        bytes
    }

    fn parts(bytes: &[u8]) -> Vec<Vec<u8>> {
        let bundle = Bundle::new(bytes).expect("a bundle");
        let part = |index| {
            let mut room = vec![9; 3];
            bundle.write(index, &mut room);
            room
        };
        (0..bundle.count()).map(part).collect()
    }

    /// The header of TCP of a packet, whose sum is completed as the prefix says.
    fn completed(part: &[u8]) -> Vec<u8> {
        let start = PREFIX_BYTES + usize::from(u16::from_ne_bytes([part[6], part[7]]));
        let mut whole = part.to_vec();
        let mut even = part[start..].to_vec();
        even.resize(even.len().next_multiple_of(2), 0);
        let sum = !folded(words(&even));
        whole[start + tcp::CHECKSUM..start + tcp::CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        whole
    }

    proptest! {
        /// The segments carry the piece's bytes in order; sums, lengths and identifications are right, CWR stands on the first
        /// alone, PSH and FIN on the last.
        #[test]
        fn a_piece_is_cut_as_a_kernel_cuts_it(segment in 1u16..6000, is_ipv6: bool) {
            let parts = parts(&piece(is_ipv6, segment));
            prop_assert_eq!(parts.len(), PAYLOAD.div_ceil(usize::from(segment)));
            let mut carried = Vec::new();
            for (index, part) in parts.iter().enumerate() {
                prop_assert_eq!(&part[..SEGMENT_BYTES + 2], &[NEEDS_CHECKSUM, 0, 0, 0, 0, 0]);
                let whole = completed(part);
                let sliced = SlicedPacket::from_ip(&whole[PREFIX_BYTES..]).expect("a packet");
                let Some(TransportSlice::Tcp(found)) = &sliced.transport else { panic!("TCP") };
                let found: &TcpSlice = found;
                prop_assert_eq!(found.sequence_number(), (u32::MAX - 1000).wrapping_add(carried.len() as u32));
                let (is_first, is_last) = (index == 0, index + 1 == parts.len());
                prop_assert_eq!((found.cwr(), found.psh(), found.fin()), (is_first, is_last, is_last));
                match &sliced.net {
                    Some(etherparse::NetSlice::Ipv4(ip)) => {
                        let header = ip.header().to_header();
                        prop_assert_eq!(header.header_checksum, header.calc_header_checksum());
                        prop_assert_eq!(header.identification, index as u16);
                        prop_assert_eq!(found.checksum(), found.calc_checksum_ipv4(header.source, header.destination).expect("a sum"));
                    }
                    Some(etherparse::NetSlice::Ipv6(ip)) => {
                        let header = ip.header().to_header();
                        prop_assert_eq!(found.checksum(), found.calc_checksum_ipv6(header.source, header.destination).expect("a sum"));
                    }
                    other => panic!("{other:?}"),
                }
                carried.extend_from_slice(found.payload());
            }
            prop_assert_eq!(carried, (0..PAYLOAD).map(|index| index as u8).collect::<Vec<u8>>());
        }

        #[test]
        fn any_bytes_are_cut_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in 0u8..8) {
            if bytes.len() > CHECKSUM_OFFSET {
                bytes[0] = NEEDS_CHECKSUM;
                bytes[KIND] = kind;
                bytes[CHECKSUM_START..CHECKSUM_OFFSET + 1].copy_from_slice(&[20, 0, 16]);
            }
            if let Some(bundle) = Bundle::new(&bytes) {
                (0..bundle.count()).for_each(|index| bundle.write(index, &mut Vec::new()));
            }
        }
    }

    #[test]
    fn what_is_not_to_be_cut_stays_as_it_is() {
        let mut bytes = piece(false, 0);
        bytes[KIND] = 0;
        assert_eq!(parts(&bytes), [bytes.clone()]);
        assert!(Bundle::new(&[0; PREFIX_BYTES - 1]).is_none());
        assert!(Bundle::new(&piece(true, 0)).is_none(), "segments of no bytes");
        bytes[KIND] = 3;
        assert!(Bundle::new(&bytes).is_none(), "fragments of UDP are not asked for");
    }
}
