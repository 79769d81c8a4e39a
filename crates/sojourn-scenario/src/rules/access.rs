//! Rules of what links are made of.

use super::report::parameter_error;
use crate::access::{Medium, Noise, Protection};
use crate::check::join;
use crate::diagnostic::{Fault, Reporter};
use crate::fields::{Chosen, Fields};
use crate::link::is_shared;
use sojourn_core::Span;
use sojourn_core::registry::{ParameterError, Params};
use sojourn_queue::framing::{Cells, Framing};

/// Checks the medium, the noise and the protection of a link, and whether they go with each other.
pub(super) fn check(link: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    parameters(link, path, "noise", |params| Noise::new(params).map(drop), reporter);
    parameters(link, path, "protection", |params| Protection::new(params).map(drop), reporter);
    let medium = link.chosen("medium").filter(|chosen| Medium::new(&chosen.params).is_some());
    if let Some(chosen) = medium {
        other_wire(link, path, chosen, reporter);
    }
    if link.slot("rate").is_none()
        && let Some(chosen) = link.chosen("medium").filter(|chosen| !is_shared(&chosen.params))
    {
        let found = Fault::new(format!("\"{}\" without a rate", chosen.params.descriptor().name));
        let allowed = "no medium: a recorded link holds already what its wire did";
        reporter.error(link.origin_of("medium"), &join(path, "medium"), found, allowed);
    }
}

/// The delay of every packet, as far as it is known: propagation, and what protection from noise costs.
pub(super) fn latency(link: &Fields) -> Span {
    let protection = link.chosen("protection").and_then(|chosen| Protection::new(&chosen.params).ok());
    link.span("delay").unwrap_or(Span::ZERO) + protection.map_or(Span::ZERO, Protection::delay)
}

fn parameters(
    link: &Fields,
    path: &str,
    key: &str,
    check: fn(&Params) -> Result<(), ParameterError>,
    reporter: &mut Reporter<'_>,
) {
    if let Some(chosen) = link.chosen(key)
        && let Err(error) = check(&chosen.params)
    {
        parameter_error(reporter, chosen, link.origin_of(key), &join(path, key), &error);
    }
}

/// Cells and protection are those of a telephone line, which nobody shares.
fn other_wire(link: &Fields, path: &str, medium: &Chosen, reporter: &mut Reporter<'_>) {
    let name = medium.params.descriptor().name;
    let cells = link.chosen("framing").is_some_and(|chosen| Framing::of(&chosen.params).cells != Cells::None);
    let mut warn = |key: &str, text: &str| {
        let found = format!("{text} on a medium of {name}");
        let advice = "those are of a telephone line, whose medium is dedicated; no real link has both";
        reporter.warning(link.origin_of(key), &join(path, key), found, advice);
    };
    if cells {
        warn("framing", "cells");
    }
    if link.chosen("protection").is_some() {
        warn("protection", "protection from impulse noise");
    }
}
