//! The JSON Schema of the format, for editors and for other programs that write scenarios.

use crate::form::{Family, Form, Key, Part, Presence, Section, Select};
use crate::format::{FILLED, SCENARIO};
use crate::node::{Data, Node, Origin};
use crate::quantity::{COUNT, Dimension, PACE, RATE, SIZE, TIME};
use crate::{source, value, write};
use serde_json::{Map, Value, json};
use sojourn_core::registry::{Descriptor, Kind, Parameter};

/// The JSON Schema (draft 2020-12) of the scenario file. Rules between keys that it cannot express are
/// checked by [`Scenario::parse`](crate::Scenario::parse) only.
pub fn schema() -> Value {
    let mut definitions = Map::new();
    let mut schema = section(&SCENARIO, &mut definitions);
    let top = schema.as_object_mut().expect("a section is an object");
    top.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    top.insert("title".to_owned(), json!("Sojourn scenario"));
    top.insert("description".to_owned(), json!("A bottleneck, its queue, and the groups of flows that cross it."));
    top.insert("$defs".to_owned(), Value::Object(definitions));
    fill_by_profile(&mut schema);
    schema
}

/// A profile gives the links what they need, so they need it of themselves only without one.
fn fill_by_profile(schema: &mut Value) {
    let mut needs = Map::new();
    for section in FILLED {
        let link = schema["properties"][section.name].as_object_mut().expect("a section is an object");
        let own: Map<_, _> =
            ["oneOf", "dependentRequired"].into_iter().filter_map(|key| link.remove_entry(key)).collect();
        needs.insert(section.name.to_owned(), Value::Object(own));
        link.insert("not".to_owned(), json!({ "required": section.exclusive() }));
    }
    schema["if"] = json!({ "not": { "required": ["access"] } });
    schema["then"] = json!({ "properties": needs });
}

/// Definitions that are used in several places, by name.
type Definitions = Map<String, Value>;

fn section(section: &'static Section, definitions: &mut Definitions) -> Value {
    let is_dealt = |key: &Key| section.name == "hop" && crate::repeated::is_dealt_out(key);
    let property = |key: &'static Key| {
        let one = property(key, definitions);
        (key.name.to_owned(), if is_dealt(key) { one_or_list(&one) } else { one })
    };
    let properties: Map<_, _> = section.keys().map(property).collect();
    let required: Vec<_> =
        section.keys().filter(|key| matches!(key.presence, Presence::Required)).map(|key| key.name).collect();
    let mut schema = json!({
        "type": "object",
        "description": section.description,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    let mut exclusive: Vec<_> = section.exclusive().iter().map(|key| json!({ "required": [key] })).collect();
    if section.key("medium").is_some() {
        let names: Vec<_> = sojourn_media::Setup::DESCRIPTORS.iter().map(|shared| shared.name).collect();
        let shared = has_kind(&names);
        exclusive.push(json!({ "properties": { "medium": shared }, "required": ["medium"] }));
    }
    if !exclusive.is_empty() {
        schema["oneOf"] = json!(exclusive);
    }
    let beside: Map<_, _> = section
        .keys()
        .filter_map(|key| match key.presence {
            Presence::OptionalBeside { key: other, .. } => Some((key.name.to_owned(), json!([other]))),
            _ => None,
        })
        .collect();
    if !beside.is_empty() {
        schema["dependentRequired"] = Value::Object(beside);
    }
    let without = section.keys().filter_map(|key| match key.presence {
        Presence::RequiredWithout(other) => {
            Some(json!({ "anyOf": [{ "required": [key.name] }, { "required": [other] }] }))
        }
        _ => None,
    });
    let foreign = section.keys().filter_map(|key| {
        let Form::Algorithm(family) = key.form else { return None };
        let own = json!({ "anyOf": [{ "enum": family.words() }, { "type": "object" }] });
        Some(json!({
            "if": { "required": [family.foreign_beside?] },
            "then": { "properties": { key.name: { "type": "string" } } },
            "else": { "properties": { key.name: own } },
        }))
    });
    let conditions: Vec<_> = section.keys().filter_map(condition).chain(without).chain(foreign).collect();
    if !conditions.is_empty() {
        schema["allOf"] = json!(conditions);
    }
    schema
}

/// A value, or a list of them that is dealt out to many alike.
fn one_or_list(one: &Value) -> Value {
    let mut both = json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] });
    for key in ["description", "examples", "default"] {
        if let Some(value) = one.get(key) {
            both[key] = value.clone();
        }
    }
    both
}

