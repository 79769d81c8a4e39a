//! Carries the datagrams of connections through a run.

use crate::{Connection, Endpoint};
use sojourn_core::{Span, Time};
use sojourn_queue::FlowKey;
use sojourn_scenario::{Group, Scenario, Traffic};
use sojourn_sim::{Departure, Monitor, OutsidePacket, Session, Stopped};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The most that a datagram may have.
const MOST_BYTES: usize = 65_507;
/// So many calls at one instant are more than any stack has to do there.
const RESTLESS: u32 = 100_000;
/// Events of a simulation happen before the instant up to which it is taken.
const INSTANT: Span = Span::from_nanos(1);

/// Why connections were not carried to the end.
#[derive(Debug)]
pub enum Failure {
    /// The simulation stopped.
    Stopped(Stopped),
    /// So many connections for so many flows of stacks.
    Flows(usize, usize),
    /// A stack did what none may do: which connection, when, and what.
    Stack(usize, Time, String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Stopped(why) => write!(f, "the simulation stopped: {why:?}"),
            Failure::Flows(connections, flows) => write!(
                f,
                "{connections} connections need as many flows of groups with the key stack; the scenario has {flows}"
            ),
            Failure::Stack(connection, at, what) => {
                write!(f, "connection {connection} at {:.6} s: {what}", at.since(Time::ZERO).as_secs_f64())
            }
        }
    }
}

impl From<Stopped> for Failure {
    fn from(stopped: Stopped) -> Failure {
        Failure::Stopped(stopped)
    }
}

/// Takes `session` from its beginning to its end, with one of `connections` on each of its flows of stacks, in their order.
///
/// # Errors
/// [`Failure`]; the session is where it was then.
pub fn run(session: &mut Session<Scenario>, connections: Vec<Connection>, monitor: &Monitor) -> Result<(), Failure> {
    let flows: Vec<_> =
        session.stacks().into_iter().map(|(flow, group, start)| (flow, asked_bytes(group), start)).collect();
    if flows.len() != connections.len() {
        return Err(Failure::Flows(connections.len(), flows.len()));
    }
    let ends = connections.into_iter().zip(flows).enumerate();
    let ends = ends.flat_map(|(number, (connection, (flow, bytes, start)))| {
        let (Connection { sender, receiver }, key) = (connection, session.key(flow));
        let written_bytes = bytes.unwrap_or(u64::MAX);
        let sender = End { start, written_bytes, ..End::new(number, sender, flow, key) };
        [sender, End::new(number, receiver, flow, key.reversed())]
    });
    let ends = ends.collect();
    Carrier { session, ends, datagrams: Vec::new(), free: Vec::new(), room: Vec::new() }.run(monitor)
}

/// What the application of a connection of `group` writes at first; none where it writes without end.
pub fn asked_bytes(group: &Group) -> Option<u64> {
    match &group.traffic {
        Traffic::Bulk(bulk) => bulk.size_bytes,
        Traffic::Messages(messages) => Some(messages.size_bytes),
        _ => None,
    }
}

/// One end of a connection, and the flow that carries what it sends.
struct End {
    connection: usize,
    stack: Box<dyn Endpoint>,
    flow: usize,
    key: FlowKey,
    /// When its flow starts: it is not woken before.
    start: Time,
    delivered_bytes: u64,
    /// What its application has written, of a receiver all that there is.
    written_bytes: u64,
    /// Datagrams of the connection that are under way, of a sender.
    flying: u32,
    /// Calls at the present instant.
    calls: u32,
    called_at: Time,
}

impl End {
    fn new(connection: usize, stack: Box<dyn Endpoint>, flow: usize, key: FlowKey) -> End {
        let (start, called_at) = (Time::ZERO, Time::ZERO);
        let (delivered_bytes, written_bytes, flying, calls) = (0, u64::MAX, 0, 0);
        End { connection, stack, flow, key, start, delivered_bytes, written_bytes, flying, calls, called_at }
    }

    fn next_wake(&self) -> Time {
        self.stack.next_wake().max(self.start)
    }

    fn fault(&self, now: Time, what: impl Into<String>) -> Failure {
        Failure::Stack(self.connection, now, what.into())
    }

    /// Has the stack do something; what it panics with is its fault.
    fn call<T>(&mut self, now: Time, work: impl FnOnce(&mut dyn Endpoint) -> T) -> Result<T, Failure> {
        self.calls = if self.called_at == now { self.calls + 1 } else { 0 };
        self.called_at = now;
        if self.calls > RESTLESS {
            return Err(self.fault(now, format!("it does not come to rest: over {RESTLESS} calls at one instant")));
        }
        let stack = &mut *self.stack;
        catch_unwind(AssertUnwindSafe(|| work(stack))).map_err(|reason| {
            let said = reason.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| reason.downcast_ref::<&str>().copied()).unwrap_or("without a word");
            Failure::Stack(self.connection, now, format!("it panicked: {said}"))
        })
    }
}

