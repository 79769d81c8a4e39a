//! What any bytes do to parsers and state machines: the bodies of the fuzz targets in `fuzz/`.
//!
//! A body takes bytes, makes inputs of them, and panics where something that always holds does not. The targets are these
//! bodies behind libFuzzer; `cargo test` leads them through the seed corpus and some random bytes, so that they cannot
//! rot unseen.
#![cfg(target_os = "linux")]

mod control;
mod medium;
mod padding;
mod params;
mod parsers;
mod queue;
mod sender;
mod tape;

/// What a body is: it panics where it finds a fault.
pub type Body = fn(&[u8]);

/// Every body, by the name of its target.
pub const TARGETS: &[(&str, Body)] = &[
    ("scenario", parsers::scenario),
    ("trace", parsers::trace),
    ("plan", parsers::plan),
    ("datagram", parsers::answering),
    ("connection", parsers::connection),
    ("queue", queue::queue),
    ("replay", queue::replay),
    ("control", control::control),
    ("sender", sender::sender),
    ("padding", padding::padding),
    ("medium", medium::medium),
    ("cell", medium::cell),
];

/// The body of the target `name`.
///
/// # Panics
/// Where there is none.
pub fn body(name: &str) -> Body {
    TARGETS.iter().find(|(target, _)| *target == name).expect("a target of the list").1
}
