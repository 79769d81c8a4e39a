//! The clock and the randomness that quiche takes from the machine, which are the simulation's here.
//!
//! Quiche reads `Instant::now()`, and BoringSSL's `RAND_bytes`, wherever it needs them. Both are C functions in the end, and
//! this program has its own of the same names: `clock_gettime`, to which the linker gives precedence over libc's, and
//! `RAND_bytes`, whose calls `build.rs` has the linker send here. They answer for a [`Machine`] while one is at work on the
//! thread, and as always otherwise: Sojourn's measurement of the wall time stays one. Linux only.

use libc::{CLOCK_MONOTONIC, SYS_clock_gettime, c_int, clockid_t, size_t, timespec};
use sojourn_endpoint::Time;
use std::cell::Cell;

/// What the clock says at time zero, so that quiche may look back from there.
const START_S: u64 = 86_400;
const NANOS_PER_S: u64 = 1_000_000_000;

thread_local! {
    static AT_WORK: Cell<Option<Machine>> = const { Cell::new(None) };
}

/// What an end knows of its machine.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    now_nanos: u64,
    random: u64,
}

impl Machine {
    /// Draws everything from `seed`.
    pub fn new(seed: u64) -> Machine {
        Machine { now_nanos: 0, random: seed }
    }

    /// Does `work` as if it were `now`.
    pub fn at<T>(&mut self, now: Time, work: impl FnOnce() -> T) -> T {
        /// Sets the thread free, also of work that panics.
        struct Leave;
        impl Drop for Leave {
            fn drop(&mut self) {
                AT_WORK.set(None);
            }
        }
        let _leave = Leave;
        AT_WORK.set(Some(Machine { now_nanos: now.as_nanos(), ..*self }));
        let done = work();
        *self = AT_WORK.get().unwrap_or(*self);
        done
    }

    /// The next number, by SplitMix64.
    pub fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

#[allow(unsafe_code)]
unsafe extern "C" {
    fn __real_RAND_bytes(bytes: *mut u8, count: size_t) -> c_int;
}

/// In place of libc's.
///
/// # Safety
/// As in C: `time` is valid for a write.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    match AT_WORK.get() {
        Some(machine) if clock == CLOCK_MONOTONIC => {
            let (seconds, nanos) = (machine.now_nanos / NANOS_PER_S, machine.now_nanos % NANOS_PER_S);
            // SAFETY: whoever calls says where the answer goes, as for the function of libc.
            unsafe { time.write(timespec { tv_sec: (START_S + seconds) as i64, tv_nsec: nanos as i64 }) };
            0
        }
        // SAFETY: the system call has the same arguments.
        _ => unsafe { libc::syscall(SYS_clock_gettime, clock, time) as c_int },
    }
}

/// In place of BoringSSL's.
///
/// # Safety
/// As in C: `bytes` are valid for writes of `count`.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_RAND_bytes(bytes: *mut u8, count: size_t) -> c_int {
    let Some(mut machine) = AT_WORK.get() else {
        // SAFETY: it is BoringSSL's own, with the same arguments.
        return unsafe { __real_RAND_bytes(bytes, count) };
    };
    for place in 0..count {
        // SAFETY: whoever calls says where the bytes go, as for the function of BoringSSL.
        unsafe { bytes.add(place).write(machine.draw() as u8) };
    }
    AT_WORK.set(Some(machine));
    1
}
