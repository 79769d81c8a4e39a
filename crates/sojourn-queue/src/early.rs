//! Early marking: any discipline inside, and marks of ECT(1) packets beside it (RITE deliverable 2.1 section 4.2.1).
//!
//! RFC 3168 lets a queue mark only where it would drop. RITE proposes to mark the packets of senders that say so by
//! ECT(1) earlier, and leaves open when exactly; Linux's `ce_threshold` is such a rule, and this is it: a packet that
//! leaves the discipline inside after more than a threshold is marked, unless it was marked inside. Everything else is
//! decided inside, on all packets alike. A threshold in packets or bytes is compared with what the packet leaves behind.

#[cfg(test)]
mod tests;

use crate::classful;
use crate::{Body, Discipline, Ecn, LinkProperties, Packet, Queue, Sink};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sojourn_core::registry::declare::{amount, choice};
use sojourn_core::registry::{Advice, Descriptor, Holds, Linux, ParameterError, Params, Value};
use sojourn_core::{Amount, Span, Stream, Time, choices, parameters};

choices! {
    /// Words of `marks`.
    enum Marks { Ect1 = "ect1", Ect = "ect" }
}

parameters! {
    /// What can be set.
    struct Parameters {
        /// a packet is marked on leaving if it has waited for longer (a time), or leaves more behind (packets, bytes)
        threshold: Amount = amount(Amount::Time(Span::from_millis(1)), 0.0, true),
        /// whose packets: ECT(1) only (RITE), or all that are ECN-capable (Linux without a selector)
        marks: Marks = choice(Marks::Ect1.value()),
    }
}

/// What `early` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "early",
    summary: "marks ECT(1) packets above a low threshold, beside what the discipline inside it does",
    sources: &[
        "RITE deliverable 2.1 section 4.2.1",
        "Linux include/net/codel_impl.h (ce_threshold, ce_threshold_selector)",
    ],
    parameters: &Parameters::LIST,
    holds: Holds::One,
    linux: Linux::Absent("Linux has no AQM that only marks; codel and fq_codel have ce_threshold"),
    ..Descriptor::PLAIN
};

/// A discipline and a second, lower threshold.
#[derive(Debug)]
pub struct Early<B> {
    child: Box<Queue<B>>,
    threshold: Threshold,
    marks_ect0: bool,
    /// Packets marked here, and not inside.
    marked: u64,
}

/// Above what a packet is marked.
#[derive(Clone, Copy, Debug)]
enum Threshold {
    Waited(Span),
    PacketsBehind(usize),
    BytesBehind(u64),
}

impl<B: Body> Early<B> {
    /// An empty queue with the given parameters.
    ///
    /// # Errors
    /// None or too many disciplines inside.
    pub fn new(params: &Params, link: &LinkProperties, random: Stream) -> Result<Self, ParameterError> {
        let declared = Parameters::of(params);
        classful::check_depth(params, "child")?;
        let Some(child) = &params.child else {
            return Err(ParameterError::new("child", "the discipline that decides about all packets"));
        };
        let of_child =
            |error: ParameterError| ParameterError::new("child", format!("as {}, {}", error.parameter, error.rule));
        Ok(Early {
            child: Box::new(Queue::build(child, link, random.into_parts().stream("child")).map_err(of_child)?),
            threshold: match declared.threshold {
                Amount::Time(span) => Threshold::Waited(span),
                Amount::Packets(packets) => Threshold::PacketsBehind(packets as usize),
                Amount::Bytes(bytes) => Threshold::BytesBehind(bytes as u64),
            },
            marks_ect0: declared.marks == Marks::Ect,
            marked: 0,
        })
    }

    #[inline]
    fn is_above(&self, packet: &Packet<B>, now: Time) -> bool {
        match self.threshold {
            Threshold::Waited(span) => now.since(packet.enqueued) > span,
            Threshold::PacketsBehind(packets) => self.child.packets() > packets,
            Threshold::BytesBehind(bytes) => self.child.bytes() > bytes,
        }
    }
}

impl<B: Body> Discipline<B> for Early<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, packet: Packet<B>, now: Time, sink: &mut S) {
        self.child.enqueue(packet, now, sink);
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, now: Time, sink: &mut S) -> Option<Packet<B>> {
        let mut packet = self.child.dequeue(now, sink)?;
        let concerned = packet.ecn == Ecn::Ect1 || (packet.ecn == Ecn::Ect0 && self.marks_ect0);
        if concerned && self.is_above(&packet, now) {
            packet.ecn = Ecn::Ce;
            self.marked += 1;
            sink.marked(&packet);
        }
        Some(packet)
    }

    #[inline]
    fn packets(&self) -> usize {
        self.child.packets()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.child.bytes()
    }

    fn ready_at(&self, now: Time) -> Option<Time> {
        self.child.ready_at(now)
    }

    fn timer(&self) -> Option<Time> {
        self.child.timer()
    }

    fn on_timer<S: Sink<B>>(&mut self, now: Time, sink: &mut S) {
        self.child.on_timer(now, sink);
    }

    fn classes(&self) -> Vec<String> {
        self.child.classes()
    }

    fn marks(_params: &Params) -> bool {
        true
    }

    fn advice(params: &Params, _link: &LinkProperties) -> Vec<Advice> {
        let declared = Parameters::of(params);
        let Some(child) = &params.child else { return Vec::new() };
        let mut advice = Vec::new();
        let own = |name: &str| child.descriptor().parameter(name).map(|_| child.get(name));
        if let (Amount::Time(threshold), Some(Value::Span(target))) = (declared.threshold, own("target"))
            && threshold >= target
        {
            let text = format!(
                "not below the {target} that the {} inside aims at, so hardly a packet is marked early",
                child.descriptor().name
            );
            advice.push(Advice::new("threshold", text));
        }
        if own("ecn") == Some(Value::Boolean(false)) {
            let text = format!(
                "the {} inside drops ECN-capable packets, since its ecn is false: marks come early, and drops all the same",
                child.descriptor().name
            );
            advice.push(Advice::new("marks", text));
        }
        advice
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        visit("early_marks", self.marked as f64);
        self.child.probe(&mut |name, value| visit(&format!("child.{name}"), value));
    }
}
