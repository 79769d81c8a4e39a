//! Queue disciplines.
//!
//! A discipline takes packets and the time, and gives packets back: it knows neither the simulator nor
//! sockets, so the same code can stand behind a simulated link and behind real packets. One file per
//! discipline; [`disciplines!`](self) below is the one line that registers it.
//!
//! Without the default feature `std` it needs `alloc` only; then there are no disciplines from outside.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod advice;
mod body;
mod classful;
mod discipline;
mod fifo;
mod flows;
mod hash;
#[cfg(test)]
mod laws;
mod packet;
#[cfg(test)]
mod testing;

pub mod ared;
pub mod blue;
pub mod cake;
pub mod choke;
pub mod cobalt;
pub mod codel;
#[cfg(feature = "std")]
pub mod custom;
pub mod droptail;
pub mod drr;
pub mod dualpi2;
pub mod dwrr;
pub mod early;
pub mod fq_codel;
pub mod fq_pie;
pub mod fq_yield;
pub mod framing;
pub mod hhf;
pub mod htb;
pub mod pi2;
pub mod pie;
pub mod prio;
pub mod red;
pub mod replay;
pub mod sfb;
pub mod sfq;
pub mod sqf;
pub mod wfq;
pub mod wred;
pub mod wrr;

use alloc::string::String;
use alloc::vec::Vec;
pub use body::{Acknowledgement, Body, MAX_RANGES};
use discipline::AnySink;
pub use discipline::{Backlog, Discipline, DropReason, LinkProperties, Sink};
pub(crate) use fifo::{Fifo, Limit};
pub(crate) use hash::FlowHash;
pub use packet::{Dscp, Ecn, FlowKey, Host, Packet, Protocol};

use sojourn_core::registry::{Advice, Descriptor, ParameterError, Params};
use sojourn_core::{Stream, Time};

