//! Short segments: a control that asks for them, repairs, and what a finite supply leaves for the end.

use super::network::{Network, first, network, network_of};
use sojourn_congestion::{Ack, Congestion, Control, Path, custom};
use sojourn_core::Stream;
use sojourn_core::registry::{Descriptor, Params};
use std::sync::Once;

/// Ten segments at a time, of which the first 40 of a connection carry 12 bytes.
#[derive(Clone, Debug, Default)]
struct Small {
    acked: u32,
}

impl Control for Small {
    fn on_ack(&mut self, ack: &Ack) {
        self.acked += ack.newly_acked;
    }
    fn on_congestion(&mut self, _event: &Congestion) {}
    fn set_window(&mut self, _window: f64, _threshold: f64) {}
    fn window(&self) -> f64 {
        10.0
    }
    fn slow_start_threshold(&self) -> f64 {
        f64::INFINITY
    }
    fn sends_short_segments(&self) -> bool {
        true
    }
    fn segment_bytes(&self) -> Option<u32> {
        (self.acked < 30).then_some(12)
    }
}

static SMALL: Descriptor = Descriptor { name: "small-for-a-test", summary: "short segments", ..Descriptor::PLAIN };

fn small() -> Network {
    static ADDED: Once = Once::new();
    ADDED.call_once(|| {
        custom::add(&SMALL, |_: &Params, _: &Path, _: Stream| Ok(Small::default())).unwrap();
    });
    network_of(SMALL.name, &[], &[])
}

fn sent(path: &Network) -> u32 {
    path.payload_bytes.iter().sum()
}

#[test]
fn a_control_that_asks_for_nothing_sends_full_segments() {
    let mut path = network(&[], &[]);
    path.send_segments(3).run(1000);
    assert_eq!(path.payload_bytes, [1448; 3]);
    assert_eq!(path.sender.acknowledged_shortfall_bytes(), 0);
}

#[test]
fn a_finite_supply_is_sent_whole() {
    for bytes in [1, 12, 13, 400, 1448, 1449, 10_000, 50_000] {
        let mut path = small();
        path.sender.supply(bytes);
        path.transmit("start");
        path.run(60_000);
        assert_eq!(u64::from(sent(&path)), bytes, "{:?}", path.payload_bytes);
        assert!(path.payload_bytes.iter().take(30).all(|bytes| *bytes <= 12), "{bytes}: {:?}", path.payload_bytes);
        path.assert_complete(path.payload_bytes.len() as u32);
    }
}

/// The second supply of a connection counts what the first one's short segments did not carry.
#[test]
fn a_later_supply_is_sent_whole() {
    let mut path = small();
    path.sender.supply(100);
    path.transmit("start");
    path.run(5000);
    assert_eq!(sent(&path), 100);
    path.sender.supply(2100);
    path.transmit("more");
    path.run(60_000);
    assert_eq!(sent(&path), 2100, "{:?}", path.payload_bytes);
}

#[test]
fn a_short_segment_is_repaired_as_short() {
    let mut path = small();
    path.drops = first(&[3, 4]);
    path.sender.supply(30_000);
    path.transmit("start");
    path.run(60_000);
    assert_eq!((path.times_sent[&3], path.times_sent[&4]), (2, 2));
    assert_eq!(sent(&path), 30_000);
    let missing = path.payload_bytes.iter().map(|bytes| 1448 - u64::from(*bytes)).sum::<u64>();
    assert_eq!(path.sender.acknowledged_shortfall_bytes(), missing);
}
