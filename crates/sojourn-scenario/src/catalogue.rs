//! Everything that can be named in a scenario, as data for listings and documentation.

use crate::access::{Line, PROFILES, Profile, Settings};
use crate::families::FAMILIES;
use crate::form::{Family, Section};
use crate::traffic::TRAFFIC;
use crate::{outside, ready, value, write};
use serde_json::{Map, Value, json};
use sojourn_core::registry::{Auto, Descriptor, Form, Linux, Origin, Parameter, Preset, Says, Setting, Unit};

/// Everything that has a name: `{"queues": [ENTRY], "controls": [ENTRY], ..., "access": [PROFILE], "lines": [{"name",
/// "technology", "summary", "weight"}], "traffic": [{"name",
/// "summary", "origin"}], "scenarios": [{"name", "summary", "text"}]}`, with a list for each family of algorithms, `PROFILE = {name, summary,
/// sources, down, up, station}` with keys of a link and their values as a file has them, and the only station or null, and
/// `ENTRY = {name, summary, sources, parameters: [PARAMETER], presets: [{name, summary, values}], holds,
/// class_parameters: [PARAMETER], low_priority, linux, origin}` and `PARAMETER = {name, kind, unit, default, allowed, description}`. `holds` is the
/// key under which it holds others, `child` or `class`, or null. `linux` is `{"absent": REASON}` or `{"is": "kernel" or
/// "program", "forms": [{name, module, words, settings, fixed, remarks}]}`: `settings` say how a parameter is written, as
/// `{parameter, word, unit, auto}`, `{parameter, yes, no}` or `{parameter, words: {CHOICE: WORD}}`; `fixed` holds the values of
/// all others. `origin` is null for what is built in, else `{from, content}` of the plug-in.
pub fn catalogue() -> Value {
    let scenarios: Vec<_> = ready()
        .iter()
        .map(|ready| json!({ "name": ready.name, "summary": ready.summary, "text": ready.text }))
        .collect();
    let mut listed: Map<_, _> = FAMILIES.iter().map(|all| (all.plural.to_owned(), json!(family(all)))).collect();
    listed.insert("access".to_owned(), PROFILES.iter().map(profile).collect());
    listed.insert("lines".to_owned(), Line::all().iter().map(line).collect());
    listed.insert("traffic".to_owned(), TRAFFIC.all().map(traffic).collect());
    listed.insert("scenarios".to_owned(), json!(scenarios));
    Value::Object(listed)
}

/// A kind of traffic. What can be set of it stands in the schema.
fn traffic(kind: &'static Section) -> Value {
    let origin = outside::descriptor(kind).map_or(Value::Null, origin);
    json!({ "name": kind.name, "summary": kind.description, "origin": origin })
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
        "station": profile.station,
    })
}

fn line(line: &Line) -> Value {
    json!({ "name": line.name, "technology": line.technology(), "summary": line.summary(), "weight": line.weight })
}

fn family(family: &'static Family) -> Vec<Value> {
    family.members().map(|member| entry(family, member)).collect()
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
        "low_priority": descriptor.low_priority,
        "linux": linux(descriptor),
        "origin": origin(descriptor),
    })
}

/// Null for what is built in.
fn origin(descriptor: &Descriptor) -> Value {
    match descriptor.origin {
        Origin::BuiltIn => Value::Null,
        Origin::Plugin { from, content } => json!({ "from": from, "content": content }),
    }
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

fn linux(descriptor: &Descriptor) -> Value {
    let is = match descriptor.linux {
        Linux::Absent(reason) => return json!({ "absent": reason }),
        Linux::Kernel(_) => "kernel",
        Linux::Program(_) => "program",
    };
    let forms: Vec<_> = descriptor.linux.forms().iter().map(|form| self::form(descriptor, form)).collect();
    json!({ "is": is, "forms": forms })
}

fn form(descriptor: &Descriptor, form: &Form) -> Value {
    let fixed: Value = form
        .fixed(descriptor)
        .into_iter()
        .map(|(name, fixed)| (name.to_owned(), write::json_value(&write::value(fixed))))
        .collect();
    json!({
        "name": form.name,
        "module": form.module,
        "words": form.words,
        "settings": form.settings.iter().filter_map(setting).collect::<Vec<_>>(),
        "fixed": fixed,
        "remarks": form.remarks,
    })
}

/// How a parameter is written; nothing for one that is not.
fn setting(setting: &Setting) -> Option<Value> {
    let name = setting.parameter;
    match setting.says {
        Says::Option(word, unit, auto) => {
            Some(json!({ "parameter": name, "word": word, "unit": unit_name(unit), "auto": auto_name(auto) }))
        }
        Says::Flag(yes, no) => Some(json!({ "parameter": name, "yes": yes, "no": no })),
        Says::Words(words) => {
            let words: Value = words.iter().map(|&(choice, word)| (choice.to_owned(), json!(word))).collect();
            Some(json!({ "parameter": name, "words": words }))
        }
        Says::Is(_) => None,
    }
}

fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Packets => "packets",
        Unit::FullPackets => "full packets",
        Unit::Bytes => "bytes",
        Unit::BytesOfFullPackets => "bytes of full packets",
        Unit::BytesOfMeanPackets => "bytes of mean packets",
        Unit::Micros => "us",
        Unit::Millis => "ms",
        Unit::Seconds => "s",
        Unit::Number => "number",
        Unit::Percent => "percent",
        Unit::Sixteenths => "sixteenths",
        Unit::Rate => "rate",
    }
}

/// What an automatic value becomes: null where it cannot be said, the empty text where it is left out.
fn auto_name(auto: Auto) -> Option<&'static str> {
    match auto {
        Auto::No => None,
        Auto::Omit => Some(""),
        Auto::LinkRate => Some("link rate"),
        Auto::FullPacket => Some("full packet"),
        Auto::Word(word) => Some(word),
    }
}
