//! What verdicts say, and bounds that judge nothing.

use super::checks::difference;
use super::{Bounds, Law, Subject};
use crate::{Asked, Connection, command_of};
use serde_json::json;
use std::error::Error;

/// A stack that never comes up.
fn refuses(asked: &Asked) -> Result<Connection, Box<dyn Error>> {
    Err(format!("found the control {:?}; allowed: none", asked.control).into())
}

#[test]
fn a_stack_that_does_not_run_breaks_each_law_in_its_own_words() {
    for law in Law::ALL {
        let verdict = Subject::new("mine", &refuses).control("a \"b\"").judge(law);
        assert!(
            !verdict.holds && verdict.found.contains("group.a: found the control Some(\"a \\\"b\\\"\")"),
            "{verdict:?}"
        );
    }
}

#[test]
#[should_panic(expected = "mine cubic breaks the law \"A lone connection uses the link\" (lone-use): group.a: found")]
fn a_test_names_stack_and_law() {
    Subject::new("mine", &refuses).control("cubic").keeps(Law::LoneUse);
}

#[test]
fn the_first_number_that_differs_has_its_place() {
    let one = json!({ "flows": [{ "bytes": 1 }, { "bytes": 2 }], "seed": 1 });
    let two = json!({ "flows": [{ "bytes": 1 }, { "bytes": 3 }], "seed": 1 });
    assert_eq!(difference(&one, &one), None);
    assert_eq!(difference(&one, &two), Some(("flows.1.bytes".into(), "2".into(), "3".into())));
    let short = json!({ "flows": [{ "bytes": 1 }], "seed": 1 });
    assert_eq!(difference(&one, &short).expect("one flow less").0, "flows");
}

#[test]
fn a_bound_that_judges_nothing_is_refused() {
    let usual = Bounds::default();
    let wrong = [
        ("loss", Bounds { loss: 5.0, ..usual }),
        ("utilization", Bounds { utilization: 80.0, ..usual }),
        ("utilization", Bounds { utilization: 0.0, ..usual }),
        ("jain", Bounds { jain: 0.25, ..usual }),
        ("efficiency", Bounds { efficiency: 0.0, ..usual }),
        ("faults_s", Bounds { faults_s: f64::NAN, ..usual }),
        ("round_trips", Bounds { round_trips: 0.0, ..usual }),
    ];
    for (name, bounds) in wrong {
        let verdict = Subject::new("mine", &refuses).bounds(bounds).judge(Law::SameSeed);
        assert!(!verdict.holds && verdict.found.starts_with(&format!("Bounds::{name}: found ")), "{verdict:?}");
    }
    assert_eq!(usual.problem(), None);
}

#[test]
fn words_that_mean_nothing_are_refused() {
    let said = |words: &[&str]| {
        let words: Vec<_> = words.iter().copied().map(str::to_owned).collect();
        command_of(&words, &[], &refuses).expect_err("they mean nothing").to_string()
    };
    let names = "same-seed, arithmetic, faults, lone-use, lone-loss, equal-shares";
    assert_eq!(said(&["--law", "gravity"]), format!("--law: found \"gravity\"; allowed: {names}"));
    let allowed = "allowed: SCENARIO [SEED [FOLDER KEPT...]], --controls, --laws, or --law NAME [CONTROL]";
    assert_eq!(said(&["--law", "faults", "cubic", "1"]), format!("found 4 words; {allowed}"));
    assert_eq!(said(&["--law", "faults", "cubic"]), "--law: control: found \"cubic\"; allowed: none");
    assert_eq!(said(&["--law"]), format!("found \"--law\"; {allowed}"));
}

#[test]
fn the_guide_has_the_bounds() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/stacks.md");
    let guide = std::fs::read_to_string(file).expect("the guide is in the sources");
    let Bounds { utilization, loss, jain, faults_s, .. } = Bounds::default();
    let bounds = [
        format!("{} % of it", 100.0 * utilization),
        format!("at most {} %", 100.0 * loss),
        format!("is at least {jain}"),
        format!("within {faults_s} s"),
    ];
    for bound in bounds.iter().map(String::as_str).chain(Law::ALL.map(Law::says)) {
        assert!(guide.contains(bound), "{bound}");
    }
}
