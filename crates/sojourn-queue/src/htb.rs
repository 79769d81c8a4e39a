//! Hierarchical token bucket with one level of classes: each is sure of its rate, and may borrow from the link up to a ceiling.
//!
//! Classes within their rates go first, by priority; then those that borrow, by priority; who is at its ceiling waits. Equals
//! take turns of `quantum` bytes. The buckets and their order are those of Linux's `sch_htb`, whose parent class is here the link
//! itself: the link asks for a packet whenever it is free, so the parent always lends. In Linux a class within its rate does
//! not ask its parent either.

#[cfg(test)]
mod tests;

use crate::classful::{self, ClassScheduler, ClassSet, Classful, impl_by_classes};
use crate::{Body, LinkProperties};
use alloc::vec::Vec;
use sojourn_core::registry::{
    Class, Descriptor, Form, Holds, Kind, Linux, Parameter, ParameterError, Params, Preset, Value,
};
use sojourn_core::{Rate, Span, Stream, Time};

/// The longest time that counts for a bucket (`mbuffer`).
const LONGEST: Span = Span::from_secs(60);
/// Priorities (`TC_HTB_NUMPRIO`).
const PRIORITIES: usize = 8;
/// A quantum is by default this part of what the rate sends in a second (`r2q`).
const RATE_TO_QUANTUM: u64 = 10;

