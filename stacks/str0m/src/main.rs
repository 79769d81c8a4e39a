//! WebRTC sessions of str0m behind a scenario's path, in virtual time; prints the run's record as JSON.
//!
//! `sojourn-stack-str0m SCENARIO [SEED]`, as for all stacks of Sojourn. The control is `gcc`, str0m's bandwidth estimation after
//! draft-ietf-rmcat-gcc, its only one. Linux only: `machine` says why.

mod machine;
mod stack;

use sojourn_endpoint::{Asked, Connection, command};
use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

/// Both ends of a connection.
fn connect(asked: &Asked) -> Result<Connection, Box<dyn Error>> {
    match asked.control.as_deref().unwrap_or("gcc") {
        "gcc" => {
            machine::seed(asked.seed.wrapping_mul(1 << 20).wrapping_add(asked.number as u64));
            let [sender, receiver] = machine::at_work(|| stack::session(asked.bytes, Instant::now()))?;
            Ok(Connection { sender: Box::new(sender), receiver: Box::new(receiver) })
        }
        other => Err(format!("found the control {other:?}; allowed: gcc").into()),
    }
}

fn main() -> ExitCode {
    dimpl::crypto::CryptoProvider::install_default(dimpl::crypto::rust_crypto::default_provider());
    str0m::crypto::from_feature_flags().install_process_default();
    command(&["gcc"], &connect)
}
