//! WiFi: an access point and its stations, which all hear each other.
//!
//! Medium access is CSMA/CA with its freezing back-off, post-back-off, retries and EIFS (IEEE 802.11-2016, clause 10); with
//! EDCA each device contends with four categories. Frames of 802.11n and ac for one receiver are sent together and
//! acknowledged one by one. An exchange, from its first frame to the answer, is one event. Left out are hidden stations,
//! capture, RTS and CTS, power saving, beacons and multicast.

mod contention;
mod descriptor;
mod lane;
mod member;
mod phy;
mod setup;
#[cfg(test)]
mod tests;
mod turns;

pub use descriptor::DESCRIPTOR;
pub use phy::{Air, MOST_STREAMS, Mode, Standard};
pub use setup::{AfterCollision, Category, Scheduler, Setup, Station};

use crate::{ACCESS_POINT, Above, AirTime, Device, Tally};
use contention::{Contender, Contention};
use member::{Answer, Burst, Member, Turns};
use setup::Limits;
use sojourn_core::{Span, Stream, Time};
use sojourn_queue::Dscp;
use turns::AirtimeTurns;

/// The state of a network.
#[derive(Debug)]
pub struct Wifi<B> {
    setup: Setup,
    limits: Limits,
    stations: Vec<Station>,
    contention: Contention,
    /// The categories of the access point, then those of each station.
    members: Vec<Member<B>>,
    /// Losses of what each member sends.
    errors: Vec<Stream>,
    /// Who sends in the next exchange, and which of their own categories they defer.
    senders: Vec<u32>,
    deferred: Vec<u32>,
    /// When the next exchange, or the present one, ends.
    end: Time,
    tallies: Vec<Tally>,
    air: Vec<AirTime>,
    busy: Span,
}

impl<B: Copy> Wifi<B> {
    /// An idle network. `stream` makes a random stream of a device and a name.
    pub fn new(setup: Setup, stations: Vec<Station>, stream: impl Fn(Device, &str) -> Stream) -> Wifi<B> {
        let devices = stations.len() + 1;
        let mut contenders = Vec::new();
        let mut members = Vec::new();
        let mut errors = Vec::new();
        for device in 0..devices {
            let own = if device == ACCESS_POINT { (0, stations.len()) } else { (device - 1, 1) };
            for (index, &category) in setup.categories().iter().enumerate() {
                let windows = category.windows(setup.air.windows());
                let stream = |name: &str| stream(device, &format!("{name}.{index}"));
                contenders.push(Contender::new(setup.aifs(category), windows, stream("back-off")));
                errors.push(stream("errors"));
                let (first, lanes) = own;
                let turns = match setup.scheduler {
                    Scheduler::Fifo { driver } => Turns::Oldest { driver: driver as usize, inside: 0 },
                    Scheduler::Airtime => {
                        Turns::Airtime(AirtimeTurns::new(stations[first..first + lanes].iter().map(|one| one.weight)))
                    }
                };
                let longest = setup.longest.min(category.most(setup.air.standard));
                members.push(Member::new(device, setup.scheduler.queues(lanes) * index, own, turns, longest));
            }
        }
        Wifi {
            limits: setup.limits(),
            contention: Contention::new(setup.air.slot(), contenders),
            members,
            errors,
            senders: Vec::new(),
            deferred: Vec::new(),
            end: Time::NEVER,
            tallies: vec![Tally::default(); devices],
            air: vec![AirTime::default(); stations.len()],
            busy: Span::ZERO,
            stations,
            setup,
        }
    }

    /// How many stations there are.
    pub fn stations(&self) -> usize {
        self.stations.len()
    }

    /// How many queues `device` has.
    pub fn queues(&self, device: Device) -> usize {
        self.setup.queues(self.lanes(device))
    }

    /// The queue of `device` for packets with `dscp` that are for `station`, or come from it.
    pub fn queue_of(&self, device: Device, station: usize, dscp: Dscp) -> usize {
        let category = if self.setup.edca { Category::of(dscp) as usize } else { 0 };
        let each = self.setup.scheduler.queues(self.lanes(device));
        if device == ACCESS_POINT && each > 1 { category * each + station } else { category * each }
    }

    fn lanes(&self, device: Device) -> usize {
        if device == ACCESS_POINT { self.stations.len() } else { 1 }
    }

    /// When it wants [`act`](Wifi::act) to be called next; never where nobody has anything to send.
    pub fn next(&self) -> Time {
        self.end
    }

    /// Something has come to queue `queue` of `device`, or may leave it now.
    pub fn offer(&mut self, device: Device, queue: usize, now: Time, above: &mut impl Above<B>) {
        let each = self.setup.scheduler.queues(self.lanes(device));
        let who = device * self.setup.categories().len() + queue / each;
        let member = &mut self.members[who];
        member.wake(queue % each);
        member.prepare(&self.limits, &self.stations, now, above);
        if member.burst().is_some() && self.contention.offer(who as u32, now) {
            self.plan();
        }
    }

