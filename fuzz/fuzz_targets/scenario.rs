//! Any text is refused with messages, or is a scenario that is written and read again unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_scenario::{Base, Scenario};

fuzz_target!(|text: &str| {
    // What follows a line `--set` are overrides, one per line.
    let (text, overrides) = text.split_once("\n--set\n").unwrap_or((text, ""));
    let overrides: Vec<_> = overrides.lines().map(str::to_owned).collect();
    let _ = Scenario::parse_json(text, None, &Base::Nowhere, &overrides);
    match Scenario::parse(text, None, &Base::Nowhere, &overrides) {
        Err(problems) => assert!(!problems.to_string().is_empty()),
        Ok(loaded) => {
            let written = loaded.scenario.to_toml();
            let again = Scenario::parse(&written, None, &Base::Nowhere, &[]).expect("what is written is valid");
            assert_eq!(again.scenario.to_toml(), written);
        }
    }
});
