//! Classful disciplines: a queue for each class of packets, and a scheduler that chooses the class that sends next.
//!
//! `prio`, `wrr`, `dwrr` and `wfq` differ in their [`ClassScheduler`] only. All else is here: the class of a packet, the queues
//! with a random stream of their own, a limit for all together.
//!
//! An AQM may drop the packet at the head of its queue, or all of them. So the size of a class's next packet is known only
//! after its queue has given it, and a class is charged afterwards. Linux's `drr` and `ets` dequeue a packet first and hold
//! it until the deficit covers it, so that an AQM inside decides too early; where [`ClassScheduler::may_send`] refuses a
//! packet, it is held here as well.

mod classifier;
#[cfg(test)]
mod tests;

use crate::{Body, Discipline, DropReason, Limit, LinkProperties, Packet, Queue, Sink};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use classifier::Classifier;
use core::fmt::Debug;
use sojourn_core::registry::declare::{Field, amount_in, integer, or_auto};
use sojourn_core::registry::{Class, ParameterError, Params, Value};
use sojourn_core::{Amount, Stream, Time};

/// The largest number of classes of a discipline, as in Linux (`TCQ_PRIO_BANDS`, `TCQ_ETS_MAX_BANDS`).
pub(crate) const MAX_CLASSES: usize = 16;
/// The largest number of disciplines one inside the other.
const MAX_NESTED: usize = 4;

/// The limit of all classes together.
pub(crate) const LIMIT: Field<Option<Amount>> = or_auto(&amount_in(1.0, true)).described(
    "what may wait in all classes together: packets, bytes, or time at the link's rate; an arrival above it is dropped, whatever its class; auto is what the classes' own queues allow",
);

/// What a class counts for, in classes that share the link by weights; who uses it says what it counts.
pub(crate) const WEIGHT: Field<u32> = integer(1, 1..=1000);

/// Chooses the class that sends next among the backlogged ones.
pub(crate) trait ClassScheduler: Debug {
    /// Those of the classes that have packets which may send now.
    fn ready(&mut self, backlogged: ClassSet, _now: Time) -> ClassSet {
        backlogged
    }
    /// When `class` may send next, by its own rate.
    fn ready_at(&self, _class: usize, now: Time) -> Time {
        now
    }
    /// The class that sends next: one of `candidates`, of which there is at least one.
    fn next(&mut self, candidates: ClassSet) -> usize;
    /// Whether `class`, which is next, may send a packet of so many bytes in this round. If not, the packet is held until
    /// the class is next again.
    fn may_send(&mut self, _class: usize, _bytes: u32) -> bool {
        true
    }
    /// `class` has sent a packet of so many bytes.
    fn sent(&mut self, _class: usize, _bytes: u32) {}
    /// `class` was next and sent nothing: its queue dropped all packets, or its shaper is not ready.
    fn gave_nothing(&mut self, _class: usize) {}
    /// `class` has packets from now on: it becomes backlogged.
    fn backlogged(&mut self, _class: usize) {}
    /// `class` has no packets any more.
    fn emptied(&mut self, _class: usize) {}
}

/// A set of classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ClassSet(u32);

impl ClassSet {
    #[inline]
    pub(crate) fn contains(self, class: usize) -> bool {
        self.0 & 1 << class != 0
    }

    #[inline]
    pub(crate) fn insert(&mut self, class: usize) {
        self.0 |= 1 << class;
    }

    #[inline]
    fn remove(&mut self, class: usize) {
        self.0 &= !(1 << class);
    }

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those for which `is_wanted` holds.
    pub(crate) fn filter(self, is_wanted: impl Fn(usize) -> bool) -> ClassSet {
        let mut wanted = ClassSet::default();
        self.iter().filter(|&class| is_wanted(class)).for_each(|class| wanted.insert(class));
        wanted
    }

    /// The first of the classes that are in the set.
    #[inline]
    pub(crate) fn first(self) -> usize {
        self.0.trailing_zeros() as usize
    }

    /// The first that comes after `class`, which is itself if there is no other.
    #[inline]
    pub(crate) fn after(self, class: usize) -> usize {
        self.from(class + 1).unwrap_or_else(|| self.first())
    }

    /// The first of its members from `class` on.
    #[inline]
    pub(crate) fn from(self, class: usize) -> Option<usize> {
        let rest = ClassSet(self.0.checked_shr(class as u32).unwrap_or(0));
        (!rest.is_empty()).then(|| class + rest.first())
    }

    /// Its members in order.
    #[inline]
    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self;
        core::iter::from_fn(move || {
            let first = (!rest.is_empty()).then(|| rest.first())?;
            rest.remove(first);
            Some(first)
        })
    }
}

