//! Connections of quinn behind a scenario's path, in virtual time; prints the run's record as JSON.
//!
//! `sojourn-stack-quinn SCENARIO [SEED]`, as for all stacks of Sojourn. `sockets` has the same ends over real sockets.

mod sockets;

use sojourn_endpoint::command;
use sojourn_stack_quinn::{connect, controls};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    match sockets::command_of(&words) {
        None => {
            let controls = controls();
            command(&controls.iter().map(String::as_str).collect::<Vec<_>>(), &connect)
        }
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
