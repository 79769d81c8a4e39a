//! DualPI2: two coupled queues, one for Classic traffic and one with low latency for scalable traffic (RFC 9332).
//!
//! The ECN field decides: ECT(1) and CE go to the L queue, everything else to the C queue. The C queue is under
//! [PI2](crate::pi2). The L queue is marked with the larger of what its own delay says (a ramp or a step at about a
//! millisecond) and of what is coupled across, k p'. L is served first, with a small share kept for C. Where k p' reaches
//! 1 there is overload: both queues then drop with p' squared, and all of L is marked.
//!
//! The scheduler is Linux's: a credit in bytes that says whose turn it is while both wait. RFC 9332 leaves the choice;
//! its other suggestion, a time-shifted FIFO, is not here, nor is Linux's option to drop at arrival.
//!
//! Two options decide at arrival who else belongs to L and who does not: packets marked NQB (RFC 9956), and queue protection.

mod protection;
#[cfg(test)]
mod tests;

use {crate::Dscp, alloc::boxed::Box};

use crate::fifo::limit;
use crate::pi2::law::{self, Dice, Pi2Controller, Pi2Law, Sum};
use crate::{Discipline, DropReason, Ecn, Fifo, Limit, LinkProperties, Packet, Sink, advice};
use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sojourn_core::registry::declare::{Field, choice, flag, integer, number, span};
use sojourn_core::registry::{Advice, Descriptor, Linux, Parameter, ParameterError, Params, Preset, Value, joined};
use sojourn_core::{Amount, Span, Stream, Time, choices, parameters};

/// Parts that a whole is divided into by the scheduler.
const WHOLE: i64 = 10_000;

choices! {
    /// Whose delay is controlled.
    enum DelayOf { Longer = "longer", Classic = "classic" }
    /// Words of `native`.
    enum NativeRule { Ramp = "ramp", Step = "step" }
    /// Words of `overload`.
    enum Overload { Drop = "drop", Overflow = "overflow" }
}

parameters! {
    /// What can be set of the two queues.
    struct Parameters {
        /// whose delay is controlled: that of the queue whose head has waited longer (RFC 9332 with its treatment of edge
        /// cases, Linux), or of the C queue (RFC 9332's basic form)
        delay_of: DelayOf = choice(DelayOf::Longer.value()),
        /// the L queue's own marking: from threshold on with a probability that rises to 1 within ramp, or always above
        /// threshold (Linux)
        native: NativeRule = choice(NativeRule::Ramp.value()),
        /// delay of L packets at which their own marking begins (minTh, step_thresh)
        threshold: Span = span(Span::from_micros(800), Span::ZERO..=Span::from_secs(10)),
        /// with native ramp: width of the ramp (range)
        ramp: Span = span(Span::from_micros(400), Span::from_nanos(1)..=Span::from_secs(10)),
        /// packets in the L queue, the leaving one included, up to which its own marking is off, for slow links (RFC 9332
        /// Th_len); 0 is always on (Linux min_qlen_step)
        native_above: usize = integer(1, 0..=1_000_000),
        /// while less than the bytes of so many full-size packets wait behind the one that is leaving, p' neither drops nor
        /// marks (Linux 2; RFC 9332 has no such rule, and may drop all there is)
        spare: u64 = integer(0, 0..=1000),
        /// share of the link that the C queue gets while both queues wait (RFC 9332 1/16; tc classic_protection 10 %)
        classic_share: f64 = number(0.0625, 0.0..=1.0),
        /// where k p' reaches 1: both queues drop with p' squared, or p' stays at 1/k and L grows to the limit (tc overflow)
        overload: Overload = choice(Overload::Drop.value()),
        /// whether packets marked NQB (DSCP 45) wait in the L queue, whatever their ECN field (RFC 9956); those that cannot be
        /// marked are only dropped in overload
        nqb: bool = flag(false),
    }
}

const LIMIT: Field<Amount> = limit(Amount::Time(Span::from_millis(250))).described(
    "what may wait in both queues together, besides the packet on the wire: packets, bytes, or time at the link's rate",
);

