//! `sojourn._native.Scenario` and the functions that make one.

use crate::errors::{self, Interrupted, PluginError};
use crate::plugins::{self, Watch};
use crate::run::Run;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use sojourn_core::{Span, Time};
use sojourn_scenario::{Base, Bucket, Diagnostics, Group, Loaded, Trace, Traffic, Which};
use sojourn_sim::{
    BOTTLENECK, Monitor, Stopped, Wanted, capacity_bytes, header_bytes, named_links, options, place, run_all,
};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The links of a flow's data, those of its acknowledgements, and its main one, as places; and its station.
type PlacedRoute = (Vec<usize>, Vec<usize>, Option<usize>, Option<String>);

/// Between two looks at signals, and two calls of `progress`.
const LOOK_EVERY: Duration = Duration::from_millis(100);

#[pyclass(frozen, module = "sojourn._native")]
pub struct Scenario {
    inner: Arc<sojourn_scenario::Scenario>,
    #[pyo3(get)]
    warnings: Vec<String>,
}

#[pyfunction]
#[pyo3(signature = (text, file = None, base_dir = None, overrides = Vec::new(), root = None))]
pub fn load(
    py: Python<'_>,
    text: &str,
    file: Option<&str>,
    base_dir: Option<PathBuf>,
    overrides: Vec<String>,
    root: Option<PathBuf>,
) -> PyResult<Scenario> {
    let folder = base_dir.unwrap_or_default();
    resolved(py, sojourn_scenario::Scenario::parse(text, file, &base(&folder, root), &overrides), &folder)
}

#[pyfunction]
#[pyo3(signature = (text, base_dir = None, overrides = Vec::new(), root = None))]
pub fn load_json(
    py: Python<'_>,
    text: &str,
    base_dir: Option<PathBuf>,
    overrides: Vec<String>,
    root: Option<PathBuf>,
) -> PyResult<Scenario> {
    let folder = base_dir.unwrap_or_default();
    resolved(py, sojourn_scenario::Scenario::parse_json(text, None, &base(&folder, root), &overrides), &folder)
}

#[pyfunction]
#[pyo3(signature = (name, overrides = Vec::new(), root = None))]
pub fn load_ready(py: Python<'_>, name: &str, overrides: Vec<String>, root: Option<PathBuf>) -> PyResult<Scenario> {
    let ready = sojourn_scenario::ready().iter().find(|ready| ready.name == name);
    let Some(ready) = ready else { return Err(errors::unnamed(py, name)) };
    load(py, ready.text, Some(name), None, overrides, root)
}

fn base(folder: &Path, root: Option<PathBuf>) -> Base {
    let folder = folder.to_owned();
    match root {
        Some(root) => Base::Confined { folder, root },
        None => Base::Folder(folder),
    }
}

fn resolved(py: Python<'_>, loaded: Result<Loaded, Diagnostics>, base: &Path) -> PyResult<Scenario> {
    let loaded = loaded.map_err(|problems| errors::input(py, &problems))?;
    let mut inner = loaded.scenario;
    rename_traces(&mut inner, |path| std::path::absolute(base.join(path)))?;
    Ok(Scenario { inner: Arc::new(inner), warnings: loaded.warnings.iter().map(ToString::to_string).collect() })
}

