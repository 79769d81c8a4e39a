//! Without the feature `ledbat-variants` no target follows the queue: what is never there takes no room and no code.

use sojourn_core::registry::Params;
use sojourn_core::{Span, Time};

/// The delay at losses.
#[derive(Clone, Debug)]
pub(super) enum Ceiling {}

impl Ceiling {
    pub(super) fn of(_params: &Params) -> Option<Ceiling> {
        None
    }

    pub(super) fn sample(&mut self, _queueing_nanos: i64, _now: Time, _smoothed_rtt: Span) {
        match *self {}
    }

    pub(super) fn met(&mut self) {
        match *self {}
    }

    pub(super) fn target_nanos(&self, _most: f64, _least: f64) -> f64 {
        match *self {}
    }
}
