//! Some of the buckets.

use alloc::vec::Vec;

/// Buckets that something is to be done about: noted in constant time, gone through in the time of their number.
#[derive(Debug, Default)]
pub(crate) struct Subset {
    members: Vec<u32>,
    is_member: Vec<bool>,
}

impl Subset {
    /// `bucket` is a member from now on.
    #[inline]
    pub(crate) fn insert(&mut self, bucket: usize) {
        if bucket >= self.is_member.len() {
            self.is_member.resize(bucket + 1, false);
        }
        if !self.is_member[bucket] {
            self.is_member[bucket] = true;
            self.members.push(bucket as u32);
        }
    }

    /// Goes through the members, of which those stay that `keep` says.
    #[inline]
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        self.members.retain(|&member| {
            let kept = keep(member as usize);
            self.is_member[member as usize] = kept;
            kept
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_a_set(rounds in prop::collection::vec((prop::collection::vec(0usize..40, 0..20), 1usize..4), 1..50)) {
            let (mut subset, mut model) = (Subset::default(), BTreeSet::new());
            for (buckets, kept) in rounds {
                buckets.iter().for_each(|&bucket| subset.insert(bucket));
                model.extend(buckets);
                let mut seen = Vec::new();
                subset.retain(|bucket| {
                    seen.push(bucket);
                    bucket % kept == 0
                });
                seen.sort_unstable();
                prop_assert_eq!(seen, model.iter().copied().collect::<Vec<_>>());
                model.retain(|bucket| bucket % kept == 0);
            }
        }
    }
}
