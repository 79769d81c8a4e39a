//! Writes what senders decided as qlog, one file for each connection, which qvis reads.
//!
//! The files are JSON text sequences (RFC 7464) of qlog 0.3 (draft-ietf-quic-qlog-main-schema-02), the version that QUIC stacks
//! write. Events are those of QUIC's recovery (draft-ietf-quic-qlog-quic-events); lengths are those of TCP's packets.

use crate::flow_headers;
use crate::headers::FlowHeaders;
use serde_json::{Map, Value, json};
use sojourn_core::{Span, Time};
use sojourn_scenario::Scenario;
use sojourn_sim::{Decision, DecisionLog, DecisionRow, FIRST_PORT};
use sojourn_transport::{Phase, View};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Begins each text of a sequence (RFC 7464).
const RECORD_SEPARATOR: &[u8] = b"\x1e";

const SSTHRESH: &str = "ssthresh";

/// Writes the decisions of a run of `scenario` with `seed` to files in `directory`, which exists: named as
/// [`qlog_names`] says, with a number behind for each fresh connection after the first. How many files there are.
///
/// # Errors
/// Those of the files.
pub fn write_qlogs(directory: &Path, scenario: &Scenario, seed: u64, log: &DecisionLog) -> io::Result<usize> {
    let (names, headers) = (qlog_names(scenario, seed), flow_headers(scenario));
    let mut rows: Vec<&DecisionRow> = log.rows.iter().collect();
    let of = |row: &DecisionRow| (row.connection, row.port);
    rows.sort_by_key(|row| of(row));
    let connections = rows.chunk_by(|one, next| of(one) == of(next));
    let mut files = 0;
    for rows in connections {
        let (connection, port) = of(rows[0]);
        let turn = port.wrapping_sub(FIRST_PORT);
        let name = &names[connection as usize];
        let name = if turn == 0 { name.clone() } else { format!("{name}-{}", turn + 1) };
        let file = File::create(directory.join(format!("{name}.sqlog")))?;
        write(&mut BufWriter::new(file), &name, &headers[connection as usize], rows)?;
        files += 1;
    }
    Ok(files)
}

/// What the log of each connection of a run is called, in the order of the simulator's numbers: `GROUP-FLOW-SEED`, with the
/// number of the connection behind that of the flow where a flow has several at once.
pub fn qlog_names(scenario: &Scenario, seed: u64) -> Vec<String> {
    let of_group = |group: &sojourn_scenario::Group| {
        let (name, connections) = (group.name.clone(), group.traffic.connections());
        (0..group.flows).flat_map(move |flow| {
            let name = name.clone();
            (0..connections).map(move |connection| {
                let which = if connections == 1 { String::new() } else { format!("-{connection}") };
                format!("{name}-{flow}{which}-{seed}")
            })
        })
    };
    scenario.groups.iter().flat_map(of_group).collect()
}

fn write(out: &mut impl Write, title: &str, headers: &FlowHeaders, rows: &[&DecisionRow]) -> io::Result<()> {
    text(
        out,
        &json!({
            "qlog_version": "0.3",
            "qlog_format": "JSON-SEQ",
            "title": title,
            "trace": {
                "vantage_point": {"name": title, "type": "client"},
                "common_fields": {"time_format": "relative", "reference_time": 0.0},
            },
        }),
    )?;
    let mut events = Events { headers, acknowledgements: 0, phase: None, metrics: Map::new() };
    for row in rows {
        if let Some((name, data)) = events.of(&row.decision) {
            text(out, &json!({"time": ms(row.time.since(Time::ZERO)), "name": name, "data": data}))?;
        }
    }
    out.flush()
}

fn text(out: &mut impl Write, value: &Value) -> io::Result<()> {
    out.write_all(RECORD_SEPARATOR)?;
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

fn ms(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e6
}

/// Makes events of decisions; values that have not changed are left out.
struct Events<'a> {
    headers: &'a FlowHeaders,
    acknowledgements: u64,
    phase: Option<Phase>,
    metrics: Map<String, Value>,
}

impl Events<'_> {
    fn of(&mut self, decision: &Decision) -> Option<(&'static str, Value)> {
        Some(match decision {
            Decision::Sent { number, segment, bytes, again } => {
                let kind = if segment.is_some() { "1RTT" } else { "initial" };
                let mut data = json!({"header": header(kind, *number), "raw": {"length": bytes}});
                if let Some(segment) = segment {
                    let FlowHeaders { payload_bytes, header_bytes, .. } = *self.headers;
                    let (offset, length) =
                        (u64::from(*segment) * u64::from(payload_bytes), bytes.saturating_sub(header_bytes));
                    data["frames"] =
                        json!([{"frame_type": "stream", "stream_id": 0, "offset": offset, "length": length}]);
                    data["is_retransmission"] = json!(again);
                }
                ("transport:packet_sent", data)
            }
            Decision::Acknowledged(ranges) => {
                let number = self.acknowledgements;
                self.acknowledgements += 1;
                let frames = json!([{"frame_type": "ack", "acked_ranges": ranges}]);
                ("transport:packet_received", json!({"header": header("1RTT", number), "frames": frames}))
            }
            Decision::Lost { number, timeout } => {
                let mut data = json!({"header": header("1RTT", *number)});
                if *timeout {
                    data["trigger"] = json!("pto_expired");
                }
                ("recovery:packet_lost", data)
            }
            Decision::Phase(new) => {
                let old = self.phase.replace(*new);
                // A loss is answered even where the answer is the value of the last time.
                if matches!(new, Phase::Recovery | Phase::Loss) {
                    self.metrics.remove(SSTHRESH);
                }
                let mut data = json!({"new": name(*new)});
                if let Some(old) = old {
                    data["old"] = json!(name(old));
                }
                ("recovery:congestion_state_updated", data)
            }
            Decision::Metrics { view, latest_rtt } => {
                let changed = self.changed(view, *latest_rtt);
                if changed.is_empty() {
                    return None;
                }
                ("recovery:metrics_updated", Value::Object(changed))
            }
        })
    }

    /// What is not as it was before.
    fn changed(&mut self, view: &View, latest_rtt: Option<Span>) -> Map<String, Value> {
        let known = |span: Span| (!span.is_zero() && span != Span::MAX).then(|| json!(ms(span)));
        let values = [
            ("congestion_window", Some(json!(view.window_bytes as u64))),
            (SSTHRESH, (view.threshold_bytes < u32::MAX.into()).then(|| json!(view.threshold_bytes as u64))),
            ("bytes_in_flight", Some(json!(view.in_flight_bytes))),
            ("latest_rtt", latest_rtt.and_then(known)),
            ("smoothed_rtt", known(view.smoothed_rtt)),
            ("rtt_variance", known(view.rtt_variance)),
            ("min_rtt", known(view.min_rtt)),
            ("pacing_rate", view.pacing_rate.map(|rate| json!(rate.bits_per_second()))),
        ];
        let mut changed = Map::new();
        for (key, value) in values {
            if let Some(value) = value
                && self.metrics.get(key) != Some(&value)
            {
                self.metrics.insert(key.to_owned(), value.clone());
                changed.insert(key.to_owned(), value);
            }
        }
        changed
    }
}

fn header(kind: &str, number: u64) -> Value {
    json!({"packet_type": kind, "packet_number": number})
}

fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::Handshake => "handshake",
        Phase::SlowStart => "slow_start",
        Phase::CongestionAvoidance => "congestion_avoidance",
        Phase::Recovery => "recovery",
        Phase::Loss => "loss",
    }
}
