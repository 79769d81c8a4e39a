//! Any bytes are refused, or are a trace that can be replayed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_scenario::Trace;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(trace) = Trace::read("fuzzed", bytes) {
        assert!(trace.opportunities_ms.is_sorted());
        assert!(!trace.period().is_zero());
        assert!(trace.mean_rate().bits_per_second() > 0);
    }
});
