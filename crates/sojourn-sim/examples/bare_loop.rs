//! What the engine's time is measured by: a loop with one event for each packet, its acknowledgement's arrival.
//!
//! `cargo run --release --example bare_loop -- FILE [ROUNDS]` runs a scenario and the loop in turns, and prints the least time
//! of both for a packet and its acknowledgement as JSON. The loop has ten AIMD flows at a DropTail queue like that of the
//! first section of docs/performance.md, and keeps what such a simulation is made for: distributions of RTT and queue delay.
//! It has no loss recovery, timers, headers, options or other instruments.

use sojourn_scenario::Scenario;
use sojourn_sim::{Monitor, Wanted, simulate};
use std::collections::VecDeque;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

const FLOWS: usize = 10;
const LIMIT_NANOS: u64 = 400 * PACKET_NANOS;
const PACKET_NANOS: u64 = 3_000_000;
const RTT_NANOS: u64 = 50_000_000;
const END_NANOS: u64 = 600_000_000_000;

/// An acknowledgement on its way, with what its packet has seen.
struct Entry {
    time: u64,
    sent: u64,
    waited: u64,
    flow: u32,
    number: u32,
}

#[derive(Clone, Default)]
struct Flow {
    window: f64,
    threshold: f64,
    outstanding: u32,
    next: u32,
    expected: u32,
    /// No second reduction for what was sent before the first.
    recover: u32,
}

/// Counts times in buckets of about one part in 64.
struct Histogram(Vec<u64>);

impl Histogram {
    fn record(&mut self, nanos: u64) {
        let shift = (63 - (nanos | 1).leading_zeros()).saturating_sub(6);
        self.0[((shift as usize) << 6) + (nanos >> shift) as usize] += 1;
    }
}

struct Bare {
    flows: Vec<Flow>,
    travelling: VecDeque<Entry>,
    free_at: u64,
    packets: u64,
}

impl Bare {
    fn transmit(&mut self, flow: usize, now: u64) {
        while f64::from(self.flows[flow].outstanding + 1) <= self.flows[flow].window {
            let number = self.flows[flow].next;
            self.flows[flow].next += 1;
            let start = self.free_at.max(now);
            if start - now > LIMIT_NANOS {
                break;
            }
            self.flows[flow].outstanding += 1;
            self.free_at = start + PACKET_NANOS;
            let (time, waited) = (self.free_at + RTT_NANOS, start - now);
            self.travelling.push_back(Entry { time, sent: now, waited, flow: flow as u32, number });
        }
    }

    fn on_ack(&mut self, entry: &Entry) {
        let flow = &mut self.flows[entry.flow as usize];
        flow.outstanding -= 1;
        if entry.number > flow.expected && entry.number >= flow.recover {
            flow.threshold = (flow.window / 2.0).max(2.0);
            flow.window = flow.threshold;
            flow.recover = flow.next;
        }
        flow.expected = entry.number + 1;
        flow.window += if flow.window < flow.threshold { 1.0 } else { 1.0 / flow.window };
    }
}

/// Packets sent, and a number that depends on all that was measured.
fn bare() -> (u64, u64) {
    let flow = Flow { window: 2.0, threshold: f64::INFINITY, ..Flow::default() };
    let mut world = Bare { flows: vec![flow; FLOWS], travelling: VecDeque::new(), free_at: 0, packets: 0 };
    let [mut rtt, mut queue] = [(); 2].map(|()| Histogram(vec![0; 64 << 6]));
    (0..FLOWS).for_each(|flow| world.transmit(flow, 0));
    while let Some(entry) = world.travelling.pop_front().filter(|entry| entry.time < END_NANOS) {
        rtt.record(entry.time - entry.sent);
        queue.record(entry.waited);
        world.packets += 1;
        world.on_ack(&entry);
        world.transmit(entry.flow as usize, entry.time);
    }
    let sum = rtt.0.iter().chain(&queue.0).zip(1..).map(|(count, place)| count * place).sum();
    (world.packets, sum)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: bare_loop FILE [ROUNDS]";
    let file = arguments.next().expect(usage);
    let rounds: u64 = arguments.next().map_or(20, |rounds| rounds.parse().expect(usage));
    let scenario = Scenario::load(Path::new(&file), &[]).unwrap_or_else(|error| panic!("{error}")).scenario;
    let (mut engine_ns, mut bare_ns) = (f64::INFINITY, f64::INFINITY);
    for seed in 1..=rounds {
        let record =
            simulate(&scenario, seed, &Wanted::default(), &Monitor::default()).expect("nobody interrupts").record;
        engine_ns = engine_ns.min(record.wall_s * 1e9 / record.bottleneck.departures as f64);
        let started = Instant::now();
        let (packets, _) = black_box(bare());
        bare_ns = bare_ns.min(started.elapsed().as_secs_f64() * 1e9 / packets as f64);
    }
    println!("{{\"engine_ns\": {engine_ns:.2}, \"bare_ns\": {bare_ns:.2}}}");
}
