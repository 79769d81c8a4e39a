//! A flow: its sender, its receiver and its counters.

mod counts;
#[cfg(test)]
mod tests;

pub use counts::{Counts, is_data};

use crate::Packet;
use crate::duplex::Duplex;
use crate::outside::Outside;
use crate::times::Coarse;
use sojourn_core::{Optional, Span, Time};
use sojourn_queue::{Dscp, Ecn, FlowKey};
use sojourn_scenario::{Direction, Traffic};
use sojourn_traffic::TrainEnd;
use sojourn_traffic::voip::Call;
use sojourn_traffic::{Application, Datagrams, Fetch, Padding};
use sojourn_transport::{
    Arrival, Block, EcnFlags, MAX_BLOCKS, Receiver, Segment, SegmentKind, Sender, SenderCounts, SmallQueue,
};
use std::ops::Sub;

/// The receiver's port in the first connection; the next ones count up from here.
pub const FIRST_PORT: u16 = 5_001;

/// Both ends of a connection of a flow. Flows that have several at once number them from that of the first.
#[derive(Debug)]
pub struct Flow {
    /// Its group's index.
    pub group: u32,
    /// Its flow's place in the group.
    pub index: u32,
    /// The number of its flow's first connection, which has the application.
    pub lead: u32,
    /// Which way its data travels.
    pub direction: Direction,
    /// Its station on the medium, where there is one; the first for all others.
    pub station: u32,
    /// The number of its route.
    pub route: u32,
    /// The link at which packets that travel forward and in reverse enter the network, where there is one.
    pub entrances: [Optional; 2],
    /// The line behind the last link, for packets that travel forward and in reverse.
    pub lines: [u32; 2],
    /// Its own access link, where it has one.
    pub access: Optional,
    /// What waits of it in its host, where that holds it back.
    pub host: Option<Box<InHost>>,
    /// The link past which its datagrams die, where they do not reach the receiver.
    pub dies_past: Optional,
    /// Its 5-tuple, in the direction of its data.
    pub key: FlowKey,
    /// Code point of all its packets.
    pub dscp: Dscp,
    /// ECN field of its data packets.
    pub ecn: Ecn,
    /// ECN flags of their headers, but for CWR.
    pub flags: EcnFlags,
    /// Header bytes of all its packets.
    pub header_bytes: u32,
    /// What the application does, where this is the first connection of its flow.
    pub application: Option<Application>,
    /// Who sends and receives.
    pub endpoints: Endpoints,
    /// Who listens to its datagrams, where somebody does.
    pub listener: Option<Box<Listener>>,
    /// Whether its application is told of all that arrives in order, and not only when nothing is left.
    pub has_messages: bool,
    /// Sojourn times of its data packets in the queue of their direction's main link, in the measured part; none before the
    /// first packet.
    pub sojourn: Option<Box<Coarse>>,
    /// What happened so far.
    pub counts: Counts,
    /// What was before, where anything was.
    pub past: Option<Box<Past>>,
    /// What there is of the other way, where its connection carries data both ways.
    pub duplex: Option<Box<Duplex>>,
    /// Time of its earliest pending timer.
    pub armed: Time,
}

/// What connections and requests a flow has had, and what had happened to it when measuring began.
#[derive(Default, Debug)]
pub struct Past {
    /// The counters of the senders of its earlier connections.
    pub sender: SenderCounts,
    /// How many connections its flow has had beside the first; counted where its application is.
    pub connections: u64,
    /// Requests of the receiver so far.
    pub requests: u32,
    /// What the receiver asks for, until the sender knows.
    pub request: Option<Request>,
    /// What had happened when measuring began.
    base: Base,
}

/// What a flow has in its host.
#[derive(Debug)]
pub struct InHost {
    /// What waits of it.
    pub small: SmallQueue,
    /// The host's queue before its network card, where it has one.
    pub device: Option<usize>,
}

/// What had happened to a flow at some time.
#[derive(Default, Debug)]
struct Base {
    counts: Counts,
    sender: SenderCounts,
}

