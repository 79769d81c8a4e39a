//! Which class of an `htb` lies in which.

use crate::droptail;
use alloc::format;
use alloc::vec::Vec;
use sojourn_core::registry::{Class, ParameterError, Params};

/// Levels of classes, the link among them (`TC_HTB_MAXDEPTH`): leaves are at level 0, the link at the highest.
pub(super) const DEPTH: usize = 8;
/// Classes that have others in them, at most.
const MAX_INNER: usize = 15;

/// The classes of an `htb` as nodes: first the leaves in their order, then the classes that have others in them, then the link.
#[derive(Debug)]
pub(super) struct Tree {
    /// The place of each node's class among those of the scenario; the link has none.
    pub classes: Vec<usize>,
    /// How many of the nodes are leaves.
    pub leaves: usize,
    /// By node, that from which it borrows; the link's is itself.
    pub parents: Vec<usize>,
    /// By node, its level (`htb_change_class`): one below its parent's, and 0 for leaves.
    pub levels: Vec<usize>,
}

impl Tree {
    /// The tree of `classes`, each of which may name its parent.
    ///
    /// # Errors
    /// A parent that is not there or lies in its own child, too many levels, a class with others in it that takes packets.
    pub(super) fn new(classes: &[Class]) -> Result<Tree, ParameterError> {
        let parent = |index: usize| -> Result<Option<usize>, ParameterError> {
            let Some(name) = &classes[index].parent else { return Ok(None) };
            let found = classes.iter().position(|class| class.name == *name).filter(|&found| found != index);
            let unknown = || ParameterError::in_class(index, "parent", "the name of another class of this discipline");
            found.map(Some).ok_or_else(unknown)
        };
        let above: Vec<Option<usize>> = (0..classes.len()).map(parent).collect::<Result<_, _>>()?;
        let is_inner = |index: usize| above.contains(&Some(index));
        let (inner, leaves): (Vec<usize>, Vec<usize>) = (0..classes.len()).partition(|&index| is_inner(index));
        if inner.len() > MAX_INNER {
            return Err(ParameterError::new("class", format!("at most {MAX_INNER} classes with others in them")));
        }
        let count = leaves.len();
        let order = [&leaves[..], &inner].concat();
        let link = order.len();
        let node = |index: usize| order.iter().position(|&other| other == index).expect("each class is a node");
        let mut parents: Vec<usize> = order.iter().map(|&index| above[index].map_or(link, node)).collect();
        parents.push(link);
        let depth = |start: usize| {
            let path = core::iter::successors(Some(start), |&at| (at != link).then(|| parents[at]));
            path.take(DEPTH + 1).count() - 1
        };
        let mut levels = Vec::with_capacity(link + 1);
        for (at, &index) in order.iter().enumerate() {
            if depth(at) >= DEPTH {
                let rule = format!("a class of the discipline in which this one lies, at most {} deep", DEPTH - 1);
                return Err(ParameterError::in_class(index, "parent", rule));
            }
            levels.push(if at < count { 0 } else { DEPTH - 1 - depth(at) });
        }
        levels.push(DEPTH - 1);
        for &index in &inner {
            if !classes[index].members.is_rest() {
                let rule = "no packets of its own: other classes lie in this one";
                return Err(ParameterError::in_class(index, "name", rule));
            }
            if classes[index].queue != Params::new(&droptail::DESCRIPTOR, None) {
                let rule = "no queue: packets wait in the classes inside this one";
                return Err(ParameterError::in_class(index, "queue", rule));
            }
        }
        Ok(Tree { classes: order, leaves: count, parents, levels })
    }

    /// The nodes from `leaf` to below the link.
    pub(super) fn path(&self, leaf: usize) -> impl Iterator<Item = usize> {
        let link = self.link();
        core::iter::successors(Some(leaf), |&at| Some(self.parents[at])).take_while(move |&at| at != link)
    }

    /// The node of the link.
    pub(super) fn link(&self) -> usize {
        self.parents.len() - 1
    }

    /// How many classes borrow from the same node as `node`, itself included.
    pub(super) fn siblings(&self, node: usize) -> usize {
        self.parents[..self.link()].iter().filter(|&&parent| parent == self.parents[node]).count()
    }
}
