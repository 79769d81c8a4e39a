//! Disciplines that come from outside.
//!
//! A discipline of another crate implements [`Plugged`] and is added with [`add`]. It never holds a packet: it holds
//! [handles](Handle) of packets, knows what a router sees of each, and says what becomes of them. The packets themselves
//! stay in a [`Custom`], which checks every decision, so a plug-in cannot lose a packet, send one twice, or drop one
//! without saying so.
//!
//! ```
//! use sojourn_core::registry::{Descriptor, Params};
//! use sojourn_core::{Stream, Time};
//! use sojourn_queue::custom::{self, Decisions, Handle, Plugged, Waiting};
//! use sojourn_queue::LinkProperties;
//!
//! /// Last in, first out.
//! #[derive(Debug, Default)]
//! struct Stack(Vec<Handle>);
//!
//! impl Plugged for Stack {
//!     fn enqueue(&mut self, packet: &Waiting, _now: Time, _decisions: &mut Decisions) {
//!         self.0.push(packet.handle);
//!     }
//!     fn dequeue(&mut self, _now: Time, _decisions: &mut Decisions) -> Option<Handle> {
//!         self.0.pop()
//!     }
//! }
//!
//! static STACK: Descriptor = Descriptor { name: "stack", summary: "last in, first out", ..Descriptor::PLAIN };
//! let make = |_params: &Params, _link: &LinkProperties, _random: Stream| Ok(Stack::default());
//! custom::add(&STACK, make).expect("no built-in discipline is called so");
//! assert_eq!(sojourn_queue::find("stack").map(|queue| queue.name), Some("stack"));
//! ```

#[cfg(test)]
mod tests;

use crate::{Discipline, DropReason, Dscp, Ecn, FlowKey, LinkProperties, Packet, Sink};
pub use sojourn_core::plugin::NameTaken;
use sojourn_core::plugin::{self, Added, Failure};
use sojourn_core::registry::{Descriptor, ParameterError, Params};
use sojourn_core::{Stream, Time};
use std::fmt::Debug;

/// Stands for a packet that waits. No two packets of a run have the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Handle {
    place: u32,
    serial: u32,
}

impl Handle {
    /// As one number.
    pub fn number(self) -> u64 {
        u64::from(self.serial) << 32 | u64::from(self.place)
    }

    /// The one with this number.
    pub fn from_number(number: u64) -> Handle {
        Handle { place: number as u32, serial: (number >> 32) as u32 }
    }
}

/// What a plug-in sees of a packet.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Waiting {
    /// Stands for it.
    pub handle: Handle,
    /// Index of its flow.
    pub flow: u32,
    /// Bytes on the wire.
    pub bytes: u32,
    /// When it arrived.
    pub enqueued: Time,
    /// What a router would hash.
    pub key: FlowKey,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its differentiated services code point.
    pub dscp: Dscp,
}

/// What a plug-in decides in a call, besides which packet leaves.
#[derive(Default, Debug)]
pub struct Decisions {
    all: Vec<(Handle, Decision)>,
}

#[derive(Clone, Copy, Debug)]
enum Decision {
    Drop(DropReason),
    Mark,
}

impl Decisions {
    /// The packet is dropped and has left the discipline.
    pub fn drop(&mut self, packet: Handle, reason: DropReason) {
        self.all.push((packet, Decision::Drop(reason)));
    }

    /// The packet is marked CE and stays, or is just leaving.
    pub fn mark(&mut self, packet: Handle) {
        self.all.push((packet, Decision::Mark));
    }
}

/// A discipline from outside. The methods are those of [`Discipline`], with handles for packets.
pub trait Plugged: Debug + Send {
    /// A packet arrives. It waits from now on, unless this call drops it.
    fn enqueue(&mut self, packet: &Waiting, now: Time, decisions: &mut Decisions);

    /// The link is free: the packet that leaves. `None` while packets wait is allowed only where
    /// [`ready_at`](Plugged::ready_at) names a later time.
    fn dequeue(&mut self, now: Time, decisions: &mut Decisions) -> Option<Handle>;

    /// When the next packet may leave; only shapers answer.
    fn ready_at(&self, _now: Time) -> Option<Time> {
        None
    }

    /// When [`on_timer`](Plugged::on_timer) wants to be called next.
    fn timer(&self) -> Option<Time> {
        None
    }

