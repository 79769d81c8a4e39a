//! A medium that the bottleneck and stations share, and what is measured of it.

use crate::Packet;
use crate::network::BOTTLENECK;
use crate::record::AccessRecord;
use sojourn_core::{Span, Time};
use sojourn_media::{ACCESS_POINT, AirTime, Medium, Tally};
use sojourn_transport::Segment;

/// The air that the bottleneck and the stations share.
#[derive(Debug)]
pub struct Air {
    pub medium: Medium<Segment>,
    /// The link of the first station; those of the others follow.
    pub first_station: usize,
    /// Packets that have just crossed the medium, with their links.
    pub crossed: Vec<(usize, Packet)>,
    /// Links whose queues let nothing go yet.
    pub waiting: Vec<usize>,
    /// For when the agenda has it.
    pub set: Time,
    /// As it was when measuring began.
    base: Reading,
}

/// What has happened in the air so far.
#[derive(Clone, Default, Debug)]
struct Reading {
    busy: Span,
    tallies: Vec<Tally>,
    air: Vec<AirTime>,
}

impl Air {
    /// The air of `medium`, whose stations' links begin at `first_station`.
    pub fn new(medium: Medium<Segment>, first_station: usize) -> Air {
        let mut air = Air {
            medium,
            first_station,
            crossed: Vec::new(),
            waiting: Vec::new(),
            set: Time::NEVER,
            base: Reading::default(),
        };
        air.base = air.reading();
        air
    }

    fn reading(&self) -> Reading {
        let stations = self.medium.stations();
        Reading {
            busy: self.medium.busy(),
            tallies: (0..=stations).map(|device| *self.medium.tally(device)).collect(),
            air: (0..stations).map(|station| self.medium.air_time(station)).collect(),
        }
    }

    /// The warm-up is over.
    pub fn begin_measuring(&mut self) {
        self.base = self.reading();
    }

    /// Packets that have left a queue and not crossed the medium.
    pub fn packets(&self) -> usize {
        (0..=self.medium.stations()).map(|device| self.medium.packets(device)).sum()
    }

    /// How long the medium has been in use.
    pub fn busy(&self) -> Span {
        self.medium.busy()
    }

    /// The part of `measured` in which the medium was in use.
    pub fn utilization(&self, measured: Span) -> f64 {
        // The exchange that was in the air when measuring began counts as a whole.
        (self.medium.busy() - self.base.busy).ratio(measured).min(1.0)
    }

    /// How the packets of `link` got over the medium.
    pub fn access(&self, link: usize, shared: &crate::link::Shared) -> AccessRecord {
        let device = if link == BOTTLENECK { ACCESS_POINT } else { link - self.first_station + 1 };
        AccessRecord::new(*self.medium.tally(device) - self.base.tallies[device], &shared.access)
    }

    /// The parts of `measured` that the air was used for sending to `station`, and by it.
    pub fn shares(&self, station: usize, measured: Span) -> (f64, f64) {
        let (now, base) = (self.medium.air_time(station), self.base.air[station]);
        ((now.down - base.down).ratio(measured), (now.up - base.up).ratio(measured))
    }
}
