//! One end of a QUIC connection of quiche as an endpoint of Sojourn: one stream, and what is sent or received over it.

use crate::machine::Machine;
use quiche::{Config, Connection, ConnectionId, Error, QlogLevel, RecvInfo};
use sojourn_endpoint::{Ecn, Endpoint, Span, Time};
use std::fs::File;
use std::io::BufWriter;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;

/// What is written at once.
static CHUNK: [u8; 65_536] = [0; 65_536];
/// The first stream that a client opens in one direction (RFC 9000 section 2.1).
const STREAM: u64 = 2;
const PORT: u16 = 443;

/// What an end does with its stream.
enum Task {
    /// Sends what is left, or without end.
    Send {
        left: Option<u64>,
    },
    Receive {
        bytes: u64,
        room: Vec<u8>,
    },
}

/// One end.
pub struct Quiche {
    machine: Machine,
    /// The machine's instant at the simulation's time zero.
    zero: Instant,
    config: Config,
    qlog: Option<BufWriter<File>>,
    /// A server has none before the first datagram.
    connection: Option<Connection>,
    task: Task,
    /// A datagram that quiche has made for later.
    paced: Option<(Time, Vec<u8>)>,
    due: Time,
}

impl Quiche {
    fn new(config: Config, task: Task, due: Time, mut machine: Machine) -> Quiche {
        let zero = machine.at(Time::ZERO, Instant::now);
        Quiche { machine, zero, config, qlog: None, connection: None, task, paced: None, due }
    }

    /// A server that counts what it is sent.
    pub fn server(config: Config, machine: Machine) -> Quiche {
        Quiche::new(config, Task::Receive { bytes: 0, room: vec![0; CHUNK.len()] }, Time::NEVER, machine)
    }

    /// A client that begins at once and sends so many bytes, or without end.
    pub fn client(config: Config, bytes: Option<u64>, qlog: Option<File>, machine: Machine) -> Quiche {
        let client = Quiche::new(config, Task::Send { left: bytes }, Time::ZERO, machine);
        Quiche { qlog: qlog.map(BufWriter::new), ..client }
    }

    fn time(&self, instant: Instant) -> Time {
        Time::ZERO + Span::from_nanos(instant.saturating_duration_since(self.zero).as_nanos() as u64)
    }

    /// Has the connection, which is made where there is none, do something, and does what there is to do for the stream then.
    fn settle(&mut self, now: Time, work: impl FnOnce(&mut Connection)) {
        let Quiche { machine, config, qlog, connection, task, .. } = self;
        let name = [machine.draw(), machine.draw()].map(u64::to_le_bytes).concat();
        machine.at(now, || {
            let connection = connection.get_or_insert_with(|| {
                let (name, here) = (ConnectionId::from_vec(name), SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)));
                let made = match task {
                    Task::Send { .. } => quiche::connect(None, &name, here, here, config),
                    Task::Receive { .. } => quiche::accept(&name, None, here, here, config),
                };
                let mut made = made.expect("a configuration that holds");
                if let Some(log) = qlog.take() {
                    // Core: its acknowledgements list all that was ever received, which grows without end on paths with loss.
                    made.set_qlog_with_level(Box::new(log), "quiche".into(), String::new(), QlogLevel::Core);
                }
                made
            });
            work(connection);
            task.go_on(connection);
            // Neither end closes the connection, and no time of idleness is set: a connection that ends has a fault.
            if let Some(error) = connection.local_error().or(connection.peer_error()) {
                panic!("it closes: {error:?}");
            }
        });
    }
}

impl Endpoint for Quiche {
    /// Quiche has no ECN: it is told of no marks, and sets none.
    fn receive(&mut self, now: Time, _ecn: Ecn, datagram: &[u8]) {
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
        // It decrypts where the datagram is.
        let mut datagram = datagram.to_vec();
        self.settle(now, |connection| {
            // What it takes for an error of the other end's is a reason to close, and found there.
            let _ = connection.recv(&mut datagram, RecvInfo { from: here, to: here });
        });
    }

    fn write(&mut self, now: Time, bytes: u64) {
        if let Task::Send { left } = &mut self.task {
            *left = left.map(|left| left + bytes);
        }
        self.settle(now, |_| ());
    }

    fn wake(&mut self, now: Time) {
        // It does nothing where no timer is due.
        self.settle(now, Connection::on_timeout);
    }

    fn next_wake(&self) -> Time {
        self.due
    }

    fn transmit(&mut self, now: Time, room: &mut Vec<u8>) -> Option<Ecn> {
        if self.paced.is_none() {
            let connection = self.connection.as_mut()?;
            room.resize(connection.max_send_udp_payload_size(), 0);
            match self.machine.at(now, || connection.send(room)) {
                Ok((bytes, info)) => {
                    room.truncate(bytes);
                    self.paced = Some((self.time(info.at), std::mem::take(room)));
                }
                Err(Error::Done) => {}
                Err(error) => panic!("it cannot send: {error}"),
            }
        }
        // Nothing is made while a datagram waits: what is in the next one is known best when it goes.
        if let Some((_, datagram)) = self.paced.take_if(|(at, _)| *at <= now) {
            *room = datagram;
            return Some(Ecn::NotEct);
        }
        let timer = self.connection.as_ref()?.timeout_instant().map_or(Time::NEVER, |at| self.time(at));
        self.due = self.paced.as_ref().map_or(timer, |(at, _)| timer.min(*at));
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
    /// Writes or reads as much as the stream has room or bytes for.
    fn go_on(&mut self, connection: &mut Connection) {
        match self {
            Task::Receive { bytes, room } => {
                while let Ok((read, _)) = connection.stream_recv(STREAM, room) {
                    *bytes += read as u64;
                }
            }
            Task::Send { left } => {
                while connection.is_established() && *left != Some(0) {
                    let most = left.map_or(CHUNK.len(), |left| CHUNK.len().min(left as usize));
                    let Ok(taken) = connection.stream_send(STREAM, &CHUNK[..most], false) else { return };
                    *left = left.map(|left| left - taken as u64);
                }
            }
        }
    }
}
