//! Where packets come from and go to: a TUN device, or UDP sockets whose datagrams are taken for packets.

use sojourn_wire::Marked;
use std::cell::Cell;
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};

/// Bytes of the IPv4 and UDP headers of a datagram (RFC 791, RFC 768).
const HEADER_BYTES: usize = 28;
/// IPv4 with a header of 20 bytes, and the number of UDP.
const IPV4: u8 = 0x45;
const TTL: u8 = 64;
const UDP: u8 = 17;
/// Where the TOS byte stands in the header of IPv4.
const TOS: usize = 1;

/// One end of the path.
#[derive(Debug)]
pub enum End {
    /// A device that gives and takes IP packets.
    Device(File),
    /// A socket that others send to, and who did last: answers go there.
    Local(Marked, Cell<Option<SocketAddr>>),
    /// A socket that is connected to where datagrams go.
    Remote(Marked),
}

impl End {
    /// Both ends of a path for datagrams to `local`, which go on to `remote`.
    ///
    /// # Errors
    /// What the system says of an address.
    pub fn forwarding(local: SocketAddr, remote: SocketAddr) -> Result<[End; 2]> {
        let here = UdpSocket::bind(local)?;
        let any: SocketAddr = if remote.is_ipv4() { ([0; 4], 0).into() } else { ([0; 16], 0).into() };
        let there = UdpSocket::bind(any)?;
        there.connect(remote)?;
        Ok([End::Local(Marked::new(here)?, Cell::new(None)), End::Remote(Marked::new(there)?)])
    }

    /// Reads the next packet into `room`; its bytes.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`] where none has come; what the system says.
    pub fn read(&self, room: &mut [u8]) -> Result<usize> {
        let (bytes, tos, ports) = match self {
            End::Device(file) => return Read::read(&mut &*file, room),
            End::Local(socket, last) => {
                let (bytes, tos, from) = socket.receive(&mut room[HEADER_BYTES..])?;
                last.set(from);
                (bytes, tos, [from.map_or(0, |from| from.port()), socket.socket().local_addr()?.port()])
            }
            End::Remote(socket) => {
                let (bytes, tos, _) = heard(socket.receive(&mut room[HEADER_BYTES..]))?;
                let socket = socket.socket();
                (bytes, tos, [socket.peer_addr()?.port(), socket.local_addr()?.port()])
            }
        };
        write_headers(room, bytes, tos, ports);
        Ok(HEADER_BYTES + bytes)
    }

    /// Hands on a packet.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, packet: &[u8]) -> Result<usize> {
        match self {
            End::Device(file) => Write::write(&mut &*file, packet),
            End::Local(socket, last) => {
                let to = last.get().ok_or(ErrorKind::NotConnected)?;
                socket.send(&packet[HEADER_BYTES..], packet[TOS], Some(to))
            }
            End::Remote(socket) => socket.send(&packet[HEADER_BYTES..], packet[TOS], None),
        }
    }
}

/// A datagram that nobody took is told of at the next call, which has nothing to do with it.
fn heard<T>(result: Result<T>) -> Result<T> {
    result.map_err(|error| {
        if error.kind() == ErrorKind::ConnectionRefused { Error::from(ErrorKind::WouldBlock) } else { error }
    })
}

/// The headers that a datagram of `bytes` has on its way: no address, but its ports, ECN field and code point.
fn write_headers(room: &mut [u8], bytes: usize, tos: u8, [source, destination]: [u16; 2]) {
    let header = &mut room[..HEADER_BYTES];
    header.fill(0);
    header[0] = IPV4;
    header[TOS] = tos;
    header[2..4].copy_from_slice(&((HEADER_BYTES + bytes) as u16).to_be_bytes());
    header[8] = TTL;
    header[9] = UDP;
    header[20..22].copy_from_slice(&source.to_be_bytes());
    header[22..24].copy_from_slice(&destination.to_be_bytes());
    header[24..26].copy_from_slice(&((8 + bytes) as u16).to_be_bytes());
}

impl AsRawFd for End {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            End::Device(file) => file.as_raw_fd(),
            End::Local(socket, _) | End::Remote(socket) => socket.as_raw_fd(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers;
    use std::time::{Duration, Instant};

    fn next(end: &End, room: &mut [u8]) -> usize {
        let until = Instant::now() + Duration::from_secs(5);
        loop {
            match end.read(room) {
                Ok(bytes) => return bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn datagrams_are_packets_on_the_way_and_come_back() {
        let loopback = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let [client, server] = [0, 0].map(|port| UdpSocket::bind(loopback(port)).expect("a socket"));
        let [near, far] = End::forwarding(loopback(0), server.local_addr().expect("an address")).expect("two ends");
        let End::Local(entrance, _) = &near else { panic!("the first is where others send to") };
        client.send_to(b"question", entrance.socket().local_addr().expect("an address")).expect("sent");
        let mut room = [0; 100];
        let bytes = next(&near, &mut room);
        let seen = headers::read(&room[..bytes]).expect("a packet");
        assert_eq!((bytes, seen.payload_bytes), (36, 8));
        assert_eq!(seen.key.source_port, client.local_addr().expect("an address").port());
        far.write(&room[..bytes]).expect("sent");
        let (bytes, from) = server.recv_from(&mut room).expect("received");
        assert_eq!(&room[..bytes], b"question");
        server.send_to(b"answer", from).expect("sent");
        let bytes = next(&far, &mut room);
        near.write(&room[..bytes]).expect("sent");
        let bytes = client.recv(&mut room).expect("received");
        assert_eq!(&room[..bytes], b"answer");
    }
}
