//! Without the feature `l4s` nobody counts marks: what is never there takes no room and no code.

use crate::segment::Segment;
use sojourn_queue::Ecn;

pub(crate) type Held<T> = T;

/// The receiver's counters.
#[derive(Debug)]
pub(crate) enum Counts {}

impl Counts {
    pub(crate) fn start(_option: bool) -> Option<Held<Counts>> {
        None
    }

    pub(crate) fn on_packet(&mut self, _marked: bool, _before: bool) -> bool {
        match *self {}
    }

    pub(crate) fn on_bytes(&mut self, _ecn: Ecn, _bytes: u32) {
        match *self {}
    }

    pub(crate) fn write(&mut self, _ack: &mut Segment) {
        match *self {}
    }
}

/// What the sender knows of the receiver's counters.
#[derive(Debug)]
pub(crate) enum Decoder {}

impl Decoder {
    pub(crate) fn start(_payload_bytes: u32) -> Option<Held<Decoder>> {
        None
    }

    pub(crate) fn decode(&mut self, _ack: &Segment, _newly: u32) -> u32 {
        match *self {}
    }
}