/// What `htb` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "htb",
    summary: "hierarchical token bucket: classes have a rate, a ceiling up to which they borrow, and a priority",
    sources: &["Linux net/sched/sch_htb.c", "tc-htb(8)"],
    parameters: &[classful::LIMIT],
    presets: &[Preset {
        name: "linux",
        summary: "sch_htb with one level of classes below that of the link; tc has no automatic rates, and a class without a ceiling has its rate as one",
        values: &[],
    }],
    holds: Holds::Classes(&CLASS),
    linux: Linux::Kernel(&[Form { name: "htb", module: "sch_htb", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};

const BUCKET: Parameter = Parameter {
    name: "burst",
    kind: Kind::Integer { min: 1, max: 1_000_000_000 },
    default: Value::Integer(1600),
    description: "bytes that the class may send at once after a pause and still be within its rate (tc's default where timers are exact)",
};

static CLASS: Descriptor = Descriptor {
    name: "class",
    parameters: &[
        Parameter {
            name: "rate",
            kind: Kind::OrAuto(&Kind::Rate),
            default: Value::Auto,
            description: "what the class is sure of; auto is an equal part of the link's rate",
        },
        Parameter {
            name: "ceil",
            kind: Kind::OrAuto(&Kind::Rate),
            default: Value::Auto,
            description: "what the class may have at most; auto is the link's rate",
        },
        Parameter {
            name: "prio",
            kind: Kind::Integer { min: 0, max: PRIORITIES as u64 - 1 },
            default: Value::Integer(0),
            description: "who borrows first: the smallest number",
        },
        BUCKET,
        Parameter {
            name: "cburst",
            description: "bytes that the class may send at once after a pause and still be below its ceiling",
            ..BUCKET
        },
        Parameter {
            name: "quantum",
            kind: Kind::OrAuto(&Kind::Integer { min: 1, max: 10_000_000 }),
            default: Value::Auto,
            description: "bytes of a turn among classes of one priority; auto is what the rate sends in 0.1 s, from 1000 to 200000 (Linux's r2q of 10)",
        },
    ],
    ..Descriptor::PLAIN
};

/// Queues with rates of their own.
#[derive(Debug)]
pub struct Htb<B>(Classful<B, TokenBuckets>);

impl<B: Body> Htb<B> {
    /// Empty queues with the given parameters.
    ///
    /// # Errors
    /// Classes or limits that contradict each other; a ceiling below a rate.
    pub fn new(params: &Params, link: &LinkProperties, random: Stream) -> Result<Self, ParameterError> {
        let scheduler = TokenBuckets::new(&params.classes, link)?;
        Ok(Htb(Classful::new(params, &params.classes, scheduler, link, random)?))
    }
}

impl_by_classes!(Htb);

/// Time's worth of bytes at a rate, in nanoseconds: Linux's tokens.
#[derive(Debug)]
struct Bucket {
    rate: Rate,
    depth: i64,
    tokens: i64,
}

impl Bucket {
    fn new(rate: Rate, bytes: u64) -> Bucket {
        let depth = nanos(rate.transmission(bytes));
        Bucket { rate, depth, tokens: depth }
    }

    /// `htb_accnt_tokens`: so much time has passed, and so many bytes are sent.
    fn charge(&mut self, passed: i64, bytes: u32) {
        let tokens = (self.tokens + passed).min(self.depth) - nanos(self.rate.transmission(u64::from(bytes)));
        self.tokens = tokens.max(1 - nanos(LONGEST));
    }
}

fn nanos(span: Span) -> i64 {
    span.as_nanos() as i64
}

/// What a class may do (`htb_cmode`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// Send: it is within its rate.
    Send,
    /// Borrow: it is below its ceiling.
    Borrow,
    /// Wait for so many nanoseconds.
    Wait(i64),
}

#[derive(Debug)]
struct Shaped {
    assured: Bucket,
    ceiling: Bucket,
    /// When the buckets were looked at last (`t_c`).
    charged: Time,
    priority: usize,
    quantum: i64,
    /// What is left of a turn: among classes that send, and among those that borrow.
    deficits: [i64; 2],
}

impl Shaped {
    fn passed(&self, now: Time) -> i64 {
        nanos(now.since(self.charged).min(LONGEST))
    }

    /// `htb_class_mode`.
    fn mode(&self, now: Time) -> Mode {
        let passed = self.passed(now);
        match (self.assured.tokens + passed, self.ceiling.tokens + passed) {
            (_, below) if below < 0 => Mode::Wait(-below),
            (0.., _) => Mode::Send,
            _ => Mode::Borrow,
        }
    }

    /// `htb_charge_class`: a packet was sent.
    fn charge(&mut self, borrowed: bool, bytes: u32, now: Time) {
        let passed = self.passed(now);
        if borrowed {
            self.assured.tokens += passed;
        } else {
            self.assured.charge(passed, bytes);
        }
        self.ceiling.charge(passed, bytes);
        self.charged = now;
    }
}

/// Chooses by rates, ceilings and priorities.
#[derive(Debug)]
struct TokenBuckets {
    classes: Vec<Shaped>,
    now: Time,
    /// Among those that send and those that borrow, by priority: whose turn it is.
    turns: [[usize; PRIORITIES]; 2],
    /// Whether the class that is next borrows, and those with which it takes turns.
    borrows: bool,
    equals: ClassSet,
}

impl TokenBuckets {
    fn new(classes: &[Class], link: &LinkProperties) -> Result<TokenBuckets, ParameterError> {
        let shaped = |(index, class): (usize, &Class)| {
            let params = &class.params;
            let rate = if params.is_auto("rate") { part(link.rate, classes.len()) } else { params.rate("rate") };
            let ceil = if params.is_auto("ceil") { link.rate.max(rate) } else { params.rate("ceil") };
            if ceil < rate {
                return Err(ParameterError::in_class(index, "ceil", "no less than the rate"));
            }
            let quantum = match params.get("quantum") {
                Value::Integer(bytes) => bytes,
                _ => (rate.bits_per_second() / 8 / RATE_TO_QUANTUM).clamp(1000, 200_000),
            };
            Ok(Shaped {
                assured: Bucket::new(rate, params.integer("burst")),
                ceiling: Bucket::new(ceil, params.integer("cburst")),
                charged: link.since,
                priority: params.integer("prio") as usize,
                quantum: quantum as i64,
                deficits: [0; 2],
            })
        };
        Ok(TokenBuckets {
            classes: classes.iter().enumerate().map(shaped).collect::<Result<_, _>>()?,
            now: link.since,
            turns: [[0; PRIORITIES]; 2],
            borrows: false,
            equals: ClassSet::default(),
        })
    }
}

/// An equal part of `rate`, and at least 1 bit/s.
fn part(rate: Rate, parts: usize) -> Rate {
    Rate::from_bits_per_second((rate.bits_per_second() / parts.max(1) as u64).max(1)).expect("not zero")
}

impl ClassScheduler for TokenBuckets {
    fn ready(&mut self, backlogged: ClassSet, now: Time) -> ClassSet {
        self.now = now;
        backlogged.filter(|class| !matches!(self.classes[class].mode(now), Mode::Wait(_)))
    }

    fn ready_at(&self, class: usize, now: Time) -> Time {
        match self.classes[class].mode(now) {
            Mode::Wait(wait) => now + Span::from_nanos(wait as u64),
            _ => now,
        }
    }

    /// `htb_dequeue`: those that send before those that borrow, by priority. `htb_lookup_leaf`: among equals the one whose turn
    /// it is, or who comes after it.
    fn next(&mut self, candidates: ClassSet) -> usize {
        let sends = candidates.filter(|class| self.classes[class].mode(self.now) == Mode::Send);
        self.borrows = sends.is_empty();
        let level = if self.borrows { candidates } else { sends };
        let priority = level.iter().map(|class| self.classes[class].priority).min().expect("there is a candidate");
        self.equals = level.filter(|class| self.classes[class].priority == priority);
        let turn = &mut self.turns[usize::from(self.borrows)][priority];
        if !self.equals.contains(*turn) {
            *turn = self.equals.after(*turn);
        }
        *turn
    }

    /// `htb_dequeue_tree`.
    fn sent(&mut self, class: usize, bytes: u32) {
        let shaped = &mut self.classes[class];
        let deficit = &mut shaped.deficits[usize::from(self.borrows)];
        *deficit -= i64::from(bytes);
        if *deficit < 0 {
            *deficit += shaped.quantum;
            let next = self.equals.after(class);
            // Behind the last one comes the first that there will be.
            self.turns[usize::from(self.borrows)][shaped.priority] = if next > class { next } else { 0 };
        }
        shaped.charge(self.borrows, bytes, self.now);
    }
}