/// Any of the keys of a part; an algorithm's table may name parameters alone.
fn part(part: &'static Part, definitions: &mut Definitions) -> Value {
    let property = |key: &'static Key| {
        let mut schema = property(key, definitions);
        schema.as_object_mut().expect("a property is an object").remove("default");
        if let (Form::Algorithm(_), Some(Value::Array(forms))) = (&key.form, schema.get_mut("anyOf")) {
            forms.push(json!({ "type": "object", "not": { "required": ["kind"] } }));
        }
        (key.name.to_owned(), schema)
    };
    let properties: Map<_, _> = part.all_keys().map(property).collect();
    let mut table = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !part.of.exclusive().is_empty() {
        table["not"] = json!({ "required": part.of.exclusive() });
    }
    if !part.listed {
        return table;
    }
    table["required"] = json!(["name"]);
    json!({ "type": "array", "items": table, "minItems": 1 })
}

/// That a key is required unless another has a certain kind, or it may name one of somebody else's.
fn condition(key: &Key) -> Option<Value> {
    let Presence::RequiredUnless { key: other, kinds, .. } = key.presence else { return None };
    let required = json!({ "required": [key.name] });
    let required = match key.form.foreign_beside() {
        Some(stack) => json!({ "anyOf": [required, { "required": [stack] }] }),
        None => required,
    };
    Some(json!({
        "if": { "properties": { other: has_kind(kinds) }, "required": [other] },
        "then": { "properties": { key.name: false } },
        "else": required,
    }))
}

/// A word, or a table with it as its kind.
fn has_kind(kinds: &[&str]) -> Value {
    json!({ "anyOf": [
        { "enum": kinds },
        { "type": "object", "properties": { "kind": { "enum": kinds } }, "required": ["kind"] },
    ] })
}

fn property(key: &'static Key, definitions: &mut Definitions) -> Value {
    let mut schema = form(&key.form, definitions);
    schema["description"] = json!(key.description);
    schema["examples"] = json!([literal(key.example)]);
    if let Presence::Default(text) = key.presence {
        schema["default"] = literal(text);
    }
    schema
}

/// The JSON form of a default or an example.
pub(crate) fn literal(text: &str) -> Value {
    json_of(&source::value_or_text(text, Origin::Unknown))
}

fn json_of(node: &Node) -> Value {
    match &node.data {
        Data::Text(text) | Data::Other(text) => json!(text),
        Data::Integer(integer) => json!(*integer as i64),
        Data::Float(float) => json!(float),
        Data::Boolean(boolean) => json!(boolean),
        Data::List(list) => list.iter().map(json_of).collect(),
        Data::Table(table) => table.entries.iter().map(|entry| (entry.key.clone(), json_of(&entry.value))).collect(),
    }
}

fn form(form: &'static Form, definitions: &mut Definitions) -> Value {
    match form {
        Form::Value(one) => kind(one),
        Form::Bytes { .. } => quantity(&[&SIZE], ""),
        Form::PacketRate { .. } => quantity(&[&PACE], ""),
        Form::Payload { .. } => quantity(&[&SIZE, &COUNT], ""),
        Form::Offset(_) => quantity(&[&TIME], "-"),
        Form::Text => json!({ "type": "string", "minLength": 1, "maxLength": 200 }),
        Form::Name { reserved } => {
            json!({ "type": "string", "pattern": value::NAME_PATTERN, "not": { "enum": reserved } })
        }
        Form::Trace => json!({ "type": "string", "minLength": 1 }),
        Form::Dscp => {
            let names: Vec<_> = sojourn_queue::Dscp::NAMES.iter().map(|&(name, _)| name).collect();
            json!({ "anyOf": [{ "enum": names }, { "type": "integer", "minimum": 0, "maximum": 63 }] })
        }
        Form::Addresses => json!({ "type": "string", "pattern": "^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$" }),
        Form::Group => json!({ "type": "string" }),
        Form::OneOrMore(inner) => {
            let one = self::form(inner, definitions);
            let list = json!({ "type": "array", "items": one.clone(), "minItems": 1 });
            json!({ "anyOf": [one, list] })
        }
        Form::Range(one) => json!({ "type": "array", "items": kind(one), "minItems": 2, "maxItems": 2 }),
        Form::Ladder { most } => {
            json!({ "type": "array", "items": kind(&Kind::Rate), "minItems": 1, "maxItems": most })
        }
        Form::PerFlow { kind: one, table } => {
            let list = json!({ "type": "array", "items": kind(one), "minItems": 1 });
            let table = table.map(|table| section(table, definitions));
            let forms: Vec<_> = [kind(one), list].into_iter().chain(table).collect();
            json!({ "anyOf": forms })
        }
        Form::Select(choice) => select(choice, definitions),
        Form::Algorithm(family) => {
            let mut schema = algorithm(family, definitions);
            if let (Some(_), Some(Value::Array(forms))) = (family.foreign_beside, schema.get_mut("anyOf")) {
                forms.push(self::form(&Form::Text, definitions));
            }
            schema
        }
        Form::Table(inner) => section(inner, definitions),
        Form::Tables(inner) => json!({ "type": "array", "items": section(inner, definitions), "minItems": 1 }),
        Form::Part(inner) => part(inner, definitions),
    }
}

