//! One end of a QUIC connection of quinn as an endpoint of Sojourn: one stream, and what is sent or received over it.
//!
//! Quinn takes `Instant`s, of which only differences count: `zero` is the instant of Sojourn's time zero.

use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig, Event,
    ReadError, ServerConfig, StreamEvent, StreamId, WriteError,
};
use sojourn_endpoint::{Ecn, Span, Time};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is written at once.
static CHUNK: [u8; 65_536] = [0; 65_536];
const PORT: u16 = 443;

/// What an end does with its stream.
enum Task {
    /// Sends what is left, or without end.
    Send {
        left: Option<u64>,
        stream: Option<StreamId>,
    },
    Receive {
        stream: Option<StreamId>,
        bytes: u64,
    },
}

/// One end.
pub struct Quinn {
    zero: Instant,
    endpoint: Endpoint,
    /// What a client begins with.
    begins: Option<ClientConfig>,
    connection: Option<(ConnectionHandle, Connection)>,
    task: Task,
    /// Answers of the endpoint itself.
    answers: VecDeque<Vec<u8>>,
    due: Time,
}

impl Quinn {
    fn new(server: Option<Arc<ServerConfig>>, task: Task, zero: Instant, seed: [u8; 32]) -> Quinn {
        Quinn {
            zero,
            endpoint: Endpoint::new(Arc::new(EndpointConfig::default()), server, true, Some(seed)),
            begins: None,
            connection: None,
            task,
            answers: VecDeque::new(),
            due: Time::NEVER,
        }
    }

    /// A server that counts what it is sent.
    pub fn server(config: Arc<ServerConfig>, zero: Instant, seed: [u8; 32]) -> Quinn {
        Quinn::new(Some(config), Task::Receive { stream: None, bytes: 0 }, zero, seed)
    }

    /// A client that begins at once and sends so many bytes, or without end.
    pub fn client(config: ClientConfig, bytes: Option<u64>, zero: Instant, seed: [u8; 32]) -> Quinn {
        let task = Task::Send { left: bytes, stream: None };
        Quinn { begins: Some(config), due: Time::ZERO, ..Quinn::new(None, task, zero, seed) }
    }

    fn instant(&self, now: Time) -> Instant {
        self.zero + Duration::from_nanos(now.as_nanos())
    }

    /// Deals with what has happened.
    fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
        while let Some(event) = connection.poll() {
            self.task.on_event(event, connection);
        }
        self.task.write(connection);
    }
}

impl sojourn_endpoint::Endpoint for Quinn {
    fn receive(&mut self, now: Time, ecn: Ecn, datagram: &[u8]) {
        let (now, mut answer) = (self.instant(now), Vec::new());
        let from = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
        match self.endpoint.handle(now, from, None, codepoint(ecn), BytesMut::from(datagram), &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) if self.connection.is_none() => {
                self.connection = self.endpoint.accept(incoming, now, &mut answer, None).ok();
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.endpoint.ignore(incoming),
            Some(DatagramEvent::Response(transmit)) => self.answers.push_back(answer[..transmit.size].to_vec()),
            None => {}
        }
        self.settle();
    }

    fn write(&mut self, _: Time, bytes: u64) {
        if let Task::Send { left, .. } = &mut self.task {
            *left = left.map(|left| left + bytes);
        }
        self.settle();
    }

    fn wake(&mut self, now: Time) {
        self.due = Time::NEVER;
        let now = self.instant(now);
        if let Some(config) = self.begins.take() {
            let to = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
            self.connection = Some(self.endpoint.connect(now, config, to, "localhost").expect("a name that is valid"));
        } else if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
        self.settle();
    }

    fn next_wake(&self) -> Time {
        self.due
    }

    fn transmit(&mut self, now: Time, room: &mut Vec<u8>) -> Option<Ecn> {
        if let Some(answer) = self.answers.pop_front() {
            *room = answer;
            return Some(Ecn::NotEct);
        }
        let (instant, zero) = (self.instant(now), self.zero);
        let (_, connection) = self.connection.as_mut()?;
        if let Some(sent) = connection.poll_transmit(instant, 1, room) {
            room.truncate(sent.size);
            return Some(field(sent.ecn));
        }
        let due = |at: Instant| Time::ZERO + Span::from_nanos(at.saturating_duration_since(zero).as_nanos() as u64);
        self.due = connection.poll_timeout().map_or(Time::NEVER, due);
        None
    }

    fn delivered_bytes(&self) -> u64 {
        match self.task {
            Task::Receive { bytes, .. } => bytes,
            Task::Send { .. } => 0,
        }
    }
}

impl Task {
    fn on_event(&mut self, event: Event, connection: &mut Connection) {
        match (event, self) {
            (Event::Connected, Task::Send { stream, .. }) => *stream = connection.streams().open(Dir::Uni),
            (Event::Stream(StreamEvent::Opened { dir }), Task::Receive { stream, bytes }) => {
                *stream = connection.streams().accept(dir);
                read(connection, stream, bytes);
            }
            (Event::Stream(StreamEvent::Readable { .. }), Task::Receive { stream, bytes }) => {
                read(connection, stream, bytes);
            }
            // Nobody closes a connection here: a record of one that ended would be taken for one of a slow path.
            (Event::ConnectionLost { reason }, _) => panic!("the connection is lost: {reason}"),
            _ => {}
        }
    }

    /// Writes as much as the stream takes.
    fn write(&mut self, connection: &mut Connection) {
        let Task::Send { left, stream } = self else { return };
        let Some(id) = *stream else { return };
        while *left != Some(0) {
            let most = left.map_or(CHUNK.len(), |left| CHUNK.len().min(left as usize));
            match connection.send_stream(id).write(&CHUNK[..most]) {
                Ok(taken) => *left = left.map(|left| left - taken as u64),
                Err(WriteError::Blocked) => return,
                Err(_) => *left = Some(0),
            }
        }
    }
}

/// Reads what is there. A stream is gone after the event that has read its end.
fn read(connection: &mut Connection, id: &mut Option<StreamId>, bytes: &mut u64) {
    let Some(stream) = *id else { return };
    let mut stream = connection.recv_stream(stream);
    let Ok(mut chunks) = stream.read(true) else { return };
    loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => *bytes += chunk.bytes.len() as u64,
            Err(ReadError::Blocked) => break,
            Ok(None) | Err(_) => {
                *id = None;
                break;
            }
        }
    }
    // What it allows to send next is asked for by `poll_transmit`, after every event.
    let _ = chunks.finalize();
}

fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}

fn field(codepoint: Option<EcnCodepoint>) -> Ecn {
    match codepoint {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}
