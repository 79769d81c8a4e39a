//! The one declaration of a table of the file: a typed struct, from which keys, forms, defaults, descriptions, the reader and
//! the writer are derived.
//!
//! A field's documentation is the description that users read; its name is the key, or what follows `as`. What a key may hold
//! is a [`Holds`] of the field's type, and [`Declared`] says what its absence means:
//!
//! ```ignore
//! table! {
//!     /// messages of one size at a constant interval
//!     pub struct Messages = MESSAGES, "messages" => {
//!         /// payload bytes of a message
//!         size_bytes as "size": u64 = bytes(1..=1_000_000_000).required("100 B"),
//!         /// from one message to the next
//!         every: Span = span(Span::from_micros(1)..=LONGEST).or("1 s", "100 ms"),
//!     }
//! }
//! ```

#[cfg(test)]
mod tests;

use crate::addresses::Addresses;
use crate::fields::{Chosen, Fields, Item};
use crate::form::{Family, Form, Key, Presence, Section, Select, time};
use crate::node::Origin;
use crate::recording::Trace;
use sojourn_core::registry::declare::{FromValue, Unsigned};
use sojourn_core::registry::{Choice, Kind, Params, Value};
use sojourn_core::{Rate, Span};
use sojourn_queue::Dscp;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A struct that is a table of the file.
pub(crate) trait Table: Sized {
    /// Its keys.
    fn section() -> &'static Section;
    /// What `fields` say; `None` where a value is missing or was refused.
    fn read(fields: &Fields) -> Option<Self>;
    /// Gives `fields` its values.
    fn write(&self, fields: &mut Fields);

    /// The values that a file would have for it.
    fn fields(&self) -> Fields {
        let mut fields = Fields::new(Self::section(), Origin::Unknown);
        self.write(&mut fields);
        fields
    }
}

/// What a field of a table is read from and written as.
pub(crate) trait Held: Sized {
    /// The field that `item` holds; absence is `None`, as is a value that is no such field.
    fn from_item(item: Option<&Item>) -> Option<Self>;
    /// As a value of `form`; `None` where the key is left out.
    fn to_item(&self, form: &Form) -> Option<Item>;
}

/// What a key may hold that is read as a `T`.
#[derive(Debug)]
pub(crate) struct Holds<T> {
    form: Form,
    read_as: PhantomData<fn() -> T>,
}

/// The same with what its absence means, and an example.
#[derive(Debug)]
pub(crate) struct Declared<T> {
    pub form: Form,
    pub presence: Presence,
    pub example: &'static str,
    pub read_as: PhantomData<fn() -> T>,
}

impl<T> Holds<T> {
    const fn new(form: Form) -> Holds<T> {
        Holds { form, read_as: PhantomData }
    }

    const fn declared<U>(self, presence: Presence, example: &'static str) -> Declared<U> {
        Declared { form: self.form, presence, example, read_as: PhantomData }
    }

    /// A key that every such table has.
    pub const fn required(self, example: &'static str) -> Declared<T> {
        self.declared(Presence::Required, example)
    }

    /// A key with a default, written as an example is.
    pub const fn or(self, default: &'static str, example: &'static str) -> Declared<T> {
        self.declared(Presence::Default(default), example)
    }

    /// A key that may be left out, and what that means.
    pub const fn unless(self, meaning: &'static str, example: &'static str) -> Declared<Option<T>> {
        self.declared(Presence::Optional(meaning), example)
    }

    /// A key that may be left out, and must be where `key` is not given; what its absence means, and why it goes with `key`.
    pub const fn beside(
        self,
        key: &'static str,
        meaning: &'static str,
        reason: &'static str,
        example: &'static str,
    ) -> Declared<Option<T>> {
        self.declared(Presence::OptionalBeside { key, meaning, reason }, example)
    }

    /// A key that must be there where the key beside it is not.
    pub const fn required_without(self, other: &'static str, example: &'static str) -> Declared<T> {
        self.declared(Presence::RequiredWithout(other), example)
    }

