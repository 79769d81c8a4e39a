//! WRED: RED with a drop precedence for each packet (RIO, Clark and Fang 1998; AF, RFC 2597).
//!
//! One first-in first-out queue, in which a packet's DSCP decides how early it is dropped. For each arrival:
//! 1. its precedence is found: green, yellow or red, the second digit of AF; LE is red, so that it gives way first;
//! 2. the averages that it belongs to are computed, as RED does;
//! 3. the one of its precedence is compared with the thresholds of its precedence, and RED decides;
//! 4. a full buffer drops whatever the average says.
//!
//! Implementations differ in what a precedence's average is: see `average`. All of RED is RED's own code. Idle time
//! begins when the last packet that counts leaves the queue, and goes on where the next arrival is dropped; Linux ends
//! it then until a packet has come and gone, and ns-2 counts all of it again. ns-2 in its mode WRED ages the average whenever
//! one precedence has no packet, which is not done here.

mod descriptor;
#[cfg(test)]
mod tests;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
pub use descriptor::DESCRIPTOR;
use descriptor::{LimitOf, Own, Scope};

use crate::red::average::Average;
use crate::red::setup::setup;
use crate::red::spread::Spread;
use crate::red::{self, Action, Marking, Measure, Ramp};
use crate::{Discipline, DropReason, Dscp, Ecn, Fifo, Limit, LinkProperties, Packet, Sink};
use core::ops::Range;
use sojourn_core::registry::{Advice, ParameterError, Params, Value};
use sojourn_core::{Stream, Time};

/// The precedences, from the last to be dropped to the first; RFC 2597 has three.
const NAMES: [&str; LEVELS] = ["green", "yellow", "red"];
const LEVELS: usize = 3;

/// RED's parameters and what they are called for each precedence.
const OF_LEVEL: [(&str, [&str; LEVELS]); 3] = [
    ("min", ["min_green", "min_yellow", "min_red"]),
    ("max", ["max_green", "max_yellow", "max_red"]),
    ("max_p", ["max_p_green", "max_p_yellow", "max_p_red"]),
];

/// A first-in first-out queue under random early detection with drop precedences.
#[derive(Debug)]
pub struct Wred<B> {
    queue: Fifo<B>,
    levels: [Level; LEVELS],
    scope: Scope,
    unit: Measure,
    limit: Limit,
    limit_of_level: bool,
    full_is_sampled: bool,
    marking: Marking,
    /// The precedence of each DSCP.
    level_of: [u8; 64],
    random: Stream,
}

/// RED for one precedence.
#[derive(Debug)]
struct Level {
    ramp: Ramp,
    average: Average,
    spread: Spread,
    /// What waits of this precedence.
    packets: usize,
    bytes: u64,
    /// Since when nothing waits that its average counts.
    idle_since: Option<Time>,
}

impl<B: Copy> Wred<B> {
    /// A queue with the given parameters.
    ///
    /// # Errors
    /// A limit that holds no packet, thresholds in the wrong order, a burst that no weight lets pass.
    pub fn new(params: &Params, link: &LinkProperties, random: Stream) -> Result<Self, ParameterError> {
        let setups = [0, 1, 2].map(|level| setup(&red_of(params, level), link).map_err(|error| named(error, level)));
        let [green, yellow, red] = setups;
        let setups = [green?, yellow?, red?];
        let (unit, limit) = (setups[0].unit, setups[0].entry.limit);
        let declared = Own::of(params);
        let others = declared.others as usize;
        Ok(Wred {
            queue: Fifo::default(),
            levels: setups.map(|setup| Level {
                ramp: setup.ramp,
                average: setup.average,
                spread: setup.spread,
                packets: 0,
                bytes: 0,
                idle_since: Some(link.since),
            }),
            scope: declared.average,
            unit,
            limit,
            limit_of_level: declared.limit_of == LimitOf::Precedence,
            full_is_sampled: declared.full_is_sampled,
            marking: Marking::new(&red_of(params, 0)),
            level_of: core::array::from_fn(|number| level_of(number as u8).unwrap_or(others) as u8),
            random,
        })
    }

    /// The precedences whose averages a packet of `level` belongs to.
    #[inline]
    fn counted_by(&self, level: usize) -> Range<usize> {
        match self.scope {
            Scope::Shared => 0..1,
            Scope::Own | Scope::Sum => level..level + 1,
            Scope::Better => level..LEVELS,
        }
    }

    /// What waits of the packets that the average of `level` counts.
    #[inline]
    fn waiting(&self, level: usize) -> f64 {
        let counted = match self.scope {
            Scope::Shared => &self.levels[..],
            Scope::Own | Scope::Sum => &self.levels[level..=level],
            Scope::Better => &self.levels[..=level],
        };
        match self.unit {
            Measure::Packets => counted.iter().map(|level| level.packets).sum::<usize>() as f64,
            Measure::Bytes => counted.iter().map(|level| level.bytes).sum::<u64>() as f64,
        }
    }

    /// Step 2: an arrival of `level` finds what waits.
    #[inline]
    fn sample(&mut self, level: usize, now: Time) {
        for index in self.counted_by(level) {
            let waiting = self.waiting(index);
            let level = &mut self.levels[index];
            level.average.sample(waiting, level.idle_since.map(|since| now.since(since)));
            // Idle time up to now is in the average; it goes on unless the packet stays.
            level.idle_since = level.idle_since.map(|_| now);
        }
    }