    /// The time that [`timer`](Plugged::timer) named has come.
    fn on_timer(&mut self, _now: Time, _decisions: &mut Decisions) {}

    /// Shows its state, as (name, value) pairs with the unit in the name.
    fn probe(&self, _visit: &mut dyn FnMut(&str, f64)) {}

    /// What went wrong inside since the last call, for disciplines whose code may fail.
    fn take_error(&mut self) -> Option<String> {
        None
    }
}

impl Plugged for Box<dyn Plugged> {
    fn enqueue(&mut self, packet: &Waiting, now: Time, decisions: &mut Decisions) {
        (**self).enqueue(packet, now, decisions);
    }
    fn dequeue(&mut self, now: Time, decisions: &mut Decisions) -> Option<Handle> {
        (**self).dequeue(now, decisions)
    }
    fn ready_at(&self, now: Time) -> Option<Time> {
        (**self).ready_at(now)
    }
    fn timer(&self) -> Option<Time> {
        (**self).timer()
    }
    fn on_timer(&mut self, now: Time, decisions: &mut Decisions) {
        (**self).on_timer(now, decisions);
    }
    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        (**self).probe(visit);
    }
    fn take_error(&mut self) -> Option<String> {
        (**self).take_error()
    }
}

/// What makes disciplines of one kind.
pub trait Make: Send + Sync + 'static {
    /// A discipline with `params` before a link with properties `link`.
    ///
    /// # Errors
    /// A combination of parameters that the discipline cannot work with.
    fn make(&self, params: &Params, link: &LinkProperties, random: Stream) -> Result<Box<dyn Plugged>, ParameterError>;
}

impl<F, P> Make for F
where
    F: Fn(&Params, &LinkProperties, Stream) -> Result<P, ParameterError> + Send + Sync + 'static,
    P: Plugged + 'static,
{
    fn make(&self, params: &Params, link: &LinkProperties, random: Stream) -> Result<Box<dyn Plugged>, ParameterError> {
        Ok(Box::new(self(params, link, random)?))
    }
}

pub(crate) static ADDED: Added<dyn Make> = Added::new(crate::DESCRIPTORS);

/// Adds a discipline. One that was added under the same name before gives way to it.
///
/// # Errors
/// [`NameTaken`] where a built-in discipline has the name.
pub fn add(descriptor: &'static Descriptor, make: impl Make) -> Result<(), NameTaken> {
    ADDED.add(descriptor, Box::new(make))
}

/// Takes the discipline that was added under this name off the list. Whether there was one.
pub fn remove(name: &str) -> bool {
    ADDED.remove(name)
}

/// All disciplines that were added.
pub fn descriptors() -> Vec<&'static Descriptor> {
    ADDED.descriptors()
}

#[derive(Debug)]
struct Place<B> {
    serial: u32,
    packet: Option<Packet<B>>,
}

/// The packets of a discipline from outside, and the check of what it decides.
#[derive(Debug)]
pub struct Custom<B> {
    inside: Box<dyn Plugged>,
    name: &'static str,
    places: Vec<Place<B>>,
    free: Vec<u32>,
    packets: usize,
    bytes: u64,
    decisions: Decisions,
    failed: bool,
    /// The link that it stands before, for messages.
    whose: String,
}

impl<B: Copy> Custom<B> {
    /// Says before which link it stands, for messages.
    pub fn belongs_to(&mut self, whose: String) {
        self.whose = whose;
    }

    /// The discipline that `params` belongs to, where it was added.
    pub(crate) fn build(
        params: &Params,
        link: &LinkProperties,
        random: Stream,
    ) -> Option<Result<Custom<B>, ParameterError>> {
        let maker = ADDED.maker(params.descriptor())?;
        Some(maker.make(params, link, random).map(|inside| Custom {
            inside,
            name: params.descriptor().name,
            places: Vec::new(),
            free: Vec::new(),
            packets: 0,
            bytes: 0,
            decisions: Decisions::default(),
            failed: false,
            whose: String::new(),
        }))
    }

