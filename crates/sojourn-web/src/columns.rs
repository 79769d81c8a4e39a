//! Time series as columns of floats.

use sojourn_sim::Series;

/// Names of the columns in their order: those of links, one row per bin and link, then those of flows, one row per bin and
/// flow. Units are in the names, as in `sojourn run --out`; `link` and `group` are indices.
pub const COLUMNS: [&str; 17] = [
    "queue.link",
    "queue.time_s",
    "queue.queue_packets",
    "queue.queue_bytes",
    "queue.queue_ms",
    "queue.arrivals",
    "queue.departures",
    "queue.drops",
    "queue.marks",
    "queue.sent_bytes",
    "flows.time_s",
    "flows.group",
    "flows.index",
    "flows.delivered_bytes",
    "flows.cwnd_packets",
    "flows.rtt_ms",
    "flows.one_way_delay_ms",
];

/// The columns of `series`.
pub fn columns(series: Series) -> [Vec<f64>; COLUMNS.len()] {
    let (queues, flows) = (series.queues, series.flows);
    [
        indices(&queues.link),
        queues.time_s,
        queues.queue_packets,
        queues.queue_bytes,
        queues.queue_ms,
        counts(&queues.arrivals),
        counts(&queues.departures),
        counts(&queues.drops),
        counts(&queues.marks),
        counts(&queues.sent_bytes),
        flows.time_s,
        indices(&flows.group),
        indices(&flows.index),
        counts(&flows.delivered_bytes),
        flows.cwnd_packets,
        flows.rtt_ms,
        flows.one_way_delay_ms,
    ]
}

fn indices(column: &[u32]) -> Vec<f64> {
    column.iter().copied().map(f64::from).collect()
}

/// Counts of one bin are far below 2^53.
fn counts(column: &[u64]) -> Vec<f64> {
    column.iter().map(|&count| count as f64).collect()
}
