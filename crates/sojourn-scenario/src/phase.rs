//! Phases of a run that have results of their own.

use crate::declare::{name, span, table};
use crate::form::{LONGEST, MOMENT};
use sojourn_core::Span;

table! {
    /// A part of the run that has results of its own in the record, beside those of the whole run. It begins at or
    /// after `warmup`, and counts what happens from `from` on and before `to`. Phases may overlap. They change
    /// nothing of the run.
    pub struct Phase = PHASE, "phase" => {
        /// what the phase is called in records and overrides
        name: String = name(&[]).required("slow"),
        /// when it begins
        from: Span = span(MOMENT).required("20 s"),
        /// when it ends, at the end of the run at the latest
        to: Span = span(Span::from_nanos(1)..=LONGEST).required("40 s"),
        /// it begins again at this interval, to the end of the run; the results are those of all its windows
        /// together
        every: Option<Span> = span(Span::from_nanos(1)..=LONGEST).unless("there is this one window", "40 s"),
    }
}

impl Phase {
    /// When it begins and ends in a run of `duration`, whose end ends the last window.
    pub fn windows(&self, duration: Span) -> impl Iterator<Item = (Span, Span)> + use<> {
        let (length, every) = (self.to - self.from, self.every);
        let next = move |&from: &Span| every.map(|every| from + every).filter(|&from| from < duration);
        std::iter::successors(Some(self.from), next).map(move |from| (from, (from + length).min(duration)))
    }
}
