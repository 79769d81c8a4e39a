//! The format's own promises: examples and defaults are valid, names do not collide.

use crate::check::Checker;
use crate::diagnostic::Reporter;
use crate::families::{CLASS, FAMILIES};
use crate::form::{Form, Key, Presence, Section};
use crate::format::SCENARIO;
use crate::node::{Origin, Table};
use crate::{Base, source, value};
use sojourn_core::registry::FlowGroup;

/// Every section of the format, from the top.
fn sections(section: &'static Section, found: &mut Vec<&'static Section>) {
    found.push(section);
    for key in section.keys() {
        match &key.form {
            Form::Table(inner) | Form::Tables(inner) | Form::PerFlow { table: Some(inner), .. } => {
                sections(inner, found);
            }
            Form::Select(select) => select.kinds.iter().for_each(|kind| sections(kind, found)),
            _ => {}
        }
    }
}

fn keys() -> Vec<&'static Key> {
    let mut all = Vec::new();
    sections(&SCENARIO, &mut all);
    all.push(&CLASS);
    all.into_iter().flat_map(Section::keys).collect()
}

fn problems(key: &'static Key, text: &str) -> String {
    let mut reporter = Reporter::new("format", &[]);
    let node = source::value_or_text(text, Origin::Unknown);
    let groups = [FlowGroup { name: "tcp".to_owned(), flows: 0..1 }];
    let mut checker = Checker { reporter: &mut reporter, base: &Base::Nowhere, groups: &groups };
    let item = checker.form(&key.form, &node, key.name, &Table::default());
    assert!(item.is_some() || !reporter.problems.is_empty(), "{}: nothing said", key.name);
    reporter.problems.to_string()
}

#[test]
fn examples_and_defaults_are_valid() {
    for key in keys() {
        assert_eq!(problems(key, key.example), "", "example of {}", key.name);
        if let Presence::Default(text) = key.presence {
            assert_eq!(problems(key, text), "", "default of {}", key.name);
        }
    }
}

#[test]
fn every_key_says_what_it_means() {
    for key in keys() {
        assert!(!key.description.is_empty() && !key.description.ends_with('.'), "{}", key.name);
        assert!(!key.example.is_empty(), "{}", key.name);
    }
}

#[test]
fn no_section_has_a_key_twice() {
    let mut all = Vec::new();
    sections(&SCENARIO, &mut all);
    all.push(&CLASS);
    for section in all {
        let mut names: Vec<_> = section.keys().map(|key| key.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), section.keys().count(), "{}", section.name);
    }
}

#[test]
fn algorithms_leave_the_keys_of_the_format_alone() {
    for member in FAMILIES.into_iter().flat_map(|family| family.built_in.iter().copied()) {
        for name in ["kind", "preset", "class", "child"] {
            assert!(member.parameter(name).is_none(), "{}", member.name);
        }
        for parameter in member.class().into_iter().flat_map(|class| class.parameters) {
            assert!(CLASS.key(parameter.name).is_none(), "{}.{}", member.name, parameter.name);
        }
    }
}

#[test]
fn defaults_and_presets_of_algorithms_can_be_written_in_a_file() {
    for member in FAMILIES.into_iter().flat_map(|family| family.built_in.iter().copied()) {
        let defaults = member.parameters.iter().map(|parameter| (parameter.name, parameter.default));
        let presets = member.presets.iter().flat_map(|preset| preset.values).copied();
        for (name, set) in defaults.chain(presets) {
            let parameter = member.parameter(name).unwrap_or_else(|| panic!("{} has no {name}", member.name));
            let text = crate::write::toml_value(&crate::write::value(set));
            let read = value::read(&parameter.kind, &source::value_or_text(&text, Origin::Unknown));
            assert_eq!(read.expect(&text), set, "{}.{name}", member.name);
        }
    }
}
