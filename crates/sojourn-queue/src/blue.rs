//! BLUE (Feng, Kandlur, Saha and Shin 1999).
//!
//! One probability of dropping or marking, learned from losses and from silence instead of the queue's length:
//! - a packet is lost because the buffer is full (or more than `level` waits): p grows by `increase`;
//! - the link is idle: p shrinks by `decrease`;
//! - p changes at most once in `freeze_time`.
//!
//! A link that stays idle is idle again and again: p shrinks once in every freeze time, which is worked out when the
//! next packet arrives.

#[cfg(test)]
mod tests;

use crate::fifo::limit;
use crate::{Discipline, DropReason, Ecn, Fifo, Limit, LinkProperties, Packet, Sink};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use sojourn_core::registry::declare::{amount_in, flag, number, or_auto, span};
use sojourn_core::registry::{Advice, Descriptor, Linux, ParameterError, Params, Preset};
use sojourn_core::{Amount, Span, Stream, Time, parameters};

parameters! {
    /// What can be set.
    struct Parameters {
        limit: Amount = limit(Amount::Packets(1000.0)),
        /// what may wait before an arrival counts as a loss although there is room (the paper's L, which leaves space for
        /// bursts); auto is only losses
        level: Option<Amount> = or_auto(&amount_in(1.0, true)),
        /// what a loss adds to the probability (d1)
        increase: f64 = number(0.0025, 1e-9..=1.0),
        /// what an idle link takes from the probability (d2), well below increase: silence is easier to come by than loss
        decrease: f64 = number(0.000_25, 1e-9..=1.0),
        /// least time between two changes of the probability, for the first to take effect
        freeze_time: Span = span(Span::from_millis(100), Span::from_micros(1)..=Span::from_secs(10)),
        /// whether ECN-capable packets are marked instead of dropped early
        ecn: bool = flag(false),
    }
}

/// What `blue` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "blue",
    summary: "BLUE: a drop probability that losses raise and silence lowers",
    sources: &[
        "Feng, Kandlur, Saha and Shin 1999, Blue: a new class of active queue management algorithms",
        "Feng, Shin, Kandlur and Saha 2002, The BLUE active queue management algorithms",
        "the port of Feng's ns-1.1 code to ns-3 by Jain, Singh and Tahiliani (its constants)",
    ],
    parameters: &Parameters::LIST,
    presets: &[Preset {
        name: "ns1",
        summary: "Feng's ns-1.1 code as ported to ns-3: d1 0.0025, d2 0.00025, 0.1 s",
        values: &[],
    }],
    linux: Linux::Absent("Linux has BLUE only in sfb and cake"),
    ..Descriptor::PLAIN
};

/// A first-in first-out queue with one probability.
#[derive(Debug)]
pub struct Blue<B> {
    queue: Fifo<B>,
    limit: Limit,
    level: Option<Limit>,
    marking: MarkingProbability,
    ecn: bool,
    idle_since: Option<Time>,
    random: Stream,
}

/// The probability and the rules of its changes.
#[derive(Debug)]
struct MarkingProbability {
    p: f64,
    increase: f64,
    decrease: f64,
    freeze: Span,
    /// From when on it may change.
    frozen_until: Time,
}

impl MarkingProbability {
    /// A packet was lost.
    fn on_loss(&mut self, now: Time) {
        if now >= self.frozen_until {
            self.p = (self.p + self.increase).min(1.0);
            self.frozen_until = now + self.freeze;
        }
    }

    /// The link was idle from `since` to `now`.
    fn on_idle(&mut self, since: Time, now: Time) {
        let first = since.max(self.frozen_until);
        if now < first {
            return;
        }
        let times = 1 + now.since(first).as_nanos() / self.freeze.as_nanos();
        self.p = (self.p - times as f64 * self.decrease).max(0.0);
        self.frozen_until = first + self.freeze * times;
    }
}

impl<B: Copy> Blue<B> {
    /// A queue with the given parameters.
    ///
    /// # Errors
    /// A limit that holds no packet, a decrease above the increase, a level beyond the limit.
    pub fn new(params: &Params, link: &LinkProperties, random: Stream) -> Result<Self, ParameterError> {
        let declared = Parameters::of(params);
        let bytes = |amount: Amount| amount.bytes(link.rate, f64::from(link.packet_bytes));
        let limit = Limit::of(params, "limit", link)?;
        let level = match declared.level {
            Some(level) if bytes(level) > bytes(declared.limit) => {
                return Err(ParameterError::new("level", "at most limit: beyond it packets are lost anyway"));
            }
            Some(level) => Some(Limit::new(level, link)),
            None => None,
        };
        let (increase, decrease) = (declared.increase, declared.decrease);
        if decrease > increase {
            return Err(ParameterError::new("decrease", "at most increase, or silence unlearns what losses teach"));
        }
        Ok(Blue {
            queue: Fifo::default(),
            limit,
            level,
            marking: MarkingProbability {
                p: 0.0,
                increase,
                decrease,
                freeze: declared.freeze_time,
                frozen_until: Time::ZERO,
            },
            ecn: declared.ecn,
            idle_since: Some(link.since),
            random,
        })
    }
}

impl<B: Copy> Discipline<B> for Blue<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        if let Some(since) = self.idle_since {
            self.marking.on_idle(since, now);
        }
        if !self.limit.has_room(&self.queue, packet.bytes) {
            self.marking.on_loss(now);
            return sink.dropped(packet.arrived(now), DropReason::Overflow);
        }
        if self.level.is_some_and(|level| !level.has_room(&self.queue, packet.bytes)) {
            self.marking.on_loss(now);
        }
        if self.random.chance(self.marking.p) {
            if !(self.ecn && packet.ecn.is_capable()) {
                return sink.dropped(packet.arrived(now), DropReason::Early);
            }
            packet.ecn = Ecn::Ce;
            sink.marked(packet.arrived(now));
        }
        self.queue.push(&packet).enqueued = now;
        self.idle_since = None;
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, now: Time, _sink: &mut S) -> Option<Packet<B>> {
        let packet = self.queue.pop();
        if packet.is_none() && self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
        packet
    }

    #[inline]
    fn packets(&self) -> usize {
        self.queue.packets()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
        let declared = Parameters::of(params);
        let freeze_time = declared.freeze_time;
        let round_trip = link.delay * 2;
        if freeze_time >= round_trip {
            return Vec::new();
        }
        let text = format!(
            "shorter than the link's own round trip ({round_trip}): the probability moves again before senders have answered to the \
             last step, and overshoots; usual is 10 to 500 ms, no less than a round trip"
        );
        vec![Advice::new("freeze_time", text)]
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        visit("drop_probability", self.marking.p);
    }
}
