//! Kinds of traffic that come from outside. Each is a section of the format like a built-in one, made of what its
//! descriptor says, so that checking, defaults, the schema and the canonical text need to know no more of it.

use crate::fields::{Fields, Item, Slot};
use crate::form::{Form, Key, Presence, Section};
use crate::node::Origin;
use sojourn_core::plugin::{Added, NameTaken};
use sojourn_core::registry::{Descriptor, Parameter, Params, Value};

/// A kind from outside and its parameters.
pub type CustomTraffic = Params;

/// The newest kind of each name.
pub(crate) const SECTIONS: Option<fn() -> Vec<&'static Section>> = Some(sections);

static ADDED: Added<Section> = Added::new(&[]);

/// Adds the kind that `descriptor` describes.
pub(crate) fn add(descriptor: &'static Descriptor) -> Result<(), NameTaken> {
    ADDED.add(descriptor, Box::new(section(descriptor)))
}

/// Takes the kind of traffic that was added under this name off the list. Whether there was one.
/// `sojourn_traffic::custom::remove` is what takes away what it does, too.
pub fn remove_traffic(name: &str) -> bool {
    ADDED.remove(name)
}

fn sections() -> Vec<&'static Section> {
    ADDED.descriptors().into_iter().filter_map(|descriptor| ADDED.maker(descriptor)).collect()
}

/// What describes the kind with this section, where it is one of these.
pub(crate) fn descriptor(section: &Section) -> Option<&'static Descriptor> {
    ADDED.descriptor_of(section)
}

fn section(descriptor: &'static Descriptor) -> Section {
    let key = |parameter: &'static Parameter| {
        let default: &'static str = Box::leak(parameter.default.to_string().into_boxed_str());
        Key {
            name: parameter.name,
            form: Form::Value(parameter.kind),
            presence: Presence::Default(default),
            description: parameter.description,
            example: default,
        }
    };
    let own: Vec<Key> = descriptor.parameters.iter().map(key).collect();
    Section { name: descriptor.name, description: descriptor.summary, own: own.leak(), base: None, one_of: &[] }
}

/// The kind and the values of a checked table, where it is of one of these.
pub(crate) fn custom(fields: &Fields) -> Option<CustomTraffic> {
    let mut params = Params::new(descriptor(fields.section)?, None);
    for (key, slot) in fields.iter() {
        if let Some(Slot { item: Item::Value(value), .. }) = slot {
            params.set(key.name, *value);
        }
    }
    Some(params)
}

/// The table that a file would have for `params`.
pub(crate) fn fields(params: &CustomTraffic) -> Fields {
    let section = ADDED.maker(params.descriptor()).expect("its kind was added");
    let mut fields = Fields::new(section, Origin::Unknown);
    for (parameter, value) in params.iter() {
        fields.put(parameter.name, Item::Value(value));
    }
    fields
}

/// How many connections a flow may have at once: as many as a parameter `connections` says.
pub(crate) fn connections(params: &CustomTraffic) -> u32 {
    let said = params.iter().find_map(|(parameter, value)| match value {
        Value::Integer(connections) if parameter.name == "connections" => Some(connections),
        _ => None,
    });
    said.map_or(1, |connections| connections.clamp(1, MAX_CONNECTIONS) as u32)
}

/// As many as built-in kinds may have.
const MAX_CONNECTIONS: u64 = 10_000;
