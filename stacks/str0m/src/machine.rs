//! The clock and the random numbers that str0m and its crates take from the machine, which are the simulation's here.
//!
//! Str0m's DTLS draws from the system wherever it needs to. Its signatures are of ECDSA, whose length depends on what is drawn,
//! and bytes are what a link carries. Its times in RTCP count from a time of the machine. All of it comes through three C
//! functions in the end, and this program has its own of the same names, to which the linker gives precedence over libc's.
//! They answer for the simulation while str0m is [at work](at_work) on the thread, and as always otherwise: Sojourn's
//! measurement of the wall time stays one. Linux only.

use libc::{RTLD_NEXT, c_int, c_long, c_uint, c_void, clockid_t, dlsym, size_t, ssize_t, timespec};
use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// What the clock says while str0m is at work, which is told the time otherwise: a day, so that it may look back from there.
const NOW_S: i64 = 86_400;

thread_local! {
    static DRAWN: Cell<u64> = const { Cell::new(0) };
    static AT_WORK: Cell<bool> = const { Cell::new(false) };
}

/// Draws everything on this thread from `seed` from now on.
pub fn seed(seed: u64) {
    // A generator that the thread has not had yet takes a seed when it is made, and another one from there.
    at_work(|| {
        let mut thread = rand::rng();
        DRAWN.set(seed);
        fastrand::seed(seed);
        thread.reseed().expect("numbers without end");
    });
}

/// Does `work` of str0m.
pub fn at_work<T>(work: impl FnOnce() -> T) -> T {
    /// Sets the thread free, also of work that panics.
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            AT_WORK.set(false);
        }
    }
    let _leave = Leave;
    AT_WORK.set(true);
    work()
}

/// The next number, by SplitMix64.
fn draw() -> u64 {
    let state = DRAWN.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
    DRAWN.set(state);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// In place of libc's.
///
/// # Safety
/// As in C: `bytes` are valid for writes of `count`.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(bytes: *mut c_void, count: size_t, flags: c_uint) -> ssize_t {
    // SAFETY: the arguments are those of the system call.
    unsafe { syscall(libc::SYS_getrandom, bytes as usize, count, flags as usize, 0, 0, 0) as ssize_t }
}

/// In place of libc's. It has any number of arguments, which Linux passes as it passes six of the size of a register.
///
/// # Safety
/// As in C: the arguments are those of the system call.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long {
    static LIBC: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    if number == libc::SYS_getrandom && AT_WORK.get() {
        for place in 0..b {
            // SAFETY: whoever calls says where the bytes go, as for the function of libc.
            unsafe { (a as *mut u8).add(place).write(draw() as u8) };
        }
        return b as c_long;
    }
    if LIBC.load(Relaxed).is_null() {
        // SAFETY: the name is a string of C.
        LIBC.store(unsafe { dlsym(RTLD_NEXT, c"syscall".as_ptr()) }, Relaxed);
    }
    type Syscall = unsafe extern "C" fn(c_long, ...) -> c_long;
    // SAFETY: libc has this function, with these arguments.
    unsafe { std::mem::transmute::<*mut c_void, Syscall>(LIBC.load(Relaxed))(number, a, b, c, d, e, f) }
}

/// In place of libc's.
///
/// # Safety
/// As in C: `time` is valid for a write.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    if !AT_WORK.get() {
        // SAFETY: the system call has the same arguments.
        return unsafe { syscall(libc::SYS_clock_gettime, clock as usize, time as usize, 0, 0, 0, 0) as c_int };
    }
    // SAFETY: whoever calls says where the answer goes, as for the function of libc.
    unsafe { time.write(timespec { tv_sec: NOW_S, tv_nsec: 0 }) };
    0
}
