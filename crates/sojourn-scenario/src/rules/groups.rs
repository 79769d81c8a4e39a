//! Rules of groups.

use super::report::{element_path, parameter_error, unwise};
use super::{network, ways};
use crate::check::join;
use crate::derived;
use crate::diagnostic::{Fault, Reporter, nearest};
use crate::fields::{Fields, Item, as_span};
use crate::group::OF_OWN_ENDS;
use crate::routes;
use crate::stations::has_air;
use sojourn_congestion::{AnyControl, Control, EcnUse};
use sojourn_core::Stream;
use sojourn_core::registry::{ParameterError, Params};
use sojourn_queue::Queue;
use sojourn_transport::Options;

/// Checks all groups.
pub(super) fn check(scenario: &Fields, reporter: &mut Reporter<'_>) {
    for (index, group) in scenario.tables("group").iter().enumerate() {
        let path = element_path("group", index, group);
        lists(group, &path, reporter);
        hosts(group, &path, reporter);
        bursts(group, &path, reporter);
        times(scenario, group, &path, reporter);
        direction(scenario, group, &path, reporter);
        entrance(scenario, group, &path, reporter);
        path_delay(scenario, group, &path, reporter);
        algorithms(group, &path, reporter);
        steering(group, &path, reporter);
        ecn(scenario, group, &path, reporter);
        ways::check(scenario.tables("group"), index, &path, reporter);
        stack(scenario, index, &path, reporter);
    }
}

/// ECN takes two: a sender that negotiates it and a queue that marks. Some controls cannot do without.
fn ecn(scenario: &Fields, group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let Some((control, options)) = group.chosen("control").zip(options(group)) else { return };
    let Ok(built) = build(&control.params, &options) else { return };
    let name = control.params.descriptor().name;
    let marked = may_be_marked(scenario, group);
    let needed = built.ecn() != EcnUse::Optional;
    let transport = group.origin_of("transport");
    let key = join(path, "transport.ecn");
    if needed && !options.ecn.is_accurate() {
        let found = Fault::new(format!("{} with {name}", options.ecn.word()));
        let allowed =
            format!("accurate: {name} goes by how many packets were marked, which true and false do not tell");
        reporter.error(transport, &key, found, allowed);
    } else if needed && !marked {
        let found = Fault::new(format!("{name} where no queue marks"));
        let allowed = "another control, or a queue in its way that marks, such as red with ecn = true, or dualpi2";
        reporter.error(group.origin_of("control"), &join(path, "control"), found, allowed);
    } else if options.ecn.is_on() && !marked {
        let found = format!("ecn = {} where no queue marks", options.ecn.word());
        reporter.warning(transport, &key, found, "packets are dropped, never marked");
    }
}

/// Whether a queue in the way of the group's data marks.
fn may_be_marked(scenario: &Fields, group: &Fields) -> bool {
    let mut queues = routes::crossed(group, scenario).filter_map(|link| link.chosen("queue"));
    queues.any(|queue| Queue::<()>::marks(&queue.params))
}

fn lists(group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let Some(flows) = group.integer("flows") else { return };
    for key in ["rtt", "start", "stop"] {
        if let Some(Item::Values(values)) = group.item(key)
            && values.len() as u64 != flows
        {
            let found = Fault::new(format!("a list of {}", values.len()));
            let allowed = format!("one value, or a list of {flows}: one for each of the group's flows");
            reporter.error(group.origin_of(key), &join(path, key), found, allowed);
        }
    }
}

/// A host has a flow, or it is none.
fn hosts(group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let Some(flows) = group.integer("flows") else { return };
    for key in ["hosts", "receiver_hosts"] {
        if let Some(hosts) = group.integer(key).filter(|&hosts| hosts > flows) {
            let found = Fault::new(format!("{hosts} hosts for the group's flows = {flows}"));
            let allowed = format!("at most {flows}: every host has a flow");
            reporter.error(group.origin_of(key), &join(path, key), found, allowed);
        }
    }
}