/// Derives the registry and the statically dispatched [`Queue`] from one list.
macro_rules! disciplines {
    ($($(#[$when:meta])? $module:ident::$name:ident),+ $(,)?) => {
        /// Every discipline, in the order of the documentation.
        pub static DESCRIPTORS: &[&Descriptor] = &[$($(#[$when])? &$module::DESCRIPTOR),+];

        /// Any of the registered disciplines, without dynamic dispatch.
        // A link has one queue, and reaches it without a detour.
        #[allow(missing_docs, clippy::large_enum_variant)]
        #[derive(Debug)]
        pub enum Queue<B> {
            $($(#[$when])? $name($module::$name<B>)),+,
            /// One that was [added](custom::add) from outside.
            #[cfg(feature = "std")]
            Custom(alloc::boxed::Box<custom::Custom<B>>),
        }

        impl<B: Body> Queue<B> {
            /// Builds the discipline that `params` belongs to, for a link with properties `link`.
            ///
            /// # Errors
            /// A combination of parameters that the discipline cannot work with.
            pub fn build(params: &Params, link: &LinkProperties, random: Stream) -> Result<Queue<B>, ParameterError> {
                $($(#[$when])? if core::ptr::eq(params.descriptor(), &$module::DESCRIPTOR) {
                    return Ok(Queue::$name($module::$name::new(params, link, random)?));
                })+
                #[cfg(feature = "std")]
                if let Some(queue) = custom::Custom::build(params, link, random) {
                    return queue.map(|queue| Queue::Custom(alloc::boxed::Box::new(queue)));
                }
                panic!("{} is not a registered discipline", params.descriptor().name)
            }
        }

        impl<B: Body> Queue<B> {
            /// What a careful user would not do with `params` on `link`, although it is legal.
            pub fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
                $($(#[$when])? if core::ptr::eq(params.descriptor(), &$module::DESCRIPTOR) {
                    return <$module::$name<B> as Discipline<B>>::advice(params, link);
                })+
                Vec::new()
            }

            /// Whether the discipline may mark packets with `params`.
            pub fn marks(params: &Params) -> bool {
                $($(#[$when])? if core::ptr::eq(params.descriptor(), &$module::DESCRIPTOR) {
                    return <$module::$name<B> as Discipline<B>>::marks(params);
                })+
                #[cfg(feature = "std")]
                return <custom::Custom<B> as Discipline<B>>::marks(params);
                #[cfg(not(feature = "std"))]
                false
            }
        }

        /// What a plain queue does is done where the packet is, without a call; what is managed is for all others, once for
        /// every kind of sink.
        impl<B: Body> Queue<B> {
            /// [`enqueue`](Discipline::enqueue) of a packet that is read where it lies.
            #[inline]
            pub fn enqueue_from<S: Sink<B>>(&mut self, packet: &Packet<B>, now: Time, sink: &mut S) {
                match self {
                    Queue::DropTail(queue) => queue.admit(packet, now, sink),
                    queue => queue.enqueue_managed(packet, now, &mut AnySink(sink)),
                }
            }
            /// [`dequeue`](Discipline::dequeue) to `place`; whether there was a packet.
            #[inline]
            pub fn dequeue_to<S: Sink<B>>(&mut self, place: &mut Packet<B>, now: Time, sink: &mut S) -> bool {
                match self {
                    Queue::DropTail(queue) => queue.give(place),
                    queue => {
                        let Some(packet) = queue.dequeue_managed(now, &mut AnySink(sink)) else { return false };
                        *place = packet;
                        true
                    }
                }
            }
            #[inline(never)]
            fn enqueue_managed(&mut self, packet: &Packet<B>, now: Time, sink: &mut AnySink<'_, B>) {
                match self {
                    $($(#[$when])? Queue::$name(queue) => enqueue(queue, packet, now, sink)),+,
                    #[cfg(feature = "std")]
                    Queue::Custom(queue) => enqueue(&mut **queue, packet, now, sink),
                }
            }
            #[inline(never)]
            fn dequeue_managed(&mut self, now: Time, sink: &mut AnySink<'_, B>) -> Option<Packet<B>> {
                match self {
                    $($(#[$when])? Queue::$name(queue) => dequeue(queue, now, sink)),+,
                    #[cfg(feature = "std")]
                    Queue::Custom(queue) => dequeue(&mut **queue, now, sink),
                }
            }
        }

        impl<B: Body> Discipline<B> for Queue<B> {
            #[inline]
            fn enqueue<S: Sink<B>>(&mut self, packet: Packet<B>, now: Time, sink: &mut S) {
                self.enqueue_from(&packet, now, sink);
            }
            #[inline]
            fn dequeue<S: Sink<B>>(&mut self, now: Time, sink: &mut S) -> Option<Packet<B>> {
                match self {
                    Queue::DropTail(queue) => queue.dequeue(now, sink),
                    queue => queue.dequeue_managed(now, &mut AnySink(sink)),
                }
            }
            #[inline]
            fn next_bytes(&self) -> Option<u32> {
                match self {
                    $($(#[$when])? Queue::$name(queue) => queue.next_bytes()),+,
                    #[cfg(feature = "std")]
                    Queue::Custom(queue) => queue.next_bytes(),
                }
            }
            #[inline]
            fn packets(&self) -> usize {
                match self {
                    $($(#[$when])? Queue::$name(queue) => queue.packets()),+,
                    #[cfg(feature = "std")]
                    Queue::Custom(queue) => queue.packets(),
                }
            }
            #[inline]
            fn bytes(&self) -> u64 {
                match self {
                    $($(#[$when])? Queue::$name(queue) => queue.bytes()),+,
                    #[cfg(feature = "std")]
                    Queue::Custom(queue) => queue.bytes(),
                }
            }
            #[inline]
            fn ready_at(&self, now: Time) -> Option<Time> {
                match self {
                    $($(#[$when])? Queue::$name(queue) => queue.ready_at(now)),+,
                    #[cfg(feature = "std")]
                    Queue::Custom(queue) => queue.ready_at(now),
                }
            }
            fn timer(&self) -> Option<Time> {
                match self {
                    $($(#[$when])? Queue::$name(queue) => queue.timer()),+,
                    #[cfg(feature = "std")]
                    Queue::Custom(queue) => queue.timer(),
                }
            }
            fn on_timer<S: Sink<B>>(&mut self, now: Time, sink: &mut S) {
                match self {
                    $($(#[$when])? Queue::$name(queue) => queue.on_timer(now, sink)),+,
                    #[cfg(feature = "std")]
                    Queue::Custom(queue) => queue.on_timer(now, sink),
                }
            }
            fn retune<S: Sink<B>>(&mut self, fresh: Self, now: Time, sink: &mut S) -> Option<Self> {
                match (self, fresh) {
                    $($(#[$when])? (Queue::$name(queue), Queue::$name(fresh)) => queue.retune(fresh, now, sink).map(Queue::$name),)+
                    (_, fresh) => Some(fresh),
                }
            }
            fn classes(&self) -> Vec<String> {
                match self {
                    $($(#[$when])? Queue::$name(queue) => queue.classes()),+,
                    #[cfg(feature = "std")]
                    Queue::Custom(queue) => queue.classes(),
                }
            }
            fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
                match self {
                    $($(#[$when])? Queue::$name(queue) => queue.probe(visit)),+,
                    #[cfg(feature = "std")]
                    Queue::Custom(queue) => queue.probe(visit),
                }
            }
        }
    };
}

disciplines! {
    droptail::DropTail,
    red::Red,
    ared::Ared,
    wred::Wred,
    choke::Choke,
    blue::Blue,
    codel::CoDel,
    cobalt::Cobalt,
    pie::Pie,
    pi2::Pi2,
    dualpi2::DualPi2,
    sfq::Sfq,
    drr::Drr,
    sqf::Sqf,
    fq_codel::FqCoDel,
    fq_pie::FqPie,
    fq_yield::FqYield,
    cake::Cake,
    sfb::Sfb,
    hhf::Hhf,
    prio::Prio,
    wrr::Wrr,
    dwrr::Dwrr,
    wfq::Wfq,
    htb::Htb,
    early::Early,
}

/// A discipline's own function, so that a [`Queue`] jumps to it, and saves no registers for all others.
#[inline(never)]
fn enqueue<B: Copy, D: Discipline<B>>(queue: &mut D, packet: &Packet<B>, now: Time, sink: &mut AnySink<'_, B>) {
    queue.enqueue(*packet, now, sink);
}

/// The same at the other end.
#[inline(never)]
fn dequeue<B, D: Discipline<B>>(queue: &mut D, now: Time, sink: &mut AnySink<'_, B>) -> Option<Packet<B>> {
    queue.dequeue(now, sink)
}

/// The discipline called `name`, built in or added.
pub fn find(name: &str) -> Option<&'static Descriptor> {
    #[cfg(feature = "std")]
    return custom::ADDED.find(name);
    #[cfg(not(feature = "std"))]
    DESCRIPTORS.iter().copied().find(|descriptor| descriptor.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::Time;
    use testing::{Recorder, build, link, packet, params};

    /// Unique names, the same ones at any time, values that are numbers; only DropTail has nothing to show.
    #[test]
    fn every_discipline_shows_its_state() {
        for descriptor in DESCRIPTORS {
            let mut queue = build(&params(descriptor, "default", &[]), &link(10_000)).unwrap();
            let names = |queue: &Queue<u32>| {
                let mut names: Vec<String> = Vec::new();
                queue.probe(&mut |name, value| {
                    assert!(
                        !names.iter().any(|known| known == name),
                        "{}: two probes are called {name}",
                        descriptor.name
                    );
                    assert!(!value.is_infinite(), "{} {name}", descriptor.name);
                    names.push(name.to_owned());
                });
                names
            };
            let before = names(&queue);
            assert_eq!(before.is_empty(), descriptor.name == "droptail", "{}", descriptor.name);
            let mut sink = Recorder::default();
            for number in 0..3000 {
                let now = Time::from_nanos(number * 300_000);
                queue.enqueue(packet(1500, number as u32), now, &mut sink);
                if number % 4 == 0 {
                    queue.dequeue(now, &mut sink);
                }
                if queue.timer().is_some_and(|time| time <= now) {
                    queue.on_timer(now, &mut sink);
                }
                assert_eq!(names(&queue), before, "{}", descriptor.name);
            }
        }
    }

    #[test]
    fn every_preset_of_every_discipline_works() {
        for descriptor in DESCRIPTORS {
            for name in descriptor.presets.iter().map(|preset| preset.name).chain(["default"]) {
                let mut queue = build(&params(descriptor, name, &[]), &link(10_000)).unwrap();
                let mut sink = Recorder::default();
                queue.enqueue(packet(1500, 7), Time::ZERO, &mut sink);
                let first = queue.dequeue(Time::ZERO, &mut sink).map(|packet| packet.body);
                assert_eq!(first, Some(7), "{} {name}", descriptor.name);
            }
        }
    }
}
