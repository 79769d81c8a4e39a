//! PIE: proportional integral controller enhanced (RFC 8033; RFC 8034 for DOCSIS).
//!
//! Every few milliseconds a probability of dropping arrivals is moved by how far the queueing delay is from a target and
//! by how much it has changed; the step is the finer the smaller the probability is. Bursts pass unhurt. `law` is the
//! algorithm; here it gets a first-in first-out queue with a limit.
//!
//! The sources check whether the burst allowance is to be restored at arrivals (RFC 8033) or at updates (Linux, ns-3);
//! here it is at updates, at most one update later. Linux begins to update half a second after the discipline was set
//! up, which on a real host is long before a test begins; here updates begin with the run.
//!
//! With `le_factor` packets marked LE meet a multiple of the probability, so that one queue serves two classes. That is this
//! project's addition: no RFC has it. It is WRED's idea with the controller of PIE.

pub(crate) mod law;
#[cfg(test)]
mod tests;

use crate::fifo::limit;
use crate::{Backlog, Discipline, DropReason, Ecn, Fifo, Limit, LinkProperties, Packet, Sink, advice};
use alloc::format;
use alloc::vec::Vec;
use law::{PieController, PieLaw, Verdict};
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;
use sojourn_core::registry::declare::{Field, number};
use sojourn_core::registry::{
    Advice, Descriptor, Form, Linux, Parameter, ParameterError, Params, Preset, Setting, Unit, Value, joined,
};
use sojourn_core::{Amount, Span, Stream, Time, parameters};

/// Shared with PI2.
pub(crate) const LE_FACTOR: Field<f64> = number(1.0, 1.0..=1000.0).described(
    "how many times the drop probability of the others packets marked LE (RFC 8622) meet, in the same queue; long transfers then have about one over its square root of the others' rate each",
);

parameters! {
    /// What can be set beside the law.
    struct Own {
        /// share of limit that has to wait for the controller to become active after quiet times (optional in RFC 8033, there
        /// and in RFC 8034 one third)
        active_above: f64 = number(0.0, 0.0..=1.0),
        le_factor: f64 = LE_FACTOR,
    }
}

static PARAMETERS: [Parameter; 1 + law::Parameters::LIST.len() + Own::LIST.len()] =
    joined(&[&[limit(Amount::Packets(1000.0)).parameter("limit")], &law::Parameters::LIST, &Own::LIST]);

static NS3: [(&str, Value); 1 + law::NS3.len()] =
    joined(&[&[("limit", Value::Amount(Amount::Packets(25.0)))], law::NS3]);

static SETTINGS: [Setting; 1 + law::SETTINGS.len()] =
    joined(&[&[Setting::option("limit", "limit", Unit::Packets)], law::SETTINGS]);

/// What `pie` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "pie",
    summary: "a proportional integral controller drops arrivals at random to keep the delay at a target",
    sources: &[
        "RFC 8033",
        "RFC 8034",
        "Linux net/sched/sch_pie.c and include/net/pie.h",
        "ns-3 src/traffic-control/model/pie-queue-disc.cc",
    ],
    parameters: &PARAMETERS,
    presets: &[
        Preset { name: "rfc", summary: "RFC 8033 section 4 and appendix A, without its optional parts", values: &[] },
        Preset {
            name: "linux",
            summary: "tc pie: de-randomised, a boost above 250 ms, burst allowance reduced by departures",
            values: law::LINUX,
        },
        Preset {
            name: "ns3",
            summary: "ns3::PieQueueDisc: 25 packets, a burst allowance only after 1.5 quiet seconds",
            values: &NS3,
        },
        Preset {
            name: "docsis",
            summary: "RFC 8034: 10 ms, an update every 16 ms, active above a third of the buffer",
            values: &[
                ("target", Value::Span(Span::from_millis(10))),
                ("update", Value::Span(Span::from_millis(16))),
                ("alpha", Value::Number(0.25)),
                ("beta", Value::Number(2.5)),
                ("tuning", law::Tuning::Rfc8034.value()),
                ("decay_below", Value::Span(Span::from_millis(5))),
                ("boost_above", Value::Span(Span::from_millis(200))),
                ("cap", Value::Boolean(true)),
                ("burst_begins", law::Begins::Drop.value()),
                ("burst", Value::Span(Span::from_millis(142))),
                ("hold", Value::Boolean(true)),
                ("quiet", Value::Span(Span::from_secs(1))),
                ("active_above", Value::Number(1.0 / 3.0)),
                ("estimator", law::Source::LinkRate.value()),
                ("mean_packet", Value::Integer(1024)),
                ("by_size", Value::Boolean(true)),
                ("derandomize", Value::Boolean(true)),
            ],
        },
    ],
    linux: Linux::Kernel(&[Form {
        name: "pie",
        module: "sch_pie",
        settings: &SETTINGS,
        remarks: &[law::UPDATE_IN_LINUX],
        ..Form::PLAIN
    }]),
    ..Descriptor::PLAIN
};

