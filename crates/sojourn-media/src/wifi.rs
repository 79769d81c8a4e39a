//! WiFi: an access point and its stations, which all hear each other.
//!
//! Medium access is CSMA/CA with its freezing back-off, post-back-off, retries and EIFS (IEEE 802.11-2016, clause 10); with
//! EDCA each device contends with four categories. Frames of 802.11n and ac for one receiver are sent together and
//! acknowledged one by one. An exchange, from its first frame to the answer, is one event. Left out are hidden stations,
//! capture, power saving, beacons and multicast.

mod airtime;
mod aql;
mod contention;
mod descriptor;
mod errors;
mod member;
mod minstrel;
mod phy;
mod rates;
mod selection;
mod setup;
#[cfg(test)]
mod tests;
mod tx_queue;

pub use descriptor::DESCRIPTOR;
pub use phy::{Air, MAX_STREAMS, Mode, Standard};
pub use setup::Quality;
pub use setup::{AfterCollision, Category, Scheduler, Setup, Station};

use crate::{ACCESS_POINT, Above, AirTime, Device, Tally};
use airtime::AirtimeDrr;
use aql::Aql;
use contention::{Contender, Contention};
use member::{Answer, Member, Service};
use rates::Rates;
use setup::Limits;
use sojourn_core::{Span, Stream, Time};
use sojourn_queue::Dscp;

/// The state of a network.
#[derive(Debug)]
pub struct Wifi<B> {
    setup: Setup,
    limits: Limits,
    rates: Rates,
    contention: Contention,
    /// The categories of the access point, then those of each station.
    members: Vec<Member<B>>,
    /// Losses of what each member sends.
    errors: Vec<Stream>,
    /// Who sends in the next exchange, and which of their own categories they defer.
    senders: Vec<Sender>,
    deferred: Vec<u32>,
    /// When the next exchange, or the present one, begins.
    from: Time,
    /// When it ends.
    end: Time,
    /// Air time that airtime queue limits expect of what each device's firmware holds.
    pending: Vec<Span>,
    outcomes: Vec<Outcome>,
    tallies: Vec<Tally>,
    air: Vec<AirTime>,
    busy: Span,
}

/// What became of a sender's exchange.
#[derive(Debug)]
struct Outcome {
    who: u32,
    answer: Answer,
    /// Whether it has more to send.
    more: bool,
    /// When it would know that nobody answers.
    known: Time,
}

/// Who takes part in an exchange, and how long that takes.
#[derive(Clone, Copy, Debug)]
struct Sender {
    who: u32,
    course: Course,
}

