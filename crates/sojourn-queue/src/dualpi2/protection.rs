//! Queue protection of DOCSIS (RFC 9957; annex P of DOCSIS 3.1 MULPI): flows that build a queue among low-latency packets are
//! told from the others, and while the queue is too long their packets go to the Classic queue.
//!
//! A flow is blamed for its bytes that arrive while the L queue's own marking would hit, each weighed with the probability of
//! that. They fill a bucket that drains at a constant rate, AGING. What a bucket holds, as the time in which it drains, is the
//! flow's queuing score.

#[cfg(test)]
mod tests;

use super::Native;
use crate::{FlowHash, LinkProperties, Packet};
use core::ops::RangeInclusive;
use sojourn_core::registry::declare::{choice, or_auto, rate, span, span_in};
use sojourn_core::{Rate, Span, Stream, Time, choices, parameters};

/// BI_SIZE: bits of a flow's hash that choose a bucket in one attempt.
const BITS: u32 = 5;
/// NBUCKETS: buckets that one flow has to itself. One more is shared by those that find none.
const BUCKETS: usize = 1 << BITS;
/// MASK.
const MASK: u64 = BUCKETS as u64 - 1;
/// Buckets that a flow may try.
const ATTEMPTS: u32 = 2;
/// MAX_QLSCORE: no score grows beyond it, so every sanction ends.
const MAX_SCORE: Span = Span::from_secs(5);

/// What a bucket drains with LG_AGING = 19, which the source computes as 2^(19 - 30) bytes a nanosecond.
const USUAL_AGING: Rate = match Rate::from_bits_per_second((8 * 1_000_000_000) >> 11) {
    Some(rate) => rate,
    None => unreachable!(),
};

const TIME: RangeInclusive<Span> = Span::from_nanos(1)..=Span::from_secs(10);

choices! {
    /// Words of `protection`.
    pub(super) enum Words { Off = "off", Docsis = "docsis" }
}

parameters! {
    /// What can be set of it.
    pub(super) struct Parameters {
        /// which L packets go to the C queue at arrival: none, or those of flows that build a queue, by the queue protection
        /// of DOCSIS (RFC 9957)
        protection: Words = choice(Words::Off.value()),
        /// with protection: delay of the L queue beyond which packets are sent to the C queue (CRITICALqL); auto is where
        /// native marking reaches 1, on slow links as if it began at the time of two full-size packets
        critical_delay: Option<Span> = or_auto(&span_in(TIME)),
        /// with protection: queuing score from which a flow's packets are sent to the C queue at the critical delay
        /// (CRITICALqLSCORE); at twice the delay half of it is enough
        critical_score: Span = span(Span::from_millis(4), TIME),
        /// with protection: rate of marked bytes that a flow may cause for ever (AGING; here LG_AGING = 19)
        aging: Rate = rate(USUAL_AGING),
    }
}

/// One flow's bytes that met congestion.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// The hash of the flow that has the bucket.
    owner: u64,
    /// When it will have drained (t_exp).
    expires: Time,
}

impl Bucket {
    /// Section 4, fill_bucket: the queuing score with `cost` more, the time in which AGING drains what is added.
    fn fill(&mut self, cost: Span, now: Time) -> Span {
        self.expires = (self.expires + cost).min(now + MAX_SCORE);
        self.expires.since(now)
    }
}

/// All buckets, and what to blame a flow for.
#[derive(Debug)]
pub(super) struct Protection {
    buckets: [Bucket; BUCKETS + 1],
    hash: FlowHash,
    rate: Rate,
    aging: Rate,
    critical_delay: Span,
    critical_score: Span,
    sanctions: u64,
}

impl Protection {
    /// Protection of a queue whose own marking is `native`, if that is `declared`.
    pub(super) fn new(
        declared: &Parameters,
        native: Native,
        link: &LinkProperties,
        random: &mut Stream,
    ) -> Option<Protection> {
        if declared.protection == Words::Off {
            return None;
        }
        Some(Protection {
            buckets: [Bucket::default(); BUCKETS + 1],
            hash: FlowHash::new(random, BUCKETS as u32, false),
            rate: link.rate,
            aging: declared.aging,
            critical_delay: declared
                .critical_delay
                .unwrap_or_else(|| native.certain_from(link.rate.transmission(2 * u64::from(link.packet_bytes)))),
            critical_score: declared.critical_score,
            sanctions: 0,
        })
    }

    /// Delay of the L queue for a packet that arrives behind others: what waits then, itself included, at the link's rate.
    pub(super) fn delay(&self, bytes: u64) -> Span {
        self.rate.transmission(bytes)
    }

    /// Packets that were sent to the C queue.
    pub(super) fn sanctions(&self) -> u64 {
        self.sanctions
    }

    /// Section 4, qprotect: whether `packet` has to go to the C queue. The L queue's delay is `delay`, at which its own
    /// marking hits with `probability`.
    pub(super) fn sanctions_packet<B>(&mut self, packet: &Packet<B>, delay: Span, probability: f64, now: Time) -> bool {
        let cost = self.aging.transmission(u64::from(packet.bytes)).mul_f64(probability);
        let score = self.pick(self.hash.bits(packet), now).fill(cost, now);
        let product = |delay: Span, score: Span| u128::from(delay.as_nanos()) * u128::from(score.as_nanos());
        let sanction =
            delay > self.critical_delay && product(delay, score) > product(self.critical_delay, self.critical_score);
        self.sanctions += u64::from(sanction);
        sanction
    }

    /// Section 4, pick_bucket: the bucket that the flow has already; else the first of those it may try that has drained;
    /// else the one for all others.
    fn pick(&mut self, flow: u64, now: Time) -> &mut Bucket {
        let mut drained = None;
        let mut own = None;
        let mut hash = flow;
        for _ in 0..ATTEMPTS {
            let index = (hash & MASK) as usize;
            if self.buckets[index].owner == flow {
                own = Some(index);
                break;
            }
            // Not taken before all others have been tried for the flow's own.
            if drained.is_none() && self.buckets[index].expires <= now {
                drained = Some(index);
            }
            hash >>= BITS;
        }
        let bucket = &mut self.buckets[own.or(drained).unwrap_or(BUCKETS)];
        bucket.owner = flow;
        bucket.expires = bucket.expires.max(now);
        bucket
    }
}
