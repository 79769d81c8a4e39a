//! What disciplines with a queue for each flow share: the hash of flows to buckets, the flow queues, the scheduler, and the
//! search for the longest or the shortest queue.
//!
//! The parts know nothing of each other, so that a discipline takes the ones it needs:
//! - [`classifier`]: 5-tuples to buckets, by the seeded [`FlowHash`];
//! - [`FlowQueues`]: a first-in first-out queue for each bucket, in one pool of packets that never shrinks;
//! - [`ActiveList`]: the buckets that have packets, in the order of round robin;
//! - [`FlowScheduler`]: deficit round robin over new and old flows, as in FQ-CoDel;
//! - [`Ranking`]: the bucket with the greatest key, always up to date: the shortest queue;
//! - [`Longest`]: the bucket with the greatest key, computed on demand: the queue that an overflow drops from;
//! - [`Subset`]: the buckets that something is to be done about.
//!
//! Buckets are numbered from 0; every part grows when it first hears of a bucket. Nothing scans buckets or packets, and
//! nothing is allocated once as many buckets and packets have been seen at a time as ever will be.

mod active_list;
mod queues;
mod ranking;
mod scheduler;
mod subset;

pub(crate) use active_list::{ActiveList, Links};
pub(crate) use queues::{End, FlowQueues};
pub(crate) use ranking::{Longest, Ranking};
pub(crate) use scheduler::{EmptyNew, FlowScheduler};
pub(crate) use subset::Subset;

use crate::fifo::limit;
use crate::hash::FlowHash;
use crate::{DropReason, Limit, LinkProperties, Sink};
use core::cmp::Reverse;
use sojourn_core::registry::declare::{Field, choice, flag, integer, integer_in, or_auto};
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Amount, Stream, parameters};

/// The largest number of buckets that Linux allows (65,536), for disciplines that hash.
const MAX_BUCKETS: u64 = 65_536;

/// `limit`, for all queues.
pub(crate) const fn limit_of_all(default: Amount) -> Field<Amount> {
    limit(default).described(
        "what may wait in all queues together, besides the packet on the wire: packets, bytes, or time at the link's rate",
    )
}

/// `memory_limit`: see [`memory_limit`].
pub(crate) const MEMORY_LIMIT: Field<Option<Amount>> = or_auto(&limit(Amount::Packets(1.0))).described(
    "a second limit beside the first, meant in bytes; Linux counts the kernel's buffers, up to some times the bytes on the wire that are counted here; auto is none",
);

/// What a Linux user is to know of [`MEMORY_LIMIT`].
pub(crate) const MEMORY_LIMIT_IN_LINUX: &str =
    "memory_limit counts the kernel's buffers, which are larger than the packets in them";

/// What [`MEMORY_LIMIT`] describes.
pub(crate) fn memory_limit(params: &Params, link: &LinkProperties) -> Result<Option<Limit>, ParameterError> {
    match params.is_auto("memory_limit") {
        true => Ok(None),
        false => Limit::of(params, "memory_limit", link).map(Some),
    }
}

/// `buckets`: their number.
pub(crate) const BUCKETS: Field<u32> = integer(1024, 1..=MAX_BUCKETS)
    .described("queues into which flows are hashed by their 5-tuple with a seeded hash; flows that collide share one");

/// `perfect`: whether there are collisions.
pub(crate) const PERFECT: Field<bool> =
    flag(false).described("whether every flow gets a queue of its own, instead of the hash with its collisions");

/// [`PERFECT`], where it has no example.
pub(crate) const PERFECT_FOR_STUDY: Field<bool> = flag(false).described(
    "whether every flow gets a queue of its own, instead of the hash with its collisions; for study, no implementation does so",
);

/// `quantum`: bytes of a turn. Linux raises less than 256 to it.
pub(crate) const QUANTUM: Field<Option<u32>> = or_auto(&integer_in(256..=10_000_000))
    .described("bytes that a queue may send in its turn; auto is the link's full-size packet");

/// `drop_batch`: how much the longest queue loses at once.
pub(crate) const DROP_BATCH: Field<u32> = integer(64, 1..=1_000_000).described(
    "most packets that are dropped at once from the queue with the most bytes; fewer where they are half of its bytes",
);

parameters! {
    /// What can be set of the queues of FQ-CoDel, and of the turns that new and old ones take.
    pub(crate) struct Turns {
        flows: u32 = BUCKETS,
        perfect: bool = PERFECT_FOR_STUDY,
        quantum: Option<u32> = QUANTUM,
        /// a new queue that is found empty goes to the end of the old ones, so that it cannot stay new by pausing: always (RFC
        /// 8290), or only where there are old ones (Linux)
        empty_new: EmptyNew = choice(EmptyNew::Wait.value()),
    }
}

impl Turns {
    /// The hash of flows to queues.
    pub(crate) fn classifier(&self, random: &mut Stream) -> FlowHash {
        FlowHash::new(random, self.flows, self.perfect)
    }
}

/// Drops up to `batch` packets from the head of the queue with the most bytes, of equals that with the lowest number, until
/// that was half of them. Returns the bucket and the number of packets.
#[cold]
pub(crate) fn drop_from_longest<B: Copy, S: Sink<B>>(
    queues: &mut FlowQueues<B>,
    longest: &mut Longest<(u64, Reverse<usize>)>,
    batch: u32,
    sink: &mut S,
) -> Option<(usize, u32)> {
    let bucket = longest.find(|bucket| match queues.bytes_of(bucket) {
        0 => None,
        bytes => Some((bytes, Reverse(bucket))),
    })?;
    let half = queues.bytes_of(bucket) / 2;
    let (mut packets, mut bytes) = (0, 0);
    while let Some(packet) = queues.pop(bucket, End::Head) {
        sink.dropped(&packet, DropReason::Overflow);
        packets += 1;
        bytes += u64::from(packet.bytes);
        if packets == batch || bytes >= half {
            break;
        }
    }
    Some((bucket, packets))
}
