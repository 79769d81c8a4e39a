//! A receiver that steers (RFC 9840), against the RFC's words. Here the way there takes 51 ms and the way back 50 ms.

use super::network::{Network, assert_table, first, steered, these};
use proptest::prelude::*;
use sojourn_congestion::Control;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span};

fn windows(path: &Network) -> String {
    path.granted.iter().map(|window| format!("{window:.2}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn worked() {
    let mut path = steered("ledbatpp", 0, &[("initial_window", Value::Integer(2))]);
    path.send_segments(12).run(10_000);
    path.assert_complete(12);
    println!("{}\n{}", path.table(), windows(&path));
    panic!();
}
