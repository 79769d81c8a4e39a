//! What applications do: one file for each kind. They know neither the simulator nor a socket.
//!
//! An application is told when the time it named has come and when all it supplied has arrived, and answers with
//! what it asks of its sender and when it wants to be told next. Its own start and stop are looked after here.
//!
//! **To add a kind:** write its file with an `Activity`, one line in the list below and one in `activity`, and
//! its section in the scenario format.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod bulk;
pub mod custom;
mod datagrams;
pub mod e_model;
mod messages;
mod on_off;
mod padding;
mod sizes;
mod train;
mod transfers;
pub mod video;
pub mod voip;
mod web;

pub use datagrams::{Datagrams, Spacing};
pub use padding::Padding;
pub use train::{TrainEnd, Trains};

use bulk::Bulk;
use messages::Messages;
use on_off::{OnOff, Times};
use sizes::Draw;
use sojourn_core::{Span, Stream, Time};
use sojourn_scenario::{self as scenario, Traffic};
use transfers::Transfers;
use video::Video;
use web::Web;

/// What an application asks of its sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Nothing.
    Nothing,
    /// Send without end.
    Endless,
    /// Have sent so many bytes since the first connection began, and no more for now.
    Supply {
        /// That many.
        bytes: u64,
    },
    /// Send so many bytes over a fresh connection, which replaces one: what that had not delivered is given up.
    Connect {
        /// Which of the flow's connections is replaced.
        connection: u32,
        /// That many; `None` without end.
        bytes: Option<u64>,
    },
    /// Let the receiver ask for bytes, and send them when the request has come.
    Fetch(Fetch),
    /// Send nothing new on any connection.
    Pause,
}

/// What a receiver asks of its sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fetch {
    /// Over which of the flow's connections.
    pub connection: u32,
    /// Whether a fresh connection replaces it.
    pub fresh: bool,
    /// Payload bytes of the request.
    pub request_bytes: u32,
    /// How many bytes shall have been sent since the connection began.
    pub bytes: u64,
}

/// What an application answers.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// What it asks of its sender.
    pub action: Action,
    /// When it wants to be told next.
    pub next: Time,
    /// The transfer that has just ended, where one has.
    pub completed: Option<Completed>,
    /// The page that has just ended, where one has.
    pub page: Option<Span>,
}

/// A transfer that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Completed {
    /// How long it took.
    pub time: Span,
    /// Its payload bytes.
    pub bytes: u64,
    /// How long of that time it waited for a connection.
    pub waited: Span,
}

impl Answer {
    /// Asks for `action`, and to be told at `next`.
    fn new(action: Action, next: Time) -> Answer {
        Answer { action, next, completed: None, page: None }
    }
}

/// All that was supplied to a connection has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// Which of the flow's connections.
    pub connection: u32,
    /// Payload bytes that arrived over it and all that it replaced, since the start of the flow.
    pub delivered_bytes: u64,
}

/// How an application of some kind behaves between its start and its stop.
trait Activity {
    /// The flow starts.
    fn start(&mut self, now: Time) -> Answer;

    /// The time named by the last answer has come.
    fn on_time(&mut self, now: Time) -> Answer;

    /// All that was supplied to a connection has arrived. No answer leaves all as it is.
    fn on_arrived(&mut self, _now: Time, _arrived: Arrived) -> Option<Answer> {
        None
    }

    /// The next message that is whole, where so many bytes have arrived in order; to be asked again until none is.
    fn next_whole(&mut self, _now: Time, _in_order_bytes: u64) -> Option<Completed> {
        None
    }

    /// The flow stops.
    fn stop(&mut self, _now: Time) {}
}

