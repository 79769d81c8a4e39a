//! Hierarchical token bucket: each class is sure of its rate, and may borrow from the class in which it lies, up to a ceiling.
//!
//! Classes within their rates go first, by priority; then those that borrow, from the nearest that can lend, by priority; who is
//! at its ceiling, or in a class at its, waits. Equals take turns of `quantum` bytes. Buckets, levels and turns are those of
//! Linux's `sch_htb`, whose root class is here the link itself: the link asks for a packet whenever it is free, so it always
//! lends. In Linux a class within its rate does not ask its parent either.

#[cfg(test)]
mod tests;
mod tree;

use crate::classful::{self, ClassScheduler, ClassSet, Classful, impl_by_classes};
use crate::{Body, LinkProperties};
use alloc::vec;
use alloc::vec::Vec;
use sojourn_core::registry::declare::{Field, integer, integer_in, or_auto, rate_or_auto};
use sojourn_core::registry::{Class, Descriptor, Form, Holds, Linux, ParameterError, Params, Preset};
use sojourn_core::{Rate, Span, Stream, Time, parameters};
use tree::{DEPTH, Tree};

/// The longest time that counts for a bucket (`mbuffer`).
const LONGEST: Span = Span::from_secs(60);
/// Priorities (`TC_HTB_NUMPRIO`).
const PRIORITIES: usize = 8;
/// A quantum is by default this part of what the rate sends in a second (`r2q`).
const RATE_TO_QUANTUM: u64 = 10;

