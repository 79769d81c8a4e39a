//! A device's packets of one access category: from its queues to the next exchanges.

use super::airtime::AirtimeDrr;
use super::aql::Aql;
use super::rates::{Choice, Rates, Way};
use super::setup::Limits;
use super::tx_queue::{Place, TxQueue, WINDOW};
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
    tx_queues: Vec<TxQueue<B>>,
    /// The station of the first receiver; the access point has a transmit queue for each.
    first_station: usize,
    service: Service,
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
pub enum Service {
    /// The packet that left the queue first decides; the driver holds so many.
    Fifo { driver: usize, inside: usize },
    /// Each receiver has a queue, and they share the air.
    Airtime(AirtimeDrr),
    /// The same, and the firmware below holds packets up to limits. What it got first decides there.
    Aql(AirtimeDrr, Aql),
}

/// An exchange that is ready: one or more frames for one receiver.
#[derive(Clone, Copy, Debug)]
pub struct Burst {
    receiver: usize,
    number: u8,
    pub choice: Choice,
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
        service: Service,
        longest: Span,
    ) -> Member<B> {
        Member {
            device,
            first_queue,
            tx_queues: (0..stations).map(|_| TxQueue::default()).collect(),
            first_station,
            service,
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

    /// Whom an exchange is between.
    pub fn way(&self, burst: &Burst) -> Way {
        self.way_to(burst.receiver)
    }

    fn way_to(&self, receiver: usize) -> Way {
        Way { device: self.device, station: self.first_station + receiver }
    }

    /// There is something in its queue for this receiver.
    pub fn wake(&mut self, receiver: usize) {
        if let Service::Airtime(drr) | Service::Aql(drr, _) = &mut self.service {
            drr.wake(receiver);
        }
    }

    /// `receiver` has used the air.
    pub fn charge(&mut self, receiver: usize, time: Span) {
        if let Service::Airtime(drr) | Service::Aql(drr, _) = &mut self.service {
            drr.charge(receiver, time);
        }
    }

    /// Takes from the queues what may leave them, and makes exchanges of it.
    ///
    /// `pending` is the expected air time of what the device's firmware holds in all categories.
    pub fn prepare(
        &mut self,
        limits: &Limits,
        rates: &mut Rates,
        pending: &mut Span,
        now: Time,
        above: &mut impl Above<B>,
    ) {
        self.fill_driver(now, above);
        self.fill_firmware(rates, pending, now, above);
        while self.prepared.len() < limits.ahead {
            let Some(receiver) = self.next_receiver(now, above) else { return };
            self.form(receiver, limits, rates, now, above);
            self.fill_driver(now, above);
        }
    }

    /// A driver takes packets as long as it has room.
    fn fill_driver(&mut self, now: Time, above: &mut impl Above<B>) {
        while let Service::Fifo { driver, inside } = &mut self.service
            && *inside < *driver
        {
            let Some(packet) = above.take(self.device, self.first_queue, now) else { return };
            *inside += 1;
            let receiver = if self.tx_queues.len() > 1 { above.station(&packet) } else { 0 };
            self.push(receiver, packet, now, Span::ZERO);
        }
    }

    /// A firmware gets packets as long as its limits allow, of one receiver after the other.
    fn fill_firmware(&mut self, rates: &Rates, pending: &mut Span, now: Time, above: &mut impl Above<B>) {
        while let Service::Aql(drr, aql) = &mut self.service
            && let Some(receiver) = drr.next_admitted(aql, *pending)
        {
            let Some(packet) = above.take(self.device, self.first_queue + receiver, now) else {
                drr.sleep();
                continue;
            };
            let way = Way { device: self.device, station: self.first_station + receiver };
            let expected = aql.add(receiver, rates.best(way), packet.bytes);
            *pending += expected;
            self.push(receiver, packet, now, expected);
        }
    }

    fn push(&mut self, receiver: usize, packet: Packet<B>, now: Time, expected: Span) {
        self.tx_queues[receiver].push(packet, now, self.taken, expected);
        self.taken += 1;
        self.held += 1;
    }

    /// Takes the next packet of `receiver` from its own queue, where it has one.
    fn pull(&mut self, receiver: usize, now: Time, above: &mut impl Above<B>) -> bool {
        let Service::Airtime(_) = self.service else { return false };
        let Some(packet) = above.take(self.device, self.first_queue + receiver, now) else { return false };
        self.push(receiver, packet, now, Span::ZERO);
        true
    }

    /// The receiver whose turn it is, with something to send.
    fn next_receiver(&mut self, now: Time, above: &mut impl Above<B>) -> Option<usize> {
        if let Service::Fifo { .. } | Service::Aql(..) = self.service {
            let receivers = self.tx_queues.iter().enumerate();
            return receivers
                .filter_map(|(index, receiver)| Some((receiver.first_waiting()?, index)))
                .min()
                .map(|(_, index)| index);
        }
        loop {
            let Service::Airtime(drr) = &mut self.service else { return None };
            let receiver = drr.next()?;
            let may_send = self.tx_queues[receiver].first_waiting().is_some();
            if may_send || (!self.tx_queues[receiver].is_full() && self.pull(receiver, now, above)) {
                return Some(receiver);
            }
            let Service::Airtime(drr) = &mut self.service else { return None };
            drr.sleep();
        }
    }

    /// Makes an exchange of the packets of `receiver`, at least one of which waits.
    fn form(&mut self, receiver: usize, limits: &Limits, rates: &mut Rates, now: Time, above: &mut impl Above<B>) {
        let number = self.numbered;
        self.numbered = self.numbered.wrapping_add(1);
        let way = self.way_to(receiver);
        let choice = rates.choose(way, now);
        let most_bytes = limits.aggregate_bytes.min(rates.bytes_within(way, &choice, self.longest));
        let most = if choice.is_alone() { 1 } else { limits.aggregate };
        let mut burst = Burst { receiver, number, choice, frames: 0, bytes: 0, alone_bytes: 0 };
        let mut index = 0;
        while burst.frames < most && index < WINDOW {
            if index == self.tx_queues[receiver].frames.len() && !self.pull(receiver, now, above) {
                break;
            }
            let frame = &mut self.tx_queues[receiver].frames[index];
            index += 1;
            if frame.place != Place::Waiting {
                continue;
            }
            let with_it = burst.with(frame.packet.bytes, limits);
            if burst.frames > 0 && with_it.bytes > most_bytes {
                break;
            }
            frame.place = Place::Prepared(number);
            self.tx_queues[receiver].waiting -= 1;
            burst = with_it;
        }
        self.prepared.push_back(burst);
    }

    /// The next exchange has been in the air. `pending` is as in [`prepare`](Member::prepare).
    /// `is_lost` decides for each of its frames by its bytes.
    pub fn sent(
        &mut self,
        limits: &Limits,
        rates: &mut Rates,
        (tally, pending): (&mut Tally, &mut Span),
        now: Time,
        above: &mut impl Above<B>,
        mut is_lost: impl FnMut(u32) -> bool,
    ) -> Answer {
        let mut burst = self.prepared.pop_front().expect("who sends has something to send");
        let way = self.way(&burst);
        let receiver = &mut self.tx_queues[burst.receiver];
        let (mut received, mut over) = (0, Span::ZERO);
        for frame in receiver.of(burst.number, burst.frames) {
            if !is_lost(limits.mpdu_bytes(frame.packet.bytes)) {
                frame.place = Place::Received;
                over += frame.expected;
                received += 1;
            }
        }
        let missing = burst.frames - received;
        let mut again = Burst { frames: 0, bytes: 0, ..burst };
        let mut returned = 0;
        for frame in receiver.of(burst.number, missing) {
            frame.tries += 1;
            if frame.tries >= limits.tries {
                frame.place = Place::Gone;
                over += frame.expected;
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
        receiver.waiting += returned;
        let ends = received > 0 || again.frames == 0;
        rates.tried(way, &mut burst.choice, (burst.frames, received), ends, now);
        again.choice = burst.choice;
        let gone = missing - again.frames;
        tally.exchanges += 1;
        tally.frames += u64::from(burst.frames);
        tally.retries += u64::from(again.frames);
        tally.given_up += u64::from(gone);
        let (device, mut delivered) = (self.device, 0);
        receiver.release(|packet, taken| {
            delivered += 1;
            above.delivered(device, packet, taken);
        });
        self.held -= delivered + gone as usize;
        match &mut self.service {
            Service::Fifo { inside, .. } => *inside -= (received + gone) as usize,
            Service::Airtime(drr) => drr.wake(burst.receiver),
            Service::Aql(_, aql) => {
                aql.remove(burst.receiver, over);
                *pending -= over;
            }
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
