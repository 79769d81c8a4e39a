//! Messages at a constant interval over one connection.

use super::{Action, Activity, Answer, Completed};
use sojourn_core::{Span, Time};
use sojourn_scenario::Messages as Params;

/// Writes a message of constant size at constant intervals, whatever has become of those before it.
#[derive(Debug)]
pub struct Messages {
    size_bytes: u64,
    every: Span,
    /// When the first one was written.
    start: Time,
    written: u64,
    /// How many have arrived whole and in order.
    whole: u64,
}

impl Messages {
    /// Messages as `params` say.
    pub fn new(params: &Params) -> Messages {
        Messages { size_bytes: params.size_bytes, every: params.every, start: Time::ZERO, written: 0, whole: 0 }
    }

    fn write(&mut self, now: Time) -> Answer {
        self.written += 1;
        Answer::new(Action::Supply { bytes: self.written * self.size_bytes }, now + self.every)
    }
}

impl Activity for Messages {
    fn start(&mut self, now: Time) -> Answer {
        self.start = now;
        self.write(now)
    }

    fn on_time(&mut self, now: Time) -> Answer {
        self.write(now)
    }

    fn next_whole(&mut self, now: Time, in_order_bytes: u64) -> Option<Completed> {
        let is_whole = self.whole < self.written && in_order_bytes >= (self.whole + 1) * self.size_bytes;
        is_whole.then(|| {
            let written_at = self.start + Span::from_nanos(self.every.as_nanos() * self.whole);
            self.whole += 1;
            Completed { time: now.since(written_at), bytes: self.size_bytes, waited: Span::ZERO }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three that arrive together are told one by one, each with the time since it was written; a part of one is none.
    #[test]
    fn a_message_is_whole_when_its_last_byte_has_come_in_order() {
        let mut messages = Messages::new(&Params { size_bytes: 100, every: Span::from_millis(10) });
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        assert_eq!(messages.start(at(5)).action, Action::Supply { bytes: 100 });
        let answer = messages.on_time(at(15));
        assert_eq!((answer.action, answer.next), (Action::Supply { bytes: 200 }, at(25)));
        messages.on_time(at(25));
        assert!(messages.next_whole(at(26), 99).is_none());
        let mut found = Vec::new();
        while let Some(completed) = messages.next_whole(at(40), 299) {
            found.push((completed.time.as_millis_f64(), completed.bytes));
        }
        assert_eq!(found, [(35.0, 100), (25.0, 100)]);
        assert_eq!(messages.next_whole(at(41), 300).map(|last| last.time), Some(Span::from_millis(16)));
        assert!(messages.next_whole(at(42), 1000).is_none(), "no more were written");
    }
}
