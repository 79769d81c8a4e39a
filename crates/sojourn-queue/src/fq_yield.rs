//! FQ-Yield: FQ-CoDel that serves flows after the others which yield to delay. Sojourn's own; nobody else has it.
//!
//! Under fair queueing a scavenger sees its own short queue only, and has no reason to yield. Here the queue asks. A flow
//! that has kept a backlog for a second is *probed* now and then: each of its packets waits for the deferral, 150 ms,
//! which is more than any scavenger accepts. If the flow's backlog becomes shorter meanwhile, without any loss, it
//! *yields*; if it grows or stays, the flow *pushes*, goes back to its fair share at once, and is left alone for a
//! pause that doubles each time (`evidence.rs`).
//!
//! A flow that yields is served when no other flow waits, so that an idle link is its own. A packet of it that has waited
//! for the deferral, which grows to 600 ms, takes a fair turn, so that it never starves. It is watched all the time; when it
//! pushes, it is back in front.
//!
//! No packet is ever served before its flow's fair turn in FQ-CoDel. So there is nothing to be gained by pretending to
//! yield, and a flow in front loses nothing by those behind. What a flow in front can lose is a part of what it would have
//! sent while it is probed. That is no longer than twenty deferrals, and one flow in four at most is probed at a time. The
//! link may idle while only probed flows wait; when nobody in front has sent for CoDel's interval, the probes end without a
//! verdict. A sparse flow is in front, too, and can keep them going.

mod descriptor;
mod evidence;
#[cfg(test)]
mod tests;

pub use descriptor::DESCRIPTOR;
use descriptor::Parameters;

use crate::codel::law::{self, CoDelController, CoDelLaw, Source};
use crate::flows::{self, End, FlowQueues, FlowScheduler, Longest, Ranking, Turns};
use crate::hash::FlowHash;
use crate::{Discipline, Limit, LinkProperties, Packet, Sink, advice};
use alloc::format;
use alloc::vec::Vec;
use core::cmp::Reverse;
use evidence::{Evidence, Shown};
use sojourn_core::registry::{Advice, ParameterError, Params};
use sojourn_core::{Span, Stream, Time};

/// A flow is probed when it has had a backlog for so long, with gaps no longer than `GAP`: a short transfer never is.
const SETTLED: Span = Span::from_secs(1);
const GAP: Span = Span::from_millis(250);
/// A flow that sends nothing for so long is forgotten: its bucket may be another's.
const MEMORY: Span = Span::from_secs(1);
/// A probe that has no verdict after so many deferrals has none. Evidence that comes needs at most twelve and some waiting.
const MAX_PROBE: u64 = 20;
/// Of so many flows with a backlog one may be probed at a time, and always one.
const PROBED_IN: usize = 4;

/// Queues for flows under controlled delay, those that yield behind the others.
#[derive(Debug)]
pub struct FqYield<B> {
    classifier: FlowHash,
    queues: FlowQueues<B>,
    longest: Longest<(u64, Reverse<usize>)>,
    controllers: Vec<CoDelController>,
    law: CoDelLaw,
    limit: Limit,
    drop_batch: u32,
    flows: Vec<Flow>,
    /// Flows that are not deferred, and deferred ones whose oldest packet has waited enough.
    front: FlowScheduler,
    /// Flows that yield, for when nobody is in front.
    behind: FlowScheduler,
    /// When the oldest packet of each deferred flow has waited enough; without those that are in `front` for it.
    due: Ranking<Reverse<(Time, usize)>>,
    /// Deferred flows that are still probed.
    probed: Vec<usize>,
    /// When a flow that is not deferred sent last.
    front_sent: Time,
    rules: Rules,
}

/// What does not change.
#[derive(Clone, Copy, Debug)]
struct Rules {
    deferral: Span,
    max_deferral: Span,
    pause: Span,
    max_pause: Span,
    /// So long after the last packet from in front nobody is there.
    calm: Span,
}

/// What is known of the flow in a bucket.
#[derive(Clone, Copy, Debug)]
struct Flow {
    deferred: Option<Deferred>,
    /// Since when it has had a backlog, and when it was last seen to have one.
    backlogged: Option<(Time, Time)>,
    arrived: Time,
    /// It is not probed before.
    rests_until: Time,
    pause: Span,
}

