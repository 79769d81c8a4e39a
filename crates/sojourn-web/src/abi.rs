//! The C ABI. Names have a prefix: an unprefixed `open` or `close` would take the C library's place in a native build.
//!
//! A text goes in as an address and a length of memory from [`sojourn_alloc`], which the callee frees. A text comes out as the
//! present answer, which stays until the next call.

use crate::columns::COLUMNS;
use crate::engine::{Request, Run, check};
use std::cell::RefCell;
use std::panic;
use std::sync::{Mutex, Once};

thread_local! {
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Why the module has stopped: a panic ends a WebAssembly instance, and its message would be lost.
static FAILURE: Mutex<String> = Mutex::new(String::new());

fn remember_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        panic::set_hook(Box::new(|info| {
            if let Ok(mut failure) = FAILURE.try_lock() {
                *failure = info.to_string();
            }
        }));
    });
}

fn answer(text: impl Into<Vec<u8>>) {
    ANSWER.with_borrow_mut(|answer| *answer = text.into());
}

/// Memory for a text of `length` bytes, which the function that takes the text frees.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_alloc(length: usize) -> *mut u8 {
    remember_panics();
    Box::into_raw(vec![0_u8; length].into_boxed_slice()).cast()
}

/// The text that the page wrote.
///
/// # Safety
/// `text` came from [`sojourn_alloc`] with this `length` and has not been handed over before.
unsafe fn taken(text: *mut u8, length: usize) -> String {
    // SAFETY: the caller's promise.
    let bytes = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(text, length)) };
    String::from_utf8(bytes.into_vec()).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Address of the present answer.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_answer() -> *const u8 {
    ANSWER.with_borrow(Vec::as_ptr)
}

/// Length of the present answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_answer_length() -> usize {
    ANSWER.with_borrow(Vec::len)
}

/// Answers with the message of the panic that ended the module; empty where there was none.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_failure() {
    answer(FAILURE.try_lock().map(|failure| failure.clone()).unwrap_or_default());
}

/// Answers with everything that a scenario can name, and with the version, as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_catalogue() {
    let mut all = sojourn_scenario::catalogue();
    all["version"] = env!("CARGO_PKG_VERSION").into();
    answer(all.to_string());
}

/// Lets scenarios name the page's own control, `mine`.
#[cfg(target_arch = "wasm32")]
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_add_control() {
    crate::control::add();
}

/// Answers with the names of the columns, as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_columns() {
    answer(serde_json::json!(COLUMNS.as_slice()).to_string());
}

/// Answers with the text of the ready scenario of this name; 0 where there is none.
///
/// # Safety
/// As every text: from [`sojourn_alloc`], handed over once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_ready(name: *mut u8, length: usize) -> u32 {
    // SAFETY: the caller's promise.
    let name = unsafe { taken(name, length) };
    let ready = sojourn_scenario::ready().iter().find(|ready| ready.name == name);
    answer(ready.map_or("", |ready| ready.text));
    u32::from(ready.is_some())
}

/// Answers as [`check`] for the [`Request`] in this JSON; 1 where the scenario can be run.
///
/// # Safety
/// As every text: from [`sojourn_alloc`], handed over once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_check(request: *mut u8, length: usize) -> u32 {
    // SAFETY: the caller's promise.
    let text = unsafe { taken(request, length) };
    let checked = Request::read(&text).and_then(|request| check(&request));
    let right = checked.is_ok();
    answer(checked.unwrap_or_else(|problems| problems).to_string());
    u32::from(right)
}

/// A run for the [`Request`] in this JSON, to be closed; null where it cannot be run, and the answer says why.
///
/// # Safety
/// As every text: from [`sojourn_alloc`], handed over once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_open(request: *mut u8, length: usize) -> *mut Run {
    // SAFETY: the caller's promise.
    let text = unsafe { taken(request, length) };
    match Request::read(&text).and_then(|request| Run::open(&request)) {
        Ok(run) => Box::into_raw(Box::new(run)),
        Err(problems) => {
            answer(problems.to_string());
            std::ptr::null_mut()
        }
    }
}

/// As [`Run::advance`].
///
/// # Safety
/// `run` is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_advance(run: *mut Run, until_s: f64) -> f64 {
    // SAFETY: the caller's promise.
    unsafe { &mut *run }.advance(until_s)
}

/// As [`Run::take`].
///
/// # Safety
/// `run` is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_take(run: *mut Run) {
    // SAFETY: the caller's promise.
    unsafe { &mut *run }.take();
}

/// As [`Run::finish`]: 1 with the record as the answer, 0 with a sentence.
///
/// # Safety
/// `run` is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_finish(run: *mut Run) -> u32 {
    // SAFETY: the caller's promise.
    let finished = unsafe { &mut *run }.finish();
    let right = finished.is_ok();
    answer(finished.unwrap_or_else(|sentence| sentence));
    u32::from(right)
}

/// Address of the column with this index, which stays until the columns are filled anew.
///
/// # Safety
/// `run` is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_column(run: *const Run, index: usize) -> *const f64 {
    // SAFETY: the caller's promise.
    unsafe { &*run }.column(index).as_ptr()
}

/// Number of values in the column with this index.
///
/// # Safety
/// `run` is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_column_length(run: *const Run, index: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { &*run }.column(index).len()
}

/// Closes a run.
///
/// # Safety
/// `run` is open, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_close(run: *mut Run) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(run) });
}