    fn keep(&mut self, packet: Packet<B>) -> Handle {
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { serial: 0, packet: None });
            (self.places.len() - 1) as u32
        });
        let kept = &mut self.places[place as usize];
        kept.serial = kept.serial.wrapping_add(1);
        kept.packet = Some(packet);
        Handle { place, serial: kept.serial }
    }

    fn waiting(&mut self, handle: Handle) -> Option<&mut Packet<B>> {
        let place = self.places.get_mut(handle.place as usize)?;
        if place.serial == handle.serial { place.packet.as_mut() } else { None }
    }

    fn release(&mut self, handle: Handle) -> Option<Packet<B>> {
        let packet = *self.waiting(handle)?;
        self.places[handle.place as usize].packet = None;
        self.free.push(handle.place);
        self.packets -= 1;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// Carries out what was decided; `false` where it could not be.
    fn carry_out<S: Sink<B>>(&mut self, method: &'static str, now: Time, sink: &mut S) -> bool {
        if let Some(error) = self.inside.take_error() {
            self.fail(method, now, error, sink);
            return false;
        }
        let mut all = std::mem::take(&mut self.decisions.all);
        for (handle, decision) in all.drain(..) {
            let wrong = match decision {
                Decision::Drop(reason) => match self.release(handle) {
                    Some(packet) => {
                        sink.dropped(&packet, reason);
                        None
                    }
                    None => Some("it dropped a packet that does not wait here: it left or was dropped before"),
                },
                Decision::Mark => match self.waiting(handle) {
                    Some(packet) if packet.ecn.is_capable() => {
                        packet.ecn = Ecn::Ce;
                        let packet = *packet;
                        sink.marked(&packet);
                        None
                    }
                    Some(_) => Some("it marked a packet that is not ECN-capable; allowed: to drop it"),
                    None => Some("it marked a packet that does not wait here: it left or was dropped before"),
                },
            };
            if let Some(what) = wrong {
                self.fail(method, now, what.to_owned(), sink);
                return false;
            }
        }
        self.decisions.all = all;
        true
    }

    /// The discipline is not asked again; what waits is dropped, so that every packet is accounted for.
    fn fail<S: Sink<B>>(&mut self, method: &'static str, now: Time, what: String, sink: &mut S) {
        self.failed = true;
        plugin::fail(Failure { plugin: self.name, method, now, whose: self.whose.clone(), what });
        for place in &mut self.places {
            if let Some(packet) = place.packet.take() {
                sink.dropped(&packet, DropReason::Overflow);
            }
        }
        (self.packets, self.bytes) = (0, 0);
    }
}

impl<B: Copy> Discipline<B> for Custom<B> {
    fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        if self.failed {
            sink.dropped(&packet, DropReason::Overflow);
            return;
        }
        packet.enqueued = now;
        let handle = self.keep(packet);
        let Packet { flow, bytes, enqueued, key, ecn, dscp, .. } = packet;
        self.inside.enqueue(&Waiting { handle, flow, bytes, enqueued, key, ecn, dscp }, now, &mut self.decisions);
        self.carry_out("enqueue", now, sink);
    }

    fn dequeue<S: Sink<B>>(&mut self, now: Time, sink: &mut S) -> Option<Packet<B>> {
        if self.failed || self.packets == 0 {
            return None;
        }
        let chosen = self.inside.dequeue(now, &mut self.decisions);
        if !self.carry_out("dequeue", now, sink) {
            return None;
        }
        let Some(handle) = chosen else {
            if self.packets > 0 && self.inside.ready_at(now).is_none_or(|ready| ready <= now) {
                let what = format!(
                    "no packet leaves while {} wait; allowed: one of them, or a time after now from ready_at",
                    self.packets
                );
                self.fail("dequeue", now, what, sink);
            }
            return None;
        };
        let packet = self.release(handle);
        if packet.is_none() {
            self.fail(
                "dequeue",
                now,
                "a packet leaves that does not wait here: it left or was dropped before".into(),
                sink,
            );
        }
        packet
    }

    fn packets(&self) -> usize {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn ready_at(&self, now: Time) -> Option<Time> {
        (self.packets > 0).then(|| self.inside.ready_at(now).map_or(now, |ready| ready.max(now)))
    }

    fn timer(&self) -> Option<Time> {
        if self.failed { None } else { self.inside.timer() }
    }

    fn on_timer<S: Sink<B>>(&mut self, now: Time, sink: &mut S) {
        if !self.failed {
            self.inside.on_timer(now, &mut self.decisions);
            self.carry_out("on_timer", now, sink);
        }
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        self.inside.probe(visit);
    }
}
