//! CoDel's estimator and control loop for one queue (RFC 8289 sections 4 and 5), whatever holds the packets.

use crate::{DropReason, Ecn, Fifo, Packet, Sink};
use alloc::format;
#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;
use sojourn_core::registry::declare::{Field, choice, flag, integer_in, or_auto, span, span_in};
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Span, Time, choices, parameters};

/// A dropping state that ended within so many intervals hands its rate on to the next one.
const MEMORY_INTERVALS: u64 = 16;

/// Where a controller takes packets from.
pub(crate) trait Source<B> {
    /// The oldest packet.
    fn head(&self) -> Option<&Packet<B>>;
    /// The same, to be marked.
    fn head_mut(&mut self) -> Option<&mut Packet<B>>;
    /// Takes it.
    fn take(&mut self) -> Option<Packet<B>>;
    /// Bytes that wait: CoDel is silent while there are no more than `min_bytes` behind the oldest packet.
    fn backlog(&self) -> u64;
}

impl<B: Copy> Source<B> for Fifo<B> {
    #[inline]
    fn head(&self) -> Option<&Packet<B>> {
        Fifo::head(self)
    }
    #[inline]
    fn head_mut(&mut self) -> Option<&mut Packet<B>> {
        Fifo::head_mut(self)
    }
    #[inline]
    fn take(&mut self) -> Option<Packet<B>> {
        self.pop()
    }
    #[inline]
    fn backlog(&self) -> u64 {
        self.bytes()
    }
}

/// What does not change: shared by all queues of a discipline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoDelLaw {
    target: Span,
    interval: Span,
    min_bytes: u64,
    ecn: bool,
    after_mark: AfterMark,
    root: Root,
    clock: Clock,
    ce_threshold: Option<Span>,
    ce_threshold_for: CeThresholdFor,
}

choices! {
    /// From when the next signal is counted after a mark in the dropping state.
    pub(crate) enum AfterMark { Schedule = "schedule", Now = "now" }
    /// How 1/sqrt(count) is computed.
    pub(crate) enum Root { Exact = "exact", Newton = "newton" }
    /// How finely time is read.
    pub(crate) enum Clock { Nanoseconds = "nanoseconds", Ticks = "ticks" }
    /// Whom the instantaneous threshold marks.
    pub(crate) enum CeThresholdFor { All = "all", Ect1 = "ect1" }
}

parameters! {
    /// What can be set of a law, but for [`ecn`], whose default differs.
    pub(crate) struct Parameters {
        /// acceptable standing queue, as sojourn time (TARGET)
        target: Span = span(Span::from_millis(5), Span::from_nanos(1)..=Span::from_secs(1000)),
        /// how long the sojourn time must stay above target before the first signal, and the time between the first two; about
        /// the longest usual round-trip time (INTERVAL)
        interval: Span = span(Span::from_millis(100), Span::from_nanos(2)..=Span::from_secs(10_000)),
        /// there is no signal while no more than this many bytes would remain; auto is the link's full-size packet (RFC 8289
        /// MAXPACKET, Linux mtu; ns-3 compares with less than MinBytes, hence one byte fewer)
        min_bytes: Option<u64> = or_auto(&integer_in(0..=10_000_000)),
        /// in the dropping state, from when the next signal is counted after a mark: from when the mark was due, as after a
        /// drop (RFC 8289, Linux), or from when it happened (ns-3)
        after_mark: AfterMark = choice(AfterMark::Schedule.value()),
        /// how 1/sqrt(count) is computed: exactly, or in 16-bit fixed point by one Newton step a signal (Linux, ns-3), which
        /// lags behind after jumps of count
        root: Root = choice(Root::Exact.value()),
        /// how time is read: to the nanosecond, or in ticks of 1024 ns, in which the delay must have been above target for
        /// longer than an interval rather than for as long (Linux). It decides which packet is hit, hardly how many
        clock: Clock = choice(Clock::Nanoseconds.value()),
        /// every ECN-capable packet whose sojourn time is above this is marked, whatever the controller says (Linux
        /// ce_threshold); auto is never
        ce_threshold: Option<Span> = or_auto(&span_in(Span::ZERO..=Span::from_secs(1000))),
        /// which packets ce_threshold marks: all that are ECN-capable, or only ECT(1) (Linux ce_threshold_selector 1/3)
        ce_threshold_for: CeThresholdFor = choice(CeThresholdFor::All.value()),
    }
}

