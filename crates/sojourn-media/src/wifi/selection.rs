//! A way whose rate is selected: its channel, the rates to choose from, and what is known of them.

use super::errors::frame_loss;
use super::minstrel::{AVERAGE_BYTES, Minstrel, Offer};
use super::phy::{Air, Candidate, Mode, Standard};
use super::setup::{Quality, Station};
use crate::channel::{Fading, Shadowing};
use crate::{ACCESS_POINT, Device};
use sojourn_core::{Stream, Time};

/// Kilometres per hour of a metre per second.
const KMH_PER_M_PER_S: f64 = 3.6;
/// Bytes of the frame by which it is judged what a channel can carry.
const FULL_BYTES: u32 = 1_536;

/// The signal-to-noise ratio over time.
#[derive(Debug)]
enum Channel {
    /// As a ratio.
    Constant(f64),
    Fading(Box<Fading>),
}

/// What a sender selects its rates from, and by.
#[derive(Debug)]
pub(super) struct Selected {
    pub minstrel: Minstrel,
    candidates: Vec<Candidate>,
    channel: Channel,
}

impl Selected {
    /// Of the access point to each station, then of each station to the access point.
    pub fn of_all(
        air: &Air,
        stations: &[Station],
        stream: impl Fn(Device, &str) -> Stream,
    ) -> Vec<Option<Box<Selected>>> {
        let of = |index: usize, mut random: Stream| {
            let quality = stations[index].quality?;
            let channel = Channel::new(air, &quality, |name| stream(index + 1, name));
            Some(Box::new(Selected::new(air, &quality, channel, &mut random)))
        };
        let down = (0..stations.len()).map(|index| of(index, stream(ACCESS_POINT, &format!("rates.{index}"))));
        let up = (0..stations.len()).map(|index| of(index, stream(index + 1, "rates")));
        down.chain(up).collect()
    }

    fn new(air: &Air, quality: &Quality, channel: Channel, random: &mut Stream) -> Selected {
        let candidates = air.candidates(quality.streams);
        let aggregates = air.standard.aggregates();
        let offer =
            |one: &Candidate| Offer { streams: one.streams, nanos: one.mode.reckoned(AVERAGE_BYTES).as_nanos() };
        let offers: Vec<_> = candidates.iter().map(offer).collect();
        Selected { minstrel: Minstrel::new(&offers, aggregates, random), candidates, channel }
    }

    /// How frames are sent at a rate.
    pub fn mode(&self, rate: usize) -> &Mode {
        &self.candidates[rate].mode
    }

    /// The probability that a bit is wrong at this rate and time.
    pub fn bit_errors(&self, rate: usize, now: Time) -> f64 {
        self.candidates[rate].bit_errors(self.channel.snr(now))
    }
}

impl Candidate {
    /// The probability that a bit is wrong at `snr`, the ratio of the whole signal: each stream has its part.
    fn bit_errors(&self, snr: f64) -> f64 {
        self.coding.bit_errors(snr / f64::from(self.streams))
    }
}

impl Channel {
    fn new(air: &Air, quality: &Quality, stream: impl Fn(&str) -> Stream) -> Channel {
        let &Quality { mean_db, speed_kmh, shadowing_db, .. } = quality;
        if speed_kmh <= 0.0 {
            return Channel::Constant(ratio(mean_db));
        }
        let shadowing = Shadowing::new(shadowing_db, speed_kmh / KMH_PER_M_PER_S, &mut stream("shadowing"));
        let carrier_hz = if air.standard == Standard::G { 2.44e9 } else { 5.5e9 };
        Channel::Fading(Box::new(Fading::new(mean_db, quality.streams, carrier_hz, shadowing, &mut stream("fading"))))
    }

    fn snr(&self, now: Time) -> f64 {
        match self {
            Channel::Constant(snr) => *snr,
            Channel::Fading(fading) => fading.snr(now.as_nanos() as f64 / 1e9),
        }
    }
}

fn ratio(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}

impl Quality {
    /// The rate at which most arrives of full frames where the channel is as in the mean; none where hardly anything does.
    pub fn best_mode(&self, air: &Air) -> Option<Mode> {
        let snr = ratio(self.mean_db);
        let arrives = |one: &Candidate| 1.0 - frame_loss(one.bit_errors(snr), FULL_BYTES);
        let worth = |one: &Candidate| one.mode.rate().bits_per_second() as f64 * arrives(one);
        let candidates = air.candidates(self.streams);
        let usable = candidates.into_iter().filter(|one| arrives(one) >= 0.5);
        usable.max_by(|one, other| worth(one).total_cmp(&worth(other))).map(|one| one.mode)
    }
}

#[cfg(test)]
mod tests;
