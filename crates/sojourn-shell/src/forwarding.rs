//! UDP sockets at both ends of a path: a port that anybody here may send to, and a socket of its own towards the remote address for
//! each that does, so that answers find their way back.
//!
//! On the path a datagram has headers of IPv4 and UDP, by which groups and queues tell flows apart.

use crate::bundle::PREFIX_BYTES;
use sojourn_core::{Span, Time};
use sojourn_wire::{Marked, now};
use std::io::{Error, ErrorKind, Result};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};

/// Bytes of the IPv4 and UDP headers of a datagram (RFC 791, RFC 768), behind the prefix.
const DATA: usize = PREFIX_BYTES + 28;
/// IPv4 with a header of 20 bytes, and the number of UDP.
const IPV4: u8 = 0x45;
const TTL: u8 = 64;
const UDP: u8 = 17;
/// Where the TOS byte stands in the header of IPv4.
const TOS: usize = PREFIX_BYTES + 1;
/// After so long without a datagram a sender is forgotten (RFC 4787, REQ-5: at least two minutes).
const IDLE: Span = Span::from_secs(120);
/// Senders at once; of more the one that was silent longest is forgotten. A process may mostly open 1024 files.
const MOST_EXITS: usize = 512;

/// The port that others send to.
#[derive(Debug)]
pub struct Entrance {
    socket: Marked,
    remote: SocketAddrV4,
}

impl Entrance {
    /// Opens the port at `local` for datagrams that go on to `remote`.
    pub fn open(local: SocketAddr, remote: SocketAddr) -> Result<Entrance> {
        Ok(Entrance { socket: Marked::new(UdpSocket::bind(local)?)?, remote: named(remote) })
    }

    pub fn socket(&self) -> &Marked {
        &self.socket
    }

    /// Reads a datagram of anybody's into `room`, as a packet.
    pub fn read(&self, room: &mut [u8]) -> Result<usize> {
        let (bytes, tos, from) = heard(self.socket.receive(&mut room[DATA..]))?;
        let Some(SocketAddr::V4(from)) = from else { return Err(ErrorKind::WouldBlock.into()) };
        Ok(write_headers(room, bytes, tos, [from, self.remote]))
    }

    /// Hands an answer to whom it is for.
    pub fn write(&self, packet: &[u8]) -> Result<usize> {
        let [_, to] = addresses(packet);
        self.socket.send(&packet[DATA..], packet[TOS], Some(to.into()))
    }
}

/// A socket towards the remote address for each that sends to the port.
#[derive(Debug)]
pub struct Exits {
    remote: SocketAddr,
    exits: Vec<Exit>,
    /// The exit that is read next.
    turn: usize,
}

#[derive(Debug)]
struct Exit {
    of: SocketAddrV4,
    socket: Marked,
    last: Time,
}

impl Exits {
    /// None yet.
    pub fn new(remote: SocketAddr) -> Exits {
        Exits { remote, exits: Vec::new(), turn: 0 }
    }

    /// All there are.
    pub fn sockets(&self) -> impl Iterator<Item = &Marked> {
        self.exits.iter().map(|exit| &exit.socket)
    }