/// A first-in first-out queue under a proportional integral controller.
#[derive(Debug)]
pub struct Pie<B> {
    queue: Fifo<B>,
    limit: Limit,
    /// So much has to wait, in the unit of the limit, for the controller to become active.
    active_from: u64,
    law: PieLaw,
    controller: PieController,
    next_update: Time,
    random: Stream,
}

impl<B: Copy> Pie<B> {
    /// A queue with the given parameters.
    ///
    /// # Errors
    /// A limit that holds no full-size packet, or too little to measure a rate where one is to be measured.
    pub fn new(params: &Params, link: &LinkProperties, random: Stream) -> Result<Self, ParameterError> {
        let (declared, own) = (law::Parameters::of(params), Own::of(params));
        let limit = Limit::of(params, "limit", link)?;
        let room = match limit {
            Limit::Packets(packets) => packets * u64::from(link.packet_bytes),
            Limit::Bytes(bytes) => bytes,
        };
        if declared.estimator == law::Source::DepartureRate && room <= law::RATE_THRESHOLD {
            let rule = format!(
                "timestamp or link-rate where no more than {room} B may wait: the departure rate is measured while {} B \
                 wait, so that there would never be a measurement",
                law::RATE_THRESHOLD
            );
            return Err(ParameterError::new("estimator", rule));
        }
        let law = PieLaw::new(&declared, link)?.with_le_factor(own.le_factor);
        Ok(Pie {
            queue: Fifo::default(),
            limit,
            active_from: match limit {
                Limit::Packets(limit) | Limit::Bytes(limit) => (own.active_above * limit as f64).ceil() as u64,
            },
            law,
            controller: PieController::default(),
            next_update: link.since + law.update(),
            random,
        })
    }

    /// Whether enough waits for the controller to become active.
    #[inline]
    fn wakes(&self) -> bool {
        let waiting = match self.limit {
            Limit::Packets(_) => self.queue.packets() as u64,
            Limit::Bytes(_) => self.queue.bytes(),
        };
        waiting >= self.active_from
    }
}

impl<B: Copy> Discipline<B> for Pie<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        if !self.limit.has_room(&self.queue, packet.bytes) {
            self.controller.overflow();
            return sink.dropped(packet.arrived(now), DropReason::Overflow);
        }
        let (backlog, wakes) = (self.backlog(), self.wakes());
        match self.controller.arrival(&self.law, &packet, backlog, wakes, &mut self.random) {
            Verdict::Drop => return sink.dropped(packet.arrived(now), DropReason::Early),
            Verdict::Mark => {
                packet.ecn = Ecn::Ce;
                sink.marked(packet.arrived(now));
            }
            Verdict::Pass => {}
        }
        self.queue.push(&packet).enqueued = now;
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, now: Time, _sink: &mut S) -> Option<Packet<B>> {
        let head = self.queue.head()?;
        let bytes = self.queue.bytes() - u64::from(head.bytes);
        let left = Backlog { packets: self.queue.packets() - 1, bytes };
        self.controller.departure(&self.law, head, left, now);
        self.queue.pop()
    }

    fn retune<S: Sink<B>>(&mut self, fresh: Self, _now: Time, sink: &mut S) -> Option<Self> {
        (self.limit, self.law, self.active_from) = (fresh.limit, fresh.law, fresh.active_from);
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

    fn timer(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timer<S: Sink<B>>(&mut self, _now: Time, _sink: &mut S) {
        let backlog = self.backlog();
        self.controller.update(&self.law, backlog);
        self.next_update += self.law.update();
    }

    fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
        [advice::short_target(params, link), advice::slow_updates(params), advice::limit_below_target(params, link)]
            .into_iter()
            .flatten()
            .collect()
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        visit("drop_probability", self.controller.probability());
        visit("delay_ms", self.controller.delay() * 1000.0);
        visit("burst_allowance_ms", self.controller.burst(&self.law).as_millis_f64());
    }
}
