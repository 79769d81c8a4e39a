//! The access line that fills the bottleneck and the return link.

use crate::access::WORDS;
use crate::form::{Form, Key, Presence, Section};
use crate::link::{BOTTLENECK, REVERSE};
use sojourn_core::registry::Kind;

/// What a profile fills: the link of the forward direction, and that of the other.
pub(crate) static FILLED: [&Section; 2] = [&BOTTLENECK, &REVERSE];

pub(super) static ACCESS: Section = Section {
    name: "access",
    description: "An access line, by its profile or from the population of lines. It gives `[bottleneck]` and `[reverse]` every key that they leave out; a table there \
                  that does not say which framing, medium, protection or queue it is about changes the line's. A medium that \
                  stations share has no `[reverse]`; its profile gives one `[[station]]` unless the file has any.",
    own: &[
        Key {
            name: "profile",
            form: Form::Value(Kind::Choice(&WORDS)),
            presence: Presence::RequiredWithout("line"),
            description: "which profile; `sojourn list access` says what each is and `sojourn show` what it sets",
            example: "adsl2+",
        },
        Key {
            name: "line",
            form: Form::Text,
            presence: Presence::RequiredWithout("profile"),
            description: "a line of the population, `sojourn list lines`: a plan in a home; named by an override, it takes the place of the links of a file that has no `[access]`",
            example: "cable-100-10-film",
        },
        Key {
            name: "gateway",
            form: Form::Value(Kind::Number { min: 0.0, max: 2.0 }),
            presence: Presence::Optional("nobody shapes before the line, unless the home of `line` does"),
            description: "the part of the line's rates to which a gateway shapes both directions: `[bottleneck]` and `[reverse]` are then its shapers, with CAKE where they name no queue, and the line's own are the hops `modem` (up) and `isp` (down); 0 for no shaper",
            example: "0.9",
        },
        Key {
            name: "bottleneck",
            form: Form::Value(Kind::Choice(&["up", "down"])),
            presence: Presence::Default("up"),
            description: "which of the line's directions `[bottleneck]` is; `[reverse]` is the other; without effect where stations share a medium",
            example: "down",
        },
    ],
    base: None,
    one_of: &["profile", "line"],
};
