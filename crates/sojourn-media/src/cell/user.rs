//! A station in one direction: its channel, what it may send, and its data.

use super::bearer::Bearer;
use super::phy::Phy;
use super::setup::{Quality, Setup, Station};
use crate::channel::{Fading, Shadowing};
use sojourn_core::Stream;
use std::collections::VecDeque;

/// How far one lost block shifts the choice of a CQI, in dB; one that arrives shifts it back by so much less that the share of
/// lost ones is the one wanted (outer-loop link adaptation; Blanquez-Casado et al., 2016).
const ADAPTATION_DB: f64 = 0.5;
/// The furthest that it may be shifted.
const FURTHEST_DB: f64 = 20.0;

/// Kilometres per hour of a metre per second.
const KMH_PER_M_PER_S: f64 = 3.6;

/// A station in one direction.
#[derive(Debug)]
pub(super) struct User<B> {
    channel: Channel,
    pub layers: u32,
    pub bearer: Bearer<B>,
    pub grants: Grants,
    /// Bytes that it was given per slot, on average over the scheduler's window.
    pub mean_bytes: f64,
    /// When each block on its way may be followed by another one of its process, in slots.
    pub processes: VecDeque<u64>,
    errors: Stream,
}

/// What a station receives, or is received with.
#[derive(Debug)]
enum Channel {
    Constant { cqi: u8 },
    Fading { fading: Box<Fading>, measured: Option<(u64, f64)>, offset_db: f64 },
}

/// What a station may send.
#[derive(Debug)]
pub(super) enum Grants {
    /// All that waits, where anything does.
    All { waits: bool },
    /// So many bytes, and more from later slots on.
    Asked { credit: u64, coming: VecDeque<(u64, u64)> },
}

impl<B: Copy> User<B> {
    /// Of `station`, whose random streams of this direction `stream` makes.
    pub fn new(
        setup: &Setup,
        station: &Station,
        grants: Grants,
        stream: impl Fn(&str) -> Stream,
        way: &str,
    ) -> User<B> {
        let channel = match station.quality {
            Quality::Snr { mean_db, speed_kmh, shadowing_db } if speed_kmh > 0.0 => {
                // Both directions are in the same shadow, and fade each on a frequency of its own.
                let shadowing = Shadowing::new(shadowing_db, speed_kmh / KMH_PER_M_PER_S, &mut stream("shadowing"));
                let mut random = stream(&format!("{way}.fading"));
                let fading = Box::new(Fading::new(mean_db, setup.antennas, setup.carrier_hz, shadowing, &mut random));
                Channel::Fading { fading, measured: None, offset_db: 0.0 }
            }
            quality => Channel::Constant { cqi: quality.cqi(&setup.phy) },
        };
        User {
            channel,
            layers: station.layers,
            bearer: Bearer::new(),
            grants,
            mean_bytes: 0.0,
            processes: VecDeque::new(),
            errors: stream(&format!("{way}.errors")),
        }
    }

    /// The CQI by which a block is made in `slot`; 0 where none can be.
    pub fn cqi(&mut self, slot: u64, setup: &Setup) -> u8 {
        match &mut self.channel {
            Channel::Constant { cqi } => *cqi,
            Channel::Fading { fading, measured, offset_db } => {
                let at = slot.saturating_sub(setup.report_delay) / setup.report * setup.report;
                let snr = match *measured {
                    Some((then, snr)) if then == at => snr,
                    _ => fading.snr(seconds(at, &setup.phy)),
                };
                *measured = Some((at, snr));
                setup.phy.radio.cqi(snr * libm::pow(10.0, *offset_db / 10.0))
            }
        }
    }

    /// Block `number` is sent in `slot`. Whether it is lost.
    pub fn loses(&mut self, number: u64, slot: u64, setup: &Setup) -> bool {
        let block = self.bearer.block(number);
        block.tries += 1;
        match &mut self.channel {
            Channel::Constant { .. } => setup.bler > 0.0 && self.errors.chance(setup.bler),
            Channel::Fading { fading, offset_db, .. } => {
                // The receiver adds up what it has of all transmissions (chase combining).
                block.had += fading.snr(seconds(slot, &setup.phy));
                let lost = block.had < block.needed;
                if block.tries == 1 {
                    let step = if lost { -ADAPTATION_DB } else { ADAPTATION_DB * setup.bler / (1.0 - setup.bler) };
                    *offset_db = (*offset_db + step).clamp(-FURTHEST_DB, FURTHEST_DB);
                }
                lost
            }
        }
    }

    /// From which slot on, no earlier than `from`, it may send; never where nothing waits.
    pub fn next(&self, from: u64, setup: &Setup) -> Option<u64> {
        let free = self.processes.len().checked_sub(setup.processes).and_then(|busy| self.processes.get(busy));
        self.grants.next(from.max(free.copied().unwrap_or(0)))
    }

    /// Whether it has something that it may send in `slot`.
    pub fn may_send(&mut self, slot: u64, setup: &Setup) -> bool {
        while self.processes.front().is_some_and(|&free| free <= slot) {
            self.processes.pop_front();
        }
        self.grants.open(slot) && self.processes.len() < setup.processes
    }
}

impl Grants {
    /// Whether anything may be sent in `slot`.
    fn open(&mut self, slot: u64) -> bool {
        match self {
            Grants::All { waits } => *waits,
            Grants::Asked { credit, coming } => {
                while let Some(&(_, bytes)) = coming.front().filter(|(at, _)| *at <= slot) {
                    *credit += bytes;
                    coming.pop_front();
                }
                *credit > 0
            }
        }
    }

    /// The bytes that may be sent.
    pub fn bytes(&self) -> u64 {
        match self {
            Grants::All { .. } => u64::MAX,
            Grants::Asked { credit, .. } => *credit,
        }
    }

    /// From which slot on, no earlier than `from`, anything may be sent; never where nothing waits.
    fn next(&self, from: u64) -> Option<u64> {
        match self {
            Grants::All { waits } => waits.then_some(from),
            Grants::Asked { credit: 1.., .. } => Some(from),
            Grants::Asked { coming, .. } => coming.front().map(|(at, _)| from.max(*at)),
        }
    }
}

fn seconds(slot: u64, phy: &Phy) -> f64 {
    slot as f64 * phy.slot.as_secs_f64()
}
