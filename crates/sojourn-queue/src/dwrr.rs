//! Deficit weighted round robin (Shreedhar and Varghese 1996): a class may send so many bytes in each round.
//!
//! Classes are served in the order of the file. A round adds `weight` quanta to a class's deficit counter; the class sends
//! while the counter is above zero, and each packet is taken off it. What it sent too much it lacks in its next round; a
//! class that runs empty starts from zero. So over any time in which two classes have packets, their bytes per weight
//! differ by less than a quantum and a largest packet per weight of each.
//!
//! The paper and Linux's `drr` and `ets` send while the next packet is not larger than the counter. Here a queue may
//! drop its next packet, so the size is known only afterwards, and the counter pays then, as in RFC 8290's round robin:
//! the shares are the same, turns differ by up to a packet. Linux has an active list, which a class joins at the end;
//! here it waits for its place in the order of the file, which is at most a round as well. With `turns` ahead it is as in
//! Linux.

mod afterwards;
mod ahead;
#[cfg(test)]
mod tests;

use crate::classful::{self, ClassScheduler, ClassSet, Classful, impl_by_classes};
use crate::{Body, LinkProperties};
use afterwards::ChargeAfterwards;
use ahead::ChargeAhead;
use alloc::vec::Vec;
use sojourn_core::registry::declare::{choice, integer_in, or_auto};
use sojourn_core::registry::{
    Advice, Auto, Descriptor, Form, Holds, Linux, ParameterError, Params, Preset, Setting, Unit,
};
use sojourn_core::{Amount, Stream, choices, parameters};

choices! {
    /// Words of `turns`.
    enum Turns { Afterwards = "afterwards", Ahead = "ahead" }
}

parameters! {
    /// What can be set.
    struct Parameters {
        limit: Option<Amount> = classful::LIMIT,
        /// bytes of a turn for each unit of weight; auto is one full-size packet (Linux)
        quantum: Option<u32> = or_auto(&integer_in(1..=10_000_000)),
        /// how turns are paid for: a packet is taken off the counter once it has left, and classes go in the order of the
        /// file, or a class's next packet is taken out of its queue and kept until the counter covers it, and classes go in
        /// the order in which they got packets (Linux); an AQM inside then decides before a packet leaves
        turns: Turns = choice(Turns::Afterwards.value()),
    }
}

/// What `dwrr` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "dwrr",
    summary: "deficit weighted round robin: classes take turns of so many bytes",
    sources: &[
        "Shreedhar and Varghese 1996, Efficient fair queuing using deficit round-robin",
        "Linux net/sched/sch_ets.c, net/sched/sch_drr.c",
        "RITE deliverable 2.1 section 2.2",
    ],
    parameters: &Parameters::LIST,
    presets: &[Preset {
        name: "linux",
        summary: "sch_drr, and the bands of sch_ets that share. A packet that is kept counts in the limit of its class in Linux, and here where its queue is droptail or red",
        values: &[("turns", Turns::Ahead.value())],
    }],
    holds: Holds::Classes(&CLASS),
    linux: Linux::Kernel(&[Form {
        name: "drr",
        module: "sch_drr",
        settings: &[Setting::auto("quantum", "quantum", Unit::Number, Auto::FullPacket)],
        ..Form::PLAIN
    }]),
    ..Descriptor::PLAIN
};

parameters! {
    /// What can be set of a class.
    struct ClassParameters {
        /// quanta of the class's turn; its share of the bytes among the classes that have packets
        weight: u32 = classful::WEIGHT,
    }
}

static CLASS: Descriptor = Descriptor { name: "class", parameters: &ClassParameters::LIST, ..Descriptor::PLAIN };

/// Queues that share the link by deficit round robin.
#[derive(Debug)]
pub struct Dwrr<B>(Classful<B, DeficitRoundRobin>);

impl<B: Body> Dwrr<B> {
    /// Empty queues with the given parameters.
    ///
    /// # Errors
    /// Classes or limits that contradict each other.
    pub fn new(params: &Params, link: &LinkProperties, random: Stream) -> Result<Self, ParameterError> {
        let declared = Parameters::of(params);
        let quantum = quantum(params, link);
        let quanta = classful::weights(params).map(|weight| weight * quantum);
        let scheduler = match declared.turns {
            Turns::Ahead => DeficitRoundRobin::Ahead(ChargeAhead::new(quanta)),
            Turns::Afterwards => DeficitRoundRobin::Afterwards(ChargeAfterwards::new(quanta)),
        };
        Ok(Dwrr(Classful::new(params, &params.classes, scheduler, link, random)?))
    }
}

fn quantum(params: &Params, link: &LinkProperties) -> u64 {
    u64::from(Parameters::of(params).quantum.unwrap_or(link.packet_bytes))
}

impl_by_classes!(
    Dwrr,
    fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
        let short = quantum(params, link) < u64::from(link.packet_bytes);
        let text = "a full-size packet needs several rounds, each of which takes time to compute; usual is at least \
                    one full-size packet (Shreedhar and Varghese)";
        short.then(|| Advice::new("quantum", text)).into_iter().collect()
    }
);

/// Deficit round robin, charged by either rule.
#[derive(Debug)]
enum DeficitRoundRobin {
    Afterwards(ChargeAfterwards),
    Ahead(ChargeAhead),
}

impl ClassScheduler for DeficitRoundRobin {
    #[inline]
    fn next(&mut self, candidates: ClassSet) -> usize {
        match self {
            DeficitRoundRobin::Afterwards(scheduler) => scheduler.next(candidates),
            DeficitRoundRobin::Ahead(scheduler) => scheduler.next(candidates),
        }
    }

    #[inline]
    fn may_send(&mut self, class: usize, bytes: u32) -> bool {
        match self {
            DeficitRoundRobin::Afterwards(scheduler) => scheduler.may_send(class, bytes),
            DeficitRoundRobin::Ahead(scheduler) => scheduler.may_send(class, bytes),
        }
    }

    #[inline]
    fn sent(&mut self, class: usize, bytes: u32) {
        match self {
            DeficitRoundRobin::Afterwards(scheduler) => scheduler.sent(class, bytes),
            DeficitRoundRobin::Ahead(scheduler) => scheduler.sent(class, bytes),
        }
    }

    #[inline]
    fn gave_nothing(&mut self, class: usize) {
        match self {
            DeficitRoundRobin::Afterwards(scheduler) => scheduler.gave_nothing(class),
            DeficitRoundRobin::Ahead(scheduler) => scheduler.gave_nothing(class),
        }
    }

    #[inline]
    fn backlogged(&mut self, class: usize) {
        match self {
            DeficitRoundRobin::Afterwards(scheduler) => scheduler.backlogged(class),
            DeficitRoundRobin::Ahead(scheduler) => scheduler.backlogged(class),
        }
    }

    #[inline]
    fn emptied(&mut self, class: usize) {
        match self {
            DeficitRoundRobin::Afterwards(scheduler) => scheduler.emptied(class),
            DeficitRoundRobin::Ahead(scheduler) => scheduler.emptied(class),
        }
    }
}