    /// The average that `level` compares with its thresholds.
    #[inline]
    fn average(&self, level: usize) -> f64 {
        match self.scope {
            Scope::Shared => self.levels[0].average.value(),
            Scope::Own | Scope::Better => self.levels[level].average.value(),
            Scope::Sum => {
                let busy = self.levels[..level].iter().filter(|better| better.idle_since.is_none());
                self.levels[level].average.value() + busy.map(|better| better.average.value()).sum::<f64>()
            }
        }
    }

    #[inline]
    fn is_full(&self, level: usize, bytes: u32) -> bool {
        let (packets, waiting) = match self.limit_of_level {
            true => (self.levels[level].packets, self.levels[level].bytes),
            false => (self.queue.packets(), self.queue.bytes()),
        };
        self.limit.is_exceeded(packets + 1, waiting + u64::from(bytes))
    }

    /// Steps 2 to 4.
    #[inline]
    fn decide(&mut self, level: usize, packet: &Packet<B>, now: Time) -> Result<Action, DropReason> {
        let full = self.is_full(level, packet.bytes);
        if full && !self.full_is_sampled {
            return Err(DropReason::Overflow);
        }
        self.sample(level, now);
        let average = self.average(level);
        let Level { ramp, spread, .. } = &mut self.levels[level];
        let verdict = ramp.verdict(average, packet.bytes, spread, &mut self.random);
        match self.marking.act(verdict, packet.ecn) {
            Action::Drop => Err(DropReason::Early),
            _ if full => Err(DropReason::Overflow),
            action => Ok(action),
        }
    }
}

/// The precedence that a DSCP names: the second digit of AF (RFC 2597), LE (RFC 8622), and CS1, which was used for LE before.
fn level_of(dscp: u8) -> Option<usize> {
    match Dscp::from_number(u64::from(dscp)).and_then(Dscp::name)? {
        "le" | "cs1" => Some(2),
        name => name.strip_prefix("af").map(|_| usize::from((dscp & 7) / 2 - 1)),
    }
}

/// The RED of one precedence.
fn red_of(params: &Params, level: usize) -> red::Parameters {
    let mut red = Params::new(&red::DESCRIPTOR, None);
    for (parameter, value) in params.iter().filter(|(parameter, _)| red::DESCRIPTOR.parameter(parameter.name).is_some())
    {
        red.set(parameter.name, value);
    }
    for (name, of_level) in OF_LEVEL {
        red.set(name, params.get(of_level[level]));
    }
    red::Parameters::of(&red)
}

/// An error of RED's, under the name that the parameter has here.
fn named(mut error: ParameterError, level: usize) -> ParameterError {
    if let Some((_, of_level)) = OF_LEVEL.iter().find(|(name, _)| *name == error.parameter) {
        error.parameter = of_level[level];
    }
    error
}

/// A precedence that is dropped from later than a better one.
fn worse_is_better(params: &Params, link: &LinkProperties) -> Option<Advice> {
    let bytes = |name| match params.get(name) {
        Value::Amount(amount) => amount.bytes(link.rate, f64::from(link.packet_bytes)),
        _ => 0.0,
    };
    let [min, max, _] = OF_LEVEL.map(|(_, names)| names);
    let (better, worse) = [min, max]
        .into_iter()
        .flat_map(|names| [(names[0], names[1]), (names[1], names[2])])
        .find(|&(better, worse)| bytes(worse) > bytes(better))?;
    let text = format!(
        "above {better}: packets of the worse precedence are spared longer than those of the better; usual is the reverse"
    );
    Some(Advice::new(worse, text))
}

impl<B: Copy> Discipline<B> for Wred<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        packet.enqueued = now;
        packet.class = self.level_of[usize::from(packet.dscp.number())];
        let level = usize::from(packet.class);
        match self.decide(level, &packet, now) {
            Err(reason) => return sink.dropped(&packet, reason),
            Ok(Action::Mark) => {
                packet.ecn = Ecn::Ce;
                sink.marked(&packet);
            }
            Ok(_) => (),
        }
        self.queue.push(&packet);
        self.levels[level].packets += 1;
        self.levels[level].bytes += u64::from(packet.bytes);
        for index in self.counted_by(level) {
            self.levels[index].idle_since = None;
        }
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, now: Time, _sink: &mut S) -> Option<Packet<B>> {
        let packet = self.queue.pop()?;
        let level = usize::from(packet.class);
        self.levels[level].packets -= 1;
        self.levels[level].bytes -= u64::from(packet.bytes);
        for index in self.counted_by(level) {
            if self.waiting(index) == 0.0 {
                self.levels[index].idle_since = Some(now);
            }
        }
        Some(packet)
    }

    #[inline]
    fn packets(&self) -> usize {
        self.queue.packets()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn classes(&self) -> Vec<String> {
        NAMES.map(String::from).to_vec()
    }

    fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
        let mut all = Vec::new();
        for (level, name) in OF_LEVEL[1].1.into_iter().enumerate() {
            let red = red_of(params, level);
            all.extend(
                setup(&red, link).map_or_else(|_| Vec::new(), |setup| red::advice::advice(&red, &setup, name, link)),
            );
        }
        all.extend(worse_is_better(params, link));
        all
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        let averages = match self.unit {
            Measure::Packets => ["green_average_packets", "yellow_average_packets", "red_average_packets"],
            Measure::Bytes => ["green_average_bytes", "yellow_average_bytes", "red_average_bytes"],
        };
        let probabilities = ["green_drop_probability", "yellow_drop_probability", "red_drop_probability"];
        for level in 0..LEVELS {
            let average = self.average(level);
            visit(averages[level], average);
            visit(probabilities[level], self.levels[level].ramp.probability(average));
        }
    }
}
