//! How an algorithm describes itself.
//!
//! Every queue discipline, congestion control and transport declares one [`Descriptor`]. The command
//! line's listings, the documentation's tables, the validation of scenario files and the JSON Schema
//! are all derived from it, so a fact about an algorithm is written down once.

pub mod declare;
mod kind;
mod linux;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
pub use declare::Choice;
use declare::FromValue;
pub use kind::{Kind, Parameter, Value, with_defaults};
pub use linux::{Auto, Form, Linux, Says, Setting, Unit};

use core::ops::Range;

/// What an algorithm is, where it comes from and what can be set.
#[derive(Debug)]
pub struct Descriptor {
    /// The name in a scenario file.
    pub name: &'static str,
    /// One line: what it does.
    pub summary: &'static str,
    /// RFCs, papers and source files it follows.
    pub sources: &'static [&'static str],
    /// Everything that can be set, in the order of the documentation.
    pub parameters: &'static [Parameter],
    /// Named sets of values, the well-known defaults of other implementations.
    pub presets: &'static [Preset],
    /// The algorithms of the same kind that it holds.
    pub holds: Holds,
    /// Whether it is a congestion control for low-priority traffic: it means to give way to best effort.
    pub low_priority: bool,
    /// What it is in the Linux kernel.
    pub linux: Linux,
    /// Where its code comes from.
    pub origin: Origin,
}

/// Where the code of an algorithm comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Sojourn itself.
    BuiltIn,
    /// Somebody else.
    Plugin {
        /// The file or module that added it.
        from: &'static str,
        /// A hash of its content, which tells one version from another; empty where nobody knows.
        content: &'static str,
    },
}

/// The algorithms that an algorithm holds, as a queue discipline holds others.
#[derive(Clone, Copy, Debug)]
pub enum Holds {
    /// None.
    Nothing,
    /// Exactly one.
    One,
    /// One for each of its classes; what can be set for a class besides.
    Classes(&'static Descriptor),
}

/// A named set of values.
#[derive(Debug)]
pub struct Preset {
    /// The name in a scenario file: `rfc`, `linux`, `ns2` ...
    pub name: &'static str,
    /// Whose defaults these are.
    pub summary: &'static str,
    /// The values that differ from the parameters' own defaults.
    pub values: &'static [(&'static str, Value)],
}

/// All values of one algorithm, resolved: a preset over the defaults, the user's own over both.
#[derive(Clone, Debug)]
pub struct Params {
    descriptor: &'static Descriptor,
    values: Vec<Value>,
    /// The algorithm inside, where the descriptor says that it [holds one](Holds::One).
    pub child: Option<Box<Params>>,
    /// The classes in their order, where the descriptor says that it [has any](Holds::Classes).
    pub classes: Vec<Class>,
}

/// The same values of the same algorithm; of two plug-ins with one name each is its own.
impl PartialEq for Params {
    fn eq(&self, other: &Params) -> bool {
        core::ptr::eq(self.descriptor, other.descriptor)
            && (&self.values, &self.child, &self.classes) == (&other.values, &other.child, &other.classes)
    }
}

/// A class of packets and the queue in which they wait.
#[derive(Clone, PartialEq, Debug)]
pub struct Class {
    /// What the user calls it.
    pub name: String,
    /// The class in which it lies, where it lies in one.
    pub parent: Option<String>,
    /// Which packets belong to it.
    pub members: Members,
    /// The values of what can be set for each class.
    pub params: Params,
    /// The discipline in which its packets wait.
    pub queue: Params,
}

/// Which packets belong to a class: those to which any of the lists applies; if all are empty, those of no other class.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Members {
    /// Differentiated services code points, 0 to 63.
    pub dscp: Vec<u8>,
    /// Precedences, 0 to 7: the upper three bits of the code point.
    pub precedence: Vec<u8>,
    /// Flows.
    pub groups: Vec<FlowGroup>,
}

/// Some flows under one name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowGroup {
    /// What the user calls them.
    pub name: String,
    /// Their numbers.
    pub flows: Range<u32>,
}

impl Members {
    /// Whether these are the packets that no other class takes.
    pub fn is_rest(&self) -> bool {
        self == &Members::default()
    }
}

/// A combination of values that the algorithm cannot work with.
#[derive(Clone, PartialEq, Debug)]
pub struct ParameterError {
    /// The index of the class whose parameter or key it is; its own where absent.
    pub class: Option<usize>,
    /// The parameter at fault; `class` or `child` where it is what the algorithm holds.
    pub parameter: &'static str,
    /// What is allowed, and why.
    pub rule: String,
}

/// A value that is legal and yet unwise.
#[derive(Clone, PartialEq, Debug)]
pub struct Advice {
    /// The parameter it is about.
    pub parameter: &'static str,
    /// What will happen, and what is usual.
    pub text: String,
}

/// All of `parts` in one list, for descriptors that share parameters, settings or values of presets.
///
/// # Panics
/// While compiling, where they are not `N` together.
pub const fn joined<T: Copy, const N: usize>(parts: &[&[T]]) -> [T; N] {
    let mut all = [parts[0][0]; N];
    let (mut filled, mut part) = (0, 0);
    while part < parts.len() {
        let mut index = 0;
        while index < parts[part].len() {
            all[filled] = parts[part][index];
            filled += 1;
            index += 1;
        }
        part += 1;
    }
    assert!(filled == N, "the parts have another length");
    all
}

impl Advice {
    /// Advice `text` on `parameter`.
    pub fn new(parameter: &'static str, text: impl Into<String>) -> Advice {
        Advice { parameter, text: text.into() }
    }
}

