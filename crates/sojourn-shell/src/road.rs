//! The loop that takes packets from one device, through the run, to the other.

use crate::buffers::Buffers;
use crate::end::End;
use crate::headers::{self, Headers};
use crate::timing::Timing;
use sojourn_core::{Span, Time};
use sojourn_scenario::{Direction, Program, Scenario};
use sojourn_sim::{Departure, Monitor, OutsidePacket, Session, Stopped, Times};
use sojourn_wire::{can_read, now, readable, wait, wake_on_time};
use std::io::ErrorKind;

/// Packets that are read from a device before the other one and what is due have their turn.
const TURN: usize = 64;
/// Sleeping so long ends too late as often as not: the last of a wait is spent looking.
const SPIN: Span = Span::from_micros(200);
/// Longest sleep, after which the caller is asked whether to go on.
const PATIENCE: Span = Span::from_millis(50);

/// Where the program is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Where packets come from that travel forward.
    Sender,
    /// Where they go to.
    Receiver,
}

/// Why a run ended early.
#[derive(Debug)]
pub enum Failure {
    /// The simulation stopped.
    Stopped(Stopped),
    /// No group takes the packets that travel this way.
    NoGroup(Direction),
    /// A device failed.
    Device(std::io::Error),
}

impl From<Stopped> for Failure {
    fn from(stopped: Stopped) -> Failure {
        Failure::Stopped(stopped)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::Device(error)
    }
}

/// One way through the path: a device, and the flows that its packets belong to.
struct Way<'a> {
    from: &'a End,
    to: &'a End,
    flows: Vec<(usize, Program)>,
}

impl Way<'_> {
    /// The flow of a packet: that of the first group that names something and has all of it, else of the group that names
    /// nothing.
    fn flow(&self, headers: &Headers) -> Option<usize> {
        let ports = [headers.key.source_port, headers.key.destination_port];
        let takes = |program: &Program| program.takes(ports, headers.addresses, headers.dscp);
        let named = self.flows.iter().find(|(_, program)| program.names() && takes(program));
        named.map(|&(flow, _)| flow).or_else(|| self.rest())
    }

    /// The flow of the group that names nothing.
    fn rest(&self) -> Option<usize> {
        self.flows.iter().find(|(_, program)| !program.names()).map(|&(flow, _)| flow)
    }
}

/// Runs `session` by the clock until its end, or until `goes_on` says no. `ends` are the device of the program, which is at `side`
/// of the path, and that of everybody else.
///
/// # Errors
/// [`Failure`].
pub fn run(
    session: &mut Session<Scenario>,
    side: Side,
    ends: &mut [End; 2],
    goes_on: &mut dyn FnMut(&Session<Scenario>) -> bool,
) -> Result<Timing, Failure> {
    wake_on_time()?;
    let mut road = Road::new(session, side, &*ends)?;
    let mut asked = Time::ZERO;
    while road.session.now() < road.session.end() {
        road.advance()?;
        if road.session.now().since(asked) >= PATIENCE {
            asked = road.session.now();
            if !goes_on(road.session) {
                break;
            }
        }
        let due = road.session.next_event().min(road.session.end());
        let slept = road.clock();
        let sleep = due.since(slept).min(PATIENCE);
        let mut interests = [readable(road.ways[0].from), readable(road.ways[1].from)];
        match wait(&mut interests, if sleep > SPIN { sleep - SPIN } else { Span::ZERO }) {
            // A signal, of which the caller hears when it is asked.
            Err(error) if error.kind() == ErrorKind::Interrupted => false,
            ready => ready?,
        };
        let stalled = road.clock().since(slept + sleep);
        road.timing.stalled_ms = road.timing.stalled_ms.max(stalled.as_millis_f64());
        for (index, interest) in interests.iter().enumerate() {
            if can_read(interest) {
                road.take_in(index)?;
            }
        }
    }
    let timing = road.timing.with(&road.late, road.buffers.under_way());
    debug_assert!(timing.adds_up(), "{timing:?}");
    Ok(timing)
}

/// All that lies between the two devices.
struct Road<'a> {
    session: &'a mut Session<Scenario>,
    ways: [Way<'a>; 2],
    monitor: Monitor,
    buffers: Buffers,
    departures: Vec<Departure>,
    start: Time,
    late: Times,
    timing: Timing,
}

impl<'a> Road<'a> {
    fn new(
        session: &'a mut Session<Scenario>,
        side: Side,
        [program, others]: &'a [End; 2],
    ) -> Result<Road<'a>, Failure> {
        let flows = session.outside();
        let way = |from: &'a End, to: &'a End, direction| {
            let taken = flows.iter().filter(|(_, way, _)| *way == direction);
            let way = Way { from, to, flows: taken.map(|(flow, _, program)| (*flow, program.clone())).collect() };
            if way.rest().is_some() { Ok(way) } else { Err(Failure::NoGroup(direction)) }
        };
        let [sent, received] = match side {
            Side::Sender => [Direction::Forward, Direction::Reverse],
            Side::Receiver => [Direction::Reverse, Direction::Forward],
        };
        let ways = [way(program, others, sent)?, way(others, program, received)?];
        Ok(Road {
            session,
            ways,
            monitor: Monitor::default(),
            buffers: Buffers::default(),
            departures: Vec::new(),
            start: now(),
            late: Times::default(),
            timing: Timing::default(),
        })
    }

    /// The present of the clock, as the session counts time.
    fn clock(&self) -> Time {
        Time::ZERO + now().since(self.start)
    }

    /// Brings the session up to the clock, and sends off what has reached the end of its way.
    fn advance(&mut self) -> Result<(), Failure> {
        self.session.advance(self.clock(), &self.monitor)?;
        for index in 0..self.ways.len() {
            for place in 0..self.ways[index].flows.len() {
                let flow = self.ways[index].flows[place].0;
                self.session.take_departures(flow, &mut self.departures);
                let mut departures = std::mem::take(&mut self.departures);
                departures.drain(..).for_each(|departure| self.depart(index, departure));
                self.departures = departures;
            }
        }
        Ok(())
    }

    fn depart(&mut self, index: usize, departure: Departure) {
        match departure.arrived {
            None => self.timing.lost += 1,
            Some((ecn, dscp)) => {
                let packet = self.buffers.packet(departure.token);
                headers::write(packet, ecn, dscp);
                let written = self.ways[index].to.write(packet).is_ok();
                self.timing.packets_out += u64::from(written);
                self.timing.refused += u64::from(!written);
                self.late.record(self.clock().since(departure.at));
            }
        }
        self.buffers.release(departure.token);
    }

    /// Reads what has come to a device, and has it enter the network at the time at which it is read.
    fn take_in(&mut self, index: usize) -> Result<(), Failure> {
        for _ in 0..TURN {
            let bytes = match self.ways[index].from.read(self.buffers.incoming()) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            };
            self.advance()?;
            let Some(headers) = headers::read(&self.buffers.incoming()[..bytes]) else {
                self.timing.unread += 1;
                continue;
            };
            let Some(flow) = self.ways[index].flow(&headers) else { unreachable!("some group names nothing") };
            self.timing.packets_in += 1;
            let token = self.buffers.keep(bytes);
            let packet = OutsidePacket {
                token,
                bytes: bytes as u32,
                payload_bytes: headers.payload_bytes,
                key: headers.key,
                ecn: headers.ecn,
                dscp: headers.dscp,
                travels_back: false,
            };
            self.session.enter(flow, &packet);
        }
        Ok(())
    }
}
