//! Time series as columns of floats.

use sojourn_scenario::Scenario;
use sojourn_sim::{PacketEvent, PacketLog, Series};

/// Names of the columns in their order: those of links, one row per bin and link; those of flows, one row per bin and flow;
/// those of packets, one row for each that left the bottleneck's queue, or was dropped, in order of that time. Units are in
/// the names, as in `sojourn run --out`; `link` and `group` are indices, `dropped` is 0 or 1.
pub const COLUMNS: [&str; 21] = [
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
    "packets.left_s",
    "packets.waited_s",
    "packets.group",
    "packets.dropped",
];

/// The columns of `series` and of the packets of a run of `scenario`.
pub fn columns(series: Series, packets: &PacketLog, scenario: Option<&Scenario>) -> [Vec<f64>; COLUMNS.len()] {
    let (queues, flows) = (series.queues, series.flows);
    let groups: Vec<f64> = scenario.map(group_of_connections).unwrap_or_default();
    let gone = |event| matches!(event, PacketEvent::Departure | PacketEvent::Drop);
    let rows: Vec<_> = packets.rows.iter().filter(|row| gone(row.event)).collect();
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
        rows.iter().map(|row| row.time.as_secs_f64()).collect(),
        rows.iter().map(|row| row.sojourn.as_secs_f64()).collect(),
        rows.iter().map(|row| groups[row.packet.flow as usize]).collect(),
        rows.iter().map(|row| f64::from(u8::from(row.event == PacketEvent::Drop))).collect(),
    ]
}

/// The group of each connection, by the simulator's number.
fn group_of_connections(scenario: &Scenario) -> Vec<f64> {
    let groups = scenario.groups.iter().zip(0_u32..);
    let connections = |(group, number): (&sojourn_scenario::Group, u32)| {
        let count = group.flows as usize * group.traffic.connections() as usize;
        std::iter::repeat_n(f64::from(number), count)
    };
    groups.flat_map(connections).collect()
}

fn indices(column: &[u32]) -> Vec<f64> {
    column.iter().copied().map(f64::from).collect()
}

/// Counts of one bin are far below 2^53.
fn counts(column: &[u64]) -> Vec<f64> {
    column.iter().map(|&count| count as f64).collect()
}