/// What `htb` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "htb",
    summary: "hierarchical token bucket: classes have a rate, a ceiling up to which they borrow, a priority, and classes in them",
    sources: &["Linux net/sched/sch_htb.c", "tc-htb(8)"],
    parameters: &[classful::LIMIT.parameter("limit")],
    presets: &[Preset {
        name: "linux",
        summary: "sch_htb below a class of the link; tc has no automatic rates, and a class without a ceiling has its rate as one",
        values: &[],
    }],
    holds: Holds::Classes(&CLASS),
    linux: Linux::Kernel(&[Form { name: "htb", module: "sch_htb", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};

/// Bytes of a bucket (tc's default where timers are exact).
const BUCKET: Field<u64> = integer(1600, 1..=1_000_000_000);

parameters! {
    /// What can be set of a class.
    struct Parameters {
        /// what the class is sure of; auto is an equal part of what the class in which it lies has, or the link
        rate: Option<Rate> = rate_or_auto(),
        /// what the class may have at most; auto is the link's rate
        ceil: Option<Rate> = rate_or_auto(),
        /// who borrows first: the smallest number
        prio: usize = integer(0, 0..=PRIORITIES as u64 - 1),
        /// bytes that the class may send at once after a pause and still be within its rate (tc's default where timers are
        /// exact)
        burst: u64 = BUCKET,
        /// bytes that the class may send at once after a pause and still be below its ceiling
        cburst: u64 = BUCKET,
        /// bytes of a turn among classes of one priority; auto is what the rate sends in 0.1 s, from 1000 to 200000 (Linux's
        /// r2q of 10)
        quantum: Option<u64> = or_auto(&integer_in(1..=10_000_000)),
    }
}

static CLASS: Descriptor = Descriptor { name: "class", parameters: &Parameters::LIST, ..Descriptor::PLAIN };

/// Queues with rates of their own.
#[derive(Debug)]
pub struct Htb<B>(Classful<B, TokenBuckets>);

impl<B: Body> Htb<B> {
    /// Empty queues with the given parameters.
    ///
    /// # Errors
    /// Classes or limits that contradict each other; a ceiling below a rate; a parent that is none.
    pub fn new(params: &Params, link: &LinkProperties, random: Stream) -> Result<Self, ParameterError> {
        let tree = Tree::new(&params.classes)?;
        let places = tree.classes.clone();
        let leaf = |&place: &usize| Class { parent: None, ..params.classes[place].clone() };
        let leaves: Vec<Class> = places[..tree.leaves].iter().map(leaf).collect();
        let scheduler = TokenBuckets::new(&params.classes, tree, link)?;
        let in_scenario =
            |error: ParameterError| ParameterError { class: error.class.map(|leaf| places[leaf]), ..error };
        Ok(Htb(Classful::new(params, &leaves, scheduler, link, random).map_err(in_scenario)?))
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
    /// Borrow: it is below its ceiling, and within its rate after so many nanoseconds.
    Borrow(i64),
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
    /// What is left of a turn, by the level of who lends.
    deficits: [i64; DEPTH],
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
            (sure, _) => Mode::Borrow(-sure),
        }
    }

    /// `htb_charge_class`: a packet of the class was sent, `borrowed` from a class above it or within its own rate.
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

/// Whose turn it is among some nodes: the first of them from this one on. None begins anew.
type Turns = [Option<usize>; PRIORITIES];

/// Chooses by rates, ceilings and priorities.
#[derive(Debug)]
struct TokenBuckets {
    tree: Tree,
    /// The nodes but the link.
    classes: Vec<Shaped>,
    now: Time,
    /// By level, whose turn it is among those that lend there, to themselves at level 0 (`hlevel`).
    rows: [Turns; DEPTH],
    /// By node, whose turn it is among those that lie in it (`inner.clprio`).
    feeds: Vec<Turns>,
    /// The level of the lender of the next class, and the classes with which that one takes turns.
    level: usize,
    equals: ClassSet,
}

impl TokenBuckets {
    fn new(classes: &[Class], tree: Tree, link: &LinkProperties) -> Result<TokenBuckets, ParameterError> {
        let mut rates = vec![link.rate; tree.link() + 1];
        // From the link down: an automatic rate is a part of the parent's.
        let mut order: Vec<usize> = (0..tree.link()).collect();
        order.sort_by_key(|&node| tree.path(node).count());
        for &node in &order {
            let params = &classes[tree.classes[node]].params;
            let equal = || part(rates[tree.parents[node]], tree.siblings(node));
            rates[node] = Parameters::of(params).rate.unwrap_or_else(equal);
        }
        let shaped = |node: usize| {
            let (index, rate) = (tree.classes[node], rates[node]);
            let declared = Parameters::of(&classes[index].params);
            let ceil = declared.ceil.unwrap_or_else(|| link.rate.max(rate));
            if ceil < rate {
                return Err(ParameterError::in_class(index, "ceil", "no less than the rate"));
            }
            let by_rate = || (rate.bits_per_second() / 8 / RATE_TO_QUANTUM).clamp(1000, 200_000);
            let quantum = declared.quantum.unwrap_or_else(by_rate);
            Ok(Shaped {
                assured: Bucket::new(rate, declared.burst),
                ceiling: Bucket::new(ceil, declared.cburst),
                charged: link.since,
                priority: declared.prio,
                quantum: quantum as i64,
                deficits: [0; DEPTH],
            })
        };
        Ok(TokenBuckets {
            classes: (0..tree.link()).map(shaped).collect::<Result<_, _>>()?,
            now: link.since,
            rows: [[None; PRIORITIES]; DEPTH],
            feeds: vec![[None; PRIORITIES]; tree.link() + 1],
            level: 0,
            equals: ClassSet::default(),
            tree,
        })
    }

    /// The node that has what `leaf` sends: itself, or the nearest above that can lend; none where one of them must wait.
    fn lender(&self, leaf: usize, now: Time) -> Option<usize> {
        for node in self.tree.path(leaf) {
            match self.classes[node].mode(now) {
                Mode::Send => return Some(node),
                Mode::Borrow(_) => {}
                Mode::Wait(_) => return None,
            }
        }
        Some(self.tree.link())
    }

    /// The children of `node` that are one of `leaves` or have one in them; without a node, the lenders of `leaves`.
    fn members(&self, node: Option<usize>, leaves: ClassSet) -> ClassSet {
        let mut members = ClassSet::default();
        for leaf in leaves.iter() {
            let member = match node {
                None => self.lender(leaf, self.now),
                Some(node) => self.tree.path(leaf).find(|&at| self.tree.parents[at] == node),
            };
            member.into_iter().for_each(|member| members.insert(member));
        }
        members
    }

    /// Where `leaf` takes turns: in its parent, or among those that send by themselves.
    fn turns_in(&self, leaf: usize) -> Option<usize> {
        (self.level > 0).then(|| self.tree.parents[leaf])
    }

    fn turn(&mut self, node: Option<usize>, priority: usize) -> &mut Option<usize> {
        match node {
            None => &mut self.rows[self.level][priority],
            Some(node) => &mut self.feeds[node][priority],
        }
    }

    /// `htb_lookup_leaf`: descends from the lender whose turn it is to a leaf. A round-robin pointer that has passed the last
    /// child of a class is rewound to the first, and the pointer of the class above moves to the next sibling.
    fn lookup(&mut self, priority: usize, leaves: ClassSet) -> usize {
        let mut stack = [None; DEPTH];
        let mut top = 0;
        loop {
            let members = self.members(stack[top], leaves);
            let turn = self.turn(stack[top], priority);
            let Some(node) = turn.and_then(|turn| members.from(turn)) else {
                *turn = Some(members.first());
                if top > 0 {
                    let gone = stack[top].expect("only the row has no node");
                    top -= 1;
                    *self.turn(stack[top], priority) = self.members(stack[top], leaves).from(gone + 1);
                }
                continue;
            };
            *turn = Some(node);
            if node < self.tree.leaves {
                return node;
            }
            top += 1;
            stack[top] = Some(node);
        }
    }
}

/// An equal part of `rate`, and at least 1 bit/s.
fn part(rate: Rate, parts: usize) -> Rate {
    Rate::from_bits_per_second((rate.bits_per_second() / parts.max(1) as u64).max(1)).expect("not zero")
}

impl ClassScheduler for TokenBuckets {
    fn ready(&mut self, backlogged: ClassSet, now: Time) -> ClassSet {
        self.now = now;
        backlogged.filter(|class| self.lender(class, now).is_some())
    }

    fn ready_at(&self, class: usize, now: Time) -> Time {
        let after = |wait: i64| now + Span::from_nanos(wait as u64);
        let mut own = Time::NEVER;
        for node in self.tree.path(class) {
            match self.classes[node].mode(now) {
                Mode::Send => return now,
                Mode::Borrow(wait) => own = own.min(after(wait)),
                Mode::Wait(wait) => return own.min(after(wait)),
            }
        }
        now
    }

    /// `htb_dequeue`: those that send before those that borrow, the nearest lender first, by priority.
    fn next(&mut self, candidates: ClassSet) -> usize {
        let level = |leaf| self.lender(leaf, self.now).map(|lender| self.tree.levels[lender]);
        let nearest = candidates.iter().filter_map(level).min().expect("there is a candidate");
        let lent = candidates.filter(|leaf| level(leaf) == Some(nearest));
        let priority = lent.iter().map(|leaf| self.classes[leaf].priority).min().expect("there is a candidate");
        let equals = lent.filter(|leaf| self.classes[leaf].priority == priority);
        self.level = nearest;
        let leaf = self.lookup(priority, equals);
        self.equals = self.members(self.turns_in(leaf), equals);
        leaf
    }

    /// `htb_dequeue_tree`.
    fn sent(&mut self, class: usize, bytes: u32) {
        let shaped = &mut self.classes[class];
        let (priority, deficit) = (shaped.priority, &mut shaped.deficits[self.level]);
        *deficit -= i64::from(bytes);
        if *deficit < 0 {
            *deficit += shaped.quantum;
            let next = self.equals.from(class + 1);
            *self.turn(self.turns_in(class), priority) = next;
        }
        for node in self.tree.path(class) {
            self.classes[node].charge(self.tree.levels[node] < self.level, bytes, self.now);
        }
    }
}
