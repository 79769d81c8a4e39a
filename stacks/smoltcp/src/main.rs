//! TCP connections of smoltcp behind a scenario's path, in virtual time; prints the run's record as JSON.
//!
//! `sojourn-stack-smoltcp SCENARIO [SEED]`, as for all stacks of Sojourn. The control is smoltcp's `cubic` (the
//! default here), `reno` or `none`.

mod stack;

use smoltcp::socket::tcp::CongestionControl;
use sojourn_endpoint::{Asked, Connection, command};
use stack::Smoltcp;
use std::error::Error;
use std::process::ExitCode;

const CONTROLS: [&str; 3] = ["cubic", "reno", "none"];

/// Both ends of a connection.
fn connect(asked: &Asked) -> Result<Connection, Box<dyn Error>> {
    let control = match asked.control.as_deref().unwrap_or("cubic") {
        "cubic" => CongestionControl::Cubic,
        "reno" => CongestionControl::Reno,
        "none" => CongestionControl::None,
        other => return Err(format!("found the control {other:?}; allowed: {}", CONTROLS.join(", ")).into()),
    };
    let seed = asked.seed.wrapping_mul(1 << 20).wrapping_add(asked.number as u64);
    Ok(Connection {
        sender: Box::new(Smoltcp::client(control, asked.bytes, seed)),
        receiver: Box::new(Smoltcp::server(seed)),
    })
}

fn main() -> ExitCode {
    command(&CONTROLS, &connect)
}
