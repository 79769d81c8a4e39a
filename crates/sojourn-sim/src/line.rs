//! Delay lines: packets under way, in order, with one pending event for all of them.

use crate::Packet;
use sojourn_core::{Rate, Serializer, Span, Stream, Time};
use sojourn_scenario::{Direction, Jitter, Shape};

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

/// What a line does to packets before the constant delay. Boxed where that takes some room, so that a plain line, of which there
/// may be one for each flow, fits into a cache line.
#[derive(Debug)]
enum Kind {
    Constant,
    /// No packet leaves before the one that entered before it, nor before it is told.
    InOrder,
    /// An access link with an endless buffer.
    Access(Box<Serializer>),
    Jitter(Box<(Jitter, Stream)>),
}

/// A line without its packets.
#[derive(Debug)]
pub struct Line {
    end: LineEnd,
    delay: Span,
    kind: Kind,
    /// When the last packet that entered leaves.
    last_exit: Time,
    /// Where its packets are: the next one to leave and the last one.
    first: u32,
    last: u32,
    packets: u32,
}

/// All lines, and their packets in one store: what lies idle in one line is of use to the others.
#[derive(Debug)]
pub struct Lines {
    lines: Vec<Line>,
    places: Vec<Place>,
    /// Places without a packet, in a row as in a line: the packets of the only line, or of the busiest, keep following each
    /// other in memory if what was given up first is taken first.
    first_free: u32,
    last_free: u32,
}

/// A packet on its way.
#[derive(Debug)]
struct Place {
    exit: Time,
    /// The neighbours in the line: who leaves later, and who leaves before.
    behind: u32,
    ahead: u32,
    packet: Packet,
}

/// No place.
const NONE: u32 = u32::MAX;

impl Line {
    /// A line with a constant delay.
    pub fn constant(delay: Span, end: LineEnd) -> Line {
        Line { end, delay, kind: Kind::Constant, last_exit: Time::ZERO, first: NONE, last: NONE, packets: 0 }
    }

    /// A flow's own access link.
    pub fn access(rate: Rate, end: LineEnd) -> Line {
        Line { kind: Kind::Access(Box::new(Serializer::new(rate))), ..Line::constant(Span::ZERO, end) }
    }

    /// A line whose packets may be [held](Lines::hold).
    pub fn in_order(delay: Span, end: LineEnd) -> Line {
        Line { kind: Kind::InOrder, ..Line::constant(delay, end) }
    }

    /// A line with random additional delay.
    pub fn jittery(delay: Span, jitter: Jitter, random: Stream, end: LineEnd) -> Line {
        Line { kind: Kind::Jitter(Box::new((jitter, random))), ..Line::constant(delay, end) }
    }

    /// What every packet takes, where they all take the same.
    pub fn constant_delay(&self) -> Option<Span> {
        matches!(self.kind, Kind::Constant).then_some(self.delay)
    }

    /// When a packet of `bytes` that enters `now` leaves, where that is not always after the same time.
    #[inline(never)]
    fn exit_of(&mut self, bytes: u32, now: Time) -> Time {
        let (exit, reorder) = match &mut self.kind {
            Kind::Constant | Kind::InOrder => (now + self.delay, false),
            Kind::Access(serializer) => (now.max(self.last_exit) + serializer.transmit(bytes), false),
            Kind::Jitter(drawn) => {
                let (jitter, random) = &mut **drawn;
                (now + self.delay + draw(jitter.shape, random), jitter.reorder)
            }
        };
        let exit = if reorder { exit } else { exit.max(self.last_exit) };
        self.last_exit = exit;
        exit
    }
}

impl Lines {
    /// These lines, empty.
    pub fn new(lines: Vec<Line>) -> Lines {
        Lines { lines, places: Vec::new(), first_free: NONE, last_free: NONE }
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Where packets go at the end of `line`.
    #[inline]
    pub fn end(&self, line: usize) -> LineEnd {
        self.lines[line].end
    }

    /// Packets that enter `line` from now on do so at `until` at the earliest, where they may not overtake each other.
    pub fn hold(&mut self, line: usize, until: Time) {
        let line = &mut self.lines[line];
        line.last_exit = line.last_exit.max(until + line.delay);
    }

    /// Packets under way.
    pub fn packets(&self) -> usize {
        self.lines.iter().map(|line| line.packets as usize).sum()
    }

    /// When the next packet of `line` arrives.
    #[inline]
    pub fn next_time(&self, line: usize) -> Time {
        self.places.get(self.lines[line].first as usize).map_or(Time::NEVER, |place| place.exit)
    }

    /// Lets `visit` see the packets of `line` from the next one on, and change what they bear, until it has seen enough.
    pub fn visit(&mut self, line: usize, mut visit: impl FnMut(Time, &mut Packet) -> bool) {
        let mut place = self.lines[line].first;
        while let Some(Place { exit, behind, packet, .. }) = self.places.get_mut(place as usize) {
            if !visit(*exit, packet) {
                return;
            }
            place = *behind;
        }
    }

    /// A packet enters `line`; whether it is the next to arrive.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    pub fn push(&mut self, line: usize, packet: &Packet, now: Time) -> bool {
        let line = &mut self.lines[line];
        let constant = matches!(line.kind, Kind::Constant);
        let exit = if constant { now + line.delay } else { line.exit_of(packet.bytes, now) };
        let ahead = line.last;
        let new = match self.places.get_mut(self.first_free as usize) {
            Some(place) => {
                let new = std::mem::replace(&mut self.first_free, place.behind);
                *place = Place { exit, behind: NONE, ahead, packet: *packet };
                new
            }
            None => {
                self.places.push(Place { exit, behind: NONE, ahead, packet: *packet });
                self.places.len() as u32 - 1
            }
        };
        line.packets += 1;
        line.last = new;
        match self.places.get_mut(ahead as usize) {
            None => {
                line.first = new;
                return true;
            }
            Some(place) => place.behind = new,
        }
        !constant && Lines::overtake(line, &mut self.places, new)
    }