/// The queues of the classes and their scheduler.
#[derive(Debug)]
pub(crate) struct Classful<B, T> {
    classifier: Classifier,
    names: Vec<String>,
    queues: Vec<Queue<B>>,
    /// By class, a packet that left its queue and that the scheduler did not let go yet.
    held: Vec<Option<Packet<B>>>,
    limit: Option<Limit>,
    scheduler: T,
    /// The classes that have packets.
    backlogged: ClassSet,
    packets: usize,
    bytes: u64,
}

/// Tells the sink of a discipline which of its classes lost or marked a packet: the outermost discipline has the word.
struct InClass<'a, B> {
    class: u8,
    sink: &'a mut dyn Sink<B>,
}

impl<B: Body> Sink<B> for InClass<'_, B> {
    fn dropped(&mut self, packet: &Packet<B>, reason: DropReason) {
        self.sink.dropped(&Packet { class: self.class, ..*packet }, reason);
    }

    fn marked(&mut self, packet: &Packet<B>) {
        self.sink.marked(&Packet { class: self.class, ..*packet });
    }
}

impl<B: Body, T: ClassScheduler> Classful<B, T> {
    /// Empty queues of `classes`, for the discipline with the parameters `params`.
    ///
    /// # Errors
    /// Classes that contradict each other, a queue that cannot be built, limits that do not fit together.
    pub(crate) fn new(
        params: &Params,
        classes: &[Class],
        scheduler: T,
        link: &LinkProperties,
        random: Stream,
    ) -> Result<Self, ParameterError> {
        check_depth(params, "class")?;
        if let Some(index) = classes.iter().position(|class| class.parent.is_some()) {
            let rule = "no class in which it lies: only those of htb have others in them";
            return Err(ParameterError::in_class(index, "parent", rule));
        }
        let classifier = Classifier::new(classes)?;
        let limit = if params.is_auto("limit") { None } else { Some(Limit::of(params, "limit", link)?) };
        let parts = random.into_parts();
        let mut queues = Vec::with_capacity(classes.len());
        for (index, class) in classes.iter().enumerate() {
            let of_queue = |error: ParameterError| {
                ParameterError::in_class(index, "queue", format!("as {}, {}", error.parameter, error.rule))
            };
            queues.push(Queue::build(&class.queue, link, parts.stream(&class.name)).map_err(of_queue)?);
            if limit.is_some_and(|limit| own_limit(&class.queue, link).is_some_and(|own| own.is_above(limit))) {
                let rule = format!("a limit of at most the {} that all classes together may hold", params.get("limit"));
                return Err(ParameterError::in_class(index, "queue", rule));
            }
        }
        Ok(Classful {
            classifier,
            names: classes.iter().map(|class| class.name.clone()).collect(),
            held: queues.iter().map(|_| None).collect(),
            queues,
            limit,
            scheduler,
            backlogged: ClassSet::default(),
            packets: 0,
            bytes: 0,
        })
    }

    /// Does something to the queue of `class`, and keeps account of it.
    #[inline]
    fn with<R>(&mut self, class: usize, act: impl FnOnce(&mut Queue<B>) -> R) -> R {
        let queue = &mut self.queues[class];
        self.packets -= queue.packets();
        self.bytes -= queue.bytes();
        let result = act(queue);
        self.packets += queue.packets();
        self.bytes += queue.bytes();
        result
    }

    /// The next packet of `class`: from its queue, unless one is held.
    #[inline]
    fn take<S: Sink<B>>(&mut self, class: usize, now: Time, sink: &mut S) -> Option<Packet<B>> {
        let Some(packet) = self.held[class].take() else {
            let sink = &mut InClass { class: class as u8, sink };
            return self.with(class, |queue| queue.dequeue(now, sink));
        };
        self.packets -= 1;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// `packet` waits on, outside of the queue of `class`.
    fn hold(&mut self, class: usize, packet: Packet<B>) {
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
        self.held[class] = Some(packet);
    }

    /// `class` may have got its first packet or lost its last.
    #[inline]
    fn update(&mut self, class: usize) {
        let waits = self.queues[class].packets() > 0 || self.held[class].is_some();
        if waits == self.backlogged.contains(class) {
            return;
        }
        if waits {
            self.backlogged.insert(class);
            self.scheduler.backlogged(class);
        } else {
            self.backlogged.remove(class);
            self.scheduler.emptied(class);
        }
    }

    #[inline]
    pub(crate) fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        let class = self.classifier.class_of(&packet);
        packet.enqueued = now;
        packet.class = class as u8;
        let bytes = self.bytes + u64::from(packet.bytes);
        if self.limit.is_some_and(|limit| limit.is_exceeded(self.packets + 1, bytes)) {
            return sink.dropped(&packet, DropReason::Overflow);
        }
        self.with(class, |queue| queue.enqueue(packet, now, &mut InClass { class: class as u8, sink }));
        self.update(class);
    }

