//! What a router reads of a packet's headers, and what it writes into them.

use core::net::IpAddr;
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use sojourn_queue::{Dscp, Ecn, FlowKey, Host, Protocol};

/// What the network sees of a packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Headers {
    /// Addresses, each as a number of its own, and ports; 1 stands for the ports of packets that have none.
    pub key: FlowKey,
    /// Its source and its destination.
    pub addresses: [IpAddr; 2],
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its code point.
    pub dscp: Dscp,
    /// Bytes beyond the headers of IP, and of TCP or UDP where it has them.
    pub payload_bytes: u32,
}

/// The port of packets without ports.
const NO_PORT: u16 = 1;

/// The headers of an IP packet; `None` where it is none.
pub fn read(packet: &[u8]) -> Option<Headers> {
    let sliced = SlicedPacket::from_ip(packet).ok()?;
    let (addresses, tos): ([IpAddr; 2], u8) = match &sliced.net {
        Some(NetSlice::Ipv4(ip)) => {
            let header = ip.header();
            let tos = header.dcp().value() << 2 | header.ecn().value();
            ([header.source().into(), header.destination().into()], tos)
        }
        Some(NetSlice::Ipv6(ip)) => {
            let header = ip.header();
            ([header.source().into(), header.destination().into()], header.traffic_class())
        }
        _ => return None,
    };
    let (protocol, ports, payload) = match &sliced.transport {
        Some(TransportSlice::Tcp(tcp)) => {
            (Protocol::Tcp, Some((tcp.source_port(), tcp.destination_port())), tcp.payload())
        }
        Some(TransportSlice::Udp(udp)) => {
            (Protocol::Udp, Some((udp.source_port(), udp.destination_port())), udp.payload())
        }
        _ => (Protocol::Udp, None, sliced.ip_payload().map_or(&[][..], |payload| payload.payload)),
    };
    let [source, destination] = addresses.map(host);
    let (source_port, destination_port) = ports.unwrap_or((NO_PORT, NO_PORT));
    Some(Headers {
        key: FlowKey { source, destination, source_port, destination_port, protocol },
        addresses,
        ecn: ECN[usize::from(tos & 3)],
        dscp: Dscp::from_number(u64::from(tos >> 2)).unwrap_or_default(),
        payload_bytes: payload.len() as u32,
    })
}

/// The ECN fields by their numbers (RFC 3168 section 5).
const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

/// The number of a host: as many bits of a hash of its address (FNV-1a) as there is room for.
fn host(address: IpAddr) -> Host {
    let hashed = |bytes: &[u8]| {
        bytes.iter().fold(0x811c_9dc5_u32, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
    };
    let hash = match address {
        IpAddr::V4(four) => hashed(&four.octets()),
        IpAddr::V6(six) => hashed(&six.octets()),
    };
    Host::new((hash >> 24 ^ hash) & 0x00ff_ffff)
}

/// Writes ECN field and code point into an IP packet that [`read`] has understood.
pub fn write(packet: &mut [u8], ecn: Ecn, dscp: Dscp) {
    let ecn = ECN.iter().position(|&one| one == ecn).unwrap_or(0) as u8;
    let tos = dscp.number() << 2 | ecn;
    if packet[0] >> 4 == 6 {
        packet[0] = packet[0] & 0xf0 | tos >> 4;
        packet[1] = packet[1] & 0x0f | tos << 4;
        return;
    }
    let before = u16::from_be_bytes([packet[0], packet[1]]);
    packet[1] = tos;
    let after = u16::from_be_bytes([packet[0], packet[1]]);
    // RFC 1624: HC' = ~(~HC + ~m + m').
    let sum = u32::from(!u16::from_be_bytes([packet[10], packet[11]])) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !((folded & 0xffff) + (folded >> 16)) as u16;
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{Ipv4Header, PacketBuilder};
    use proptest::prelude::*;

    fn ipv4(payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(5201, 40_000, 7, 1000);
        builder.write(&mut bytes, payload).expect("a packet");
        bytes
    }

    fn ipv6(payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(443, 40_000);
        builder.write(&mut bytes, payload).expect("a packet");
        bytes
    }

    #[test]
    fn ports_and_payload_are_read() {
        let four = read(&ipv4(&[0; 100])).expect("IPv4");
        assert_eq!((four.key.source_port, four.key.destination_port, four.payload_bytes), (5201, 40_000, 100));
        assert_eq!(four.key.protocol, Protocol::Tcp);
        assert_ne!(four.key.source, four.key.destination);
        assert_eq!(four.addresses, [IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2])]);
        let six = read(&ipv6(&[0; 30])).expect("IPv6");
        assert_eq!(six.addresses, [IpAddr::from([1; 16]), IpAddr::from([2; 16])]);
        assert_eq!((six.key.source_port, six.payload_bytes, six.key.protocol), (443, 30, Protocol::Udp));
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[0x45; 10]), None);
    }

    proptest! {
        /// What is written is read again, nothing else changes, and the checksum is that of the header.
        #[test]
        fn fields_are_written_in_place(code in 0u64..64, field in 0usize..4, again in 0u64..64) {
            let dscp = Dscp::from_number(code).expect("six bits");
            for mut packet in [ipv4(&[1, 2, 3]), ipv6(&[1, 2, 3])] {
                let before = read(&packet).expect("a packet");
                write(&mut packet, Ecn::Ce, Dscp::from_number(again).expect("six bits"));
                write(&mut packet, ECN[field], dscp);
                prop_assert_eq!(read(&packet), Some(Headers { ecn: ECN[field], dscp, ..before }));
                if packet[0] >> 4 == 4 {
                    let (header, _) = Ipv4Header::from_slice(&packet).expect("a header");
                    prop_assert_eq!(header.header_checksum, header.calc_header_checksum());
                }
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if read(&bytes).is_some() {
                write(&mut bytes.clone(), Ecn::Ce, Dscp::LE);
            }
        }
    }
}
