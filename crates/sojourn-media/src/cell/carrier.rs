//! One direction of a cell: who gets which resource blocks, and what becomes of the transport blocks in them.

use super::bearer::Left;
use super::phy::Way;
use super::setup::{
    BLOCK_HEADER_BYTES, PACKET_HEADER_BYTES, Recovery, SMALLEST_BLOCK_BYTES, Scheduler, Setup, Station, Uplink,
};
use super::user::{Grants, User};
use crate::{ACCESS_POINT, Above, Device, Tally};
use sojourn_core::{Stream, Time};
use std::collections::VecDeque;

/// One direction of a cell.
#[derive(Debug)]
pub(super) struct Carrier<B> {
    way: Way,
    users: Vec<User<B>>,
    /// Blocks that will have arrived, will be sent again, or will be known as lost, in the order of their slots.
    arriving: VecDeque<Due>,
    again: VecDeque<Due>,
    lost: VecDeque<Due>,
    /// The user whose turn is next.
    turn: usize,
    /// The slot up to which averages go.
    averaged: u64,
    /// Who may send in the present slot.
    ready: Vec<Ready>,
    /// Resource blocks used for each station.
    used: Vec<u64>,
    tallies: Vec<Tally>,
}

/// A user that may send.
#[derive(Clone, Copy, Debug)]
struct Ready {
    user: usize,
    cqi: u8,
    /// What the scheduler makes of it.
    worth: f64,
}

/// Something that happens to a block.
#[derive(Clone, Copy, Debug)]
struct Due {
    slot: u64,
    user: usize,
    number: u64,
}

/// A slot in which a carrier works.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    pub number: u64,
    pub now: Time,
    /// Symbols that carry the direction's data.
    symbols: u32,
}

impl Slot {
    pub fn new(number: u64, now: Time) -> Slot {
        Slot { number, now, symbols: 0 }
    }
}

impl<B: Copy> Carrier<B> {
    /// Of `stations`; `stream` makes a random stream of a device and a name.
    pub fn new(setup: &Setup, way: Way, stations: &[Station], stream: &impl Fn(Device, &str) -> Stream) -> Carrier<B> {
        let user = |(index, station): (usize, &Station)| {
            let grants = match (way, setup.uplink) {
                (Way::Up, Uplink::Requested { .. }) => Grants::Asked { credit: 0, coming: VecDeque::new() },
                _ => Grants::All { waits: false },
            };
            let name = if way == Way::Down { "down" } else { "up" };
            User::new(setup, station, grants, |name| stream(index + 1, name), name)
        };
        Carrier {
            way,
            users: stations.iter().enumerate().map(user).collect(),
            arriving: VecDeque::new(),
            again: VecDeque::new(),
            lost: VecDeque::new(),
            turn: 0,
            averaged: 0,
            ready: Vec::new(),
            used: vec![0; stations.len()],
            tallies: vec![Tally::default(); if way == Way::Down { 1 } else { stations.len() }],
        }
    }

    fn device(&self, user: usize) -> (Device, usize) {
        if self.way == Way::Down { (ACCESS_POINT, user) } else { (user + 1, 0) }
    }

    fn tally_of(&mut self, user: usize) -> &mut Tally {
        let place = if self.way == Way::Down { 0 } else { user };
        &mut self.tallies[place]
    }

    /// What has been done for the device `place`, the base station or the station of this index.
    pub fn tally(&self, place: usize) -> &Tally {
        &self.tallies[place]
    }

    /// Resource blocks used for a station.
    pub fn used(&self, station: usize) -> u64 {
        self.used[station]
    }

    /// Packets of a station that have left the queue and not arrived.
    pub fn packets(&self, station: usize) -> usize {
        self.users[station].bearer.packets()
    }

    /// Something waits at the queue of `user`; `slot` is the next one.
    pub fn offer(&mut self, user: usize, slot: u64, setup: &Setup) {
        match &mut self.users[user].grants {
            Grants::All { waits } => *waits = true,
            Grants::Asked { credit, coming } => {
                let Uplink::Requested { period, grant, first_bytes } = setup.uplink else { return };
                if *credit == 0 && coming.is_empty() {
                    // Each station has a place of its own in the period.
                    let wait = (user as u64 % period + period - slot % period) % period;
                    let request = setup.phy.duplex.next(slot + wait, self.way);
                    coming.push_back((request + grant, first_bytes));
                }
            }
        }
    }

