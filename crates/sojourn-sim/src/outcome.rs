//! What a run leaves, who watches it, and why it may leave nothing.

use crate::decisions::DecisionLog;
use crate::packets::PacketLog;
use crate::record::Record;
use crate::series::Series;
use crate::world::TransferRow;
use sojourn_core::Span;
use sojourn_core::plugin::Failure;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a run leaves.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// Its record.
    pub record: Record,
    /// Its time series, where they were wanted.
    pub series: Option<Series>,
    /// Its packets, where they were wanted.
    pub packets: Option<PacketLog>,
    /// What its senders decided, where it was wanted.
    pub decisions: Option<DecisionLog>,
    /// Its transfers in the order in which they ended, where they were wanted.
    pub transfers: Option<Vec<TransferRow>>,
}

/// Lets another thread see how far runs are, and stop them.
#[derive(Default, Debug)]
pub struct Monitor {
    simulated_nanos: AtomicU64,
    stop: AtomicBool,
}

impl Monitor {
    /// Asks all runs to stop soon.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether they were asked to.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A run has come further by `time`.
    pub(crate) fn note(&self, time: Span) {
        self.simulated_nanos.fetch_add(time.as_nanos(), Ordering::Relaxed);
    }

    /// Simulated time of all runs together.
    pub fn simulated(&self) -> Span {
        Span::from_nanos(self.simulated_nanos.load(Ordering::Relaxed))
    }
}

/// Why a run has no outcome.
#[derive(Clone, PartialEq, Debug)]
pub enum Stopped {
    /// The monitor was told to stop.
    Asked,
    /// A plug-in failed.
    Failed(Failure),
    /// Buffers or lines need more memory than there is.
    OutOfMemory,
}
