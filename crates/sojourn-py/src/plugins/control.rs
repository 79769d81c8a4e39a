//! Controls written in Python.

use super::descriptor::{About, descriptor, values};
use super::{Random, call, probes, told};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use sojourn_congestion::{self as congestion, Control, EcnUse, Path, Repair, Signal, custom};
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Rate, Span, Stream, Time};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// What a control is told, as an object or field by field.
macro_rules! event {
    ($(#[$about:meta])* $name:ident($source:ty) { $($field:ident: $kind:ty = |$event:ident| $value:expr;)+ }) => {
        $(#[$about])*
        #[pyclass(frozen, module = "sojourn._native")]
        pub struct $name($source);

        #[pymethods]
        impl $name {
            $(#[getter]
            fn $field(&self) -> $kind {
                let $event = &self.0;
                $value
            })+
        }

        impl Event for $source {
            const FIELDS: &'static [&'static str] = &[$(stringify!($field)),+];

            fn object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                Ok(Bound::new(py, $name(*self))?.into_any())
            }

            fn field<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
                match name {
                    $(stringify!($field) => {
                        let $event = self;
                        Ok(Some($value.into_bound_py_any(py)?))
                    })+
                    _ => Ok(None),
                }
            }
        }
    };
}

/// What a control is told.
trait Event {
    /// The names of its parts.
    const FIELDS: &'static [&'static str];
    /// As one object.
    fn object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
    /// One part of it; `None` where there is none of that name.
    fn field<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>>;
}

event! {
    /// An acknowledgement of new data.
    Ack(congestion::Ack) {
        now_ns: u64 = |ack| ack.now.as_nanos();
        newly_acked: u32 = |ack| ack.newly_acked;
        delivered: u32 = |ack| ack.delivered;
        flight: f64 = |ack| ack.flight;
        window_limited: bool = |ack| ack.window_limited;
        in_recovery: bool = |ack| ack.in_recovery;
        rtt_ns: Option<u64> = |ack| ack.rtt.map(Span::as_nanos);
        srtt_ns: Option<u64> = |ack| (!ack.smoothed_rtt.is_zero()).then(|| ack.smoothed_rtt.as_nanos());
        min_rtt_ns: Option<u64> = |ack| (ack.min_rtt != Span::MAX).then(|| ack.min_rtt.as_nanos());
        max_rtt_ns: Option<u64> = |ack| (!ack.max_rtt.is_zero()).then(|| ack.max_rtt.as_nanos());
        one_way_delay_ns: Option<i64> = |ack| ack.one_way_delay_nanos;
        sent_ns: u64 = |ack| ack.sent.as_nanos();
        echoed_ns: u64 = |ack| ack.echoed.as_nanos();
        marked: bool = |ack| ack.marked;
        delivery_rate_pps: Option<f64> = |ack| ack.rate.as_ref().map(congestion::RateSample::per_second);
        app_limited: Option<bool> = |ack| ack.rate.as_ref().map(|rate| rate.app_limited);
    }
}

event! {
    /// A sign of congestion.
    Congestion(congestion::Congestion) {
        now_ns: u64 = |event| event.now.as_nanos();
        signal: &'static str = |event| match event.signal {
            Signal::Loss => "loss",
            Signal::Ecn => "ecn",
            Signal::Timeout { .. } => "timeout",
        };
        repeated: bool = |event| matches!(event.signal, Signal::Timeout { repeated: true });
        flight: f64 = |event| event.flight;
        pipe: f64 = |event| event.pipe;
        srtt_ns: Option<u64> = |event| (!event.smoothed_rtt.is_zero()).then(|| event.smoothed_rtt.as_nanos());
    }
}

event! {
    /// A repair of losses that ended.
    Recovered(congestion::Recovered) {
        now_ns: u64 = |recovered| recovered.now.as_nanos();
        repair: &'static str = |recovered| match recovered.repair {
            Repair::Partial => "partial",
            Repair::Selective => "selective",
            Repair::Timeout => "timeout",
        };
        flight: f64 = |recovered| recovered.flight;
    }
}

/// Sending starts again after a pause.
#[pyclass(frozen, module = "sojourn._native")]
pub struct Started {
    start: congestion::Start,
    /// What the transport leaves of window and threshold.
    left: (f64, f64),
}

#[pymethods]
impl Started {
    #[getter]
    fn now_ns(&self) -> u64 {
        self.start.now.as_nanos()
    }

    #[getter]
    fn idle_ns(&self) -> u64 {
        self.start.idle.as_nanos()
    }

    #[getter]
    fn timeout_ns(&self) -> u64 {
        self.start.timeout.as_nanos()
    }

    #[getter]
    fn app_limited(&self) -> bool {
        self.start.app_limited
    }

    #[getter]
    fn window(&self) -> f64 {
        self.left.0
    }

    #[getter]
    fn ssthresh(&self) -> f64 {
        self.left.1
    }
}