    /// A key that must be there unless `key` has one of `kinds`, and then must not; why.
    pub const fn required_unless(
        self,
        key: &'static str,
        kinds: &'static [&'static str],
        reason: &'static str,
        example: &'static str,
    ) -> Declared<Option<T>> {
        self.declared(Presence::RequiredUnless { key, kinds, reason }, example)
    }

    /// A key whose absence is a value of its type, as of `Vec`, `Ecn` and [`Elsewhere`], and what that means.
    pub const fn absent(self, meaning: &'static str, example: &'static str) -> Declared<T> {
        self.declared(Presence::Optional(meaning), example)
    }
}

impl<T> Declared<T> {
    /// The key `name` that holds this.
    pub const fn key(self, name: &'static str, description: &'static str) -> Key {
        Key { name, form: self.form, presence: self.presence, description, example: self.example }
    }
}

/// A length of time.
pub(crate) const fn span(bounds: RangeInclusive<Span>) -> Holds<Span> {
    Holds::new(Form::Value(time(bounds)))
}

/// A whole number.
pub(crate) const fn integer<T: Unsigned>(bounds: RangeInclusive<u64>) -> Holds<T> {
    assert!(*bounds.end() <= T::MAX, "its type cannot hold the largest value");
    Holds::new(Form::Value(Kind::Integer { min: *bounds.start(), max: *bounds.end() }))
}

/// A plain number.
pub(crate) const fn number(bounds: RangeInclusive<f64>) -> Holds<f64> {
    Holds::new(Form::Value(Kind::Number { min: *bounds.start(), max: *bounds.end() }))
}

/// `true` or `false`.
pub(crate) const fn flag() -> Holds<bool> {
    Holds::new(Form::Value(Kind::Boolean))
}

/// A data rate.
pub(crate) const fn rate() -> Holds<Rate> {
    Holds::new(Form::Value(Kind::Rate))
}

/// One of the words of `T`.
pub(crate) const fn word<T: Choice>() -> Holds<T> {
    Holds::new(Form::Value(Kind::Choice(T::WORDS)))
}

/// One of `words`, read as a `T` that knows them.
pub(crate) const fn word_of<T>(words: &'static [&'static str]) -> Holds<T> {
    Holds::new(Form::Value(Kind::Choice(words)))
}

/// A size in bytes.
pub(crate) const fn bytes<T: Unsigned>(bounds: RangeInclusive<u64>) -> Holds<T> {
    assert!(*bounds.end() <= T::MAX, "its type cannot hold the largest size");
    Holds::new(Form::Bytes { min: *bounds.start(), max: *bounds.end() })
}

/// Packets per second.
pub(crate) const fn packet_rate(bounds: RangeInclusive<f64>) -> Holds<f64> {
    Holds::new(Form::PacketRate { min: *bounds.start(), max: *bounds.end() })
}

/// A name that keys and records can contain, other than the reserved ones.
pub(crate) const fn name(reserved: &'static [&'static str]) -> Holds<String> {
    Holds::new(Form::Name { reserved })
}

/// A code point.
pub(crate) const fn dscp() -> Holds<Dscp> {
    Holds::new(Form::Dscp)
}

/// An address, or all addresses that begin alike.
pub(crate) const fn addresses() -> Holds<Addresses> {
    Holds::new(Form::Addresses)
}

/// Rates, each above the one before, and at most so many.
pub(crate) const fn ladder(most: usize) -> Holds<Vec<Rate>> {
    Holds::new(Form::Ladder { most })
}

/// Free text.
pub(crate) const fn text() -> Holds<String> {
    Holds::new(Form::Text)
}

/// Free texts, one or a list of them.
pub(crate) const fn texts() -> Holds<Vec<String>> {
    Holds::new(Form::OneOrMore(&Form::Text))
}

/// A time that may be negative, in nanoseconds, at most so far from zero.
pub(crate) const fn offset(most: Span) -> Holds<i64> {
    Holds::new(Form::Offset(most))
}

/// A key that is read and written together with others of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Elsewhere;

/// Such a key, with what it may hold.
pub(crate) const fn elsewhere(form: Form) -> Holds<Elsewhere> {
    Holds::new(form)
}

/// A recorded link.
pub(crate) const fn trace() -> Holds<Arc<Trace>> {
    Holds::new(Form::Trace)
}

/// One of several tables.
pub(crate) const fn select<T>(select: &'static Select) -> Holds<T> {
    Holds::new(Form::Select(select))
}

