//! What the registry says of Linux fits the parameters that it speaks of.

use sojourn_core::registry::{Auto, Descriptor, Form, Kind, Linux, Parameter, Says, Setting, Unit, Value};
use std::collections::HashSet;

fn all() -> impl Iterator<Item = &'static Descriptor> {
    let algorithms = sojourn_queue::DESCRIPTORS.iter().chain(sojourn_congestion::DESCRIPTORS);
    algorithms.copied().chain([&sojourn_transport::DESCRIPTOR])
}

fn each_form(check: impl Fn(&'static Descriptor, &Form)) {
    for descriptor in all() {
        descriptor.linux.forms().iter().for_each(|form| check(descriptor, form));
    }
}

/// The kind of a parameter without `auto`, and whether it may be that.
fn plain(kind: Kind) -> (Kind, bool) {
    match kind {
        Kind::OrAuto(inner) => (*inner, true),
        kind => (kind, false),
    }
}

fn fits(parameter: &Parameter, setting: &Setting) -> bool {
    let (kind, may_be_auto) = plain(parameter.kind);
    match setting.says {
        Says::Option(word, unit, auto) => {
            let in_kind = match unit {
                Unit::Packets
                | Unit::FullPackets
                | Unit::Bytes
                | Unit::BytesOfFullPackets
                | Unit::BytesOfMeanPackets => matches!(kind, Kind::Amount { .. }),
                Unit::Micros | Unit::Millis | Unit::Seconds => matches!(kind, Kind::Span { .. }),
                Unit::Number => matches!(kind, Kind::Number { .. } | Kind::Integer { .. }),
                Unit::Percent | Unit::Sixteenths => matches!(kind, Kind::Number { .. }),
                Unit::Rate => matches!(kind, Kind::Rate),
            };
            in_kind && !word.is_empty() && (auto == Auto::No || may_be_auto)
        }
        Says::Flag(yes, no) => matches!(kind, Kind::Boolean) && yes != no,
        Says::Words(words) => match kind {
            Kind::Choice(choices) => {
                words.iter().all(|(choice, _)| choices.contains(choice) || (may_be_auto && *choice == "auto"))
            }
            _ => false,
        },
        Says::Is(value) => {
            matches!((kind, value), (Kind::Boolean, Value::Boolean(_)) | (Kind::Choice(_), Value::Choice(_)))
        }
    }
}

#[test]
fn every_setting_is_a_parameter_once_and_in_a_unit_of_its_kind() {
    each_form(|descriptor, form| {
        let mut seen = HashSet::new();
        for setting in form.settings {
            let name = format!("{} as {}: {}", descriptor.name, form.name, setting.parameter);
            let parameter = descriptor.parameter(setting.parameter).unwrap_or_else(|| panic!("{name} is no parameter"));
            assert!(fits(parameter, setting), "{name}: {setting:?}");
            assert!(seen.insert(setting.parameter), "{name} twice");
        }
    });
}

#[test]
fn every_form_has_a_name_and_every_absence_a_reason() {
    each_form(|descriptor, form| assert!(!form.name.is_empty(), "{}", descriptor.name));
    for descriptor in all() {
        if let Linux::Absent(reason) = descriptor.linux {
            assert!(!reason.is_empty() && !reason.ends_with('.'), "{}: {reason:?}", descriptor.name);
        }
    }
}

/// What the first form cannot be told is what preset `linux` says.
#[test]
fn linux_can_have_its_own_preset() {
    for descriptor in all().filter(|descriptor| descriptor.preset("linux").is_some()) {
        let Some(form) = descriptor.linux.forms().first() else { continue };
        let preset = descriptor.preset("linux").expect("asked before");
        for (name, value) in form.fixed(descriptor) {
            let said = preset.values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            let default = descriptor.parameter(name).map(|parameter| parameter.default);
            assert_eq!(Some(value), said.or(default), "{} {name}", descriptor.name);
        }
    }
}
