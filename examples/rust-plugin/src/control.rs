//! Additive increase, multiplicative decrease (RFC 5681), with the share that a loss leaves as a parameter.

use sojourn_congestion::{Ack, Congestion, Control, Path, Signal};
use sojourn_core::registry::{Descriptor, Kind, Parameter, Params, Value};

pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "my-control",
    summary: "additive increase, multiplicative decrease",
    sources: &["RFC 5681"],
    parameters: &[Parameter {
        name: "keep",
        kind: Kind::Number { min: 0.1, max: 0.99 },
        default: Value::Number(0.5),
        description: "share of the window that a loss leaves",
    }],
    ..Descriptor::PLAIN
};

#[derive(Clone, Debug)]
pub struct MyControl {
    window: f64,
    threshold: f64,
    keep: f64,
}

impl MyControl {
    pub fn new(params: &Params, path: &Path) -> MyControl {
        MyControl { window: path.initial_window, threshold: f64::INFINITY, keep: params.number("keep") }
    }
}

impl Control for MyControl {
    fn on_ack(&mut self, ack: &Ack) {
        let acked = f64::from(ack.newly_acked);
        if !ack.in_recovery && ack.window_limited {
            self.window += if self.window < self.threshold { acked } else { acked / self.window };
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if event.signal != (Signal::Timeout { repeated: true }) {
            self.threshold = (self.window * self.keep).max(2.0);
        }
        self.window = if matches!(event.signal, Signal::Timeout { .. }) { 1.0 } else { self.threshold };
    }

    fn set_window(&mut self, window: f64, threshold: f64) {
        (self.window, self.threshold) = (window, threshold);
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn slow_start_threshold(&self) -> f64 {
        self.threshold
    }
}
