//! A medium under any stations, arrivals and time: what is the same for all media.

mod cell;
mod wifi;

pub(crate) use cell::cell;
pub(crate) use wifi::medium;

use crate::tape::Tape;
use sojourn_core::{Span, Stream, Time};
use sojourn_media::{ACCESS_POINT, Above, Device, Medium, Setup, Station};
use sojourn_queue::{Backlog, Dscp, FlowKey, Host, Packet};
use std::collections::VecDeque;

/// Packets of a life.
const MAX_PACKETS: usize = 2_000;
/// The longest that draining may take: every frame of 65535 bytes at 1 Mbit/s, tried 30 times.
const LONGEST_DRAIN: Span = Span::from_secs(100_000);

/// Queues without a limit, and what became of their packets.
struct Queues {
    /// Of each device.
    waiting: Vec<Vec<VecDeque<Packet<usize>>>>,
    /// Whether a queue gives nothing for the time being.
    shut: bool,
    delivered: usize,
    given_up: usize,
    /// The number of the last packet that came over each way: device, station and category.
    last: Vec<Option<usize>>,
    ways: usize,
}

impl Queues {
    fn way(&self, device: Device, packet: &Packet<usize>) -> usize {
        (device * self.ways + self.station(packet)) * 8 + usize::from(packet.dscp.number() >> 3)
    }
}

impl Above<usize> for Queues {
    fn take(&mut self, device: Device, queue: usize, _now: Time) -> Option<Packet<usize>> {
        if self.shut { None } else { self.waiting[device][queue].pop_front() }
    }

    fn backlog(&self, device: Device, queue: usize) -> Backlog {
        let waiting = &self.waiting[device][queue];
        Backlog { packets: waiting.len(), bytes: waiting.iter().map(|packet| u64::from(packet.bytes)).sum() }
    }

    fn station(&self, packet: &Packet<usize>) -> usize {
        packet.key.destination.number() as usize
    }

    fn delivered(&mut self, device: Device, packet: Packet<usize>, _taken: Time) {
        self.delivered += 1;
        let way = self.way(device, &packet);
        assert!(self.last[way] < Some(packet.body), "packet {} is overtaken or comes twice", packet.body);
        self.last[way] = Some(packet.body);
    }

    fn given_up(&mut self, _device: Device, _packet: Packet<usize>) {
        self.given_up += 1;
    }
}

/// No packet is lost from the count, none overtakes another one of its way, time goes on, and the medium empties. Packets have
/// less than `most_bytes` bytes beside their 20.
fn life(tape: &mut Tape<'_>, setup: Setup, stations: &[Station], most_bytes: u32) {
    let devices = stations.len() + 1;
    let mut medium = setup.build(stations, |device, name| Stream::new(1, &format!("{device}.{name}")));
    let waiting = (0..devices).map(|device| vec![VecDeque::new(); medium.queues(device)]).collect();
    let last = vec![None; devices * devices * 8];
    let mut queues = Queues { waiting, shut: false, delivered: 0, given_up: 0, last, ways: devices };
    let (mut now, mut brought) = (Time::ZERO, 0);
    while !tape.is_over() && brought < MAX_PACKETS {
        match tape.byte() {
            what @ 0..=179 => {
                let (station, bytes) = (tape.below(devices - 1), 20 + u32::from(tape.word()) % most_bytes);
                let device = if what & 1 == 0 { ACCESS_POINT } else { station + 1 };
                let dscp = Dscp::from_number(u64::from(tape.byte() & 63)).expect("six bits");
                let key = FlowKey { destination: Host::new(station as u32), ..FlowKey::default() };
                let packet = Packet { key, dscp, ..Packet::new(0, bytes, brought) };
                brought += 1;
                let queue = medium.queue_of(device, station, dscp);
                queues.waiting[device][queue].push_back(packet);
                medium.offer(device, queue, now, &mut queues);
            }
            180..=199 => queues.shut = !queues.shut,
            _ => {
                let until = now + Span::from_micros(u64::from(tape.word()) * 8);
                run(&mut medium, &mut queues, until);
                now = until;
            }
        }
        check(&medium, &queues, brought);
    }
    queues.shut = false;
    for device in 0..devices {
        (0..medium.queues(device)).for_each(|queue| medium.offer(device, queue, now, &mut queues));
    }
    run(&mut medium, &mut queues, now + LONGEST_DRAIN);
    assert_eq!(queues.delivered + queues.given_up, brought, "all packets end");
    check(&medium, &queues, brought);
}

fn run(medium: &mut Medium<usize>, queues: &mut Queues, until: Time) {
    while medium.next() < until {
        let now = medium.next();
        medium.act(now, queues);
        assert!(medium.next() > now, "time goes on");
    }
}

fn check(medium: &Medium<usize>, queues: &Queues, brought: usize) {
    let waiting: usize = queues.waiting.iter().flatten().map(VecDeque::len).sum();
    let inside: usize = (0..=medium.stations()).map(|device| medium.packets(device)).sum();
    assert_eq!(waiting + inside + queues.delivered + queues.given_up, brought, "packets");
    let lost: u64 = (0..=medium.stations()).map(|device| medium.tally(device).given_up).sum();
    assert_eq!(lost, queues.given_up as u64);
}