/// Who sends and receives. Nearly all flows are of the larger kind, so boxing it would only cost.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Endpoints {
    /// A reliable transport.
    Transport(Sender, Receiver),
    /// Packets at a constant rate.
    Datagrams(Datagrams),
    /// Padding.
    Padding(Box<Padding>),
    /// Programs outside the simulation.
    Outside(Box<Outside>),
}

/// Who listens to datagrams.
#[derive(Debug)]
pub enum Listener {
    /// The receiving end of a call.
    Call(Call),
    /// That of trains.
    Trains(TrainEnd),
}

impl Listener {
    /// Who listens to `traffic`, where somebody does.
    pub fn new(traffic: &Traffic) -> Option<Box<Listener>> {
        match traffic {
            Traffic::Voip(voip) => Some(Box::new(Listener::Call(Call::new(voip)))),
            Traffic::Train(train) => Some(Box::new(Listener::Trains(TrainEnd::new(train)))),
            _ => None,
        }
    }

    /// Packet `number` has arrived, `delay` after it was sent. The time to record: its own, or that of its train.
    pub fn on_packet(&mut self, number: u32, delay: Span) -> Option<Span> {
        match self {
            Listener::Call(call) => {
                call.on_packet(delay);
                Some(delay)
            }
            Listener::Trains(end) => end.on_packet(number, delay),
        }
    }

    /// The warm-up is over.
    pub fn begin_measuring(&mut self) {
        match self {
            Listener::Call(call) => call.begin_measuring(),
            Listener::Trains(end) => end.begin_measuring(),
        }
    }
}

/// What a sender sends next, before it is a packet.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// What it is.
    pub kind: SegmentKind,
    /// Its number.
    pub number: u32,
    /// Its payload bytes.
    pub payload_bytes: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its header's ECN flags.
    pub flags: EcnFlags,
    /// What data echoes to a receiver that steers.
    pub echo_nanos: i64,
}

impl Outgoing {
    /// One that knows nothing of ECN and echoes nothing.
    pub fn new(kind: SegmentKind, number: u32, payload_bytes: u32) -> Outgoing {
        Outgoing { kind, number, payload_bytes, ecn: Ecn::NotEct, flags: EcnFlags::NONE, echo_nanos: 0 }
    }
}

/// A request on its way, repeated until it comes.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Its number.
    pub number: u32,
    /// What it asks for.
    pub fetch: Fetch,
    /// When it is sent again.
    pub again: Time,
    /// How long that is after the last time.
    pub wait: Span,
}

impl Request {
    /// RFC 6298 sections 2 and 5: so long at first, then twice as long each time, up to the most.
    const FIRST_WAIT: Span = Span::from_secs(1);
    const LONGEST_WAIT: Span = Span::from_secs(60);

    /// The request `number` for `fetch`, first sent at `now`.
    pub fn new(number: u32, fetch: Fetch, now: Time) -> Request {
        Request { number, fetch, again: now + Request::FIRST_WAIT, wait: Request::FIRST_WAIT }
    }

    /// It is sent again.
    pub fn repeat(&mut self, now: Time) {
        self.wait = (self.wait + self.wait).min(Request::LONGEST_WAIT);
        self.again = now + self.wait;
    }
}

/// The connections of each flow among `connections`.
pub fn by_flow(connections: &[Flow]) -> impl Iterator<Item = &[Flow]> {
    connections.chunk_by(|one, next| one.lead == next.lead)
}

impl Flow {
    /// One of its packets was dropped.
    #[inline]
    pub fn on_drop(&mut self, packet: &Packet) {
        self.counts.on_drop(packet);
        if let Some(duplex) = &mut self.duplex {
            duplex.take(packet);
        }
        if let Endpoints::Outside(outside) = &mut self.endpoints {
            outside.on_drop(packet);
        }
    }

    /// A packet of `bytes` that carries `body`, addressed from sender to receiver.
    #[inline(always)]
    fn packet(&mut self, id: u32, body: Segment, bytes: u32, ecn: Ecn) -> Packet {
        self.counts.entered += 1;
        self.counts.sent += u64::from(is_data(&body));
        Packet { flow: id, bytes, enqueued: Time::ZERO, key: self.key, ecn, dscp: self.dscp, class: 0, body }
    }

