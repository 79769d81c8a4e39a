//! A discipline in front of real packets: a forwarder of UDP datagrams over loopback that sends at a limited rate.
//!
//! `cargo run -p sojourn-queue --example udp_forwarder [-- NAME]` sends 60 datagrams at once through the discipline `NAME`
//! (`droptail` with room for 20), and prints how many came through, and how long they waited.

use sojourn_core::registry::{Params, Value};
use sojourn_core::{Amount, Rate, Span, Stream, Time};
use sojourn_queue::{Body, Discipline, DropReason, LinkProperties, Packet, Queue, Sink, find};
use std::io::{ErrorKind, Result};
use std::net::{Ipv4Addr, UdpSocket};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A datagram of this size takes 1 ms at this rate.
const RATE_BITS: u64 = 8_000_000;
const BYTES: usize = 1000;
const DATAGRAMS: u16 = 60;
/// When all is over, whatever happened.
const PATIENCE: Duration = Duration::from_secs(10);

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

/// What became of the datagrams.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    forwarded: u32,
    dropped: u32,
    mean_wait: Duration,
}

/// Forwards `expected` datagrams from `inbound` to where `outbound` is connected, one at a time at the link's rate.
fn forward(inbound: &UdpSocket, outbound: &UdpSocket, mut queue: Queue<Slot>, expected: u32) -> Result<Outcome> {
    inbound.set_nonblocking(true)?;
    let started = Instant::now();
    let mut buffers = Buffers::default();
    let (mut arrived, mut forwarded, mut waited, mut free_at) = (0, 0, Duration::ZERO, Time::ZERO);
    let mut datagram = [0; BYTES];
    while (arrived < expected || queue.packets() > 0) && started.elapsed() < PATIENCE {
        let now = Time::from_nanos(started.elapsed().as_nanos() as u64);
        match inbound.recv(&mut datagram) {
            Ok(bytes) => {
                arrived += 1;
                let body = buffers.keep(&datagram[..bytes]);
                queue.enqueue(Packet::new(0, bytes as u32, body), now, &mut buffers);
                continue;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if now < free_at {
            sleep(Duration::from_micros(200));
        } else if let Some(packet) = queue.dequeue(now, &mut buffers) {
            outbound.send(&buffers.bytes[packet.body.0])?;
            buffers.free.push(packet.body);
            forwarded += 1;
            waited += Duration::from_nanos(now.since(packet.enqueued).as_nanos());
            free_at = now + Span::from_nanos(u64::from(packet.bytes) * 8 * 1_000_000_000 / RATE_BITS);
        } else {
            sleep(Duration::from_micros(200));
        }
    }
    Ok(Outcome { forwarded, dropped: buffers.drops, mean_wait: waited / forwarded.max(1) })
}

/// Sends numbered datagrams at once through the discipline; also the numbers of those that came through.
fn demonstrate(params: &Params) -> Result<(Outcome, Vec<u16>)> {
    let rate = Rate::from_bits_per_second(RATE_BITS).expect("more than 0");
    let link = LinkProperties { rate, delay: Span::ZERO, packet_bytes: BYTES as u32, since: Time::ZERO };
    let queue = Queue::build(params, &link, Stream::new(1, "queue")).expect("parameters that fit together");

    let [inbound, outbound, receiver, sender] = [(); 4].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)));
    let (inbound, outbound, receiver, sender) = (inbound?, outbound?, receiver?, sender?);
    outbound.connect(receiver.local_addr()?)?;
    sender.connect(inbound.local_addr()?)?;
    for number in 0..DATAGRAMS {
        let mut datagram = [0; BYTES];
        datagram[..2].copy_from_slice(&number.to_be_bytes());
        sender.send(&datagram)?;
    }
    let outcome = forward(&inbound, &outbound, queue, u32::from(DATAGRAMS))?;

    receiver.set_nonblocking(true)?;
    let mut numbers = Vec::new();
    let mut datagram = [0; BYTES];
    while receiver.recv(&mut datagram).is_ok() {
        numbers.push(u16::from_be_bytes([datagram[0], datagram[1]]));
    }
    Ok((outcome, numbers))
}

/// The discipline called `name`, with room for 20 packets where that can be set.
fn with_room(name: &str) -> Option<Params> {
    let mut params = Params::new(find(name)?, None);
    if params.descriptor().parameter("limit").is_some() {
        params.set("limit", Value::Amount(Amount::Packets(20.0)));
    }
    Some(params)
}

fn main() -> Result<()> {
    let name = std::env::args().nth(1).unwrap_or("droptail".into());
    let Some(params) = with_room(&name) else { panic!("no discipline is called {name}") };
    let (outcome, numbers) = demonstrate(&params)?;
    println!("{name}: {} of {DATAGRAMS} datagrams came through: {numbers:?}", numbers.len());
    println!(
        "forwarded: {}, dropped: {}, mean wait: {:.1} ms",
        outcome.forwarded,
        outcome.dropped,
        outcome.mean_wait.as_secs_f64() * 1e3
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_datagrams_meet_the_limit_and_the_rate() {
        let started = Instant::now();
        let (outcome, numbers) = demonstrate(&with_room("droptail").expect("a discipline")).expect("loopback");
        assert_eq!(numbers, (0..20).collect::<Vec<u16>>(), "the first 20, in order; the others found no room");
        assert_eq!((outcome.forwarded, outcome.dropped), (20, 40));
        assert!(started.elapsed() >= Duration::from_millis(19), "19 serialization times lie between 20 datagrams");
        assert!(outcome.mean_wait >= Duration::from_micros(9_500), "{outcome:?}");
    }
}
