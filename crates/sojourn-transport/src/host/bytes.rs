//! Byte queue limits: how much a host gives to its network card.
//!
//! Dynamic queue limits of Linux 6.1 (`lib/dynamic_queue_limits.c`): the limit grows by what the card sent while it ran dry for
//! want of more, and falls by the least slack of a second in which it never did. Names of fields stand beside those here.

use sojourn_core::{Span, Time};

/// How long slack is watched before the limit falls (`slack_hold_time`, HZ).
const HOLD: Span = Span::from_secs(1);

/// The state of `struct dql`. All counts are in bytes.
#[derive(Clone, Debug)]
pub struct ByteLimit {
    /// `num_queued`, `num_completed`.
    queued: u64,
    completed: u64,
    limit: u64,
    /// `adj_limit`: as much may have been queued in all.
    most_queued: u64,
    /// `last_obj_cnt`.
    last: u64,
    /// As of the last completion: `prev_num_queued`, `prev_last_obj_cnt`, `prev_ovlimit`.
    before: Before,
    /// `lowest_slack`; none since the last change.
    lowest_slack: Option<u64>,
    /// `slack_start_time`.
    watched_since: Time,
}

#[derive(Clone, Copy, Default, Debug)]
struct Before {
    queued: u64,
    last: u64,
    over: u64,
}

impl Default for ByteLimit {
    fn default() -> ByteLimit {
        ByteLimit {
            queued: 0,
            completed: 0,
            limit: 0,
            most_queued: 0,
            last: 0,
            before: Before::default(),
            lowest_slack: None,
            watched_since: Time::ZERO,
        }
    }
}