    #[inline]
    pub(crate) fn dequeue<S: Sink<B>>(&mut self, now: Time, sink: &mut S) -> Option<Packet<B>> {
        let mut candidates = self.scheduler.ready(self.backlogged, now);
        while !candidates.is_empty() {
            let class = self.scheduler.next(candidates);
            // A queue that knows its next packet keeps it, and counts it in its limit.
            if self.queues[class].next_bytes().is_some_and(|bytes| !self.scheduler.may_send(class, bytes)) {
                continue;
            }
            let packet = match self.take(class, now, sink) {
                Some(packet) if !self.scheduler.may_send(class, packet.bytes) => {
                    self.hold(class, packet);
                    continue;
                }
                packet => packet,
            };
            match packet {
                Some(packet) => self.scheduler.sent(class, packet.bytes),
                None => self.scheduler.gave_nothing(class),
            }
            self.update(class);
            if let Some(packet) = packet {
                return Some(Packet { class: class as u8, ..packet });
            }
            candidates.remove(class);
        }
        None
    }

    #[inline]
    pub(crate) fn packets(&self) -> usize {
        self.packets
    }

    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn ready_at(&self, now: Time) -> Option<Time> {
        let ready = |class: usize| {
            let held = self.held[class].is_some();
            let packet = if held { Some(now) } else { self.queues[class].ready_at(now) };
            packet.map(|time| time.max(self.scheduler.ready_at(class, now)))
        };
        self.backlogged.iter().filter_map(ready).min()
    }

    pub(crate) fn timer(&self) -> Option<Time> {
        self.queues.iter().filter_map(Queue::timer).min()
    }

    pub(crate) fn on_timer<S: Sink<B>>(&mut self, now: Time, sink: &mut S) {
        for class in 0..self.queues.len() {
            if self.queues[class].timer().is_some_and(|time| time <= now) {
                self.with(class, |queue| queue.on_timer(now, &mut InClass { class: class as u8, sink }));
                self.update(class);
            }
        }
    }

    pub(crate) fn classes(&self) -> Vec<String> {
        self.names.clone()
    }

    pub(crate) fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        for ((name, queue), held) in self.names.iter().zip(&self.queues).zip(&self.held) {
            visit(&format!("{name}.packets"), (queue.packets() + usize::from(held.is_some())) as f64);
            queue.probe(&mut |inner, value| visit(&format!("{name}.{inner}"), value));
        }
    }
}

/// Refuses `params`, which hold others under `key`, if there are too many one inside the other.
///
/// # Errors
/// More than are good for anyone.
pub(crate) fn check_depth(params: &Params, key: &'static str) -> Result<(), ParameterError> {
    if params.depth() > MAX_NESTED {
        let rule = format!("at most {MAX_NESTED} disciplines one inside the other, of which this is the outermost");
        return Err(ParameterError::new(key, rule));
    }
    Ok(())
}

/// The limit of a discipline that has one.
fn own_limit(params: &Params, link: &LinkProperties) -> Option<Limit> {
    params.descriptor().parameter("limit")?;
    match params.get("limit") {
        Value::Amount(amount) => Some(Limit::new(amount, link)),
        _ => None,
    }
}

/// The [`WEIGHT`] of each class.
pub(crate) fn weights(params: &Params) -> impl Iterator<Item = u64> {
    params.classes.iter().map(|class| class.params.read::<u64>("weight"))
}

/// Implements `Discipline` by the [`Classful`] in the first field.
macro_rules! impl_by_classes {
    ($name:ident $(, $advice:item)?) => {
        impl<B: crate::Body> crate::Discipline<B> for $name<B> {
            #[inline]
            fn enqueue<S: crate::Sink<B>>(&mut self, packet: crate::Packet<B>, now: sojourn_core::Time, sink: &mut S) {
                self.0.enqueue(packet, now, sink);
            }

            #[inline]
            fn dequeue<S: crate::Sink<B>>(&mut self, now: sojourn_core::Time, sink: &mut S) -> Option<crate::Packet<B>> {
                self.0.dequeue(now, sink)
            }

            #[inline]
            fn packets(&self) -> usize {
                self.0.packets()
            }

            #[inline]
            fn bytes(&self) -> u64 {
                self.0.bytes()
            }

            fn ready_at(&self, now: sojourn_core::Time) -> Option<sojourn_core::Time> {
                self.0.ready_at(now)
            }

            fn timer(&self) -> Option<sojourn_core::Time> {
                self.0.timer()
            }

            fn on_timer<S: crate::Sink<B>>(&mut self, now: sojourn_core::Time, sink: &mut S) {
                self.0.on_timer(now, sink);
            }

            fn classes(&self) -> alloc::vec::Vec<alloc::string::String> {
                self.0.classes()
            }

            fn marks(params: &sojourn_core::registry::Params) -> bool {
                params.held().any(crate::Queue::<B>::marks)
            }

            fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
                self.0.probe(visit);
            }

            $($advice)?
        }
    };
}
pub(crate) use impl_by_classes;
