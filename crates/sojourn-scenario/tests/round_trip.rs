//! What is written is read again, and nothing that is read brings the reader down.

use proptest::prelude::*;
use sojourn_core::Stream;
use sojourn_scenario::{Base, Diagnostics, Loaded, Scenario, random, ready};

fn parse(text: &str) -> Result<Loaded, Diagnostics> {
    Scenario::parse(text, Some("test.toml"), &Base::Nowhere, &[])
}

/// All there is in a scenario: the algorithms' parameters cannot be compared otherwise.
fn whole(scenario: &Scenario) -> String {
    format!("{scenario:?}")
}

fn assert_round_trip(scenario: &Scenario) {
    let toml = scenario.to_toml();
    let read = parse(&toml).unwrap_or_else(|problems| panic!("{problems}\n{toml}")).scenario;
    assert!(whole(&read) == whole(scenario), "{toml}");
    let json = scenario.to_json().to_string();
    let read = Scenario::parse_json(&json, None, &Base::Nowhere, &[]).unwrap_or_else(|e| panic!("{e}\n{json}"));
    assert!(whole(&read.scenario) == whole(scenario), "{json}");
    assert_eq!(read.scenario.to_toml(), toml, "canonical text is canonical");
    for group in &scenario.groups {
        let over_connections = group.traffic.datagram_bytes().is_none();
        assert_eq!(group.control.is_some(), over_connections, "{}: a control is of connections", group.name);
    }
}

#[test]
#[ignore = "long: make test-long"]
fn random_scenarios_are_written_and_read_again() {
    let mut stream = Stream::new(1, "round trip");
    for _ in 0..500 {
        assert_round_trip(&random::scenario(&mut stream));
    }
}

#[test]
fn ready_scenarios_are_valid_and_are_written_and_read_again() {
    for ready in ready() {
        let loaded = parse(ready.text).unwrap_or_else(|problems| panic!("{}: {problems}", ready.name));
        assert!(loaded.warnings.is_empty(), "{}: {:?}", ready.name, loaded.warnings);
        assert_round_trip(&loaded.scenario);
    }
}

/// Small damage to a text, of the kinds that people and programs do.
#[derive(Clone, Debug)]
enum Damage {
    DropLine(usize),
    RepeatLine(usize),
    SwapLines(usize, usize),
    Cut(usize),
    Replace(usize, usize, String),
}

fn damage() -> impl Strategy<Value = Damage> {
    let words = prop_oneof![
        Just("-1".to_owned()),
        Just("nan".to_owned()),
        Just("inf".to_owned()),
        Just("1e400".to_owned()),
        Just("99999999999999999999999999".to_owned()),
        Just("\"1e30 s\"".to_owned()),
        Just("\"0 packets\"".to_owned()),
        Just("\"0 bit/s\"".to_owned()),
        Just("[]".to_owned()),
        Just("[[1, 2], [\"3 s\"]]".to_owned()),
        Just("{}".to_owned()),
        Just("{ kind = {} }".to_owned()),
        Just("1979-05-27".to_owned()),
        Just("\"\"".to_owned()),
        Just("ready:".to_owned()),
        "\\PC{0,6}",
    ];
    prop_oneof![
        any::<usize>().prop_map(Damage::DropLine),
        any::<usize>().prop_map(Damage::RepeatLine),
        (any::<usize>(), any::<usize>()).prop_map(|(one, other)| Damage::SwapLines(one, other)),
        any::<usize>().prop_map(Damage::Cut),
        (any::<usize>(), 0usize..20, words).prop_map(|(start, length, word)| Damage::Replace(start, length, word)),
        (any::<usize>(), Just(usize::MAX), any::<i64>()).prop_map(|(start, length, number)| Damage::Replace(
            start,
            length,
            number.to_string()
        )),
    ]
}

fn apply(text: &str, damage: &Damage) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let count = lines.len().max(1);
    match damage {
        Damage::DropLine(line) if !lines.is_empty() => {
            lines.remove(line % count);
        }
        Damage::RepeatLine(line) if !lines.is_empty() => lines.insert(line % count, lines[line % count]),
        Damage::SwapLines(one, other) if !lines.is_empty() => lines.swap(one % count, other % count),
        Damage::Cut(end) => return text.chars().take(end % (text.chars().count() + 1)).collect(),
        Damage::Replace(start, usize::MAX, word) => {
            // The value of a line.
            let line = start % count;
            let changed =
                lines.get(line).and_then(|line| line.split_once('=')).map(|(key, _)| format!("{key}= {word}"));
            let mut lines: Vec<_> = lines.into_iter().map(str::to_owned).collect();
            if let Some(changed) = changed {
                lines[line] = changed;
            }
            return lines.join("\n");
        }
        Damage::Replace(start, length, word) => {
            let letters: Vec<char> = text.chars().collect();
            let start = start % (letters.len() + 1);
            let end = (start + length).min(letters.len());
            return letters[..start]
                .iter()
                .copied()
                .chain(word.chars())
                .chain(letters[end..].iter().copied())
                .collect();
        }
        _ => {}
    }
    lines.join("\n")
}

fn assert_sensible(text: &str) {
    match parse(text) {
        Ok(loaded) => assert_round_trip(&loaded.scenario),
        Err(problems) => {
            assert!(!problems.is_empty());
            let lines = text.lines().count() as u32 + 1;
            for problem in problems.list() {
                assert!(problem.line.is_none_or(|line| (1..=lines).contains(&line)), "{problem}");
                assert!(!problem.to_string().contains('\n'), "{problem}");
                assert!(!problem.found.is_empty() && !problem.allowed.is_empty(), "{problem}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_scenarios_are_read_or_refused(
        seed in any::<u64>(),
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let original = random::scenario(&mut Stream::new(seed, "damaged")).to_toml();
        assert_sensible(&damages.iter().fold(original, |text, damage| apply(&text, damage)));
    }

    #[test]
    fn damaged_ready_scenarios_are_read_or_refused(
        index in any::<prop::sample::Index>(),
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let original = index.get(ready()).text.to_owned();
        assert_sensible(&damages.iter().fold(original, |text, damage| apply(&text, damage)));
    }

    #[test]
    fn garbage_is_refused(text in "\\PC{0,300}") {
        assert_sensible(&text);
        let _ = Scenario::parse_json(&text, None, &Base::Nowhere, &[]);
    }

    #[test]
    fn overrides_are_taken_or_refused(
        key in "(bottleneck|group|hop|reverse|seed|x)(\\.(queue|0|n|tcp|control|start|jitter|rate|kind|\\PC)){0,4}",
        value in "\\PC{0,12}",
    ) {
        let text = ready().iter().find(|ready| ready.name == "access-link").expect("it is there").text;
        let overrides = [format!("{key}={value}")];
        let _ = Scenario::parse(text, None, &Base::Nowhere, &overrides).map_err(|problems| problems.to_string());
    }
}
