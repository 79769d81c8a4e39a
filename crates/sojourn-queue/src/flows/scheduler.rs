//! Deficit round robin with a list of new flows before that of old flows (RFC 8290 section 4).

use super::{ActiveList, Links, Turns};
use alloc::vec::Vec;
use sojourn_core::choices;

/// The lists of new and of old flows, and the deficit of each.
#[derive(Debug)]
pub(crate) struct FlowScheduler {
    quantum: i64,
    empty_new: EmptyNew,
    new: ActiveList,
    old: ActiveList,
    links: Links,
    flows: Vec<FlowState>,
}

choices! {
    /// What happens to a new flow whose queue is found empty.
    pub(crate) enum EmptyNew {
        /// It goes to the end of the old flows (RFC 8290).
        Wait = "wait",
        /// It does so only where there are old flows (Linux).
        WaitUnlessAlone = "wait-unless-alone",
    }
}

/// The flow that sends next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ScheduledFlow {
    /// The bucket of its queue.
    pub(crate) bucket: usize,
    /// Whether it is in the list of new flows.
    pub(crate) new: bool,
}

/// What is remembered of a flow.
#[derive(Clone, Copy, Debug)]
struct FlowState {
    /// Whether it is in one of the lists.
    active: bool,
    /// Bytes that it may still send in this round; below zero by at most a packet.
    deficit: i64,
}

impl FlowScheduler {
    /// The scheduler that `turns` describe on a link with full packets of so many bytes.
    pub(crate) fn new(turns: &Turns, full_packet: u32) -> FlowScheduler {
        FlowScheduler::with(i64::from(turns.quantum.unwrap_or(full_packet)), turns.empty_new)
    }

    /// A scheduler that adds `quantum` bytes to a deficit in each round.
    pub(crate) fn with(quantum: i64, empty_new: EmptyNew) -> FlowScheduler {
        let (new, old) = (ActiveList::default(), ActiveList::default());
        FlowScheduler { quantum, empty_new, new, old, links: Links::default(), flows: Vec::new() }
    }

    /// The quantum and the rule for empty flows are those of `fresh` from now on.
    pub(crate) fn retune(&mut self, fresh: &FlowScheduler) {
        (self.quantum, self.empty_new) = (fresh.quantum, fresh.empty_new);
    }

    /// How many flows are new.
    pub(crate) fn new_flows(&self) -> usize {
        self.new.len()
    }

    /// How many flows are old.
    pub(crate) fn old_flows(&self) -> usize {
        self.old.len()
    }

    /// `bucket` has a packet: it becomes a new flow unless it is in a list already.
    #[inline]
    pub(crate) fn activate(&mut self, bucket: usize) {
        if self.becomes_active(bucket) {
            self.new.push_back(bucket, &mut self.links);
        }
    }

    /// `bucket` has a packet: it becomes an old flow unless it is in a list already.
    #[inline]
    pub(crate) fn activate_old(&mut self, bucket: usize) {
        if self.becomes_active(bucket) {
            self.old.push_back(bucket, &mut self.links);
        }
    }

    /// Gives `bucket` a full quantum unless it is in a list already, and says whether it did.
    #[inline]
    fn becomes_active(&mut self, bucket: usize) -> bool {
        if bucket >= self.flows.len() {
            self.flows.resize(bucket + 1, FlowState { active: false, deficit: 0 });
        }
        let flow = &mut self.flows[bucket];
        let joins = !flow.active;
        if joins {
            *flow = FlowState { active: true, deficit: self.quantum };
        }
        joins
    }

