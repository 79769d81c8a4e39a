//! Rates of the standard's tables, shares of schedulers, and laws of HARQ, RLC and grants.

use super::*;
use crate::cell;
use sojourn_core::registry::{Params, Value};
use sojourn_queue::{Backlog, Packet};
use std::collections::VecDeque;

/// A packet with 1000 bytes of UDP payload.
const BYTES: u32 = 1028;

/// Queues that hold what they are given, or never run dry; and what came out of the cell.
struct Queues {
    waiting: Vec<Vec<VecDeque<Packet<u64>>>>,
    endless: Vec<bool>,
    numbered: u64,
    now: Time,
    delivered: Vec<Vec<(u64, Time)>>,
    given_up: u64,
}

impl Above<u64> for Queues {
    fn take(&mut self, device: Device, queue: usize, _now: Time) -> Option<Packet<u64>> {
        if self.endless[device] {
            self.numbered += 1;
            return Some(Packet::new(if device == 0 { queue as u32 } else { device as u32 - 1 }, BYTES, self.numbered));
        }
        self.waiting[device][queue].pop_front()
    }

    fn backlog(&self, device: Device, queue: usize) -> Backlog {
        let waiting = &self.waiting[device][queue];
        let own = Backlog { packets: waiting.len(), bytes: waiting.iter().map(|packet| u64::from(packet.bytes)).sum() };
        if self.endless[device] { Backlog { packets: 1_000, bytes: 1_000_000 } } else { own }
    }

    fn station(&self, packet: &Packet<u64>) -> usize {
        packet.flow as usize
    }

    fn delivered(&mut self, device: Device, packet: Packet<u64>, _taken: Time) {
        let station = if device == 0 { packet.flow as usize } else { device - 1 };
        let way = &mut self.delivered[if device == 0 { station } else { self.endless.len() + station }];
        assert!(way.last().is_none_or(|(last, _)| *last < packet.body), "packets of a way come in order");
        way.push((packet.body, self.now));
    }

    fn given_up(&mut self, _device: Device, _packet: Packet<u64>) {
        self.given_up += 1;
    }
}

struct Run {
    cell: Cell<u64>,
    queues: Queues,
    events: u64,
}

fn setup(descriptor: &'static sojourn_core::registry::Descriptor, values: &[(&'static str, Value)]) -> cell::Setup {
    let mut params = Params::new(descriptor, None);
    values.iter().for_each(|(name, value)| params.set(name, *value));
    cell::Setup::new(&params).expect("they fit together")
}

fn lte(bandwidth: &'static str, more: &[(&'static str, Value)]) -> cell::Setup {
    let plain = [("bandwidth", Value::Choice(bandwidth)), ("bler", Value::Number(0.0))];
    setup(&LTE, &[&plain[..], more].concat())
}

fn at(cqi: u8) -> Station {
    Station { quality: Quality::Cqi(cqi), layers: 1 }
}

impl Run {
    fn new(setup: cell::Setup, stations: &[Station]) -> Run {
        let cell = Cell::new(setup, stations, |device, name| Stream::new(7, &format!("{device}.{name}")));
        let devices = stations.len() + 1;
        let queues = Queues {
            waiting: (0..devices).map(|device| vec![VecDeque::new(); cell.queues(device)]).collect(),
            endless: vec![false; devices],
            numbered: 0,
            now: Time::ZERO,
            delivered: vec![Vec::new(); 2 * devices],
            given_up: 0,
        };
        Run { cell, queues, events: 0 }
    }

    fn saturate(&mut self, device: Device) {
        self.queues.endless[device] = true;
        for queue in 0..self.cell.queues(device) {
            self.cell.offer(device, queue, self.queues.now);
        }
    }

    /// A packet of `bytes` for a station, or from it.
    fn bring(&mut self, device: Device, queue: usize, bytes: u32, nanos: u64) {
        self.until(nanos);
        self.queues.numbered += 1;
        let flow = if device == 0 { queue as u32 } else { device as u32 - 1 };
        let packet = Packet::new(flow, bytes, self.queues.numbered);
        self.queues.waiting[device][queue].push_back(packet);
        self.cell.offer(device, queue, Time::from_nanos(nanos));
    }

    fn until(&mut self, nanos: u64) {
        while self.cell.next() < Time::from_nanos(nanos) {
            self.queues.now = self.cell.next();
            self.cell.act(self.queues.now, &mut self.queues);
            assert!(self.cell.next() > self.queues.now, "time goes on");
            self.events += 1;
        }
        self.queues.now = Time::from_nanos(nanos);
    }

    /// Mbit/s of payload to each station, then from each, from the first second on.
    fn goodput(&mut self, seconds: u64) -> Vec<f64> {
        self.until(seconds * 1_000_000_000);
        let count = |way: &Vec<(u64, Time)>| way.iter().filter(|(_, at)| at.as_nanos() >= 1_000_000_000).count();
        let mbps = |way| count(way) as f64 * 8e3 / (seconds - 1) as f64 / 1e6;
        self.queues.delivered.iter().map(mbps).collect()
    }

