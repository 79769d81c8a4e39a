//! What a packet costs in each discipline, and how that grows with the number of backlogged flows.
//!
//! `cargo run --release -p sojourn-queue --example cost [-- BATCHES [LOAD FLOWS NAME]]` prints a line of JSON for each
//! discipline, load and number of flows, or for one of them; benchmarks/queues.py reads them. Disciplines come from the
//! registry with their defaults, apart from [`params`]: a new one is measured without a line here.

use sojourn_core::registry::{Class, Descriptor, Holds, Kind, Members, Params, Value};
use sojourn_core::{Amount, Rate, Span, Stream, Time};
use sojourn_queue::{
    Body, DESCRIPTORS, Discipline, DropReason, Dscp, Ecn, FlowKey, Host, LinkProperties, Packet, Queue, Sink, droptail,
};
use std::time::Instant;

const FLOWS: [u32; 4] = [1, 10, 1_000, 50_000];
/// Packets that each flow keeps waiting.
const EACH: u32 = 4;
/// Packets of any flow that overload a queue, in turn.
const EXTRAS: usize = 1 << 12;
/// How long a packet waits: less than any controller's target, so that none drops.
const DELAY: Span = Span::from_micros(500);
const FULL_PACKET: u32 = 1500;
/// A limit so far above the backlog that thresholds which are parts of it are above it too.
const ROOM: u32 = 32;
/// Short next to a turn of the system's scheduler, so that others on the machine disturb few batches.
const BATCH: u32 = 10_000;
const TIMER_CALLS: u32 = 20;

/// Thresholds in packets that follow from no limit, raised as that is.
const THRESHOLDS: &[(&str, &str, Value)] =
    &[("sfb", "target", Value::Integer(999_999)), ("sfb", "max", Value::Integer(1_000_000))];

/// What arrives for each packet that leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Load {
    /// The same packet again: all flows keep their backlog. The limit is far away.
    Backlog,
    /// Also one of any flow. The limit is what waits, so that every other packet is dropped.
    Overload,
}

impl Load {
    fn name(self) -> &'static str {
        match self {
            Load::Backlog => "backlog",
            Load::Overload => "overload",
        }
    }

    fn arrivals_per_departure(self) -> u32 {
        match self {
            Load::Backlog => 1,
            Load::Overload => 2,
        }
    }
}

/// As large as what the simulator carries.
#[derive(Clone, Copy, Default)]
struct Segment {
    #[expect(dead_code, reason = "only its size matters")]
    content: [u64; 6],
}

impl Body for Segment {}

struct Drops(u64);

impl Sink<Segment> for Drops {
    fn dropped(&mut self, _packet: &Packet<Segment>, _reason: DropReason) {
        self.0 += 1;
    }
    fn marked(&mut self, _packet: &Packet<Segment>) {}
}

/// A queue, what keeps it filled, and the clock.
struct Bench {
    queue: Queue<Segment>,
    load: Load,
    /// Packets of any flow.
    extras: Vec<Packet<Segment>>,
    next_extra: usize,
    now: Time,
    step: Span,
    sink: Drops,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let usage = "usage: cost [BATCHES [LOAD FLOWS NAME]]";
    let batches = arguments.first().map_or(51, |count| count.parse().expect(usage));
    for descriptor in DESCRIPTORS {
        for load in [Load::Backlog, Load::Overload] {
            for flows in FLOWS {
                let case = [load.name(), &flows.to_string(), descriptor.name];
                if arguments.len() < 2 || arguments[1..] == case {
                    measure(descriptor, flows, load, batches);
                }
            }
        }
    }
}

/// The defaults, but each flow has a queue of its own, all of which may be busy, and there is room for the backlog.
fn params(descriptor: &'static Descriptor, limit: u32) -> Params {
    let mut params = Params::new(descriptor, None);
    for parameter in descriptor.parameters {
        match (parameter.name, parameter.kind) {
            ("limit", Kind::Amount { .. }) => {
                params.set("limit", Value::Amount(Amount::Packets(f64::from(limit))));
            }
            ("perfect", Kind::Boolean) => params.set("perfect", Value::Boolean(true)),
            ("flows", Kind::OrAuto(_)) => params.set("flows", Value::Auto),
            _ => {}
        }
    }
    match descriptor.holds {
        Holds::Nothing => {}
        Holds::One => params.child = Some(Box::new(self::params(&droptail::DESCRIPTOR, limit))),
        Holds::Classes(class) => params.classes = classes(class, limit),
    }
    for (_, name, value) in THRESHOLDS.iter().filter(|(discipline, _, _)| *discipline == descriptor.name) {
        params.set(name, *value);
    }
    params
}

