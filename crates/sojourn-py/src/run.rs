//! `sojourn._native.Run`.

use crate::columns::{Column, coded, plain};
use crate::errors;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_scenario::Scenario;
use sojourn_sim::{
    FlowProbes, FlowSeries, Outcome, PacketEvent, PacketLog, Probes, QueueProbes, QueueSeries, TransferRow, named_links,
};
use sojourn_transport::SegmentKind;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

#[pyclass(frozen, module = "sojourn._native")]
pub struct Run {
    scenario: Arc<Scenario>,
    outcome: Outcome,
}

#[pymethods]
impl Run {
    #[getter]
    fn seed(&self) -> u64 {
        self.outcome.record.seed
    }

    fn record(&self) -> PyResult<String> {
        serde_json::to_string(&self.outcome.record).map_err(errors::defect)
    }

    fn measured(&self) -> PyResult<String> {
        let mut record = self.outcome.record.clone();
        record.flows.clear();
        serde_json::to_string(&record).map_err(errors::defect)
    }

    fn table<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Vec<Column<'py>>> {
        let series = || self.outcome.series.as_ref().ok_or_else(|| PyValueError::new_err("no time series were kept"));
        match name {
            "queue" => Ok(queue_columns(py, &self.scenario, &series()?.queues)),
            "flows" => Ok(flow_columns(py, &self.scenario, &series()?.flows)),
            "queue_probes" => Ok(queue_probe_columns(py, &self.scenario, &series()?.queue_probes)),
            "flow_probes" => Ok(flow_probe_columns(py, &self.scenario, &series()?.flow_probes)),
            "packets" => Ok(packet_columns(py, &self.scenario, self.packets()?)),
            "transfers" => Ok(transfer_columns(py, &self.scenario, self.transfers()?)),
            _ => Err(PyValueError::new_err(format!("no table is called {name:?}"))),
        }
    }

    fn write_pcap(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let packets = self.packets()?;
        py.detach(|| {
            let mut file = BufWriter::new(File::create(path)?);
            sojourn_capture::write(&mut file, &self.scenario, packets)?;
            file.flush()
        })?;
        Ok(())
    }

    fn write_qlogs(&self, py: Python<'_>, directory: PathBuf) -> PyResult<usize> {
        let decisions = self.outcome.decisions.as_ref();
        let log = decisions.ok_or_else(|| PyValueError::new_err("no decisions were kept"))?;
        Ok(py.detach(|| sojourn_capture::write_qlogs(&directory, &self.scenario, self.seed(), log))?)
    }
}

impl Run {
    /// A run of `scenario`.
    pub fn new(scenario: Arc<Scenario>, outcome: Outcome) -> Run {
        Run { scenario, outcome }
    }

    fn transfers(&self) -> PyResult<&[TransferRow]> {
        self.outcome.transfers.as_deref().ok_or_else(|| PyValueError::new_err("no transfers were kept"))
    }

    fn packets(&self) -> PyResult<&PacketLog> {
        self.outcome.packets.as_ref().ok_or_else(|| PyValueError::new_err("no packets were kept"))
    }
}

fn queue_columns<'py>(py: Python<'py>, scenario: &Scenario, series: &QueueSeries) -> Vec<Column<'py>> {
    vec![
        coded(py, "link", series.link.iter().copied(), named_links(scenario).into_iter().map(|(name, ..)| name)),
        plain(py, "time_s", series.time_s.iter().copied()),
        plain(py, "queue_packets", series.queue_packets.iter().copied()),
        plain(py, "queue_bytes", series.queue_bytes.iter().copied()),
        plain(py, "queue_ms", series.queue_ms.iter().copied()),
        plain(py, "arrivals", series.arrivals.iter().copied()),
        plain(py, "departures", series.departures.iter().copied()),
        plain(py, "drops", series.drops.iter().copied()),
        plain(py, "marks", series.marks.iter().copied()),
        plain(py, "sent_bytes", series.sent_bytes.iter().copied()),
    ]
}

fn flow_columns<'py>(py: Python<'py>, scenario: &Scenario, series: &FlowSeries) -> Vec<Column<'py>> {
    vec![
        plain(py, "time_s", series.time_s.iter().copied()),
        coded(py, "group", series.group.iter().copied(), group_names(scenario)),
        plain(py, "index", series.index.iter().copied()),
        plain(py, "delivered_bytes", series.delivered_bytes.iter().copied()),
        plain(py, "cwnd_packets", series.cwnd_packets.iter().copied()),
        plain(py, "rtt_ms", series.rtt_ms.iter().copied()),
        plain(py, "one_way_delay_ms", series.one_way_delay_ms.iter().copied()),
    ]
}

fn queue_probe_columns<'py>(py: Python<'py>, scenario: &Scenario, series: &QueueProbes) -> Vec<Column<'py>> {
    let link = coded(py, "link", series.link.iter().copied(), named_links(scenario).into_iter().map(|(name, ..)| name));
    [vec![link], probe_columns(py, &series.probes)].concat()
}

fn flow_probe_columns<'py>(py: Python<'py>, scenario: &Scenario, series: &FlowProbes) -> Vec<Column<'py>> {
    let group = coded(py, "group", series.group.iter().copied(), group_names(scenario));
    let index = plain(py, "index", series.index.iter().copied());
    [vec![group, index], probe_columns(py, &series.probes)].concat()
}

fn probe_columns<'py>(py: Python<'py>, probes: &Probes) -> Vec<Column<'py>> {
    vec![
        plain(py, "time_s", probes.time_s.iter().copied()),
        coded(py, "name", probes.name.iter().copied(), probes.names.iter().map(String::as_str)),
        plain(py, "value", probes.value.iter().copied()),
    ]
}

fn packet_columns<'py>(py: Python<'py>, scenario: &Scenario, log: &PacketLog) -> Vec<Column<'py>> {
    let rows = || log.rows.iter();
    let flows = flow_places(scenario);
    let place = |flow: u32| flows[flow as usize];
    vec![
        plain(py, "time_ns", rows().map(|row| row.time.as_nanos())),
        coded(py, "event", rows().map(|row| row.event as u8), PacketEvent::NAMES),
        coded(py, "group", rows().map(|row| place(row.packet.flow).0), group_names(scenario)),
        plain(py, "index", rows().map(|row| place(row.packet.flow).1)),
        coded(py, "kind", rows().map(|row| kind_code(row.packet.body.kind)), KINDS),
        plain(py, "seq", rows().map(|row| u64::from(row.packet.body.number))),
        plain(py, "size_bytes", rows().map(|row| row.packet.bytes)),
        coded(py, "ecn", rows().map(|row| row.packet.ecn as u8), ECN),
        plain(py, "dscp", rows().map(|row| row.packet.dscp.number())),
        plain(py, "sojourn_ns", rows().map(|row| row.sojourn.as_nanos())),
    ]
}

fn transfer_columns<'py>(py: Python<'py>, scenario: &Scenario, rows: &[TransferRow]) -> Vec<Column<'py>> {
    let of = |value: fn(&TransferRow) -> f64| rows.iter().map(value);
    vec![
        plain(py, "end_s", of(|row| row.end.as_secs_f64())),
        coded(py, "group", rows.iter().map(|row| row.group), group_names(scenario)),
        plain(py, "index", rows.iter().map(|row| row.index)),
        plain(py, "size_bytes", rows.iter().map(|row| row.completed.bytes)),
        plain(py, "completion_ms", of(|row| row.completed.time.as_millis_f64())),
        plain(py, "waited_ms", of(|row| row.completed.waited.as_millis_f64())),
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
