//! A UDP socket whose datagrams come and go with their ECN fields and code points.

use crate::sys::{self, Batch};
use std::cell::{Cell, RefCell};
use std::io::{ErrorKind, Result};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};

/// Most bytes of a datagram.
const MOST_BYTES: usize = 65_535;

/// A socket that says the TOS byte or the traffic class of what it receives, and sends with that of its choice
/// (RFC 2474 section 3, RFC 3168 section 5). It never waits.
#[derive(Debug)]
pub struct Marked {
    socket: UdpSocket,
    is_ipv6: bool,
    arrived: RefCell<Batch>,
    /// What is sent has this byte.
    tos: Cell<u8>,
}

impl Marked {
    /// Has a socket say and take TOS bytes.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(socket: UdpSocket) -> Result<Marked> {
        socket.set_nonblocking(true)?;
        let is_ipv6 = socket.local_addr()?.is_ipv6();
        let (level, asks) =
            if is_ipv6 { (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS) } else { (libc::IPPROTO_IP, libc::IP_RECVTOS) };
        sys::set(&socket, level, asks, 1)?;
        Ok(Marked { socket, is_ipv6, arrived: RefCell::new(Batch::new(1, MOST_BYTES)), tos: Cell::new(0) })
    }

    /// The socket itself.
    pub fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Receives a datagram into `room`; its bytes, its TOS byte, and for IPv4 who sent it.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`] where none has come; what the system says.
    pub fn receive(&self, room: &mut [u8]) -> Result<(usize, u8, Option<SocketAddr>)> {
        let mut arrived = self.arrived.borrow_mut();
        arrived.receive(&self.socket)?;
        let Some((seen, data)) = arrived.iter().next() else { return Err(ErrorKind::WouldBlock.into()) };
        let bytes = data.len().min(room.len());
        room[..bytes].copy_from_slice(&data[..bytes]);
        Ok((bytes, seen.tos.unwrap_or(0), seen.from.map(SocketAddr::V4)))
    }

    /// Sends a datagram with a TOS byte, to where the socket is connected or to `to`.
    ///
    /// # Errors
    /// What the system says.
    pub fn send(&self, data: &[u8], tos: u8, to: Option<SocketAddr>) -> Result<usize> {
        if self.tos.get() != tos {
            let (level, name) =
                if self.is_ipv6 { (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) } else { (libc::IPPROTO_IP, libc::IP_TOS) };
            sys::set(&self.socket, level, name, i32::from(tos))?;
            self.tos.set(tos);
        }
        match to {
            Some(to) => self.socket.send_to(data, to),
            None => self.socket.send(data),
        }
    }
}

impl AsRawFd for Marked {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn next(socket: &Marked, room: &mut [u8]) -> (usize, u8, Option<SocketAddr>) {
        let until = Instant::now() + Duration::from_secs(5);
        loop {
            match socket.receive(room) {
                Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                found => return found.expect("a datagram"),
            }
        }
    }

    #[test]
    fn each_datagram_has_the_byte_that_it_was_sent_with() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok([one, other]) = [0; 2]
                .map(|_| UdpSocket::bind(address))
                .into_iter()
                .collect::<Result<Vec<_>>>()
                .map(|sockets| <[UdpSocket; 2]>::try_from(sockets).expect("two"))
            else {
                assert_ne!(address, "127.0.0.1:0", "IPv4 is everywhere, IPv6 is not");
                continue;
            };
            let [one, other] = [one, other].map(|socket| Marked::new(socket).expect("a socket"));
            let to = other.socket().local_addr().expect("an address");
            let mut room = [0; 10];
            assert_eq!(other.receive(&mut room).expect_err("none").kind(), ErrorKind::WouldBlock);
            // Not-ECT, CE, LE with ECT(0), EF with ECT(1), and none again.
            for tos in [0, 3, 1 << 2 | 2, 46 << 2 | 1, 0] {
                one.send(b"data", tos, Some(to)).expect("sent");
                let (bytes, seen, from) = next(&other, &mut room);
                assert_eq!((&room[..bytes], seen), (&b"data"[..], tos), "{address}");
                let expected = one.socket().local_addr().ok().filter(SocketAddr::is_ipv4);
                assert_eq!(from, expected, "{address}");
            }
        }
    }
}