    /// The first slot from `from` on with anything to do.
    pub fn next(&self, from: u64, setup: &Setup) -> u64 {
        let of_blocks = [&self.arriving, &self.lost].into_iter().filter_map(|due| due.front()).map(|due| due.slot);
        let own = |slot: u64| setup.phy.duplex.next(slot.max(from), self.way);
        let again = self.again.front().map(|due| own(due.slot));
        let fresh = self.users.iter().filter_map(|user| user.next(from, setup)).min().map(own);
        of_blocks.map(|slot| slot.max(from)).chain(again).chain(fresh).min().unwrap_or(u64::MAX)
    }

    /// The work of a slot.
    pub fn act(&mut self, slot: Slot, setup: &Setup, above: &mut impl Above<B>) {
        self.conclude(slot.number, setup, above);
        let slot = Slot { symbols: setup.phy.duplex.symbols(slot.number, self.way), ..slot };
        if slot.symbols == 0 {
            return;
        }
        let mut left = self.repeat(slot, setup);
        self.rank(slot, setup);
        let ready = std::mem::take(&mut self.ready);
        for (place, &one) in ready.iter().enumerate() {
            if left == 0 {
                break;
            }
            let share = match setup.scheduler {
                Scheduler::ProportionalFair { .. } => left,
                Scheduler::RoundRobin => {
                    let groups = left.div_ceil(setup.phy.group);
                    (groups.div_ceil((ready.len() - place) as u32) * setup.phy.group).min(left)
                }
            };
            left -= self.send(one, share, left, slot, setup, above);
        }
        self.ready = ready;
    }

    /// Blocks that have arrived by `slot`, and those that are known as lost.
    fn conclude(&mut self, slot: u64, setup: &Setup, above: &mut impl Above<B>) {
        while let Some(Due { user, number, .. }) = pop(&mut self.arriving, slot) {
            self.leave(user, above, |bearer, leave| bearer.arrived(number, leave));
        }
        while let Some(due) = pop(&mut self.lost, slot) {
            match setup.recovery {
                Recovery::Nothing => self.leave(due.user, above, |bearer, leave| bearer.lost(due.number, leave)),
                Recovery::Again => {
                    let block = self.users[due.user].bearer.block(due.number);
                    (block.tries, block.had) = (0, 0.0);
                    self.again.push_front(Due { slot, ..due });
                }
            }
        }
    }

    fn leave(
        &mut self,
        user: usize,
        above: &mut impl Above<B>,
        work: impl FnOnce(&mut super::bearer::Bearer<B>, &mut dyn FnMut(Left<B>)),
    ) {
        let (device, _) = self.device(user);
        let mut gone = 0;
        work(&mut self.users[user].bearer, &mut |left| match left {
            Left::Delivered(packet, taken) => above.delivered(device, packet, taken),
            Left::GivenUp(packet) => {
                gone += 1;
                above.given_up(device, packet);
            }
        });
        self.tally_of(user).given_up += gone;
    }

    /// Sends blocks again whose time has come, which goes before everything else. The resource blocks that are left.
    fn repeat(&mut self, slot: Slot, setup: &Setup) -> u32 {
        let mut left = setup.phy.blocks;
        while let Some(&due) = self.again.front().filter(|due| due.slot <= slot.number) {
            let blocks = self.users[due.user].bearer.block(due.number).blocks;
            if blocks > left {
                break;
            }
            self.again.pop_front();
            left -= blocks;
            self.tally_of(due.user).retries += 1;
            self.transmit(due.user, due.number, slot.number, setup);
        }
        left
    }

