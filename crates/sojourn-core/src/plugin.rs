//! Algorithms that come from outside: a list that grows while the program runs, and what to do when one fails.
//!
//! Built-in algorithms stand in static lists and are dispatched statically. A plug-in is added to an [`Added`] list before
//! the first scenario that names it is read. Its descriptor is as good as a built-in one: listings, validation, the schema
//! and the messages treat both alike.

use crate::Time;
use crate::registry::Descriptor;
use std::cell::RefCell;
use std::sync::{PoisonError, RwLock};

/// Algorithms of one kind that were added at run time, each with what makes one (`M`), beside the built-in ones.
#[derive(Debug)]
pub struct Added<M: ?Sized + 'static> {
    built_in: &'static [&'static Descriptor],
    entries: RwLock<Vec<Entry<M>>>,
}

#[derive(Debug)]
struct Entry<M: ?Sized + 'static> {
    descriptor: &'static Descriptor,
    maker: &'static M,
    listed: bool,
}

/// The name of a built-in algorithm was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameTaken;

impl<M: ?Sized> Added<M> {
    /// A list with nothing in it, beside those that are `built_in`.
    pub const fn new(built_in: &'static [&'static Descriptor]) -> Added<M> {
        Added { built_in, entries: RwLock::new(Vec::new()) }
    }

    /// Adds an algorithm. One that was added under the same name before gives way to it for scenarios that are read from
    /// now on; scenarios that were read before keep theirs. What makes it is kept as long as the program runs.
    ///
    /// # Errors
    /// [`NameTaken`] where a built-in algorithm has the name.
    pub fn add(&self, descriptor: &'static Descriptor, maker: Box<M>) -> Result<(), NameTaken> {
        if self.built_in.iter().any(|known| known.name == descriptor.name) {
            return Err(NameTaken);
        }
        let entry = Entry { descriptor, maker: Box::leak(maker), listed: true };
        self.entries.write().unwrap_or_else(PoisonError::into_inner).push(entry);
        Ok(())
    }

    /// Takes what was added under a name off the list. Scenarios that were read before keep theirs. Whether there was any.
    pub fn remove(&self, name: &str) -> bool {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let mut found = false;
        for entry in entries.iter_mut().filter(|entry| entry.listed && entry.descriptor.name == name) {
            (entry.listed, found) = (false, true);
        }
        found
    }

    /// The algorithm of this name, built in or added.
    pub fn find(&self, name: &str) -> Option<&'static Descriptor> {
        self.built_in.iter().copied().chain(self.descriptors()).find(|descriptor| descriptor.name == name)
    }

    /// The newest algorithm of each name, in the order in which the names came.
    pub fn descriptors(&self) -> Vec<&'static Descriptor> {
        let mut newest: Vec<&'static Descriptor> = Vec::new();
        for entry in self.entries.read().unwrap_or_else(PoisonError::into_inner).iter().filter(|entry| entry.listed) {
            match newest.iter_mut().find(|known| known.name == entry.descriptor.name) {
                Some(known) => *known = entry.descriptor,
                None => newest.push(entry.descriptor),
            }
        }
        newest
    }

    /// What makes the algorithm that `descriptor` describes.
    pub fn maker(&self, descriptor: &'static Descriptor) -> Option<&'static M> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.iter().find(|entry| std::ptr::eq(entry.descriptor, descriptor)).map(|entry| entry.maker)
    }

    /// What describes the algorithm that `maker` makes.
    pub fn descriptor_of(&self, maker: &M) -> Option<&'static Descriptor> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.iter().find(|entry| std::ptr::addr_eq(entry.maker, maker)).map(|entry| entry.descriptor)
    }
}