/// An algorithm and its parameters.
pub(crate) const fn algorithm(family: &'static Family) -> Holds<Params> {
    Holds::new(Form::Algorithm(family))
}

/// A table of its own.
pub(crate) const fn inner<T: Table>(section: &'static Section) -> Holds<T> {
    Holds::new(Form::Table(section))
}

/// Gives `key` the value `field`, unless that is to leave it out.
pub(crate) fn put(fields: &mut Fields, key: &'static str, field: &impl Held) {
    let form = &fields.section.key(key).expect("a table has the keys that it declares").form;
    if let Some(item) = field.to_item(form) {
        fields.put(key, item);
    }
}

/// What is read from a [`Value`], and how it becomes one.
macro_rules! held {
    ($($type:ty: |$this:ident| $value:expr),* $(,)?) => {$(
        impl $crate::declare::Held for $type {
            fn from_item(item: Option<&$crate::fields::Item>) -> Option<$type> {
                $crate::declare::read_value(item)
            }

            fn to_item(&self, form: &$crate::form::Form) -> Option<$crate::fields::Item> {
                let $this = *self;
                Some($crate::declare::written_value($value, form))
            }
        }
    )*};
}
pub(crate) use held;

/// The simple value that `item` holds, whatever its unit, as a `T`.
pub(crate) fn read_value<T: FromValue>(item: Option<&Item>) -> Option<T> {
    T::from_value(match *item? {
        Item::Value(value) => value,
        Item::Bytes(bytes) => Value::Integer(bytes),
        Item::PacketRate(rate) => Value::Number(rate),
        _ => return None,
    })
}

/// A simple value as a key of `form` holds it.
pub(crate) fn written_value(value: Value, form: &Form) -> Item {
    match (form, value) {
        (Form::Bytes { .. }, Value::Integer(bytes)) => Item::Bytes(bytes),
        (Form::PacketRate { .. }, Value::Number(rate)) => Item::PacketRate(rate),
        _ => Item::Value(value),
    }
}

held! {
    Span: |this| Value::Span(this),
    Rate: |this| Value::Rate(this),
    f64: |this| Value::Number(this),
    bool: |this| Value::Boolean(this),
    u8: |this| Value::Integer(u64::from(this)),
    u32: |this| Value::Integer(u64::from(this)),
    u64: |this| Value::Integer(this),
    usize: |this| Value::Integer(this as u64),
}

impl Held for String {
    fn from_item(item: Option<&Item>) -> Option<String> {
        let Item::Text(text) = item? else { return None };
        Some(text.clone())
    }

    fn to_item(&self, _: &Form) -> Option<Item> {
        Some(Item::Text(self.clone()))
    }
}

impl Held for Vec<String> {
    fn from_item(item: Option<&Item>) -> Option<Vec<String>> {
        let texts = match item {
            None => &[],
            Some(Item::List(texts)) => texts.as_slice(),
            Some(_) => return None,
        };
        texts.iter().map(|text| String::from_item(Some(text))).collect()
    }

    fn to_item(&self, _: &Form) -> Option<Item> {
        (!self.is_empty()).then(|| Item::List(self.iter().cloned().map(Item::Text).collect()))
    }
}

impl Held for Dscp {
    fn from_item(item: Option<&Item>) -> Option<Dscp> {
        let Item::Dscp(dscp) = item? else { return None };
        Some(*dscp)
    }

    fn to_item(&self, _: &Form) -> Option<Item> {
        Some(Item::Dscp(*self))
    }
}

impl Held for Addresses {
    fn from_item(item: Option<&Item>) -> Option<Addresses> {
        let Item::Addresses(addresses) = item? else { return None };
        Some(*addresses)
    }

    fn to_item(&self, _: &Form) -> Option<Item> {
        Some(Item::Addresses(*self))
    }
}

impl Held for Elsewhere {
    fn from_item(_: Option<&Item>) -> Option<Elsewhere> {
        Some(Elsewhere)
    }

    fn to_item(&self, _: &Form) -> Option<Item> {
        None
    }
}

impl Held for i64 {
    fn from_item(item: Option<&Item>) -> Option<i64> {
        let Item::Offset(nanos) = item? else { return None };
        Some(*nanos)
    }

