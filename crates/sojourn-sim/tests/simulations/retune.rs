//! Controls that take parameters while their flows run.

use crate::common::{run, scenario, series, text};
use sojourn_congestion::{AnyControl, DESCRIPTORS};
use sojourn_core::registry::{Descriptor, Kind, Parameter, Value};
use sojourn_core::{Rate, Span};
use sojourn_scenario::{Base, Scenario};
use sojourn_sim::{Monitor, Session, Wanted};

/// Two flows with `control` among others over a link that drops and marks, for four seconds, and changes.
fn written(control: &str, kind: &str, changes: &str) -> String {
    let asked = ["ecn = \"alpha\"", "l4s = true"].iter().any(|words| control.contains(words));
    let marks = ["dctcp", "prague"].contains(&kind) || asked;
    let transport = if marks { "{ ecn = \"accurate\" }" } else { "\"rfc\"" };
    format!(
        "duration = \"4 s\"\n\
         [bottleneck]\nrate = \"10 Mbit/s\"\nqueue = {{ kind = \"pie\", ecn = true, limit = \"60 packets\" }}\nloss = 0.001\n\
         [[group]]\nname = \"a\"\ncontrol = {control}\ntransport = {transport}\nflows = 2\nrtt = \"40 ms\"\nstart = \"10 ms\"\n\
         [[group]]\nname = \"b\"\ncontrol = \"newreno\"\nrtt = \"60 ms\"\nstart = \"1 s\"\nstop = \"2 s\"\n{changes}"
    )
}

fn read(text: &str) -> Option<Scenario> {
    Scenario::parse(text, None, &Base::Nowhere, &[]).ok().map(|loaded| loaded.scenario)
}

/// A value as a file has it.
fn shown(value: Value) -> String {
    match value {
        Value::Number(_) | Value::Integer(_) | Value::Boolean(_) => value.to_string(),
        _ => format!("\"{value}\""),
    }
}

/// Other values of a parameter than its default.
fn others(kind: &Kind, default: Value) -> Vec<Value> {
    let all = match (kind, default) {
        (Kind::OrAuto(inner), Value::Auto) => others(inner, Value::Auto),
        (Kind::OrAuto(inner), _) => [others(inner, default), vec![Value::Auto]].concat(),
        (Kind::Boolean, _) => vec![Value::Boolean(true), Value::Boolean(false)],
        (Kind::Choice(words), _) => words.iter().map(|word| Value::Choice(word)).collect(),
        (Kind::Span { min, max }, value) => {
            let base = if let Value::Span(span) = value { span } else { Span::from_millis(20) };
            let near = [base / 2, base * 2, Span::from_millis(7)];
            near.into_iter().filter(|span| (min..=max).contains(&span)).map(Value::Span).collect()
        }
        (Kind::Number { min, max }, value) => {
            let base = if let Value::Number(number) = value { number } else { 2.0 };
            let near = [base * 0.75, base * 1.25, base + 0.125, 0.8];
            near.into_iter().filter(|number| (min..=max).contains(&number)).map(Value::Number).collect()
        }
        (Kind::Integer { min, max }, value) => {
            let base = if let Value::Integer(integer) = value { integer } else { 4 };
            let near = [base.saturating_sub(1), base + 1, base * 2, *min];
            near.into_iter().filter(|integer| (min..=max).contains(&integer)).map(Value::Integer).collect()
        }
        (Kind::Rate, _) => vec![Value::Rate(Rate::from_bits_per_second(3_000_000).expect("a rate"))],
        (Kind::Amount { .. }, _) => unreachable!("no control has an amount of data"),
    };
    all.into_iter().filter(|value| *value != default).collect()
}

/// `one` as a table that names another value of `parameter`, beside what that value needs.
fn table(one: &Descriptor, parameter: &Parameter, value: Value) -> String {
    let beside = match (one.name, parameter.name) {
        ("cubic", "arithmetic") => ", count = \"segments\", friendly = \"constant\"",
        ("cubic", "tick") => ", arithmetic = \"kernel\", count = \"segments\", friendly = \"constant\"",
        ("cubic", "spare_credit") => ", arithmetic = \"whole\", count = \"segments\", friendly = \"constant\"",
        ("cdg", "hold") => ", ineffective = 5",
        ("bbr3", "ecn_max_rtt") => ", ecn = \"alpha\"",
        ("bbr3", "ecn_gain" | "ecn_factor" | "ecn_threshold") => ", ecn = \"alpha\", ecn_max_rtt = \"0 s\"",
        ("bbr3", "probe_rtt_interval") => ", min_rtt_window = \"20 s\"",
        _ => "",
    };
    format!("{{ kind = \"{}\", {} = {}{beside} }}", one.name, parameter.name, shown(value))
}

/// The flows' control without `parameter`, and with what other values of it need.
fn plain(table: &str, parameter: &Parameter) -> String {
    let inside = table.trim_matches(['{', '}', ' ']);
    let kept: Vec<_> =
        inside.split(", ").filter(|entry| !entry.starts_with(&format!("{} =", parameter.name))).collect();
    format!("{{ {} }}", kept.join(", "))
}