    /// The packet that carries `segment` with `payload_bytes` from receiver to sender.
    #[inline(always)]
    pub fn packet_back(&mut self, id: u32, segment: &Segment, payload_bytes: u32) -> Packet {
        let bytes = self.header_bytes + segment.option_bytes() + payload_bytes;
        let packet = self.packet(id, *segment, bytes, Ecn::NotEct);
        Packet { key: packet.key.reversed(), ..packet }
    }

    /// The packet that carries what is sent `now`, which reports nothing and so has no options.
    #[inline(always)]
    pub fn packet_out(&mut self, id: u32, next: Outgoing, now: Time) -> Packet {
        let Outgoing { kind, number, payload_bytes, ecn, flags, echo_nanos } = next;
        let sack = [Block::default(); MAX_BLOCKS];
        let body = Segment { kind, ecn: flags, blocks: 0, number, stamp: now, delay_nanos: echo_nanos, sack };
        self.packet(id, body, self.header_bytes + payload_bytes, ecn)
    }

    /// The link at which packets that travel in `direction` enter the network, and the line where there is none.
    #[inline(always)]
    pub fn way_in(&self, direction: Direction) -> (Option<usize>, usize) {
        (self.entrances[direction as usize].get().map(|link| link as usize), self.line(direction))
    }

    /// The line behind the last link for packets that travel in `direction`.
    #[inline(always)]
    pub fn line(&self, direction: Direction) -> usize {
        self.lines[direction as usize] as usize
    }

    /// Who listens, where it is a call.
    pub fn call(&self) -> Option<&Call> {
        match self.listener.as_deref()? {
            Listener::Call(call) => Some(call),
            Listener::Trains(_) => None,
        }
    }

    /// Who listens, where it sends trains.
    pub fn trains(&self) -> Option<&TrainEnd> {
        match self.listener.as_deref()? {
            Listener::Trains(end) => Some(end),
            Listener::Call(_) => None,
        }
    }

    /// One of its data packets has left the queue of its direction's main link after `sojourn`.
    #[inline(always)]
    pub fn note_sojourn(&mut self, sojourn: Span) {
        self.sojourn.get_or_insert_default().record(sojourn);
    }

    /// Its sender.
    #[inline]
    pub fn sender(&mut self) -> &mut Sender {
        let Endpoints::Transport(sender, _) = &mut self.endpoints else { unreachable!("only data is acknowledged") };
        sender
    }

    /// Its receiver.
    #[inline]
    pub fn receiver(&mut self) -> &mut Receiver {
        let Endpoints::Transport(_, receiver) = &mut self.endpoints else {
            unreachable!("only transports are answered")
        };
        receiver
    }

    /// The receiver gets a data packet at `at`.
    #[inline(always)]
    pub fn receive(&mut self, packet: &Packet, at: Time) -> Arrival {
        let payload_bytes = packet.bytes - self.header_bytes;
        let Endpoints::Transport(sender, receiver) = &mut self.endpoints else {
            unreachable!("only transports get data")
        };
        if receiver.asks_for_rtt() {
            receiver.set_rtt(sender.rtt().smoothed());
        }
        if receiver.counts_bytes() {
            receiver.on_bytes(packet.ecn, payload_bytes);
        }
        let arrival = receiver.on_data(&packet.body, packet.ecn == Ecn::Ce, at);
        self.counts.on_arrival(packet, payload_bytes, arrival.is_new, at);
        arrival
    }

    /// Payload bytes of its present connection that have arrived in order.
    pub fn in_order_bytes(&self) -> u64 {
        match &self.endpoints {
            Endpoints::Transport(sender, receiver) => sender.bytes_below(receiver.next()),
            Endpoints::Outside(_) => self.counts.delivered_bytes,
            Endpoints::Datagrams(_) | Endpoints::Padding(_) => 0,
        }
    }

    /// Whether it is known to have nothing more to send at an instant at which it has just sent something.
    #[inline]
    pub fn is_spent(&mut self, now: Time) -> bool {
        match &mut self.endpoints {
            Endpoints::Transport(sender, _) => sender.is_spent(now),
            Endpoints::Datagrams(_) | Endpoints::Padding(_) | Endpoints::Outside(_) => false,
        }
    }

