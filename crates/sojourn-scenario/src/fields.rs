//! A table of the file after checking: a typed value, or nothing, for each key of its section.

use crate::addresses::Addresses;
use crate::form::Section;
use crate::node::Origin;
use crate::recording::Trace;
use sojourn_core::registry::{Class, FlowGroup, Members, Params, Value};
use sojourn_core::{Rate, Span};
use sojourn_queue::Dscp;
use std::sync::Arc;

/// The values of one table, in the order of its section's keys.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    pub section: &'static Section,
    /// Where the table stands.
    pub origin: Origin,
    slots: Vec<Option<Slot>>,
}

/// A value and where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub item: Item,
    pub origin: Origin,
    /// Whether somebody said it: otherwise it is what the absence of the key means.
    pub given: bool,
}

/// A checked value.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Value(Value),
    Bytes(u64),
    /// Packets per second.
    PacketRate(f64),
    /// Payload of so many full packets.
    FullPackets(u64),
    /// Nanoseconds.
    Offset(i64),
    Text(String),
    Dscp(Dscp),
    Addresses(Addresses),
    Group(FlowGroup),
    List(Vec<Item>),
    Trace(Arc<Trace>),
    Values(Vec<Value>),
    Chosen(Chosen),
    Table(Fields),
    Tables(Vec<Fields>),
}

/// An algorithm with its parameters, and where each of them was given.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub params: Params,
    given: Vec<(&'static str, Origin)>,
    /// The one inside, where it holds one.
    pub child: Option<Box<Chosen>>,
    /// Its classes.
    pub classes: Vec<ChosenClass>,
}

/// A class of an algorithm: what it has like every class, and what can be set for this one.
#[derive(Clone, Debug)]
pub(crate) struct ChosenClass {
    pub fields: Fields,
    pub own: Chosen,
}

impl Chosen {
    pub fn new(params: Params) -> Chosen {
        Chosen { params, given: Vec::new(), child: None, classes: Vec::new() }
    }

    /// Puts `child` inside.
    pub fn hold(&mut self, child: Chosen, origin: Origin) {
        self.params.child = Some(Box::new(child.params.clone()));
        self.child = Some(Box::new(child));
        self.given.push(("child", origin));
    }

    /// Adds a class.
    pub fn add(&mut self, class: ChosenClass) {
        self.params.classes.push(class.class());
        self.classes.push(class);
    }

    /// Remembers where its classes were given.
    pub fn classes_at(&mut self, origin: Origin) {
        self.given.push(("class", origin));
    }

    pub fn set(&mut self, name: &'static str, value: Value, origin: Origin) {
        self.params.set(name, value);
        self.given.push((name, origin));
    }

    /// Where the parameter `name` was given, if it was.
    pub fn origin(&self, name: &str) -> Option<Origin> {
        self.given.iter().find(|(given, _)| *given == name).map(|&(_, origin)| origin)
    }
}

impl ChosenClass {
    /// The class that these values describe.
    fn class(&self) -> Class {
        let list = |key| match self.fields.item(key) {
            Some(Item::List(items)) => items.as_slice(),
            _ => &[],
        };
        let dscp = |item: &Item| match item {
            Item::Dscp(dscp) => dscp.number(),
            other => panic!("{other:?} is no code point"),
        };
        let precedence = |item: &Item| match item {
            Item::Value(Value::Integer(integer)) => *integer as u8,
            other => panic!("{other:?} is no precedence"),
        };
        let group = |item: &Item| match item {
            Item::Group(group) => group.clone(),
            other => panic!("{other:?} is no group"),
        };
        Class {
            name: self.fields.text("name").expect("a class has a name").to_owned(),
            parent: self.fields.text("parent").map(str::to_owned),
            members: Members {
                dscp: list("dscp").iter().map(dscp).collect(),
                precedence: list("precedence").iter().map(precedence).collect(),
                groups: list("groups").iter().map(group).collect(),
            },
            params: self.own.params.clone(),
            queue: self.fields.chosen("queue").expect("a class has a queue").params.clone(),
        }
    }
}

impl Fields {
    pub fn new(section: &'static Section, origin: Origin) -> Fields {
        Fields { section, origin, slots: vec![None; section.keys().count()] }
    }

    /// Gives `key` a value.
    pub fn set(&mut self, key: &str, item: Item, origin: Origin) {
        let index = self.index(key);
        self.slots[index] = Some(Slot { item, origin, given: true });
    }

    /// Gives `key` what it means where nobody says it.
    pub fn set_default(&mut self, key: &str, item: Item, origin: Origin) {
        let index = self.index(key);
        self.slots[index] = Some(Slot { item, origin, given: false });
    }