static PARAMETERS: [Parameter;
    1 + law::Parameters::LIST.len() + Parameters::LIST.len() + protection::Parameters::LIST.len()] =
    joined(&[&[LIMIT.parameter("limit")], &law::Parameters::LIST, &Parameters::LIST, &protection::Parameters::LIST]);

/// What `dualpi2` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "dualpi2",
    summary: "a low-latency queue for scalable traffic coupled to a Classic queue under PI2 (L4S)",
    sources: &["RFC 9332", "Linux net/sched/sch_dualpi2.c", "RFC 9956", "RFC 9957"],
    parameters: &PARAMETERS,
    presets: &[
        Preset {
            name: "rfc",
            summary: "RFC 9332 appendix A: 250 ms, a ramp from 0.8 to 1.2 ms, 1/16 for C",
            values: &[],
        },
        Preset {
            name: "linux",
            summary: "tc dualpi2: 10000 packets, a step at 1 ms, 10 % for C, decisions at random",
            values: &[
                ("limit", Value::Amount(Amount::Packets(10_000.0))),
                ("spread", law::Spread::Random.value()),
                ("native", NativeRule::Step.value()),
                ("threshold", Value::Span(Span::from_millis(1))),
                ("native_above", Value::Integer(0)),
                ("spare", Value::Integer(2)),
                ("classic_share", Value::Number(0.1)),
            ],
        },
    ],
    linux: Linux::Absent("dualpi2 came with Linux 6.17; the testbed's kernel is 6.1"),
    ..Descriptor::PLAIN
};

/// Two coupled queues.
#[derive(Debug)]
pub struct DualPi2<B> {
    classic: Fifo<B>,
    low: Fifo<B>,
    limit: Limit,
    spared: u64,
    full_packet: u64,
    controller: Pi2Controller,
    dice: Dice,
    classic_sum: Sum,
    low_sum: Sum,
    overload_sum: Sum,
    delay_of: DelayOf,
    native: Native,
    native_above: usize,
    drops_in_overload: bool,
    scheduler: CreditScheduler,
    nqb: bool,
    protection: Option<Box<protection::Protection>>,
}

/// The L queue's own marking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Native {
    Ramp { from: Span, width: Span },
    Step { above: Span },
}

impl Native {
    /// Its probability for a packet that has waited for `delay`.
    #[inline]
    fn probability(self, delay: Span) -> f64 {
        match self {
            Native::Ramp { from, width } => delay.saturating_sub(from).ratio(width).min(1.0),
            Native::Step { above } => f64::from(u8::from(delay > above)),
        }
    }

    /// The delay from which on it marks every packet, if it begins no earlier than at `floor`.
    fn certain_from(self, floor: Span) -> Span {
        match self {
            Native::Ramp { from, width } => from.max(floor) + width,
            Native::Step { above } => above.max(floor),
        }
    }
}

/// Weighted round robin by a credit (Linux `c_protection_credit`): while both queues have packets, C is served while it is
/// positive.
#[derive(Clone, Copy, Debug)]
struct CreditScheduler {
    credit: i64,
    /// The credit of an idle link.
    initial: i64,
    /// The shares of C and L: a byte of L adds the former, a byte of C takes the latter.
    classic: i64,
    low: i64,
}

impl CreditScheduler {
    fn new(share: f64, full_packet: u32) -> CreditScheduler {
        let classic = (share * WHOLE as f64 + 0.5) as i64;
        let low = WHOLE - classic;
        let initial = i64::from(full_packet) * (classic - low);
        CreditScheduler { credit: initial, initial, classic, low }
    }
}

/// The class of packets in the L queue.
const LOW: u8 = 0;
/// The class of packets in the C queue.
const CLASSIC: u8 = 1;

