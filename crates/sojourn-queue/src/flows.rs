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

use crate::fifo::{LIMIT_KIND, limit};
use crate::hash::FlowHash;
use crate::{DropReason, Limit, LinkProperties, Sink};
use core::cmp::Reverse;
use sojourn_core::registry::{Kind, Parameter, ParameterError, Params, Value};
use sojourn_core::{Amount, Stream};

/// The largest number of buckets that Linux allows (65,536), for disciplines that hash.
const MAX_BUCKETS: u64 = 65_536;

/// `limit`, for all queues.
pub(crate) const fn limit_of_all(default: Amount) -> Parameter {
    Parameter {
        description: "what may wait in all queues together, besides the packet on the wire: packets, bytes, or time at the link's rate",
        ..limit(default).parameter("limit")
    }
}

/// `memory_limit`: see [`memory_limit`].
pub(crate) const MEMORY_LIMIT: Parameter = Parameter {
    name: "memory_limit",
    kind: Kind::OrAuto(&LIMIT_KIND),
    default: Value::Auto,
    description: "a second limit beside the first, meant in bytes; Linux counts the kernel's buffers, up to some times the bytes on the wire that are counted here; auto is none",
};

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

/// `flows`: the number of buckets, as FQ-CoDel calls it.
pub(crate) const FLOWS: Parameter = Parameter { name: "flows", ..BUCKETS };

/// `buckets`: their number.
pub(crate) const BUCKETS: Parameter = Parameter {
    name: "buckets",
    kind: Kind::Integer { min: 1, max: MAX_BUCKETS },
    default: Value::Integer(1024),
    description: "queues into which flows are hashed by their 5-tuple with a seeded hash; flows that collide share one",
};

/// `perfect`: whether there are collisions.
pub(crate) const PERFECT: Parameter = Parameter {
    name: "perfect",
    kind: Kind::Boolean,
    default: Value::Boolean(false),
    description: "whether every flow gets a queue of its own, instead of the hash with its collisions",
};

/// [`PERFECT`], where it has no example.
pub(crate) const PERFECT_FOR_STUDY: Parameter = Parameter {
    description: "whether every flow gets a queue of its own, instead of the hash with its collisions; for study, no implementation does so",
    ..PERFECT
};

/// The hash that [`PERFECT`] describes, with `buckets`, [`FLOWS`] or [`BUCKETS`], for the number of queues.
pub(crate) fn classifier(params: &Params, buckets: &str, random: &mut Stream) -> FlowHash {
    FlowHash::new(random, params.integer(buckets) as u32, params.boolean("perfect"))
}

/// `quantum`: bytes of a turn. Linux raises less than 256 to it.
pub(crate) const QUANTUM: Parameter = Parameter {
    name: "quantum",
    kind: Kind::OrAuto(&Kind::Integer { min: 256, max: 10_000_000 }),
    default: Value::Auto,
    description: "bytes that a queue may send in its turn; auto is the link's full-size packet",
};

/// `empty_new`: what becomes of a new queue that is found empty.
pub(crate) const EMPTY_NEW: Parameter = Parameter {
    name: "empty_new",
    kind: Kind::Choice(&["wait", "wait-unless-alone"]),
    default: Value::Choice("wait"),
    description: "a new queue that is found empty goes to the end of the old ones, so that it cannot stay new by pausing: always (RFC 8290), or only where there are old ones (Linux)",
};

/// `drop_batch`: how much the longest queue loses at once.
pub(crate) const DROP_BATCH: Parameter = Parameter {
    name: "drop_batch",
    kind: Kind::Integer { min: 1, max: 1_000_000 },
    default: Value::Integer(64),
    description: "most packets that are dropped at once from the queue with the most bytes; fewer where they are half of its bytes",
};

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
