//! A medium under any stations, arrivals and time.

use crate::tape::Tape;
use sojourn_core::{Span, Stream, Time};
use sojourn_media::wifi::{
    AfterCollision, Air, MOST_STATIONS, MOST_STREAMS, Scheduler, Setup, Standard, Station, Wifi,
};
use sojourn_media::{ACCESS_POINT, Above, Device};
use sojourn_queue::{Dscp, FlowKey, Host, Packet};
use std::collections::VecDeque;

/// Packets of a life.
const MOST_PACKETS: usize = 2_000;
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

fn setup(tape: &mut Tape<'_>) -> Setup {
    let standard = Standard::named(tape.one_of(&Standard::NAMES));
    let widths: &[u32] = match standard {
        Standard::Ac => &[20, 40, 80],
        Standard::N => &[20, 40],
        _ => &[20],
    };
    Setup {
        air: Air {
            standard,
            width_mhz: tape.one_of(widths),
            short_guard: tape.flag(),
            short_preamble: tape.flag(),
            long_slot: tape.flag(),
        },
        longest: Span::from_micros(100 + u64::from(tape.word()) % 5_385),
        aggregate: 1 + u32::from(tape.byte()) % 64,
        aggregate_bytes: 4_096 + u32::from(tape.word()),
        tries: 1 + u32::from(tape.byte()) % 30,
        scheduler: if tape.flag() {
            Scheduler::Airtime
        } else {
            Scheduler::Fifo { driver: 1 + u32::from(tape.byte()) }
        },
        ahead: 1 + tape.below(16),
        edca: tape.flag(),
        after_collision: tape.one_of(&[AfterCollision::Standard, AfterCollision::Difs, AfterCollision::Eifs]),
    }
}

fn stations(tape: &mut Tape<'_>, air: &Air) -> Vec<Station> {
    let count = if tape.byte() == 255 { MOST_STATIONS } else { 1 + tape.below(9) };
    let rates = air.rates();
    let station = |_| {
        let name = &rates[tape.below(rates.len())];
        let streams = 1 + tape.below(MOST_STREAMS as usize) as u32;
        let mode = air.mode(name, streams).or_else(|| air.mode(&rates[0], 1)).expect("the first rate is always there");
        Station { mode, loss: tape.share(), weight: 0.01 + 99.99 * tape.share() }
    };
    (0..count).map(station).collect()
}

/// Any network: no packet is lost from the count, none overtakes another one of its way, time goes on, and it empties.
pub(crate) fn medium(bytes: &[u8]) {
    let mut tape = Tape(bytes);
    let setup = setup(&mut tape);
    let stations = stations(&mut tape, &setup.air);
    let devices = stations.len() + 1;
    let mut wifi = Wifi::new(setup, stations, |device, name| Stream::new(1, &format!("{device}.{name}")));
    let waiting = (0..devices).map(|device| vec![VecDeque::new(); wifi.queues(device)]).collect();
    let last = vec![None; devices * devices * 8];
    let mut queues = Queues { waiting, shut: false, delivered: 0, given_up: 0, last, ways: devices };
    let (mut now, mut brought) = (Time::ZERO, 0);
    while !tape.is_over() && brought < MOST_PACKETS {
        match tape.byte() {
            what @ 0..=179 => {
                let (station, bytes) = (tape.below(devices - 1), 20 + u32::from(tape.word()));
                let device = if what & 1 == 0 { ACCESS_POINT } else { station + 1 };
                let dscp = Dscp::from_number(u64::from(tape.byte() & 63)).expect("six bits");
                let key = FlowKey { destination: Host::new(station as u32), ..FlowKey::default() };
                let packet = Packet { key, dscp, ..Packet::new(0, bytes, brought) };
                brought += 1;
                let queue = wifi.queue_of(device, station, dscp);
                queues.waiting[device][queue].push_back(packet);
                wifi.offer(device, queue, now, &mut queues);
            }
            180..=199 => queues.shut = !queues.shut,
            _ => {
                let until = now + Span::from_micros(u64::from(tape.word()) * 8);
                run(&mut wifi, &mut queues, until);
                now = until;
            }
        }
        check(&wifi, &queues, brought);
    }
    queues.shut = false;
    for device in 0..devices {
        (0..wifi.queues(device)).for_each(|queue| wifi.offer(device, queue, now, &mut queues));
    }
    run(&mut wifi, &mut queues, now + LONGEST_DRAIN);
    assert_eq!(queues.delivered + queues.given_up, brought, "all packets end");
    check(&wifi, &queues, brought);
}

fn run(wifi: &mut Wifi<usize>, queues: &mut Queues, until: Time) {
    while wifi.next() < until {
        let now = wifi.next();
        wifi.act(now, queues);
        assert!(wifi.next() > now, "time goes on");
    }
}

fn check(wifi: &Wifi<usize>, queues: &Queues, brought: usize) {
    let waiting: usize = queues.waiting.iter().flatten().map(VecDeque::len).sum();
    let inside: usize = (0..=wifi.stations()).map(|device| wifi.packets(device)).sum();
    assert_eq!(waiting + inside + queues.delivered + queues.given_up, brought, "packets");
    let lost: u64 = (0..=wifi.stations()).map(|device| wifi.tally(device).given_up).sum();
    assert_eq!(lost, queues.given_up as u64);
}
