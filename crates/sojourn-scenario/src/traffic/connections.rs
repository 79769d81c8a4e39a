//! Traffic over connections: bulk, on and off, messages, transfers that arrive, pages of a browser, adaptive video.

use super::sizes::{COUNTS, SIZES, Sizes};
use crate::declare::{bytes, flag, held, integer, ladder, number, select, span, table, word};
use crate::form::{LONGEST, MOMENT};
use sojourn_core::{Rate, Span, choices};
use std::ops::RangeInclusive;

table! {
    /// always has data, or sends one transfer of a given size whose completion time is recorded
    pub struct Bulk = BULK, "bulk" => {
        /// payload bytes to send
        size_bytes as "size": Option<u64> = bytes(1..=1_000_000_000_000_000).unless("without end", "1 MB"),
    }
}

choices! {
    /// How long on and off times are.
    pub enum Times {
        /// Exponential.
        Exponential = "exponential",
        /// Always their means.
        Fixed = "fixed",
    }
    /// Over what a flow sends after an off time.
    pub enum AfterOff {
        /// The connection that it had.
        Kept = "kept",
        /// A new one.
        Fresh = "fresh",
    }
}

held! { Times: |this| this.value(), AfterOff: |this| this.value() }

table! {
    /// on and off times, exponential or always the same; sends as bulk while on
    pub struct OnOff = ON_OFF, "on-off" => {
        /// mean of the on times
        on: Span = span(Span::from_millis(1)..=LONGEST).or("1 s", "2 s"),
        /// mean of the off times; with zero the flow is always on, which is bulk
        off: Span = span(MOMENT).or("1 s", "1 s"),
        /// whether on and off times are drawn for each flow, or always have their means; a group whose flows all come and go together has fixed ones
        times: Times = word().or("exponential", "\"fixed\""),
        /// over what a flow sends after an off time: the connection it had, whose window is what the transport's after_idle leaves of it (kept), or a new one that knows nothing of the path, begins with a handshake and gives up what the old one had not delivered (fresh)
        connection: AfterOff = word().or("kept", "\"fresh\""),
    }
}

table! {
    /// messages of one size at a constant interval over one connection, as games and remote terminals send them;
    /// each is written at its time, whatever has become of those before. Completion times, from the writing
    /// of a message to the arrival of its last byte in order, are recorded
    pub struct Messages = MESSAGES, "messages" => {
        /// payload bytes of a message
        size_bytes as "size": u64 = bytes(1..=1_000_000_000).required("100 B"),
        /// from one message to the next
        every: Span = span(Span::from_micros(1)..=LONGEST).required("100 ms"),
    }
}

/// Mean times between arrivals.
pub(crate) const INTERVAL: RangeInclusive<Span> = Span::from_micros(1)..=LONGEST;

table! {
    /// transfers that arrive as a Poisson process of each flow, every one over a fresh connection; what arrives when
    /// all connections of the flow are busy waits for the first that is not. Completion times, from the
    /// arrival on, are recorded by size
    pub(crate) struct Arrivals = TRANSFERS, "transfers", one_of &["interval", "load"] => {
        /// mean time between two arrivals of a flow
        interval: Option<Span> = span(INTERVAL).unless("follows from `load`", "10 s"),
        /// payload that all flows of the group want to send, as a share of the rate of the main link of
        /// their direction, or of its mean rate; above 0 and at most 1
        load: Option<f64> = number(0.0..=1000.0).unless("follows from `interval`", "0.5"),
        /// payload bytes of a transfer: a size, or a table with `kind` and its keys
        sizes as "size": Sizes = select(&SIZES)
            .required("{ kind = \"pareto\", min = \"10 kB\", max = \"10 MB\", shape = 1.2 }"),
        /// how many connections a flow may have at once; a hundred are enough for nearly any load that the
        /// link can carry
        connections: u32 = integer(1..=10_000).or("1", "100"),
    }
}

/// Transfers that come at random times, each over a connection of its own.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Transfers {
    /// Mean of the exponential times between their arrivals.
    pub interval: Span,
    /// Their sizes.
    pub sizes: Sizes,
    /// How many connections a flow may have at once.
    pub connections: u32,
}

impl Transfers {
    /// As a file that says the interval has it.
    pub(crate) fn arrivals(&self) -> Arrivals {
        let Transfers { interval, sizes, connections } = *self;
        Arrivals { interval: Some(interval), load: None, sizes, connections }
    }
}

table! {
    /// pages of a browser, one after the other: the first object of a page comes alone, then the others over as many
    /// connections as are allowed; every object is asked for by a packet that crosses the network to the sender.
    /// Page times, from the first request to the last byte, and those of the objects are recorded
    pub struct Web = WEB, "web" => {
        /// how many objects a page has: a number, or a table with `kind` and its keys
        objects: Sizes = select(&COUNTS).required("10"),
        /// payload bytes of an object: a size, or a table with `kind` and its keys
        sizes as "size": Sizes = select(&SIZES)
            .required("{ kind = \"log-normal\", median = \"10 kB\", sigma = 1.5, max = \"5 MB\" }"),
        /// how many connections fetch objects at once; with 1 they come in sequence
        connections: u32 = integer(1..=10_000).or("6", "1"),
        /// whether a connection is kept for further objects of its page, which then fill whole packets; if not
        /// every object has a fresh one
        reuse: bool = flag().or("true", "false"),
        /// payload bytes of a request
        request_bytes as "request": u32 = bytes(0..=60_000).or("400 B", "700 B"),
        /// mean of the exponential times between the end of a page and the first request of the next; with zero
        /// pages come back to back
        think: Span = span(MOMENT).or("0 s", "5 s"),
    }
}

table! {
    /// adaptive streaming over one connection: segments of equal play time, each asked for when the one before has
    /// arrived and the player's buffer has room, at the highest rate of the ladder that the throughput allows;
    /// the player starts, and resumes after a stall, with one segment in its buffer
    pub struct Video = VIDEO, "video" => {
        /// rates of the video, each above the one before
        ladder: Vec<Rate> = ladder(100).or(
            "[\"145 kbit/s\", \"365 kbit/s\", \"730 kbit/s\", \"1.1 Mbit/s\", \"2 Mbit/s\", \"3 Mbit/s\", \
             \"4.5 Mbit/s\", \"6 Mbit/s\", \"7.8 Mbit/s\"]",
            "[\"1 Mbit/s\", \"3 Mbit/s\", \"6 Mbit/s\"]",
        ),
        /// play time of a segment
        segment: Span = span(Span::from_millis(100)..=Span::from_secs(60)).or("6 s", "4 s"),
        /// play time that the player's buffer holds, at least two segments
        buffer: Span = span(Span::from_millis(200)..=Span::from_secs(3600)).or("30 s", "60 s"),
        /// segments whose throughputs, from request to last byte, are averaged
        samples: usize = integer(1..=100).or("4", "3"),
        /// share of that throughput which the rate may take
        safety: f64 = number(0.01..=1.0).or("0.9", "0.8"),
        /// share of that throughput, times the segments in the buffer, which the rate may take
        low_buffer_safety: f64 = number(0.01..=1.0).or("0.7", "0.5"),
    }
}