/// Whether something can still happen to a connection, or all has arrived: one that waits for nothing is at fault, and a record
/// would take it for slow.
fn alive(ends: &[End]) -> Result<(), Failure> {
    let [sender, receiver] = ends else { unreachable!("a connection has two ends") };
    let (written_bytes, delivered_bytes) = (sender.written_bytes, receiver.delivered_bytes);
    let waits = ends.iter().any(|end| end.stack.next_wake() < Time::NEVER) || sender.flying > 0;
    if waits || delivered_bytes >= written_bytes {
        return Ok(());
    }
    let written = if written_bytes == u64::MAX {
        "bytes of a transfer without end".into()
    } else {
        format!("of {written_bytes} bytes")
    };
    let said = format!("both its ends wait for nothing; {delivered_bytes} {written} have arrived");
    Err(sender.fault(sender.called_at.max(receiver.called_at), said))
}

struct Carrier<'a> {
    session: &'a mut Session<Scenario>,
    /// Both ends of each connection, one beside the other.
    ends: Vec<End>,
    /// The bytes under way, by token.
    datagrams: Vec<Vec<u8>>,
    free: Vec<u32>,
    room: Vec<u8>,
}

impl Carrier<'_> {
    fn run(mut self, monitor: &Monitor) -> Result<(), Failure> {
        let end = self.session.end();
        loop {
            let wake = self.ends.iter().map(End::next_wake).min().unwrap_or(Time::NEVER);
            let event = self.session.next_event();
            let until = wake.max(self.session.now()).min(if event < end { event + INSTANT } else { end }).min(end);
            self.session.advance(until, monitor)?;
            if until >= end {
                return self.ends.chunks_exact(2).try_for_each(alive);
            }
            self.hand_over()?;
            for index in 0..self.ends.len() {
                let now = self.session.now();
                let supplied_bytes = self.session.supplied_bytes(self.ends[index].flow);
                if supplied_bytes > self.ends[index].written_bytes {
                    let end = &mut self.ends[index];
                    let more = supplied_bytes - std::mem::replace(&mut end.written_bytes, supplied_bytes);
                    end.call(now, |stack| stack.write(now, more))?;
                    self.send(index)?;
                }
                if self.ends[index].next_wake() <= now {
                    self.ends[index].call(now, |stack| stack.wake(now))?;
                    self.send(index)?;
                }
            }
        }
    }

    /// Gives each end what has arrived for it.
    fn hand_over(&mut self) -> Result<(), Failure> {
        let mut departures: Vec<Departure> = Vec::new();
        for sender in (0..self.ends.len()).step_by(2) {
            self.session.take_departures(self.ends[sender].flow, &mut departures);
            self.ends[sender].flying -= departures.len() as u32;
            for departure in departures.drain(..) {
                if let Some((ecn, _)) = departure.arrived {
                    let datagram = std::mem::take(&mut self.datagrams[departure.token as usize]);
                    let to = if departure.travels_back { sender } else { sender + 1 };
                    let other = &mut self.ends[to];
                    let at = departure.at;
                    other.call(at, |stack| stack.receive(at, ecn, &datagram))?;
                    let delivered_bytes = other.call(at, |stack| stack.delivered_bytes())?;
                    let before = std::mem::replace(&mut other.delivered_bytes, delivered_bytes);
                    let more = delivered_bytes.checked_sub(before).ok_or_else(|| {
                        other.fault(
                            at,
                            format!("delivered_bytes fell from {before} to {delivered_bytes}; it only grows"),
                        )
                    })?;
                    // What comes back is not goodput: data travels forward.
                    if !departure.travels_back {
                        self.session.credit(self.ends[to].flow, more);
                    }
                    self.datagrams[departure.token as usize] = datagram;
                    self.send(to)?;
                }
                self.free.push(departure.token);
            }
        }
        Ok(())
    }

    /// Lets an end send what it may.
    fn send(&mut self, index: usize) -> Result<(), Failure> {
        let now = self.session.now();
        loop {
            self.room.clear();
            let mut room = std::mem::take(&mut self.room);
            let end = &mut self.ends[index];
            let sent = end.call(now, |stack| stack.transmit(now, &mut room));
            self.room = room;
            let Some(ecn) = sent? else { return Ok(()) };
            let bytes = self.room.len();
            if bytes == 0 || bytes > MOST_BYTES {
                return Err(end.fault(now, format!("it sends a datagram of {bytes} bytes; allowed: 1 to {MOST_BYTES}")));
            }
            let token = self.free.pop().unwrap_or_else(|| {
                self.datagrams.push(Vec::new());
                self.datagrams.len() as u32 - 1
            });
            let (flow, key, header_bytes) = (end.flow, end.key, end.stack.header_bytes());
            std::mem::swap(&mut self.datagrams[token as usize], &mut self.room);
            let bytes = bytes as u32 + header_bytes;
            let travels_back = index % 2 == 1;
            self.ends[index - usize::from(travels_back)].flying += 1;
            let dscp = self.session.dscp(flow);
            self.session.enter(flow, &OutsidePacket { token, bytes, payload_bytes: 0, key, ecn, dscp, travels_back });
        }
    }
}