/// What a host does fits what its connections may.
fn bursts(group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let Some((host, options)) = group.table("host").zip(options(group)) else { return };
    let (Some(burst), Some(least)) = (host.integer("burst"), host.integer("burst_least")) else { return };
    let mut error = |key: &str, found: String, allowed: String| {
        reporter.error(host.origin_of(key), &join(path, &format!("host.{key}")), Fault::new(found), allowed);
    };
    let window = u64::from(options.receive_window);
    if burst > window {
        let found = format!("bursts of {burst} segments with a receive_window of {window}");
        error("burst", found, format!("at most {window}: a burst is part of a window"));
    }
    if burst > 1 && least > burst {
        let found = format!("{least} segments at least with burst = {burst}");
        error("burst_least", found, format!("at most {burst}"));
    }
    if host.choice("pacing") == Some("fq") && options.constants.pacing.is_some() {
        let found = "fq beside transport.pacing".to_owned();
        error("pacing", found, "one of them: both set the pace of every segment".to_owned());
    }
    if host.choice("qdisc") == Some("none") {
        for key in ["ring", "byte_limits", "completions"].into_iter().filter(|key| host.slot(key).is_some()) {
            let found = format!("{key} without a qdisc");
            error(key, found, "with a qdisc only: without one all that waits is in the card".to_owned());
        }
    }
    let hold = host.span("receive_offload").filter(|hold| !hold.is_zero() && *hold >= options.constants.ack_delay);
    if let Some(hold) = hold {
        let found = format!("{hold} with an ack_delay of {}", options.constants.ack_delay);
        error("receive_offload", found, "less: it holds back no delayed acknowledgement".to_owned());
    }
}

fn times(scenario: &Fields, group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let last =
        derived::bounds(group, "start").map(|(_, last)| last).or_else(|| derived::last_unsaid_start(group, scenario));
    let (Some(duration), Some(last)) = (scenario.span("duration"), last) else { return };
    if last >= duration {
        let found = Fault::new(format!("\"{last}\" with a duration of {duration}"));
        reporter.error(group.origin_of("start"), &join(path, "start"), found, "times before the end of the run");
    }
    let Some((stop, last_stop)) = derived::bounds(group, "stop") else { return };
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
    // What a program gets may come without a limit, as acknowledgements do.
    let is_program = group.table("traffic").is_some_and(|traffic| traffic.section.name == "program");
    let is_limited =
        scenario.slot("reverse").is_some() || has_air(scenario) || is_program || routes::is_network(scenario);
    if group.choice("direction") == Some("reverse") && !is_limited {
        let found = Fault::new("\"reverse\" without a section [reverse]");
        let allowed = "forward, or reverse with a [reverse] link that limits it";
        reporter.error(group.origin_of("direction"), &join(path, "direction"), found, allowed);
    }
}

/// Data enters at a link that it can cross.
fn entrance(scenario: &Fields, group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let Some(name) = group.text("enters").filter(|_| !routes::is_network(scenario)) else { return };
    let mut error = |found, allowed| {
        reporter.error(group.origin_of("enters"), &join(path, "enters"), found, allowed);
    };
    if has_air(scenario) {
        let found = Fault::new("an entrance beside a medium that stations share".to_owned());
        return error(found, "no enters: data enters at the medium".to_owned());
    }
    if routes::enters(group, scenario).is_none() {
        let names: Vec<_> = routes::links(derived::direction(group), scenario).map(|(name, _)| name).collect();
        let meant = nearest(name, names.iter().copied()).map(str::to_owned);
        error(Fault::near(format!("{name:?}, which is no link of its direction"), meant), names.join(", "));
    }
}

/// A round trip must take some time beside that on the wire.
fn path_delay(scenario: &Fields, group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let zero = match group.item("rtt") {
        Some(Item::Value(value)) => as_span(*value).is_zero(),
        Some(Item::Values(values)) => values.iter().any(|&value| as_span(value).is_zero()),
        _ => false,
    };
    if zero && !network::takes_time(group, scenario) {
        let found = Fault::new("\"0 s\" with links of no delay");
        let allowed = "a time above 0, or a link on its way with a delay";
        reporter.error(group.origin_of("rtt"), &join(path, "rtt"), found, allowed);
    }
}

/// Builds the transport's options and the control once, to see whether their parameters fit together.
fn algorithms(group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let transport = group.chosen("transport");
    let options = transport.map(|chosen| (chosen, Options::new(&chosen.params)));
    if let Some((chosen, Err(error))) = &options {
        parameter_error(reporter, chosen, group.origin_of("transport"), &join(path, "transport"), error);
    }
    let (Some(chosen), Some((_, Ok(options)))) = (group.chosen("control"), &options) else { return };
    let (path, origin) = (join(path, "control"), group.origin_of("control"));
    match build(&chosen.params, options) {
        Err(error) => parameter_error(reporter, chosen, origin, &path, &error),
        Ok(_) => unwise(reporter, chosen, origin, &path, &AnyControl::advice(&chosen.params)),
    }
}

