//! Data without end, or one transfer.

use super::{Action, Activity, Answer, Arrived, Completed};
use sojourn_core::{Span, Time};

/// Always has data, or so many bytes.
#[derive(Debug)]
pub struct Bulk {
    size_bytes: Option<u64>,
    start: Time,
}

impl Bulk {
    /// A transfer of `size_bytes`, or one without end.
    pub fn new(size_bytes: Option<u64>) -> Bulk {
        Bulk { size_bytes, start: Time::ZERO }
    }
}

impl Activity for Bulk {
    fn start(&mut self, now: Time) -> Answer {
        self.start = now;
        let supply = |bytes| Action::Supply { bytes };
        Answer::new(self.size_bytes.map_or(Action::Endless, supply), Time::NEVER)
    }

    fn on_time(&mut self, _now: Time) -> Answer {
        unreachable!("a bulk transfer acts once")
    }

    fn on_arrived(&mut self, now: Time, Arrived { delivered_bytes, .. }: Arrived) -> Option<Answer> {
        // A transfer that was stopped has no completion time.
        let is_whole = self.size_bytes == Some(delivered_bytes);
        let completed =
            is_whole.then(|| Completed { time: now.since(self.start), bytes: delivered_bytes, waited: Span::ZERO });
        Some(Answer { completed, ..Answer::new(Action::Nothing, Time::NEVER) })
    }
}
