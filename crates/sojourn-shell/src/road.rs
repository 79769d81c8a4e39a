//! The loop that takes packets from one end, through the run, to the other.

use crate::buffers::{Buffers, MOST_BYTES};
use crate::bundle::{Bundle, PREFIX_BYTES};
use crate::end::End;
use crate::headers::{self, Headers};
use crate::timing::Timing;
use sojourn_core::{Span, Time};
use sojourn_scenario::{Direction, Program, Scenario};
use sojourn_sim::{Departure, Monitor, OutsidePacket, Session, Stopped, Times};
use sojourn_wire::{Interest, can_read, now, wait, wake_on_time};
use std::io::ErrorKind;

/// Packets that are read from an end before the other one has its turn.
const TURN: u64 = 64;
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

/// One way through the path, from the end of the same place to the other one: the flows that its packets belong to.
struct Way {
    flows: Vec<(usize, Program)>,
}

impl Way {
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

/// Runs `session` by the clock until its end, or until `goes_on` says no. `ends` are that of the program, which is at `side`
/// of the path, and that of everybody else. Of a wait for what is due the last part, `spin`, is spent looking, since a sleep may
/// end late.
///
/// # Errors
/// [`Failure`].
pub fn run(
    session: &mut Session<Scenario>,
    side: Side,
    ends: &mut [End; 2],
    spin: Span,
    goes_on: &mut dyn FnMut(&Session<Scenario>) -> bool,
) -> Result<Timing, Failure> {
    wake_on_time()?;
    let mut road = Road::new(session, side, ends, spin)?;
    let mut asked = Time::ZERO;
    while road.session.now() < road.session.end() {
        road.advance()?;
        if road.session.now().since(asked) >= PATIENCE {
            asked = road.session.now();
            if !goes_on(road.session) {
                break;
            }
        }
        let ready = road.sleep()?;
        for (place, is_ready) in ready.into_iter().enumerate() {
            if is_ready {
                road.take_in(place)?;
            }
        }
    }
    let timing = road.timing.with(&road.late, road.buffers.under_way());
    debug_assert!(timing.adds_up(), "{timing:?}");
    Ok(timing)
}

/// All that lies between the two ends.
struct Road<'a> {
    session: &'a mut Session<Scenario>,
    ends: &'a mut [End; 2],
    ways: [Way; 2],
    monitor: Monitor,
    /// Where an end is read to.
    incoming: Box<[u8]>,
    buffers: Buffers,
    departures: Vec<Departure>,
    /// What is waited for, those of the first end first.
    interests: Vec<Interest>,
    start: Time,
    spin: Span,
    late: Times,
    timing: Timing,
}

impl<'a> Road<'a> {
    fn new(
        session: &'a mut Session<Scenario>,
        side: Side,
        ends: &'a mut [End; 2],
        spin: Span,
    ) -> Result<Road<'a>, Failure> {
        let flows = session.outside();
        let way = |direction| {
            let taken = flows.iter().filter(|(_, way, _)| *way == direction);
            let way = Way { flows: taken.map(|(flow, _, program)| (*flow, program.clone())).collect() };
            if way.rest().is_some() { Ok(way) } else { Err(Failure::NoGroup(direction)) }
        };
        let [sent, received] = match side {
            Side::Sender => [Direction::Forward, Direction::Reverse],
            Side::Receiver => [Direction::Reverse, Direction::Forward],
        };
        let ways = [way(sent)?, way(received)?];
        Ok(Road {
            session,
            ends,
            ways,
            monitor: Monitor::default(),
            incoming: vec![0; MOST_BYTES].into(),
            buffers: Buffers::default(),
            departures: Vec::new(),
            interests: Vec::new(),
            start: now(),
            spin,
            late: Times::default(),
            timing: Timing::default(),
        })
    }

    /// The present of the clock, as the session counts time.
    fn clock(&self) -> Time {
        Time::ZERO + now().since(self.start)
    }

    /// Sleeps until something comes or the next event is near; which ends have something to read.
    fn sleep(&mut self) -> Result<[bool; 2], Failure> {
        let due = self.session.next_event().min(self.session.end());
        let slept = self.clock();
        let sleep = due.since(slept).min(PATIENCE);
        self.interests.clear();
        self.ends[0].add_to(&mut self.interests);
        let of_first = self.interests.len();
        self.ends[1].add_to(&mut self.interests);
        match wait(&mut self.interests, if sleep > self.spin { sleep - self.spin } else { Span::ZERO }) {
            // A signal, of which the caller hears when it is asked.
            Err(error) if error.kind() == ErrorKind::Interrupted => false,
            ready => ready?,
        };
        let stalled = self.clock().since(slept + sleep);
        self.timing.stalled_ms = self.timing.stalled_ms.max(stalled.as_millis_f64());
        let (first, second) = self.interests.split_at(of_first);
        Ok([first, second].map(|interests| interests.iter().any(can_read)))
    }

    /// Brings the session up to the clock, and sends off what has reached the end of its way.
    fn advance(&mut self) -> Result<(), Failure> {
        self.session.advance(self.clock(), &self.monitor)?;
        for place in 0..self.ways.len() {
            let mut departures = std::mem::take(&mut self.departures);
            let way = &self.ways[place];
            for &(flow, _) in &way.flows {
                self.session.take_departures(flow, &mut departures);
            }
            if way.flows.len() > 1 {
                departures.sort_by_key(|departure| departure.at);
            }
            departures.drain(..).for_each(|departure| self.depart(1 - place, departure));
            self.departures = departures;
        }
        Ok(())
    }

    /// Sends off a packet to the end `to`, or counts it as lost.
    fn depart(&mut self, to: usize, departure: Departure) {
        match departure.arrived {
            None => self.timing.lost += 1,
            Some((ecn, dscp)) => {
                let packet = self.buffers.packet(departure.token);
                headers::write(&mut packet[PREFIX_BYTES..], ecn, dscp);
                let written = self.ends[to].write(packet).is_ok();
                self.timing.packets_out += u64::from(written);
                self.timing.refused += u64::from(!written);
                self.late.record(self.clock().since(departure.at));
            }
        }
        self.buffers.release(departure.token);
    }

    /// Reads what has come to an end, and has it enter the network at the time at which it is read.
    fn take_in(&mut self, place: usize) -> Result<(), Failure> {
        let before = self.timing.packets_in;
        while self.timing.packets_in < before + TURN {
            let bytes = match self.ends[place].read(&mut self.incoming) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            };
            self.advance()?;
            self.enter(place, bytes);
        }
        Ok(())
    }

    /// Has the packets enter the network that came to an end in one piece of `bytes`.
    fn enter(&mut self, place: usize, bytes: usize) {
        let bundle = Bundle::new(&self.incoming[..bytes]);
        let Some((bundle, headers)) = bundle.and_then(|bundle| Some((bundle, headers::read(bundle.whole())?))) else {
            self.timing.unread += 1;
            return;
        };
        let Some(flow) = self.ways[place].flow(&headers) else { unreachable!("some group names nothing") };
        let header_bytes = bundle.whole().len() as u32 - headers.payload_bytes;
        for index in 0..bundle.count() {
            let token = self.buffers.keep(&bundle, index);
            let bytes = (self.buffers.packet(token).len() - PREFIX_BYTES) as u32;
            self.timing.packets_in += 1;
            let packet = OutsidePacket {
                token,
                bytes,
                payload_bytes: bytes - header_bytes,
                key: headers.key,
                ecn: headers.ecn,
                dscp: headers.dscp,
                travels_back: false,
            };
            self.session.enter(flow, &packet);
        }
    }
}
