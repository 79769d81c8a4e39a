//! What follows the line with the rates of a gateway's shapers.

use crate::declare::{algorithm, span, table, text};
use crate::families::SHAPERS;
use sojourn_core::Span;
use sojourn_core::registry::Params;

table! {
    /// A controller that sets the rates of `[bottleneck]` and `[reverse]` while the run goes on. The two are a gateway's shapers,
    /// whose rates in the file are the base rates; the line whose rate they follow is made of `[[hop]]`. With an access line,
    /// `gateway` of `[access]` gives both.
    pub struct Shaper = SHAPER, "shaper" => {
        /// the controller: a kind, or a table with `kind`, `preset` and parameters
        controller: Params = algorithm(&SHAPERS).required("autorate"),
        /// the group whose pings it sees, each flow of which is a reflector; they cross both shapers
        pings: String = text().required("reflectors"),
        /// from one step to the next; at each the controller sees what has come since the one before, and sets both rates
        interval: Span = span(Span::from_millis(1)..=Span::from_secs(60)).or("10 ms", "50 ms"),
    }
}
