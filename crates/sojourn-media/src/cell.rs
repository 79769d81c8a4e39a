//! A cell of LTE or 5G: a base station that gives resource blocks to its stations, slot by slot, in both directions.
//!
//! Each station has a queue of its own in each direction. What leaves it is cut into transport blocks, whose size follows from
//! the station's channel; a lost block is sent again (HARQ), and later packets wait for it at the receiver (RLC). Stations ask
//! for the uplink. A slot with anything to do is one event, and one without is none. Left out are several cells and handover,
//! channels that differ within the bandwidth, control channels that run full, sleep (DRX), and beams.

mod bearer;
mod carrier;
mod descriptor;
mod phy;
mod setup;
mod tbs;
#[cfg(test)]
mod tests;
mod user;

pub use descriptor::{LTE, NR};
pub use phy::{BEST_CQI, Duplex, Phy, Radio};
pub use setup::{Quality, Recovery, Scheduler, Setup, Station, Uplink};

use crate::{ACCESS_POINT, Above, AirTime, Device, Tally};
use carrier::{Carrier, Slot};
use phy::Way;
use sojourn_core::{Span, Stream, Time};

/// The state of a cell.
#[derive(Debug)]
pub struct Cell<B> {
    setup: Setup,
    stations: usize,
    down: Carrier<B>,
    up: Carrier<B>,
    /// The next slot with anything to do.
    next: u64,
    /// The slot after the last one that was worked on.
    open: u64,
}

impl<B: Copy> Cell<B> {
    /// An idle cell. `stream` makes a random stream of a device and a name.
    pub fn new(setup: Setup, stations: &[Station], stream: impl Fn(Device, &str) -> Stream) -> Cell<B> {
        Cell {
            down: Carrier::new(&setup, Way::Down, stations, &stream),
            up: Carrier::new(&setup, Way::Up, stations, &stream),
            stations: stations.len(),
            setup,
            next: u64::MAX,
            open: 0,
        }
    }

    /// How many stations there are.
    pub fn stations(&self) -> usize {
        self.stations
    }

    /// How many queues `device` has: the base station one for each station.
    pub fn queues(&self, device: Device) -> usize {
        if device == ACCESS_POINT { self.stations } else { 1 }
    }

    /// The queue of `device` for packets that are for `station`, or come from it.
    pub fn queue_of(&self, device: Device, station: usize) -> usize {
        if device == ACCESS_POINT { station } else { 0 }
    }

    /// When it wants [`act`](Cell::act) to be called next; never where nothing is on its way.
    pub fn next(&self) -> Time {
        if self.next == u64::MAX {
            return Time::NEVER;
        }
        Time::from_nanos(self.next.saturating_mul(self.setup.phy.slot.as_nanos()))
    }

    /// Something has come to queue `queue` of `device`, or may leave it now.
    pub fn offer(&mut self, device: Device, queue: usize, now: Time) {
        let slot = now.as_nanos().div_ceil(self.setup.phy.slot.as_nanos()).max(self.open);
        let (carrier, user) = if device == ACCESS_POINT { (&mut self.down, queue) } else { (&mut self.up, device - 1) };
        carrier.offer(user, slot, &self.setup);
        self.next = self.next.min(carrier.next(slot, &self.setup));
    }

    /// The slot that begins [now](Cell::next).
    pub fn act(&mut self, now: Time, above: &mut impl Above<B>) {
        let slot = Slot::new(self.next, now);
        self.open = self.next + 1;
        self.down.act(slot, &self.setup, above);
        self.up.act(slot, &self.setup, above);
        self.next = self.down.next(self.open, &self.setup).min(self.up.next(self.open, &self.setup));
    }

    /// Packets that have left a queue of `device` and not reached the other side.
    pub fn packets(&self, device: Device) -> usize {
        match device.checked_sub(1) {
            None => (0..self.stations).map(|station| self.down.packets(station)).sum(),
            Some(station) => self.up.packets(station),
        }
    }

    /// What `device` has done: transport blocks are its exchanges.
    pub fn tally(&self, device: Device) -> &Tally {
        match device.checked_sub(1) {
            None => self.down.tally(0),
            Some(station) => self.up.tally(station),
        }
    }

    /// Time that `station` would have used, had it got all resource blocks of its slots.
    pub fn air_time(&self, station: usize) -> AirTime {
        AirTime { down: self.time(Way::Down, self.down.used(station)), up: self.time(Way::Up, self.up.used(station)) }
    }

    /// The same of the whole downlink.
    pub fn busy(&self) -> Span {
        self.time(Way::Down, (0..self.stations).map(|station| self.down.used(station)).sum())
    }

    fn time(&self, way: Way, blocks: u64) -> Span {
        let phy = &self.setup.phy;
        phy.slot.mul_f64(blocks as f64 / f64::from(phy.blocks) * phy.duplex.slots_per_own(way))
    }
}