    /// When each packet to the first station, or from it, arrived, in ms.
    fn arrivals_ms(&self, up: bool) -> Vec<f64> {
        let way = if up { self.queues.endless.len() } else { 0 };
        self.queues.delivered[way].iter().map(|(_, at)| at.as_nanos() as f64 / 1e6).collect()
    }
}

fn close(value: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((value / expected - 1.0).abs() < tolerance, "{what}: {value}, and {expected} expected");
}

/// What is left of the table's transport blocks after headers; and what ns-3.37 measured, which leaves the last incomplete group
/// of resource blocks idle.
#[test]
fn one_station_gets_what_the_transport_blocks_carry() {
    let bits = [4_392, 11_064, 18_336, 36_696, 55_056, 75_376];
    for (bandwidth, bits) in ["1.4 MHz", "3 MHz", "5 MHz", "10 MHz", "15 MHz", "20 MHz"].into_iter().zip(bits) {
        let mut run = Run::new(lte(bandwidth, &[]), &[at(15)]);
        run.saturate(0);
        let expected = f64::from(bits - 16) * 1000.0 / 1032.0 / 1e3;
        close(run.goodput(3)[0], expected, 0.002, bandwidth);
    }
    for (bandwidth, blocks, measured) in
        [("1.4 MHz", 6, 4.24), ("3 MHz", 14, 9.96), ("5 MHz", 24, 17.01), ("10 MHz", 48, 34.07), ("20 MHz", 100, 73.1)]
    {
        let mut run = Run::new(lte(bandwidth, &[("blocks", Value::Integer(blocks))]), &[at(15)]);
        run.saturate(0);
        close(run.goodput(3)[0], measured, 0.01, bandwidth);
    }
}

#[test]
fn the_uplink_is_as_fast_once_it_runs() {
    let mut run = Run::new(lte("10 MHz", &[]), &[at(15)]);
    run.saturate(1);
    close(run.goodput(3)[2], 35.6, 0.01, "ns-3.37");
}

/// Static channels: each gets half of what it has alone, with either scheduler; and many get alike.
#[test]
fn schedulers_share_static_channels_alike() {
    for scheduler in ["pf", "rr"] {
        let setup = lte("10 MHz", &[("scheduler", Value::Choice(scheduler))]);
        let alone: Vec<f64> = [15, 3]
            .map(|cqi| {
                let mut run = Run::new(setup, &[at(cqi)]);
                run.saturate(0);
                run.goodput(4)[0]
            })
            .into();
        let mut run = Run::new(setup, &[at(15), at(3)]);
        run.saturate(0);
        for (got, alone) in run.goodput(4).iter().zip(alone) {
            close(*got, alone / 2.0, 0.05, scheduler);
        }
        let mut run = Run::new(setup, &[at(9); 7]);
        run.saturate(0);
        let shares = run.goodput(4);
        let mean = shares[..7].iter().sum::<f64>() / 7.0;
        shares[..7].iter().for_each(|share| close(*share, mean, 0.02, scheduler));
        let air: f64 = (0..7).map(|station| run.cell.air_time(station).down.as_secs_f64()).sum();
        close(air, 4.0, 0.001, "all resource blocks are used");
    }
}

/// A packet waits for the next subframe, takes one, and is processed; a lost block comes 8 ms later, and holds back the next.
#[test]
fn a_lone_packet_takes_a_subframe_and_processing() {
    let mut run = Run::new(lte("10 MHz", &[]), &[at(15)]);
    run.bring(0, 0, 64, 10_300_000);
    run.bring(0, 0, 64, 11_000_000);
    run.until(1_000_000_000);
    assert_eq!(run.arrivals_ms(false), [14.0, 14.0]);
    assert_eq!(run.cell.next(), Time::NEVER);
    assert_eq!(run.events, 2, "a slot for sending, and one for arriving");
}

#[test]
fn the_uplink_waits_for_a_request_and_a_grant() {
    // Requests at 0, 10, 20 ms; grants 8 ms later; 100 bytes with the first one, and the rest by a report in it.
    let mut run = Run::new(lte("10 MHz", &[]), &[at(15)]);
    run.bring(1, 0, 64, 1_000_000);
    run.until(100_000_000);
    run.bring(1, 0, 1500, 101_000_000);
    run.until(1_000_000_000);
    assert_eq!(run.arrivals_ms(true), [10.0 + 8.0 + 1.0 + 2.0, 110.0 + 8.0 + 8.0 + 1.0 + 2.0]);
    let mut run = Run::new(lte("10 MHz", &[("uplink", Value::Choice("prescheduled"))]), &[at(15)]);
    run.bring(1, 0, 1500, 1_000_001);
    run.until(1_000_000_000);
    assert_eq!(run.arrivals_ms(true), [5.0]);
}

