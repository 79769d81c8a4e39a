//! One run, and many runs on many threads.

use crate::outcome::{Monitor, Outcome, Stopped};
use crate::session::Session;
use crate::wanted::Wanted;
use sojourn_core::OutOfMemory;
use sojourn_scenario::Scenario;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

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