/// Makes an enumeration of the kinds, which passes every call on to the kind it holds.
macro_rules! kinds {
    ($($(#[$when:meta])? $name:ident($kind:ty)),+ $(,)?) => {
        /// An application of any kind.
        #[derive(Debug)]
        enum AnyActivity {
            $($(#[$when])? $name($kind)),+
        }

        impl Activity for AnyActivity {
            fn start(&mut self, now: Time) -> Answer {
                match self { $($(#[$when])? AnyActivity::$name(kind) => kind.start(now)),+ }
            }

            fn on_time(&mut self, now: Time) -> Answer {
                match self { $($(#[$when])? AnyActivity::$name(kind) => kind.on_time(now)),+ }
            }

            fn on_arrived(&mut self, now: Time, arrived: Arrived) -> Option<Answer> {
                match self { $($(#[$when])? AnyActivity::$name(kind) => kind.on_arrived(now, arrived)),+ }
            }

            fn next_whole(&mut self, now: Time, in_order_bytes: u64) -> Option<Completed> {
                match self { $($(#[$when])? AnyActivity::$name(kind) => kind.next_whole(now, in_order_bytes)),+ }
            }

            fn stop(&mut self, now: Time) {
                match self { $($(#[$when])? AnyActivity::$name(kind) => kind.stop(now)),+ }
            }
        }
    };
}

kinds! {
    Bulk(Bulk),
    OnOff(Box<OnOff>),
    Messages(Box<Messages>),
    Video(Box<Video>),
    Transfers(Box<Transfers>),
    Web(Box<Web>),
    Custom(Box<custom::Custom>),
}

/// What an application may know of its flow.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// Payload bytes of a full packet.
    pub payload_bytes: u32,
    /// How long a request takes from the receiver to the sender where nothing waits.
    pub request: Span,
}

/// The activity of one flow with `traffic`; `stream` makes its random streams.
fn activity(traffic: &Traffic, about: Surroundings, stream: impl Fn(&str) -> Stream) -> AnyActivity {
    match traffic {
        Traffic::Bulk(bulk) => AnyActivity::Bulk(Bulk::new(bulk.size_bytes)),
        Traffic::Cbr(_) | Traffic::Ping(_) | Traffic::Train(_) | Traffic::Padding(_) | Traffic::Program(_) => {
            AnyActivity::Bulk(Bulk::new(None))
        }
        Traffic::OnOff(spec) => {
            let times = match spec.times {
                scenario::Times::Fixed => Times::Fixed,
                scenario::Times::Exponential => Times::Exponential(stream("on-off")),
            };
            let is_fresh = spec.connection == scenario::AfterOff::Fresh;
            AnyActivity::OnOff(Box::new(OnOff::new(spec.on, spec.off, is_fresh, times)))
        }
        Traffic::Messages(messages) => AnyActivity::Messages(Box::new(Messages::new(messages))),
        Traffic::Voip(voip) => match voip.spurts {
            None => AnyActivity::Bulk(Bulk::new(None)),
            Some((talk, pause)) => {
                let times = Times::Exponential(stream("talk"));
                AnyActivity::OnOff(Box::new(OnOff::new(talk, pause, false, times)))
            }
        },
        Traffic::Transfers(spec) => {
            let sizes = Draw::new(spec.sizes, stream("sizes"));
            AnyActivity::Transfers(Box::new(Transfers::new(spec.interval, sizes, spec.connections, stream("arrivals"))))
        }
        Traffic::Web(web) => AnyActivity::Web(Box::new(Web::new(web, about.payload_bytes, stream))),
        Traffic::Video(video) => {
            AnyActivity::Video(Box::new(Video::new(video.clone(), about.payload_bytes, about.request)))
        }
        Traffic::Custom(params) => {
            AnyActivity::Custom(Box::new(custom::Custom::new(params, traffic.connections(), about, &stream)))
        }
    }
}

/// The application of a flow.
#[derive(Debug)]
pub struct Application {
    /// When it acts next.
    pub next: Time,
    stop: Time,
    state: State,
    activity: AnyActivity,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Waiting,
    Started,
    Stopped,
}

impl Application {
    /// An application with `traffic` from `start` to `stop`; `stream` makes its random streams.
    pub fn new(
        traffic: &Traffic,
        about: Surroundings,
        (start, stop): (Time, Time),
        stream: impl Fn(&str) -> Stream,
    ) -> Application {
        Application { next: start, stop, state: State::Waiting, activity: activity(traffic, about, stream) }
    }

    /// Says whose it is, for the messages of one from outside; `whose` is only asked for there.
    pub fn belongs_to(&mut self, whose: impl FnOnce() -> String) {
        if let AnyActivity::Custom(custom) = &mut self.activity {
            custom.belongs_to(whose());
        }
    }

    /// Its stream of video, where it is one.
    pub fn video(&self) -> Option<&Video> {
        if let AnyActivity::Video(video) = &self.activity { Some(video) } else { None }
    }

    /// The warm-up is over.
    pub fn begin_measuring(&mut self, now: Time) {
        if let AnyActivity::Video(video) = &mut self.activity {
            video.begin_measuring(now);
        }
    }

    /// The time named by `next` has come.
    pub fn act(&mut self, now: Time) -> Action {
        if now >= self.stop {
            self.state = State::Stopped;
            self.activity.stop(now);
            self.next = Time::NEVER;
            return Action::Pause;
        }
        let answer = match self.state {
            State::Waiting => self.activity.start(now),
            State::Started | State::Stopped => self.activity.on_time(now),
        };
        self.state = State::Started;
        self.next = answer.next.min(self.stop);
        answer.action
    }

    /// The next message that is whole, where so many bytes have arrived in order; to be asked again until none is.
    pub fn next_whole(&mut self, now: Time, in_order_bytes: u64) -> Option<Completed> {
        self.activity.next_whole(now, in_order_bytes)
    }

    /// All that was supplied to a connection has arrived. What it asks for, and what has ended with it; no answer
    /// leaves all as it is.
    pub fn on_arrived(&mut self, now: Time, arrived: Arrived) -> Option<Answer> {
        let answer = self.activity.on_arrived(now, arrived)?;
        if self.state == State::Stopped {
            // What had been sent when the flow stopped still arrives, and leads to nothing more.
            return Some(Answer { action: Action::Nothing, ..answer });
        }
        self.next = answer.next.min(self.stop);
        Some(answer)
    }
}