/// A flow whose packets wait.
#[derive(Clone, Copy, Debug)]
struct Deferred {
    since: Time,
    span: Span,
    has_yielded: bool,
    evidence: Evidence,
}

/// Why a flow is not deferred any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Release {
    Pushes,
    NoVerdict,
    Forgotten,
}

/// The queue of one flow, as CoDel sees it: its own bytes count, for others may be held back, and then its last packet must
/// not be dropped.
struct FlowQueue<'a, B> {
    queues: &'a mut FlowQueues<B>,
    bucket: usize,
}

impl<B: Copy> Source<B> for FlowQueue<'_, B> {
    #[inline]
    fn head(&self) -> Option<&Packet<B>> {
        self.queues.head(self.bucket)
    }
    #[inline]
    fn head_mut(&mut self) -> Option<&mut Packet<B>> {
        self.queues.head_mut(self.bucket)
    }
    #[inline]
    fn take(&mut self) -> Option<Packet<B>> {
        self.queues.pop(self.bucket, End::Head)
    }
    #[inline]
    fn backlog(&self) -> u64 {
        self.queues.bytes_of(self.bucket)
    }
}

impl Rules {
    fn new(declared: &Parameters, calm: Span) -> Result<Rules, ParameterError> {
        let Parameters { deferral, max_deferral, pause, max_pause, .. } = *declared;
        if max_deferral < deferral {
            return Err(ParameterError::new("max_deferral", format!("at least deferral ({deferral})")));
        }
        if max_pause < pause {
            return Err(ParameterError::new("max_pause", format!("at least pause ({pause})")));
        }
        Ok(Rules { deferral, max_deferral, pause, max_pause, calm })
    }
}

impl<B: Copy> FqYield<B> {
    /// Queues with the given parameters.
    ///
    /// # Errors
    /// A limit that holds no full-size packet, a target that is no less than the interval, a greatest value below the least.
    pub fn new(params: &Params, link: &LinkProperties, mut random: Stream) -> Result<Self, ParameterError> {
        let (declared, turns) = (Parameters::of(params), Turns::of(params));
        let law = law::Parameters::of(params);
        Ok(FqYield {
            classifier: turns.classifier(&mut random),
            queues: FlowQueues::default(),
            longest: Longest::default(),
            controllers: Vec::new(),
            law: CoDelLaw::new(&law, declared.ecn, link.packet_bytes)?,
            limit: Limit::of(params, "limit", link)?,
            drop_batch: declared.drop_batch,
            flows: Vec::new(),
            front: FlowScheduler::new(&turns, link.packet_bytes),
            behind: FlowScheduler::new(&turns, link.packet_bytes),
            due: Ranking::default(),
            probed: Vec::new(),
            front_sent: link.since,
            rules: Rules::new(&declared, law.interval)?,
        })
    }

    /// Whether nobody has been in front for a while.
    #[inline]
    fn is_calm(&self, now: Time) -> bool {
        now.since(self.front_sent) > self.rules.calm
    }

    /// When the oldest packet of `bucket` has waited enough, where it is deferred and has one.
    fn due_at(&self, bucket: usize) -> Option<Time> {
        let deferred = self.flows[bucket].deferred.as_ref()?;
        Some(self.queues.head(bucket)?.enqueued + deferred.span)
    }

    /// The oldest packet of `bucket`, or how long it waits, is another one.
    fn rank(&mut self, bucket: usize) {
        match self.due_at(bucket) {
            Some(time) => self.due.set(bucket, Reverse((time, bucket))),
            None => self.due.remove(bucket),
        }
    }

    /// Takes a packet under CoDel. Two places need it: code for one is enough.
    #[inline(never)]
    fn take_controlled<S: Sink<B>>(&mut self, bucket: usize, now: Time, sink: &mut S) -> Option<Packet<B>> {
        let mut source = FlowQueue { queues: &mut self.queues, bucket };
        self.controllers[bucket].prepare(&self.law, &mut source, now, sink);
        source.take()
    }

