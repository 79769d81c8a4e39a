//! The one declaration of what can be set: a typed struct, from which keys, kinds, defaults and the reader are derived.
//!
//! ```
//! use sojourn_core::registry::{Choice as _, declare::{choice, number_in, or_auto, span}};
//! use sojourn_core::{Span, choices, parameters};
//!
//! choices! {
//!     /// What a step is weighted with.
//!     pub enum Count {
//!         /// The segments that an acknowledgement acknowledges.
//!         Segments = "segments",
//!         /// One for each acknowledgement.
//!         Acks = "acks",
//!     }
//! }
//!
//! parameters! {
//!     /// What can be set.
//!     pub struct Settings {
//!         /// queueing delay aimed at (TARGET)
//!         target: Span = span(Span::from_millis(100), Span::from_micros(100)..=Span::from_secs(10)),
//!         /// most segments by which one acknowledgement may shrink the window; auto is no bound
//!         max_decrease: Option<f64> = or_auto(&number_in(1e-6..=1e6)),
//!         /// what a step of the window is weighted with
//!         count: Count = choice(Count::Segments.value()),
//!     }
//! }
//!
//! assert_eq!(Settings::LIST[0].name, "target");
//! assert_eq!(Count::WORDS, ["segments", "acks"]);
//! ```
//!
//! A field's documentation is the description that users read; its name is the key in a scenario file. A key that several
//! algorithms have is a constant [`Field`] with its [description](Field::described), and their fields have no documentation.

use super::kind::{Kind, Parameter, Value};
use crate::{Amount, Rate, Span};
use core::marker::PhantomData;
use core::ops::RangeInclusive;

/// Bounds and default of a key that is read as a `T`.
#[derive(Clone, Copy, Debug)]
pub struct Field<T> {
    /// What it may hold.
    pub kind: Kind,
    /// Its value where the file and the preset are silent.
    pub default: Value,
    /// What it means, where several algorithms have it; the field's own documentation otherwise.
    pub description: &'static str,
    read_as: PhantomData<T>,
}

impl<T> Field<T> {
    const fn new(kind: Kind, default: Value) -> Field<T> {
        Field { kind, default, description: "", read_as: PhantomData }
    }

    /// This key with a description, for a constant that several algorithms take their field from.
    pub const fn described(self, description: &'static str) -> Field<T>
    where
        T: Copy,
    {
        Field { description, ..self }
    }

    /// The parameter `name` with this kind, default and description.
    pub const fn parameter(&self, name: &'static str) -> Parameter {
        Parameter { name, kind: self.kind, default: self.default, description: self.description }
    }

    /// This key with another default.
    pub const fn with_default(self, default: Value) -> Field<T>
    where
        T: Copy,
    {
        Field { default, ..self }
    }
}

/// What can be read from a [`Value`].
pub trait FromValue: Sized {
    /// The value as this type; `None` where it is of another kind.
    fn from_value(value: Value) -> Option<Self>;
}

/// Words of a [`Kind::Choice`] as an enum; [`choices!`](crate::choices) implements it.
pub trait Choice: FromValue + 'static {
    /// All of them, in the order of the documentation.
    const ALL: &'static [Self];
    /// Their words.
    const WORDS: &'static [&'static str];
}

/// A length of time.
pub const fn span(default: Span, bounds: RangeInclusive<Span>) -> Field<Span> {
    Field::new(Kind::Span { min: *bounds.start(), max: *bounds.end() }, Value::Span(default))
}

/// A data rate.
pub const fn rate(default: Rate) -> Field<Rate> {
    Field::new(Kind::Rate, Value::Rate(default))
}

/// A data rate, or the word `auto`, which is the default.
pub const fn rate_or_auto() -> Field<Option<Rate>> {
    Field::new(Kind::OrAuto(&Kind::Rate), Value::Auto)
}

/// An amount of data of at least so many packets; a buffer's limit is in `whole` packets.
pub const fn amount(default: Amount, min_packets: f64, whole: bool) -> Field<Amount> {
    Field::new(Kind::Amount { min_packets, whole }, Value::Amount(default))
}

/// A plain number.
pub const fn number(default: f64, bounds: RangeInclusive<f64>) -> Field<f64> {
    Field::new(Kind::Number { min: *bounds.start(), max: *bounds.end() }, Value::Number(default))
}