fn select(choice: &'static Select, definitions: &mut Definitions) -> Value {
    let mut forms = Vec::new();
    if let Some((name, key)) = choice.short {
        let key = choice.kind(name).and_then(|kind| kind.key(key)).expect("a short form names a key");
        forms.push(form(&key.form, definitions));
    }
    let complete = |kind: &&'static Section| !kind.keys().any(|key| matches!(key.presence, Presence::Required));
    let words: Vec<_> = choice.all().filter(complete).map(|kind| kind.name).collect();
    if !words.is_empty() {
        forms.push(json!({ "enum": words }));
    }
    for kind in choice.all() {
        let mut table = section(kind, definitions);
        table["properties"]["kind"] = json!({ "const": kind.name });
        let required = table["required"].as_array_mut().expect("a section lists what it requires");
        required.insert(0, json!("kind"));
        forms.push(table);
    }
    json!({ "anyOf": forms })
}

fn algorithm(family: &'static Family, definitions: &mut Definitions) -> Value {
    let mut forms = vec![json!({ "enum": family.words() })];
    for member in family.members() {
        let name = format!("{}-{}", family.noun.replace(' ', "-"), member.name);
        forms.push(json!({ "$ref": format!("#/$defs/{name}") }));
        if !definitions.contains_key(&name) {
            // It may lead to itself.
            definitions.insert(name.clone(), Value::Null);
            let definition = descriptor(family, member, definitions);
            definitions.insert(name, definition);
        }
    }
    json!({ "anyOf": forms })
}

fn descriptor(family: &'static Family, descriptor: &'static Descriptor, definitions: &mut Definitions) -> Value {
    let mut properties: Map<_, _> = parameters(descriptor);
    if let Some(key) = family.held(descriptor) {
        let mut held = property(key, definitions);
        if let Some(class) = descriptor.class() {
            let of_class = held["items"]["properties"].as_object_mut().expect("classes are a list of tables");
            of_class.extend(parameters(class));
        }
        properties.insert(key.name.to_owned(), held);
    }
    let presets: Vec<_> = descriptor
        .presets
        .iter()
        .map(|preset| json!({ "const": preset.name, "description": preset.summary }))
        .collect();
    if !presets.is_empty() {
        properties.insert("preset".to_owned(), json!({ "oneOf": presets }));
    }
    if family.choice {
        properties.insert("kind".to_owned(), json!({ "const": descriptor.name }));
    }
    let needs_kind = family.choice && family.default != Some(descriptor.name);
    let held = family.held(descriptor).filter(|key| matches!(key.presence, Presence::Required));
    let required: Vec<_> = needs_kind.then_some("kind").into_iter().chain(held.map(|key| key.name)).collect();
    json!({
        "type": "object",
        "title": descriptor.name,
        "description": descriptor.summary,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn parameters(descriptor: &'static Descriptor) -> Map<String, Value> {
    descriptor.parameters.iter().map(|one| (one.name.to_owned(), parameter(one))).collect()
}

fn parameter(parameter: &'static Parameter) -> Value {
    let mut schema = kind(&parameter.kind);
    schema["description"] = json!(parameter.description);
    schema["default"] = write::json_value(&write::value(parameter.default));
    schema
}

fn kind(one: &Kind) -> Value {
    match one {
        Kind::Span { .. } => quantity(&[&TIME], ""),
        Kind::Rate => quantity(&[&RATE], ""),
        Kind::Amount { .. } => quantity(&[&COUNT, &SIZE, &TIME], ""),
        Kind::Number { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
        Kind::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Choice(words) => {
            let words: Vec<_> = words.iter().map(|word| write::json_value(&write::word(word))).collect();
            json!({ "enum": words })
        }
        Kind::OrAuto(inner) => json!({ "anyOf": [kind(inner), { "const": "auto" }] }),
    }
}

/// A number with a unit of one of `dimensions`, with a sign among `signs` or none.
fn quantity(dimensions: &[&Dimension], signs: &str) -> Value {
    let units: Vec<_> = dimensions.iter().flat_map(|dimension| dimension.units).map(|&(unit, _)| unit).collect();
    let number = r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?";
    let pattern = format!(r"^\s*[+{signs}]?{number}\s*({})\s*$", units.join("|"));
    json!({ "type": "string", "pattern": pattern })
}