impl<B: Copy> DualPi2<B> {
    /// Queues with the given parameters.
    ///
    /// # Errors
    /// A limit that holds no full-size packet, an alpha of zero.
    pub fn new(params: &Params, link: &LinkProperties, random: Stream) -> Result<Self, ParameterError> {
        let (law, declared) = (law::Parameters::of(params), Parameters::of(params));
        let threshold = declared.threshold;
        let native = match declared.native {
            NativeRule::Step => Native::Step { above: threshold },
            NativeRule::Ramp => Native::Ramp { from: threshold, width: declared.ramp },
        };
        let mut random = random;
        let protection =
            protection::Protection::new(&protection::Parameters::of(params), native, link, &mut random).map(Box::new);
        Ok(DualPi2 {
            classic: Fifo::default(),
            low: Fifo::default(),
            limit: Limit::of(params, "limit", link)?,
            spared: declared.spare * u64::from(link.packet_bytes),
            full_packet: u64::from(link.packet_bytes),
            controller: Pi2Controller::new(Pi2Law::new(&law, declared.overload == Overload::Overflow)?, link.since),
            dice: Dice::new(law.spread, random),
            classic_sum: Sum::default(),
            low_sum: Sum::default(),
            overload_sum: Sum::default(),
            delay_of: declared.delay_of,
            native,
            native_above: declared.native_above,
            drops_in_overload: declared.overload == Overload::Drop,
            scheduler: CreditScheduler::new(declared.classic_share, link.packet_bytes),
            nqb: declared.nqb,
            protection,
        })
    }

    /// The queue for an arriving packet, before anybody is blamed: ECT(1) and CE are L4S (RFC 9331 section 5.1).
    #[inline]
    fn identify(&self, packet: &Packet<B>) -> u8 {
        if self.nqb && packet.dscp == Dscp::NQB {
            return LOW;
        }
        match packet.ecn {
            Ecn::Ect1 | Ecn::Ce => LOW,
            Ecn::NotEct | Ecn::Ect0 => CLASSIC,
        }
    }

    /// The queue for an arriving packet.
    #[inline]
    fn classify(&mut self, packet: &Packet<B>, now: Time) -> u8 {
        let class = self.identify(packet);
        if let (LOW, Some(protection)) = (class, &mut self.protection) {
            let delay = protection.delay(self.low.bytes() + u64::from(packet.bytes));
            let alone = self.low.packets() < self.native_above;
            let native = if alone { 0.0 } else { self.native.probability(delay) };
            if protection.sanctions_packet(packet, delay, native, now) {
                return CLASSIC;
            }
        }
        class
    }

    #[inline]
    fn is_overloaded(&self) -> bool {
        self.drops_in_overload && self.controller.scalable() >= 1.0
    }

    /// Whether so little waits behind the packet that is leaving that there is no congestion.
    #[inline]
    fn is_spared(&self) -> bool {
        self.low.bytes() + self.classic.bytes() < self.spared
    }

    /// A packet leaves the L queue: `None` if it was dropped.
    #[inline]
    fn leave_low<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) -> Option<Packet<B>> {
        let spared = self.is_spared();
        if !spared && self.is_overloaded() && self.dice.hit_square(self.controller.base(), &mut self.overload_sum) {
            sink.dropped(&packet, DropReason::Early);
            return None;
        }
        let alone = self.low.packets() < self.native_above;
        let native = if alone { 0.0 } else { self.native.probability(now.since(packet.enqueued)) };
        let coupled = if spared { 0.0 } else { self.controller.scalable() };
        if self.dice.hit(native.max(coupled), &mut self.low_sum) && packet.ecn.is_capable() {
            packet.ecn = Ecn::Ce;
            sink.marked(&packet);
        }
        Some(packet)
    }

    /// A packet leaves the C queue: `None` if it was dropped.
    #[inline]
    fn leave_classic<S: Sink<B>>(&mut self, mut packet: Packet<B>, sink: &mut S) -> Option<Packet<B>> {
        if !self.is_spared() && self.dice.hit_square(self.controller.base(), &mut self.classic_sum) {
            if !packet.ecn.is_capable() || self.is_overloaded() {
                sink.dropped(&packet, DropReason::Early);
                return None;
            }
            packet.ecn = Ecn::Ce;
            sink.marked(&packet);
        }
        Some(packet)
    }
}