/// Expedited forwarding, which no packet here asks for, and the rest, in DropTail each.
fn classes(descriptor: &'static Descriptor, limit: u32) -> Vec<Class> {
    let expedited = Members { dscp: vec![46], ..Members::default() };
    [("expedited", expedited), ("rest", Members::default())]
        .into_iter()
        .map(|(name, members)| Class {
            parent: None,
            name: name.to_owned(),
            members,
            params: Params::new(descriptor, None),
            queue: params(&droptail::DESCRIPTOR, limit),
        })
        .collect()
}

fn measure(descriptor: &'static Descriptor, flows: u32, load: Load, batches: usize) {
    let backlog = flows * EACH;
    let params = params(descriptor, if load == Load::Overload { backlog } else { ROOM * backlog });
    let link = LinkProperties {
        rate: Rate::from_bytes_over(f64::from(backlog * FULL_PACKET), DELAY),
        delay: Span::ZERO,
        packet_bytes: FULL_PACKET,
        since: Time::ZERO,
    };
    // Of these limits some are refused: CHOKe has no averaging weight for them.
    let Ok(queue) = Queue::build(&params, &link, Stream::new(1, "cost")) else { return };
    let mut random = Stream::new(1, "packets");
    let mut bench = Bench {
        queue,
        load,
        extras: (0..EXTRAS).map(|_| packet((random.bits() % u64::from(flows)) as u32, &mut random)).collect(),
        next_extra: 0,
        now: Time::ZERO,
        step: Span::from_nanos(DELAY.as_nanos() / u64::from(backlog)),
        sink: Drops(0),
    };
    bench.fill(flows, &mut random);
    bench.run(backlog.max(BATCH));
    bench.sink.0 = 0;
    let mut each: Vec<f64> = (0..batches).map(|_| nanos(|| bench.run(BATCH)) / f64::from(BATCH)).collect();
    each.sort_by(f64::total_cmp);
    let arrivals = batches as f64 * f64::from(BATCH);
    let timer = bench.timer_nanos().map_or("null".into(), |nanos| format!("{nanos:.0}"));
    println!(
        "{{\"discipline\": \"{}\", \"load\": \"{}\", \"flows\": {flows}, \"packet_ns\": {:.2}, \"packet_ns_least\": {:.2}, \
         \"packet_ns_most\": {:.2}, \"waiting\": {}, \"dropped\": {:.4}, \"timer_ns\": {timer}}}",
        descriptor.name,
        load.name(),
        each[batches / 2],
        each[0],
        each[batches - 1],
        bench.queue.packets(),
        bench.sink.0 as f64 / arrivals,
    );
}

/// A packet of `flow`, of any size.
fn packet(flow: u32, random: &mut Stream) -> Packet<Segment> {
    Packet {
        flow,
        bytes: random.uniform_between(64.0, f64::from(FULL_PACKET)) as u32,
        enqueued: Time::ZERO,
        // Hosts of its own for each flow, as in the simulator.
        key: FlowKey { source: Host::new(flow), destination: Host::new(flow), ..FlowKey::default() },
        ecn: Ecn::NotEct,
        dscp: Dscp::DEFAULT,
        class: 0,
        body: Segment::default(),
    }
}

fn nanos(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_nanos() as f64
}

impl Bench {
    /// Every flow's packets arrive, in an order without a pattern: steps through the flows by a prime that divides no
    /// number of them.
    fn fill(&mut self, flows: u32, random: &mut Stream) {
        for number in 0..u64::from(flows * EACH) {
            let flow = (number * 7919 % u64::from(flows)) as u32;
            self.queue.enqueue(packet(flow, random), self.now, &mut self.sink);
        }
    }

    /// So many packets arrive, while as many as the load says leave.
    fn run(&mut self, arrivals: u32) {
        for _ in 0..arrivals / self.load.arrivals_per_departure() {
            self.now += self.step;
            let left = self.queue.dequeue(self.now, &mut self.sink);
            let back = left.unwrap_or_else(|| self.extra());
            self.queue.enqueue(back, self.now, &mut self.sink);
            if self.load == Load::Overload {
                let extra = self.extra();
                self.queue.enqueue(extra, self.now, &mut self.sink);
            }
        }
    }

    fn extra(&mut self) -> Packet<Segment> {
        self.next_extra = (self.next_extra + 1) % EXTRAS;
        self.extras[self.next_extra]
    }

    /// What a call of the discipline's own timer takes, if it has one.
    fn timer_nanos(&mut self) -> Option<f64> {
        self.queue.timer()?;
        let spent = nanos(|| {
            for _ in 0..TIMER_CALLS {
                self.now = self.queue.timer().unwrap_or(self.now).max(self.now);
                self.queue.on_timer(self.now, &mut self.sink);
            }
        });
        Some(spent / f64::from(TIMER_CALLS))
    }
}
