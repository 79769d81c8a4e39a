//! One run, and many runs on many threads.

use crate::packets::PacketLog;
use crate::record::Record;
use crate::series::Series;
use crate::session::Session;
use crate::world::TransferRow;
use sojourn_core::plugin::Failure;
use sojourn_core::{OutOfMemory, Span};
use sojourn_scenario::Scenario;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// What to keep of a run beside its record.
#[derive(Clone, Copy, Default, Debug)]
pub struct Wanted {
    /// Time series with bins of this length.
    pub bin: Option<Span>,
    /// Rows of packets at the bottleneck and at both ends of their way.
    pub packets: bool,
    /// In the time series, what disciplines and controls show of themselves.
    pub probes: bool,
    /// A row for each transfer that ended.
    pub transfers: bool,
    /// In the record, the one-way delays and start-up times of every group.
    pub delays: bool,
}

/// What a run leaves.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// Its record.
    pub record: Record,
    /// Its time series, where they were wanted.
    pub series: Option<Series>,
    /// Its packets, where they were wanted.
    pub packets: Option<PacketLog>,
    /// Its transfers in the order in which they ended, where they were wanted.
    pub transfers: Option<Vec<TransferRow>>,
}

/// Lets another thread see how far runs are, and stop them.
#[derive(Default, Debug)]
pub struct Monitor {
    simulated_nanos: AtomicU64,
    stop: AtomicBool,
}

/// Why a run has no outcome.
#[derive(Clone, PartialEq, Debug)]
pub enum Stopped {
    /// The monitor was told to stop.
    Asked,
    /// A plug-in failed.
    Failed(Failure),
    /// Buffers or lines need more memory than there is.
    OutOfMemory,
}

impl Monitor {
    /// Asks all runs to stop soon.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether they were asked to.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A run has come further by `time`.
    pub(crate) fn note(&self, time: Span) {
        self.simulated_nanos.fetch_add(time.as_nanos(), Ordering::Relaxed);
    }

    /// Simulated time of all runs together.
    pub fn simulated(&self) -> Span {
        Span::from_nanos(self.simulated_nanos.load(Ordering::Relaxed))
    }
}

/// Runs `scenario` once with seed `seed`.
///
/// # Errors
/// [`Stopped`]: on request, or by a plug-in that failed.
pub fn simulate(scenario: &Scenario, seed: u64, wanted: &Wanted, monitor: &Monitor) -> Result<Outcome, Stopped> {
    if monitor.is_stopped() {
        return Err(Stopped::Asked);
    }
    Session::new(scenario, seed, wanted).finish(monitor)
}

/// Runs `scenario` with each of `seeds` on up to `jobs` threads; outcomes in the order of the seeds.
///
/// # Errors
/// [`Stopped`]: on request, by a plug-in that failed, or for want of memory.
pub fn run_all(
    scenario: &Scenario,
    seeds: &[u64],
    jobs: usize,
    wanted: &Wanted,
    monitor: &Monitor,
) -> Result<Vec<Outcome>, Stopped> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<Outcome, Stopped>>>> = seeds.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some((seed, result)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            seeds.get(index).zip(results.get(index))
        } {
            let outcome = within_memory(|| simulate(scenario, *seed, wanted, monitor));
            *result.lock().expect("no run panics while it stores its result") = Some(outcome);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.min(seeds.len()) {
            scope.spawn(work);
        }
        work();
    });
    results.into_iter().map(|result| result.into_inner().ok().flatten().expect("every run was done")).collect()
}

/// Does `work`; what has run out of memory in it is an error, and any other panic goes on.
fn within_memory<T>(work: impl FnOnce() -> Result<T, Stopped>) -> Result<T, Stopped> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|reason| match reason.downcast::<OutOfMemory>() {
        Ok(_) => Err(Stopped::OutOfMemory),
        Err(reason) => resume_unwind(reason),
    })
}
