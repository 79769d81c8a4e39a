//! A scenario's text as a tree of values that know where they come from, whatever it was written in.

use crate::diagnostic::{Fault, quote};
pub(crate) use crate::origin::Origin;

/// A value.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub data: Data,
    pub origin: Origin,
}

/// What a value holds.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    Text(String),
    Integer(i128),
    Float(f64),
    Boolean(bool),
    List(Vec<Node>),
    Table(Table),
    /// Something no scenario needs, as it was written: a date, an enormous number.
    Other(String),
}

/// Keys and values in the order of the file; no key twice.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub entries: Vec<Entry>,
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    /// Where the key stands.
    pub origin: Origin,
    pub value: Node,
}

impl Node {
    pub fn new(data: Data, origin: Origin) -> Node {
        Node { data, origin }
    }

    pub fn text(text: &str, origin: Origin) -> Node {
        Node::new(Data::Text(text.to_owned()), origin)
    }

    pub fn as_text(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_table(&self) -> Option<&Table> {
        match &self.data {
            Data::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The value as a message names it.
    pub fn shown(&self) -> String {
        match &self.data {
            Data::Text(text) => quote(text),
            Data::Integer(integer) => integer.to_string(),
            Data::Float(float) => float.to_string(),
            Data::Boolean(boolean) => boolean.to_string(),
            Data::List(_) => "a list".to_owned(),
            Data::Table(_) => "a table".to_owned(),
            Data::Other(text) => text.clone(),
        }
    }

    /// The fault of being something else than was expected.
    pub fn unexpected(&self) -> Fault {
        Fault::new(self.shown())
    }
}

impl Table {
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.value)
    }

    pub fn remove(&mut self, key: &str) {
        self.entries.retain(|entry| entry.key != key);
    }

    /// Sets `key`, in its place where it is there already.
    pub fn put(&mut self, key: &str, value: Node) {
        match self.entries.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => entry.value = value,
            None => self.entries.push(Entry { key: key.to_owned(), origin: value.origin, value }),
        }
    }

    /// The value of `key`, made by `missing` where there is none.
    pub fn get_or_insert(&mut self, key: &str, origin: Origin, missing: impl FnOnce() -> Node) -> &mut Node {
        let index = self.entries.iter().position(|entry| entry.key == key).unwrap_or_else(|| {
            self.entries.push(Entry { key: key.to_owned(), origin, value: missing() });
            self.entries.len() - 1
        });
        &mut self.entries[index].value
    }
}
