//! A device's packets of one access category: from its queues to the next exchanges.

use super::lane::{Lane, Place, WINDOW};
use super::turns::AirtimeTurns;
use super::{Limits, Station};
use crate::{Above, Device, Tally};
use sojourn_core::{Span, Time};
use sojourn_queue::Packet;
use std::collections::VecDeque;

/// Contends for the medium with what its queues hold.
#[derive(Debug)]
pub struct Member<B> {
    pub device: Device,
    /// The queue above it, or the first of those where each receiver has one.
    first_queue: usize,
    lanes: Vec<Lane<B>>,
    /// The station of the first lane; the access point has a lane for each.
    first_station: usize,
    turns: Turns,
    /// The next exchanges; the first one contends or is in the air.
    prepared: VecDeque<Burst>,
    numbered: u8,
    taken: u64,
    /// Packets that were taken and not yet delivered or given up.
    pub held: usize,
    pub longest: Span,
}

/// How the next receiver is chosen.
#[derive(Debug)]
pub enum Turns {
    /// The packet that left the queue first decides; the driver holds so many.
    Oldest { driver: usize, inside: usize },
    /// Each receiver has a queue, and they share the air.
    Airtime(AirtimeTurns),
}

/// An exchange that is ready: one or more frames for one receiver.
#[derive(Clone, Copy, Debug)]
pub struct Burst {
    lane: usize,
    number: u8,
    pub frames: u32,
    /// Bytes of its frames as parts of an aggregate.
    bytes: u32,
    /// Bytes of the last of them as a frame of its own.
    alone_bytes: u32,
}

/// What became of an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The other side has answered.
    Received,
    /// It has not, and the exchange is tried again.
    Again,
    /// It has not, for the last time.
    GivenUp,
}

impl<B: Copy> Member<B> {
    pub fn new(
        device: Device,
        first_queue: usize,
        (first_station, stations): (usize, usize),
        turns: Turns,
        longest: Span,
    ) -> Member<B> {
        Member {
            device,
            first_queue,
            lanes: (0..stations).map(|_| Lane::default()).collect(),
            first_station,
            turns,
            prepared: VecDeque::new(),
            numbered: 0,
            taken: 0,
            held: 0,
            longest,
        }
    }

    /// The next exchange, where there is one.
    pub fn burst(&self) -> Option<&Burst> {
        self.prepared.front()
    }

    /// The station that an exchange is with.
    pub fn station(&self, burst: &Burst) -> usize {
        self.first_station + burst.lane
    }

    /// There is something in its queue for this lane.
    pub fn wake(&mut self, lane: usize) {
        if let Turns::Airtime(turns) = &mut self.turns {
            turns.wake(lane);
        }
    }

    /// The receiver of `lane` has used the air.
    pub fn charge(&mut self, lane: usize, time: Span) {
        if let Turns::Airtime(turns) = &mut self.turns {
            turns.charge(lane, time);
        }
    }

    /// Takes from the queues what may leave them, and makes exchanges of it.
    pub fn prepare(&mut self, limits: &Limits, stations: &[Station], now: Time, above: &mut impl Above<B>) {
        self.fill_driver(now, above);
        while self.prepared.len() < limits.ahead {
            let Some(lane) = self.next_lane(now, above) else { return };
            self.form(lane, limits, &stations[self.first_station + lane], now, above);
            self.fill_driver(now, above);
        }
    }

    /// A driver takes packets as long as it has room.
    fn fill_driver(&mut self, now: Time, above: &mut impl Above<B>) {
        while let Turns::Oldest { driver, inside } = &mut self.turns
            && *inside < *driver
        {
            let Some(packet) = above.take(self.device, self.first_queue, now) else { return };
            *inside += 1;
            let lane = if self.lanes.len() > 1 { above.station(&packet) } else { 0 };
            self.push(lane, packet, now);
        }
    }

    fn push(&mut self, lane: usize, packet: Packet<B>, now: Time) {
        self.lanes[lane].push(packet, now, self.taken);
        self.taken += 1;
        self.held += 1;
    }

    /// Takes the next packet of `lane` from its own queue, where it has one.
    fn pull(&mut self, lane: usize, now: Time, above: &mut impl Above<B>) -> bool {
        if let Turns::Oldest { .. } = self.turns {
            return false;
        }
        let Some(packet) = above.take(self.device, self.first_queue + lane, now) else { return false };
        self.push(lane, packet, now);
        true
    }

