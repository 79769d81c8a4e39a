//! The access line that fills the bottleneck and the return link.

use super::link::{BOTTLENECK, REVERSE};
use super::{Form, Key, Presence, Section};
use crate::access::WORDS;
use sojourn_core::registry::Kind;

/// What a profile fills: the link of the forward direction, and that of the other.
pub(crate) static FILLED: [&Section; 2] = [&BOTTLENECK, &REVERSE];

pub(super) static ACCESS: Section = Section {
    name: "access",
    description: "An access line. Its profile gives `[bottleneck]` and `[reverse]` every key that they leave out; a table there \
                  that does not say which framing, medium, protection or queue it is about changes the profile's. A medium that \
                  stations share has no `[reverse]`; its profile gives one `[[station]]` unless the file has any.",
    own: &[
        Key {
            name: "profile",
            form: Form::Value(Kind::Choice(&WORDS)),
            presence: Presence::Required,
            description: "which line; `sojourn list access` says what each is and `sojourn show` what it sets",
            example: "adsl2+",
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
    one_of: &[],
};
