//! Delay lines: packets under way, in order, with one pending event for all of them.

use crate::Packet;
use sojourn_core::{Rate, Serializer, Span, Stream, Time};
use sojourn_scenario::{Direction, Jitter, Shape};
use std::collections::VecDeque;

/// Where a line ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineEnd {
    /// At the flow's endpoint.
    Endpoint,
    /// At the sender, with the receiver's answer, which takes so long to come back from there.
    Answered(Span),
    /// At the network's entrance for this direction of travel.
    Network(Direction),
    /// Where packets go that have crossed this link.
    Beyond(usize),
}

/// What a line does to packets before the constant delay.
#[derive(Debug)]
enum Kind {
    Constant,
    /// No packet leaves before the one that entered before it, nor before it is told.
    InOrder,
    /// An access link with an endless buffer.
    Access(Serializer),
    Jitter(Jitter, Stream),
}

/// Packets that travel.
#[derive(Debug)]
pub struct Line {
    end: LineEnd,
    delay: Span,
    kind: Kind,
    /// When the last packet that entered leaves.
    last_exit: Time,
    packets: VecDeque<(Time, Packet)>,
}

impl Line {
    /// A line with a constant delay.
    pub fn constant(delay: Span, end: LineEnd) -> Line {
        Line { end, delay, kind: Kind::Constant, last_exit: Time::ZERO, packets: VecDeque::new() }
    }

    /// A flow's own access link.
    pub fn access(rate: Rate, end: LineEnd) -> Line {
        Line { kind: Kind::Access(Serializer::new(rate)), ..Line::constant(Span::ZERO, end) }
    }

    /// A line whose packets may be [held](Line::hold).
    pub fn in_order(delay: Span, end: LineEnd) -> Line {
        Line { kind: Kind::InOrder, ..Line::constant(delay, end) }
    }

    /// A line with random additional delay.
    pub fn jittery(delay: Span, jitter: Jitter, random: Stream, end: LineEnd) -> Line {
        Line { kind: Kind::Jitter(jitter, random), ..Line::constant(delay, end) }
    }

    /// Where packets go at the end.
    #[inline]
    pub fn end(&self) -> LineEnd {
        self.end
    }

    /// Packets that enter from now on do so at `until` at the earliest, where they may not overtake each other.
    pub fn hold(&mut self, until: Time) {
        self.last_exit = self.last_exit.max(until + self.delay);
    }

    /// What every packet takes, where they all take the same.
    pub fn constant_delay(&self) -> Option<Span> {
        matches!(self.kind, Kind::Constant).then_some(self.delay)
    }

    /// The packet `place` places behind the next one to arrive, and when it does.
    pub fn packet_mut(&mut self, place: usize) -> Option<(Time, &mut Packet)> {
        self.packets.get_mut(place).map(|(time, packet)| (*time, packet))
    }

    /// Packets under way.
    pub fn packets(&self) -> usize {
        self.packets.len()
    }

    /// When the next packet arrives.
    #[inline]
    pub fn next_time(&self) -> Time {
        self.packets.front().map_or(Time::NEVER, |(time, _)| *time)
    }

    /// A packet enters; whether it is the next to arrive. Inlined, so that the packet is written where it goes to.
    #[inline(always)]
    pub fn push(&mut self, packet: Packet, now: Time) -> bool {
        let constant = matches!(self.kind, Kind::Constant);
        let exit = if constant { now + self.delay } else { self.exit_of(packet.bytes, now) };
        if self.packets.len() == self.packets.capacity() {
            self.packets.reserve(1);
        }
        self.packets.push_back((exit, packet));
        self.packets.len() == 1 || (!constant && self.overtake())
    }

    /// When a packet of `bytes` that enters `now` leaves, where that is not always after the same time.
    #[inline(never)]
    fn exit_of(&mut self, bytes: u32, now: Time) -> Time {
        let (exit, reorder) = match &mut self.kind {
            Kind::Constant | Kind::InOrder => (now + self.delay, false),
            Kind::Access(serializer) => (now.max(self.last_exit) + serializer.transmit(bytes), false),
            Kind::Jitter(jitter, random) => (now + self.delay + draw(jitter.shape, random), jitter.reorder),
        };
        let exit = if reorder { exit } else { exit.max(self.last_exit) };
        self.last_exit = exit;
        exit
    }

    /// The last packet goes before those that leave later; whether it is the next to arrive.
    #[inline(never)]
    fn overtake(&mut self) -> bool {
        let mut place = self.packets.len() - 1;
        while place > 0 && self.packets[place].0 < self.packets[place - 1].0 {
            self.packets.swap(place, place - 1);
            place -= 1;
        }
        place == 0
    }

    /// The packet that has arrived.
    #[inline]
    pub fn pop(&mut self) -> Packet {
        // Read where it lies: what is taken out is then moved as a whole.
        let (_, packet) = *self.packets.front().expect("a line is due only with a packet");
        self.packets.pop_front();
        packet
    }
}

fn draw(shape: Shape, random: &mut Stream) -> Span {
    match shape {
        Shape::Uniform(most) => Span::from_secs_f64(most.as_secs_f64() * random.uniform()),
        Shape::Normal(mean, deviation) => {
            Span::from_secs_f64(mean.as_secs_f64() + deviation.as_secs_f64() * random.normal())
        }
    }
}
