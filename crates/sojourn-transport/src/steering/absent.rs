//! Without the feature `rledbat` no receiver steers: what is never there takes no room and no code.

use crate::segment::Segment;
use sojourn_core::Time;

pub(crate) type Held<T> = T;

/// The receiver's side.
#[derive(Debug)]
pub(crate) enum Steering {}

impl Steering {
    pub(crate) fn set_clock(&mut self, _nanos: i64) {
        match *self {}
    }

    pub(crate) fn on_data(&mut self, _arrived: &Segment, _is_new: bool, _has_gap: bool, _marked: bool, _now: Time) {
        match *self {}
    }

    pub(crate) fn write(&mut self, _ack: &mut Segment) {
        match *self {}
    }
}

/// The sender's side.
#[derive(Debug)]
pub(crate) enum Granted {}

impl Granted {
    pub(crate) fn read(&mut self, _ack: &Segment) -> Segment {
        match *self {}
    }

    pub(crate) fn echo_nanos(&self) -> i64 {
        match *self {}
    }

    pub(crate) fn end(&self) -> u32 {
        match *self {}
    }
}