/// What a plug-in did that no algorithm may do.
#[derive(Clone, PartialEq, Debug)]
pub struct Failure {
    /// The name of the plug-in.
    pub plugin: &'static str,
    /// The method that failed.
    pub method: &'static str,
    /// The simulated time of the call.
    pub now: Time,
    /// Whose it is: a flow or a link, as a user knows it.
    pub whose: String,
    /// What happened, and what is allowed.
    pub what: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Failure { plugin, method, now, whose, what } = self;
        let whose = if whose.is_empty() { String::new() } else { format!(", {whose}") };
        write!(f, "plug-in {plugin}, {method}, at {:.6} s{whose}: {what}", now.as_secs_f64())
    }
}

thread_local! {
    /// A run lives on one thread; its event loop looks here now and then.
    static FIRST: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

/// Notes that a plug-in of the run on this thread has failed. The first failure of a run counts: others follow from it.
pub fn fail(failure: Failure) {
    FIRST.with_borrow_mut(|first| {
        first.get_or_insert(failure);
    });
}

/// The first failure on this thread since the last call.
pub fn take_failure() -> Option<Failure> {
    FIRST.with_borrow_mut(Option::take)
}

#[cfg(test)]
mod tests {
    use super::*;

    static BUILT_IN: Descriptor = Descriptor { name: "built-in", ..Descriptor::PLAIN };
    static ALL_BUILT_IN: &[&Descriptor] = &[&BUILT_IN];
    static ITS_NAME: Descriptor = Descriptor { name: "built-in", ..Descriptor::PLAIN };
    static ONE: Descriptor = Descriptor { name: "one", ..Descriptor::PLAIN };
    static OTHER: Descriptor = Descriptor { name: "other", ..Descriptor::PLAIN };
    static ONE_AGAIN: Descriptor = Descriptor { name: "one", ..Descriptor::PLAIN };

    #[test]
    fn a_new_one_replaces_the_old_one_of_its_name_for_those_who_come_later() {
        let added = Added::new(ALL_BUILT_IN);
        for (descriptor, maker) in [(&ONE, 1), (&OTHER, 2), (&ONE_AGAIN, 3)] {
            added.add(descriptor, Box::new(maker)).expect("no built-in algorithm is called so");
        }
        let names: Vec<_> = added.descriptors().iter().map(|descriptor| descriptor.name).collect();
        assert_eq!(names, ["one", "other"]);
        assert!(std::ptr::eq(added.descriptors()[0], &ONE_AGAIN));
        assert_eq!((added.maker(&ONE), added.maker(&ONE_AGAIN), added.maker(&OTHER)), (Some(&1), Some(&3), Some(&2)));
    }

    #[test]
    fn what_was_removed_is_found_no_more_but_still_made() {
        let added = Added::new(ALL_BUILT_IN);
        added.add(&ONE, Box::new(1)).expect("no built-in algorithm is called so");
        assert_eq!((added.remove("one"), added.remove("one"), added.remove("built-in")), (true, false, false));
        assert!(added.find("one").is_none() && added.descriptors().is_empty() && added.find("built-in").is_some());
        assert_eq!(added.maker(&ONE), Some(&1));
        added.add(&ONE_AGAIN, Box::new(2)).expect("the name is free again");
        assert!(added.find("one").is_some_and(|found| std::ptr::eq(found, &ONE_AGAIN)));
    }

    #[test]
    fn nobody_takes_the_name_of_a_built_in_one() {
        let added = Added::new(ALL_BUILT_IN);
        assert_eq!(added.add(&ITS_NAME, Box::new(1)), Err(NameTaken));
        assert!(added.find("built-in").is_some_and(|found| std::ptr::eq(found, &BUILT_IN)));
        assert!(added.find("one").is_none());
    }

    #[test]
    fn the_first_failure_counts_and_is_told_once() {
        let failure = |method| Failure {
            plugin: "mine",
            method,
            now: Time::from_nanos(1_500_000_000),
            whose: "flow 2 of tcp".into(),
            what: "the window is NaN".into(),
        };
        fail(failure("on_ack"));
        fail(failure("window"));
        let told = take_failure().expect("one has failed");
        assert_eq!(told.to_string(), "plug-in mine, on_ack, at 1.500000 s, flow 2 of tcp: the window is NaN");
        assert_eq!(take_failure(), None);
    }
}
