//! Advice that several controls give.

use sojourn_core::Span;
use sojourn_core::registry::{Advice, Params, Value};

/// A parameter that lies outside a range and what comes of it.
pub(crate) fn outside(params: &Params, name: &'static str, low: f64, high: f64, text: &str) -> Option<Advice> {
    let value = match params.get(name) {
        Value::Number(number) => number,
        Value::Integer(integer) => integer as f64,
        _ => return None,
    };
    (!(low..=high).contains(&value)).then(|| Advice::new(name, text))
}

/// A queueing delay that RFC 6817 section 2.5 does not allow.
pub(crate) fn long_target(params: &Params) -> Option<Advice> {
    let most = Span::from_millis(100);
    let text =
        "RFC 6817 allows at most 100 ms: with more, calls and games suffer, and buffers that hold less never signal";
    (params.read::<Span>("target") > most).then(|| Advice::new("target", text))
}

/// What a mark leaves, where it is not what a loss leaves.
pub(crate) fn abe(params: &Params) -> Option<Advice> {
    outside(
        params,
        "abe",
        0.7,
        0.85,
        "RFC 8511 recommends 0.7 to 0.85: less idles the link, more keeps its queue standing",
    )
}
