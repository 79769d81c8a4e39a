//! Kinds of traffic that come from outside.
//!
//! A kind of another crate implements [`Plugged`] and is added with [`add`] before the first scenario that names it is
//! read. It is told what happens and says what it [wishes](Wishes). The engine turns that into what an application asks
//! of its sender, keeps the books of transfers, and checks that no wish is out of bounds.
//!
//! ```
//! use sojourn_core::registry::{Descriptor, Params};
//! use sojourn_core::{Span, Stream, Time};
//! use sojourn_traffic::Surroundings;
//! use sojourn_traffic::custom::{self, Plugged, Wishes};
//!
//! /// 10 kB every second.
//! #[derive(Debug)]
//! struct Ticks(Time);
//!
//! impl Plugged for Ticks {
//!     fn start(&mut self, now: Time, wishes: &mut Wishes) {
//!         self.on_timer(now, wishes);
//!     }
//!     fn on_timer(&mut self, now: Time, wishes: &mut Wishes) {
//!         wishes.send(10_000, now);
//!         self.0 = now + Span::from_secs(1);
//!     }
//!     fn timer(&self) -> Option<Time> {
//!         Some(self.0)
//!     }
//! }
//!
//! static TICKS: Descriptor = Descriptor { name: "ticks", summary: "10 kB every second", ..Descriptor::PLAIN };
//! let make = |_: &Params, _: Surroundings, _: &dyn Fn(&str) -> Stream| Ok(Ticks(Time::ZERO));
//! custom::add(&TICKS, make).expect("no built-in kind is called so");
//! ```

#[cfg(test)]
mod tests;

use super::{Action, Activity, Answer, Arrived, Completed, Surroundings};
pub use sojourn_core::plugin::NameTaken;
use sojourn_core::plugin::{self, Added, Failure};
use sojourn_core::registry::{Descriptor, ParameterError, Params};
use sojourn_core::{Stream, Time};
use std::collections::VecDeque;
use std::fmt::Debug;

/// Most payload bytes that a connection is asked to send.
const MAX_BYTES: u64 = 1_000_000_000_000_000;
/// Most calls at one instant: an application that wants more lets no time pass.
const MAX_CALLS: u32 = 10_000;

/// What an application from outside asks for in a call, in this order.
#[derive(Default, Debug)]
pub struct Wishes {
    all: Vec<Wish>,
}

#[derive(Clone, Copy, Debug)]
enum Wish {
    Send { bytes: u64, since: Time },
    SendForever,
    Connect { connection: u32, bytes: Option<u64>, since: Time },
    Pause,
}

impl Wishes {
    /// Send so many payload bytes more over the flow's first connection. The transfer's completion time counts from
    /// `since`: now, or earlier where the bytes had to wait in the application.
    pub fn send(&mut self, bytes: u64, since: Time) {
        self.all.push(Wish::Send { bytes, since });
    }

    /// Send without end over the flow's first connection.
    pub fn send_forever(&mut self) {
        self.all.push(Wish::SendForever);
    }

    /// Send `bytes`, or without end, over a fresh connection in place of connection number `connection`.
    pub fn connect(&mut self, connection: u32, bytes: Option<u64>, since: Time) {
        self.all.push(Wish::Connect { connection, bytes, since });
    }

    /// Send nothing new on any connection. What waits goes on with the next bytes to send.
    pub fn pause(&mut self) {
        self.all.push(Wish::Pause);
    }
}

/// An application from outside, between the start and the stop of its flow.
pub trait Plugged: Debug + Send {
    /// The flow starts.
    fn start(&mut self, now: Time, wishes: &mut Wishes);

    /// The time that [`timer`](Plugged::timer) named has come.
    fn on_timer(&mut self, now: Time, wishes: &mut Wishes);

    /// All that was to be sent over a connection has arrived.
    fn on_arrived(&mut self, _now: Time, _arrived: Arrived, _wishes: &mut Wishes) {}

    /// When [`on_timer`](Plugged::on_timer) wants to be called next.
    fn timer(&self) -> Option<Time> {
        None
    }

    /// What went wrong inside since the last call, for applications whose code may fail.
    fn take_error(&mut self) -> Option<String> {
        None
    }
}