    /// Whether the receiver has all that the application has supplied.
    #[inline]
    pub fn has_all(&self) -> bool {
        matches!(&self.endpoints, Endpoints::Transport(sender, receiver) if receiver.next() == sender.end())
    }

    /// The counters of its present sender and all before, where it has one.
    pub fn sender_counts(&self) -> Option<SenderCounts> {
        let Endpoints::Transport(sender, _) = &self.endpoints else { return None };
        let (now, past) = (sender.counts(), self.past.as_ref().map_or(SenderCounts::default(), |past| past.sender));
        Some(SenderCounts {
            retransmissions: now.retransmissions + past.retransmissions,
            timeouts: now.timeouts + past.timeouts,
        })
    }

    /// The warm-up is over.
    pub fn begin_measuring(&mut self) {
        // Whatever happens to a flow leads to packets.
        if self.counts.entered > 0 {
            let sender = self.sender_counts().unwrap_or_default();
            self.past.get_or_insert_default().base = Base { counts: self.counts, sender };
        }
        if let Some(sojourn) = &mut self.sojourn {
            sojourn.clear();
        }
    }

    /// What `of` has grown by since measuring began.
    pub fn since<T: Sub<Output = T>>(&self, of: impl Fn(&Counts) -> T) -> T {
        let base = self.past.as_ref().map_or(Counts::default(), |past| past.base.counts);
        of(&self.counts) - of(&base)
    }

    /// What its senders have counted since measuring began, where it has one.
    pub fn sender_since(&self) -> Option<SenderCounts> {
        let base = self.past.as_ref().map_or(SenderCounts::default(), |past| past.base.sender);
        let now = self.sender_counts()?;
        Some(SenderCounts {
            retransmissions: now.retransmissions - base.retransmissions,
            timeouts: now.timeouts - base.timeouts,
        })
    }

    /// Begins a fresh connection between `endpoints` to `port`; what is under way of the one before is lost on them.
    pub fn connect(&mut self, endpoints: Endpoints, port: u16) {
        let sender = self.sender_counts().unwrap_or_default();
        let past = self.past.get_or_insert_default();
        (past.sender, past.request) = (sender, None);
        self.endpoints = endpoints;
        self.key.destination_port = port;
    }

    /// What the receiver asks for, until the sender knows.
    pub fn request(&mut self) -> Option<&mut Request> {
        self.past.as_mut()?.request.as_mut()
    }

    /// Whether `packet` belongs to an earlier connection.
    #[inline]
    pub fn is_past(&self, packet: &Packet) -> bool {
        // Looked up, not branched to: a processor cannot guess which way the next packet travels.
        let ports = [packet.key.destination_port, packet.key.source_port];
        ports[usize::from(packet.body.kind.travels_back())] != self.key.destination_port
    }

    /// When its timer must go off.
    #[inline]
    pub fn deadline(&self, now: Time) -> Time {
        self.deadline_of_sender(now).min(self.deadline_of_others())
    }

    /// The same for its sender, where it has a transport.
    #[inline]
    pub fn deadline_of_sender(&self, now: Time) -> Time {
        match &self.endpoints {
            Endpoints::Transport(sender, _) => sender.deadline(now),
            Endpoints::Datagrams(_) | Endpoints::Padding(_) | Endpoints::Outside(_) => Time::NEVER,
        }
    }

    /// The same for all others.
    #[inline]
    pub fn deadline_of_others(&self) -> Time {
        let endpoints = match &self.endpoints {
            Endpoints::Transport(_, receiver) => receiver.deadline(),
            Endpoints::Datagrams(datagrams) => datagrams.next(),
            Endpoints::Padding(padding) => padding.next(),
            Endpoints::Outside(_) => Time::NEVER,
        };
        let application = self.application.as_ref().map_or(Time::NEVER, |application| application.next);
        let request =
            self.past.as_ref().and_then(|past| past.request.as_ref()).map_or(Time::NEVER, |request| request.again);
        endpoints.min(application).min(request)
    }
}
