//! Connections of s2n-quic behind a scenario's path, in virtual time; prints the run's record as JSON.
//!
//! `sojourn-stack-s2n-quic SCENARIO [SEED]`, as for all stacks of Sojourn.

use sojourn_endpoint::command;
use sojourn_stack_s2n_quic::{CONTROLS, connect};
use std::process::ExitCode;

fn main() -> ExitCode {
    command(&CONTROLS, &connect)
}
