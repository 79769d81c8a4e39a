//! What an algorithm is in the Linux kernel.

use super::{Descriptor, Value};
use alloc::vec::Vec;

/// Where Linux has an algorithm, and how it is told what to do.
#[derive(Clone, Copy, Debug)]
pub enum Linux {
    /// It has nothing of the kind, for this reason.
    Absent(&'static str),
    /// The kernel has it, in one of these forms: the first in which all values can be said.
    Kernel(&'static [Form]),
    /// Not the kernel, but a program of its own in which it was first written.
    Program(Form),
}

/// One way in which Linux has an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Its name there: the kind that `tc` knows, the congestion control that a socket can choose.
    pub name: &'static str,
    /// The module that holds it where it is not built in.
    pub module: &'static str,
    /// What `tc` is told in any case, besides the settings.
    pub words: &'static str,
    /// How parameters are said. What is not in this list cannot be set: it has the value of preset `linux`.
    pub settings: &'static [Setting],
    /// What it does otherwise than the parameters say; nothing that can be set changes it.
    pub remarks: &'static [&'static str],
}

/// How a parameter is said.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The parameter.
    pub parameter: &'static str,
    /// What is written for it.
    pub says: Says,
}

/// What is written for a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Says {
    /// A word and the value in this unit.
    Option(&'static str, Unit, Auto),
    /// One word or the other; an empty one is not written.
    Flag(&'static str, &'static str),
    /// For each choice that there is, what is written.
    Words(&'static [(&'static str, &'static str)]),
    /// Nothing: it always is so, whatever preset `linux` says.
    Is(Value),
}

/// What a value is written in. An amount in another dimension cannot be said unless a unit says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Packets.
    Packets,
    /// Packets; bytes and times mean so many full-size packets.
    FullPackets,
    /// Bytes; a time means those that the link sends in it.
    Bytes,
    /// Bytes, also of so many full-size packets.
    BytesOfFullPackets,
    /// Bytes, also of so many packets of parameter `mean_packet`.
    BytesOfMeanPackets,
    /// Whole microseconds.
    Micros,
    /// Whole milliseconds.
    Millis,
    /// Whole seconds.
    Seconds,
    /// A number.
    Number,
    /// Whole hundredths.
    Percent,
    /// Whole sixteenths.
    Sixteenths,
    /// A rate.
    Rate,
}

/// What an automatic value becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Auto {
    /// It cannot be said.
    No,
    /// It is left out: `tc` or the kernel has the same rule.
    Omit,
    /// The link's rate.
    LinkRate,
    /// The bytes of the link's full-size packet.
    FullPacket,
    /// This word.
    Word(&'static str),
}

impl Form {
    /// What most forms have in common, to write `..Form::PLAIN`.
    pub const PLAIN: Form = Form { name: "", module: "", words: "", settings: &[], remarks: &[] };

    /// The values that this form of `descriptor` has without being told: of all parameters that cannot be set.
    pub fn fixed(&self, descriptor: &Descriptor) -> Vec<(&'static str, Value)> {
        let preset = descriptor.preset("linux");
        let of_preset = |name| preset?.values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        let said = |name| self.settings.iter().find(|setting| setting.parameter == name).map(|setting| setting.says);
        let fixed = |parameter: &super::Parameter| match said(parameter.name) {
            Some(Says::Is(value)) => Some((parameter.name, value)),
            Some(_) => None,
            None => Some((parameter.name, of_preset(parameter.name).unwrap_or(parameter.default))),
        };
        descriptor.parameters.iter().filter_map(fixed).collect()
    }
}

impl Linux {
    /// All forms, in order of preference.
    pub const fn forms(&self) -> &[Form] {
        match self {
            Linux::Absent(_) => &[],
            Linux::Kernel(forms) => forms,
            Linux::Program(form) => core::slice::from_ref(form),
        }
    }
}

impl Setting {
    /// A parameter, the word for it, and its unit.
    pub const fn option(parameter: &'static str, word: &'static str, unit: Unit) -> Setting {
        Setting { parameter, says: Says::Option(word, unit, Auto::No) }
    }

    /// The same for a parameter that may be `auto`.
    pub const fn auto(parameter: &'static str, word: &'static str, unit: Unit, auto: Auto) -> Setting {
        Setting { parameter, says: Says::Option(word, unit, auto) }
    }

    /// A parameter that is true or false, and the words for it.
    pub const fn flag(parameter: &'static str, yes: &'static str, no: &'static str) -> Setting {
        Setting { parameter, says: Says::Flag(yes, no) }
    }

    /// A parameter that holds a word, and what is written for each.
    pub const fn words(parameter: &'static str, words: &'static [(&'static str, &'static str)]) -> Setting {
        Setting { parameter, says: Says::Words(words) }
    }

    /// A parameter that has this value whatever preset `linux` says.
    pub const fn is(parameter: &'static str, value: Value) -> Setting {
        Setting { parameter, says: Says::Is(value) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Kind, Parameter, Preset};

    const fn number(name: &'static str, default: u64) -> Parameter {
        Parameter { name, kind: Kind::Integer { min: 0, max: 9 }, default: Value::Integer(default), description: "" }
    }

    #[test]
    fn what_cannot_be_set_has_the_presets_value_or_the_default_or_what_the_form_says() {
        const FORM: Form = Form {
            settings: &[Setting::option("set", "set", Unit::Number), Setting::is("own", Value::Integer(4))],
            ..Form::PLAIN
        };
        static ALGORITHM: Descriptor = Descriptor {
            parameters: &[number("set", 1), number("plain", 2), number("preset", 3), number("own", 0)],
            presets: &[Preset {
                name: "linux",
                summary: "",
                values: &[("preset", Value::Integer(7)), ("own", Value::Integer(1))],
            }],
            ..Descriptor::PLAIN
        };
        let expected = [("plain", Value::Integer(2)), ("preset", Value::Integer(7)), ("own", Value::Integer(4))];
        assert_eq!(FORM.fixed(&ALGORITHM), expected);
    }
}
