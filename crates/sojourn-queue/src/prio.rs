//! Strict priority: a class sends only while all above it are empty.
//!
//! The order of the classes is that of the file. A lower class waits as long as a higher one has packets, without limit.
//! Without classes there are Linux's three bands, each with what `sch_prio` gives it, a FIFO of 1000 packets. Linux
//! gets a packet's priority from the differentiated services code point by a table that is older than DSCPs and sees
//! the three lowest of the six bits only, so that EF is not in its first band: see `bands`.

#[cfg(test)]
mod tests;

use crate::classful::{self, ClassScheduler, ClassSet, Classful, impl_by_classes};
use crate::{Body, Dscp, LinkProperties, droptail};
use alloc::borrow::ToOwned as _;
use alloc::vec;
use alloc::vec::Vec;
use sojourn_core::registry::declare::choice;
use sojourn_core::registry::{Class, Descriptor, Form, Holds, Linux, Members, ParameterError, Params, Preset};
use sojourn_core::{Amount, Stream, choices, parameters};

choices! {
    /// Words of `bands`.
    enum Bands { Diffserv = "diffserv", Tos = "tos" }
}

parameters! {
    /// What can be set.
    struct Parameters {
        limit: Option<Amount> = classful::LIMIT,
        /// the code points of the three classes first, second and last that there are if the file gives none: VA, EF, CS6, CS7
        /// and TOS 4 the first, LE and CS1 the last, all others the second (diffserv, as in cake's diffserv3), or by the old
        /// meaning of the TOS byte, where the DSCP's lowest three bits are minimum delay (4: first band, with 2: second) and
        /// maximum throughput (2: last band; Linux's default priomap)
        bands: Bands = choice(Bands::Diffserv.value()),
    }
}

/// What `prio` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "prio",
    summary: "strict priority: a class waits for all that come before it",
    sources: &[
        "Linux net/sched/sch_prio.c, net/sched/sch_generic.c (prio2band) and net/ipv4/route.c (ip_tos2prio)",
        "Linux net/sched/sch_cake.c (diffserv3)",
        "RFC 8622",
        "RITE deliverable 2.1 section 2.2",
    ],
    parameters: &Parameters::LIST,
    presets: &[Preset {
        name: "linux",
        summary: "sch_prio with its default priomap and a pfifo of 1000 packets in each band. EF, LE and the class selectors are in the second band with default traffic, VA and the classes AF x2 in the first, AF x1 in the last",
        values: &[("bands", Bands::Tos.value())],
    }],
    holds: Holds::Classes(&CLASS),
    linux: Linux::Kernel(&[Form { name: "prio", module: "sch_prio", ..Form::PLAIN }]),
    ..Descriptor::PLAIN
};

static CLASS: Descriptor = Descriptor { name: "class", ..Descriptor::PLAIN };

/// Queues of which the first goes first.
#[derive(Debug)]
pub struct Prio<B>(Classful<B, StrictPriority>);

impl<B: Body> Prio<B> {
    /// Empty queues with the given parameters.
    ///
    /// # Errors
    /// Classes or limits that contradict each other.
    pub fn new(params: &Params, link: &LinkProperties, random: Stream) -> Result<Self, ParameterError> {
        let declared = Parameters::of(params);
        let bands = if params.classes.is_empty() { bands(declared.bands) } else { Vec::new() };
        let classes = if params.classes.is_empty() { &bands } else { &params.classes };
        Ok(Prio(Classful::new(params, classes, StrictPriority, link, random)?))
    }
}

impl_by_classes!(Prio);

/// Strict priority.
#[derive(Debug)]
struct StrictPriority;

impl ClassScheduler for StrictPriority {
    #[inline]
    fn next(&mut self, candidates: ClassSet) -> usize {
        candidates.first()
    }
}

/// The three bands of Linux.
fn bands(kind: Bands) -> Vec<Class> {
    let band_of = match kind {
        Bands::Diffserv => diffserv_band,
        Bands::Tos => tos_band,
    };
    let members = |band| {
        (0..64u8).filter(move |&number| Dscp::from_number(u64::from(number)).map(band_of) == Some(band)).collect()
    };
    let class = |name: &str, dscp: Vec<u8>| Class {
        name: name.to_owned(),
        parent: None,
        members: Members { dscp, ..Members::default() },
        params: Params::new(&CLASS, None),
        queue: Params::new(&droptail::DESCRIPTOR, None),
    };
    let with_code_points = |name, band| class(name, members(band));
    vec![with_code_points("first", 0), class("second", Vec::new()), with_code_points("last", 2)]
}

/// cake's diffserv3.
fn diffserv_band(dscp: Dscp) -> u8 {
    match (dscp.name(), dscp.number()) {
        (Some("va" | "ef" | "cs6" | "cs7"), _) | (_, 4) => 0,
        (Some("le" | "cs1"), _) => 2,
        _ => 1,
    }
}

/// `ip_tos2prio` and then `prio2band`. Of the DSCP, the old TOS field had the lowest three bits.
fn tos_band(dscp: Dscp) -> u8 {
    match dscp.number() & 7 {
        // TC_PRIO_BULK.
        2 | 3 => 2,
        // TC_PRIO_INTERACTIVE.
        4 | 5 => 0,
        // TC_PRIO_BESTEFFORT and TC_PRIO_INTERACTIVE_BULK.
        _ => 1,
    }
}