    /// The lane whose turn it is, with something to send.
    fn next_lane(&mut self, now: Time, above: &mut impl Above<B>) -> Option<usize> {
        if let Turns::Oldest { .. } = self.turns {
            let lanes = self.lanes.iter().enumerate();
            return lanes
                .filter_map(|(index, lane)| Some((lane.first_waiting()?, index)))
                .min()
                .map(|(_, index)| index);
        }
        loop {
            let Turns::Airtime(turns) = &mut self.turns else { return None };
            let lane = turns.next()?;
            let may_send = self.lanes[lane].first_waiting().is_some();
            if may_send || (!self.lanes[lane].is_full() && self.pull(lane, now, above)) {
                return Some(lane);
            }
            let Turns::Airtime(turns) = &mut self.turns else { return None };
            turns.sleep();
        }
    }

    /// Makes an exchange of the packets of `lane`, at least one of which waits.
    fn form(&mut self, lane: usize, limits: &Limits, station: &Station, now: Time, above: &mut impl Above<B>) {
        let number = self.numbered;
        self.numbered = self.numbered.wrapping_add(1);
        let most_bytes = limits.aggregate_bytes.min(station.bytes_within(self.longest));
        let mut burst = Burst { lane, number, frames: 0, bytes: 0, alone_bytes: 0 };
        let mut index = 0;
        while burst.frames < limits.aggregate && index < WINDOW {
            if index == self.lanes[lane].frames.len() && !self.pull(lane, now, above) {
                break;
            }
            let frame = &mut self.lanes[lane].frames[index];
            index += 1;
            if frame.place != Place::Waiting {
                continue;
            }
            let with_it = burst.with(frame.packet.bytes, limits);
            if burst.frames > 0 && with_it.bytes > most_bytes {
                break;
            }
            frame.place = Place::Prepared(number);
            self.lanes[lane].waiting -= 1;
            burst = with_it;
        }
        self.prepared.push_back(burst);
    }

    /// The next exchange has been in the air. `is_lost` decides for each of its frames by its bytes.
    pub fn sent(
        &mut self,
        limits: &Limits,
        above: &mut impl Above<B>,
        tally: &mut Tally,
        mut is_lost: impl FnMut(u32) -> bool,
    ) -> Answer {
        let burst = self.prepared.pop_front().expect("who sends has something to send");
        let lane = &mut self.lanes[burst.lane];
        let mut received = 0;
        for frame in lane.of(burst.number, burst.frames) {
            if !is_lost(limits.mpdu_bytes(frame.packet.bytes)) {
                frame.place = Place::Received;
                received += 1;
            }
        }
        let missing = burst.frames - received;
        let mut again = Burst { frames: 0, bytes: 0, ..burst };
        let mut returned = 0;
        for frame in lane.of(burst.number, missing) {
            frame.tries += 1;
            if frame.tries >= limits.tries {
                frame.place = Place::Gone;
                above.given_up(self.device, frame.packet);
                continue;
            }
            again = again.with(frame.packet.bytes, limits);
            if received > 0 {
                // The answer says which ones are missing: the sender puts them into a later exchange.
                frame.place = Place::Waiting;
                returned += 1;
            }
        }
        lane.waiting += returned;
        let gone = missing - again.frames;
        tally.exchanges += 1;
        tally.frames += u64::from(burst.frames);
        tally.retries += u64::from(again.frames);
        tally.given_up += u64::from(gone);
        let (device, mut delivered) = (self.device, 0);
        lane.release(|packet, taken| {
            delivered += 1;
            above.delivered(device, packet, taken);
        });
        self.held -= delivered + gone as usize;
        match &mut self.turns {
            Turns::Oldest { inside, .. } => *inside -= (received + gone) as usize,
            Turns::Airtime(turns) => turns.wake(burst.lane),
        }
        if received > 0 {
            return Answer::Received;
        }
        if again.frames == 0 {
            return Answer::GivenUp;
        }
        self.prepared.push_front(again);
        Answer::Again
    }
}

impl Burst {
    /// With one more frame of a packet of `packet_bytes`.
    fn with(self, packet_bytes: u32, limits: &Limits) -> Burst {
        Burst {
            frames: self.frames + 1,
            bytes: self.bytes + limits.subframe_bytes(packet_bytes),
            alone_bytes: limits.alone_bytes(packet_bytes),
            ..self
        }
    }

    /// Bytes in the air.
    pub fn bytes(&self) -> u32 {
        if self.frames == 1 { self.alone_bytes } else { self.bytes }
    }

    /// Whether a block acknowledgement answers it.
    pub fn is_aggregate(&self) -> bool {
        self.frames > 1
    }
}