/// A whole number, read as any unsigned integer that holds its largest value.
pub const fn integer<T: Unsigned>(default: u64, bounds: RangeInclusive<u64>) -> Field<T> {
    assert!(*bounds.end() <= T::MAX, "its type cannot hold the largest value");
    Field::new(Kind::Integer { min: *bounds.start(), max: *bounds.end() }, Value::Integer(default))
}

/// `true` or `false`.
pub const fn flag(default: bool) -> Field<bool> {
    Field::new(Kind::Boolean, Value::Boolean(default))
}

/// One of the words of `T`, as `Variant.value()` gives the default.
pub const fn choice<T: Choice>(default: Value) -> Field<T> {
    Field::new(Kind::Choice(T::WORDS), default)
}

/// One of `words`, which somebody else declares: the names of presets, say.
pub const fn word(default: &'static str, words: &'static [&'static str]) -> Field<&'static str> {
    Field::new(Kind::Choice(words), Value::Choice(default))
}

/// A length of time within bounds, for [`or_auto`].
pub const fn span_in(bounds: RangeInclusive<Span>) -> Field<Span> {
    span(*bounds.start(), bounds)
}

/// A plain number within bounds, for [`or_auto`].
pub const fn number_in(bounds: RangeInclusive<f64>) -> Field<f64> {
    number(*bounds.start(), bounds)
}

/// A whole number within bounds, for [`or_auto`].
pub const fn integer_in<T: Unsigned>(bounds: RangeInclusive<u64>) -> Field<T> {
    integer(*bounds.start(), bounds)
}

/// An amount of data of at least so many packets, for [`or_auto`].
pub const fn amount_in(min_packets: f64, whole: bool) -> Field<Amount> {
    amount(Amount::Packets(min_packets), min_packets, whole)
}

/// What `inner` holds, or the word `auto`, which is the default.
pub const fn or_auto<T>(inner: &'static Field<T>) -> Field<Option<T>> {
    Field::new(Kind::OrAuto(&inner.kind), Value::Auto)
}

/// What `inner` holds, which has the default, or the word `auto`.
pub const fn unless_auto<T>(inner: &'static Field<T>) -> Field<Option<T>> {
    Field::new(Kind::OrAuto(&inner.kind), inner.default)
}

/// Whole numbers that a key can be read as.
pub trait Unsigned: TryFrom<u64> {
    /// Its largest value.
    const MAX: u64;
}

macro_rules! unsigned {
    ($($type:ty),*) => {
        $(
            impl Unsigned for $type {
                const MAX: u64 = <$type>::MAX as u64;
            }

            impl FromValue for $type {
                fn from_value(value: Value) -> Option<$type> {
                    let Value::Integer(integer) = value else { return None };
                    <$type>::try_from(integer).ok()
                }
            }
        )*
    };
}

unsigned!(u8, u16, u32, u64, usize);

macro_rules! read_from {
    ($($type:ty: $variant:ident),*) => {
        $(impl FromValue for $type {
            fn from_value(value: Value) -> Option<$type> {
                let Value::$variant(inner) = value else { return None };
                Some(inner)
            }
        })*
    };
}

read_from!(Span: Span, Rate: Rate, Amount: Amount, f64: Number, bool: Boolean, &'static str: Choice);

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value) -> Option<Option<T>> {
        if value == Value::Auto { Some(None) } else { T::from_value(value).map(Some) }
    }
}

/// A field's documentation as one sentence, or what is `shared` where it has none. Each line of documentation begins with a
/// space, of which the first goes.
pub const fn description(documentation: &'static str, shared: &'static str) -> &'static str {
    match documentation.as_bytes() {
        [] => shared,
        [b' ', ..] => documentation.split_at(1).1,
        _ => documentation,
    }
}

