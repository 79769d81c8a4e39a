//! What applications do: one file for each kind.
//!
//! An application is told when the time it named has come and when all it supplied has arrived, and answers with
//! what it asks of its sender and when it wants to be told next. Its own start and stop are looked after here.
//!
//! **To add a kind:** write its file with an [`Activity`], one line in the list below and one in [`activity`], and
//! its section in the scenario format.

mod bulk;
mod datagrams;
mod on_off;

pub use datagrams::{Datagrams, Spacing};

use bulk::Bulk;
use on_off::OnOff;
use sojourn_core::{Span, Stream, Time};
use sojourn_scenario::Traffic;

/// What an application asks of its sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Nothing.
    Nothing,
    /// Send without end.
    Endless,
    /// Have sent so many bytes since the start of the flow, and no more for now.
    Supply(u64),
    /// Send nothing new.
    Pause,
    /// Send without end again, with a fresh window.
    Resume,
}

/// What an application answers.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// What it asks of its sender.
    pub action: Action,
    /// When it wants to be told next.
    pub next: Time,
    /// How long a transfer took, where one has just ended.
    pub completed: Option<Span>,
}

impl Answer {
    /// Asks for `action`, and to be told at `next`.
    fn new(action: Action, next: Time) -> Answer {
        Answer { action, next, completed: None }
    }
}

/// How an application of some kind behaves between its start and its stop.
trait Activity {
    /// The flow starts.
    fn start(&mut self, now: Time) -> Answer;

    /// The time named by the last answer has come.
    fn on_time(&mut self, now: Time) -> Answer;

    /// All that was supplied has arrived, `delivered_bytes` since the start of the flow. No answer leaves all as it is.
    fn on_arrived(&mut self, _now: Time, _delivered_bytes: u64) -> Option<Answer> {
        None
    }
}

/// Makes an enumeration of the kinds, which passes every call on to the kind it holds.
macro_rules! kinds {
    ($($name:ident($kind:ty)),+ $(,)?) => {
        /// An application of any kind.
        #[derive(Debug)]
        enum AnyActivity {
            $($name($kind)),+
        }

        impl Activity for AnyActivity {
            fn start(&mut self, now: Time) -> Answer {
                match self { $(AnyActivity::$name(kind) => kind.start(now)),+ }
            }

            fn on_time(&mut self, now: Time) -> Answer {
                match self { $(AnyActivity::$name(kind) => kind.on_time(now)),+ }
            }

            fn on_arrived(&mut self, now: Time, delivered_bytes: u64) -> Option<Answer> {
                match self { $(AnyActivity::$name(kind) => kind.on_arrived(now, delivered_bytes)),+ }
            }
        }
    };
}

kinds! {
    Bulk(Bulk),
    OnOff(OnOff),
}

/// The activity of one flow with `traffic`; `stream` makes its random streams.
fn activity(traffic: &Traffic, stream: impl Fn(&str) -> Stream) -> AnyActivity {
    match *traffic {
        Traffic::Bulk { size_bytes } => AnyActivity::Bulk(Bulk::new(size_bytes)),
        Traffic::Cbr { .. } => AnyActivity::Bulk(Bulk::new(None)),
        Traffic::OnOff { on, off } => AnyActivity::OnOff(OnOff::new(on, off, stream("on-off"))),
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
    pub fn new(traffic: &Traffic, start: Time, stop: Time, stream: impl Fn(&str) -> Stream) -> Application {
        Application { next: start, stop, state: State::Waiting, activity: activity(traffic, stream) }
    }

    /// The time named by `next` has come.
    pub fn act(&mut self, now: Time) -> Action {
        if now >= self.stop {
            self.state = State::Stopped;
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

    /// All that was supplied has arrived, `delivered_bytes` since the start of the flow. What it asks of its sender,
    /// and how long a transfer took that has ended with it.
    pub fn on_arrived(&mut self, now: Time, delivered_bytes: u64) -> (Action, Option<Span>) {
        match self.activity.on_arrived(now, delivered_bytes) {
            None => (Action::Nothing, None),
            // What had been sent when the flow stopped still arrives, and leads to nothing more.
            Some(answer) if self.state == State::Stopped => (Action::Nothing, answer.completed),
            Some(answer) => {
                self.next = answer.next.min(self.stop);
                (answer.action, answer.completed)
            }
        }
    }
}