    /// The last packet goes before those that leave later; whether it is the next to arrive.
    #[inline(never)]
    fn overtake(line: &mut Line, places: &mut [Place], new: u32) -> bool {
        let exit = places[new as usize].exit;
        let mut ahead = places[new as usize].ahead;
        let mut behind = NONE;
        while ahead != NONE && exit < places[ahead as usize].exit {
            behind = ahead;
            ahead = places[ahead as usize].ahead;
        }
        if behind == NONE {
            return false;
        }
        // Out of the last place, and in before `behind`.
        line.last = places[new as usize].ahead;
        places[line.last as usize].behind = NONE;
        places[behind as usize].ahead = new;
        (places[new as usize].ahead, places[new as usize].behind) = (ahead, behind);
        match places.get_mut(ahead as usize) {
            Some(place) => place.behind = new,
            None => line.first = new,
        }
        ahead == NONE
    }

    /// The packet of `line` that arrives next; there must be one.
    #[inline]
    pub fn first(&self, line: usize) -> &Packet {
        &self.places[self.lines[line].first as usize].packet
    }

    /// The packet of `line` that has arrived is taken off it; when the next one arrives.
    #[inline]
    pub fn remove_first(&mut self, line: usize) -> Time {
        let line = &mut self.lines[line];
        let first = line.first;
        let behind = std::mem::replace(&mut self.places[first as usize].behind, NONE);
        match self.first_free {
            NONE => self.first_free = first,
            _ => self.places[self.last_free as usize].behind = first,
        }
        self.last_free = first;
        line.packets -= 1;
        line.first = behind;
        match self.places.get_mut(behind as usize) {
            Some(place) => {
                place.ahead = NONE;
                place.exit
            }
            None => {
                line.last = NONE;
                Time::NEVER
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sojourn_queue::{Dscp, Ecn, FlowKey};
    use sojourn_transport::{Segment, SegmentKind};
    use std::collections::VecDeque;

    fn packet(number: u32) -> Packet {
        let body = Segment::new(SegmentKind::Data, number, Time::ZERO);
        let (key, dscp) = (FlowKey::default(), Dscp::DEFAULT);
        Packet { flow: 0, bytes: 1500, enqueued: Time::ZERO, key, ecn: Ecn::NotEct, dscp, class: 0, body }
    }

    #[test]
    fn a_line_fits_into_a_cache_line() {
        assert_eq!(size_of::<Line>(), 64);
    }

    proptest! {
        /// Lines keep their packets apart and in order, at whatever instants these come and go; one that may overtake does
        /// so only where it leaves earlier.
        #[test]
        fn packets_leave_each_line_in_order(steps in prop::collection::vec((0usize..4, 0u64..400, any::<bool>()), 1..300)) {
            let (delay, end) = (Span::from_nanos(300), LineEnd::Endpoint);
            let jitter = |reorder| Jitter { shape: Shape::Uniform(Span::from_micros(1)), reorder };
            let mut lines = Lines::new(vec![
                Line::constant(delay, end),
                Line::jittery(delay, jitter(true), Stream::new(1, "line"), end),
                Line::in_order(delay, end),
                Line::jittery(delay, jitter(false), Stream::new(2, "line"), end),
            ]);
            let mut model = vec![VecDeque::<(Time, u32)>::new(); 4];
            let (mut now, mut number) = (Time::ZERO, 0);
            for (line, later, comes) in steps {
                now += Span::from_nanos(later);
                if comes {
                    let is_next = lines.push(line, &packet(number), now);
                    // When it leaves is read off the line.
                    let mut exit = Time::NEVER;
                    lines.visit(line, |time, packet| {
                        exit = if packet.body.number == number { time } else { exit };
                        exit == Time::NEVER
                    });
                    prop_assert!(exit >= now + delay && (line > 0 || exit == now + delay));
                    let place = model[line].partition_point(|&(time, _)| time <= exit);
                    prop_assert!(line == 1 || place == model[line].len());
                    model[line].insert(place, (exit, number));
                    prop_assert_eq!(is_next, place == 0);
                    number += 1;
                } else if let Some((_, expected)) = model[line].pop_front() {
                    prop_assert_eq!(lines.first(line).body.number, expected);
                    lines.remove_first(line);
                }
                for (line, model) in model.iter().enumerate() {
                    prop_assert_eq!(lines.next_time(line), model.front().map_or(Time::NEVER, |(time, _)| *time));
                }
                prop_assert_eq!(lines.packets(), model.iter().map(VecDeque::len).sum::<usize>());
            }
        }
    }
}