/// Kinds of traffic that write so much, or without end, to one connection.
const OF_STACKS: [&str; 2] = ["bulk", "messages"];

/// Connections of somebody else's stack send forward, on one connection each, and one program has all of a scenario.
fn stack(scenario: &Fields, index: usize, path: &str, reporter: &mut Reporter<'_>) {
    let groups = scenario.tables("group");
    let group = &groups[index];
    let Some(name) = group.text("stack") else { return };
    let mut error = |key: &str, found: String, allowed: &str| {
        reporter.error(group.origin_of(key), &join(path, key), Fault::new(found), allowed);
    };
    if let Some(other) = groups[..index].iter().find_map(|one| one.text("stack")).filter(|&other| other != name) {
        error("stack", format!("\"{name}\" beside \"{other}\""), "one stack in a scenario; its controls may differ");
    }
    if let Some(traffic) = group.table("traffic").filter(|traffic| !OF_STACKS.contains(&traffic.section.name)) {
        error("traffic", format!("\"{}\" with a stack", traffic.section.name), &OF_STACKS.join(", "));
    }
    if group.choice("direction") == Some("reverse") {
        error("direction", "\"reverse\" with a stack".to_owned(), "forward: what comes back is of the same flow");
    }
    for key in OF_OWN_ENDS.into_iter().filter(|key| group.slot(key).is_some_and(|slot| slot.given)) {
        error(key, format!("{key} beside stack"), "one of them: a stack has senders and receivers of its own");
    }
}

/// A receiver that steers needs timestamps.
fn steering(group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let Some((chosen, options)) = group.chosen("receiver_control").zip(options(group)) else { return };
    let (path, origin) = (join(path, "receiver_control"), group.origin_of("receiver_control"));
    if !options.timestamps {
        let found = Fault::new("a transport with timestamps = false".to_owned());
        let allowed = "timestamps = true: the receiver measures by what data echoes (RFC 9840 section 4.2)";
        return reporter.error(group.origin_of("transport"), &path, found, allowed);
    }
    match build(&chosen.params, &options) {
        Err(error) => parameter_error(reporter, chosen, origin, &path, &error),
        Ok(_) => unwise(reporter, chosen, origin, &path, &AnyControl::advice(&chosen.params)),
    }
}

/// A control takes parameters while it runs, where they are not about its start or the shape of what it remembers.
pub(super) fn retuned(groups: &[Fields], index: usize, group: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    algorithms(group, path, reporter);
    let before = &groups[index];
    if ways::go_both_ways(groups, index) && derived::rtts(before) != derived::rtts(group) {
        let found = Fault::new("a change of the round-trip time of connections that carry data both ways");
        reporter.error(group.origin_of("rtt"), &join(path, "rtt"), found, "a change of the delay of a link");
    }
    if before.text("stack").is_some() {
        if before.text("control") != group.text("control") {
            let found = Fault::new("another control of a stack while a run goes on");
            reporter.error(group.origin_of("control"), &join(path, "control"), found, "the control that it has");
        }
        return;
    }
    let (Some(old), Some(new)) = (before.chosen("control"), group.chosen("control")) else { return };
    let (path, origin) = (join(path, "control"), group.origin_of("control"));
    let (kind, asked) = (old.params.descriptor(), new.params.descriptor());
    if !std::ptr::eq(kind, asked) {
        let found = Fault::new(format!("{} in place of {}, which its flows run with", asked.name, kind.name));
        let allowed = format!("parameters of {}; or another group that starts at this time", kind.name);
        return reporter.error(origin, &path, found, allowed);
    }
    let tunable: Vec<_> = AnyControl::tunable(kind).collect();
    for (parameter, value) in new.params.iter() {
        let now = old.params.get(parameter.name);
        if value != now && !tunable.contains(&parameter.name) {
            let found = Fault::new(format!("{value} in place of {now}, which running flows cannot take"));
            let allowed = match &tunable[..] {
                [] => format!("no change: {} takes its parameters at the start of a connection only", kind.name),
                names => format!("changes of {}", names.join(", ")),
            };
            let origin = new.origin(parameter.name).unwrap_or(origin);
            reporter.error(origin, &join(&path, parameter.name), found, allowed);
        }
    }
}

fn build(control: &Params, options: &Options) -> Result<AnyControl, ParameterError> {
    AnyControl::build(control, &options.path(), Stream::new(0, "check"))
}

/// The options of the group's transport, where they fit together.
fn options(group: &Fields) -> Option<Options> {
    Options::new(&group.chosen("transport")?.params).ok()
}
