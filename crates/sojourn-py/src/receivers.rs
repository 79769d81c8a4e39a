//! `sojourn._native.replay_receiver`.

use crate::scenario::Scenario;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_core::{Span, Time};
use sojourn_transport::replay::{Arriving, replay_arrivals};
use sojourn_transport::{Clock, EcnFlags, Options, Receiver, Segment, SegmentKind};

/// Time (ns), number (none is a SYN), whether it carries CE, whether it says CWR, round-trip time (ns).
type Row = (u64, Option<u32>, bool, bool, u64);

/// Time (ns), next number expected, whether a mark is echoed, whether it goes with data, SACK blocks.
type Answer = (u64, u32, bool, bool, Vec<(u32, u32)>);

#[pyfunction]
#[pyo3(signature = (scenario, arrivals, sends_ns, until_ns))]
pub fn replay_receiver(
    py: Python<'_>,
    scenario: &Scenario,
    arrivals: Vec<Row>,
    sends_ns: Vec<u64>,
    until_ns: u64,
) -> PyResult<Vec<Answer>> {
    let options = Options::new(&scenario.resolved().groups[0].transport)
        .map_err(|error| PyValueError::new_err(format!("{}: {}", error.parameter, error.rule)))?;
    if !arrivals.is_sorted_by_key(|&(time_ns, ..)| time_ns) || !sends_ns.is_sorted() {
        return Err(PyValueError::new_err("arrivals: times must not go back"));
    }
    let arrivals: Vec<Arriving> = arrivals.into_iter().map(arriving).collect();
    let sends: Vec<Time> = sends_ns.into_iter().map(Time::from_nanos).collect();
    let receiver = Receiver::new(&options, Clock::default());
    let acks = py.detach(|| replay_arrivals(receiver, &arrivals, &sends, Time::from_nanos(until_ns)));
    Ok(acks.iter().map(|(at, ack)| answer(*at, ack)).collect())
}

fn arriving((time_ns, number, marked, cwr, rtt_ns): Row) -> Arriving {
    let at = Time::from_nanos(time_ns);
    let kind = if number.is_some() { SegmentKind::Data } else { SegmentKind::Syn };
    let ecn = EcnFlags::when(cwr, EcnFlags::CWR);
    Arriving {
        at,
        segment: Segment { ecn, ..Segment::new(kind, number.unwrap_or(0), at) },
        marked,
        rtt: Span::from_nanos(rtt_ns),
    }
}

fn answer(at: Time, ack: &Segment) -> Answer {
    let blocks = ack.sack_blocks().iter().map(|block| (block.start, block.end)).collect();
    (at.as_nanos(), ack.number, ack.ecn.has(EcnFlags::ECE), ack.kind == SegmentKind::DataAck, blocks)
}
