//! What the fields of the record say of themselves: each metric is declared once, with its unit and its meaning.

use serde::Serialize;
use std::collections::BTreeMap;

/// A number of the record, under its path in it.
#[derive(Clone, Serialize, Debug, PartialEq)]
#[non_exhaustive]
pub struct Metric {
    /// Its path, joined by underscores: `queue_ms_p99`.
    pub name: String,
    /// Its unit, empty for a plain number; "0 to 1" for a fraction.
    pub unit: &'static str,
    /// Whether people read it in percent.
    pub percent: bool,
    /// What it is, in words.
    pub meaning: String,
}

/// The unit of a metric, and whether people read it in percent.
#[derive(Clone, Copy)]
pub struct Unit(&'static str, bool);

pub const SHARE: Unit = Unit("0 to 1", true);
pub const FRACTION: Unit = Unit("0 to 1", false);
pub const COUNT: Unit = Unit("", false);
pub const PACKETS: Unit = Unit("packets", false);
pub const PACKETS_PER_SECOND: Unit = Unit("packets/s", false);
pub const PER_MINUTE: Unit = Unit("per minute", false);
pub const BYTES: Unit = Unit("bytes", false);
pub const MBPS: Unit = Unit("Mbit/s", false);
pub const SECONDS: Unit = Unit("s", false);
pub const MS: Unit = Unit("ms", false);
pub const R_FACTOR: Unit = Unit("0 to 100", false);
pub const OPINION: Unit = Unit("1 to 4.5", false);
/// Of a part of the record whose fields have units of their own.
pub const ITS_OWN: Unit = COUNT;

/// What a field of the record can be.
pub trait Measured {
    /// Appends the metrics of a field with this path, unit and meaning.
    fn declare(path: &str, unit: Unit, meaning: &str, all: &mut Vec<Metric>);
}

impl Measured for f64 {
    fn declare(path: &str, Unit(unit, percent): Unit, meaning: &str, all: &mut Vec<Metric>) {
        all.push(Metric { name: path.to_owned(), unit, percent, meaning: meaning.to_owned() });
    }
}

impl Measured for u64 {
    fn declare(path: &str, unit: Unit, meaning: &str, all: &mut Vec<Metric>) {
        f64::declare(path, unit, meaning, all);
    }
}

impl<T: Measured> Measured for Option<T> {
    fn declare(path: &str, unit: Unit, meaning: &str, all: &mut Vec<Metric>) {
        T::declare(path, unit, meaning, all);
    }
}

/// Declares parts of the record. A field that is a metric says its unit and its meaning, which is its documentation too.
macro_rules! record {
    ($(
        $(#[doc = $about:literal])+
        $(#[derive($derived:ident)])?
        pub struct $name:ident {$(
            $(#[doc = $more:literal])*
            $(#[serde($($serde:tt)+)])?
            pub $field:ident: $type:ty $(=> $unit:ident $meaning:literal)?,
        )+}
    )+) => {$(
        $(#[doc = $about])+
        #[derive(Clone, serde::Serialize, Debug)]
        $(#[derive($derived)])?
        #[non_exhaustive]
        pub struct $name {$(
            $(#[doc = $meaning])?
            $(#[doc = $more])*
            $(#[serde($($serde)+)])?
            pub $field: $type,
        )+}

        impl $crate::record::metric::Measured for $name {
            fn declare(
                path: &str,
                _: $crate::record::metric::Unit,
                _: &str,
                all: &mut Vec<$crate::record::metric::Metric>,
            ) {
                $($({
                    let path = $crate::record::metric::below(path, stringify!($field));
                    <$type>::declare(&path, $crate::record::metric::$unit, $meaning, all);
                })?)+
            }
        }
    )+};
}
pub(crate) use record;

/// The path of a field of the part with this path.
pub fn below(path: &str, field: &str) -> String {
    if path.is_empty() { field.to_owned() } else { format!("{path}_{field}") }
}

/// What runs measure, by the part of the record that it is of, in the record's order.
pub fn metrics() -> BTreeMap<&'static str, Vec<Metric>> {
    fn of<T: Measured>() -> Vec<Metric> {
        let mut all = Vec::new();
        T::declare("", ITS_OWN, "", &mut all);
        all
    }
    BTreeMap::from([
        ("run", of::<super::Record>()),
        ("link", of::<super::LinkRecord>()),
        ("station", of::<super::StationRecord>()),
        ("class", of::<super::ClassRecord>()),
        ("group", of::<super::GroupRecord>()),
        ("phase_link", of::<super::PhaseLinkRecord>()),
        ("phase_group", of::<super::PhaseGroupRecord>()),
    ])
}
