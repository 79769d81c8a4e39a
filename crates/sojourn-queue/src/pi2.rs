//! PI2: a linear proportional integral controller whose output is squared for Classic traffic (De Schepper et al. 2016;
//! the Classic half of RFC 9332, for a single queue).
//!
//! Every update moves a base probability p' by how far the delay is from the target and by how much it has changed. As
//! Classic senders answer to the square root of a drop probability, they get p' squared, which spares PIE's table of
//! steps; senders that answer to the probability itself (ECT(1)) are marked with k p'. Decisions are made at the head.
//!
//! With `le_factor` f, which is this project's addition, packets marked LE meet the square root of f times p' in place of p'. So
//! Classic ones meet f times the probability and scalable ones its root, and both answer with the same part of the others' rate.

pub(crate) mod law;
#[cfg(test)]
mod tests;

use crate::fifo::limit;
use crate::pie::LE_FACTOR;
use crate::{Discipline, DropReason, Dscp, Ecn, Fifo, Limit, LinkProperties, Packet, Sink, advice};
use alloc::vec::Vec;
use law::{Dice, Pi2Controller, Pi2Law, Sum};
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;
use sojourn_core::registry::declare::flag;
use sojourn_core::registry::{Advice, Descriptor, Linux, Parameter, ParameterError, Params, Preset, Value, joined};
use sojourn_core::{Amount, Span, Stream, Time, parameters};

/// Full-size packets that have to be left behind for one to be dropped or marked, as in Linux.
const SPARED_PACKETS: u64 = 2;

parameters! {
    /// What can be set beside the law.
    struct Own {
        le_factor: f64 = LE_FACTOR,
        /// whether ECN-capable packets are marked instead of dropped, until k p' reaches 1; without it ECT(1) packets are
        /// treated as Classic ones
        ecn: bool = flag(true),
    }
}

static PARAMETERS: [Parameter; 1 + law::Parameters::LIST.len() + Own::LIST.len()] =
    joined(&[&[limit(Amount::Time(Span::from_millis(250))).parameter("limit")], &law::Parameters::LIST, &Own::LIST]);

/// What `pi2` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "pi2",
    summary: "a linear controller of the delay, squared for Classic senders and as it is for scalable ones",
    sources: &[
        "RFC 9332",
        "Linux net/sched/sch_dualpi2.c",
        "De Schepper et al. 2016, PI2: A Linearized AQM for both Classic and Scalable TCP",
    ],
    parameters: &PARAMETERS,
    presets: &[
        Preset { name: "rfc", summary: "the parameters of RFC 9332", values: &[] },
        Preset {
            name: "linux",
            summary: "as tc dualpi2: 10000 packets, decisions at random",
            values: &[("limit", Value::Amount(Amount::Packets(10_000.0))), ("spread", law::Spread::Random.value())],
        },
    ],
    linux: Linux::Absent("Linux 6.1 has no PI2, and dualpi2 came with 6.17"),
    ..Descriptor::PLAIN
};

/// A first-in first-out queue under PI2.
#[derive(Debug)]
pub struct Pi2<B> {
    queue: Fifo<B>,
    limit: Limit,
    spared: u64,
    controller: Pi2Controller,
    dice: Dice,
    classic: Sum,
    scalable: Sum,
    /// What a packet marked LE meets in place of p', over p'.
    le_root: f64,
    le_classic: Sum,
    le_scalable: Sum,
    ecn: bool,
}

impl<B: Copy> Pi2<B> {
    /// A queue with the given parameters.
    ///
    /// # Errors
    /// A limit that holds no full-size packet, an alpha of zero.
    pub fn new(params: &Params, link: &LinkProperties, random: Stream) -> Result<Self, ParameterError> {
        let (law, declared) = (law::Parameters::of(params), Own::of(params));
        Ok(Pi2 {
            queue: Fifo::default(),
            limit: Limit::of(params, "limit", link)?,
            spared: SPARED_PACKETS * u64::from(link.packet_bytes),
            controller: Pi2Controller::new(Pi2Law::new(&law, false)?, link.since),
            dice: Dice::new(law.spread, random),
            classic: Sum::default(),
            scalable: Sum::default(),
            le_root: declared.le_factor.sqrt(),
            le_classic: Sum::default(),
            le_scalable: Sum::default(),
            ecn: declared.ecn,
        })
    }

    /// Whether the packet at the head is to be dropped; marks it if not and if due.
    #[inline]
    fn judge<S: Sink<B>>(&mut self, sink: &mut S) -> bool {
        let waiting = self.queue.bytes();
        let Some(packet) = self.queue.head_mut().filter(|head| waiting - u64::from(head.bytes) >= self.spared) else {
            return false;
        };
        let overload = self.controller.scalable() >= 1.0;
        let (root, classic, scalable) = match self.le_root != 1.0 && packet.dscp == Dscp::LE {
            true => (self.le_root, &mut self.le_classic, &mut self.le_scalable),
            false => (1.0, &mut self.classic, &mut self.scalable),
        };
        let hit = if self.ecn && packet.ecn == Ecn::Ect1 && !overload {
            self.dice.hit(self.controller.scalable() * root, scalable)
        } else {
            self.dice.hit_square((self.controller.base() * root).min(1.0), classic)
        };
        if !hit {
            return false;
        }
        let marks = self.ecn && packet.ecn.is_capable() && !overload;
        if marks {
            packet.ecn = Ecn::Ce;
            sink.marked(packet);
        }
        !marks
    }
}

impl<B: Copy> Discipline<B> for Pi2<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        if self.limit.has_room(&self.queue, packet.bytes) {
            self.queue.push(&packet).enqueued = now;
        } else {
            sink.dropped(packet.arrived(now), DropReason::Overflow);
        }
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, _now: Time, sink: &mut S) -> Option<Packet<B>> {
        while self.judge(sink) {
            self.queue.drop_head(DropReason::Early, sink);
        }
        self.queue.pop()
    }

    #[inline]
    fn packets(&self) -> usize {
        self.queue.packets()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn timer(&self) -> Option<Time> {
        Some(self.controller.timer())
    }

    fn on_timer<S: Sink<B>>(&mut self, now: Time, _sink: &mut S) {
        let delay = self.queue.head().map_or(Span::ZERO, |head| now.since(head.enqueued));
        self.controller.update(delay);
    }

    fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
        [advice::short_target(params, link), advice::slow_updates(params), advice::limit_below_target(params, link)]
            .into_iter()
            .flatten()
            .collect()
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        visit("base_probability", self.controller.base());
        visit("drop_probability", self.controller.classic());
        visit("delay_ms", self.controller.delay() * 1000.0);
    }
}