/// What a method takes, as its signature says.
#[derive(Debug)]
enum Takes {
    /// The event as one object.
    Object,
    /// These parts of it.
    Fields(Vec<String>),
}

impl Takes {
    fn new<E: Event>(names: Vec<String>) -> Takes {
        match &names[..] {
            [one] if !E::FIELDS.contains(&one.as_str()) => Takes::Object,
            _ => Takes::Fields(names),
        }
    }

    fn arguments<'py, E: Event>(&self, py: Python<'py>, event: &E) -> PyResult<Bound<'py, PyTuple>> {
        match self {
            Takes::Object => PyTuple::new(py, [event.object(py)?]),
            Takes::Fields(names) => {
                let fields = names.iter().map(|name| {
                    let wrong = || {
                        let allowed = E::FIELDS.join(", ");
                        PyTypeError::new_err(format!("found the argument {name:?}; allowed: {allowed}"))
                    };
                    event.field(py, name)?.ok_or_else(wrong)
                });
                PyTuple::new(py, fields.collect::<PyResult<Vec<_>>>()?)
            }
        }
    }
}

/// What Python tells of a class beside its descriptor: the arguments of its methods by name, whether it wants delivery
/// rates, and what it asks of marks.
#[derive(FromPyObject)]
pub struct Behaviour {
    on_ack: Vec<String>,
    on_congestion: Vec<String>,
    rate_samples: bool,
    short_segments: bool,
    ecn: String,
    has: Has,
}

/// Which of the methods that a control need not have this one has.
#[derive(FromPyObject, Clone, Copy, Debug)]
pub struct Has {
    on_connected: bool,
    on_recovered: bool,
    on_start: bool,
}

#[derive(Debug)]
struct Class {
    make: Py<PyAny>,
    on_ack: Takes,
    on_congestion: Takes,
    rate_samples: bool,
    short_segments: bool,
    ecn: EcnUse,
    has: Has,
}

#[pyfunction]
pub fn add_control(about: About, behaviour: Behaviour, make: Py<PyAny>) -> PyResult<()> {
    let descriptor = descriptor(about)?;
    let ecn = match behaviour.ecn.as_str() {
        "optional" => EcnUse::Optional,
        "exact" => EcnUse::Exact,
        "scalable" => EcnUse::Scalable,
        other => {
            let message = format!("ecn: found {other:?}; allowed: optional, exact, scalable");
            return Err(PyValueError::new_err(message));
        }
    };
    let class = Arc::new(Class {
        make,
        on_ack: Takes::new::<congestion::Ack>(behaviour.on_ack),
        on_congestion: Takes::new::<congestion::Congestion>(behaviour.on_congestion),
        rate_samples: behaviour.rate_samples,
        short_segments: behaviour.short_segments,
        ecn,
        has: behaviour.has,
    });
    let make = move |params: &Params, path: &Path, random: Stream| {
        call(|py| {
            PythonControl::new(py, class.clone(), params, path, random)
                .map_err(|error| ParameterError::new("kind", told(py, &error)))
        })
    };
    custom::add(descriptor, make).map_err(|_| {
        PyValueError::new_err(format!(
            "control {:?}: a built-in control has this name; choose another",
            descriptor.name
        ))
    })
}

/// A control whose methods are Python's.
#[derive(Debug)]
struct PythonControl {
    class: Arc<Class>,
    plugin: Py<PyAny>,
    on_ack: Py<PyAny>,
    on_congestion: Py<PyAny>,
    has_threshold: bool,
    has_pacing: bool,
    window: f64,
    threshold: f64,
    pacing: Option<Rate>,
    segment_bytes: Option<u32>,
    error: Option<String>,
}

impl PythonControl {
    fn new(py: Python<'_>, class: Arc<Class>, params: &Params, path: &Path, random: Stream) -> PyResult<PythonControl> {
        let about = PyDict::new(py);
        about.set_item("mss_bytes", path.mss_bytes)?;
        about.set_item("header_bytes", path.header_bytes)?;
        about.set_item("smallest_packet_bytes", path.smallest_packet_bytes)?;
        about.set_item("initial_window", path.initial_window)?;
        about.set_item("sack", path.sack)?;
        let plugin = class.make.call1(py, (values(py, params)?, about, Random::new(random)))?;
        let mut control = PythonControl::around(py, class, plugin)?;
        control.look(py)?;
        Ok(control)
    }

    fn around(py: Python<'_>, class: Arc<Class>, plugin: Py<PyAny>) -> PyResult<PythonControl> {
        Ok(PythonControl {
            on_ack: plugin.getattr(py, intern!(py, "on_ack"))?,
            on_congestion: plugin.getattr(py, intern!(py, "on_congestion"))?,
            has_threshold: plugin.bind(py).hasattr(intern!(py, "ssthresh"))?,
            has_pacing: plugin.bind(py).hasattr(intern!(py, "pacing_rate_bps"))?,
            class,
            plugin,
            window: 0.0,
            threshold: f64::INFINITY,
            pacing: None,
            segment_bytes: None,
            error: None,
        })
    }

