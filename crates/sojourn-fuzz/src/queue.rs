//! Disciplines under any arrivals, departures and time.

use crate::params::algorithm;
use crate::tape::Tape;
use sojourn_core::{Rate, Span, Stream, Time};
use sojourn_queue::replay::{Arrival, End, Opportunity, Service, replay as run};
use sojourn_queue::{
    Acknowledgement, Body, DESCRIPTORS, Discipline, DropReason, Dscp, Ecn, FlowKey, LinkProperties, MAX_RANGES, Packet,
    Protocol, Queue, Sink,
};

/// Steps of the clock between timers, beyond which a life is cut short: some controllers tick every microsecond.
const MAX_TICKS: u32 = 20_000;
/// A discipline may shape to 1 kbit/s: the longest that draining may take.
const LONGEST_DRAIN: Span = Span::from_secs(1_000_000);

/// A packet's number, and what it says as an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Numbered {
    number: usize,
    acknowledges: Option<u32>,
}

impl Body for Numbered {
    fn acknowledgement(&self) -> Option<Acknowledgement> {
        let ranges = [(0, 0); MAX_RANGES];
        self.acknowledges.map(|number| Acknowledgement { number, stamp: Time::ZERO, ece: false, cwr: false, ranges })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Waits,
    Left,
    Dropped,
}

/// What arrived and what became of it.
#[derive(Default)]
struct Log {
    fates: Vec<Fate>,
    marked: Vec<bool>,
    waiting_bytes: u64,
}

impl Log {
    fn end(&mut self, packet: &Packet<Numbered>, fate: Fate) {
        let known = &mut self.fates[packet.body.number];
        assert_eq!(*known, Fate::Waits, "packet {} ends twice", packet.body.number);
        *known = fate;
        self.waiting_bytes -= u64::from(packet.bytes);
    }
}

impl Sink<Numbered> for Log {
    fn dropped(&mut self, packet: &Packet<Numbered>, _reason: DropReason) {
        self.end(packet, Fate::Dropped);
    }

    fn marked(&mut self, packet: &Packet<Numbered>) {
        let marked = &mut self.marked[packet.body.number];
        assert!(!*marked, "packet {} is marked twice", packet.body.number);
        assert_eq!(packet.ecn, Ecn::Ce, "a mark is CE");
        *marked = true;
    }
}

struct Life {
    queue: Queue<Numbered>,
    /// Whether it may hold packets and give none although no shaper keeps it: it may drop all there is.
    may_drop_all: bool,
    log: Log,
    brought: Vec<Ecn>,
    now: Time,
    ticks: u32,
}

impl Life {
    fn arrive(&mut self, tape: &mut Tape<'_>) {
        let (what, bytes) = (tape.byte(), 40 + u32::from(tape.word()) % 1461);
        let flow = u16::from(what & 7);
        let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][usize::from(what >> 3 & 3)];
        let dscp = Dscp::from_number([0, 46, 10, 8][usize::from(what >> 5 & 3)]).expect("six bits");
        let number = self.log.fates.len();
        let key = FlowKey {
            source: ((flow & 3) + 1).into(),
            destination: 2.into(),
            source_port: flow,
            destination_port: 80,
            protocol: Protocol::Tcp,
        };
        let acknowledges = (what & 128 != 0).then_some(u32::from(tape.byte()));
        let packet = Packet {
            flow: u32::from(flow),
            bytes,
            enqueued: self.now,
            key,
            ecn,
            dscp,
            class: 0,
            body: Numbered { number, acknowledges },
        };
        self.log.fates.push(Fate::Waits);
        self.log.marked.push(false);
        self.log.waiting_bytes += u64::from(bytes);
        self.brought.push(ecn);
        self.queue.enqueue(packet, self.now, &mut self.log);
        self.check();
    }

    /// The link asks; whether it got a packet.
    fn ask(&mut self) -> bool {
        let ready = self.queue.ready_at(self.now);
        assert_eq!(ready.is_some(), self.queue.packets() > 0, "ready some time where anything waits");
        let packet = self.queue.dequeue(self.now, &mut self.log);
        if let Some(packet) = &packet {
            let number = packet.body.number;
            let expected = if self.log.marked[number] { Ecn::Ce } else { self.brought[number] };
            assert_eq!(packet.ecn, expected, "CE where a mark was reported, and nowhere else");
            assert!(!self.log.marked[number] || self.brought[number].is_capable(), "only ECN-capable ones are marked");
            assert!(packet.enqueued <= self.now);
            self.log.end(packet, Fate::Left);
        } else if ready.is_some_and(|ready| ready <= self.now) {
            assert!(self.may_drop_all, "ready, and nothing came");
        }
        self.check();
        packet.is_some()
    }

    fn wait(&mut self, span: Span) {
        let until = self.now + span;
        while let Some(time) = self.queue.timer().filter(|&time| time <= until) {
            self.now = self.now.max(time);
            self.queue.on_timer(time, &mut self.log);
            assert!(self.queue.timer() > Some(time), "a timer moves on");
            self.ticks += 1;
            if self.ticks > MAX_TICKS {
                return;
            }
        }
        self.now = until;
        self.check();
    }

    fn check(&self) {
        let waiting = self.log.fates.iter().filter(|&&fate| fate == Fate::Waits).count();
        assert_eq!(self.queue.packets(), waiting, "packets");
        assert_eq!(self.queue.bytes(), self.log.waiting_bytes, "bytes");
        self.queue.probe(&mut |name, value| assert!(!value.is_infinite(), "{name}"));
    }

