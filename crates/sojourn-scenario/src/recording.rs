//! A recorded link: when it could send.

use sojourn_core::{Rate, Span};

/// A recorded link: the times at which up to 1500 bytes could be sent, over and over.
#[derive(Clone, PartialEq, Debug)]
pub struct Trace {
    /// As the scenario file names it.
    pub name: String,
    /// Times in ms from the start of the recording, never decreasing; the last one is above zero and
    /// is the length of the recording, after which it repeats.
    pub opportunities_ms: Vec<u64>,
}

impl Trace {
    /// Bytes that one opportunity can carry.
    pub const OPPORTUNITY_BYTES: u32 = 1500;

    /// Whether it comes with Sojourn, so that its name is not that of a file.
    pub fn is_ready(&self) -> bool {
        self.name.starts_with(crate::ready::PREFIX)
    }

    /// Length of the recording.
    pub fn period(&self) -> Span {
        Span::from_millis(*self.opportunities_ms.last().expect("a trace is never empty"))
    }

    /// Mean rate over the recording.
    pub fn mean_rate(&self) -> Rate {
        let bytes = self.opportunities_ms.len() as f64 * f64::from(Trace::OPPORTUNITY_BYTES);
        Rate::from_bytes_over(bytes, self.period())
    }
}
