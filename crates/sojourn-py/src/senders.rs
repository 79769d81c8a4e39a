//! `sojourn._native.replay_sender`.

use crate::columns::{Column, coded, plain};
use crate::scenario::Scenario;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_congestion::AnyControl;
use sojourn_core::{Stream, Time};
use sojourn_transport::replay::{Event, Input, Outcome, Sent, State, replay};
use sojourn_transport::{Block, EcnFlags, MAX_BLOCKS, Options, Segment, SegmentKind, Sender, Transmit};

/// What may happen to a sender, in the order of the codes.
const EVENTS: [&str; 5] = ["supply", "accepted", "ack", "look", "lot"];

/// A lot is given in parts of one in so many.
const LOTS: f64 = 1e6;

/// What a sender sends, in the order of the codes.
const KINDS: [&str; 3] = ["syn", "new", "again"];

/// Times (ns), events, and acknowledgements.
type Inputs = (Vec<u64>, Vec<String>, Vec<u64>, Vec<Acknowledgement>);

/// Echoed time (ns), one-way delay (ns), whether a mark is echoed, SACK blocks.
type Acknowledgement = (u64, i64, bool, Vec<(u32, u32)>);

#[pyfunction]
#[pyo3(signature = (scenario, inputs, seed))]
pub fn replay_sender<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    inputs: Inputs,
    seed: u64,
) -> PyResult<(Vec<Column<'py>>, Vec<Column<'py>>)> {
    let sender = sender(scenario.resolved(), seed)?;
    let inputs = read(&inputs)?;
    let outcome = py.detach(|| replay(sender, &inputs));
    Ok((sent(py, &outcome), states(py, &outcome)))
}

/// The sender of the first group.
fn sender(scenario: &sojourn_scenario::Scenario, seed: u64) -> PyResult<Sender> {
    let group = &scenario.groups[0];
    let control = group.control.as_ref().ok_or_else(|| {
        PyValueError::new_err(format!("group {}: its traffic does not respond to congestion", group.name))
    })?;
    let options = Options::new(&group.transport).map_err(|error| wrong(&error))?;
    let control = AnyControl::build(control, &options.path(), Stream::new(seed, "control"));
    let sender = Sender::new(&options, control.map_err(|error| wrong(&error))?);
    Ok(match group.host {
        Some(host) => host.bursting(sender),
        None => sender,
    })
}

fn wrong(error: &sojourn_core::registry::ParameterError) -> PyErr {
    PyValueError::new_err(format!("{}: {}", error.parameter, error.rule))
}

/// # Errors
/// Columns of different lengths, times that go back, unknown events, too many blocks.
fn read((times, events, values, acks): &Inputs) -> PyResult<Vec<Input>> {
    if [events.len(), values.len()] != [times.len(); 2] {
        return Err(PyValueError::new_err("inputs: times, events and values must be equally many"));
    }
    if !times.is_sorted() {
        return Err(PyValueError::new_err("inputs: times must not go back"));
    }
    let mut acks = acks.iter();
    let mut inputs = Vec::with_capacity(times.len());
    for ((&nanos, name), &value) in times.iter().zip(events).zip(values) {
        let event = match name.as_str() {
            "supply" => Event::Supply { bytes: value },
            "accepted" => Event::Accepted,
            "ack" => Event::Acknowledged(acknowledgement(value, acks.next())?),
            "look" => Event::Look,
            "lot" => Event::Lot { value: (value as f64 / LOTS).min(1.0 - 1.0 / LOTS) },
            _ => {
                return Err(PyValueError::new_err(format!(
                    "inputs: found the event {name:?}; allowed: {}",
                    EVENTS.join(", ")
                )));
            }
        };
        inputs.push(Input { at: Time::from_nanos(nanos), event });
    }
    Ok(inputs)
}

fn acknowledgement(number: u64, ack: Option<&Acknowledgement>) -> PyResult<Segment> {
    let (stamp, delay_nanos, ece, blocks) =
        ack.ok_or_else(|| PyValueError::new_err("inputs: each event ack needs a row of acknowledgements"))?;
    let number = u32::try_from(number).map_err(|_| PyValueError::new_err("inputs: numbers are below 2^32"))?;
    if blocks.len() > MAX_BLOCKS {
        return Err(PyValueError::new_err(format!("inputs: {} SACK blocks; at most {MAX_BLOCKS}", blocks.len())));
    }
    let mut segment = Segment::new(SegmentKind::Ack, number, Time::from_nanos(*stamp));
    segment.delay_nanos = *delay_nanos;
    segment.ecn = EcnFlags::when(*ece, EcnFlags::ECE);
    for (place, &(start, end)) in segment.sack.iter_mut().zip(blocks) {
        *place = Block { start, end };
    }
    segment.blocks = blocks.len() as u8;
    Ok(segment)
}

fn sent<'py>(py: Python<'py>, outcome: &Outcome) -> Vec<Column<'py>> {
    let sent = outcome.sent.iter();
    let number = |sent: &Sent| match sent.transmit {
        Transmit::Syn => 0,
        Transmit::Data { number, .. } => number,
    };
    let kind = |sent: &Sent| match sent.transmit {
        Transmit::Syn => 0u8,
        Transmit::Data { retransmission, .. } => 1 + u8::from(retransmission),
    };
    vec![
        plain(py, "time_ns", sent.clone().map(|sent| sent.at.as_nanos())),
        plain(py, "number", sent.clone().map(number)),
        coded(py, "kind", sent.map(kind), KINDS),
    ]
}

fn states<'py>(py: Python<'py>, outcome: &Outcome) -> Vec<Column<'py>> {
    let column = |name, value: fn(&State) -> f64| plain(py, name, outcome.states.iter().map(value));
    vec![
        column("cwnd", |state| state.window),
        column("ssthresh", |state| state.threshold),
        column("srtt_s", |state| state.smoothed_rtt.as_secs_f64()),
        column("rto_s", |state| state.timeout.as_secs_f64()),
    ]
}
