//! `sojourn._native.replay`.

use crate::columns::{Column, coded, plain};
use crate::scenario::Scenario;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_core::{Stream, Time};
use sojourn_queue::replay::{Arrival, End, Fate, Opportunity, Service};
use sojourn_queue::{DropReason, Dscp, Ecn, Queue};

/// How packets end, in the order of the codes.
const ENDS: [&str; 5] = ["waits", "left", "overflow", "early", "redundant"];

/// When the link asks: at these times, when so many packets had come before, or as a kind of link does.
#[derive(FromPyObject)]
pub enum Asks {
    Recorded((Vec<u64>, Vec<usize>)),
    Link(String),
}

/// Times, flows, bytes and TOS bytes of packets.
type Packets = (Vec<u64>, Vec<u16>, Vec<u32>, Vec<u8>);

#[pyfunction]
#[pyo3(signature = (scenario, packets, service, seed))]
pub fn replay<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    packets: Packets,
    service: Asks,
    seed: u64,
) -> PyResult<Vec<Column<'py>>> {
    let scenario = scenario.resolved();
    let arrivals = arrivals(&packets)?;
    let link = scenario.bottleneck.properties(scenario.largest_packet_bytes(), Time::ZERO);
    let opportunities;
    let service = match &service {
        Asks::Recorded((times, before)) => {
            opportunities = recorded(times, before, arrivals.len())?;
            Service::Recorded(&opportunities)
        }
        Asks::Link(name) if name == "device" => Service::Device(link.rate),
        Asks::Link(name) if name == "shaper" => Service::Shaper(link.rate),
        Asks::Link(name) => {
            return Err(PyValueError::new_err(format!("service: found {name:?}; allowed: device, shaper")));
        }
    };
    let mut queue = Queue::build(&scenario.bottleneck.queue, &link, Stream::new(seed, "replay"))
        .map_err(|error| PyValueError::new_err(format!("{}: {}", error.parameter, error.rule)))?;
    let fates = py.detach(|| sojourn_queue::replay::replay(&mut queue, &arrivals, service));
    Ok(columns(py, &fates))
}

/// # Errors
/// Columns of different lengths, times that go back.
fn arrivals((times, flows, bytes, tos): &Packets) -> PyResult<Vec<Arrival>> {
    if [flows.len(), bytes.len(), tos.len()] != [times.len(); 3] {
        return Err(PyValueError::new_err("packets: times, flows, bytes and TOS bytes must be equally many"));
    }
    in_order("packets", times)?;
    let arrival = |index: usize| Arrival {
        at: Time::from_nanos(times[index]),
        flow: flows[index],
        bytes: bytes[index],
        ecn: [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(tos[index] & 3)],
        dscp: Dscp::from_number(u64::from(tos[index] >> 2)).expect("six bits"),
    };
    Ok((0..times.len()).map(arrival).collect())
}

/// # Errors
/// Columns of different lengths, times or counts that go back, counts above `arrivals`.
fn recorded(times: &[u64], before: &[usize], arrivals: usize) -> PyResult<Vec<Opportunity>> {
    if times.len() != before.len() {
        return Err(PyValueError::new_err("opportunities: times and counts must be equally many"));
    }
    in_order("opportunities", times)?;
    if !before.is_sorted() || before.last().is_some_and(|&last| last > arrivals) {
        return Err(PyValueError::new_err("opportunities: counts must not fall, nor exceed the number of packets"));
    }
    let opportunity = |(&nanos, &arrivals): (&u64, &usize)| Opportunity { at: Time::from_nanos(nanos), arrivals };
    Ok(times.iter().zip(before).map(opportunity).collect())
}

fn in_order(what: &str, times: &[u64]) -> PyResult<()> {
    if times.is_sorted() { Ok(()) } else { Err(PyValueError::new_err(format!("{what}: times must not go back"))) }
}

fn columns<'py>(py: Python<'py>, fates: &[Fate]) -> Vec<Column<'py>> {
    let rows = fates.iter().map(|fate| match fate.end {
        End::Waits => (0u8, u64::MAX, u32::MAX),
        End::Left { at, place } => (1, at.as_nanos(), place as u32),
        End::Dropped { at, reason } => (code(reason), at.as_nanos(), u32::MAX),
    });
    vec![
        coded(py, "end", rows.clone().map(|(end, ..)| end), ENDS),
        plain(py, "time_ns", rows.clone().map(|(_, at, _)| at)),
        plain(py, "place", rows.map(|(_, _, place)| place)),
        plain(py, "marked", fates.iter().map(|fate| u8::from(fate.marked))),
    ]
}

fn code(reason: DropReason) -> u8 {
    match reason {
        DropReason::Overflow => 2,
        DropReason::Early => 3,
        DropReason::Redundant => 4,
    }
}