/// What makes applications of one kind.
pub trait Make: Send + Sync + 'static {
    /// An application with `params` of a flow; `stream` makes its random streams, each by its name.
    ///
    /// # Errors
    /// What is wrong with a combination of parameters.
    fn make(
        &self,
        params: &Params,
        about: Surroundings,
        stream: &dyn Fn(&str) -> Stream,
    ) -> Result<Box<dyn Plugged>, ParameterError>;
}

impl<F, P> Make for F
where
    F: Fn(&Params, Surroundings, &dyn Fn(&str) -> Stream) -> Result<P, ParameterError> + Send + Sync + 'static,
    P: Plugged + 'static,
{
    fn make(
        &self,
        params: &Params,
        about: Surroundings,
        stream: &dyn Fn(&str) -> Stream,
    ) -> Result<Box<dyn Plugged>, ParameterError> {
        Ok(Box::new(self(params, about, stream)?))
    }
}

static ADDED: Added<dyn Make> = Added::new(&[]);

/// Adds a kind of traffic. One that was added under the same name before gives way to it. A whole-numbered parameter
/// `connections` says how many connections a flow may have at once; without it there is one.
///
/// # Errors
/// [`NameTaken`] where a built-in kind has the name.
pub fn add(descriptor: &'static Descriptor, make: impl Make) -> Result<(), NameTaken> {
    // First, so that whoever reads a scenario with this kind can run it.
    ADDED.add(descriptor, Box::new(make))?;
    sojourn_scenario::add_traffic(descriptor)
}

/// Takes the kind that was added under this name off the list. Whether there was one.
pub fn remove(name: &str) -> bool {
    // Both, whatever the first says.
    ADDED.remove(name) | sojourn_scenario::remove_traffic(name)
}

/// An application from outside, the books of its transfers, and the check of what it wishes.
#[derive(Debug)]
pub(crate) struct Custom {
    /// What came of making one.
    inside: Result<Box<dyn Plugged>, String>,
    name: &'static str,
    whose: String,
    wishes: Wishes,
    /// What was wished and is not yet asked: one thing at a time.
    actions: VecDeque<Action>,
    connections: Vec<Connection>,
    /// When it was last called by its timer, and how often.
    calls: (Time, u32),
    failed: bool,
}

/// What a connection was asked to send.
#[derive(Clone, Default, Debug)]
struct Connection {
    is_endless: bool,
    /// In all.
    bytes: u64,
    /// What has not arrived yet.
    under_way: Option<Transfer>,
    /// Whether a pause holds a part of it back.
    is_held: bool,
}

#[derive(Clone, Copy, Debug)]
struct Transfer {
    since: Time,
    begun: Time,
    bytes: u64,
}

impl Custom {
    pub fn new(params: &Params, connections: u32, about: Surroundings, stream: &dyn Fn(&str) -> Stream) -> Custom {
        let maker = ADDED.maker(params.descriptor()).expect("the kind was added before the scenario was read");
        Custom {
            inside: maker.make(params, about, stream).map_err(|error| error.rule),
            name: params.descriptor().name,
            whose: String::new(),
            wishes: Wishes::default(),
            actions: VecDeque::new(),
            connections: vec![Connection::default(); connections as usize],
            calls: (Time::NEVER, 0),
            failed: false,
        }
    }

    /// Says whose it is, for messages.
    pub fn belongs_to(&mut self, whose: String) {
        self.whose = whose;
    }

    /// Calls it and takes over what it wishes.
    fn call(&mut self, method: &'static str, now: Time, call: impl FnOnce(&mut dyn Plugged, &mut Wishes)) {
        if self.failed {
            return;
        }
        let inside = match &mut self.inside {
            Ok(inside) => inside,
            Err(error) => {
                let what = std::mem::take(error);
                return self.fail("__init__", now, what);
            }
        };
        call(&mut **inside, &mut self.wishes);
        let (error, timer) = (inside.take_error(), inside.timer());
        let wishes = std::mem::take(&mut self.wishes.all);
        let wrong = error.or_else(|| wishes.into_iter().find_map(|wish| self.take(wish, now).err())).or_else(|| {
            let timer = timer.filter(|&timer| timer < now)?;
            Some(format!("its timer is set to {:.9} s, which is over; allowed: now or later", timer.as_secs_f64()))
        });
        if let Some(what) = wrong {
            self.fail(method, now, what);
        }
    }

