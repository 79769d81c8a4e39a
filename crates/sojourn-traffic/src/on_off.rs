//! On and off times.

use super::{Action, Activity, Answer};
use sojourn_core::{Span, Stream, Time};

/// Sends without end while on, and nothing while off.
#[derive(Debug)]
pub struct OnOff {
    on: Span,
    off: Span,
    /// What an off time is followed by.
    again: Action,
    times: Times,
    is_on: bool,
}

/// How long on and off times are.
#[derive(Debug)]
pub enum Times {
    /// Exponential with their means, drawn from this stream.
    Exponential(Stream),
    /// Always their means.
    Fixed,
}

impl OnOff {
    /// On and off times with these means; whether an off time is followed by a fresh connection.
    pub fn new(on: Span, off: Span, fresh: bool, times: Times) -> OnOff {
        let again = if fresh { Action::Connect { connection: 0, bytes: None } } else { Action::Endless };
        OnOff { on, off, again, times, is_on: false }
    }

    /// Goes on or off and draws for how long.
    fn turn(&mut self, is_on: bool, action: Action, now: Time) -> Answer {
        self.is_on = is_on;
        let mean = if is_on { self.on } else { self.off };
        let time = match &mut self.times {
            Times::Exponential(random) => Span::from_secs_f64(random.exponential(mean.as_secs_f64())),
            Times::Fixed => mean,
        };
        Answer::new(action, now + time)
    }
}

impl Activity for OnOff {
    fn start(&mut self, now: Time) -> Answer {
        self.turn(true, Action::Endless, now)
    }

    fn on_time(&mut self, now: Time) -> Answer {
        if self.is_on { self.turn(false, Action::Pause, now) } else { self.turn(true, self.again, now) }
    }
}
