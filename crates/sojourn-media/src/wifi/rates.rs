//! At which rate a device sends to a receiver: at the one that its station has, or at one that is selected.

#[cfg(feature = "minstrel")]
use super::minstrel::Series;
use super::phy::{Air, Mode};
#[cfg(feature = "minstrel")]
use super::selection::Selected;
use super::setup::Station;
use crate::Device;
use sojourn_core::{Span, Stream, Time};

/// The rates of a network.
#[derive(Debug)]
pub(super) struct Rates {
    stations: Vec<Station>,
    /// Of the access point to each station, then of each station to the access point; none where it is not selected.
    #[cfg(feature = "minstrel")]
    selected: Vec<Option<Box<Selected>>>,
}

/// Who sends, and the station that sends or receives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    #[cfg_attr(not(feature = "minstrel"), expect(dead_code, reason = "fixed rates are the same in both directions"))]
    pub device: Device,
    pub station: usize,
}

/// How an exchange is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    #[cfg(feature = "minstrel")]
    series: Option<Series>,
}

/// How often frames of an exchange are lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Losses {
    station: Station,
    /// The probability that a bit is wrong at the present rate.
    #[cfg(feature = "minstrel")]
    bit_errors: f64,
}

impl Rates {
    /// Of `stations`. `stream` makes a random stream of a device and a name.
    #[cfg_attr(not(feature = "minstrel"), expect(unused_variables))]
    pub fn new(air: &Air, stations: Vec<Station>, stream: impl Fn(Device, &str) -> Stream) -> Rates {
        Rates {
            #[cfg(feature = "minstrel")]
            selected: Selected::of_all(air, &stations, stream),
            stations,
        }
    }

    /// How many stations there are.
    pub fn stations(&self) -> usize {
        self.stations.len()
    }

    #[cfg(feature = "minstrel")]
    fn selected(&self, way: Way) -> Option<&Selected> {
        self.selected.get(way.place(self.stations.len()))?.as_deref()
    }

    #[cfg(feature = "minstrel")]
    fn selected_mut(&mut self, way: Way) -> Option<&mut Selected> {
        self.selected.get_mut(way.place(self.stations.len()))?.as_deref_mut()
    }

    /// How the next exchange is sent.
    #[cfg_attr(not(feature = "minstrel"), expect(unused_variables))]
    pub fn choose(&mut self, way: Way, now: Time) -> Choice {
        Choice {
            #[cfg(feature = "minstrel")]
            series: self.selected_mut(way).map(|selected| selected.minstrel.choose(now)),
        }
    }

    /// The rate of its next try.
    #[cfg_attr(not(feature = "minstrel"), expect(unused_variables))]
    pub fn mode(&self, way: Way, choice: &Choice) -> &Mode {
        #[cfg(feature = "minstrel")]
        if let (Some(selected), Some(series)) = (self.selected(way), &choice.series) {
            return selected.mode(series.rate());
        }
        &self.stations[way.station].mode
    }

    /// The rate that is thought the best.
    pub fn best(&self, way: Way) -> &Mode {
        #[cfg(feature = "minstrel")]
        if let Some(selected) = self.selected(way) {
            return selected.mode(selected.minstrel.best());
        }
        &self.stations[way.station].mode
    }

    /// The most bytes that take no longer than `longest` at any rate at which they may be tried.
    #[cfg_attr(not(feature = "minstrel"), expect(unused_variables))]
    pub fn bytes_within(&self, way: Way, choice: &Choice, longest: Span) -> u32 {
        #[cfg(feature = "minstrel")]
        if let (Some(selected), Some(series)) = (self.selected(way), &choice.series) {
            let within = |&rate: &u8| selected.mode(usize::from(rate)).bytes_within(longest);
            return series.rates.iter().map(within).min().unwrap_or(0);
        }
        self.stations[way.station].mode.bytes_within(longest)
    }

    /// How often frames of a try at `now` are lost.
    #[cfg_attr(not(feature = "minstrel"), expect(unused_variables))]
    pub fn losses(&self, way: Way, choice: &Choice, now: Time) -> Losses {
        #[cfg(feature = "minstrel")]
        let bit_errors = match (self.selected(way), &choice.series) {
            (Some(selected), Some(series)) => selected.bit_errors(series.rate(), now),
            _ => 0.0,
        };
        Losses {
            station: self.stations[way.station],
            #[cfg(feature = "minstrel")]
            bit_errors,
        }
    }

    /// A try of an exchange of `frames`, of which `answered` were, has `ended` it or not.
    #[cfg_attr(not(feature = "minstrel"), expect(unused_variables))]
    pub fn tried(&mut self, way: Way, choice: &mut Choice, (frames, answered): (u32, u32), ends: bool, now: Time) {
        #[cfg(feature = "minstrel")]
        if let (Some(selected), Some(series)) = (self.selected_mut(way), &mut choice.series) {
            selected.minstrel.tried(series, frames, answered, ends, now);
        }
    }
}

impl Way {
    #[cfg(feature = "minstrel")]
    fn place(self, stations: usize) -> usize {
        if self.device == crate::ACCESS_POINT { self.station } else { stations + self.station }
    }
}

impl Choice {
    /// Whether the exchange has one frame only.
    pub fn is_alone(&self) -> bool {
        #[cfg(feature = "minstrel")]
        let is_alone = self.series.is_some_and(|series| series.samples);
        #[cfg(not(feature = "minstrel"))]
        let is_alone = false;
        is_alone
    }

    /// Whether the next try is preceded by RTS and CTS, since the first rate has failed.
    pub fn falls_back(&self) -> bool {
        #[cfg(feature = "minstrel")]
        let falls_back = self.series.is_some_and(|series| series.falls_back());
        #[cfg(not(feature = "minstrel"))]
        let falls_back = false;
        falls_back
    }
}

impl Losses {
    /// The probability that a frame of `bytes` is lost.
    pub fn of(&self, bytes: u32) -> f64 {
        let fixed = if self.station.loss > 0.0 { self.station.loss_of(bytes) } else { 0.0 };
        #[cfg(feature = "minstrel")]
        if self.bit_errors > 0.0 {
            return 1.0 - (1.0 - fixed) * (1.0 - super::errors::frame_loss(self.bit_errors, bytes));
        }
        fixed
    }
}
