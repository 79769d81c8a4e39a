//! Laws that every transport stack keeps, each with a verdict: for `cargo test` of the stack's own crate, and for
//! `sojourn try --stack`.
//!
//! [`laws!`](crate::laws!) makes a test of each law for a [`Subject`].

mod checks;
#[cfg(test)]
mod tests;

use crate::Connect;
use std::fmt;

/// What a stack must do on a link of 10 Mbit/s with a base RTT of 40 ms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Law {
    /// Two runs of one seed have the same record.
    SameSeed,
    /// 1 MB over an empty link takes its serialization time, and at most the handshakes and slow start beside it.
    Arithmetic,
    /// 300 kB arrive whatever the path does: loss each way, reordering, a buffer of two packets, 100 kbit/s, an outage of 3 s.
    Faults,
    /// A lone connection uses the link, where the buffer is the bandwidth-delay product.
    LoneUse,
    /// A lone connection loses little under each of six queue disciplines.
    LoneLoss,
    /// Four connections that start within a second share the link.
    EqualShares,
}

impl Law {
    /// All laws, in the order in which reports have them.
    pub const ALL: [Law; 6] =
        [Law::SameSeed, Law::Arithmetic, Law::Faults, Law::LoneUse, Law::LoneLoss, Law::EqualShares];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Law::SameSeed => "same-seed",
            Law::Arithmetic => "arithmetic",
            Law::Faults => "faults",
            Law::LoneUse => "lone-use",
            Law::LoneLoss => "lone-loss",
            Law::EqualShares => "equal-shares",
        }
    }

    /// The law in a sentence.
    pub fn says(self) -> &'static str {
        match self {
            Law::SameSeed => "The same seed gives the same run",
            Law::Arithmetic => "A transfer over an empty link takes as long as arithmetic says",
            Law::Faults => "A transfer ends through loss, reordering, tiny buffers, slow links and outages",
            Law::LoneUse => "A lone connection uses the link",
            Law::LoneLoss => "A lone connection causes little loss",
            Law::EqualShares => "Equal connections share",
        }
    }
}

/// How far a stack may go. [`Default`] has the bounds of `sojourn try --stack`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounds {
    /// [`Law::Arithmetic`]: the part of the link's rate that is data, at least; above 0, at most 1.
    pub efficiency: f64,
    /// [`Law::Arithmetic`]: round trips beside the time on the link, at most. By default 12: 3 of handshakes, 6 in which a window
    /// of 2 segments grows to the 33 of the bandwidth-delay product where acknowledgements are delayed, 3 for what is sent again.
    pub round_trips: f64,
    /// [`Law::Faults`]: simulated time for each transfer in s, at most. At 100 kbit/s the data alone takes 24 s.
    pub faults_s: f64,
    /// [`Law::LoneUse`]: utilization, at least, 0 to 1; mean over three seeds.
    pub utilization: f64,
    /// [`Law::LoneLoss`]: part of the packets that are dropped, at most, 0 to 1; mean over three seeds. By default 5 %. A window of
    /// the path and its buffer, 67 segments, that halves at a loss and grows by one in a round trip loses 1.5 / 67^2 = 0.03 %
    /// (Floyd 1991). A hundred times as much is not what a congestion window does.
    pub loss: f64,
    /// [`Law::EqualShares`]: Jain's index of the goodputs, at least, 0.25 to 1 for four connections; mean over three seeds.
    pub jain: f64,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { efficiency: 0.9, round_trips: 12.0, faults_s: 60.0, utilization: 0.8, loss: 0.05, jain: 0.8 }
    }
}

impl Bounds {
    /// What is wrong with a bound: one that is always kept judges nothing, and one that cannot be kept is a mistake.
    fn problem(&self) -> Option<String> {
        let allowed = [
            ("efficiency", self.efficiency, f64::EPSILON, 1.0),
            ("round_trips", self.round_trips, 1.0, 1e4),
            ("faults_s", self.faults_s, 1.0, 1e4),
            ("utilization", self.utilization, f64::EPSILON, 1.0),
            ("loss", self.loss, 0.0, 0.99),
            ("jain", self.jain, 0.25 + f64::EPSILON, 1.0),
        ];
        let (name, found, least, most) =
            allowed.into_iter().find(|&(_, found, least, most)| !(least..=most).contains(&found))?;
        Some(format!("Bounds::{name}: found {found}; allowed: {least:.3} to {most}"))
    }
}

/// The verdict on one law.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Which one.
    pub law: Law,
    /// Whether the stack keeps it.
    pub holds: bool,
    /// Of which flow, when, what was found and what is allowed; or the sentence of a run that failed.
    pub found: String,
}

/// A stack that is judged.
#[derive(Clone)]
pub struct Subject<'a> {
    name: String,
    control: Option<String>,
    bounds: Bounds,
    connect: Connect<'a>,
}

impl<'a> Subject<'a> {
    /// A stack by the function that makes its connections, with its own choice of a control and the usual bounds. The name is
    /// for messages.
    pub fn new(name: &str, connect: Connect<'a>) -> Subject<'a> {
        Subject { name: name.to_owned(), control: None, bounds: Bounds::default(), connect }
    }

    /// The same stack with one of its congestion controls, as the stack names it.
    #[must_use]
    pub fn control(self, name: &str) -> Subject<'a> {
        Subject { control: Some(name.to_owned()), ..self }
    }

    /// The same stack with other bounds.
    #[must_use]
    pub fn bounds(self, bounds: Bounds) -> Subject<'a> {
        Subject { bounds, ..self }
    }

    /// Judges it by one law, which takes some seconds at most with a stack that takes as many for a minute of traffic.
    pub fn judge(&self, law: Law) -> Verdict {
        let judged = self.bounds.problem().map_or_else(|| checks::check(self, law), Err);
        let (holds, found) = judged.unwrap_or_else(|error| (false, error));
        Verdict { law, holds, found }
    }

    /// Judges it by one law: the body of a test.
    ///
    /// # Panics
    /// Where the stack breaks it, with law, stack, and what was found and is allowed.
    #[track_caller]
    pub fn keeps(&self, law: Law) {
        let verdict = self.judge(law);
        assert!(verdict.holds, "{self} breaks the law \"{}\" ({}): {}", law.says(), law.name(), verdict.found);
    }
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        self.control.as_ref().map_or(Ok(()), |control| write!(f, " {control}"))
    }
}

/// Makes a test of each law for a [`Subject`](crate::laws::Subject).
#[macro_export]
macro_rules! laws {
    ($subject:expr) => {
        $crate::laws!(@each $subject, same_seed SameSeed, arithmetic Arithmetic, faults Faults, lone_use LoneUse,
            lone_loss LoneLoss, equal_shares EqualShares);
    };
    (@each $subject:expr, $($test:ident $law:ident),+) => {
        $(#[test]
        fn $test() {
            $subject.keeps($crate::laws::Law::$law);
        })+
    };
}
