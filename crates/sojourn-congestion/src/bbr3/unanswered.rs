//! Without the feature `l4s` marks have no answer of their own.

use super::{Bbr3, Seen};
use core::convert::Infallible;
use sojourn_core::registry::Params;

/// What is known of marks: nothing ever.
pub(super) type Marks = Infallible;

/// There are none.
pub(super) fn of(_params: &Params) -> Option<Marks> {
    None
}

pub(super) fn retune(_marks: &mut Option<Marks>, _fresh: &Option<Marks>) {}

pub(super) fn alpha(_marks: &Option<Marks>) -> f64 {
    f64::NAN
}

impl Bbr3 {
    pub(super) fn update_marks(&mut self, _seen: &Seen<'_>, _marked: u32) {}

    pub(super) fn bound_of_marks(&mut self) -> f64 {
        f64::INFINITY
    }

    pub(super) fn forget_marks(&mut self) {}

    pub(super) fn marks_are_too_many(&mut self, _seen: &Seen<'_>) -> bool {
        false
    }

    pub(super) fn probe_after_marks(&self, _seen: &Seen<'_>) -> Option<u32> {
        None
    }
}
