//! What somebody wants to know of a run.

use sojourn_core::Span;

/// What to keep of a run beside its record.
#[derive(Clone, Copy, Default, Debug)]
pub struct Wanted {
    /// Time series with bins of this length.
    pub bin: Option<Span>,
    /// Rows of packets at the bottleneck and at both ends of their way.
    pub packets: bool,
    /// In the time series, what disciplines and controls show of themselves.
    pub probes: bool,
    /// A row for each transfer that ended.
    pub transfers: bool,
    /// What every sender decides: a row for each packet sent, acknowledged or taken for lost, and each change of its state.
    pub decisions: bool,
    /// In the record, the one-way delays and start-up times of every group.
    pub delays: bool,
}
