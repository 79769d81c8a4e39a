//! A congestion control of the page's: its state lies on the page's side, in JavaScript or in another WebAssembly module, and
//! is asked through imports of this module. Times go over in ns, windows in segments; what is unknown is NaN.

use sojourn_congestion::{Ack, Congestion, Control, Path, Recovered, Repair, Signal, custom};
use sojourn_core::registry::{Descriptor, Params};
use sojourn_core::{Span, Stream};

/// What the page's control is called in a scenario.
static MINE: Descriptor =
    Descriptor { name: "mine", summary: "the control in this page's editor", ..Descriptor::PLAIN };

#[link(wasm_import_module = "control")]
unsafe extern "C" {
    safe fn make(mss_bytes: f64, initial_window: f64, sack: u32) -> u32;
    safe fn copy(handle: u32) -> u32;
    safe fn forget(handle: u32);
    #[allow(clippy::too_many_arguments, reason = "what crosses the border are numbers")]
    safe fn on_ack(
        handle: u32,
        now_ns: f64,
        newly_acked: f64,
        delivered: f64,
        flight: f64,
        window_limited: u32,
        in_recovery: u32,
        rtt_ns: f64,
        srtt_ns: f64,
        min_rtt_ns: f64,
        one_way_delay_ns: f64,
        marked: u32,
    );
    safe fn on_congestion(handle: u32, now_ns: f64, signal: u32, repeated: u32, flight: f64, pipe: f64, srtt_ns: f64);
    safe fn on_recovered(handle: u32, now_ns: f64, repair: u32, flight: f64);
    safe fn set_window(handle: u32, window: f64, ssthresh: f64);
    safe fn window(handle: u32) -> f64;
    safe fn ssthresh(handle: u32) -> f64;
}

/// Lets scenarios name the page's control; once for each module.
pub fn add() {
    let known = custom::descriptors().iter().any(|descriptor| std::ptr::eq(*descriptor, &MINE));
    if !known {
        // No built-in control has the name.
        let _ = custom::add(&MINE, |_params: &Params, path: &Path, _random: Stream| {
            Ok(Mine::of(make(f64::from(path.mss_bytes), path.initial_window, u32::from(path.sack))))
        });
    }
}

/// The state of one flow.
#[derive(Debug)]
struct Mine {
    handle: u32,
    window: f64,
    ssthresh: f64,
}

impl Mine {
    fn of(handle: u32) -> Mine {
        Mine { handle, window: window(handle), ssthresh: ssthresh(handle) }
    }

    fn look(&mut self) {
        (self.window, self.ssthresh) = (window(self.handle), ssthresh(self.handle));
    }
}

impl Clone for Mine {
    fn clone(&self) -> Mine {
        Mine::of(copy(self.handle))
    }
}

impl Drop for Mine {
    fn drop(&mut self) {
        forget(self.handle);
    }
}

fn nanos(span: Span) -> f64 {
    span.as_nanos() as f64
}

fn measured(span: Span) -> f64 {
    if span.is_zero() || span == Span::MAX { f64::NAN } else { nanos(span) }
}

impl Control for Mine {
    fn on_ack(&mut self, ack: &Ack) {
        on_ack(
            self.handle,
            ack.now.as_nanos() as f64,
            f64::from(ack.newly_acked),
            f64::from(ack.delivered),
            ack.flight,
            u32::from(ack.window_limited),
            u32::from(ack.in_recovery),
            ack.rtt.map_or(f64::NAN, nanos),
            measured(ack.smoothed_rtt),
            measured(ack.min_rtt),
            ack.one_way_delay_nanos.map_or(f64::NAN, |delay| delay as f64),
            u32::from(ack.marked),
        );
        self.look();
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let (signal, repeated) = match event.signal {
            Signal::Loss => (0, false),
            Signal::Ecn => (1, false),
            Signal::Timeout { repeated } => (2, repeated),
        };
        let (now, srtt) = (event.now.as_nanos() as f64, measured(event.smoothed_rtt));
        on_congestion(self.handle, now, signal, u32::from(repeated), event.flight, event.pipe, srtt);
        self.look();
    }

    fn on_recovered(&mut self, recovered: &Recovered) {
        let repair = match recovered.repair {
            Repair::Partial => 0,
            Repair::Selective => 1,
            Repair::Timeout => 2,
        };
        on_recovered(self.handle, recovered.now.as_nanos() as f64, repair, recovered.flight);
        self.look();
    }

    fn set_window(&mut self, window: f64, threshold: f64) {
        set_window(self.handle, window, threshold);
        self.look();
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn slow_start_threshold(&self) -> f64 {
        self.ssthresh
    }
}
