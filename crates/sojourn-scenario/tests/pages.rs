//! What is generated from the format is current.
//!
//! `SOJOURN_UPDATE=1 cargo test -p sojourn-scenario` writes the page of the user guide anew.

use sojourn_scenario::{catalogue, ready, reference_markdown, schema};
use std::path::{Path, PathBuf};

#[allow(dead_code)]
#[path = "../examples/synthetic_lte.rs"]
mod synthetic_lte;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_guide_is_current() {
    let page = root().join("docs/guide/scenario.md");
    if std::env::var_os("SOJOURN_UPDATE").is_some() {
        std::fs::create_dir_all(page.parent().expect("it lies in a folder")).expect("the folder can be made");
        std::fs::write(&page, reference_markdown()).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(written == reference_markdown(), "run SOJOURN_UPDATE=1 cargo test -p sojourn-scenario");
}

#[test]
fn every_scenario_in_the_folder_comes_along() {
    let mut files: Vec<_> = std::fs::read_dir(root().join("scenarios"))
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    let mut known: Vec<_> = ready().iter().map(|ready| ready.name.to_owned()).collect();
    files.sort();
    known.sort();
    assert_eq!(files, known);
    for ready in ready() {
        assert!(ready.summary.ends_with('.') && ready.summary.len() > 20, "{}: {:?}", ready.name, ready.summary);
    }
}

#[test]
fn the_synthetic_trace_is_what_its_generator_makes() {
    let written = std::fs::read_to_string(root().join("scenarios/traces/synthetic-lte")).expect("it is there");
    let made: String = synthetic_lte::opportunities().iter().map(|time| format!("{time}\n")).collect();
    assert!(written == made, "cargo run --example synthetic_lte writes the trace");
}

/// Follows all references of `value` into `$defs` of `schema`.
fn assert_references(value: &serde_json::Value, schema: &serde_json::Value) {
    match value {
        serde_json::Value::Object(entries) => {
            if let Some(reference) = entries.get("$ref").and_then(serde_json::Value::as_str) {
                let pointer = reference.strip_prefix('#').expect("within the document");
                assert!(schema.pointer(pointer).is_some(), "{reference}");
            }
            entries.values().for_each(|inner| assert_references(inner, schema));
        }
        serde_json::Value::Array(list) => list.iter().for_each(|inner| assert_references(inner, schema)),
        _ => {}
    }
}

#[test]
fn the_schema_holds_together() {
    let schema = schema();
    assert_references(&schema, &schema);
    let catalogue = catalogue();
    for (family, noun) in [("queues", "queue-discipline"), ("controls", "congestion-control")] {
        for entry in catalogue[family].as_array().expect("a list") {
            let name = entry["name"].as_str().expect("a name");
            let definition = &schema["$defs"][format!("{noun}-{name}")]["properties"];
            for parameter in entry["parameters"].as_array().expect("a list") {
                let parameter = parameter["name"].as_str().expect("a name");
                assert!(definition.get(parameter).is_some(), "{name}.{parameter}");
            }
        }
    }
}

#[test]
fn the_catalogue_lists_everything() {
    let catalogue = catalogue();
    let names = |family: &str| -> Vec<String> {
        let entries = catalogue[family].as_array().expect("a list").iter();
        entries.map(|entry| entry["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert!(names("queues").contains(&"droptail".to_owned()));
    assert!(names("controls").contains(&"newreno".to_owned()));
    assert_eq!(names("transports"), ["transport"]);
    assert_eq!(names("scenarios").len(), ready().len());
    assert_eq!(catalogue["queues"][0]["parameters"][0]["default"], "1000 packets");
}
