//! Delay lines: packets under way, in order, with one pending event for all of them.

use crate::Packet;
use sojourn_core::{Optional, Rate, Serializer, Span, Stream, Time, make_room};
use sojourn_scenario::{Direction, Jitter, Shape};

/// Where a line ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LineEnd {
    /// At the flow's endpoint.
    Endpoint,
    /// At programs outside the simulation.
    Outside,
    /// At the network's entrance for this direction of travel.
    Network(Direction),
    /// Where packets go that have crossed this link.
    Beyond(usize),
    /// At this link, or where there is none at the flow's own line: behind several links, all packets of which go there.
    Behind(Optional, Direction),
}

/// What a line does to packets before the constant delay. Boxed where that takes some room, so that a plain line, of which there
/// may be one for each flow, fits into a cache line.
#[derive(Debug)]
enum Kind {
    Constant,
    /// Constant until a change. Packets overtake others where it becomes shorter, as when a route changes.
    Changing,
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
    /// Where its packets are, where it has any: the next one to leave and the last one.
    first: u32,
    last: u32,
    packets: u32,
}

/// All lines, and their packets in one store: what lies idle in one line is of use to the others.
///
/// A line has its packets in rows of places, one behind the other: the next packet mostly lies beside the one that leaves, however
/// many lines there are. What a line gives up is taken again first, by whichever line needs it.
#[derive(Debug)]
pub struct Lines {
    lines: Vec<Line>,
    places: Vec<Place>,
    rows: Vec<Row>,
    /// The first place of the row that was given up last, where any is free.
    free: u32,
}

/// Places beside each other, all for the packets of one line.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// The first place of the row behind it, where there is one: of those of its line, or of the free ones.
    behind: u32,
    /// Of those of its line, the last place of the row before it, where there is one; of the free ones, the first.
    before: u32,
    is_free: bool,
}

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
struct Place {
    exit: Time,
    packet: Packet,
}

