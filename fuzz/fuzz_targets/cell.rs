//! The body of this name, behind libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sojourn_fuzz::body("cell")(bytes));