/// A change before the flows start is the same as these parameters from the beginning; every parameter that is not about the
/// start of a connection can be changed, and a change of the others is refused by its name.
#[test]
#[ignore = "long: make test-long"]
fn what_a_running_control_takes_is_what_it_would_have_had() {
    let (mut silent, mut wrong) = (Vec::new(), Vec::new());
    for &one in DESCRIPTORS {
        let tunable: Vec<_> = AnyControl::tunable(one).collect();
        for parameter in one.parameters {
            let mut tried = 0;
            let mut told = false;
            for value in others(&parameter.kind, parameter.default) {
                let with = table(one, parameter, value);
                let Some(from_start) = read(&written(&with, one.name, "")) else { continue };
                let without = plain(&with, parameter);
                let change = format!(
                    "[[change]]\nat = \"1 ns\"\n[[change.group]]\nname = \"a\"\ncontrol.{} = {}\n",
                    parameter.name,
                    shown(value)
                );
                let at_once = Scenario::parse(&written(&without, one.name, &change), None, &Base::Nowhere, &[]);
                tried += 1;
                if !tunable.contains(&parameter.name) {
                    let problem = at_once.expect_err("it is fixed").to_string();
                    let key = format!("change.0.group.a.control.{}", parameter.name);
                    assert!(problem.contains(&key) && problem.contains("cannot take"), "{problem}");
                    continue;
                }
                let at_once = at_once.unwrap_or_else(|problems| panic!("{problems}\n{without}")).scenario;
                let (expected, found) = (text(&run(&from_start)), text(&run(&at_once)));
                if found != expected {
                    wrong.push(format!("{}.{} = {}", one.name, parameter.name, shown(value)));
                }
                told |= text(&run(&scenario(&written(&without, one.name, "")))) != found;
            }
            if tried == 0 {
                wrong.push(format!("no other value of {}.{}", one.name, parameter.name));
            }
            if !told && tunable.contains(&parameter.name) {
                silent.push(format!("{}.{}", one.name, parameter.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let all: usize = DESCRIPTORS.iter().map(|one| AnyControl::tunable(one).count()).sum();
    assert!(all > 100 && 3 * silent.len() < all, "{} of {all} without effect here: {silent:?}", silent.len());
}

/// A change to the present parameters leaves no trace, whatever the control has gone through by then.
#[test]
fn the_same_parameters_again_change_nothing() {
    for &one in DESCRIPTORS {
        for preset in one.presets.iter().map(|preset| preset.name) {
            let control = format!("{{ kind = \"{}\", preset = \"{preset}\" }}", one.name);
            let Some(without) = read(&written(&control, one.name, "")) else { continue };
            let same = "[[change]]\nat = \"2500 ms\"\ngroup = [{ name = \"a\", control = {} }]\n";
            let with = scenario(&written(&control, one.name, same));
            assert_eq!(with.changes[0].groups.len(), 1);
            assert!(text(&run(&with)) == text(&run(&without)), "{} {preset}", one.name);
        }
    }
}

/// Connections that begin after the change have the parameters from their start, and flows keep their windows.
#[test]
fn windows_stay_and_later_connections_follow() {
    let web = |control: &str, changes: &str| {
        scenario(&format!(
            "duration = \"6 s\"\n\
             bottleneck = {{ rate = \"10 Mbit/s\", queue = {{ kind = \"droptail\", limit = \"20 packets\" }} }}\n\
             [[group]]\nname = \"a\"\ncontrol = {control}\nrtt = \"40 ms\"\n\
             traffic = {{ kind = \"on-off\", on = \"1 s\", off = \"1 s\", connection = \"fresh\" }}\n{changes}"
        ))
    };
    let change = "[[change]]\nat = \"1500 ms\"\n[[change.group]]\nname = \"a\"\ncontrol.beta = 0.4\n";
    let (plain, other) = ("{ kind = \"cubic\" }", "{ kind = \"cubic\", beta = 0.4 }");
    let (changed, never, always) = (run(&web(plain, change)), run(&web(plain, "")), run(&web(other, "")));
    assert_ne!(text(&changed), text(&never), "the second connection reduces more");
    assert_ne!(text(&changed), text(&always), "the first one does not");

    let bulk = |changes: &str| series(&scenario(&written("\"ledbat\"", "ledbat", changes)), 10).flows;
    let lower = bulk("[[change]]\nat = \"3 s\"\n[[change.group]]\nname = \"a\"\ncontrol.target = \"1 ms\"\n");
    let (before, mut windows) = (bulk(""), lower.time_s.iter().zip(&lower.cwnd_packets));
    let position = windows.position(|(&time, _)| time >= 3.0).expect("a bin at that time");
    assert_eq!(lower.cwnd_packets[..position], before.cwnd_packets[..position]);
    assert_ne!(lower.cwnd_packets[position..], before.cwnd_packets[position..]);
}

/// A run in slices of 13 ms, over the change's time too, leaves the bytes of a whole one.
#[test]
fn slices_leave_the_same_bytes() {
    let change = "[[change]]\nat = \"1300 ms\"\ngroup = [{ name = \"a\", control = { target = \"5 ms\" } }]\n";
    let scenario = scenario(&written("\"ledbat\"", "ledbat", change));
    let mut session = Session::new(&scenario, 1, &Wanted::default());
    while session.now() < session.end() {
        session.advance(session.now() + Span::from_millis(13), &Monitor::default()).unwrap();
    }
    let sliced = session.finish(&Monitor::default()).unwrap().record;
    assert_eq!(text(&sliced), text(&run(&scenario)));
    assert_ne!(text(&sliced), text(&run(&read(&written("\"ledbat\"", "ledbat", "")).expect("it is valid"))));
}
