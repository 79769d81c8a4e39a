//! SCTP associations of sctp-proto behind a scenario's path, in virtual time; prints the run's record as JSON.
//!
//! `sojourn-stack-sctp SCENARIO [SEED]`, as for all stacks of Sojourn. The control is `sctp`, sctp-proto's only
//! one. The seed is without effect on the stack: see [`stack`].

mod stack;

use sojourn_endpoint::{Asked, Connection, command};
use stack::Sctp;
use std::error::Error;
use std::process::ExitCode;

/// Both ends of a connection.
fn connect(asked: &Asked) -> Result<Connection, Box<dyn Error>> {
    match asked.control.as_deref().unwrap_or("sctp") {
        "sctp" => Ok(Connection { sender: Box::new(Sctp::client(asked.bytes)), receiver: Box::new(Sctp::server()) }),
        other => Err(format!("found the control {other:?}; allowed: sctp").into()),
    }
}

fn main() -> ExitCode {
    command(&["sctp"], &connect)
}