    fn to_item(&self, _: &Form) -> Option<Item> {
        Some(Item::Offset(*self))
    }
}

impl Held for Arc<Trace> {
    fn from_item(item: Option<&Item>) -> Option<Arc<Trace>> {
        let Item::Trace(trace) = item? else { return None };
        Some(Arc::clone(trace))
    }

    fn to_item(&self, _: &Form) -> Option<Item> {
        Some(Item::Trace(Arc::clone(self)))
    }
}

impl Held for Vec<Rate> {
    fn from_item(item: Option<&Item>) -> Option<Vec<Rate>> {
        let Item::Values(values) = item? else { return None };
        values.iter().map(|&value| Rate::from_value(value)).collect()
    }

    fn to_item(&self, _: &Form) -> Option<Item> {
        Some(Item::Values(self.iter().map(|&rate| Value::Rate(rate)).collect()))
    }
}

impl Held for Params {
    fn from_item(item: Option<&Item>) -> Option<Params> {
        let Item::Chosen(chosen) = item? else { return None };
        Some(chosen.params.clone())
    }

    fn to_item(&self, _: &Form) -> Option<Item> {
        Some(Item::Chosen(Chosen::new(self.clone())))
    }
}

/// A key that may be left out: one that is there must hold a `T`.
impl<T: Held> Held for Option<T> {
    fn from_item(item: Option<&Item>) -> Option<Option<T>> {
        let Some(item) = item else { return Some(None) };
        T::from_item(Some(item)).map(Some)
    }

    fn to_item(&self, form: &Form) -> Option<Item> {
        self.as_ref()?.to_item(form)
    }
}

/// Declares a table of the file as one typed struct: see [the module](crate::declare). After the section's name may stand the
/// keys of which exactly one must be given.
macro_rules! table {
    (
        $(#[doc = $about:literal])*
        $visibility:vis struct $name:ident = $section:ident, $word:literal $(, one_of $one_of:expr)? $(, base $base:expr)? => {
            $($(#[doc = $documentation:literal])* $field:ident $(as $key:literal)?: $type:ty = $declared:expr),* $(,)?
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, PartialEq, Debug)]
        $visibility struct $name {
            $($(#[doc = $documentation])* $visibility $field: $type),*
        }

        impl $name {
            pub(crate) const KEYS: [$crate::form::Key; [$(stringify!($field)),*].len()] = [
                $({
                    const DECLARED: $crate::declare::Declared<$type> = $declared;
                    const NAME: &str = $crate::declare::table!(@key $field $($key)?);
                    DECLARED.key(NAME, sojourn_core::registry::declare::description(concat!($($documentation),*), ""))
                }),*
            ];
        }

        pub(crate) static $section: $crate::form::Section = $crate::form::Section {
            name: $word,
            description: sojourn_core::registry::declare::description(concat!($($about),*), ""),
            own: &$name::KEYS,
            ..$crate::form::Section { $(one_of: $one_of,)? $(base: Some($base),)? ..$crate::form::Section::PLAIN }
        };

        impl $crate::declare::Table for $name {
            fn section() -> &'static $crate::form::Section {
                &$section
            }

            fn read(fields: &$crate::fields::Fields) -> Option<$name> {
                Some($name {
                    $($field: $crate::declare::Held::from_item(fields.item($crate::declare::table!(@key $field $($key)?)))?),*
                })
            }

            fn write(&self, fields: &mut $crate::fields::Fields) {
                $($crate::declare::put(fields, $crate::declare::table!(@key $field $($key)?), &self.$field);)*
            }
        }

        impl $crate::declare::Held for $name {
            fn from_item(item: Option<&$crate::fields::Item>) -> Option<$name> {
                let $crate::fields::Item::Table(fields) = item? else { return None };
                <$name as $crate::declare::Table>::read(fields)
            }

            fn to_item(&self, form: &$crate::form::Form) -> Option<$crate::fields::Item> {
                let section = match form {
                    $crate::form::Form::Table(section) => section,
                    _ => &$section,
                };
                let mut fields = $crate::fields::Fields::new(section, $crate::node::Origin::Unknown);
                $crate::declare::Table::write(self, &mut fields);
                Some($crate::fields::Item::Table(fields))
            }
        }
    };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
}
pub(crate) use table;
