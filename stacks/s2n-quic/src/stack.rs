//! One end of a QUIC connection of s2n-quic as an endpoint of Sojourn: one stream, and what is sent or received over it.
//!
//! S2n-quic's applications are futures, and this one is polled whenever s2n-quic has woken it.

use crate::engine::{Engine, Inbox, Outbox, address, time, timestamp};
use bytes::Bytes;
use s2n_quic::client::Connect;
use s2n_quic::{Client, Server};
use sojourn_endpoint::{Ecn, Endpoint, Time};
use std::cell::Cell;
use std::error::Error;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// What is written at once.
static CHUNK: [u8; 65_536] = [0; 65_536];

type Task = Pin<Box<dyn Future<Output = Result<(), Box<dyn Error>>>>>;

/// What is left to send; nothing of a server, and no number where it has no end.
type Left = Rc<Cell<Option<u64>>>;

/// Sends what is left, and what is written later.
async fn send(client: Client, left: Left) -> Result<(), Box<dyn Error>> {
    let mut connection = client.connect(Connect::new(address()).with_server_name("localhost")).await?;
    let mut stream = connection.open_send_stream().await?;
    loop {
        poll_fn(|_| if left.get() == Some(0) { Poll::Pending } else { Poll::Ready(()) }).await;
        let most = left.get().map_or(CHUNK.len(), |left| CHUNK.len().min(left as usize));
        stream.send(Bytes::from_static(&CHUNK[..most])).await?;
        left.set(left.get().map(|left| left - most as u64));
    }
}

/// Counts what it is sent.
async fn receive(mut server: Server, bytes: Rc<Cell<u64>>) -> Result<(), Box<dyn Error>> {
    let mut connection = server.accept().await.ok_or("the server has ended")?;
    let mut stream = connection.accept_receive_stream().await?.ok_or("the connection has no stream")?;
    while let Some(chunk) = stream.receive().await? {
        bytes.set(bytes.get() + chunk.len() as u64);
    }
    std::future::pending().await
}

/// Whether there is something to do for the application, or for s2n-quic because of it.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Woken>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One end.
pub struct S2n {
    engine: Box<dyn Engine>,
    task: Task,
    woken: Arc<Woken>,
    waker: Waker,
    bytes: Rc<Cell<u64>>,
    left: Left,
    outbox: Outbox,
    due: Time,
}

impl S2n {
    fn new(engine: Box<dyn Engine>, task: Task, bytes: Rc<Cell<u64>>, left: Left, due: Time) -> S2n {
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        S2n { engine, task, waker: Waker::from(woken.clone()), woken, bytes, left, outbox: Outbox::default(), due }
    }

    /// A server that counts what it is sent.
    pub fn server(engine: Box<dyn Engine>, server: Server) -> S2n {
        let bytes = Rc::new(Cell::new(0));
        S2n::new(engine, Box::pin(receive(server, bytes.clone())), bytes, Rc::new(Cell::new(Some(0))), Time::NEVER)
    }

    /// A client that begins at once and sends so many bytes, or without end.
    pub fn client(engine: Box<dyn Engine>, client: Client, bytes: Option<u64>) -> S2n {
        let left = Rc::new(Cell::new(bytes));
        S2n::new(engine, Box::pin(send(client, left.clone())), Rc::default(), left, Time::ZERO)
    }

    /// Lets application and s2n-quic go on until neither has anything to do for the other.
    fn settle(&mut self, now: Time) {
        let mut context = Context::from_waker(&self.waker);
        let now = timestamp(now);
        loop {
            if self.woken.0.swap(false, Ordering::Relaxed) {
                // Nobody closes a connection here: a record of one that ended would be taken for one of a slow path.
                if let Poll::Ready(Err(error)) = self.task.as_mut().poll(&mut context) {
                    panic!("the connection is lost: {error}");
                }
            }
            self.engine.work(&mut context, &mut self.outbox, now);
            if !self.woken.0.load(Ordering::Relaxed) {
                break;
            }
        }
        self.due = self.engine.timeout().map_or(Time::NEVER, time);
    }
}

impl Endpoint for S2n {
    fn receive(&mut self, now: Time, ecn: Ecn, datagram: &[u8]) {
        // It decrypts where the datagram is.
        self.engine.receive(&mut Inbox(Some((ecn, datagram.to_vec()))), timestamp(now));
        self.settle(now);
    }

    fn write(&mut self, now: Time, bytes: u64) {
        self.left.set(self.left.get().map(|left| left + bytes));
        self.woken.0.store(true, Ordering::Relaxed);
        self.settle(now);
    }

    fn wake(&mut self, now: Time) {
        self.settle(now);
    }

    fn next_wake(&self) -> Time {
        self.due
    }

    fn transmit(&mut self, _now: Time, room: &mut Vec<u8>) -> Option<Ecn> {
        let (ecn, datagram) = self.outbox.0.pop_front()?;
        *room = datagram;
        Some(ecn)
    }

    fn delivered_bytes(&self) -> u64 {
        self.bytes.get()
    }
}
