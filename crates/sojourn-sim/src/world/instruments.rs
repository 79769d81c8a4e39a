//! What is measured of a world as a whole, and what must hold in it.

use super::World;
use crate::dialer::Dialer;
use crate::link::Link;
use crate::phases::{Counted, Instruments};
use crate::times::{Coarse, Times};
use sojourn_core::{Span, Time};
use sojourn_traffic::Completed;
use std::collections::BTreeMap;

/// A transfer that has ended.
#[derive(Clone, Copy, Debug)]
pub struct TransferRow {
    /// When it ended.
    pub end: Time,
    /// Index of its group.
    pub group: u32,
    /// Its flow's place in the group.
    pub index: u32,
    /// Its size and times.
    pub completed: Completed,
}

/// What is measured of a group as a distribution.
#[derive(Debug)]
pub struct GroupMeter {
    /// Round-trip times.
    pub rtt: Times,
    /// Completion times.
    pub fct: Times,
    /// Sum of completion times, in ns.
    pub fct_nanos: u128,
    /// How many of them waited for a connection.
    pub waited: u64,
    /// Completion times by the power of ten that the transfer's bytes reach.
    pub fct_by_size: BTreeMap<u32, Coarse>,
    /// Times of pages.
    pub page: Times,
    /// Sum of times of pages, in ns.
    pub page_nanos: u128,
    /// One-way delays of packets of calls, or times of whole trains.
    pub delay: Times,
    /// Makes the connections of its flows.
    pub dialer: Dialer,
}

impl GroupMeter {
    /// A transfer has ended.
    pub(super) fn on_completed(&mut self, completed: Completed) {
        self.fct.record(completed.time);
        self.fct_nanos += u128::from(completed.time.as_nanos());
        self.waited += u64::from(!completed.waited.is_zero());
        self.fct_by_size.entry(completed.bytes.ilog10()).or_default().record(completed.time);
    }

    /// A page has ended.
    pub(super) fn on_page(&mut self, time: Span) {
        self.page.record(time);
        self.page_nanos += u128::from(time.as_nanos());
    }
}

impl World {
    /// The warm-up is over.
    pub fn begin_measuring(&mut self) {
        self.measuring = true;
        for link in &mut self.links {
            link.begin_measuring(self.now);
        }
        if let Some(air) = &mut self.air {
            air.begin_measuring();
        }
        if let Some(ends) = &mut self.ends {
            ends.begin_measuring();
        }
        for flow in &mut self.flows {
            flow.begin_measuring();
            if let Some(application) = &mut flow.application {
                application.begin_measuring(self.now);
            }
            if let Some(listener) = &mut flow.listener {
                listener.begin_measuring();
            }
        }
    }

    /// Brings all instruments up to the present.
    pub fn read_instruments(&mut self) {
        for link in &mut self.links {
            link.read(self.now);
        }
    }

    /// Phases end and begin that do so at the present.
    pub fn turn_phases(&mut self) {
        let mut phases = std::mem::take(&mut self.phases);
        phases.turn(self.now, || self.instruments());
        self.phases = phases;
    }

    /// What all instruments read at the present.
    fn instruments(&mut self) -> Instruments {
        self.read_instruments();
        let mut groups = vec![Counted::default(); self.groups.len()];
        for flow in &self.flows {
            groups[flow.group as usize].add(&flow.counts);
        }
        Instruments {
            links: self.links.iter().map(|link| link.reading(self.now)).collect(),
            groups,
            busy: self.air.as_ref().map_or(Span::ZERO, |air| air.busy()),
        }
    }

    /// Checks that no packet was made or lost by the simulator.
    ///
    /// # Panics
    /// Where a flow has received more than it sent, or the network holds more or less than the flows
    /// have in it.
    pub fn assert_conservation(&self) {
        let mut in_flight = 0;
        for (index, flow) in self.flows.iter().enumerate() {
            let counts = &flow.counts;
            let here = counts.entered.checked_sub(counts.left + counts.lost);
            in_flight += here.unwrap_or_else(|| panic!("flow {index} got more packets than it sent: {counts:?}"));
        }
        let in_links: usize = self.links.iter().map(Link::packets).sum();
        let in_links = in_links + self.devices.iter().map(crate::device::Device::packets).sum::<usize>();
        let in_air = self.air.as_ref().map_or(0, |air| air.packets());
        assert_eq!(
            in_flight,
            (in_links + in_air + self.lines.packets()) as u64,
            "packets in the network at {:?}",
            self.now
        );
    }
}
