//! Rules of groups.

use super::element_path;
use crate::check::join;
use crate::diagnostic::{Fault, Reporter};
use crate::fields::{Chosen, Fields, Item, as_span};
use crate::format::UNRESPONSIVE;
use sojourn_congestion::{AnyControl, Path};
use sojourn_core::registry::{Advice, ParameterError};
use sojourn_core::{Span, Stream};
use sojourn_transport::Options;

/// Checks all groups.
pub(super) fn check(scenario: &Fields, reporter: &mut Reporter<'_>) {
    for (index, group) in scenario.tables("group").iter().enumerate() {
        let path = element_path("group", index, group);
        lists(group, &path, reporter);
        times(scenario.span("duration"), group, &path, reporter);
        direction(scenario, group, &path, reporter);
        path_delay(scenario, group, &path, reporter);
        algorithms(group, &path, reporter);
        unused_ecn(scenario, group, &path, reporter);
    }
}

/// Whether the algorithm of `key` has a flag `ecn`, and how it is set.
fn ecn(table: &Fields, key: &str) -> Option<bool> {
    let params = &table.chosen(key)?.params;
    params.descriptor().parameter("ecn").map(|_| params.boolean("ecn"))
}

/// ECN takes two: a sender that negotiates it and a queue that marks.
fn unused_ecn(scenario: &Fields, group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let main = if group.choice("direction") == Some("reverse") { "reverse" } else { "bottleneck" };
    let Some(link) = scenario.table(main) else { return };
    if ecn(group, "transport") == Some(true) && ecn(link, "queue") == Some(false) {
        let found = format!("ecn = true with {main}.queue.ecn = false");
        reporter.warning(group.origin_of("transport"), &join(path, "transport.ecn"), found, "no packet will be marked");
    }
}

/// Whether the group's traffic does not respond to congestion.
pub(super) fn is_unresponsive(group: &Fields) -> Option<bool> {
    group.table("traffic").map(|traffic| UNRESPONSIVE.contains(&traffic.section.name))
}

fn lists(group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let Some(flows) = group.integer("flows") else { return };
    for key in ["rtt", "start", "stop"] {
        if let Some(Item::Values(values)) = group.item(key) {
            if values.len() as u64 != flows {
                let found = Fault::new(format!("a list of {}", values.len()));
                let allowed = format!("one value, or a list of {flows}: one for each of the group's flows");
                reporter.error(group.origin_of(key), &join(path, key), found, allowed);
            }
        }
    }
}

/// The first and the last possible time of `key`, `start` or `stop`, among the group's flows.
pub(super) fn moments(group: &Fields, key: &str) -> Option<(Span, Span)> {
    let values = match group.item(key)? {
        Item::Value(value) => return Some((as_span(*value), as_span(*value))),
        Item::Values(values) => values,
        Item::Table(table) => match table.item("uniform")? {
            Item::Values(range) => range,
            _ => return None,
        },
        _ => return None,
    };
    let spans = values.iter().map(|&value| as_span(value));
    Some((spans.clone().min()?, spans.max()?))
}

fn times(duration: Option<Span>, group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let (Some(duration), Some((_, last))) = (duration, moments(group, "start")) else { return };
    if last >= duration {
        let found = Fault::new(format!("\"{last}\" with a duration of {duration}"));
        reporter.error(group.origin_of("start"), &join(path, "start"), found, "times before the end of the run");
    }
    let Some((stop, last_stop)) = moments(group, "stop") else { return };
    let key = join(path, "stop");
    if stop <= last {
        let found = Fault::new(format!("\"{stop}\" with a start at {last}"));
        reporter.error(group.origin_of("stop"), &key, found, "a time after the start of all flows of the group");
    } else if last_stop > duration {
        let found = format!("\"{last_stop}\", after the end of the run at {duration}");
        reporter.warning(group.origin_of("stop"), &key, found, "it has no effect");
    }
}

fn direction(scenario: &Fields, group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    if group.choice("direction") == Some("reverse") && scenario.slot("reverse").is_none() {
        let found = Fault::new("\"reverse\" without a section [reverse]");
        let allowed = "forward, or reverse with a [reverse] link that limits it";
        reporter.error(group.origin_of("direction"), &join(path, "direction"), found, allowed);
    }
}

/// A round trip must take some time beside that on the wire.
fn path_delay(scenario: &Fields, group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let zero = match group.item("rtt") {
        Some(Item::Value(value)) => as_span(*value).is_zero(),
        Some(Item::Values(values)) => values.iter().any(|&value| as_span(value).is_zero()),
        _ => false,
    };
    let links = ["bottleneck", "reverse"].into_iter().filter_map(|key| scenario.table(key));
    let delayed = links.filter_map(|link| link.span("delay")).any(|delay| !delay.is_zero());
    if zero && !delayed {
        let found = Fault::new("\"0 s\" with links of no delay");
        let allowed = "a time above 0, or a bottleneck or return link with a delay";
        reporter.error(group.origin_of("rtt"), &join(path, "rtt"), found, allowed);
    }
}

/// Builds the transport's options and the control once, to see whether their parameters fit together.
fn algorithms(group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let transport = group.chosen("transport");
    let options = transport.map(|chosen| (chosen, Options::new(&chosen.params)));
    if let Some((chosen, Err(error))) = &options {
        parameter_error(reporter, chosen, group, &join(path, "transport"), error);
    }
    let (Some(chosen), Some((_, Ok(options)))) = (group.chosen("control"), &options) else { return };
    let about = Path { mss_bytes: options.payload_bytes, initial_window: f64::from(options.initial_window) };
    let path = join(path, "control");
    match AnyControl::build(&chosen.params, &about, Stream::new(0, "check")) {
        Err(error) => parameter_error(reporter, chosen, group, &path, &error),
        Ok(_) => unwise(reporter, chosen, group, &path, &AnyControl::advice(&chosen.params)),
    }
}

/// Warns of values that are legal and yet unwise.
pub(super) fn unwise(reporter: &mut Reporter<'_>, chosen: &Chosen, table: &Fields, path: &str, advice: &[Advice]) {
    let key = path.rsplit('.').next().unwrap_or(path);
    for Advice { parameter, text } in advice {
        let origin = chosen.origin(parameter).unwrap_or_else(|| table.origin_of(key));
        let value = chosen.params.get(parameter);
        reporter.warning(origin, &join(path, parameter), value.to_string(), text.clone());
    }
}

/// Reports that the parameters of an algorithm do not fit together.
pub(super) fn parameter_error(
    reporter: &mut Reporter<'_>,
    chosen: &Chosen,
    table: &Fields,
    path: &str,
    error: &ParameterError,
) {
    let key = path.rsplit('.').next().unwrap_or(path);
    let origin = chosen.origin(error.parameter).unwrap_or_else(|| table.origin_of(key));
    let value = chosen.params.get(error.parameter);
    reporter.error(origin, &join(path, error.parameter), Fault::new(value.to_string()), error.rule.clone());
}