#[pymethods]
impl Scenario {
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed
    }

    #[getter]
    fn runs(&self) -> u32 {
        self.inner.runs
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.inner.duration.as_secs_f64()
    }

    #[getter]
    fn warmup_s(&self) -> f64 {
        self.inner.warmup.as_secs_f64()
    }

    #[getter]
    fn groups(&self) -> Vec<(String, u32)> {
        self.inner.groups.iter().map(|group| (group.name.clone(), group.flows)).collect()
    }

    #[getter]
    fn programs(&self) -> Vec<String> {
        let groups = self.inner.groups.iter().filter(|group| matches!(group.traffic, Traffic::Program(_)));
        groups.map(|group| group.name.clone()).collect()
    }

    #[getter]
    fn stack(&self) -> Option<(String, String)> {
        let of_stack = |group: &Group| Some((group.name.clone(), group.stack.as_ref()?.name.clone()));
        self.inner.groups.iter().find_map(of_stack)
    }

    #[getter]
    fn links(&self) -> Vec<String> {
        let sojourn_scenario::Scenario { reverse, hops, stations, .. } = &*self.inner;
        let returning = reverse.iter().map(|_| "reverse".to_owned());
        let hops = hops.iter().map(|hop| format!("hops_{}", hop.name));
        let stations = stations.iter().map(|station| format!("stations_{}", station.name));
        std::iter::once("bottleneck".to_owned()).chain(returning).chain(hops).chain(stations).collect()
    }

    /// What each link, and its policer, could carry in the measured part, in the order of `links`.
    fn mean_rates_mbps(&self) -> Vec<f64> {
        let (from, to) = (Time::ZERO + self.inner.warmup, Time::ZERO + self.inner.duration);
        let seconds = to.since(from).as_secs_f64();
        let links = named_links(&self.inner).into_iter().enumerate();
        let mbps = |place, policer: Option<Bucket>| {
            let bytes = capacity_bytes(&self.inner, place, from, to);
            policer.map_or(bytes, |bucket| bytes.min(bucket.rate.bytes_in(to.since(from)))) * 8.0 / seconds / 1e6
        };
        links.map(|(place, (_, _, link))| mbps(place, link.policer)).collect()
    }

    /// For each group the bytes of a full packet, those of its headers, and what it occupies on the wire of each link.
    fn packets(&self) -> Vec<(u32, u32, Vec<u32>)> {
        let links = named_links(&self.inner);
        let packet = |group: &Group| {
            let (bytes, header) = (group.packet_bytes(), header_bytes(group, &options(group)));
            let framed = |(_, _, link): &(_, _, &sojourn_scenario::Link)| {
                link.framing().map_or(bytes, |framing| framing.bytes(bytes))
            };
            (bytes, header, links.iter().map(framed).collect())
        };
        self.inner.groups.iter().map(packet).collect()
    }

    /// For each group, the routes of its data, as places among `links`: one for all of its flows, or one for each.
    fn routes(&self) -> Vec<Vec<PlacedRoute>> {
        let placed = |route: &sojourn_scenario::Route| {
            let of = |link| place(&self.inner, link) + route.station.filter(|_| link == Which::Station).unwrap_or(0);
            let all = |links: &[Which]| links.iter().map(|&link| of(link)).collect();
            let station = route.station.map(|station| self.inner.stations[station].name.clone());
            (all(&route.there), all(&route.back), route.main.map(of), station)
        };
        self.inner.groups.iter().map(|group| group.routes.iter().map(placed).collect()).collect()
    }

    fn as_network(&self) -> PyResult<Scenario> {
        let network = self.inner.as_network().map_err(PyValueError::new_err)?;
        Ok(Scenario { inner: Arc::new(network), warnings: Vec::new() })
    }

    #[getter]
    fn files(&self) -> Vec<&str> {
        let sojourn_scenario::Scenario { bottleneck, reverse, hops, changes, .. } = &*self.inner;
        let links = std::iter::once(bottleneck).chain(reverse).chain(hops.iter().map(|hop| &hop.link));
        let changed = changes.iter().flat_map(|change| &change.links).map(|change| &change.link);
        let traces = links.chain(changed).filter_map(|link| link.keys.trace.as_ref());
        traces.filter(|trace| !trace.is_ready()).map(|trace| trace.name.as_str()).collect()
    }

    #[pyo3(signature = (relative_to = None))]
    fn to_toml(&self, relative_to: Option<PathBuf>) -> PyResult<String> {
        let Some(folder) = relative_to else { return Ok(self.inner.to_toml()) };
        let folder = std::path::absolute(folder)?;
        let mut moved = (*self.inner).clone();
        rename_traces(&mut moved, |path| Ok(relative(path, &folder)))?;
        Ok(moved.to_toml())
    }

    fn to_json(&self) -> String {
        self.inner.to_json().to_string()
    }

    fn capacity_mbps(&self, bin_s: f64) -> Vec<f64> {
        let (bin, end) = (Span::from_secs_f64(bin_s).max(Span::from_nanos(1)), Time::ZERO + self.inner.duration);
        let mut rates = Vec::new();
        let mut from = Time::ZERO;
        while from < end {
            let to = (from + bin).min(end);
            let bytes = capacity_bytes(&self.inner, BOTTLENECK, from, to);
            rates.push(bytes * 8.0 / to.since(from).as_secs_f64() / 1e6);
            from = to;
        }
        rates
    }

    /// Bytes that the bottleneck and the link back can carry in a run.
    fn capacity_bytes(&self) -> f64 {
        let end = Time::ZERO + self.inner.duration;
        let ways = BOTTLENECK..=usize::from(self.inner.reverse.is_some());
        ways.map(|link| capacity_bytes(&self.inner, link, Time::ZERO, end)).sum()
    }

    fn run(
        &self,
        py: Python<'_>,
        seeds: Vec<u64>,
        jobs: usize,
        keep: Keep,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Run>> {
        let wanted = wanted(keep);
        let monitor = Monitor::default();
        let runs = seeds.len();
        let (scenario, progress) = (&*self.inner, progress.as_ref());
        let outcomes = py.detach(|| {
            std::thread::scope(|scope| {
                let (done, finished) = channel();
                let (watched, watches) = channel();
                let (wanted, monitor) = (&wanted, &monitor);
                scope.spawn(move || {
                    let outcomes = if plugins::are_used(scenario) {
                        // Python runs one thread at a time, and to stay attached is far cheaper than to attach again.
                        Python::attach(|py| {
                            let _ = watched.send(Watch::this_thread(py));
                            run_all(scenario, &seeds, 1, wanted, monitor)
                        })
                    } else {
                        run_all(scenario, &seeds, jobs, wanted, monitor)
                    };
                    // Nobody listens any more where the caller was interrupted.
                    let _ = done.send(outcomes);
                });
                let mut watch = None;
                loop {
                    match finished.recv_timeout(LOOK_EVERY) {
                        Ok(outcomes) => return outcomes.map_err(stopped),
                        Err(RecvTimeoutError::Disconnected) => return Err(errors::defect("a run panicked")),
                        Err(RecvTimeoutError::Timeout) => {}
                    }
                    let part = monitor.simulated().ratio(scenario.duration) / runs as f64;
                    if let Ok(found) = watches.try_recv() {
                        watch = Some(found?);
                    }
                    Python::attach(|py| {
                        watch.as_mut().map_or(Ok(()), |watch: &mut Watch| watch.look(py))?;
                        look(py, part, progress).inspect_err(|_| {
                            monitor.stop();
                            if let Some(watch) = &watch {
                                // Best effort: what cannot be ended now ends by its own patience.
                                let _ = watch.end_call(py);
                            }
                        })
                    })?;
                }
            })
        })?;
        Ok(outcomes.into_iter().map(|outcome| Run::new(self.inner.clone(), outcome)).collect())
    }
}

