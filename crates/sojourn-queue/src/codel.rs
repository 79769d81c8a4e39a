//! CoDel: controlled delay (RFC 8289).
//!
//! A packet's time in the queue is its delay. Once that has been above target for a whole interval a packet is dropped
//! from the head; while it stays above, further ones follow at interval/sqrt(count). A queue that falls below target
//! once is left alone. `law` is the algorithm; here it gets a first-in first-out queue with a limit.
//!
//! Linux and ns-3 count time in ticks of 1024 ns and wait until an interval is exceeded rather than reached. Signals
//! hardly become more or fewer by that, but within a long dropping state the rounding adds up until another packet is
//! hit, so the preset `linux` follows (`clock`). The preset `ns3` does not: nothing compares it packet by packet.

pub(crate) mod law;
#[cfg(test)]
mod tests;

use crate::fifo::limit;
use crate::{Discipline, DropReason, Fifo, Limit, LinkProperties, Packet, Sink, advice};
use alloc::vec::Vec;
use law::{CoDelController, CoDelLaw};
use sojourn_core::registry::declare::Field;
use sojourn_core::registry::{
    Advice, Auto, Descriptor, Form, Linux, Parameter, ParameterError, Params, Preset, Setting, Unit, Value, joined,
};
use sojourn_core::{Amount, Stream, Time, parameters};

parameters! {
    /// What can be set beside the law.
    struct Own {
        ecn: bool = law::ecn(false),
    }
}

const LIMIT: Field<Amount> = limit(Amount::Packets(1000.0)).described(
    "what may wait, besides the packet on the wire: packets, bytes, or time at the link's rate; drops at a full buffer do not enter the control law",
);

static PARAMETERS: [Parameter; 1 + law::Parameters::LIST.len() + Own::LIST.len()] =
    joined(&[&[LIMIT.parameter("limit")], &law::Parameters::LIST, &Own::LIST]);

/// What `codel` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "codel",
    summary: "controlled delay: drops from the head, ever faster, while every packet waits longer than a target",
    sources: &[
        "RFC 8289",
        "Linux net/sched/sch_codel.c and include/net/codel_impl.h",
        "ns-3 src/traffic-control/model/codel-queue-disc.cc",
    ],
    parameters: &PARAMETERS,
    presets: &[
        Preset { name: "rfc", summary: "RFC 8289: 5 ms and 100 ms; it leaves the limit open", values: &[] },
        Preset {
            name: "linux",
            summary: "tc codel: 1000 packets, noecn, 1/sqrt(count) by Newton steps, time in ticks",
            values: &[("root", law::Root::Newton.value()), ("clock", law::Clock::Ticks.value())],
        },
        Preset {
            name: "ns3",
            summary: "ns3::CoDelQueueDisc: 1.5 MB, MinBytes 1500, the time of a mark starts the next gap",
            values: &[
                ("limit", Value::Amount(Amount::Bytes(1_500_000.0))),
                ("min_bytes", Value::Integer(1499)),
                ("after_mark", law::AfterMark::Now.value()),
                ("root", law::Root::Newton.value()),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form {
        name: "codel",
        module: "sch_codel",
        settings: &[
            Setting::option("limit", "limit", Unit::Packets),
            Setting::option("target", "target", Unit::Micros),
            Setting::option("interval", "interval", Unit::Micros),
            Setting::flag("ecn", "ecn", "noecn"),
            Setting::auto("ce_threshold", "ce_threshold", Unit::Micros, Auto::Omit),
        ],
        remarks: &["it counts time in units of 1024 ns"],
        ..Form::PLAIN
    }]),
    ..Descriptor::PLAIN
};

/// A first-in first-out queue under controlled delay.
#[derive(Debug)]
pub struct CoDel<B> {
    queue: Fifo<B>,
    limit: Limit,
    law: CoDelLaw,
    controller: CoDelController,
}

impl<B: Copy> CoDel<B> {
    /// A queue with the given parameters.
    ///
    /// # Errors
    /// A limit that holds no full-size packet, a target that is no less than the interval.
    pub fn new(params: &Params, link: &LinkProperties, _random: Stream) -> Result<Self, ParameterError> {
        Ok(CoDel {
            queue: Fifo::default(),
            limit: Limit::of(params, "limit", link)?,
            law: CoDelLaw::new(&law::Parameters::of(params), Own::of(params).ecn, link.packet_bytes)?,
            controller: CoDelController::default(),
        })
    }
}

impl<B: Copy> Discipline<B> for CoDel<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        if self.limit.has_room(&self.queue, packet.bytes) {
            self.queue.push(&packet).enqueued = now;
        } else {
            sink.dropped(packet.arrived(now), DropReason::Overflow);
        }
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, now: Time, sink: &mut S) -> Option<Packet<B>> {
        self.controller.prepare(&self.law, &mut self.queue, now, sink);
        self.queue.pop()
    }

    fn retune<S: Sink<B>>(&mut self, fresh: Self, _now: Time, sink: &mut S) -> Option<Self> {
        (self.limit, self.law) = (fresh.limit, fresh.law);
        self.limit.trim(&mut self.queue, sink);
        None
    }

    #[inline]
    fn packets(&self) -> usize {
        self.queue.packets()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn marks(params: &Params) -> bool {
        law::marks(params)
    }

    fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
        [advice::short_target(params, link), advice::long_target(params), advice::limit_below_target(params, link)]
            .into_iter()
            .flatten()
            .collect()
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        visit("dropping", f64::from(u8::from(self.controller.is_dropping())));
        visit("count", f64::from(self.controller.count()));
        visit("next_signal_s", self.controller.next_signal().map_or(f64::NAN, Time::as_secs_f64));
    }
}