    /// Leaves `key` out.
    pub fn remove(&mut self, key: &str) {
        let index = self.index(key);
        self.slots[index] = None;
    }

    /// Gives `key` a value that no file holds.
    pub fn put(&mut self, key: &str, item: Item) {
        self.set(key, item, Origin::Unknown);
    }

    /// The same values, with payloads in full packets as bytes where a full packet carries `payload_bytes`.
    pub fn in_bytes(&self, payload_bytes: u64) -> Fields {
        let mut fields = self.clone();
        for slot in fields.slots.iter_mut().flatten() {
            match &slot.item {
                Item::FullPackets(packets) => slot.item = Item::Bytes(packets.saturating_mul(payload_bytes)),
                Item::Table(inner) => slot.item = Item::Table(inner.in_bytes(payload_bytes)),
                _ => {}
            }
        }
        fields
    }

    /// The value of `key`, where there is a valid one.
    pub fn slot(&self, key: &str) -> Option<&Slot> {
        self.slots[self.index(key)].as_ref()
    }

    /// Where `key` was given; else where the table stands.
    pub fn origin_of(&self, key: &str) -> Origin {
        self.slot(key).map_or(self.origin, |slot| slot.origin)
    }

    /// Keys and values, in the order of the section.
    pub fn iter(&self) -> impl Iterator<Item = (&'static crate::form::Key, Option<&Slot>)> {
        self.section.keys().zip(self.slots.iter().map(Option::as_ref))
    }

    fn index(&self, key: &str) -> usize {
        let position = self.section.keys().position(|known| known.name == key);
        position.unwrap_or_else(|| panic!("the section {:?} has no key {key}", self.section.name))
    }

    fn value(&self, key: &str) -> Option<Value> {
        match self.slot(key)?.item {
            Item::Value(value) => Some(value),
            _ => panic!("{key} holds no single value"),
        }
    }

    pub fn span(&self, key: &str) -> Option<Span> {
        self.value(key).map(as_span)
    }

    pub fn rate(&self, key: &str) -> Option<Rate> {
        self.value(key).map(as_rate)
    }

    pub fn integer(&self, key: &str) -> Option<u64> {
        match self.value(key)? {
            Value::Integer(integer) => Some(integer),
            other => panic!("{key} holds {other:?}, not a whole number"),
        }
    }

    pub fn number(&self, key: &str) -> Option<f64> {
        match self.value(key)? {
            Value::Number(number) => Some(number),
            other => panic!("{key} holds {other:?}, not a number"),
        }
    }

    pub fn choice(&self, key: &str) -> Option<&'static str> {
        match self.value(key)? {
            Value::Choice(word) => Some(word),
            other => panic!("{key} holds {other:?}, not a word"),
        }
    }

    pub fn bytes(&self, key: &str) -> Option<u64> {
        match self.slot(key)?.item {
            Item::Bytes(bytes) => Some(bytes),
            _ => panic!("{key} holds no size"),
        }
    }

    pub fn packet_rate(&self, key: &str) -> Option<f64> {
        match self.slot(key)?.item {
            Item::PacketRate(rate) => Some(rate),
            _ => panic!("{key} holds no rate of packets"),
        }
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        match &self.slot(key)?.item {
            Item::Text(text) => Some(text),
            _ => panic!("{key} holds no text"),
        }
    }

    pub fn chosen(&self, key: &str) -> Option<&Chosen> {
        match &self.slot(key)?.item {
            Item::Chosen(chosen) => Some(chosen),
            // One of somebody else's.
            Item::Text(_) => None,
            _ => panic!("{key} holds no algorithm"),
        }
    }

    pub fn table(&self, key: &str) -> Option<&Fields> {
        match &self.slot(key)?.item {
            Item::Table(fields) => Some(fields),
            _ => panic!("{key} holds no table"),
        }
    }

    /// The tables of `key`; none where it is absent.
    pub fn tables(&self, key: &str) -> &[Fields] {
        match self.slot(key).map(|slot| &slot.item) {
            Some(Item::Tables(tables)) => tables,
            None => &[],
            Some(_) => panic!("{key} holds no list of tables"),
        }
    }

    pub fn item(&self, key: &str) -> Option<&Item> {
        self.slot(key).map(|slot| &slot.item)
    }
}

/// The time that `value` holds; its key's form says that it does.
pub(crate) fn as_span(value: Value) -> Span {
    match value {
        Value::Span(span) => span,
        other => panic!("{other:?} is not a time"),
    }
}

/// The rate that `value` holds; its key's form says that it does.
pub(crate) fn as_rate(value: Value) -> Rate {
    match value {
        Value::Rate(rate) => rate,
        other => panic!("{other:?} is not a rate"),
    }
}