    /// Serves who is in front: flows that are not deferred, and packets that have waited enough.
    fn serve_front<S: Sink<B>>(&mut self, now: Time, sink: &mut S) -> Option<Packet<B>> {
        loop {
            let flow = self.front.next()?;
            let bucket = flow.bucket;
            if self.due_at(bucket).is_some_and(|due| due <= now) {
                self.observe(bucket, now);
            }
            let (deferred, due) = (self.flows[bucket].deferred.is_some(), self.due_at(bucket));
            let taken = match deferred {
                false => self.take_controlled(bucket, now, sink),
                true if due.is_some_and(|due| due <= now) => self.queues.pop(bucket, End::Head),
                true => None,
            };
            self.rank(bucket);
            let Some(packet) = taken else {
                self.front.found_empty(flow);
                continue;
            };
            self.front.charge(flow, packet.bytes);
            if !deferred {
                self.front_sent = now;
                self.consider_probe(bucket, now);
            }
            return Some(packet);
        }
    }

    /// Serves flows that yield, for nobody is in front.
    fn serve_behind<S: Sink<B>>(&mut self, now: Time, sink: &mut S) -> Option<Packet<B>> {
        let calm = self.is_calm(now);
        loop {
            let flow = self.behind.next()?;
            let bucket = flow.bucket;
            let taken = match self.flows[bucket].deferred {
                None => None,
                Some(_) if calm => self.take_controlled(bucket, now, sink),
                Some(_) => self.queues.pop(bucket, End::Head),
            };
            self.rank(bucket);
            let Some(packet) = taken else {
                self.behind.found_empty(flow);
                continue;
            };
            self.behind.charge(flow, packet.bytes);
            if let Some(deferred) = self.flows[bucket].deferred.as_mut() {
                match calm {
                    true => deferred.evidence = Evidence::new(now),
                    false => deferred.evidence.had_leftover(),
                }
            }
            return Some(packet);
        }
    }

    /// `bucket`, which is not deferred, has sent: is it to be probed?
    fn consider_probe(&mut self, bucket: usize, now: Time) {
        if self.queues.packets_of(bucket) == 0 {
            return;
        }
        let flow = &mut self.flows[bucket];
        let since = match flow.backlogged {
            Some((since, last)) if now.since(last) <= GAP => since,
            _ => now,
        };
        flow.backlogged = Some((since, now));
        if now.since(since) >= SETTLED && now >= flow.rests_until {
            self.begin_probe(bucket, now);
        }
    }

    /// Probes `bucket` if it is not alone and not too many others are probed.
    fn begin_probe(&mut self, bucket: usize, now: Time) {
        let waiting = self.front.new_flows() + self.front.old_flows();
        self.end_overdue_probes(now);
        if waiting < 2 || self.probed.len() >= (waiting / PROBED_IN).max(1) {
            return;
        }
        let (span, evidence) = (self.rules.deferral, Evidence::new(now));
        self.flows[bucket].deferred = Some(Deferred { since: now, span, has_yielded: false, evidence });
        self.probed.push(bucket);
        self.rank(bucket);
    }

    /// Ends probes that have taken too long: of flows that stopped to send, for one.
    fn end_overdue_probes(&mut self, now: Time) {
        let longest = self.rules.deferral * MAX_PROBE;
        while let Some(&bucket) = self
            .probed
            .iter()
            .find(|&&bucket| self.flows[bucket].deferred.is_some_and(|deferred| now.since(deferred.since) > longest))
        {
            self.release(bucket, Release::Pushes, now);
        }
    }

    /// A packet of `bucket` has waited enough: what does that show?
    fn observe(&mut self, bucket: usize, now: Time) {
        let waiting = self.queues.packets_of(bucket);
        let Some(deferred) = self.flows[bucket].deferred.as_mut() else { return };
        match deferred.evidence.observe(waiting, now, deferred.span, deferred.has_yielded) {
            Shown::Nothing => {}
            Shown::Pushes => self.release(bucket, Release::Pushes, now),
            Shown::Yields => {
                deferred.span = Span::from_nanos(deferred.span.as_nanos() / 2 * 3).min(self.rules.max_deferral);
                if !deferred.has_yielded {
                    deferred.has_yielded = true;
                    self.probed.retain(|&probed| probed != bucket);
                    self.behind.activate_old(bucket);
                }
            }
        }
    }