/// Each try takes 8 ms more, and later packets wait: a tenth of the packets comes after 11 ms, a hundredth after 19.
#[test]
fn lost_blocks_delay_and_hold_back() {
    let setup = lte("10 MHz", &[("bler", Value::Number(0.1))]);
    let mut run = Run::new(setup, &[at(15)]);
    run.saturate(0);
    close(run.goodput(30)[0], 0.9 * (36_696.0 - 16.0) / 1032.0, 0.01, "a tenth of the blocks is sent again");
    let tally = *run.cell.tally(0);
    close(tally.retries as f64 / tally.exchanges as f64, 0.1, 0.1, "retries");
    assert_eq!(run.queues.given_up, 0);
    let mut run = Run::new(setup, &[at(15)]);
    for index in 0..2_000 {
        run.bring(0, 0, 64, index * 100_000_000);
    }
    run.until(300_000_000_000);
    let mut late: Vec<u32> = run.arrivals_ms(false).iter().map(|ms| (ms % 100.0).round() as u32).collect();
    late.sort_unstable();
    let all = late.clone();
    let count = |ms| all.iter().filter(|late| **late == ms).count() as f64;
    close(count(3), 1_800.0, 0.03, "at once");
    close(count(11), 180.0, 0.2, "with the second try");
    // After four tries RLC waits 50 ms and begins anew.
    late.dedup();
    assert!(count(19) > 0.0 && late.iter().all(|ms| [3, 11, 19, 27, 77, 85].contains(ms)), "{late:?}");
}

/// With one try, RLC either sends a block anew after its timer or gives its packets up.
#[test]
fn rlc_repairs_or_gives_up() {
    for (rlc, later) in [("am", 50.0 + 3.0), ("um", 0.0)] {
        let values = [("tries", Value::Integer(1)), ("rlc", Value::Choice(rlc)), ("bler", Value::Number(0.5))];
        let mut run = Run::new(lte("10 MHz", &values), &[at(15)]);
        for index in 0..200 {
            run.bring(0, 0, 64, index * 1_000_000_000);
        }
        run.until(400_000_000_000);
        let late: Vec<f64> = run.arrivals_ms(false).iter().map(|ms| ms % 1000.0).collect();
        let repaired = late.iter().filter(|ms| **ms == later).count();
        assert_eq!(late.len() as u64 + run.queues.given_up, 200);
        if rlc == "am" {
            assert_eq!(run.queues.given_up, 0);
            close(repaired as f64, 50.0, 0.4, "repaired by one more try");
        } else {
            close(run.queues.given_up as f64, 100.0, 0.3, "given up");
        }
    }
}

/// A fading channel loses the share of blocks that its link adaptation aims at, and proportional fair makes use of its peaks.
#[test]
fn fading_channels_lose_what_is_aimed_at_and_gain_by_diversity() {
    let fading = Station { quality: Quality::Snr { mean_db: 12.0, speed_kmh: 3.0, shadowing_db: 0.0 }, layers: 1 };
    let total = |scheduler, stations: usize| {
        let one_antenna = ("antennas", Value::Integer(1));
        let setup = setup(&LTE, &[("scheduler", Value::Choice(scheduler)), one_antenna]);
        let mut run = Run::new(setup, &vec![fading; stations]);
        run.saturate(0);
        let goodput = run.goodput(40)[..stations].iter().sum::<f64>();
        let tally = *run.cell.tally(0);
        (goodput, tally.retries as f64 / tally.exchanges as f64)
    };
    let (alone, retries) = total("pf", 1);
    assert!((0.07..0.14).contains(&retries), "{retries}");
    let (fair, _) = total("pf", 8);
    let (blind, _) = total("rr", 8);
    assert!(fair > 1.25 * alone && fair > 1.25 * blind, "{alone} alone, {fair} fair, {blind} in turn");
}

/// A slot that finds nothing to do is no event.
#[test]
fn an_idle_cell_has_no_events() {
    let mut run = Run::new(setup(&LTE, &[]), &[at(15), at(1)]);
    run.bring(0, 1, 1500, 5_000_000);
    run.bring(2, 0, 1500, 5_000_000);
    run.until(10_000_000_000);
    assert!(run.events < 60, "{}", run.events);
    assert_eq!(run.cell.next(), Time::NEVER);
    assert_eq!((run.cell.packets(0), run.cell.packets(2)), (0, 0));
}

/// 5G: blocks of the rule in the slots of the pattern.
#[test]
fn slots_of_a_pattern_carry_their_direction() {
    let mut run = Run::new(setup(&NR, &[("bler", Value::Number(0.0))]), &[at(15)]);
    run.saturate(0);
    run.saturate(1);
    let goodput = run.goodput(2);
    let phy = setup(&NR, &[]).phy;
    let bits = |symbols| f64::from(phy.bytes(15, 273, 1, symbols) - 2) * 8.0 * 1000.0 / 1032.0;
    close(goodput[0], (3.0 * bits(14) + bits(10)) / 2.5e3, 0.002, "down");
    close(goodput[2], bits(14) / 2.5e3, 0.01, "up");
    close(run.cell.air_time(0).down.as_secs_f64(), 2.0, 0.001, "air");
}
