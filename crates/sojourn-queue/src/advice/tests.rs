//! What every discipline advises against, and what it refuses.

use crate::testing::{build, limit, link, params};
use crate::{DESCRIPTORS, Queue};
use sojourn_core::registry::{Descriptor, Holds, Kind, Params, Value};
use sojourn_core::{Amount, Span};

fn advise(params: &Params, kilobits: u64) -> Vec<(&'static str, String)> {
    Queue::<u32>::advice(params, &link(kilobits)).into_iter().map(|advice| (advice.parameter, advice.text)).collect()
}

fn millis(name: &'static str, millis: u64) -> (&'static str, Value) {
    (name, Value::Span(Span::from_millis(millis)))
}

fn integer(name: &'static str, value: u64) -> (&'static str, Value) {
    (name, Value::Integer(value))
}

fn number(name: &'static str, value: f64) -> (&'static str, Value) {
    (name, Value::Number(value))
}

fn choice(name: &'static str, word: &'static str) -> (&'static str, Value) {
    (name, Value::Choice(word))
}

fn packets(name: &'static str, packets: f64) -> (&'static str, Value) {
    (name, Value::Amount(Amount::Packets(packets)))
}

/// Discipline, preset, changes, link in kbit/s, the parameters advised on.
type Case = (&'static str, &'static str, Vec<(&'static str, Value)>, u64, &'static [&'static str]);

fn cases() -> Vec<Case> {
    let few = || limit(Amount::Packets(4.0));
    vec![
        // Buffers without a controller.
        ("droptail", "default", vec![], 100_000, &[]),
        ("droptail", "ns2", vec![], 10_000, &[]),
        ("droptail", "default", vec![limit(Amount::Time(Span::from_millis(3000)))], 10_000, &[]),
        ("droptail", "default", vec![limit(Amount::Time(Span::from_millis(3001)))], 10_000, &["limit"]),
        ("droptail", "default", vec![], 4_000, &[]),
        ("droptail", "default", vec![], 3_999, &["limit"]),
        // RED and what contains it.
        ("red", "linux", vec![], 10_000, &[]),
        ("red", "ns2", vec![], 10_000, &[]),
        ("red", "ns2", vec![], 100_000, &["max"]),
        ("red", "default", vec![packets("min", 20.0), packets("max", 39.0)], 10_000, &["max"]),
        ("red", "default", vec![packets("min", 20.0), packets("max", 40.0)], 10_000, &[]),
        // A step on the queue of the moment is meant.
        ("red", "default", vec![packets("min", 20.0), packets("max", 21.0), number("weight", 1.0)], 10_000, &[]),
        (
            "red",
            "default",
            vec![packets("min", 20.0), packets("max", 60.0), limit(Amount::Packets(59.0))],
            10_000,
            &["max"],
        ),
        ("red", "default", vec![packets("min", 20.0), packets("max", 60.0), limit(Amount::Packets(60.0))], 10_000, &[]),
        ("red", "linux", vec![integer("burst", 2_000)], 10_000, &["burst"]),
        ("red", "default", vec![], 2_401, &[]),
        ("red", "default", vec![], 2_399, &["target_delay"]),
        ("ared", "floyd01", vec![], 1_000, &["target_delay"]),
        ("ared", "linux", vec![packets("min", 20.0), packets("max", 30.0)], 10_000, &["max"]),
        ("ared", "default", vec![number("alpha", 0.02)], 10_000, &["alpha"]),
        ("ared", "default", vec![number("beta", 0.82)], 10_000, &["beta"]),
        ("ared", "default", vec![number("beta", 0.83)], 10_000, &[]),
        ("choke", "linux", vec![packets("min", 50.0), packets("max", 90.0)], 10_000, &["max"]),
        ("wred", "linux", vec![], 10_000, &[]),
        ("wred", "ns2", vec![], 10_000, &[]),
        ("wred", "cisco", vec![], 10_000, &["max_green", "max_yellow", "max_red"]),
        ("wred", "default", vec![packets("max_yellow", 19.0)], 10_000, &["max_yellow"]),
        ("wred", "default", vec![limit(Amount::Packets(30.0))], 10_000, &["max_green"]),
        ("wred", "default", vec![packets("min_red", 15.0), packets("max_red", 40.0)], 10_000, &["min_red"]),
        ("wred", "default", vec![packets("max_yellow", 41.0)], 10_000, &["max_yellow"]),
        // BLUE and its bins.
        ("blue", "default", vec![millis("freeze_time", 50)], 10_000, &[]),
        ("blue", "default", vec![millis("freeze_time", 49)], 10_000, &["freeze_time"]),
        ("sfb", "default", vec![limit(Amount::Packets(25.0))], 10_000, &[]),
        ("sfb", "default", vec![limit(Amount::Packets(24.0))], 10_000, &["max"]),
        ("sfb", "linux", vec![number("decrement", 0.0011)], 10_000, &["decrement"]),
        // Delay targets.
        ("codel", "rfc", vec![], 2_400, &[]),
        ("codel", "rfc", vec![], 2_399, &["target"]),
        ("codel", "rfc", vec![millis("target", 50)], 10_000, &[]),
        ("codel", "rfc", vec![millis("target", 51)], 10_000, &["target"]),
        ("codel", "linux", vec![few()], 10_000, &["limit"]),
        ("fq_codel", "linux", vec![], 1_000, &["target"]),
        ("fq_codel", "linux", vec![millis("target", 60)], 10_000, &["target"]),
        ("fq_codel", "linux", vec![few()], 10_000, &["limit"]),
        ("fq_codel", "linux", vec![integer("quantum", 300)], 10_000, &["quantum"]),
        ("fq_codel", "linux", vec![integer("flows", 16)], 10_000, &["flows"]),
        ("cobalt", "cake", vec![], 1_000, &[]),
        ("cobalt", "ns3", vec![], 1_000, &["target"]),
        ("cobalt", "cake", vec![millis("target", 60)], 10_000, &["target"]),
        ("cobalt", "cake", vec![few()], 10_000, &["limit"]),
        ("pie", "ns3", vec![], 10_000, &[]),
        ("pie", "ns3", vec![], 100_000, &["limit"]),
        ("pie", "rfc", vec![], 500, &["target"]),
        ("pie", "rfc", vec![millis("update", 31)], 10_000, &["update"]),
        ("pie", "docsis", vec![], 10_000, &[]),
        ("fq_pie", "linux", vec![], 500, &["target"]),
        ("fq_pie", "linux", vec![millis("update", 31)], 10_000, &["update"]),
        ("fq_pie", "linux", vec![few()], 10_000, &["limit"]),
        ("fq_pie", "linux", vec![integer("quantum", 1499)], 10_000, &["quantum"]),
        ("fq_pie", "linux", vec![integer("flows", 16)], 10_000, &["flows"]),
        ("pi2", "default", vec![], 500, &["target"]),
        ("pi2", "default", vec![millis("update", 100)], 10_000, &["update"]),
        ("pi2", "default", vec![few()], 10_000, &["limit"]),
        ("dualpi2", "rfc", vec![], 500, &["target"]),
        ("dualpi2", "rfc", vec![millis("update", 100)], 10_000, &["update"]),
        ("dualpi2", "rfc", vec![few()], 10_000, &["limit"]),
        ("dualpi2", "linux", vec![], 24_000, &[]),
        ("dualpi2", "linux", vec![], 23_999, &["threshold"]),
        ("dualpi2", "rfc", vec![number("classic_share", 0.0)], 10_000, &["classic_share"]),
        ("dualpi2", "rfc", vec![number("classic_share", 1.0)], 10_000, &["classic_share"]),
        // Queues for flows.
        ("sfq", "ns2", vec![], 10_000, &["buckets"]),
        ("sfq", "linux", vec![integer("buckets", 16)], 10_000, &["buckets"]),
        ("sfq", "linux", vec![integer("buckets", 16), millis("perturb", 10_000)], 10_000, &[]),
        ("sfq", "linux", vec![integer("quantum", 1000)], 10_000, &["quantum"]),
        ("drr", "ns2", vec![], 10_000, &["quantum", "buckets"]),
        ("drr", "ns2", vec![("perfect", Value::Boolean(true))], 10_000, &["quantum"]),
        ("sqf", "default", vec![integer("buckets", 69)], 10_000, &[]),
        ("sqf", "default", vec![integer("buckets", 68)], 10_000, &["buckets"]),
        ("hhf", "linux", vec![], 30_000, &[]),
        ("hhf", "linux", vec![], 26_000, &["admit_bytes"]),
    ]
}

#[test]
fn what_is_advised_against() {
    for (name, preset, changes, kilobits, expected) in cases() {
        let params = params(crate::find(name).unwrap(), preset, &changes);
        assert!(build(&params, &link(kilobits)).is_ok(), "{name} {changes:?} is legal");
        let advised = advise(&params, kilobits);
        let found: Vec<_> = advised.iter().map(|(parameter, _)| *parameter).collect();
        assert_eq!(found, expected, "{name} {preset} {changes:?} at {kilobits} kbit/s");
        for (parameter, text) in advised {
            assert!(params.descriptor().parameter(parameter).is_some(), "{name} {parameter}");
            assert!(text.contains("usual") || text.contains("rule of thumb") || parameter == "target_delay", "{text}");
        }
    }
}

#[test]
fn defaults_are_wise_on_an_ordinary_link() {
    let advising: Vec<_> = DESCRIPTORS
        .iter()
        .filter(|descriptor| !advise(&params(descriptor, "default", &[]), 10_000).is_empty())
        .map(|descriptor| descriptor.name)
        .collect();
    // Linux's heavy hitters are made for faster links, and saying so is the point.
    assert_eq!(advising, ["hhf"]);
}

#[test]
fn advice_teaches() {
    let text = |name, changes: &[_], kilobits| {
        advise(&params(crate::find(name).unwrap(), "default", changes), kilobits).remove(0).1
    };
    assert_eq!(
        text("codel", &[], 1_000),
        "a full-size packet alone takes 12 ms at this rate: whoever waits for one is above target, and flows are slowed down \
         that hardly queue; usual on slow links is at least the time of one packet"
    );
    assert_eq!(
        text("droptail", &[], 1_000),
        "12 s at this rate: packets are taken for lost and sent again while they still wait (a first timeout is 1 s, then 3 s); \
         the rule of thumb is one round-trip time, 100 ms where it is not known"
    );
    assert_eq!(
        text("drr", &[integer("buckets", 10)], 10_000),
        "of 10 flows at least two share a bucket, and half a share each, in 99 % of all runs, and for the whole run; usual are \
         1024, or perfect = true to study fairness without collisions"
    );
}

// What is refused.

/// Discipline, preset, changes, the parameter at fault.
type Contradiction = (&'static str, &'static str, Vec<(&'static str, Value)>, &'static str);

fn contradictions() -> Vec<Contradiction> {
    let (small, large) = (packets("min", 20.0), packets("max", 20.0));
    vec![
        ("droptail", "default", vec![limit(Amount::Packets(1.0)), integer("reserve", 1)], "limit"),
        ("red", "default", vec![small, large], "max"),
        ("red", "floyd93", vec![packets("max", 4.0)], "max"),
        ("red", "linux", vec![packets("min", 30.0), integer("burst", 5)], "burst"),
        ("red", "linux", vec![choice("by_size", "after-spread")], "by_size"),
        ("ared", "default", vec![small, large], "max"),
        ("ared", "default", vec![number("bottom", 0.5)], "bottom"),
        ("choke", "linux", vec![small, large], "max"),
        ("choke", "linux", vec![limit(Amount::Packets(100.0)), packets("max", 101.0)], "max"),
        ("wred", "default", vec![packets("min_green", 40.0)], "max_green"),
        ("wred", "default", vec![packets("max_yellow", 10.0)], "max_yellow"),
        ("wred", "default", vec![packets("max_red", 5.0)], "max_red"),
        ("blue", "default", vec![limit(Amount::Packets(10.0)), packets("level", 11.0)], "level"),
        ("blue", "default", vec![number("increase", 0.001), number("decrease", 0.002)], "decrease"),
        ("sfb", "default", vec![integer("target", 25)], "target"),
        ("sfb", "default", vec![millis("warmup", 600_000)], "warmup"),
        ("codel", "rfc", vec![millis("target", 100)], "target"),
        ("fq_codel", "linux", vec![millis("interval", 5)], "target"),
        ("fq_codel", "linux", vec![("memory_limit", Value::Amount(Amount::Bytes(1499.0)))], "memory_limit"),
        ("cobalt", "cake", vec![millis("target", 100)], "target"),
        ("pie", "rfc", vec![number("alpha", 0.0)], "alpha"),
        ("fq_pie", "linux", vec![choice("estimator", "link-rate")], "estimator"),
        ("fq_pie", "linux", vec![number("alpha", 0.0)], "alpha"),
        ("fq_pie", "ns3", vec![("memory_limit", Value::Amount(Amount::Bytes(1499.0)))], "memory_limit"),
        ("pi2", "default", vec![number("alpha", 0.0)], "alpha"),
        ("dualpi2", "rfc", vec![number("alpha", 0.0)], "alpha"),
        ("sfq", "ns2", vec![limit(Amount::Packets(1.0))], "limit"),
        ("sfq", "ns2", vec![integer("quantum", 1500)], "quantum"),
        ("sfq", "linux", vec![("perfect", Value::Boolean(true)), millis("perturb", 10_000)], "perturb"),
    ]
}

#[test]
fn contradictions_are_refused() {
    for (name, preset, changes, fault) in contradictions() {
        let params = params(crate::find(name).unwrap(), preset, &changes);
        assert_eq!(build(&params, &link(10_000)).err(), Some(fault), "{name} {preset} {changes:?}");
        // Whoever asks for advice all the same gets some or none, but no panic.
        advise(&params, 10_000);
    }
}

/// A limit that no full-size packet fits into, in bytes or as a time; ns-2's RED lets one packet exceed it.
#[test]
fn limits_below_a_packet_are_refused() {
    let limited = |descriptor: &&&Descriptor| descriptor.parameter("limit").is_some();
    // Those that hold others check the limits of all together: `classful::tests`.
    let alone = |descriptor: &&&Descriptor| matches!(descriptor.holds, Holds::Nothing);
    for descriptor in DESCRIPTORS.iter().filter(limited).filter(alone) {
        for name in descriptor.presets.iter().map(|preset| preset.name).chain(["default"]) {
            for amount in [Amount::Bytes(1499.0), Amount::Time(Span::from_micros(1199))] {
                let params = params(descriptor, name, &[limit(amount)]);
                let below =
                    descriptor.parameter("limit_rule").is_some() && params.read::<&str>("limit_rule") == "below";
                let found = build(&params, &link(10_000)).err();
                assert!(found == Some("limit") || below, "{} {name} {amount}: {found:?}", descriptor.name);
            }
        }
    }
}

/// Values that can never be meant are out of their parameter's range: nothing later has to look for them.
#[test]
fn nothing_can_be_zero_that_must_not() {
    for descriptor in DESCRIPTORS {
        for parameter in descriptor.parameters {
            let kind = if let Kind::OrAuto(inner) = parameter.kind { *inner } else { parameter.kind };
            let at_least_one =
                ["quantum", "buckets", "flows", "drop_batch", "hh_limit", "admit_bytes", "non_hh_weight"];
            let positive = ["target", "interval", "update", "freeze_time", "reset_timeout", "evict_timeout"];
            match kind {
                Kind::Integer { min, .. } if at_least_one.contains(&parameter.name) => assert!(min >= 1),
                Kind::Span { min, .. } if positive.contains(&parameter.name) => assert!(!min.is_zero()),
                Kind::Amount { min_packets, .. } if parameter.name.contains("limit") => assert!(min_packets >= 1.0),
                _ => (),
            }
        }
    }
}