/// Declares what can be set as one typed struct: see [the module](crate::registry::declare).
///
/// `LIST` has the parameters in the order of the fields; `of` reads the values of a descriptor that lists them, among others
/// perhaps.
#[macro_export]
macro_rules! parameters {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            $($(#[doc = $documentation:literal])* $field:ident: $type:ty = $declared:expr),* $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, PartialEq, Debug)]
        $visibility struct $name {
            $($(#[doc = $documentation])* $visibility $field: $type),*
        }

        impl $name {
            /// The parameters, in the order of the documentation.
            $visibility const LIST: [$crate::registry::Parameter; [$(stringify!($field)),*].len()] = [
                $({
                    const FIELD: $crate::registry::declare::Field<$type> = $declared;
                    $crate::registry::Parameter {
                        description: $crate::registry::declare::description(concat!($($documentation),*), FIELD.description),
                        ..FIELD.parameter(stringify!($field))
                    }
                }),*
            ];

            /// The values in `params`.
            ///
            /// # Panics
            /// Where its descriptor does not list these parameters.
            $visibility fn of(params: &$crate::registry::Params) -> $name {
                $name { $($field: params.read(stringify!($field))),* }
            }
        }
    };
}

/// Declares the words of parameters as enums: see [the module](crate::registry::declare).
#[macro_export]
macro_rules! choices {
    ($(
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$variant_attribute:meta])* $variant:ident = $word:literal),+ $(,)?
        }
    )+) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        $visibility enum $name {
            $($(#[$variant_attribute])* $variant),+
        }

        impl $name {
            /// Its word.
            $visibility const fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            /// As a default or in a preset.
            $visibility const fn value(self) -> $crate::registry::Value {
                $crate::registry::Value::Choice(self.word())
            }
        }

        impl $crate::registry::Choice for $name {
            const ALL: &'static [$name] = &[$($name::$variant),+];
            const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl $crate::registry::declare::FromValue for $name {
            fn from_value(value: $crate::registry::Value) -> Option<$name> {
                match value {
                    $($crate::registry::Value::Choice($word) => Some($name::$variant),)+
                    _ => None,
                }
            }
        }
    )+};
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Descriptor, Params};

    choices! {
        /// How the delay is known.
        enum Estimator {
            Timestamp = "timestamp",
            DepartureRate = "departure-rate",
        }
    }

    const SHARED: Field<Option<u32>> = unless_auto(&integer(3, 1..=9)).described("of several algorithms");

    parameters! {
        /// Some of each kind.
        struct Settings {
            /// a delay
            /// in two lines
            target: Span = span(Span::from_millis(15), Span::from_micros(1)..=Span::from_secs(1)),
            /// a rate
            bandwidth: Option<Rate> = rate_or_auto(),
            /// a size
            quantum: u32 = integer(1514, 1..=65_535),
            /// a number
            gain: Option<f64> = unless_auto(&number(0.5, 0.0..=1.0)),
            /// a buffer
            limit: Amount = amount(Amount::Packets(100.0), 1.0, true),
            /// a switch
            ecn: bool = flag(true),
            /// a word
            estimator: Estimator = choice(Estimator::Timestamp.value()),
            limit_of_all: Option<u32> = SHARED,
        }
    }

    static DECLARED: Descriptor = Descriptor { name: "declared", parameters: &Settings::LIST, ..Descriptor::PLAIN };

    #[test]
    fn the_list_has_names_kinds_defaults_and_descriptions() {
        assert_eq!(Settings::LIST.len(), 8);
        assert_eq!((Settings::LIST[7].name, Settings::LIST[7].description), ("limit_of_all", "of several algorithms"));
        assert_eq!(Settings::LIST[0].description, "a delay in two lines");
        assert_eq!(Settings::LIST[1].kind, Kind::OrAuto(&Kind::Rate));
        assert_eq!(Settings::LIST[3].default, Value::Number(0.5));
        assert_eq!(Settings::LIST[6].kind, Kind::Choice(&["timestamp", "departure-rate"]));
    }

    #[test]
    fn values_are_read_as_their_types() {
        let mut params = Params::new(&DECLARED, None);
        let settings = Settings::of(&params);
        assert_eq!((settings.bandwidth, settings.quantum, settings.gain), (None, 1514, Some(0.5)));
        params.set("estimator", Estimator::DepartureRate.value());
        params.set("gain", Value::Auto);
        let settings = Settings::of(&params);
        assert_eq!((settings.estimator, settings.gain, settings.ecn), (Estimator::DepartureRate, None, true));
    }

    #[test]
    #[should_panic(expected = "declared.quantum holds")]
    fn a_value_of_another_kind_is_a_programming_error() {
        let mut params = Params::new(&DECLARED, None);
        params.set("quantum", Value::Boolean(true));
        Settings::of(&params);
    }
}