impl ByteLimit {
    /// Whether the card takes another packet (`dql_avail`): the one that exceeds the limit is let in.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.queued <= self.most_queued
    }

    /// Bytes that may wait.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The card takes a packet of so many bytes (`dql_queued`).
    pub fn on_queued(&mut self, bytes: u32) {
        self.last = u64::from(bytes);
        self.queued += self.last;
    }

    /// The card reports that it has sent so many bytes more (`dql_completed`).
    pub fn on_completed(&mut self, bytes: u64, now: Time) {
        let completed = self.completed + bytes;
        debug_assert!(completed <= self.queued, "more bytes sent than queued");
        let over = (self.queued - self.completed).saturating_sub(self.limit);
        let waiting = self.queued > completed;
        let was_waiting = self.before.queued > self.completed;
        let all_before = completed >= self.before.queued;
        let mut limit = self.limit;
        if (over > 0 && !waiting) || (self.before.over > 0 && all_before) {
            // The card ran dry, or may have.
            limit += completed.saturating_sub(self.before.queued) + self.before.over;
            self.watch(now);
        } else if waiting && was_waiting && !all_before {
            // It was busy all the time: what it had beyond need?
            let slack = (limit + self.before.over).saturating_sub(2 * bytes);
            let of_last = if self.before.over > 0 { self.before.last.saturating_sub(self.before.over) } else { 0 };
            let slack = slack.max(of_last);
            let lowest = self.lowest_slack.map_or(slack, |lowest| lowest.min(slack));
            self.lowest_slack = Some(lowest);
            if now > self.watched_since + HOLD {
                limit = limit.saturating_sub(lowest);
                self.watch(now);
            }
        }
        let over = if limit == self.limit { over } else { 0 };
        self.limit = limit;
        self.most_queued = limit + completed;
        self.before = Before { queued: self.queued, last: self.last, over };
        self.completed = completed;
    }

    fn watch(&mut self, now: Time) {
        self.watched_since = now;
        self.lowest_slack = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A full packet with its header of Ethernet.
    const PACKET: u32 = 1514;

    /// Fills the card with packets of `PACKET` bytes; how many it took.
    fn fill(limit: &mut ByteLimit) -> u32 {
        let mut taken = 0;
        while limit.has_room() {
            limit.on_queued(PACKET);
            taken += 1;
        }
        taken
    }

    fn millis(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// By hand, from `dql_completed`, with one report for each packet. The first packet finds no limit and leaves the card dry:
    /// the limit grows by it. Two go in then, of which the second is over the limit; the card does not run dry any more, and with the
    /// last report of those two the over-limit of before counts once more: 2 packets, of which 3 may be in the card.
    #[test]
    fn a_card_that_reports_each_packet_gets_two() {
        let mut limit = ByteLimit::default();
        let mut found = vec![];
        for step in 0..7 {
            let taken = fill(&mut limit);
            limit.on_completed(u64::from(PACKET), millis(step));
            found.push((taken, limit.limit() / u64::from(PACKET)));
        }
        assert_eq!(found, [(1, 1), (2, 1), (1, 2), (2, 2), (1, 2), (1, 2), (1, 2)]);
    }

    /// A card that reports four packets at once runs dry until the limit covers what it sends in between: it grows by what was sent
    /// beyond what had been queued before, and once more by what the last packet was over the limit.
    #[test]
    fn reports_in_batches_raise_the_limit() {
        let mut limit = ByteLimit::default();
        let mut found = vec![];
        let mut waiting = 0;
        for step in 0..8 {
            waiting += fill(&mut limit);
            let sent = waiting.min(4);
            waiting -= sent;
            limit.on_completed(u64::from(sent * PACKET), millis(step));
            found.push((sent, limit.limit() / u64::from(PACKET)));
        }
        assert_eq!(found, [(1, 1), (2, 3), (4, 7), (4, 7), (4, 8), (4, 8), (4, 8), (4, 8)]);
    }

    /// A limit of 7 packets of which each report frees one has a slack of 7 + 1 - 2 packets all the time. It falls by the least slack
    /// after more than a second, not before.
    #[test]
    fn slack_lowers_the_limit_after_a_second() {
        let mut limit =
            ByteLimit { limit: 7 * u64::from(PACKET), most_queued: 7 * u64::from(PACKET), ..ByteLimit::default() };
        let mut found = vec![];
        for step in 0..12 {
            fill(&mut limit);
            limit.on_completed(u64::from(PACKET), millis(100 * step));
            found.push(limit.limit() / u64::from(PACKET));
        }
        assert_eq!(found, [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 1]);
    }

    /// Packets of six sizes and reports of one to five of them every 130 ms, beside what the kernel's own function makes of the same:
    /// packets taken, bytes reported and the limit after that. It rises four times, falls once, and rises again.
    #[test]
    fn it_decides_as_the_kernel() {
        const SIZES: [u32; 6] = [1514, 66, 9014, 1514, 4410, 600];
        let mut limit = ByteLimit::default();
        let (mut found, mut taken, mut sent) = (vec![], 0, 0);
        for step in 0..20 {
            let before = taken;
            while limit.has_room() {
                limit.on_queued(SIZES[taken % 6]);
                taken += 1;
            }
            let until = (sent + (step * 7 + 3) % 5 + 1).min(taken);
            let bytes = (sent..until).map(|number| u64::from(SIZES[number % 6])).sum();
            sent = until;
            limit.on_completed(bytes, millis(130 * step as u64));
            found.push((taken - before, bytes, limit.limit()));
        }
        let kernel = [
            (1, 1514, 1514),
            (2, 66, 1514),
            (0, 9014, 9080),
            (6, 8104, 9080),
            (1, 10528, 18632),
            (7, 6590, 18632),
            (4, 9014, 18632),
            (2, 6524, 18632),
            (3, 16518, 23042),
            (7, 2114, 23042),
            (0, 15004, 23042),
            (6, 600, 23042),
            (0, 10594, 23042),
            (3, 8104, 23042),
            (3, 10528, 23042),
            (4, 6590, 23042),
            (2, 9014, 20456),
            (2, 6524, 20456),
            (4, 16518, 23042),
            (6, 2114, 23042),
        ];
        assert_eq!(found, kernel);
    }

    /// Nothing queued and nothing sent changes nothing, however long it lasts.
    #[test]
    fn an_idle_card_keeps_its_limit() {
        let mut limit = ByteLimit::default();
        for step in 0..5 {
            fill(&mut limit);
            limit.on_completed(u64::from(PACKET), millis(step));
        }
        let before = limit.limit();
        while limit.completed < limit.queued {
            limit.on_completed(u64::from(PACKET), millis(10));
        }
        limit.on_completed(0, millis(100_000));
        assert_eq!(limit.limit(), before);
    }

    proptest! {
        /// The card always takes another packet once all was sent, and never holds more than the limit and one packet.
        #[test]
        fn it_never_stops_for_good(steps in prop::collection::vec((1u32..64_000, 1u64..20, 1u64..400), 1..300)) {
            let mut limit = ByteLimit::default();
            let mut waiting = std::collections::VecDeque::new();
            let mut now = Time::ZERO;
            for (bytes, sent, later) in steps {
                now += Span::from_millis(later);
                while limit.has_room() {
                    prop_assert!(limit.queued - limit.completed <= limit.limit());
                    limit.on_queued(bytes);
                    waiting.push_back(u64::from(bytes));
                }
                let done: u64 = (0..sent).map_while(|_| waiting.pop_front()).sum();
                limit.on_completed(done, now);
                prop_assert!(!waiting.is_empty() || limit.has_room());
            }
        }
    }
}
