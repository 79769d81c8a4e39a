//! Time series as columns of floats.

use crate::calls::heard;
use sojourn_scenario::Scenario;
use sojourn_sim::{PacketEvent, PacketLog, Series, TransferRow};

/// Names of the columns in their order: those of links, one row per bin and link; those of flows, one row per bin and flow;
/// those of packets, one row for each that left the bottleneck's queue, or was dropped, in order of that time; those of
/// objects, one row for each that arrived as a whole, in order of that time; those of calls and of opinions as
/// `Heard` of calls.rs has them. Units are in the names, as in `sojourn run --out`; `link`, `group` and `index`
/// are indices, `dropped` is 0 or 1.
pub const COLUMNS: [&str; 35] = [
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
    "objects.group",
    "objects.index",
    "objects.asked_s",
    "objects.arrived_s",
    "objects.bytes",
    "calls.group",
    "calls.index",
    "calls.spoken_s",
    "calls.arrived_s",
    "calls.played_s",
    "opinions.group",
    "opinions.index",
    "opinions.time_s",
    "opinions.mos",
];

/// The columns of what a run of `scenario` has left.
pub fn columns(
    series: Series,
    packets: &PacketLog,
    objects: &[TransferRow],
    scenario: &Scenario,
) -> [Vec<f64>; COLUMNS.len()] {
    let (queues, flows) = (series.queues, series.flows);
    let groups: Vec<f64> = if packets.rows.is_empty() { Vec::new() } else { group_of_connections(scenario) };
    let heard = heard(packets, scenario);
    let [call_group, call_index, spoken, arrived, played] = heard.packets;
    let [opinion_group, opinion_index, opinion_time, mos] = heard.opinions;
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
        objects.iter().map(|row| f64::from(row.group)).collect(),
        objects.iter().map(|row| f64::from(row.index)).collect(),
        objects.iter().map(|row| (row.end - row.completed.time).as_secs_f64()).collect(),
        objects.iter().map(|row| row.end.as_secs_f64()).collect(),
        objects.iter().map(|row| row.completed.bytes as f64).collect(),
        call_group,
        call_index,
        spoken,
        arrived,
        played,
        opinion_group,
        opinion_index,
        opinion_time,
        mos,
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
