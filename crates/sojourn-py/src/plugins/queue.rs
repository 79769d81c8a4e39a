//! Disciplines written in Python.

use super::descriptor::{About, descriptor, values};
use super::{Random, call, probes, told};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Stream, Time};
use sojourn_queue::custom::{self, Decisions, Handle, Plugged, Waiting};
use sojourn_queue::{DropReason, Ecn, LinkProperties, Protocol};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What packets of a discipline were told since the last look.
type Told = Arc<Mutex<Vec<(Handle, Order)>>>;

#[derive(Clone, Copy, Debug)]
enum Order {
    Drop(DropReason),
    Mark,
}

fn lock(told: &Told) -> MutexGuard<'_, Vec<(Handle, Order)>> {
    told.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A packet that waits.
#[pyclass(frozen, module = "sojourn._native")]
pub struct Packet {
    seen: Waiting,
    told: Told,
}

#[pymethods]
impl Packet {
    #[getter]
    fn bytes(&self) -> u32 {
        self.seen.bytes
    }

    #[getter]
    fn flow(&self) -> u32 {
        self.seen.flow
    }

    #[getter]
    fn enqueued_ns(&self) -> u64 {
        self.seen.enqueued.as_nanos()
    }

    #[getter]
    fn ecn(&self) -> &'static str {
        match self.seen.ecn {
            Ecn::NotEct => "not-ect",
            Ecn::Ect0 => "ect0",
            Ecn::Ect1 => "ect1",
            Ecn::Ce => "ce",
        }
    }

    #[getter]
    fn is_ecn_capable(&self) -> bool {
        self.seen.ecn.is_capable()
    }

    #[getter]
    fn dscp(&self) -> u8 {
        self.seen.dscp.number()
    }

    #[getter]
    fn five_tuple(&self) -> (u32, u32, u16, u16, u8) {
        let key = self.seen.key;
        let protocol = match key.protocol {
            Protocol::Tcp => 6,
            Protocol::Udp => 17,
        };
        (key.source.number(), key.destination.number(), key.source_port, key.destination_port, protocol)
    }

    #[pyo3(signature = (reason = "early"))]
    fn drop(&self, reason: &str) -> PyResult<()> {
        let reason = match reason {
            "early" => DropReason::Early,
            "overflow" => DropReason::Overflow,
            other => {
                let message = format!("reason: found {other:?}; allowed: early, overflow");
                return Err(PyValueError::new_err(message));
            }
        };
        lock(&self.told).push((self.seen.handle, Order::Drop(reason)));
        Ok(())
    }

    fn mark(&self) {
        lock(&self.told).push((self.seen.handle, Order::Mark));
    }

    fn __repr__(&self) -> String {
        format!("<packet of flow {}, {} B>", self.seen.flow, self.seen.bytes)
    }
}

/// Which of the methods that a discipline need not have this one has.
#[derive(FromPyObject, Debug, Clone, Copy)]
pub struct Behaviour {
    ready_at_ns: bool,
    timer_ns: bool,
}

#[derive(Debug)]
struct Class {
    make: Py<PyAny>,
    has: Behaviour,
}

#[pyfunction]
pub fn add_discipline(about: About, behaviour: Behaviour, make: Py<PyAny>) -> PyResult<()> {
    let descriptor = descriptor(about)?;
    let class = Arc::new(Class { make, has: behaviour });
    let make = move |params: &Params, link: &LinkProperties, random: Stream| {
        call(|py| {
            PythonQueue::new(py, class.clone(), params, link, random)
                .map_err(|error| ParameterError::new("kind", told(py, &error)))
        })
    };
    custom::add(descriptor, make).map_err(|_| {
        let message = format!("discipline {:?}: a built-in discipline has this name; choose another", descriptor.name);
        PyValueError::new_err(message)
    })
}

/// A discipline whose methods are Python's.
#[derive(Debug)]
struct PythonQueue {
    class: Arc<Class>,
    plugin: Py<PyAny>,
    enqueue: Py<PyAny>,
    dequeue: Py<PyAny>,
    told: Told,
    /// Also set where only an answer is asked for.
    error: Mutex<Option<String>>,
}

impl PythonQueue {
    fn new(
        py: Python<'_>,
        class: Arc<Class>,
        params: &Params,
        link: &LinkProperties,
        random: Stream,
    ) -> PyResult<PythonQueue> {
        let about = PyDict::new(py);
        about.set_item("rate_bps", link.rate.bits_per_second())?;
        about.set_item("delay_ns", link.delay.as_nanos())?;
        about.set_item("packet_bytes", link.packet_bytes)?;
        let plugin = class.make.call1(py, (values(py, params)?, about, Random::new(random)))?;
        Ok(PythonQueue {
            enqueue: plugin.getattr(py, "enqueue")?,
            dequeue: plugin.getattr(py, "dequeue")?,
            class,
            plugin,
            told: Told::default(),
            error: Mutex::default(),
        })
    }

    fn failed(&self, py: Python<'_>, error: &PyErr) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| told(py, error));
    }

    fn decide(&self, decisions: &mut Decisions) {
        for (handle, order) in lock(&self.told).drain(..) {
            match order {
                Order::Drop(reason) => decisions.drop(handle, reason),
                Order::Mark => decisions.mark(handle),
            }
        }
    }

    /// A time that it names.
    fn time(&self, ask: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<Option<u64>>) -> Option<Time> {
        call(|py| {
            ask(self.plugin.bind(py)).unwrap_or_else(|error| {
                self.failed(py, &error);
                None
            })
        })
        .map(Time::from_nanos)
    }
}

impl Plugged for PythonQueue {
    fn enqueue(&mut self, packet: &Waiting, now: Time, decisions: &mut Decisions) {
        call(|py| {
            let packet = Packet { seen: *packet, told: self.told.clone() };
            if let Err(error) = self.enqueue.call1(py, (packet, now.as_nanos())) {
                self.failed(py, &error);
            }
        });
        self.decide(decisions);
    }

    fn dequeue(&mut self, now: Time, decisions: &mut Decisions) -> Option<Handle> {
        let chosen = call(|py| {
            let answer = self.dequeue.call1(py, (now.as_nanos(),)).and_then(|packet| {
                let packet: Option<Bound<'_, Packet>> = packet.extract(py)?;
                Ok(packet.map(|packet| packet.get().seen.handle))
            });
            answer.unwrap_or_else(|error| {
                self.failed(py, &error);
                None
            })
        });
        self.decide(decisions);
        chosen
    }

    fn ready_at(&self, now: Time) -> Option<Time> {
        if !self.class.has.ready_at_ns {
            return None;
        }
        self.time(|plugin| plugin.call_method1("ready_at_ns", (now.as_nanos(),))?.extract())
    }

    fn timer(&self) -> Option<Time> {
        if !self.class.has.timer_ns {
            return None;
        }
        self.time(|plugin| plugin.getattr("timer_ns")?.extract())
    }

    fn on_timer(&mut self, now: Time, decisions: &mut Decisions) {
        call(|py| {
            if let Err(error) = self.plugin.call_method1(py, "on_timer", (now.as_nanos(),)) {
                self.failed(py, &error);
            }
        });
        self.decide(decisions);
    }

    fn probe(&self, visit: &mut dyn FnMut(&str, f64)) {
        let shown = call(|py| probes(py, &self.plugin));
        shown.into_iter().for_each(|(name, value)| visit(&name, value));
    }

    fn take_error(&mut self) -> Option<String> {
        self.error.get_mut().unwrap_or_else(PoisonError::into_inner).take()
    }
}
