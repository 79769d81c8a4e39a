//! Which queue a flow has (`cake_hash`): a table in which each hash may lie at eight places.
//!
//! The queues are cut into sets of eight. A flow has the queue that its hash names or, if another flow holds that one,
//! any free one of the same set; only where all eight are held by others does it share. So collisions are rare until
//! the table is nearly full, where a plain hash has them from a few dozen flows on.

use crate::Host;
use alloc::vec;
use alloc::vec::Vec;

/// Queues in a set.
const WAYS: u32 = 8;
/// Queues of a tin, and hosts that it tells apart.
pub(super) const PLACES: u32 = 1024;

/// The places of the set that `hash` belongs to, beginning with its own.
fn set(hash: u32) -> impl Iterator<Item = u32> + Clone {
    let own = hash % PLACES;
    let first = own - own % WAYS;
    (0..WAYS).map(move |step| first + (own + step) % WAYS)
}

/// The queues of a tin by flow.
#[derive(Debug)]
pub(super) struct Ways {
    /// The hash that each queue was last held by.
    tags: Vec<u32>,
    counts: Counts,
}

/// How often a flow that came was found away from its own place, found a free queue, or found none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counts {
    pub(super) hits: u64,
    pub(super) misses: u64,
    pub(super) collisions: u64,
}

/// Who held the queue that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Holder {
    /// The same flow, which is active.
    Itself,
    /// Nobody active.
    Nobody,
    /// Another flow, which shares it from now on.
    Another,
}

impl Ways {
    /// A table that nobody was in yet.
    pub(super) fn new() -> Ways {
        Ways { tags: vec![0; PLACES as usize], counts: Counts::default() }
    }

    /// What was found so far.
    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// The queue of the flow with `hash`, where `active` tells whether a queue is in use.
    #[inline]
    pub(super) fn find(&mut self, hash: u32, active: impl Fn(u32) -> bool) -> (u32, Holder) {
        let own = hash % PLACES;
        if self.tags[own as usize] == hash && active(own) {
            return (own, Holder::Itself);
        }
        let (place, holder) = self.search(hash, own, active);
        self.tags[place as usize] = hash;
        (place, holder)
    }

    fn search(&mut self, hash: u32, own: u32, active: impl Fn(u32) -> bool) -> (u32, Holder) {
        if let Some(place) = set(hash).find(|&place| self.tags[place as usize] == hash) {
            self.counts.hits += u64::from(place != own);
            return (place, if active(place) { Holder::Itself } else { Holder::Nobody });
        }
        if let Some(place) = set(hash).find(|&place| !active(place)) {
            self.counts.misses += 1;
            return (place, Holder::Nobody);
        }
        self.counts.collisions += 1;
        (own, Holder::Another)
    }
}

/// The hosts at one end of a tin's flows, and how many bulk flows each has.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    /// The hash of each; grown with the number of hosts that come where each has its own place.
    tags: Vec<u32>,
    bulk_flows: Vec<u32>,
}

impl Hosts {
    /// The place of the host with `hash`, in a table in which eight places are possible. A host without bulk flows
    /// may lose its place.
    pub(super) fn place(&mut self, hash: u32) -> u32 {
        if self.tags.is_empty() {
            self.tags.resize(PLACES as usize, 0);
            self.bulk_flows.resize(PLACES as usize, 0);
        }
        let known = set(hash).find(|&place| self.tags[place as usize] == hash);
        let place =
            known.or_else(|| set(hash).find(|&place| self.bulk_flows[place as usize] == 0)).unwrap_or(hash % PLACES);
        self.tags[place as usize] = hash;
        place
    }

    /// The place of host number `host`, where every host has one.
    pub(super) fn own_place(&mut self, host: Host) -> u32 {
        let place = host.number();
        if place as usize >= self.bulk_flows.len() {
            self.bulk_flows.resize(place as usize + 1, 0);
        }
        place
    }

    /// One more bulk flow of the host at `place`.
    #[inline]
    pub(super) fn add(&mut self, place: u32) {
        self.bulk_flows[place as usize] += 1;
    }

    /// One less. A flow whose host lost its place to another may find it at zero.
    #[inline]
    pub(super) fn remove(&mut self, place: u32) {
        let flows = &mut self.bulk_flows[place as usize];
        *flows = flows.saturating_sub(1);
    }

    /// Bulk flows of the host at `place`.
    #[inline]
    pub(super) fn bulk_flows(&self, place: u32) -> u32 {
        self.bulk_flows[place as usize]
    }
}
