//! Captures: writes what crosses the bottleneck as a pcapng file that Wireshark and tshark read, and reads those of others.
//!
//! Packets are captured when they leave the queue for the link, headers only, with the time of the
//! simulation and its nanoseconds. The simulator moves small values instead of bytes, so the headers
//! are made here: IPv4 and TCP or UDP, one pair of addresses for each flow.

mod headers;
mod pcapng;
mod qlog;
pub mod read;
mod tables;

pub use qlog::{qlog_names, write_qlogs};
pub use tables::{Column, Value, coded, plain, table, write_table};

use headers::{FlowHeaders, headers};
use sojourn_scenario::Scenario;
use sojourn_sim::{PacketEvent, PacketLog};
use sojourn_transport::Options;
use std::io::{self, Write};

/// Writes the departures of `log`, packets of a run of `scenario`, to `out`.
///
/// # Errors
/// Those of `out`.
pub fn write(out: &mut impl Write, scenario: &Scenario, log: &PacketLog) -> io::Result<()> {
    let flows = flow_headers(scenario);
    pcapng::begin(out, "bottleneck")?;
    let departures = log.rows.iter().filter(|row| row.event == PacketEvent::Departure);
    for row in departures {
        let bytes = headers(&row.packet, &flows[row.packet.flow as usize]);
        pcapng::packet(out, row.time.as_nanos(), &bytes, row.packet.bytes)?;
    }
    Ok(())
}

/// What the headers of each flow need, in the order of the simulator's flow numbers.
fn flow_headers(scenario: &Scenario) -> Vec<FlowHeaders> {
    let of_group = |group: &sojourn_scenario::Group| {
        let options = Options::new(&group.transport).expect("a scenario is checked");
        let is_tcp = group.traffic.datagram_bytes().is_none();
        let flow = FlowHeaders {
            payload_bytes: options.payload_bytes,
            header_bytes: options.header_bytes,
            timestamps: options.timestamps && is_tcp,
            answers: group.connections_of.is_some(),
        };
        std::iter::repeat_n(flow, (group.flows * group.traffic.connections()) as usize)
    };
    scenario.groups.iter().flat_map(of_group).collect()
}
