//! The tables of a run as columns: what a run leaves beside its record, for whoever takes numbers in memory order.

use sojourn_scenario::Scenario;
use sojourn_sim::{
    FlowProbes, FlowSeries, Outcome, PacketEvent, PacketLog, Probes, QueueProbes, QueueSeries, TransferRow, named_links,
};
use sojourn_transport::SegmentKind;
use std::io::{self, Write};

/// One column.
#[derive(Clone, Debug)]
pub struct Column {
    /// What it is called.
    pub name: &'static str,
    /// The type of its values in numpy's notation.
    pub dtype: &'static str,
    /// Its values, little-endian.
    pub values: Vec<u8>,
    /// What its values are codes of, where they are.
    pub categories: Option<Vec<String>>,
}

/// A value with a fixed little-endian form.
pub trait Value: Copy {
    /// In numpy notation.
    const DTYPE: &'static str;
    /// Adds its bytes.
    fn write(self, bytes: &mut Vec<u8>);
}

macro_rules! value {
    ($($kind:ty: $dtype:literal),*) => {
        $(impl Value for $kind {
            const DTYPE: &'static str = $dtype;
            fn write(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
        })*
    };
}

value!(u8: "<u1", u32: "<u4", u64: "<u8", f64: "<f8");

/// A column of plain values.
pub fn plain<T: Value>(name: &'static str, rows: impl ExactSizeIterator<Item = T>) -> Column {
    let mut values = Vec::with_capacity(rows.len() * size_of::<T>());
    rows.for_each(|value| value.write(&mut values));
    Column { name, dtype: T::DTYPE, values, categories: None }
}

/// A column of codes into `categories`.
pub fn coded<T: Value>(
    name: &'static str,
    codes: impl ExactSizeIterator<Item = T>,
    categories: impl IntoIterator<Item = impl Into<String>>,
) -> Column {
    Column { categories: Some(categories.into_iter().map(Into::into).collect()), ..plain(name, codes) }
}

/// The table `name` of a run of `scenario`, one of `queue`, `flows`, `queue_probes`, `flow_probes`, `packets` and `transfers`.
///
/// # Errors
/// A sentence where there is no such table, or the run does not keep it.
pub fn table(scenario: &Scenario, outcome: &Outcome, name: &str) -> Result<Vec<Column>, String> {
    let series = || outcome.series.as_ref().ok_or("no time series were kept");
    Ok(match name {
        "queue" => queue_columns(scenario, &series()?.queues),
        "flows" => flow_columns(scenario, &series()?.flows),
        "queue_probes" => queue_probe_columns(scenario, &series()?.queue_probes),
        "flow_probes" => flow_probe_columns(scenario, &series()?.flow_probes),
        "packets" => packet_columns(scenario, outcome.packets.as_ref().ok_or("no packets were kept")?),
        "transfers" => transfer_columns(scenario, outcome.transfers.as_deref().ok_or("no transfers were kept")?),
        _ => return Err(format!("no table is called {name:?}")),
    })
}

/// Writes a table to `out`: a line of JSON with name, type, bytes and categories of each column, then the values of one after
/// the other.
///
/// # Errors
/// Those of `out`.
pub fn write_table(out: &mut impl Write, columns: &[Column]) -> io::Result<()> {
    let heads: Vec<_> =
        columns.iter().map(|one| serde_json::json!([one.name, one.dtype, one.values.len(), one.categories])).collect();
    writeln!(out, "{}", serde_json::Value::from(heads))?;
    columns.iter().try_for_each(|column| out.write_all(&column.values))
}

fn queue_columns(scenario: &Scenario, series: &QueueSeries) -> Vec<Column> {
    vec![
        coded("link", series.link.iter().copied(), named_links(scenario).into_iter().map(|(name, ..)| name)),
        plain("time_s", series.time_s.iter().copied()),
        plain("queue_packets", series.queue_packets.iter().copied()),
        plain("queue_bytes", series.queue_bytes.iter().copied()),
        plain("queue_ms", series.queue_ms.iter().copied()),
        plain("arrivals", series.arrivals.iter().copied()),
        plain("departures", series.departures.iter().copied()),
        plain("drops", series.drops.iter().copied()),
        plain("marks", series.marks.iter().copied()),
        plain("sent_bytes", series.sent_bytes.iter().copied()),
    ]
}

fn flow_columns(scenario: &Scenario, series: &FlowSeries) -> Vec<Column> {
    vec![
        plain("time_s", series.time_s.iter().copied()),
        coded("group", series.group.iter().copied(), group_names(scenario)),
        plain("index", series.index.iter().copied()),
        plain("delivered_bytes", series.delivered_bytes.iter().copied()),
        plain("cwnd_packets", series.cwnd_packets.iter().copied()),
        plain("rtt_ms", series.rtt_ms.iter().copied()),
        plain("one_way_delay_ms", series.one_way_delay_ms.iter().copied()),
    ]
}

fn queue_probe_columns(scenario: &Scenario, series: &QueueProbes) -> Vec<Column> {
    let link = coded("link", series.link.iter().copied(), named_links(scenario).into_iter().map(|(name, ..)| name));
    [vec![link], probe_columns(&series.probes)].concat()
}

fn flow_probe_columns(scenario: &Scenario, series: &FlowProbes) -> Vec<Column> {
    let group = coded("group", series.group.iter().copied(), group_names(scenario));
    let index = plain("index", series.index.iter().copied());
    [vec![group, index], probe_columns(&series.probes)].concat()
}

fn probe_columns(probes: &Probes) -> Vec<Column> {
    vec![
        plain("time_s", probes.time_s.iter().copied()),
        coded("name", probes.name.iter().copied(), probes.names.iter().map(String::as_str)),
        plain("value", probes.value.iter().copied()),
    ]
}

fn packet_columns(scenario: &Scenario, log: &PacketLog) -> Vec<Column> {
    let rows = || log.rows.iter();
    let flows = flow_places(scenario);
    let place = |flow: u32| flows[flow as usize];
    vec![
        plain("time_ns", rows().map(|row| row.time.as_nanos())),
        coded("event", rows().map(|row| row.event as u8), PacketEvent::NAMES),
        coded("group", rows().map(|row| place(row.packet.flow).0), group_names(scenario)),
        plain("index", rows().map(|row| place(row.packet.flow).1)),
        coded("kind", rows().map(|row| kind_code(row.packet.body.kind)), KINDS),
        plain("seq", rows().map(|row| u64::from(row.packet.body.number))),
        plain("size_bytes", rows().map(|row| row.packet.bytes)),
        coded("ecn", rows().map(|row| row.packet.ecn as u8), ECN),
        plain("dscp", rows().map(|row| row.packet.dscp.number())),
        plain("sojourn_ns", rows().map(|row| row.sojourn.as_nanos())),
    ]
}

fn transfer_columns(scenario: &Scenario, rows: &[TransferRow]) -> Vec<Column> {
    let of = |value: fn(&TransferRow) -> f64| rows.iter().map(value);
    vec![
        plain("end_s", of(|row| row.end.as_secs_f64())),
        coded("group", rows.iter().map(|row| row.group), group_names(scenario)),
        plain("index", rows.iter().map(|row| row.index)),
        plain("size_bytes", rows.iter().map(|row| row.completed.bytes)),
        plain("completion_ms", of(|row| row.completed.time.as_millis_f64())),
        plain("waited_ms", of(|row| row.completed.waited.as_millis_f64())),
    ]
}

fn group_names(scenario: &Scenario) -> impl Iterator<Item = &str> {
    scenario.groups.iter().map(|group| group.name.as_str())
}

/// Group and index within it of the flow of each connection, by the simulator's number.
fn flow_places(scenario: &Scenario) -> Vec<(u32, u32)> {
    let groups = scenario.groups.iter().zip(0..);
    let places = groups.flat_map(|(group, number)| {
        let connections = 0..group.traffic.connections();
        (0..group.flows).flat_map(move |index| connections.clone().map(move |_| (number, index)))
    });
    places.collect()
}

const KINDS: [&str; 9] = ["data", "ack", "syn", "syn-ack", "datagram", "request", "probe", "echo", "ping"];

/// ECN fields in the order of their discriminants.
const ECN: [&str; 4] = ["not-ect", "ect1", "ect0", "ce"];

fn kind_code(kind: SegmentKind) -> u8 {
    match kind {
        SegmentKind::Data | SegmentKind::DataAck => 0,
        SegmentKind::Ack => 1,
        SegmentKind::Syn => 2,
        SegmentKind::SynAck => 3,
        SegmentKind::Datagram => 4,
        SegmentKind::Request => 5,
        SegmentKind::Probe => 6,
        SegmentKind::Echo => 7,
        SegmentKind::Ping => 8,
    }
}
