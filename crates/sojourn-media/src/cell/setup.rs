//! What a cell consists of.

use super::phy::{Phy, Way};
use sojourn_core::{Rate, choices};

/// Bytes that a transport block spends on headers of MAC and RLC.
pub(super) const BLOCK_HEADER_BYTES: u32 = 2;
/// Bytes that each packet spends on headers of PDCP and RLC.
pub(super) const PACKET_HEADER_BYTES: u32 = 4;
/// A transport block of fewer bytes is not worth its headers.
pub(super) const SMALLEST_BLOCK_BYTES: u32 = 10;

/// How a cell is set up. Times are counted in slots.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setup {
    /// How the channel is used.
    pub phy: Phy,
    /// The carrier's frequency.
    pub carrier_hz: f64,
    /// Antennas of a receiver, with fading of their own.
    pub antennas: u32,
    /// Whom the base station gives resource blocks to.
    pub scheduler: Scheduler,
    /// The probability that the first transmission of a block is lost, 0 to 1.
    pub bler: f64,
    /// From a transmission to the next one of the same block.
    pub harq: u64,
    /// How often a block is sent.
    pub tries: u32,
    /// Blocks of a station and direction on their way at once.
    pub processes: usize,
    /// What becomes of a block that was lost in all its transmissions.
    pub recovery: Recovery,
    /// After how long the receiver notices that.
    pub reordering: u64,
    /// From the end of a block to the delivery of its packets.
    pub processing: u64,
    /// How stations come to send.
    pub uplink: Uplink,
    /// Between two reports of a station's CQI.
    pub report: u64,
    /// From the measurement of a CQI to its use.
    pub report_delay: u64,
}

/// Whom the base station gives resource blocks to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scheduler {
    /// Whoever has the best channel compared with what it had in the last so many slots.
    ProportionalFair {
        /// Slots.
        window: f64,
    },
    /// All alike.
    RoundRobin,
}

choices! {
    /// What becomes of a block that was lost in all its transmissions.
    pub enum Recovery {
        /// It is sent anew (RLC in acknowledged mode).
        Again = "am",
        /// Its packets are lost (RLC in unacknowledged mode).
        Nothing = "um",
    }
}

/// How stations come to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Uplink {
    /// Whenever something waits: the base station gives them grants unasked.
    Prescheduled,
    /// After a scheduling request, and then by reports of what waits.
    Requested {
        /// Between two chances for a scheduling request.
        period: u64,
        /// From a request or a report to the data that it lets go.
        grant: u64,
        /// Bytes that a request lets go.
        first_bytes: u64,
    },
}

/// A station.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Station {
    /// What it receives, and is received with.
    pub quality: Quality,
    /// Spatial layers.
    pub layers: u32,
}

/// The quality of a station's channel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Quality {
    /// Always this indicator, 1 to 15.
    Cqi(u8),
    /// A mean signal-to-noise ratio.
    Snr {
        /// In dB.
        mean_db: f64,
        /// How fast the station moves, in km/h; at 0 the channel is constant.
        speed_kmh: f64,
        /// Standard deviation of shadowing in dB.
        shadowing_db: f64,
    },
}

impl Quality {
    /// The indicator at the mean.
    pub fn cqi(&self, phy: &Phy) -> u8 {
        match *self {
            Quality::Cqi(cqi) => cqi,
            Quality::Snr { mean_db, .. } => phy.radio.cqi(libm::pow(10.0, mean_db / 10.0)),
        }
    }
}

impl Setup {
    /// What a station gets of the downlink for packets of `packet_bytes`, as IP sees them, where it is alone and its channel
    /// is as on average.
    pub fn nominal_rate(&self, station: &Station, packet_bytes: u32) -> Rate {
        let cqi = station.quality.cqi(&self.phy).max(1);
        let slots: Vec<u32> = self.phy.duplex.period(Way::Down).collect();
        let bytes = |symbols: &u32| {
            let block = self.phy.bytes(cqi, self.phy.blocks, station.layers, *symbols);
            f64::from(block.saturating_sub(BLOCK_HEADER_BYTES))
        };
        let per_slot = slots.iter().map(bytes).sum::<f64>() / slots.len() as f64;
        let payload = f64::from(packet_bytes) / f64::from(packet_bytes + PACKET_HEADER_BYTES);
        Rate::from_bytes_over(per_slot * payload * (1.0 - self.bler), self.phy.slot)
    }
}