    /// The exchange that ends [now](Wifi::next) has ended.
    pub fn act(&mut self, now: Time, above: &mut impl Above<B>) {
        let start = self.contention.start();
        self.busy += now.since(start);
        let collision = self.senders.len() > 1;
        let eifs = collision && self.setup.after_collision != AfterCollision::Difs;
        let penalty = if eifs { self.setup.air.unreadable_penalty() } else { Span::ZERO };
        self.contention.end(now, penalty);
        let (senders, deferred) = (std::mem::take(&mut self.senders), std::mem::take(&mut self.deferred));
        for &who in &senders {
            self.conclude(who, start, now, collision, above);
        }
        for &who in &deferred {
            self.contention.failed(who, now);
        }
        (self.senders, self.deferred) = (senders, deferred);
        self.contention.free();
        self.plan();
    }

    /// The exchange of `who` that began at `start` is over.
    fn conclude(&mut self, who: u32, start: Time, now: Time, collision: bool, above: &mut impl Above<B>) {
        let member = &mut self.members[who as usize];
        let burst = *member.burst().expect("who sends has something to send");
        let index = member.station(&burst);
        let station = &self.stations[index];
        let frame_end = start + station.mode.time(burst.bytes());
        let (loss, errors) = (station.loss, &mut self.errors[who as usize]);
        let is_lost = |bytes| collision || (loss > 0.0 && errors.chance(station.loss_of(bytes)));
        let tally = &mut self.tallies[member.device];
        tally.collisions += u64::from(collision);
        let answer = member.sent(&self.limits, above, tally, is_lost);
        let device = member.device;
        let used = if collision { frame_end.since(start) } else { now.since(start) };
        self.account(device, who as usize, index, used);
        let member = &mut self.members[who as usize];
        member.prepare(&self.limits, &self.stations, now, above);
        let more = member.burst().is_some();
        match answer {
            Answer::Received | Answer::GivenUp => self.contention.succeeded(who, more),
            Answer::Again => {
                let known = match self.setup.after_collision {
                    AfterCollision::Standard => frame_end + self.setup.air.answer_timeout(),
                    AfterCollision::Difs => now,
                    AfterCollision::Eifs => now + self.setup.air.unreadable_penalty(),
                };
                self.contention.failed(who, known);
            }
        }
    }

    /// `device` and `station` have used the air together.
    fn account(&mut self, device: Device, who: usize, station: usize, used: Span) {
        let air = &mut self.air[station];
        if device == ACCESS_POINT {
            air.down += used;
            self.members[who].charge(station, used);
        } else {
            air.up += used;
            // The access point owes a station's share for what it receives too, in the same category.
            self.members[who % self.setup.categories().len()].charge(station, used);
        }
    }

    /// Finds out who sends next, and until when.
    fn plan(&mut self) {
        self.senders.clear();
        self.deferred.clear();
        for &who in self.contention.winners() {
            let device = self.members[who as usize].device;
            // Of a device's own categories the highest one sends.
            let same = self.senders.iter().position(|&other| self.members[other as usize].device == device);
            match same {
                Some(place) => {
                    let lower = self.senders[place].min(who);
                    self.senders[place] = self.senders[place].max(who);
                    self.deferred.push(lower);
                }
                None => self.senders.push(who),
            }
        }
        let start = self.contention.start();
        let time = |&who: &u32| {
            let member = &self.members[who as usize];
            let burst = member.burst().expect("who sends has something to send");
            let mode = &self.stations[member.station(burst)].mode;
            (mode.time(burst.bytes()), self.answer(mode, burst))
        };
        self.end = match &self.senders[..] {
            [] => Time::NEVER,
            [alone] => {
                let (frame, answer) = time(alone);
                start + frame + answer
            }
            several => start + several.iter().map(|who| time(who).0).max().unwrap_or(Span::ZERO),
        };
    }

    /// From the end of a frame to the end of what answers it.
    fn answer(&self, mode: &Mode, burst: &Burst) -> Span {
        self.setup.air.sifs() + self.setup.air.response(mode, burst.is_aggregate())
    }

    /// Packets that have left a queue of `device` and not reached the other side.
    pub fn packets(&self, device: Device) -> usize {
        let categories = self.setup.categories().len();
        self.members[device * categories..][..categories].iter().map(|member| member.held).sum()
    }

    /// What `device` has done.
    pub fn tally(&self, device: Device) -> &Tally {
        &self.tallies[device]
    }

    /// Air time that `station` has used.
    pub fn air_time(&self, station: usize) -> AirTime {
        self.air[station]
    }

    /// Time during which the medium was in use, up to the end of the last exchange.
    pub fn busy(&self) -> Span {
        self.busy
    }
}