/// `ecn`, whose default differs.
pub(crate) const fn ecn(default: bool) -> Field<bool> {
    flag(default).described("whether ECN-capable packets are marked instead of dropped")
}

/// Whether packets may be marked: by the controller, or above `ce_threshold`.
pub(crate) fn marks(params: &Params) -> bool {
    params.read::<bool>("ecn") || Parameters::of(params).ce_threshold.is_some()
}

impl CoDelLaw {
    /// The law that is `declared`, which marks where `ecn` is on.
    pub(crate) fn new(declared: &Parameters, ecn: bool, full_packet: u32) -> Result<CoDelLaw, ParameterError> {
        let Parameters { target, interval, clock, .. } = *declared;
        if target >= interval {
            let rule = format!(
                "less than interval ({interval}): the queue is judged by its least delay within an interval, which \
                 spans a whole round trip; RFC 8289 suggests 5 to 10 % of it"
            );
            return Err(ParameterError::new("target", rule));
        }
        Ok(CoDelLaw {
            target: clock.span(target),
            interval: clock.span(interval),
            clock,
            min_bytes: declared.min_bytes.unwrap_or(u64::from(full_packet)),
            ecn,
            after_mark: declared.after_mark,
            root: declared.root,
            ce_threshold: declared.ce_threshold.map(|span| clock.span(span)),
            ce_threshold_for: declared.ce_threshold_for,
        })
    }
}

impl Clock {
    /// Linux shifts nanoseconds by 10 bits.
    const TICK: u64 = 1 << 10;

    /// What the clock shows at `time`.
    #[inline]
    fn read(self, time: Time) -> Time {
        match self {
            Clock::Nanoseconds => time,
            Clock::Ticks => Time::from_nanos(time.as_nanos() / Clock::TICK * Clock::TICK),
        }
    }

    /// `span` as the clock counts it.
    #[inline]
    fn span(self, span: Span) -> Span {
        match self {
            Clock::Nanoseconds => span,
            Clock::Ticks => Span::from_nanos(span.as_nanos() / Clock::TICK * Clock::TICK),
        }
    }

    /// Whether at `now` the time until `end` has passed.
    #[inline]
    fn is_over(self, now: Time, end: Time) -> bool {
        match self {
            Clock::Nanoseconds => now >= end,
            Clock::Ticks => now > end,
        }
    }
}

/// The state of one queue's controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoDelController {
    /// When the sojourn time will have been above target for an interval; `None` while it is below.
    first_above: Option<Time>,
    /// When the next signal is due, in the dropping state.
    next: Time,
    /// Signals since the dropping state was entered, and what an earlier one handed on.
    count: u32,
    /// `count` as it was when the dropping state was entered.
    last_count: u32,
    dropping: bool,
    /// 1/sqrt(count) in units of 2^-16, for [`Root::Newton`].
    inverse_root: u16,
}

impl Default for CoDelController {
    fn default() -> Self {
        CoDelController {
            first_above: None,
            next: Time::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
            inverse_root: u16::MAX,
        }
    }
}

impl CoDelController {
    /// Drops and marks what has to be, so that the next packet to send is the oldest (RFC 8289 section 5.5, `deque`).
    #[inline]
    pub(crate) fn prepare<B: Copy, S: Sink<B>>(
        &mut self,
        law: &CoDelLaw,
        source: &mut impl Source<B>,
        now: Time,
        sink: &mut S,
    ) {
        let now = law.clock.read(now);
        let mut above = self.is_above(law, source, now);
        let mut marks = false;
        if self.dropping {
            if !above {
                self.dropping = false;
            }
            // A large backlog may make several drops due at once.
            while self.dropping && now >= self.next {
                self.count += 1;
                self.step();
                if law.may_mark(source.head()) {
                    let from = if law.after_mark == AfterMark::Now { now } else { self.next };
                    self.next = self.after(law, from);
                    marks = true;
                    break;
                }
                drop_early(source, sink);
                above = self.is_above(law, source, now);
                if above {
                    self.next = self.after(law, self.next);
                } else {
                    self.dropping = false;
                }
            }
        } else if above {
            marks = law.may_mark(source.head());
            if !marks {
                drop_early(source, sink);
                self.is_above(law, source, now);
            }
            self.enter(law, now);
        }
        if marks || law.ce_threshold.is_some() {
            law.mark(source, marks, now, sink);
        }
    }