/// Places in a row.
const ROW: u32 = 16;
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

    /// A line whose delay may be [changed](Lines::change).
    pub fn changing(delay: Span, end: LineEnd) -> Line {
        Line { kind: Kind::Changing, ..Line::constant(delay, end) }
    }

    /// A line with random additional delay.
    pub fn jittery(delay: Span, jitter: Jitter, random: Stream, end: LineEnd) -> Line {
        Line { kind: Kind::Jitter(Box::new((jitter, random))), ..Line::constant(delay, end) }
    }

    /// The delay, where it is the same for all packets of a run.
    pub fn always(&self) -> Option<Span> {
        matches!(self.kind, Kind::Constant).then_some(self.delay)
    }

    /// When a packet of `bytes` that enters `now` leaves, where that is not always after the same time.
    #[inline(never)]
    fn exit_of(&mut self, bytes: u32, now: Time) -> Time {
        let (exit, reorder) = match &mut self.kind {
            Kind::Constant | Kind::InOrder => (now + self.delay, false),
            Kind::Changing => (now + self.delay, true),
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
        Lines { lines, places: Vec::new(), rows: Vec::new(), free: NONE }
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

    /// Packets that enter `line` from now on have this delay and jitter. A jitter that has begun goes on with its random
    /// numbers, and `fresh` makes those of one that begins.
    pub fn change(&mut self, line: usize, delay: Span, jitter: Option<Jitter>, fresh: impl FnOnce() -> Stream) {
        let line = &mut self.lines[line];
        line.delay = delay;
        let Some(jitter) = jitter else { return };
        match &mut line.kind {
            Kind::Jitter(drawn) => drawn.0 = jitter,
            kind => *kind = Kind::Jitter(Box::new((jitter, fresh()))),
        }
    }

    /// Packets under way.
    pub fn packets(&self) -> usize {
        self.lines.iter().map(|line| line.packets as usize).sum()
    }

    /// When the next packet of `line` arrives.
    #[inline]
    pub fn next_time(&self, line: usize) -> Time {
        let line = &self.lines[line];
        if line.packets == 0 { Time::NEVER } else { self.places[line.first as usize].exit }
    }

    /// A packet enters `line`; whether it is the next to arrive.
    #[inline(always)]
    pub fn push(&mut self, line: usize, packet: &Packet, now: Time) -> bool {
        let end = &mut self.lines[line];
        let constant = matches!(end.kind, Kind::Constant);
        let exit = if constant { now + end.delay } else { end.exit_of(packet.bytes, now) };
        let new = end.last.wrapping_add(1);
        if end.packets == 0 || new.is_multiple_of(ROW) {
            return self.push_row(line, &Place { exit, packet: *packet }, constant);
        }
        end.packets += 1;
        end.last = new;
        self.places[new as usize] = Place { exit, packet: *packet };
        !constant && self.overtake(line)
    }

    /// The same into another row than the one before.
    #[inline(never)]
    fn push_row(&mut self, line: usize, last: &Place, constant: bool) -> bool {
        let Line { packets, last: before, .. } = self.lines[line];
        // The row beside the one before, where it is free: a processor that reads ahead then has what comes next.
        let beside = self.rows.get((before / ROW) as usize + 1).is_some_and(|row| row.is_free);
        let new = if packets > 0 && beside { before + 1 } else { self.free };
        let new = if new == NONE { self.add_row(last) } else { self.take_row(new, last) };
        let line_end = &mut self.lines[line];
        if packets == 0 {
            line_end.first = new;
        } else {
            self.rows[(new / ROW) as usize].before = before;
            self.rows[(before / ROW) as usize].behind = new;
        }
        line_end.last = new;
        line_end.packets += 1;
        packets == 0 || (!constant && self.overtake(line))
    }

    /// A row more than there were, which begins with `first`; where it begins.
    fn add_row(&mut self, first: &Place) -> u32 {
        let new = self.places.len() as u32;
        if self.places.capacity() < (new + ROW) as usize {
            make_room(&mut self.places, new.max(ROW) as usize);
        }
        self.places.resize((new + ROW) as usize, *first);
        self.rows.push(Row { behind: NONE, before: NONE, is_free: false });
        new
    }

    /// The free row at `new` is free no more, and begins with `first`; where it begins.
    fn take_row(&mut self, new: u32, first: &Place) -> u32 {
        let row = &mut self.rows[(new / ROW) as usize];
        row.is_free = false;
        let Row { behind, before, .. } = *row;
        match before {
            NONE => self.free = behind,
            before => self.rows[(before / ROW) as usize].behind = behind,
        }
        if behind != NONE {
            self.rows[(behind / ROW) as usize].before = before;
        }
        self.places[new as usize] = *first;
        new
    }

    /// The row at `place` is free.
    fn give_row(&mut self, place: u32) {
        let freed = place - place % ROW;
        self.rows[(freed / ROW) as usize] = Row { behind: self.free, before: NONE, is_free: true };
        if self.free != NONE {
            self.rows[(self.free / ROW) as usize].before = freed;
        }
        self.free = freed;
    }

    /// The last packet goes before those that leave later; whether it is the next to arrive.
    #[inline(never)]
    fn overtake(&mut self, line: usize) -> bool {
        let Line { first, mut last, .. } = self.lines[line];
        while last != first {
            let before = if last.is_multiple_of(ROW) { self.rows[(last / ROW) as usize].before } else { last - 1 };
            if self.places[before as usize].exit <= self.places[last as usize].exit {
                return false;
            }
            self.places.swap(before as usize, last as usize);
            last = before;
        }
        true
    }

    /// The packet of `line` that arrives next; there must be one.
    #[inline]
    pub fn first(&self, line: usize) -> &Packet {
        &self.places[self.lines[line].first as usize].packet
    }

    /// The packet of `line` that has arrived is taken off it; when the next one arrives.
    #[inline]
    pub fn remove_first(&mut self, line: usize) -> Time {
        let front = &mut self.lines[line];
        let next = front.first + 1;
        front.packets -= 1;
        if front.packets == 0 || next.is_multiple_of(ROW) {
            return self.leave_row(line);
        }
        front.first = next;
        self.places[next as usize].exit
    }

    /// The same where its row is free then.
    #[inline(never)]
    fn leave_row(&mut self, line: usize) -> Time {
        let first = self.lines[line].first;
        let next = self.rows[(first / ROW) as usize].behind;
        self.give_row(first);
        if self.lines[line].packets == 0 {
            return Time::NEVER;
        }
        self.lines[line].first = next;
        self.places[next as usize].exit
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
    use sojourn_transport::{Segment, SegmentKind};
    use std::collections::VecDeque;

    fn packet(number: u32) -> Packet {
        let body = Segment::new(SegmentKind::Data, number, Time::ZERO);
        Packet::new(0, 1500, body)
    }

    /// When packet `number` leaves `line`.
    fn exit(lines: &Lines, line: usize, number: u32) -> Time {
        let mut place = lines.lines[line].first;
        while lines.places[place as usize].packet.body.number != number {
            let next = place + 1;
            place = if next.is_multiple_of(ROW) { lines.rows[(place / ROW) as usize].behind } else { next };
        }
        lines.places[place as usize].exit
    }

    #[test]
    fn a_line_fits_into_a_cache_line() {
        assert_eq!(size_of::<Line>(), 64);
    }

    #[test]
    fn packets_overtake_where_a_line_becomes_shorter() {
        let mut lines = Lines::new(vec![Line::changing(Span::from_nanos(300), LineEnd::Endpoint)]);
        let no_stream = || unreachable!("no jitter begins");
        assert!(lines.push(0, &packet(0), Time::ZERO));
        lines.change(0, Span::from_nanos(100), None, no_stream);
        assert!(lines.push(0, &packet(1), Time::from_nanos(150)));
        assert!(!lines.push(0, &packet(2), Time::from_nanos(250)));
        lines.change(0, Span::from_nanos(400), None, no_stream);
        assert!(!lines.push(0, &packet(3), Time::from_nanos(250)));
        let arrivals = [(1, 250), (0, 300), (2, 350), (3, 650)];
        for (number, time) in arrivals {
            assert_eq!((lines.first(0).body.number, lines.next_time(0).as_nanos()), (number, time));
            lines.remove_first(0);
        }
    }

    proptest! {
        /// Lines keep their packets apart and in order, at whatever instants these come and go; one that may overtake does
        /// so only where it leaves earlier.
        #[test]
        fn packets_leave_each_line_in_order(steps in prop::collection::vec((0usize..4, 0u64..400, any::<bool>()), 1..600)) {
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
                    let exit = exit(&lines, line, number);
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
