//! How fast a link sends: at a rate, as recorded, as a medium lets it; and what bounds that.

use crate::declare::{bytes, rate, table};
use crate::form::Section;
use crate::recording::Trace;
use sojourn_core::Rate;
use std::sync::Arc;

/// How fast a link sends.
#[derive(Clone, Debug)]
pub enum Capacity {
    /// Always at the same rate.
    Fixed(Rate),
    /// As recorded.
    Recorded(Arc<Trace>),
    /// As the medium lets it; about so fast for 1500 bytes at a time where nobody else sends.
    Shared(Rate),
}

impl Capacity {
    /// The rate, a recorded link's mean rate, or what a shared one has at best.
    pub fn mean_rate(&self) -> Rate {
        match self {
            Capacity::Fixed(rate) | Capacity::Shared(rate) => *rate,
            Capacity::Recorded(trace) => trace.mean_rate(),
        }
    }
}

table! {
    /// A token bucket that drops a packet for which it has too few tokens, as tc's `police` does; a packet larger than
    /// the burst never passes. It is full at the start, and counts bytes as IP sees them.
    pub struct Bucket = POLICER, "policer" => {
        /// how fast tokens come, and so what passes in the long run
        rate: Rate = rate().required("8 Mbit/s"),
        /// how many bytes of tokens it holds, and so what may pass at once
        burst_bytes as "burst": u64 = bytes(1..=1_000_000_000_000).required("50 kB"),
    }
}

impl Copy for Bucket {}

pub(crate) static SHAPER: Section = Section {
    name: "shaper",
    description: "A token bucket that lets packets go, at the link's own rate, while it has tokens; the last one may leave it in debt, \
                  as with tc's `htb`, since nobody looks into a queue ahead of it. It is full at the start, and counts \
                  bytes as IP sees them.",
    own: &Bucket::KEYS,
    ..Section::PLAIN
};

impl Bucket {
    /// The rate that is left of `rate` in the long run.
    pub(crate) fn slowed(&self, rate: Rate) -> Rate {
        if self.rate.bits_per_second() < rate.bits_per_second() { self.rate } else { rate }
    }
}