impl Scenario {
    /// The scenario itself.
    pub fn resolved(&self) -> &sojourn_scenario::Scenario {
        &self.inner
    }
}

/// Width of the bins of series in seconds, and whether packets, probes, transfers, delays and decisions are kept.
pub type Keep = (Option<f64>, bool, bool, bool, bool, bool);

/// What is kept of a run.
pub fn wanted((bin_s, packets, probes, transfers, delays, decisions): Keep) -> Wanted {
    let bin = bin_s.map(|bin_s| Span::from_secs_f64(bin_s).max(Span::from_nanos(1)));
    Wanted { bin, packets, probes, transfers, decisions, delays }
}

/// The exception for runs that leave nothing.
pub fn stopped(why: Stopped) -> PyErr {
    match why {
        Stopped::Asked => Interrupted::new_err("the runs were stopped"),
        Stopped::Failed(failure) => PluginError::new_err(failure.to_string()),
        Stopped::OutOfMemory => PyMemoryError::new_err("buffers and lines need more memory than there is"),
    }
}

/// Raises what signals ask for, and tells the progress.
fn look(py: Python<'_>, part: f64, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    if let Some(progress) = progress {
        progress.call1(py, (part,))?;
    }
    Ok(())
}

/// Renames the recorded links of a scenario that are files.
fn rename_traces(
    scenario: &mut sojourn_scenario::Scenario,
    name: impl Fn(&Path) -> std::io::Result<PathBuf>,
) -> std::io::Result<()> {
    let sojourn_scenario::Scenario { bottleneck, reverse, hops, changes, .. } = scenario;
    let links = std::iter::once(bottleneck).chain(reverse).chain(hops.iter_mut().map(|hop| &mut hop.link));
    let links = links.chain(changes.iter_mut().flat_map(|change| &mut change.links).map(|change| &mut change.link));
    for trace in links.filter_map(|link| link.keys.trace.as_mut()).filter(|trace| !trace.is_ready()) {
        let renamed = name(Path::new(&trace.name))?.to_string_lossy().into_owned();
        *trace = Arc::new(Trace { name: renamed, opportunities_ms: trace.opportunities_ms.clone() });
    }
    Ok(())
}

/// The absolute `path` as seen from the absolute `folder`.
fn relative(path: &Path, folder: &Path) -> PathBuf {
    let common = path.components().zip(folder.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    up.chain(path.components().skip(common)).collect()
}