    /// Takes over what it answers now.
    fn look(&mut self, py: Python<'_>) -> PyResult<()> {
        let plugin = self.plugin.bind(py);
        self.window = plugin.getattr(intern!(py, "window"))?.extract()?;
        if self.has_threshold {
            self.threshold = plugin.getattr(intern!(py, "ssthresh"))?.extract()?;
        }
        if self.has_pacing {
            let bits: Option<f64> = plugin.getattr(intern!(py, "pacing_rate_bps"))?.extract()?;
            self.pacing = match bits {
                Some(bits) if !(bits.is_finite() && bits >= 1.0) => {
                    let message = format!("pacing_rate_bps: found {bits}; allowed: 1 bit/s or more, or None");
                    return Err(PyValueError::new_err(message));
                }
                bits => bits.and_then(|bits| Rate::from_bits_per_second(bits as u64)),
            };
        }
        if self.class.short_segments {
            self.segment_bytes = plugin.getattr(intern!(py, "segment_bytes"))?.extract()?;
        }
        Ok(())
    }

    /// Does something with the plug-in, and takes over what it answers then.
    fn tell(&mut self, what: impl FnOnce(Python<'_>, &PythonControl) -> PyResult<()>) {
        call(|py| {
            if let Err(error) = what(py, self).and_then(|()| self.look(py)) {
                self.error = Some(told(py, &error));
            }
        });
    }
}

impl Clone for PythonControl {
    fn clone(&self) -> PythonControl {
        call(|py| {
            let copied = py.import("copy").and_then(|copy| copy.call_method1("deepcopy", (&self.plugin,)));
            let control = copied.and_then(|plugin| PythonControl::around(py, self.class.clone(), plugin.unbind()));
            let (window, threshold, pacing) = (self.window, self.threshold, self.pacing);
            let segment_bytes = self.segment_bytes;
            match control {
                Ok(control) => PythonControl { window, threshold, pacing, segment_bytes, ..control },
                Err(error) => PythonControl {
                    class: self.class.clone(),
                    plugin: self.plugin.clone_ref(py),
                    on_ack: self.on_ack.clone_ref(py),
                    on_congestion: self.on_congestion.clone_ref(py),
                    error: Some(format!("its state cannot be copied: {}", told(py, &error))),
                    ..*self
                },
            }
        })
    }
}

impl Control for PythonControl {
    fn on_ack(&mut self, ack: &congestion::Ack) {
        self.tell(|py, this| this.on_ack.call1(py, this.class.on_ack.arguments(py, ack)?).map(drop));
    }

    fn on_congestion(&mut self, event: &congestion::Congestion) {
        self.tell(|py, this| this.on_congestion.call1(py, this.class.on_congestion.arguments(py, event)?).map(drop));
    }

    fn on_connected(&mut self, now: Time, rtt: Span) {
        if self.class.has.on_connected {
            self.tell(|py, this| {
                this.plugin.call_method1(py, intern!(py, "on_connected"), (now.as_nanos(), rtt.as_nanos())).map(drop)
            });
        }
    }

    fn on_recovered(&mut self, recovered: &congestion::Recovered) {
        if self.class.has.on_recovered {
            self.tell(|py, this| {
                this.plugin.call_method1(py, intern!(py, "on_recovered"), (recovered.object(py)?,)).map(drop)
            });
        }
    }

    fn on_start(&mut self, start: &congestion::Start) {
        if self.class.has.on_start {
            let started = Started { start: *start, left: start.unused.left(self.window, self.threshold) };
            self.tell(|py, this| this.plugin.call_method1(py, intern!(py, "on_start"), (started,)).map(drop));
        } else {
            let left = start.unused.left(self.window, self.threshold);
            if left != (self.window, self.threshold) {
                self.set_window(left.0, left.1);
            }
        }
    }

    fn set_window(&mut self, window: f64, threshold: f64) {
        self.tell(|py, this| {
            this.plugin.setattr(py, intern!(py, "window"), window)?;
            if this.has_threshold {
                this.plugin.setattr(py, intern!(py, "ssthresh"), threshold)?;
            }
            Ok(())
        });
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn slow_start_threshold(&self) -> f64 {
        self.threshold
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }

    fn wants_rate_samples(&self) -> bool {
        self.class.rate_samples
    }

    fn sends_short_segments(&self) -> bool {
        self.class.short_segments
    }

    fn segment_bytes(&self) -> Option<u32> {
        self.segment_bytes
    }

    fn ecn(&self) -> EcnUse {
        self.class.ecn
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let shown = call(|py| probes(py, &self.plugin));
        shown.into_iter().for_each(|(name, value)| visit(known(name), value));
    }

    fn take_error(&mut self) -> Option<String> {
        self.error.take()
    }
}

/// The name of a probe, kept for ever: there are as many as plug-ins have.
fn known(name: String) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name.as_str()) {
        return known;
    }
    let name: &'static str = Box::leak(name.into_boxed_str());
    names.insert(name);
    name
}
