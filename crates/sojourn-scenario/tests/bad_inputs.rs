//! The messages for wrong input, word for word, in `bad_inputs.txt`.
//!
//! `SOJOURN_UPDATE=1 cargo test -p sojourn-scenario` writes the file anew; read the difference.

use sojourn_scenario::{Base, Scenario, catalogue};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::LazyLock;

/// A title, a scenario and overrides, and what is said of them.
struct Case {
    title: String,
    input: String,
}

impl Case {
    /// The lines starting with `--set ` are overrides, the others the scenario.
    fn messages(&self, folder: &Path) -> String {
        let set = |line: &str| line.strip_prefix("--set ").map(str::to_owned);
        let overrides: Vec<_> = self.input.lines().filter_map(set).collect();
        let text: Vec<_> = self.input.lines().filter(|line| !line.starts_with("--set ")).collect();
        let base = Base::Folder(folder.to_owned());
        let messages = match Scenario::parse(&text.join("\n"), Some("s.toml"), &base, &overrides) {
            Ok(loaded) if loaded.warnings.is_empty() => "valid".to_owned(),
            Ok(loaded) => {
                let warnings: Vec<_> = loaded.warnings.iter().map(|warning| format!("warning: {warning}")).collect();
                warnings.join("\n")
            }
            Err(problems) => problems.to_string(),
        };
        without_registry(&messages)
    }
}

/// Lists of all algorithms grow with every new one; these messages need not.
fn without_registry(messages: &str) -> String {
    static NAMES: LazyLock<[(&str, String); 2]> = LazyLock::new(|| {
        let all = catalogue();
        ["queues", "controls"].map(|family| {
            let entries = all[family].as_array().expect("a list of entries");
            let names: Vec<_> = entries.iter().map(|entry| entry["name"].as_str().expect("a name")).collect();
            (family, names.join(", "))
        })
    });
    let mut messages = messages.to_owned();
    for (family, names) in NAMES.iter() {
        messages = messages.replace(&format!("allowed: {names}"), &format!("allowed: <{family}>"));
        messages = messages.replace(&format!("one of {names},"), &format!("one of <{family}>,"));
    }
    messages
}

/// Cases are separated by lines starting with `=== `, their messages follow a line `---`.
fn cases(snapshot: &str) -> Vec<Case> {
    let blocks = snapshot.split("\n=== ").skip(1);
    blocks
        .map(|block| {
            let (title, rest) = block.split_once('\n').expect("a case has a title");
            let (input, _) = rest.split_once("\n---\n").unwrap_or_else(|| panic!("no --- in {title}"));
            Case { title: title.to_owned(), input: input.to_owned() }
        })
        .collect()
}

#[test]
fn messages_are_as_written_down() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let file = here.join("bad_inputs.txt");
    let snapshot = std::fs::read_to_string(&file).expect("the snapshot is there");
    let header = snapshot.split("\n=== ").next().expect("a header");
    let mut current = header.to_owned();
    for case in cases(&snapshot) {
        let messages = case.messages(&here.join("traces"));
        let _ = write!(current, "\n=== {}\n{}\n---\n{messages}\n", case.title, case.input);
    }
    if std::env::var_os("SOJOURN_UPDATE").is_some() {
        std::fs::write(&file, &current).expect("the snapshot can be written");
        return;
    }
    for (line, (expected, found)) in snapshot.lines().zip(current.lines()).enumerate() {
        assert_eq!(found, expected, "bad_inputs.txt, line {}", line + 1);
    }
    assert_eq!(current.lines().count(), snapshot.lines().count(), "bad_inputs.txt has more or fewer lines");
}
