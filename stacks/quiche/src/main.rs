//! Connections of quiche behind a scenario's path, in virtual time; prints the run's record as JSON.
//!
//! `sojourn-stack-quiche SCENARIO [SEED]`, as for all stacks of Sojourn. The control is quiche's `cubic` (the
//! default), `reno` or `bbr`, its BBRv2. Linux only: `machine` says why.
//!
//! The same seed gives the same record: names of connections, what TLS draws and which packet numbers quiche leaves out are of
//! the seed. What BoringSSL draws within itself and the date in its tickets are not: they have always the same length, and change
//! what is in a datagram only.

mod keys;
mod machine;
mod stack;

use machine::Machine;
use quiche::{Config, CongestionControlAlgorithm, PROTOCOL_VERSION};
use sojourn_endpoint::{Asked, Connection, command};
use stack::Quiche;
use std::error::Error;
use std::fs::File;
use std::process::ExitCode;

/// Room for what is under way on any path of the ready scenarios: nothing but the congestion window is to hold a sender back.
const WINDOW_BYTES: u64 = 64_000_000;
/// Packets of 1480 bytes with their headers.
const DATAGRAM_BYTES: usize = 1452;

const CONTROLS: [&str; 3] = ["cubic", "reno", "bbr"];

/// What either end has of the same.
fn config(control: CongestionControlAlgorithm) -> Result<Config, Box<dyn Error>> {
    let mut config = Config::with_boring_ssl_ctx_builder(PROTOCOL_VERSION, keys::context()?)?;
    config.verify_peer(false);
    config.set_application_protos(&[b"sojourn"])?;
    config.set_cc_algorithm(control);
    config.set_max_recv_udp_payload_size(DATAGRAM_BYTES);
    config.set_max_send_udp_payload_size(DATAGRAM_BYTES);
    config.set_initial_max_streams_uni(1);
    config.set_initial_max_data(WINDOW_BYTES);
    config.set_initial_max_stream_data_uni(WINDOW_BYTES);
    config.set_max_connection_window(WINDOW_BYTES);
    config.set_max_stream_window(WINDOW_BYTES);
    Ok(config)
}

/// Both ends of a connection.
fn connect(asked: &Asked) -> Result<Connection, Box<dyn Error>> {
    let control = asked.control.as_deref().unwrap_or("cubic");
    let control =
        control.parse().map_err(|_| format!("found the control {control:?}; allowed: {}", CONTROLS.join(", ")))?;
    let seed = asked.seed.wrapping_mul(1 << 20).wrapping_add(2 * asked.number as u64);
    let qlog = asked.qlog.as_ref().map(File::create).transpose()?;
    Ok(Connection {
        sender: Box::new(Quiche::client(config(control)?, asked.bytes, qlog, Machine::new(seed))),
        receiver: Box::new(Quiche::server(config(control)?, Machine::new(seed + 1))),
    })
}

fn main() -> ExitCode {
    command(&CONTROLS, &connect)
}
