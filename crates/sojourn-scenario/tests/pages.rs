//! What is generated from the format is current.
//!
//! `SOJOURN_UPDATE=1 cargo test -p sojourn-scenario` writes the pages of the user guide anew.

use sojourn_scenario::{catalogue, ready, reference_pages, schema};
use std::path::{Path, PathBuf};

#[allow(dead_code)]
#[path = "../examples/synthetic_links.rs"]
mod synthetic_links;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_guide_is_current() {
    for (place, text) in reference_pages() {
        let page = root().join("docs").join(place);
        if std::env::var_os("SOJOURN_UPDATE").is_some() {
            std::fs::create_dir_all(page.parent().expect("it lies in a folder")).expect("the folder can be made");
            std::fs::write(&page, &text).expect("the page can be written");
        }
        let written = std::fs::read_to_string(&page).unwrap_or_default();
        assert!(written == text, "{place}: run SOJOURN_UPDATE=1 cargo test -p sojourn-scenario");
    }
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
fn the_synthetic_links_are_what_their_generator_makes() {
    let mut names: Vec<_> = std::fs::read_dir(root().join("scenarios/traces"))
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be listed").file_name().into_string().expect("a name"))
        .filter(|name| name != "README.md")
        .collect();
    names.sort();
    let mut known: Vec<_> = synthetic_links::LINKS.iter().map(|link| link.name).collect();
    known.sort_unstable();
    assert_eq!(names, known);
    for link in &synthetic_links::LINKS {
        let written = std::fs::read_to_string(root().join("scenarios/traces").join(link.name)).expect("it is there");
        let made: String = link.opportunities().iter().map(|time| format!("{time}\n")).collect();
        assert!(written == made, "cargo run --example synthetic_links {} writes the trace", link.name);
    }
}

/// The statistics that scenarios/traces/README.md gives.
#[test]
fn the_synthetic_links_have_the_statistics_that_their_page_gives() {
    let page = std::fs::read_to_string(root().join("scenarios/traces/README.md")).expect("it is there");
    for link in &synthetic_links::LINKS {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{}`", link.name)));
        assert_eq!(row, Some(statistics(link.name, &link.opportunities()).as_str()));
    }
}

/// A row of the page: length, mean rate, quantiles of the means of single seconds, part of the time in gaps of more than
/// 200 ms, longest gap.
fn statistics(name: &str, times_ms: &[u64]) -> String {
    const MEGABITS: f64 = 1500.0 * 8.0 / 1e6;
    let seconds = *times_ms.last().expect("there are some") / 1000;
    let mut rates = vec![0.0; seconds as usize + 1];
    times_ms.iter().for_each(|&ms| rates[(ms / 1000) as usize] += MEGABITS);
    rates.truncate(seconds as usize);
    rates.sort_by(f64::total_cmp);
    let quantiles = [0.1, 0.25, 0.5, 0.75, 0.9].map(|part| rates[(part * (seconds - 1) as f64).round() as usize]);
    let quantiles = quantiles.map(|rate| format!("{rate:.2}")).join(", ");
    let gaps: Vec<u64> = times_ms.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let idle: u64 = gaps.iter().filter(|&&gap| gap > 200).sum();
    format!(
        "| `{name}` | {seconds} | {:.2} | {quantiles} | {:.0} | {:.1} |",
        times_ms.len() as f64 * MEGABITS / seconds as f64,
        idle as f64 / seconds as f64 / 10.0,
        *gaps.iter().max().expect("there are some") as f64 / 1000.0,
    )
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
