//! An end of a connection over a UDP socket, in real time: what a run in virtual time is compared with.
//!
//! - `--receive ADDRESS:PORT FILE [CONTROL]`: the receiver. Each tenth of a second it writes to the file how many seconds ago the
//!   first datagram arrived, and how many bytes the application has got.
//! - `--send ADDRESS:PORT [CONTROL]`: the sender, without end, to that receiver.
//!
//! Both are processes of their own: the key is of the seed, so either knows that of the other.

use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use sojourn_endpoint::{Asked, Connection, Ecn, Endpoint, Time};
use sojourn_stack_quinn::connect;
use std::error::Error;
use std::fs::File;
use std::io::{IoSliceMut, Write};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Between two lines about what has been delivered.
const NOTE_EVERY: Duration = Duration::from_millis(100);
/// More than any datagram, and all that a kernel hands over together.
const ROOM_BYTES: usize = 1 << 16;

/// A datagram that has arrived.
struct Arrived {
    from: SocketAddr,
    ecn: Ecn,
    datagram: Vec<u8>,
}

/// Does what the words say, where they are for sockets; `None` where they are not.
pub fn command_of(words: &[String]) -> Option<Result<(), Box<dyn Error>>> {
    match words {
        [word, to, control @ ..] if word == "--send" && control.len() < 2 => Some(send(to, control.first())),
        [word, at, file, control @ ..] if word == "--receive" && control.len() < 2 => {
            Some(receive(at, file, control.first()))
        }
        _ => None,
    }
}

fn both(control: Option<&String>) -> Result<Connection, Box<dyn Error>> {
    connect(&Asked { control: control.cloned(), seed: 1, number: 0, bytes: None, qlog: None })
}

fn send(to: &str, control: Option<&String>) -> Result<(), Box<dyn Error>> {
    let to: SocketAddr = to.parse().map_err(|_| format!("--send: found {to:?}; allowed: ADDRESS:PORT"))?;
    let from = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    drive(both(control)?.sender, UdpSocket::bind(from)?, Some(to), None)
}

fn receive(at: &str, file: &str, control: Option<&String>) -> Result<(), Box<dyn Error>> {
    let notes = File::create(file).map_err(|error| format!("{file}: {error}"))?;
    drive(both(control)?.receiver, UdpSocket::bind(at)?, None, Some(notes))
}

/// A socket that says and hears the ECN field.
struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
}

/// Gives the end its datagrams and its wake-ups, and sends what it sends, until the process is ended.
fn drive(
    mut end: Box<dyn Endpoint>,
    socket: UdpSocket,
    mut peer: Option<SocketAddr>,
    mut notes: Option<File>,
) -> Result<(), Box<dyn Error>> {
    let state = UdpSocketState::new((&socket).into())?;
    // A thread waits for datagrams, so that this one can wait for the end's next wake-up without waiting longer than that.
    socket.set_nonblocking(false)?;
    let socket = Arc::new(Socket { socket, state });
    let arrivals = reader(socket.clone())?;
    let zero = Instant::now();
    let time = || Time::from_nanos(zero.elapsed().as_nanos() as u64);
    let (mut first, mut noted) = (None, zero);
    loop {
        if end.next_wake() <= time() {
            end.wake(time());
        }
        send_all(&mut *end, &time, &socket, peer);
        let due = Duration::from_nanos(end.next_wake().as_nanos().saturating_sub(time().as_nanos()));
        match arrivals.recv_timeout(due.min(NOTE_EVERY)) {
            Ok(arrived) => {
                peer = peer.or(Some(arrived.from));
                first.get_or_insert_with(Instant::now);
                end.receive(time(), arrived.ecn, &arrived.datagram);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err("the socket was closed".into()),
        }
        if let (Some(file), Some(first)) = (&mut notes, first)
            && noted.elapsed() >= NOTE_EVERY
        {
            noted = Instant::now();
            writeln!(file, "{:.6} {}", noted.duration_since(first).as_secs_f64(), end.delivered_bytes())?;
        }
    }
}

/// Sends what may be sent now.
fn send_all(
    end: &mut dyn Endpoint,
    time: &dyn Fn() -> Time,
    Socket { socket, state }: &Socket,
    peer: Option<SocketAddr>,
) {
    let mut room = Vec::new();
    while let Some(ecn) = end.transmit(time(), &mut room) {
        if let Some(destination) = peer {
            let contents = Transmit { destination, ecn: code(ecn), contents: &room, segment_size: None, src_ip: None };
            // What the kernel does not take is lost, as what a path does not take.
            let _ = state.try_send(socket.into(), &contents);
        }
        room.clear();
    }
}

/// Reads datagrams in a thread.
fn reader(socket: Arc<Socket>) -> Result<Receiver<Arrived>, Box<dyn Error>> {
    let (to, arrivals) = channel();
    thread::Builder::new().name("reader".to_owned()).spawn(move || while read(&socket, &to).is_some() {})?;
    Ok(arrivals)
}

/// Waits for datagrams, which the kernel may hand over several at once; `None` where nobody wants them.
fn read(Socket { socket, state }: &Socket, to: &Sender<Arrived>) -> Option<()> {
    let (mut room, mut meta) = (vec![0; ROOM_BYTES], [RecvMeta::default()]);
    // What a socket reports besides is of single datagrams: that nobody was at the port yet, for one.
    if state.recv(socket.into(), &mut [IoSliceMut::new(&mut room)], &mut meta).is_err() {
        return Some(());
    }
    let [RecvMeta { addr: from, len, stride, ecn, .. }] = meta;
    for datagram in room[..len].chunks(stride.max(1)) {
        to.send(Arrived { from, ecn: field(ecn), datagram: datagram.to_vec() }).ok()?;
    }
    Some(())
}

fn code(ecn: Ecn) -> Option<EcnCodepoint> {
    EcnCodepoint::from_bits(ecn as u8)
}

fn field(ecn: Option<EcnCodepoint>) -> Ecn {
    match ecn {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}