impl ParameterError {
    /// An error of `parameter` against `rule`.
    pub fn new(parameter: &'static str, rule: impl Into<String>) -> ParameterError {
        ParameterError { class: None, parameter, rule: rule.into() }
    }

    /// An error of `parameter` of the class with this index.
    pub fn in_class(class: usize, parameter: &'static str, rule: impl Into<String>) -> ParameterError {
        ParameterError { class: Some(class), parameter, rule: rule.into() }
    }
}

impl Descriptor {
    /// What most algorithms have in common, to write `..Descriptor::PLAIN`.
    pub const PLAIN: Descriptor = Descriptor {
        name: "",
        summary: "",
        sources: &[],
        parameters: &[],
        presets: &[],
        holds: Holds::Nothing,
        low_priority: false,
        linux: Linux::Absent("nobody has written it for Linux"),
        origin: Origin::BuiltIn,
    };

    /// What can be set for each class, where there are classes.
    pub fn class(&self) -> Option<&'static Descriptor> {
        match self.holds {
            Holds::Classes(class) => Some(class),
            Holds::Nothing | Holds::One => None,
        }
    }

    /// The parameter called `name`.
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// The preset called `name`.
    pub fn preset(&self, name: &str) -> Option<&'static Preset> {
        self.presets.iter().find(|preset| preset.name == name)
    }
}

impl Params {
    /// The defaults of `descriptor`, overlaid with those of `preset`.
    pub fn new(descriptor: &'static Descriptor, preset: Option<&Preset>) -> Params {
        let values = descriptor.parameters.iter().map(|parameter| parameter.default).collect();
        let mut params = Params { descriptor, values, child: None, classes: Vec::new() };
        for (name, value) in preset.iter().flat_map(|preset| preset.values) {
            params.set(name, *value);
        }
        params
    }

    /// Whose parameters these are.
    pub fn descriptor(&self) -> &'static Descriptor {
        self.descriptor
    }

    /// Overrides one value.
    ///
    /// # Panics
    /// Where the algorithm has no such parameter: names from users are checked before.
    pub fn set(&mut self, name: &str, value: Value) {
        let index = self.index(name);
        self.values[index] = value;
    }

    /// The value of `name`.
    pub fn get(&self, name: &str) -> Value {
        self.values[self.index(name)]
    }

    /// The value of `name` as the type that its declaration gives it.
    ///
    /// # Panics
    /// Where there is no such parameter, or it holds another kind: [`parameters!`](crate::parameters) pairs them.
    pub fn read<T: FromValue>(&self, name: &str) -> T {
        T::from_value(self.get(name)).unwrap_or_else(|| self.mismatch(name))
    }

    /// All names and values in the order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Parameter, Value)> {
        self.descriptor.parameters.iter().zip(self.values.iter().copied())
    }

    /// What it holds directly, in order.
    pub fn held(&self) -> impl Iterator<Item = &Params> {
        self.child.as_deref().into_iter().chain(self.classes.iter().map(|class| &class.queue))
    }

    /// How many algorithms lie one inside the other, itself included.
    pub fn depth(&self) -> usize {
        1 + self.held().map(Params::depth).max().unwrap_or(0)
    }

    fn index(&self, name: &str) -> usize {
        self.descriptor
            .parameters
            .iter()
            .position(|parameter| parameter.name == name)
            .unwrap_or_else(|| panic!("{} has no parameter {name}", self.descriptor.name))
    }

    fn mismatch(&self, name: &str) -> ! {
        panic!("{}.{name} holds {:?}, which its reader does not expect", self.descriptor.name, self.get(name))
    }

    /// Whether `name` was left to the algorithm.
    pub fn is_auto(&self, name: &str) -> bool {
        self.get(name) == Value::Auto
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Amount;

    static RED: Descriptor = Descriptor {
        name: "red",
        summary: "",
        sources: &[],
        parameters: &[
            Parameter {
                name: "limit",
                kind: Kind::Amount { min_packets: 1.0, whole: true },
                default: Value::Amount(Amount::Packets(100.0)),
                description: "",
            },
            Parameter { name: "ecn", kind: Kind::Boolean, default: Value::Boolean(false), description: "" },
        ],
        presets: &[Preset { name: "marking", summary: "", values: &[("ecn", Value::Boolean(true))] }],
        ..Descriptor::PLAIN
    };

    #[test]
    fn presets_override_defaults_and_users_override_presets() {
        let mut params = Params::new(&RED, RED.preset("marking"));
        assert!(params.read::<bool>("ecn"));
        assert_eq!(params.read::<Amount>("limit"), Amount::Packets(100.0));
        params.set("ecn", Value::Boolean(false));
        assert!(!params.read::<bool>("ecn"));
    }

    #[test]
    fn lists_are_joined_in_order_and_looked_up_by_whole_names() {
        const JOINED: [Parameter; 3] = joined(&[RED.parameters, &[Parameter { name: "ec", ..RED.parameters[1] }]]);
        assert_eq!(JOINED.map(|parameter| parameter.name), ["limit", "ecn", "ec"]);
        assert_eq!(Parameter::of(&JOINED, "ec").name, "ec");
        assert_eq!(Parameter::of(&JOINED, "ecn").name, "ecn");
    }

    #[test]
    #[should_panic(expected = "another length")]
    fn a_joined_list_has_no_gap() {
        joined::<u8, 3>(&[&[1], &[2]]);
    }

    #[test]
    #[should_panic(expected = "red has no parameter w")]
    fn unknown_names_are_a_programming_error() {
        Params::new(&RED, None).get("w");
    }
}