    /// Takes the parameters of another, where it can; where not, nothing has changed.
    fn retune(&mut self, tape: &mut Tape<'_>) {
        let Some((fresh, may_drop_all)) = build(tape, self.now) else { return };
        let _ = self.queue.retune(fresh, self.now, &mut self.log);
        self.may_drop_all |= may_drop_all;
        self.check();
    }

    fn drain(&mut self) {
        let end = self.now + LONGEST_DRAIN;
        while let Some(ready) = self.queue.ready_at(self.now) {
            let pause = ready.since(self.now).max(Span::from_micros(100));
            self.wait(pause);
            while self.ask() {}
            if self.ticks > MAX_TICKS {
                return;
            }
            assert!(self.now < end, "it never empties");
        }
        assert_eq!(self.queue.packets(), 0);
    }
}

fn build(tape: &mut Tape<'_>, since: Time) -> Option<(Queue<Numbered>, bool)> {
    let params = algorithm(tape, DESCRIPTORS);
    let link = LinkProperties {
        rate: Rate::from_bits_per_second(100_000 << tape.below(12)).expect("not zero"),
        delay: Span::from_millis(u64::from(tape.byte())),
        packet_bytes: 1500,
        since,
    };
    let queue = Queue::build(&params, &link, Stream::new(1, "fuzz")).ok()?;
    // ns-3's COBALT and RFC 9332's DualPI2 may drop all there is; so may what holds them.
    let may_drop_all = ["cobalt", "dualpi2"].contains(&params.descriptor().name)
        || params.held().any(|held| ["cobalt", "dualpi2"].contains(&held.descriptor().name));
    Some((queue, may_drop_all))
}

/// Any discipline with any parameters, which may change: packets and bytes are conserved, marks are honest, timers move on, and it empties.
pub(crate) fn queue(bytes: &[u8]) {
    let mut tape = Tape(bytes);
    let Some((queue, may_drop_all)) = build(&mut tape, Time::ZERO) else { return };
    let mut life = Life { queue, may_drop_all, log: Log::default(), brought: Vec::new(), now: Time::ZERO, ticks: 0 };
    while !tape.is_over() && life.ticks <= MAX_TICKS {
        match tape.byte() {
            step @ 0..=119 => (0..=step % 4).for_each(|_| life.arrive(&mut tape)),
            120..=199 => _ = life.ask(),
            236..=239 => life.retune(&mut tape),
            step @ 200..=235 => life.wait(Span::from_micros(u64::from(step) * u64::from(tape.word()))),
            _ => life.wait(Span::from_millis(u64::from(tape.word()))),
        }
    }
    life.drain();
}

/// A recording replayed: each packet has one end, those that left have places of their own and in order of time, and
/// the same once more is the same.
pub(crate) fn replay(bytes: &[u8]) {
    let mut tape = Tape(bytes);
    let params = algorithm(&mut tape, DESCRIPTORS);
    let link = LinkProperties {
        rate: Rate::from_bits_per_second(1_000_000 << tape.below(8)).expect("not zero"),
        delay: Span::ZERO,
        packet_bytes: 1500,
        since: Time::ZERO,
    };
    let service = tape.below(3);
    let (mut arrivals, mut opportunities, mut now) = (Vec::new(), Vec::new(), Time::ZERO);
    while !tape.is_over() && arrivals.len() < 500 {
        let what = tape.byte();
        now += Span::from_micros(u64::from(tape.byte()) * 40);
        if what & 1 == 1 {
            opportunities.push(Opportunity { at: now, arrivals: arrivals.len() });
        }
        arrivals.push(Arrival {
            at: now,
            flow: u16::from(what >> 1 & 3),
            bytes: 40 + u32::from(tape.byte()) * 5,
            ecn: [Ecn::NotEct, Ecn::Ect0][usize::from(what >> 3 & 1)],
            dscp: Dscp::from_number([0, 46, 10, 8][usize::from(what >> 4 & 3)]).expect("six bits"),
        });
    }
    let fates = || {
        let mut queue = Queue::build(&params, &link, Stream::new(1, "fuzz")).ok()?;
        let service = match service {
            0 => Service::Recorded(&opportunities),
            1 => Service::Device(link.rate),
            _ => Service::Shaper(link.rate),
        };
        Some(run(&mut queue, &arrivals, service))
    };
    let Some(first) = fates() else { return };
    assert_eq!(fates(), Some(first.clone()), "the same once more is the same");
    assert_eq!(first.len(), arrivals.len());
    let mut left: Vec<_> = Vec::new();
    for (arrival, fate) in arrivals.iter().zip(&first) {
        match fate.end {
            End::Left { at, place } => {
                assert!(at >= arrival.at);
                left.push((place, at));
            }
            End::Dropped { at, .. } => assert!(at >= arrival.at),
            End::Waits => assert_eq!(service, 0, "a wire sends all there is"),
        }
        assert!(!fate.marked || arrival.ecn.is_capable());
    }
    left.sort_unstable();
    assert!(left.iter().enumerate().all(|(index, &(place, _))| place == index), "places are counted through");
    assert!(left.is_sorted_by_key(|&(_, at)| at), "who leaves later has a later place");
}