    /// Finds out who may send, in the scheduler's order.
    fn rank(&mut self, slot: Slot, setup: &Setup) {
        let keep = match setup.scheduler {
            Scheduler::ProportionalFair { window } => {
                let passed = slot.number - self.averaged;
                self.averaged = slot.number;
                libm::pow(1.0 - 1.0 / window, passed as f64)
            }
            Scheduler::RoundRobin => 1.0,
        };
        self.ready.clear();
        let count = self.users.len();
        for place in 0..count {
            let index = (self.turn + place) % count;
            let user = &mut self.users[index];
            user.mean_bytes *= keep;
            if !user.may_send(slot.number, setup) {
                continue;
            }
            let cqi = user.cqi(slot.number, setup);
            let possible = setup.phy.bytes(cqi, setup.phy.blocks, user.layers, slot.symbols);
            if possible >= SMALLEST_BLOCK_BYTES {
                let worth = f64::from(possible) / user.mean_bytes.max(1e-9);
                self.ready.push(Ready { user: index, cqi, worth });
            }
        }
        match setup.scheduler {
            Scheduler::ProportionalFair { .. } => self.ready.sort_by(|a, b| b.worth.total_cmp(&a.worth)),
            Scheduler::RoundRobin => {
                self.turn = self.ready.first().map_or(self.turn, |one| (one.user + 1) % count);
            }
        }
    }

    /// Sends what one has in up to `share` resource blocks, or in more where a block would be too small, but `left`. How
    /// many were used.
    fn send(
        &mut self,
        Ready { user: index, cqi, .. }: Ready,
        share: u32,
        left: u32,
        slot: Slot,
        setup: &Setup,
        above: &mut impl Above<B>,
    ) -> u32 {
        let (device, queue) = self.device(index);
        let user = &mut self.users[index];
        let (phy, layers) = (&setup.phy, user.layers);
        let least = phy.blocks_for(SMALLEST_BLOCK_BYTES, left, cqi, layers, slot.symbols);
        let most = share.max(least);
        let capacity = phy.bytes(cqi, most, layers, slot.symbols);
        if capacity < SMALLEST_BLOCK_BYTES {
            return 0;
        }
        let room = u64::from(capacity - BLOCK_HEADER_BYTES).min(user.grants.bytes()) as u32;
        let (bytes, ended) = user.bearer.fill(room, slot.now, || above.take(device, queue, slot.now));
        let left_bytes = user.bearer.left_bytes();
        match &mut user.grants {
            Grants::All { waits } => *waits = bytes == room,
            Grants::Asked { credit, coming } => {
                // What was granted for packets that the discipline has dropped is of no use.
                *credit = if bytes == room { *credit - u64::from(bytes) } else { 0 };
                let waiting = above.backlog(device, queue);
                let waiting_bytes =
                    waiting.bytes + waiting.packets as u64 * u64::from(PACKET_HEADER_BYTES) + u64::from(left_bytes);
                let known = *credit + coming.iter().map(|(_, bytes)| bytes).sum::<u64>();
                if let (Uplink::Requested { grant, .. }, true) = (setup.uplink, bytes > 0 && waiting_bytes > known) {
                    coming.push_back((slot.number + grant, waiting_bytes - known));
                }
            }
        }
        if bytes == 0 {
            return 0;
        }
        if let Scheduler::ProportionalFair { window } = setup.scheduler {
            user.mean_bytes += f64::from(bytes) / window;
        }
        let blocks = phy.blocks_for(bytes + BLOCK_HEADER_BYTES, most, cqi, layers, slot.symbols);
        let number = user.bearer.open(blocks, phy.radio.snr_for(cqi));
        self.tally_of(index).frames += u64::from(ended);
        self.transmit(index, number, slot.number, setup);
        blocks
    }

    /// Block `number` of `user` is in the air.
    fn transmit(&mut self, user: usize, number: u64, slot: u64, setup: &Setup) {
        let lost = self.users[user].loses(number, slot, setup);
        self.users[user].processes.push_back(slot + setup.harq);
        let block = self.users[user].bearer.block(number);
        let (blocks, tries) = (block.blocks, block.tries);
        self.used[user] += u64::from(blocks);
        self.tally_of(user).exchanges += 1;
        let due = |after: u64| Due { slot: slot + after, user, number };
        if !lost {
            self.arriving.push_back(due(1 + setup.processing));
        } else if tries < setup.tries {
            self.again.push_back(due(setup.harq));
        } else {
            self.lost.push_back(due(setup.reordering));
        }
    }
}

/// Takes the first thing that is due by `slot`.
fn pop(due: &mut VecDeque<Due>, slot: u64) -> Option<Due> {
    due.front().filter(|due| due.slot <= slot)?;
    due.pop_front()
}