/// Marks that say no more than that another packet was on the wire.
fn shallow_step(params: &Params, link: &LinkProperties) -> Option<Advice> {
    let declared = Parameters::of(params);
    let two = advice::packet_time(link) * 2;
    (declared.native_above == 0 && declared.threshold < two).then(|| {
        let text = format!(
            "two full-size packets take {two} at this rate, so L packets are marked for waiting behind one or two others, and \
             scalable senders leave the link idle; usual is a threshold no shorter, or native_above of at least 1"
        );
        Advice::new("threshold", text)
    })
}

/// A share that leaves one of the queues without any.
fn one_queue_only(params: &Params) -> Option<Advice> {
    let declared = Parameters::of(params);
    let starved = match declared.classic_share {
        share if share * WHOLE as f64 + 0.5 < 1.0 => "Classic",
        share if share >= 1.0 => "L4S",
        _ => return None,
    };
    let text =
        format!("{starved} packets wait for as long as there are others; usual are 1/16 (RFC 9332) or 0.1 (Linux)");
    Some(Advice::new("classic_share", text))
}

impl<B: Copy> Discipline<B> for DualPi2<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        packet.enqueued = now;
        packet.class = self.classify(&packet, now);
        // There has to be room for a full-size packet even if this one is smaller, so that large ones are at no disadvantage.
        if self.limit.is_exceeded(self.packets() + 1, self.bytes() + self.full_packet.max(u64::from(packet.bytes))) {
            return sink.dropped(&packet, DropReason::Overflow);
        }
        let queue = if packet.class == LOW { &mut self.low } else { &mut self.classic };
        queue.push(&packet);
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, now: Time, sink: &mut S) -> Option<Packet<B>> {
        loop {
            let low_waits = self.low.packets() > 0;
            let classic_waits = self.classic.packets() > 0;
            let (sent, price) = if low_waits && (!classic_waits || self.scheduler.credit <= 0) {
                let packet = self.low.pop()?;
                let price = if classic_waits { self.scheduler.classic } else { 0 };
                (self.leave_low(packet, now, sink), price)
            } else if classic_waits {
                let packet = self.classic.pop()?;
                let price = if low_waits { -self.scheduler.low } else { 0 };
                (self.leave_classic(packet, sink), price)
            } else {
                self.scheduler.credit = self.scheduler.initial;
                return None;
            };
            if let Some(packet) = sent {
                self.scheduler.credit += price * i64::from(packet.bytes);
                return Some(packet);
            }
        }
    }

    #[inline]
    fn packets(&self) -> usize {
        self.low.packets() + self.classic.packets()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.low.bytes() + self.classic.bytes()
    }

    fn timer(&self) -> Option<Time> {
        Some(self.controller.timer())
    }

    fn on_timer<S: Sink<B>>(&mut self, now: Time, _sink: &mut S) {
        let delay = |queue: &Fifo<B>| queue.head().map_or(Span::ZERO, |head| now.since(head.enqueued));
        let classic = delay(&self.classic);
        self.controller.update(match self.delay_of {
            DelayOf::Classic => classic,
            DelayOf::Longer => classic.max(delay(&self.low)),
        });
    }

    fn marks(_params: &Params) -> bool {
        true
    }

    fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
        [
            advice::short_target(params, link),
            advice::slow_updates(params),
            advice::limit_below_target(params, link),
            shallow_step(params, link),
            one_queue_only(params),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn classes(&self) -> Vec<String> {
        // In the order of their numbers.
        ["low", "classic"].map(str::to_owned).to_vec()
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        visit("base_probability", self.controller.base());
        visit("drop_probability", self.controller.classic());
        visit("delay_ms", self.controller.delay() * 1000.0);
        visit("low_packets", self.low.packets() as f64);
        visit("classic_packets", self.classic.packets() as f64);
        if let Some(protection) = &self.protection {
            visit("sanctions", protection.sanctions() as f64);
        }
    }
}
