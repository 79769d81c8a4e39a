//! The sender's side: what it may send, and what it echoes.

use super::{NO_ECHO, WINDOW_BITS, apart};
use crate::segment::Segment;

/// What the receiver has granted.
#[derive(Debug)]
pub(crate) struct Granted {
    payload_bytes: u64,
    scale: u8,
    /// One past the last segment that it has room for.
    end: u32,
    /// What data echoes.
    echo_nanos: i64,
}

impl Granted {
    /// Before the first acknowledgement: a window of `first` segments, which the SYN/ACK tells.
    pub(crate) fn new(payload_bytes: u32, scale: u8, first: u32) -> Granted {
        Granted { payload_bytes: u64::from(payload_bytes), scale, end: first, echo_nanos: NO_ECHO }
    }

    /// Reads an acknowledgement: the same as one without a window.
    pub(crate) fn read(&mut self, ack: &Segment) -> Segment {
        let window = u64::from(ack.delay_nanos as u16) << self.scale;
        let edge = u64::from(ack.number) * self.payload_bytes + window;
        // SND.WL2 of RFC 9293: an acknowledgement that was overtaken takes nothing back.
        self.end = self.end.max((edge / self.payload_bytes).min(u64::from(u32::MAX)) as u32);
        let clock = ack.delay_nanos >> WINDOW_BITS;
        // TS.Recent of RFC 7323 section 4.3 is the latest.
        if self.echo_nanos == NO_ECHO || apart(clock, self.echo_nanos) > 0 {
            self.echo_nanos = clock;
        }
        Segment { delay_nanos: apart(clock, ack.stamp.as_nanos() as i64), ..*ack }
    }

    /// What data echoes: nothing before the first acknowledgement.
    pub(crate) fn echo_nanos(&self) -> i64 {
        self.echo_nanos
    }

    /// One past the last segment that the receiver has room for.
    pub(crate) fn end(&self) -> u32 {
        self.end
    }
}
