//! Pages of a browser, one after the other.
//!
//! The first object of a page, which names the others, comes alone; the others are fetched over as many connections as
//! are allowed. Objects are asked for one at a time on each connection (HTTP/1.1 without pipelining, RFC 9112 section
//! 9.3). Connections do not outlive their page: the next one is another server's.

use super::sizes::Draw;
use super::{Action, Activity, Answer, Arrived, Completed, Fetch};
use sojourn_core::{Span, Stream, Time};
use sojourn_scenario::Web as Spec;

/// A browser and the server that it asks.
#[derive(Debug)]
pub struct Web {
    objects: Draw,
    sizes: Draw,
    /// Draws think times.
    thinking: Stream,
    think: Span,
    reuse: bool,
    request_bytes: u32,
    payload_bytes: u64,
    connections: Vec<Connection>,
    page: Option<Page>,
}

#[derive(Clone, Default, Debug)]
struct Connection {
    /// What it fetches.
    object: Option<Object>,
    /// Whether it is open and nothing is fetched.
    is_idle: bool,
    /// Bytes that were asked for since it was opened.
    asked_bytes: u64,
    /// Bytes that were asked for since the start of the flow.
    total_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Object {
    asked: Time,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Page {
    began: Time,
    /// Objects that were not asked for.
    left: u64,
    /// Objects that were asked for and have not arrived.
    under_way: u32,
    /// Whether the first object is there.
    is_known: bool,
}

impl Web {
    /// A browser as in `spec`, in packets of `payload_bytes`; `stream` makes its random streams.
    pub fn new(spec: &Spec, payload_bytes: u32, stream: impl Fn(&str) -> Stream) -> Web {
        Web {
            objects: Draw::new(spec.objects, stream("objects")),
            sizes: Draw::new(spec.sizes, stream("sizes")),
            thinking: stream("think"),
            think: spec.think,
            reuse: spec.reuse,
            request_bytes: spec.request_bytes,
            payload_bytes: u64::from(payload_bytes),
            connections: vec![Connection::default(); spec.connections as usize],
            page: None,
        }
    }

    /// Asks for the next object over the first connection that is free, where one is and the page allows it; and then
    /// for the one after it.
    fn ask(&mut self, now: Time) -> Answer {
        let nothing = Answer::new(Action::Nothing, Time::NEVER);
        let Some(page) = &mut self.page else { return nothing };
        let may_ask = page.left > 0 && (page.is_known || page.under_way == 0);
        let free = self.connections.iter().position(|connection| connection.object.is_none());
        let Some(number) = free.filter(|_| may_ask) else { return nothing };
        page.left -= 1;
        page.under_way += 1;
        let size = self.sizes.size();
        // Segments of a connection are numbered in whole packets, so only its last one may be shorter.
        let bytes = if self.reuse { size.next_multiple_of(self.payload_bytes) } else { size };
        let connection = &mut self.connections[number];
        let fresh = !std::mem::take(&mut connection.is_idle);
        if fresh {
            connection.asked_bytes = 0;
        }
        connection.asked_bytes += bytes;
        connection.total_bytes += bytes;
        connection.object = Some(Object { asked: now, bytes });
        let fetch = Fetch {
            connection: number as u32,
            fresh,
            request_bytes: self.request_bytes,
            bytes: connection.asked_bytes,
        };
        Answer::new(Action::Fetch(fetch), now)
    }

    fn begin(&mut self, now: Time) -> Answer {
        for connection in &mut self.connections {
            connection.is_idle = false;
        }
        self.page = Some(Page { began: now, left: self.objects.size(), under_way: 0, is_known: false });
        self.ask(now)
    }
}

impl Activity for Web {
    fn start(&mut self, now: Time) -> Answer {
        self.begin(now)
    }

    /// The next page begins, or there may be more to ask for.
    fn on_time(&mut self, now: Time) -> Answer {
        if self.page.is_none() { self.begin(now) } else { self.ask(now) }
    }

    fn on_arrived(&mut self, now: Time, arrived: Arrived) -> Option<Answer> {
        let connection = &mut self.connections[arrived.connection as usize];
        // An object that was stopped is not whole, and its page never will be.
        let Object { asked, bytes } =
            connection.object.take().filter(|_| arrived.delivered_bytes == connection.total_bytes)?;
        connection.is_idle = self.reuse;
        let page = self.page.as_mut().expect("objects belong to a page");
        page.is_known = true;
        page.under_way -= 1;
        let completed = Some(Completed { time: now.since(asked), bytes, waited: Span::ZERO });
        if page.left > 0 || page.under_way > 0 {
            return Some(Answer { completed, ..self.ask(now) });
        }
        let time = now.since(page.began);
        self.page = None;
        let think = Span::from_secs_f64(self.thinking.exponential(self.think.as_secs_f64()));
        Some(Answer { completed, page: Some(time), ..Answer::new(Action::Nothing, now + think) })
    }
}
