//! CHOKe: choose and keep, or choose and kill (Pan, Prabhakar and Psounis 2000).
//!
//! RED with one more step, and like RED without state for flows. For each arrival, in the order of the paper's figure 1:
//! 1. the average queue is computed, as RED does;
//! 2. up to min the packet is queued;
//! 3. above it, a waiting packet is drawn at random: if it belongs to the arrival's flow, both are dropped;
//! 4. above max the arrival is dropped, and in between with RED's probability;
//! 5. a full buffer drops the arrival.
//!
//! The flow with the most packets waiting is the most likely to be hit. All of RED that is needed is RED's own code.

mod descriptor;
mod store;
#[cfg(test)]
mod tests;

use alloc::format;
use alloc::vec::Vec;
pub use descriptor::DESCRIPTOR;

use crate::red::average::Average;
use crate::red::setup::setup;
use crate::red::spread::Spread;
use crate::red::{self, Action, Marking, Ramp};
use crate::{Discipline, DropReason, Ecn, Limit, LinkProperties, Packet, Sink};
use sojourn_core::registry::{Advice, ParameterError, Params};
use sojourn_core::{Stream, Time};
use store::Store;

/// A first-in first-out queue whose packets are compared with arrivals.
#[derive(Debug)]
pub struct Choke<B> {
    queue: Store<B>,
    limit: Limit,
    ramp: Ramp,
    average: Average,
    spread: Spread,
    marking: Marking,
    draws: u64,
    idle_since: Option<Time>,
    random: Stream,
}

impl<B: Copy> Choke<B> {
    /// A queue with the given parameters.
    ///
    /// # Errors
    /// Thresholds in the wrong order or beyond the limit, a burst that no weight lets pass.
    pub fn new(params: &Params, link: &LinkProperties, random: Stream) -> Result<Self, ParameterError> {
        let red = red_of(params);
        let setup = setup(&red, link)?;
        let max = setup.ramp.max;
        if matches!(setup.entry.limit, Limit::Packets(packets) if max > packets as f64) {
            return Err(ParameterError::new(
                "max",
                format!("at most limit, or the average never gets there; here {max} packets"),
            ));
        }
        Ok(Choke {
            queue: Store::default(),
            limit: setup.entry.limit,
            ramp: setup.ramp,
            average: setup.average,
            spread: setup.spread,
            marking: Marking::new(&red),
            draws: descriptor::Own::of(params).draws,
            idle_since: Some(link.since),
            random,
        })
    }

    /// Step 3: drops the packets drawn that belong to the flow of `packet`; whether there were any.
    fn drop_matches<S: Sink<B>>(&mut self, packet: &Packet<B>, sink: &mut S) -> bool {
        let mut matched = false;
        for _ in 0..self.draws {
            let waiting = self.queue.packets();
            if waiting == 0 {
                break;
            }
            let drawn = (self.random.uniform() * waiting as f64) as usize;
            if self.queue.get(drawn).key == packet.key {
                let victim = self.queue.remove(drawn);
                sink.dropped(&victim, DropReason::Early);
                matched = true;
            }
        }
        matched
    }

    /// Steps 2 to 4. What is dropped here is reported here.
    #[inline]
    fn passes<S: Sink<B>>(&mut self, packet: &mut Packet<B>, sink: &mut S) -> bool {
        if self.average.value() <= self.ramp.min {
            self.spread.leave();
            return true;
        }
        if self.drop_matches(packet, sink) {
            sink.dropped(packet, DropReason::Early);
            return false;
        }
        let average = self.average.value();
        let verdict = self.ramp.verdict(average, packet.bytes, &mut self.spread, &mut self.random);
        match self.marking.act(verdict, packet.ecn) {
            Action::Pass => true,
            Action::Mark => {
                packet.ecn = Ecn::Ce;
                sink.marked(packet);
                true
            }
            Action::Drop => {
                sink.dropped(packet, DropReason::Early);
                false
            }
        }
    }
}

impl<B: Copy> Discipline<B> for Choke<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        packet.enqueued = now;
        let idle = self.idle_since.map(|since| now.since(since));
        self.average.sample(self.queue.packets() as f64, idle);
        // Idle time up to now is in the average; it goes on unless the packet stays.
        self.idle_since = idle.map(|_| now);
        if !self.passes(&mut packet, sink) {
            return;
        }
        if !self.limit.is_exceeded(self.queue.packets() + 1, self.queue.bytes() + u64::from(packet.bytes)) {
            self.queue.push(packet);
            self.idle_since = None;
        } else {
            sink.dropped(&packet, DropReason::Overflow);
        }
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, now: Time, _sink: &mut S) -> Option<Packet<B>> {
        let packet = self.queue.pop();
        if packet.is_none() && self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
        packet
    }

    #[inline]
    fn packets(&self) -> usize {
        self.queue.packets()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
        let red = red_of(params);
        setup(&red, link).map_or_else(|_| Vec::new(), |setup| red::advice::advice(&red, &setup, "max", link))
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        let average = self.average.value();
        visit("average_packets", average);
        visit("drop_probability", self.ramp.probability(average));
    }
}

/// The RED that is below: that of Linux, in packets instead of bytes, with what CHOKe lets be set.
fn red_of(params: &Params) -> red::Parameters {
    let mut red = Params::new(&red::DESCRIPTOR, Some(&descriptor::RED_IN_PACKETS));
    for (parameter, value) in params.iter().filter(|(parameter, _)| parameter.name != "draws") {
        red.set(parameter.name, value);
    }
    red::Parameters::of(&red)
}