/// How long the parts of an exchange take, from its beginning.
#[derive(Clone, Copy, Debug)]
struct Course {
    /// The frame that others may collide with.
    first: Span,
    /// Up to the end of the frame with the data.
    frame: Span,
    /// Up to the end of what answers it.
    whole: Span,
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
                let (first, receivers) = own;
                let drr = || AirtimeDrr::new(stations[first..first + receivers].iter().map(|one| one.weight));
                let service = match setup.scheduler {
                    Scheduler::Fifo { driver } => Service::Fifo { driver: driver as usize, inside: 0 },
                    Scheduler::Airtime => Service::Airtime(drr()),
                    Scheduler::Aql => Service::Aql(drr(), Aql::new(category, receivers)),
                };
                let longest = setup.longest.min(category.txop(setup.air.standard).unwrap_or(Span::MAX));
                members.push(Member::new(device, setup.scheduler.queues(receivers) * index, own, service, longest));
            }
        }
        Wifi {
            limits: setup.limits(),
            contention: Contention::new(setup.air.slot(), contenders),
            members,
            errors,
            senders: Vec::new(),
            deferred: Vec::new(),
            from: Time::NEVER,
            end: Time::NEVER,
            pending: vec![Span::ZERO; devices],
            outcomes: Vec::new(),
            tallies: vec![Tally::default(); devices],
            air: vec![AirTime::default(); devices - 1],
            busy: Span::ZERO,
            rates: Rates::new(&setup.air, stations, stream),
            setup,
        }
    }

    /// How many stations there are.
    pub fn stations(&self) -> usize {
        self.rates.stations()
    }

    /// How many queues `device` has.
    pub fn queues(&self, device: Device) -> usize {
        self.setup.queues(self.receivers(device))
    }

    /// The queue of `device` for packets with `dscp` that are for `station`, or come from it.
    pub fn queue_of(&self, device: Device, station: usize, dscp: Dscp) -> usize {
        let category = if self.setup.edca { Category::of(dscp) as usize } else { 0 };
        let each = self.setup.scheduler.queues(self.receivers(device));
        if device == ACCESS_POINT && each > 1 { category * each + station } else { category * each }
    }

    fn receivers(&self, device: Device) -> usize {
        if device == ACCESS_POINT { self.rates.stations() } else { 1 }
    }

    /// When it wants [`act`](Wifi::act) to be called next; never where nobody has anything to send.
    pub fn next(&self) -> Time {
        self.end
    }

    /// Something has come to queue `queue` of `device`, or may leave it now.
    pub fn offer(&mut self, device: Device, queue: usize, now: Time, above: &mut impl Above<B>) {
        let each = self.setup.scheduler.queues(self.receivers(device));
        let who = device * self.setup.categories().len() + queue / each;
        let member = &mut self.members[who];
        member.wake(queue % each);
        member.prepare(&self.limits, &mut self.rates, &mut self.pending[device], now, above);
        if member.burst().is_some() && self.contention.offer(who as u32, now) {
            self.plan();
        }
    }

    /// The exchange that ends [now](Wifi::next) has ended.
    pub fn act(&mut self, now: Time, above: &mut impl Above<B>) {
        self.busy += now.since(self.from);
        let senders = std::mem::take(&mut self.senders);
        let collision = senders.len() > 1;
        for sender in &senders {
            let outcome = self.conclude(sender, now, collision, above);
            self.outcomes.push(outcome);
        }
        self.senders = senders;
        if let ([holder], [Outcome { answer: Answer::Received, more: true, .. }]) =
            (&self.senders[..], &self.outcomes[..])
            && let Some(course) = self.next_of_opportunity(holder.who, now)
        {
            self.outcomes.clear();
            self.senders[0].course = course;
            self.from = now + self.setup.air.sifs();
            self.end = self.from + course.whole;
            return;
        }
        let eifs = collision && self.setup.after_collision != AfterCollision::Difs;
        let penalty = if eifs { self.setup.air.unreadable_penalty() } else { Span::ZERO };
        self.contention.end(now, penalty);
        for Outcome { who, answer, more, known } in self.outcomes.drain(..) {
            match answer {
                Answer::Received | Answer::GivenUp => self.contention.succeeded(who, more),
                Answer::Again => self.contention.failed(who, known),
            }
        }
        for who in self.deferred.drain(..) {
            self.contention.failed(who, now);
        }
        self.contention.free();
        self.plan();
    }

    /// The next exchange of `holder`, where its category may send one more before others contend again.
    fn next_of_opportunity(&self, holder: u32, now: Time) -> Option<Course> {
        let categories = self.setup.categories();
        let category = categories[holder as usize % categories.len()];
        let limit = category.txop(self.setup.air.standard).filter(|_| self.setup.bursts)?;
        let course = self.course(holder, true);
        let end = now + self.setup.air.sifs() + course.whole;
        (end.since(self.contention.start()) <= limit).then_some(course)
    }

    /// The exchange of a sender is over.
    fn conclude(&mut self, sender: &Sender, now: Time, collision: bool, above: &mut impl Above<B>) -> Outcome {
        let Sender { who, course } = *sender;
        let member = &mut self.members[who as usize];
        let burst = *member.burst().expect("who sends has something to send");
        let way = member.way(&burst);
        let losses = self.rates.losses(way, &burst.choice, now);
        let errors = &mut self.errors[who as usize];
        let is_lost = |bytes| collision || (losses.of(bytes) > 0.0 && errors.chance(losses.of(bytes)));
        let device = member.device;
        let (tally, pending) = (&mut self.tallies[device], &mut self.pending[device]);
        tally.collisions += u64::from(collision);
        let answer = member.sent(&self.limits, &mut self.rates, (tally, pending), now, above, is_lost);
        let unanswered = self.from + if collision { course.first } else { course.frame };
        let used = if collision { course.first } else { now.since(self.from) };
        self.account(device, who as usize, way.station, used);
        let member = &mut self.members[who as usize];
        member.prepare(&self.limits, &mut self.rates, &mut self.pending[device], now, above);
        let known = match self.setup.after_collision {
            AfterCollision::Standard => unanswered + self.setup.air.answer_timeout(),
            AfterCollision::Difs => now,
            AfterCollision::Eifs => now + self.setup.air.unreadable_penalty(),
        };
        Outcome { who, answer, more: member.burst().is_some(), known }
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
            let same = self.senders.iter().position(|other| self.members[other.who as usize].device == device);
            let highest = match same {
                Some(place) => {
                    let other = self.senders.swap_remove(place).who;
                    self.deferred.push(other.min(who));
                    other.max(who)
                }
                None => who,
            };
            self.senders.push(Sender { who: highest, course: self.course(highest, false) });
        }
        self.from = self.contention.start();
        self.end = match &self.senders[..] {
            [] => Time::NEVER,
            [alone] => self.from + alone.course.whole,
            several => {
                let first = |sender: &Sender| sender.course.first;
                self.from + several.iter().map(first).max().unwrap_or(Span::ZERO)
            }
        };
    }

    /// How long the next exchange of `who` takes. Who `has_medium` already needs no request to send.
    fn course(&self, who: u32, has_medium: bool) -> Course {
        let member = &self.members[who as usize];
        let burst = member.burst().expect("who sends has something to send");
        let mode = self.rates.mode(member.way(burst), &burst.choice);
        let (air, bytes) = (&self.setup.air, burst.bytes());
        let reservation = match (has_medium, burst.choice.falls_back()) {
            (true, _) => Span::ZERO,
            (false, true) => air.reservation(mode),
            (false, false) => self.setup.reservation(mode, bytes),
        };
        let frame = reservation + mode.time(bytes);
        Course {
            first: if reservation == Span::ZERO { frame } else { air.request(mode) },
            frame,
            whole: frame + air.sifs() + air.response(mode, burst.is_aggregate()),
        }
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