    /// Packets were dropped from this queue for want of room: Linux lets the controller press harder.
    pub(crate) fn count_overflow(&mut self, packets: u32) {
        self.count += packets;
    }

    /// Whether signals are being sent.
    pub(crate) fn is_dropping(&self) -> bool {
        self.dropping
    }

    /// When the next signal is due, where any are being sent.
    pub(crate) fn next_signal(&self) -> Option<Time> {
        self.dropping.then_some(self.next)
    }

    /// The count of the control law.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Whether the queue has been above target for an interval, as the packet tells that is taken next (`dodequeue`). That stays
    /// where it is until it is known what becomes of it.
    #[inline]
    fn is_above<B>(&mut self, law: &CoDelLaw, source: &impl Source<B>, now: Time) -> bool {
        let below = source.head().is_none_or(|packet| {
            law.delay(packet, now) < law.target || source.backlog() - u64::from(packet.bytes) <= law.min_bytes
        });
        if below {
            self.first_above = None;
            return false;
        }
        let first_above = *self.first_above.get_or_insert(now + law.interval);
        law.clock.is_over(now, first_above)
    }

    /// Enters the dropping state, at the rate that controlled the queue last if that is not long ago.
    fn enter(&mut self, law: &CoDelLaw, now: Time) {
        self.dropping = true;
        let delta = self.count - self.last_count;
        if delta > 1 && now.since(self.next) < law.interval * MEMORY_INTERVALS {
            self.count = delta;
            self.step();
        } else {
            self.count = 1;
            self.inverse_root = u16::MAX;
        }
        self.last_count = self.count;
        self.next = self.after(law, now);
    }

    /// The control law: `from` plus interval/sqrt(count).
    fn after(&self, law: &CoDelLaw, from: Time) -> Time {
        let interval = law.interval.as_nanos();
        let gap = match law.root {
            Root::Exact => (interval as f64 / f64::from(self.count).sqrt() + 0.5) as u64,
            Root::Newton => ((u128::from(interval) * u128::from(self.inverse_root)) >> 16) as u64,
        };
        from + law.clock.span(Span::from_nanos(gap))
    }

    /// One step of Newton's method, x (3 - count x^2)/2, in the fixed point of the kernel, which wraps where a jump of
    /// count lies outside its range of convergence.
    fn step(&mut self) {
        let root = u64::from(self.inverse_root) << 16;
        let square = (root * root) >> 32;
        let rest = (3u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square)) >> 2;
        self.inverse_root = (rest.wrapping_mul(root) >> (31 + 16)) as u16;
    }
}

impl CoDelLaw {
    /// How long `packet` has waited, where the clock shows `now`.
    #[inline]
    fn delay<B>(&self, packet: &Packet<B>, now: Time) -> Span {
        now.since(self.clock.read(packet.enqueued))
    }

    /// Whether a signal to the sender of `packet` is a mark.
    #[inline]
    fn may_mark<B>(&self, packet: Option<&Packet<B>>) -> bool {
        self.ecn && packet.is_some_and(|packet| packet.ecn.is_capable())
    }

    /// Marks the oldest packet if `due`, or if it is above the second, instantaneous threshold.
    fn mark<B, S: Sink<B>>(&self, source: &mut impl Source<B>, due: bool, now: Time, sink: &mut S) {
        let Some(packet) = source.head_mut() else { return };
        let chosen = match self.ce_threshold_for {
            CeThresholdFor::All => matches!(packet.ecn, Ecn::Ect0 | Ecn::Ect1),
            CeThresholdFor::Ect1 => packet.ecn == Ecn::Ect1,
        };
        if due || (chosen && self.ce_threshold.is_some_and(|threshold| self.delay(packet, now) > threshold)) {
            mark(packet, sink);
        }
    }
}

#[inline]
fn mark<B, S: Sink<B>>(packet: &mut Packet<B>, sink: &mut S) {
    packet.ecn = Ecn::Ce;
    sink.marked(packet);
}

#[inline]
fn drop_early<B, S: Sink<B>>(source: &mut impl Source<B>, sink: &mut S) {
    if let Some(packet) = source.take() {
        sink.dropped(&packet, DropReason::Early);
    }
}
