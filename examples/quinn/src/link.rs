//! The bottleneck: a forwarder of UDP datagrams over loopback, with a discipline of Sojourn and a limited rate on the way to
//! the server. Answers go back at once.

use sojourn_core::registry::{Params, Value};
use sojourn_core::{Amount, Rate, Span, Stream, Time};
use sojourn_queue::{Body, Discipline, DropReason, LinkProperties, Packet, Queue, Sink, find};
use std::io::{ErrorKind, Result};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Instant;

/// The link's rate.
const RATE_BITS: u64 = 20_000_000;
/// The most that waits in it.
const LIMIT: f64 = 20.0;

/// Where the bytes of a datagram lie: disciplines move packets, so that their bodies are best small.
#[derive(Clone, Copy)]
struct Slot(usize);

impl Body for Slot {}

/// The bytes of all datagrams that wait.
#[derive(Default)]
struct Buffers {
    bytes: Vec<Vec<u8>>,
    free: Vec<Slot>,
    drops: u32,
}

impl Buffers {
    fn keep(&mut self, datagram: &[u8]) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.bytes.push(Vec::new());
            Slot(self.bytes.len() - 1)
        });
        self.bytes[slot.0] = datagram.to_vec();
        slot
    }
}

impl Sink<Slot> for Buffers {
    fn dropped(&mut self, packet: &Packet<Slot>, _reason: DropReason) {
        self.free.push(packet.body);
        self.drops += 1;
    }

    fn marked(&mut self, _packet: &Packet<Slot>) {}
}

/// A link with a queue between a client and a server.
pub struct Link {
    front: UdpSocket,
    back: UdpSocket,
    client: Option<SocketAddr>,
    queue: Queue<Slot>,
    buffers: Buffers,
    started: Instant,
    free_at: Time,
}

impl Link {
    /// A link to `server` with a DropTail queue.
    ///
    /// # Errors
    /// What the system says of the sockets.
    pub fn new(server: SocketAddr, started: Instant) -> Result<Link> {
        let mut params = Params::new(find("droptail").expect("a discipline"), None);
        params.set("limit", Value::Amount(Amount::Packets(LIMIT)));
        let rate = Rate::from_bits_per_second(RATE_BITS).expect("more than 0");
        let link = LinkProperties { rate, delay: Span::ZERO, packet_bytes: 1252, since: Time::ZERO };
        let queue = Queue::build(&params, &link, Stream::new(1, "queue")).expect("parameters that fit together");
        let [front, back] = [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)));
        let (front, back) = (front?, back?);
        back.connect(server)?;
        front.set_nonblocking(true)?;
        back.set_nonblocking(true)?;
        Ok(Link { front, back, client: None, queue, buffers: Buffers::default(), started, free_at: Time::ZERO })
    }

    /// Where the client sends to.
    ///
    /// # Errors
    /// What the system says of the socket.
    pub fn address(&self) -> Result<SocketAddr> {
        self.front.local_addr()
    }

    /// Datagrams that the discipline dropped.
    pub fn drops(&self) -> u32 {
        self.buffers.drops
    }

    /// Moves what can be moved at `now`. Whether anything was.
    ///
    /// # Errors
    /// What the system says of the sockets.
    pub fn step(&mut self, now: Instant) -> Result<bool> {
        let now = Time::from_nanos((now - self.started).as_nanos() as u64);
        let mut moved = false;
        let mut datagram = [0; 2048];
        while let Some((bytes, from)) = received(self.front.recv_from(&mut datagram))? {
            self.client = Some(from);
            if self.queue.packets() == 0 {
                self.free_at = self.free_at.max(now);
            }
            let body = self.buffers.keep(&datagram[..bytes]);
            self.queue.enqueue(Packet::new(0, bytes as u32, body), now, &mut self.buffers);
            moved = true;
        }
        while now >= self.free_at {
            let Some(packet) = self.queue.dequeue(now, &mut self.buffers) else { break };
            self.back.send(&self.buffers.bytes[packet.body.0])?;
            self.buffers.free.push(packet.body);
            let took = Span::from_nanos(u64::from(packet.bytes) * 8 * 1_000_000_000 / RATE_BITS);
            // Not from `now` on: while this machine was busy with something else, the link was not idle.
            self.free_at += took;
            moved = true;
        }
        while let Some(bytes) = received(self.back.recv(&mut datagram))? {
            if let Some(client) = self.client {
                self.front.send_to(&datagram[..bytes], client)?;
            }
            moved = true;
        }
        Ok(moved)
    }
}

/// What was received, or `None` where nothing waits.
pub fn received<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(received) => Ok(Some(received)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}
