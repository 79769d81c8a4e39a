//! Everything that can be named in a scenario, as data for listings and documentation.

use crate::access::{PROFILES, Profile, Settings};
use crate::format::{FAMILIES, Family};
use crate::{ready, value, write};
use serde_json::{Map, Value, json};
use sojourn_core::registry::{Descriptor, Parameter, Preset};

/// Everything that has a name: `{"queues": [ENTRY], "controls": [ENTRY], ..., "access": [PROFILE], "scenarios": [{"name",
/// "summary"}]}`, with a list for each family of algorithms, `PROFILE = {name, summary, sources, down, up}` with keys of a
/// link and their values as a file has them, and
/// `ENTRY = {name, summary, sources, parameters: [PARAMETER], presets: [{name, summary, values}], holds,
/// class_parameters: [PARAMETER]}` and `PARAMETER = {name, kind, unit, default, allowed, description}`. `holds` is the key
/// under which it holds others, `child` or `class`, or null.
pub fn catalogue() -> Value {
    let scenarios: Vec<_> =
        ready().iter().map(|ready| json!({ "name": ready.name, "summary": ready.summary })).collect();
    let mut listed: Map<_, _> = FAMILIES.iter().map(|all| (all.plural.to_owned(), json!(family(all)))).collect();
    listed.insert("access".to_owned(), PROFILES.iter().map(profile).collect());
    listed.insert("scenarios".to_owned(), json!(scenarios));
    Value::Object(listed)
}

fn profile(profile: &Profile) -> Value {
    let settings =
        |settings: Settings| -> Value { settings.iter().map(|&(key, text)| (key.to_owned(), json!(text))).collect() };
    json!({
        "name": profile.name,
        "summary": profile.summary,
        "sources": profile.sources,
        "down": settings(profile.down),
        "up": settings(profile.up),
    })
}

fn family(family: &'static Family) -> Vec<Value> {
    family.members.iter().map(|member| entry(family, member)).collect()
}

fn entry(family: &'static Family, descriptor: &Descriptor) -> Value {
    let class_parameters = descriptor.class().map_or(&[][..], |class| class.parameters);
    json!({
        "name": descriptor.name,
        "summary": descriptor.summary,
        "sources": descriptor.sources,
        "parameters": descriptor.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "presets": descriptor.presets.iter().map(preset).collect::<Vec<_>>(),
        "holds": family.held(descriptor).map(|key| key.name),
        "class_parameters": class_parameters.iter().map(parameter).collect::<Vec<_>>(),
    })
}

fn parameter(parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name,
        "kind": value::kind_name(&parameter.kind),
        "unit": value::units(&parameter.kind),
        "default": write::json_value(&write::value(parameter.default)),
        "allowed": value::allowed(&parameter.kind),
        "description": parameter.description,
    })
}

fn preset(preset: &Preset) -> Value {
    let values: Value = preset.values.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect();
    json!({ "name": preset.name, "summary": preset.summary, "values": values })
}
