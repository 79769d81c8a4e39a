//! What every control does with idle time, at the end of a repair, and when a reduction is taken back: one table, for the tests.
//!
//! A law holds for each preset of each control of the registry, also of one that is added tomorrow. Where a source says
//! something else, an exception names the source and states what holds instead. An exception that the law would do without is
//! a fault of the table.

mod idle;
mod repair;

use crate::script::{Round, Script, params};
use crate::{AppLimited, Control, DESCRIPTORS, Repair, Signal, Unused};
use sojourn_core::Span;
use sojourn_core::registry::Params;

/// What holds for a control with these parameters, or what was found instead.
type Check = fn(&Params) -> Result<(), String>;

/// What holds for every control.
struct Law {
    /// What it says, and who says it.
    says: &'static str,
    holds: Check,
    exceptions: &'static [Exception],
}

/// A control that follows another source.
struct Exception {
    control: &'static str,
    /// All where there are none.
    presets: &'static [&'static str],
    source: &'static str,
    holds: Check,
}

impl Exception {
    fn covers(&self, control: &str, preset: &str) -> bool {
        self.control == control && (self.presets.is_empty() || self.presets.contains(&preset))
    }

    /// The presets that it covers.
    fn subjects(&self) -> impl Iterator<Item = Params> {
        let all =
            DESCRIPTORS.iter().flat_map(|descriptor| descriptor.presets.iter().map(|preset| (*descriptor, preset)));
        all.filter(|(descriptor, preset)| self.covers(descriptor.name, preset.name))
            .map(|(descriptor, preset)| params(descriptor, preset.name, &[]))
    }
}

impl Law {
    /// Asserts it of the whole registry.
    #[track_caller]
    fn assert(&self) {
        let mut faults = Vec::new();
        for exception in self.exceptions {
            let known = DESCRIPTORS.iter().any(|descriptor| {
                descriptor.name == exception.control
                    && exception.presets.iter().all(|preset| descriptor.preset(preset).is_some())
            });
            assert!(known, "{}: {} {:?} is not registered", self.says, exception.control, exception.presets);
            let needed = exception.subjects().any(|params| (self.holds)(&params).is_err());
            assert!(needed, "{}: {} {:?} needs no exception", self.says, exception.control, exception.presets);
        }
        for descriptor in DESCRIPTORS {
            for preset in descriptor.presets {
                let whose = format!("{} {}", descriptor.name, preset.name);
                let params = params(descriptor, preset.name, &[]);
                let exception = self.exceptions.iter().find(|exception| exception.covers(descriptor.name, preset.name));
                let Some(exception) = exception else {
                    faults.extend((self.holds)(&params).err().map(|fault| format!("{whose}: {fault}")));
                    continue;
                };
                let fault = (exception.holds)(&params).err();
                faults.extend(fault.map(|fault| format!("{whose} (exception of {}): {fault}", exception.source)));
            }
        }
        assert!(faults.is_empty(), "{}\n{}", self.says, faults.join("\n"));
    }
}

/// A flow in congestion avoidance whose threshold is known, with a window that can be told from the least ones.
fn used(params: &Params) -> Script {
    let mut script = Script::new(params);
    for _ in 0..100 {
        if script.window() >= 32.0 {
            break;
        }
        script.round(Round::Queue(0));
    }
    script.table(&[Round::Loss(0), Round::Queue(0)]);
    script
}

/// A flow in its first slow start.
fn young(params: &Params) -> Script {
    let mut script = Script::new(params);
    script.table(&[Round::Queue(0); 4]);
    script
}

fn state(script: &Script) -> (f64, f64) {
    (script.window(), script.control.slow_start_threshold())
}

fn shown(script: &Script) -> Vec<(&'static str, f64)> {
    let mut shown = Vec::new();
    script.control.probe(&mut |name, value| shown.push((name, value)));
    shown
}

/// `found` is `expected`, or that rounded down where a control counts whole segments.
fn same(found: f64, expected: f64) -> bool {
    found == expected || found == expected.floor()
}

fn expect(holds: bool, found: impl std::fmt::Debug, instead_of: impl std::fmt::Debug) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("{found:?} instead of {instead_of:?}")) }
}
