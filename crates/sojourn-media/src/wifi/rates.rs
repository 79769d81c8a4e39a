//! At which rate a device sends to a receiver: at the one that its station has, or at one that is selected.

use super::minstrel::Series;
use super::phy::{Air, Mode};
use super::selection::Selected;
use super::setup::Station;
use crate::Device;
use sojourn_core::{Span, Stream, Time};

/// The rates of a network.
#[derive(Debug)]
pub(super) struct Rates {
    stations: Vec<Station>,
    /// Of the access point to each station, then of each station to the access point; none where it is not selected.
    selected: Vec<Option<Box<Selected>>>,
}

/// Who sends, and the station that sends or receives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub device: Device,
    pub station: usize,
}

/// How an exchange is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    series: Option<Series>,
}

/// How often frames of an exchange are lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Losses {
    station: Station,
    /// The probability that a bit is wrong at the present rate.
    bit_errors: f64,
}

impl Rates {
    /// Of `stations`. `stream` makes a random stream of a device and a name.
    pub fn new(air: &Air, stations: Vec<Station>, stream: impl Fn(Device, &str) -> Stream) -> Rates {
        Rates { selected: Selected::of_all(air, &stations, stream), stations }
    }

    /// How many stations there are.
    pub fn stations(&self) -> usize {
        self.stations.len()
    }

    fn selected(&self, way: Way) -> Option<&Selected> {
        self.selected.get(way.place(self.stations.len()))?.as_deref()
    }

    fn selected_mut(&mut self, way: Way) -> Option<&mut Selected> {
        self.selected.get_mut(way.place(self.stations.len()))?.as_deref_mut()
    }

    /// How the next exchange is sent.
    pub fn choose(&mut self, way: Way, now: Time) -> Choice {
        Choice { series: self.selected_mut(way).map(|selected| selected.minstrel.choose(now)) }
    }

    /// The rate of its next try.
    pub fn mode(&self, way: Way, choice: &Choice) -> &Mode {
        if let (Some(selected), Some(series)) = (self.selected(way), &choice.series) {
            return selected.mode(series.rate());
        }
        &self.stations[way.station].mode
    }

    /// The rate that is thought the best.
    pub fn best(&self, way: Way) -> &Mode {
        if let Some(selected) = self.selected(way) {
            return selected.mode(selected.minstrel.best());
        }
        &self.stations[way.station].mode
    }

    /// The most bytes that take no longer than `longest` at any rate at which they may be tried.
    pub fn bytes_within(&self, way: Way, choice: &Choice, longest: Span) -> u32 {
        if let (Some(selected), Some(series)) = (self.selected(way), &choice.series) {
            let within = |&rate: &u8| selected.mode(usize::from(rate)).bytes_within(longest);
            return series.rates.iter().map(within).min().unwrap_or(0);
        }
        self.stations[way.station].mode.bytes_within(longest)
    }

    /// How often frames of a try at `now` are lost.
    pub fn losses(&self, way: Way, choice: &Choice, now: Time) -> Losses {
        let bit_errors = match (self.selected(way), &choice.series) {
            (Some(selected), Some(series)) => selected.bit_errors(series.rate(), now),
            _ => 0.0,
        };
        Losses { station: self.stations[way.station], bit_errors }
    }

    /// A try of an exchange of `frames`, of which `answered` were, has `ended` it or not.
    pub fn tried(&mut self, way: Way, choice: &mut Choice, (frames, answered): (u32, u32), ends: bool, now: Time) {
        if let (Some(selected), Some(series)) = (self.selected_mut(way), &mut choice.series) {
            selected.minstrel.tried(series, frames, answered, ends, now);
        }
    }
}

impl Way {
    fn place(self, stations: usize) -> usize {
        if self.device == crate::ACCESS_POINT { self.station } else { stations + self.station }
    }
}

impl Choice {
    /// Whether the exchange has one frame only.
    pub fn is_alone(&self) -> bool {
        self.series.is_some_and(|series| series.samples)
    }

    /// Whether the next try is preceded by RTS and CTS, since the first rate has failed.
    pub fn falls_back(&self) -> bool {
        self.series.is_some_and(|series| series.falls_back())
    }
}

impl Losses {
    /// The probability that a frame of `bytes` is lost.
    pub fn of(&self, bytes: u32) -> f64 {
        let fixed = if self.station.loss > 0.0 { self.station.loss_of(bytes) } else { 0.0 };
        if self.bit_errors > 0.0 {
            return 1.0 - (1.0 - fixed) * (1.0 - super::errors::frame_loss(self.bit_errors, bytes));
        }
        fixed
    }
}