    /// `bucket` is not deferred any more.
    fn release(&mut self, bucket: usize, why: Release, now: Time) {
        let flow = &mut self.flows[bucket];
        let Some(deferred) = flow.deferred.take() else { return };
        match why {
            Release::Pushes if deferred.has_yielded => flow.rest(self.rules.pause, self.rules.pause, now),
            Release::Pushes => flow.rest(flow.pause, (flow.pause * 2).min(self.rules.max_pause), now),
            Release::NoVerdict => flow.rest(flow.pause, flow.pause, now),
            Release::Forgotten => {}
        }
        self.probed.retain(|&probed| probed != bucket);
        self.due.remove(bucket);
        if self.queues.packets_of(bucket) > 0 {
            self.front.activate_old(bucket);
        }
    }

    /// While nobody is in front, those that are probed wait for nothing: that ends, and whether it did so.
    fn end_probes_in_calm(&mut self, now: Time) -> bool {
        let ends = self.is_calm(now) && !self.probed.is_empty();
        while ends && let Some(&bucket) = self.probed.last() {
            self.release(bucket, Release::NoVerdict, now);
        }
        ends
    }
}

impl Flow {
    /// It is left alone for `pause`, and then, should that be asked for, for `next`.
    fn rest(&mut self, pause: Span, next: Span, now: Time) {
        (self.rests_until, self.pause) = (now + pause, next);
    }
}

impl<B: Copy> Discipline<B> for FqYield<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        packet.enqueued = now;
        let bucket = self.classifier.bucket(&packet);
        if bucket >= self.flows.len() {
            self.controllers.resize(bucket + 1, CoDelController::default());
            let pause = self.rules.pause;
            let unknown = Flow { deferred: None, backlogged: None, arrived: now, rests_until: Time::ZERO, pause };
            self.flows.resize(bucket + 1, unknown);
        }
        if self.queues.packets_of(bucket) == 0 && now.since(self.flows[bucket].arrived) > MEMORY {
            self.release(bucket, Release::Forgotten, now);
        }
        self.queues.push(bucket, &packet);
        self.longest.grew(bucket);
        self.flows[bucket].arrived = now;
        match self.flows[bucket].deferred {
            None => self.front.activate(bucket),
            Some(deferred) => {
                if deferred.has_yielded {
                    self.behind.activate_old(bucket);
                }
                self.rank(bucket);
            }
        }
        while self.limit.is_exceeded(self.queues.packets(), self.queues.bytes()) {
            let dropped = flows::drop_from_longest(&mut self.queues, &mut self.longest, self.drop_batch, sink);
            if let Some((bucket, _)) = dropped {
                self.rank(bucket);
            }
        }
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, now: Time, sink: &mut S) -> Option<Packet<B>> {
        loop {
            while let Some((bucket, _)) = self.due.first().filter(|(_, Reverse((due, _)))| *due <= now) {
                self.due.remove(bucket);
                self.front.activate_old(bucket);
            }
            let served = self.serve_front(now, sink).or_else(|| self.serve_behind(now, sink));
            if served.is_some() || !self.end_probes_in_calm(now) {
                return served;
            }
        }
    }

    /// Now, but where only flows that are probed have packets: when the first of these has waited enough, or the link
    /// has been idle for too long.
    fn ready_at(&self, now: Time) -> Option<Time> {
        let held: usize = self.probed.iter().map(|&bucket| self.queues.packets_of(bucket)).sum();
        if self.queues.packets() > held {
            return Some(now);
        }
        let due = self.probed.iter().filter_map(|&bucket| self.due_at(bucket)).min()?;
        Some(due.min(self.front_sent + self.rules.calm + Span::from_nanos(1)).max(now))
    }

    #[inline]
    fn packets(&self) -> usize {
        self.queues.packets()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.queues.bytes()
    }

    fn marks(params: &Params) -> bool {
        law::marks(params)
    }

    fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
        advice::controlled_flows(params, link, advice::long_target(params))
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        let yielding = self.flows.iter().flat_map(|flow| flow.deferred).filter(|deferred| deferred.has_yielded);
        visit("new_queues", self.front.new_flows() as f64);
        visit("old_queues", self.front.old_flows() as f64);
        visit("probed_queues", self.probed.len() as f64);
        visit("yielding_queues", yielding.count() as f64);
    }
}