    /// The flow that sends next. A flow without deficit gets a quantum and goes to the end of the old flows.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<ScheduledFlow> {
        loop {
            let new = self.new.head();
            let bucket = new.or(self.old.head())?;
            let flow = &mut self.flows[bucket];
            if flow.deficit > 0 {
                return Some(ScheduledFlow { bucket, new: new.is_some() });
            }
            flow.deficit += self.quantum;
            match new {
                Some(_) => self.move_to_old(bucket),
                None => self.old.rotate(&self.links),
            }
        }
    }

    /// `flow` has sent so many bytes.
    #[inline]
    pub(crate) fn charge(&mut self, flow: ScheduledFlow, bytes: u32) {
        self.flows[flow.bucket].deficit -= i64::from(bytes);
    }

    /// The queue of `flow` is empty.
    #[inline]
    pub(crate) fn found_empty(&mut self, ScheduledFlow { bucket, new }: ScheduledFlow) {
        if new && (self.empty_new == EmptyNew::Wait || self.old.len() > 0) {
            self.move_to_old(bucket);
        } else {
            let list = if new { &mut self.new } else { &mut self.old };
            list.remove(bucket, &mut self.links);
            self.flows[bucket].active = false;
        }
    }

    /// A new flow becomes the last of the old flows.
    #[inline]
    fn move_to_old(&mut self, bucket: usize) {
        self.new.remove(bucket, &mut self.links);
        self.old.push_back(bucket, &mut self.links);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheduler(empty_new: EmptyNew) -> FlowScheduler {
        FlowScheduler::with(1000, empty_new)
    }

    /// Lets every flow send packets of its size for ever; returns the order in which they send.
    fn serve(scheduler: &mut FlowScheduler, sizes: &[u32], times: usize) -> Vec<usize> {
        let mut order = Vec::new();
        for _ in 0..times {
            let flow = scheduler.next().unwrap();
            scheduler.charge(flow, sizes[flow.bucket]);
            order.push(flow.bucket);
        }
        order
    }

    #[test]
    fn a_turn_lasts_until_the_quantum_is_used_up() {
        let mut scheduler = scheduler(EmptyNew::Wait);
        (0..3).for_each(|bucket| scheduler.activate(bucket));
        // 1000 is used up by one packet of 1000, by three of 400 (then 200 are owed), by one of 1500 (500 are owed).
        assert_eq!(serve(&mut scheduler, &[1000, 400, 1500], 5), [0, 1, 1, 1, 2]);
        assert_eq!((scheduler.new_flows(), scheduler.old_flows()), (1, 2));
        // Now all are old: 1000; 800 and so two; 500 and so one; then 1000, 1000, and none for the third, which owes.
        assert_eq!(serve(&mut scheduler, &[1000, 400, 1500], 8), [0, 1, 1, 2, 0, 1, 1, 1]);
        assert_eq!(scheduler.next(), Some(ScheduledFlow { bucket: 0, new: false }));
    }

    #[test]
    fn bytes_are_shared_alike_whatever_their_packets() {
        let sizes = [1500, 40, 576, 1200];
        let mut scheduler = scheduler(EmptyNew::Wait);
        (0..4).for_each(|bucket| scheduler.activate(bucket));
        let mut sent = [0i64; 4];
        for _ in 0..20_000 {
            let flow = scheduler.next().unwrap();
            scheduler.charge(flow, sizes[flow.bucket]);
            sent[flow.bucket] += i64::from(sizes[flow.bucket]);
            // Shreedhar and Varghese: no more than a quantum and two packets apart, ever.
            let (min, max) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
            assert!(max - min <= 1000 + 2 * 1500, "{sent:?}");
        }
    }

    #[test]
    fn new_buckets_go_first_and_once() {
        let mut scheduler = scheduler(EmptyNew::Wait);
        scheduler.activate(0);
        assert_eq!(serve(&mut scheduler, &[600, 600], 3), [0, 0, 0]);
        scheduler.activate(1);
        scheduler.activate(0);
        assert_eq!(scheduler.next(), Some(ScheduledFlow { bucket: 1, new: true }));
        assert_eq!(serve(&mut scheduler, &[600, 600], 5), [1, 1, 0, 1, 1]);
    }

    #[test]
    fn a_new_bucket_does_not_stay_new_by_pausing() {
        // Bucket 0 is old, bucket 1 new and empty after its packet: it has to wait for bucket 0.
        for (rule, alone) in [(EmptyNew::Wait, false), (EmptyNew::WaitUnlessAlone, false), (EmptyNew::Wait, true)] {
            let mut scheduler = scheduler(rule);
            if !alone {
                scheduler.activate(0);
                let flow = scheduler.next().unwrap();
                scheduler.charge(flow, 1000);
                scheduler.next().unwrap();
            }
            scheduler.activate(1);
            let flow = scheduler.next().unwrap();
            assert_eq!(flow, ScheduledFlow { bucket: 1, new: true });
            scheduler.found_empty(flow);
            scheduler.activate(1);
            assert_eq!(scheduler.new_flows(), 0, "{rule:?}");
            assert_eq!(scheduler.next().map(|flow| flow.bucket), Some(usize::from(alone)));
        }
        // Linux lets it be new again where there was nobody to wait for.
        let mut scheduler = scheduler(EmptyNew::WaitUnlessAlone);
        scheduler.activate(1);
        let flow = scheduler.next().unwrap();
        scheduler.charge(flow, 900);
        let flow = scheduler.next().unwrap();
        scheduler.found_empty(flow);
        assert_eq!(scheduler.next(), None);
        scheduler.activate(1);
        assert_eq!(scheduler.next(), Some(ScheduledFlow { bucket: 1, new: true }));
        assert_eq!(scheduler.flows[1].deficit, 1000, "with a fresh quantum");
    }

    #[test]
    fn an_old_bucket_that_is_empty_leaves() {
        let mut scheduler = scheduler(EmptyNew::Wait);
        scheduler.activate(0);
        scheduler.activate(1);
        serve(&mut scheduler, &[1000, 1000], 2);
        let flow = scheduler.next().unwrap();
        assert_eq!(flow, ScheduledFlow { bucket: 0, new: false });
        scheduler.found_empty(flow);
        assert_eq!(serve(&mut scheduler, &[1000, 1000], 2), [1, 1]);
        scheduler.activate(0);
        assert_eq!(scheduler.next(), Some(ScheduledFlow { bucket: 0, new: true }));
    }
}
