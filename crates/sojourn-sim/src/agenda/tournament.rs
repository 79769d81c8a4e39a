//! Which of many is the first.

/// Children of a node.
const WAYS: usize = 4;

/// A complete tree whose leaves each hold something, or `none`, which comes after all else. A node holds the first of what lies below
/// each of its four children. The root is the first node, and the last nodes hold the leaves. With four children there are half as
/// many levels as with two, and hardly more work in each.
#[derive(Debug)]
pub(super) struct Tournament<T> {
    nodes: Box<[[T; WAYS]]>,
    /// The node of the first leaves.
    lowest: usize,
    first: T,
}

impl<T: Copy + Ord> Tournament<T> {
    /// Of at least so many leaves.
    pub(super) fn new(leaves: usize, none: T) -> Tournament<T> {
        let (mut lowest, mut width) = (0, 1);
        while WAYS * width < leaves {
            lowest += width;
            width *= WAYS;
        }
        Tournament { nodes: vec![[none; WAYS]; lowest + leaves.div_ceil(WAYS).max(1)].into(), lowest, first: none }
    }

    /// The first of all.
    #[inline]
    pub(super) fn first(&self) -> T {
        self.first
    }

    /// What `leaf` holds.
    #[inline]
    pub(super) fn get(&self, leaf: usize) -> T {
        self.nodes[self.lowest + leaf / WAYS][leaf % WAYS]
    }

    /// Gives `leaf` something else.
    #[inline]
    pub(super) fn put(&mut self, leaf: usize, what: T) {
        let (mut node, mut child) = (self.lowest + leaf / WAYS, leaf % WAYS);
        let mut first = what;
        loop {
            let children = &mut self.nodes[node];
            children[child] = first;
            let [one, two, three, four] = *children;
            first = one.min(two).min(three.min(four));
            if node == 0 {
                break;
            }
            (node, child) = above(node);
        }
        self.first = first;
    }

    /// Gives `leaf` something that comes before what it holds: it is compared only with those that it comes before.
    #[inline]
    pub(super) fn put_earlier(&mut self, leaf: usize, what: T) {
        let (mut node, mut child) = (self.lowest + leaf / WAYS, leaf % WAYS);
        while what < self.nodes[node][child] {
            self.nodes[node][child] = what;
            if node == 0 {
                self.first = what.min(self.first);
                return;
            }
            (node, child) = above(node);
        }
    }
}

/// The parent of `node`, and which of its children that is.
#[inline]
fn above(node: usize) -> (usize, usize) {
    ((node - 1) / WAYS, (node - 1) % WAYS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_least(
            leaves in 1usize..100,
            steps in prop::collection::vec((any::<prop::sample::Index>(), 0u32..1000, any::<bool>()), 0..200),
        ) {
            let mut tree = Tournament::new(leaves, u32::MAX);
            let mut model = vec![u32::MAX; leaves];
            for (index, what, earlier) in steps {
                let leaf = index.index(leaves);
                if earlier && what < model[leaf] {
                    tree.put_earlier(leaf, what);
                } else {
                    tree.put(leaf, what);
                }
                model[leaf] = what;
                prop_assert_eq!(tree.first(), *model.iter().min().unwrap());
                prop_assert!((0..leaves).all(|leaf| tree.get(leaf) == model[leaf]));
            }
        }
    }
}
