//! `sojourn._native.shell`.

use crate::errors;
use crate::run::Run;
use crate::scenario::{Keep, Scenario, stopped, wanted};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_core::Span;
use sojourn_shell::{End, Failure, Side, run};
use sojourn_sim::{Monitor, Session};
use std::os::fd::RawFd;
use std::sync::Arc;

/// Both ends of the path: files of devices, or the addresses between which datagrams are forwarded.
#[derive(FromPyObject)]
pub enum Ends {
    Devices(RawFd, RawFd),
    Addresses(String, String),
}

impl Ends {
    fn open(self) -> PyResult<[End; 2]> {
        match self {
            Ends::Devices(program, others) => {
                Ok([End::Device(sojourn_wire::duplicate(program)?), End::Device(sojourn_wire::duplicate(others)?)])
            }
            Ends::Addresses(local, remote) => {
                let address =
                    |text: String| text.parse().map_err(|_| PyValueError::new_err(format!("no address: {text}")));
                Ok(End::forwarding(address(local)?, address(remote)?)?)
            }
        }
    }
}

/// Runs until the scenario's end, or until `look` says no.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "what a run of a program needs")]
pub fn shell(
    py: Python<'_>,
    scenario: &Scenario,
    seed: u64,
    at_receiver: bool,
    ends: Ends,
    spin_s: f64,
    keep: Keep,
    look: Py<PyAny>,
) -> PyResult<(Run, String)> {
    let mut ends = ends.open()?;
    let side = if at_receiver { Side::Receiver } else { Side::Sender };
    let resolved = scenario.resolved().clone();
    let mut session = Session::new(resolved, seed, &wanted(keep));
    let spin = Span::from_secs_f64(spin_s);
    let mut raised = None;
    let timing = py
        .detach(|| {
            run(&mut session, side, &mut ends, spin, &mut |session| {
                Python::attach(|py| goes_on(py, &look, session)).unwrap_or_else(|error| {
                    raised = Some(error);
                    false
                })
            })
        })
        .map_err(failed)?;
    if let Some(error) = raised {
        return Err(error);
    }
    session.end_now();
    let ended = Arc::new(session.scenario().clone());
    let outcome = session.finish(&Monitor::default()).map_err(stopped)?;
    Ok((Run::new(ended, outcome), serde_json::to_string(&timing).map_err(errors::defect)?))
}

/// For each flow of programs: payload bytes, packets dropped, time in the queue in ns and the number of packets it is the sum of.
type Seen = Vec<(u64, u64, u128, u64)>;

fn goes_on(py: Python<'_>, look: &Py<PyAny>, session: &Session<sojourn_scenario::Scenario>) -> PyResult<bool> {
    py.check_signals()?;
    let seen = session.outside().into_iter().map(|(flow, ..)| {
        let glimpse = session.glimpse(flow);
        (glimpse.delivered_bytes, glimpse.drops, glimpse.waited.0, glimpse.waited.1)
    });
    let elapsed_s = session.now().as_secs_f64();
    look.call1(py, (elapsed_s, seen.collect::<Seen>()))?.extract(py)
}

fn failed(failure: Failure) -> PyErr {
    match failure {
        Failure::Stopped(why) => stopped(why),
        Failure::NoGroup(direction) => {
            errors::defect(format!("no group takes the packets of a program that travel {direction:?}"))
        }
        Failure::Device(error) => error.into(),
    }
}