    /// Makes an action of a wish.
    fn take(&mut self, wish: Wish, now: Time) -> Result<(), String> {
        let within = |bytes: u64| match bytes {
            1..=MAX_BYTES => Ok(bytes),
            _ => Err(format!("{bytes} bytes to send over a connection; allowed: 1 to {MAX_BYTES}")),
        };
        let begin = |since: Time, bytes| Transfer { since: since.min(now), begun: now, bytes };
        let action = match wish {
            Wish::Send { bytes, since } => {
                let first = &mut self.connections[0];
                if first.is_endless {
                    return Err("more bytes for a connection that sends without end; allowed: a fresh one".to_owned());
                }
                first.bytes = within(first.bytes.saturating_add(within(bytes)?))?;
                first.is_held = false;
                first.under_way.get_or_insert_with(|| begin(since, 0)).bytes += bytes;
                Action::Supply { bytes: first.bytes }
            }
            Wish::SendForever => {
                self.connections[0] = Connection { is_endless: true, ..Connection::default() };
                Action::Endless
            }
            Wish::Connect { connection, bytes, since } => {
                let count = self.connections.len();
                let Some(fresh) = self.connections.get_mut(connection as usize) else {
                    return Err(format!("connection {connection}; allowed: 0 to {}, as `connections` says", count - 1));
                };
                let bytes = bytes.map(within).transpose()?;
                *fresh = Connection {
                    is_endless: bytes.is_none(),
                    bytes: bytes.unwrap_or(0),
                    under_way: bytes.map(|bytes| begin(since, bytes)),
                    is_held: false,
                };
                Action::Connect { connection, bytes }
            }
            Wish::Pause => {
                self.hold();
                Action::Pause
            }
        };
        match (self.actions.back_mut(), action) {
            (Some(last @ Action::Supply { .. }), Action::Supply { .. }) => *last = action,
            _ => self.actions.push_back(action),
        }
        Ok(())
    }

    fn hold(&mut self) {
        self.connections.iter_mut().for_each(|connection| connection.is_held = true);
    }

    /// It is not called again.
    fn fail(&mut self, method: &'static str, now: Time, what: String) {
        self.failed = true;
        self.actions.clear();
        self.actions.push_back(Action::Pause);
        plugin::fail(Failure { plugin: self.name, method, now, whose: self.whose.clone(), what });
    }

    /// The next thing to ask for.
    fn answer(&mut self, now: Time) -> Answer {
        let action = self.actions.pop_front().unwrap_or(Action::Nothing);
        let timer = || self.inside.as_ref().ok().filter(|_| !self.failed)?.timer();
        let next = if self.actions.is_empty() { timer().unwrap_or(Time::NEVER) } else { now };
        Answer::new(action, next)
    }
}

impl Activity for Custom {
    fn start(&mut self, now: Time) -> Answer {
        self.call("start", now, |inside, wishes| inside.start(now, wishes));
        self.answer(now)
    }

    fn on_time(&mut self, now: Time) -> Answer {
        if self.actions.is_empty() {
            let (at, calls) = &mut self.calls;
            *calls = if *at == now { *calls + 1 } else { 1 };
            *at = now;
            if *calls > MAX_CALLS {
                let what = format!("called {MAX_CALLS} times at one instant; allowed: a later time in its timer");
                self.fail("on_timer", now, what);
            } else {
                self.call("on_timer", now, |inside, wishes| inside.on_timer(now, wishes));
            }
        }
        self.answer(now)
    }

    fn on_arrived(&mut self, now: Time, arrived: Arrived) -> Option<Answer> {
        let connection = &mut self.connections[arrived.connection as usize];
        // A transfer that a pause holds back is not whole.
        let whole = if connection.is_held { None } else { connection.under_way.take() };
        let completed = whole.map(|Transfer { since, begun, bytes }| Completed {
            time: now.since(since),
            bytes,
            waited: begun.since(since),
        });
        self.call("on_arrived", now, |inside, wishes| inside.on_arrived(now, arrived, wishes));
        Some(Answer { completed, ..self.answer(now) })
    }

    fn stop(&mut self, _now: Time) {
        self.hold();
    }
}
