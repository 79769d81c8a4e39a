//! Which acknowledgement a new one makes superfluous (`cake_ack_filter`).

use crate::{Acknowledgement, Body, Packet};
use sojourn_core::choices;

choices! {
    /// How much is filtered.
    pub(super) enum Filter {
        /// Nothing.
        Off = "off",
        /// The older of two acknowledgements that the new one covers.
        Normal = "normal",
        /// Also a single one right before the new one.
        Aggressive = "aggressive",
    }
}

/// A waiting acknowledgement that may be dropped.
#[derive(Clone, Copy)]
struct Candidate {
    place: u32,
    flags: (bool, bool),
}

impl Filter {
    /// The place of the waiting packet that `newest`, which came behind all of them, makes superfluous: the oldest of two pure
    /// acknowledgements of its flow that it covers. One of them stays so that news still arrives at some pace.
    ///
    /// This looks at the packets before it in the same queue until it has found two. In a queue of acknowledgements
    /// under this filter there are hardly more, but duplicate ones, which are never dropped, are looked at again.
    pub(super) fn superseded<'a, B: Body + 'a>(
        self,
        waiting: impl Iterator<Item = (u32, &'a Packet<B>)>,
        newest: &Packet<B>,
    ) -> Option<u32> {
        let new = newest.acknowledgement()?;
        let mut candidate: Option<Candidate> = None;
        let mut found = 0;
        let mut last = None;
        for (place, packet) in waiting {
            last = Some(place);
            if packet.key != newest.key {
                continue;
            }
            let Some(ack) = packet.acknowledgement() else { continue };
            // The echo of a mark begins or ends here: the one before must tell it.
            if candidate.is_some_and(|candidate| candidate.flags != (ack.ece, ack.cwr)) {
                candidate = None;
                found -= 1;
            }
            if !covers(&new, &ack) {
                continue;
            }
            let oldest = *candidate.get_or_insert(Candidate { place, flags: (ack.ece, ack.cwr) });
            found += 1;
            if found > 1 {
                return Some(oldest.place);
            }
        }
        let alone =
            candidate.filter(|candidate| last == Some(candidate.place) && candidate.flags == (new.ece, new.cwr));
        alone.filter(|_| self == Filter::Aggressive).map(|candidate| candidate.place)
    }
}

/// Whether `new` says all that `old` says, and more.
fn covers(new: &Acknowledgement, old: &Acknowledgement) -> bool {
    if old.stamp > new.stamp || old.number > new.number {
        return false;
    }
    // A range below the number reports a duplicate (RFC 2883), which nothing later repeats.
    let held = |&(start, end): &(u32, u32)| new.ranges().any(|(first, last)| first <= start && end <= last);
    if old.ranges().any(|range| range.0 < old.number || !held(&range)) {
        return false;
    }
    let bytes = |ack: &Acknowledgement| ack.ranges().map(|(start, end)| u64::from(end - start)).sum::<u64>();
    // A duplicate acknowledgement is a message of its own.
    old.number < new.number || bytes(new) > bytes(old)
}