    /// Reads an answer into `room`, as a packet; each exit has its turn.
    pub fn read(&mut self, room: &mut [u8]) -> Result<usize> {
        for _ in 0..self.exits.len() {
            self.turn = (self.turn + 1) % self.exits.len();
            let exit = &mut self.exits[self.turn];
            match heard(exit.socket.receive(&mut room[DATA..])) {
                Ok((bytes, tos, _)) => {
                    exit.last = now();
                    return Ok(write_headers(room, bytes, tos, [named(self.remote), exit.of]));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::WouldBlock.into())
    }

    /// Hands on a packet, by the socket of who sent it.
    pub fn write(&mut self, packet: &[u8]) -> Result<usize> {
        let [from, _] = addresses(packet);
        let exit = self.exit(from)?;
        exit.last = now();
        exit.socket.send(&packet[DATA..], packet[TOS], None)
    }

    fn exit(&mut self, of: SocketAddrV4) -> Result<&mut Exit> {
        if let Some(place) = self.exits.iter().position(|exit| exit.of == of) {
            return Ok(&mut self.exits[place]);
        }
        let now = now();
        self.exits.retain(|exit| now.since(exit.last) < IDLE);
        if self.exits.len() >= MOST_EXITS
            && let Some((place, _)) = self.exits.iter().enumerate().min_by_key(|(_, exit)| exit.last)
        {
            self.exits.swap_remove(place);
        }
        let any: IpAddr = if self.remote.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect(self.remote)?;
        self.exits.push(Exit { of, socket: Marked::new(socket)?, last: now });
        let place = self.exits.len() - 1;
        Ok(&mut self.exits[place])
    }
}

/// A datagram that nobody took is told of at the next call, which has nothing to do with it.
fn heard<T>(result: Result<T>) -> Result<T> {
    result.map_err(|error| {
        if error.kind() == ErrorKind::ConnectionRefused { Error::from(ErrorKind::WouldBlock) } else { error }
    })
}

/// The address that stands for the remote end in headers; of IPv6 the port alone.
fn named(remote: SocketAddr) -> SocketAddrV4 {
    match remote {
        SocketAddr::V4(remote) => remote,
        SocketAddr::V6(remote) => SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, remote.port()),
    }
}

/// Writes the headers that a datagram of `bytes` has on its way, and the prefix; the bytes of all.
fn write_headers(room: &mut [u8], bytes: usize, tos: u8, [from, to]: [SocketAddrV4; 2]) -> usize {
    room[..DATA].fill(0);
    room[TOS] = tos;
    let header = &mut room[PREFIX_BYTES..DATA];
    header[0] = IPV4;
    header[2..4].copy_from_slice(&((DATA - PREFIX_BYTES + bytes) as u16).to_be_bytes());
    header[8] = TTL;
    header[9] = UDP;
    header[12..16].copy_from_slice(&from.ip().octets());
    header[16..20].copy_from_slice(&to.ip().octets());
    header[20..22].copy_from_slice(&from.port().to_be_bytes());
    header[22..24].copy_from_slice(&to.port().to_be_bytes());
    header[24..26].copy_from_slice(&((8 + bytes) as u16).to_be_bytes());
    DATA + bytes
}

/// Where a packet comes from, and where it goes to.
fn addresses(packet: &[u8]) -> [SocketAddrV4; 2] {
    let header = &packet[PREFIX_BYTES..DATA];
    let address = |ip: usize, port: usize| {
        let octets: [u8; 4] = std::array::from_fn(|index| header[ip + index]);
        SocketAddrV4::new(octets.into(), u16::from_be_bytes([header[port], header[port + 1]]))
    };
    [address(12, 20), address(16, 22)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::end::End;
    use crate::headers;
    use std::time::{Duration, Instant};

    fn next(end: &mut End, room: &mut [u8]) -> usize {
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
    fn datagrams_are_packets_on_the_way_and_each_answer_finds_who_sent() {
        let loopback = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let [one, other, server] = [0; 3].map(|port| UdpSocket::bind(loopback(port)).expect("a socket"));
        let [mut near, mut far] =
            End::forwarding(loopback(0), server.local_addr().expect("an address")).expect("two ends");
        let End::Local(entrance) = &near else { panic!("the first is where others send to") };
        let entrance = entrance.socket().socket().local_addr().expect("an address");
        let mut room = [0; 200];
        let mut asked = Vec::new();
        for (client, question) in [(&one, b"question"), (&other, b"Question")] {
            client.send_to(question, entrance).expect("sent");
            let bytes = next(&mut near, &mut room);
            let seen = headers::read(&room[PREFIX_BYTES..bytes]).expect("a packet");
            assert_eq!((bytes - PREFIX_BYTES, seen.payload_bytes), (36, 8));
            assert_eq!(seen.key.source_port, client.local_addr().expect("an address").port());
            assert_eq!(seen.addresses, [loopback(0).ip(), loopback(0).ip()]);
            far.write(&room[..bytes]).expect("sent");
            let (bytes, from) = server.recv_from(&mut room).expect("received");
            assert_eq!(&room[..bytes], question);
            asked.push((from, question[0]));
        }
        // The first is answered last.
        for &(from, first) in asked.iter().rev() {
            server.send_to(&[first], from).expect("sent");
            let bytes = next(&mut far, &mut room);
            near.write(&room[..bytes]).expect("sent");
        }
        for (client, first) in [(&one, b'q'), (&other, b'Q')] {
            assert_eq!((client.recv(&mut room).expect("received"), room[0]), (1, first));
        }
    }

    #[test]
    fn of_too_many_senders_the_one_that_was_silent_longest_is_forgotten() {
        let server = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let mut exits = Exits::new(server.local_addr().expect("an address"));
        let from = |port| SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
        for port in 1..=MOST_EXITS as u16 + 1 {
            exits.exit(from(port)).expect("an exit");
        }
        assert_eq!(exits.exits.len(), MOST_EXITS);
        assert!(!exits.exits.iter().any(|exit| exit.of == from(1)));
    }
}
