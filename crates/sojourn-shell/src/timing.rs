//! What came of the packets, and how late they were by the clock.

use serde::Serialize;
use sojourn_core::Span;
use sojourn_sim::Times;

/// Packets of programs, and by how much they left later than the simulation said.
#[derive(Clone, Default, Debug, Serialize)]
pub struct Timing {
    /// Packets that came in.
    pub packets_in: u64,
    /// Packets that went out.
    pub packets_out: u64,
    /// Packets that the path lost, in a queue or on a link.
    pub lost: u64,
    /// Packets that the device did not take.
    pub refused: u64,
    /// What came in and was no IP packet.
    pub unread: u64,
    /// Packets that were under way at the end.
    pub under_way: u64,
    /// The longest time by which the loop woke later than it was to, in ms. What came meanwhile waited before the path, where nobody
    /// sees it.
    pub stalled_ms: f64,
    /// How late they left, in ms: the median; absent where none left.
    pub late_ms_median: Option<f64>,
    /// Its 99th percentile.
    pub late_ms_p99: Option<f64>,
    /// Its 99.9th percentile.
    pub late_ms_p999: Option<f64>,
}

impl Timing {
    /// The same with the distribution of lateness.
    pub fn with(self, late: &Times, under_way: u64) -> Timing {
        let [median, p99, p999] = late.quantiles([0.5, 0.99, 0.999]).map(|time| time.map(Span::as_millis_f64));
        Timing { late_ms_median: median, late_ms_p99: p99, late_ms_p999: p999, under_way, ..self }
    }

    /// Whether each packet that came in is accounted for.
    pub fn adds_up(&self) -> bool {
        self.packets_in == self.packets_out + self.lost + self.refused + self.under_way
    }
}
