//! A scenario, resolved: every default filled in, every name looked up, every unit converted.

use crate::access::{Medium, Noise, Protection};
use crate::traffic::Traffic;
use sojourn_core::registry::{Params, Value};
use sojourn_core::{Amount, Rate, Span, Time};
use sojourn_media::Setup;
use sojourn_queue::framing::Framing;
use sojourn_queue::{Dscp, Ecn, LinkProperties};
use sojourn_transport::{BurstLimits, Options, Sender};
use std::sync::Arc;

/// A resolved scenario. Its constructor has checked it: it can be run as it is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Scenario {
    /// What the user calls it.
    pub name: String,
    /// Simulated time.
    pub duration: Span,
    /// From when on results are measured; shorter than `duration`.
    pub warmup: Span,
    /// Seed of the first run.
    pub seed: u64,
    /// Number of runs, with seeds `seed`, `seed + 1` ...
    pub runs: u32,
    /// Files with plug-ins, as the file names them.
    pub plugins: Vec<String>,
    /// The link that all flows cross.
    pub bottleneck: Link,
    /// The return link; unlimited where absent.
    pub reverse: Option<Link>,
    /// More links, in the order of the file.
    pub hops: Vec<Hop>,
    /// Stations, where the bottleneck's medium is shared.
    pub stations: Vec<Station>,
    /// Groups of like flows.
    pub groups: Vec<Group>,
    /// What changes while a run goes on, in order of time.
    pub changes: Vec<Change>,
    /// Parts of the run that have results of their own.
    pub phases: Vec<Phase>,
}

/// A part of a run that has results of its own.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// When it begins, at the end of the warm-up at the earliest.
    pub from: Span,
    /// When it ends, at the end of the run at the latest.
    pub to: Span,
    /// After how long it begins again; never shorter than it lasts.
    pub every: Option<Span>,
}

impl Phase {
    /// When it begins and ends in a run of `duration`, whose end ends the last window.
    pub fn windows(&self, duration: Span) -> impl Iterator<Item = (Span, Span)> + use<> {
        let (length, every) = (self.to - self.from, self.every);
        let next = move |&from: &Span| every.map(|every| from + every).filter(|&from| from < duration);
        std::iter::successors(Some(self.from), next).map(move |from| (from, (from + length).min(duration)))
    }
}

/// What is different from an instant on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Change {
    /// Its name for overrides.
    pub name: Option<String>,
    /// When, from the start of the run; above zero and before its end.
    pub at: Span,
    /// The links concerned.
    pub links: Vec<LinkChange>,
    /// The groups concerned.
    pub groups: Vec<GroupChange>,
}

/// A group that changes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GroupChange {
    /// Its place among the groups.
    pub group: usize,
    /// Its congestion control from then on, of the kind that it has, where the change names it.
    pub control: Option<Params>,
    /// The base round-trip time of each of its flows from then on, where the change names it.
    pub rtt: Option<Vec<Span>>,
}

/// A link that changes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LinkChange {
    /// Which one.
    pub which: Which,
    /// The keys that the change names, as the file calls them.
    pub keys: Vec<&'static str>,
    /// The link as it is from then on.
    pub link: Link,
}

/// A link of a scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// The bottleneck.
    Bottleneck,
    /// The return link.
    Reverse,
    /// The hop with this index.
    Hop(usize),
}

impl Scenario {
    /// Bytes on the wire of the largest packet that any group sends; what disciplines take for a full-size one.
    pub fn largest_packet_bytes(&self) -> u32 {
        self.groups.iter().map(Group::packet_bytes).max().unwrap_or(Trace::OPPORTUNITY_BYTES)
    }

    /// The air that the bottleneck and the stations share, where they do.
    pub fn air(&self) -> Option<Setup> {
        let medium = self.bottleneck.medium.as_ref().filter(|params| is_shared(params))?;
        Some(Setup::new(medium).expect("the scenario's parameters were checked"))
    }
}

/// Whether `medium` is one that stations share.
pub(crate) fn is_shared(medium: &Params) -> bool {
    Setup::DESCRIPTORS.iter().any(|shared| std::ptr::eq(medium.descriptor(), *shared))
}

impl Link {
    /// What the link's discipline may know that takes its place at `since`, where full-size packets have `packet_bytes`
    /// bytes.
    pub fn properties(&self, packet_bytes: u32, since: Time) -> LinkProperties {
        let rate = self.capacity.mean_rate();
        let rate = self.framing().map_or(rate, |framing| framing.packet_rate(rate, packet_bytes));
        let rate = self.shaper.map_or(rate, |shaper| shaper.slowed(rate));
        LinkProperties { rate, delay: self.latency(), packet_bytes, since }
    }

    /// The delay of every packet: propagation, and what protection from noise costs.
    pub fn latency(&self) -> Span {
        self.delay + self.protection().map_or(Span::ZERO, Protection::delay)
    }

    /// How the link comes to send, where it waits for grants.
    pub fn medium(&self) -> Option<Medium> {
        self.medium.as_ref().and_then(Medium::new)
    }

    /// Impulse noise, where there is any.
    pub fn noise(&self) -> Option<Noise> {
        self.noise.as_ref().map(|params| Noise::new(params).expect("the scenario's parameters were checked"))
    }

    /// What is done against it, if anything.
    pub fn protection(&self) -> Option<Protection> {
        self.protection.as_ref().map(|params| Protection::new(params).expect("the scenario's parameters were checked"))
    }

    /// What packets occupy on the wire, where it is not what IP sees.
    pub fn framing(&self) -> Option<Framing> {
        self.framing.as_ref().map(Framing::of)
    }
}

impl Group {
    /// Bytes on the wire of its full-size packets.
    pub fn packet_bytes(&self) -> u32 {
        match &self.traffic {
            Traffic::Cbr { packet_bytes, .. } | Traffic::Ping { packet_bytes, .. } => *packet_bytes,
            Traffic::Train(train) => train.packet_bytes,
            Traffic::Voip(voip) => voip.packet_bytes(),
            Traffic::Padding(padding) => padding.packet_bytes,
            Traffic::Bulk { .. }
            | Traffic::OnOff { .. }
            | Traffic::Video(_)
            | Traffic::Transfers { .. }
            | Traffic::Web(_)
            | Traffic::Messages(_)
            | Traffic::Custom(_) => {
                let options = Options::new(&self.transport).expect("the scenario's options were checked");
                options.payload_bytes + options.header_bytes
            }
        }
    }
}

/// A link and the queue before it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Link {
    /// How fast it sends what is on the wire.
    pub capacity: Capacity,
    /// What packets occupy on the wire (`sojourn_queue::framing::DESCRIPTOR`); as IP sees them where absent.
    pub framing: Option<Params>,
    /// How it comes to send; a wire of its own where absent.
    pub medium: Option<Params>,
    /// One-way propagation delay, in addition to each group's own.
    pub delay: Span,
    /// Random additional delay after transmission.
    pub jitter: Option<Jitter>,
    /// Probability that a packet is lost after transmission, 0 to 1.
    pub loss: f64,
    /// Impulse noise.
    pub noise: Option<Params>,
    /// What is done against it.
    pub protection: Option<Params>,
    /// What drops packets beyond its rate before they reach the queue.
    pub policer: Option<Bucket>,
    /// What keeps packets in the queue so that no more than its rate leaves.
    pub shaper: Option<Bucket>,
    /// What it writes into the packets' headers before they reach the queue.
    pub remark: Option<Remark>,
    /// The queue discipline.
    pub queue: Params,
}

/// What a link writes into the headers of all packets that arrive at it, as routers of some networks do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remark {
    /// The code point that each packet has from then on (RFC 2474).
    pub dscp: Option<Dscp>,
    /// What becomes of the ECN field (RFC 3168 section 5).
    pub ecn: Option<EcnRemark>,
}

impl Remark {
    /// The code points that a packet with these has afterwards.
    #[inline]
    pub fn of(self, dscp: Dscp, ecn: Ecn) -> (Dscp, Ecn) {
        (self.dscp.unwrap_or(dscp), self.ecn.map_or(ecn, |remark| remark.of(ecn)))
    }
}

/// What a link does to the ECN field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnRemark {
    /// It is cleared: marks are lost, and queues behind the link drop instead of marking.
    Bleached,
    /// ECT(1) becomes ECT(0), so that queues behind the link do not see a scalable sender (RFC 9331).
    ToEct0,
    /// CE becomes ECT(0), so that marks made before the link are lost.
    Unmarked,
}

impl EcnRemark {
    /// All of them, as scenarios name them.
    pub const NAMES: &'static [&'static str] = &["bleached", "ect0", "unmarked"];
    const ALL: [EcnRemark; 3] = [EcnRemark::Bleached, EcnRemark::ToEct0, EcnRemark::Unmarked];

    /// As a scenario says it.
    pub fn name(self) -> &'static str {
        EcnRemark::NAMES[self as usize]
    }

    /// What a scenario calls so.
    pub fn from_name(name: &str) -> Option<EcnRemark> {
        EcnRemark::ALL.into_iter().find(|one| one.name() == name)
    }

    fn of(self, ecn: Ecn) -> Ecn {
        match (self, ecn) {
            (EcnRemark::Bleached, _) => Ecn::NotEct,
            (EcnRemark::ToEct0, Ecn::Ect1) | (EcnRemark::Unmarked, Ecn::Ce) => Ecn::Ect0,
            (EcnRemark::ToEct0 | EcnRemark::Unmarked, same) => same,
        }
    }
}

/// A token bucket, which counts bytes as IP sees them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket {
    /// How fast tokens come.
    pub rate: Rate,
    /// How many it holds, in bytes; it is full at the start.
    pub burst_bytes: u64,
}

impl Bucket {
    /// The rate that is left of `rate` in the long run.
    fn slowed(&self, rate: Rate) -> Rate {
        if self.rate.bits_per_second() < rate.bits_per_second() { self.rate } else { rate }
    }
}

/// How fast a link sends.
#[derive(Clone, Debug)]
pub enum Capacity {
    /// Always at the same rate.
    Fixed(Rate),
    /// As recorded.
    Recorded(Arc<Trace>),
    /// As the medium lets it; about so fast for 1500 bytes at a time where nobody else sends.
    Shared(Rate),
}

/// A recorded link: the times at which up to 1500 bytes could be sent, over and over.
#[derive(Clone, PartialEq, Debug)]
pub struct Trace {
    /// As the scenario file names it.
    pub name: String,
    /// Times in ms from the start of the recording, never decreasing; the last one is above zero and
    /// is the length of the recording, after which it repeats.
    pub opportunities_ms: Vec<u64>,
}

impl Trace {
    /// Bytes that one opportunity can carry.
    pub const OPPORTUNITY_BYTES: u32 = 1500;

    /// Whether it comes with Sojourn, so that its name is not that of a file.
    pub fn is_ready(&self) -> bool {
        self.name.starts_with(crate::ready::PREFIX)
    }

    /// Length of the recording.
    pub fn period(&self) -> Span {
        Span::from_millis(*self.opportunities_ms.last().expect("a trace is never empty"))
    }

    /// Mean rate over the recording.
    pub fn mean_rate(&self) -> Rate {
        let bytes = self.opportunities_ms.len() as f64 * f64::from(Trace::OPPORTUNITY_BYTES);
        Rate::from_bytes_over(bytes, self.period())
    }
}

impl Capacity {
    /// The rate, a recorded link's mean rate, or what a shared one has at best.
    pub fn mean_rate(&self) -> Rate {
        match self {
            Capacity::Fixed(rate) | Capacity::Shared(rate) => *rate,
            Capacity::Recorded(trace) => trace.mean_rate(),
        }
    }
}

/// What a sending host does between a connection and its access link, and the receiving one with what arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Host {
    /// How much of a connection may wait, as a time at the rate at which it would be paced.
    pub small_queue: Span,
    /// Packets that may wait in any case.
    pub small_queue_packets: u32,
    /// Most segments that are handed to the network card at once.
    pub burst: u32,
    /// A burst is what is sent in this time at that rate.
    pub burst_time: Span,
    /// Segments of the shortest burst where window and data allow it.
    pub burst_least: u32,
    /// Whether every connection is paced, not only those whose control asks for it.
    pub paces_all: bool,
    /// For how long the receiver waits for more of a burst.
    pub receive_offload: Span,
    /// The queue before the network card, where there is one.
    pub queue: Option<HostQueue>,
}

/// What waits in a host before its network card, and how the card takes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct HostQueue {
    /// Which discipline of Linux it is.
    pub qdisc: Qdisc,
    /// Most packets that the card takes.
    pub ring: u32,
    /// Whether the card takes no more bytes than keep it busy (byte queue limits).
    pub byte_limits: bool,
    /// How long after the first packet the card reports what it has sent.
    pub completions: Span,
}

impl HostQueue {
    /// A discipline before a card as Linux's drivers have it, which reports each packet at once.
    pub fn of(qdisc: Qdisc) -> HostQueue {
        HostQueue { qdisc, ring: 256, byte_limits: true, completions: Span::ZERO }
    }
}

/// A queue discipline of a host, with Linux's constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Qdisc {
    /// `pfifo_fast`, of whose three bands all packets of a connection take one: 1000 packets.
    PfifoFast,
    /// `codel`.
    Codel,
    /// `fq_codel`.
    FqCodel,
}

impl Qdisc {
    /// All of them.
    pub const ALL: [Qdisc; 3] = [Qdisc::PfifoFast, Qdisc::Codel, Qdisc::FqCodel];

    /// Its name in Linux.
    pub fn name(self) -> &'static str {
        match self {
            Qdisc::PfifoFast => "pfifo_fast",
            Qdisc::Codel => "codel",
            Qdisc::FqCodel => "fq_codel",
        }
    }

    /// The discipline with its parameters.
    pub fn params(self) -> Params {
        let (name, preset) = match self {
            Qdisc::PfifoFast => ("droptail", None),
            Qdisc::Codel => ("codel", Some("linux")),
            Qdisc::FqCodel => ("fq_codel", Some("linux")),
        };
        let descriptor = sojourn_queue::find(name).expect("it is registered");
        let preset = preset.and_then(|preset| descriptor.presets.iter().find(|known| known.name == preset));
        let mut params = Params::new(descriptor, preset);
        if self == Qdisc::PfifoFast {
            // txqueuelen.
            params.set("limit", Value::Amount(Amount::Packets(1000.0)));
        }
        params
    }
}

impl Host {
    /// `sender` as it sends in this host.
    #[must_use]
    pub fn bursting(&self, sender: Sender) -> Sender {
        if self.burst == 1 && !self.paces_all {
            return sender;
        }
        sender.with_bursts(BurstLimits {
            most: self.burst,
            least: self.burst_least,
            time: self.burst_time,
            paced: self.paces_all,
        })
    }
}

/// Random delay of packets that have crossed a link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Jitter {
    /// Its distribution.
    pub shape: Shape,
    /// Whether a packet may overtake an earlier one; if not, it waits for it.
    pub reorder: bool,
}

/// A distribution of delays.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Shape {
    /// Uniform from zero to this.
    Uniform(Span),
    /// Normal with mean and standard deviation, cut off at zero.
    Normal(Span, Span),
}

/// A link beside the bottleneck and the reverse link.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Hop {
    /// Its name in the record.
    pub name: String,
    /// Which way its packets travel.
    pub direction: Direction,
    /// On which side of the bottleneck (or of the reverse link) it lies.
    pub place: Place,
    /// The link.
    pub link: Link,
}

/// A station of the access point or base station.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Station {
    /// Its name in the record.
    pub name: String,
    /// The name of its rate; none in a cell.
    pub rate: Option<String>,
    /// Its spatial streams, where the rate does not say.
    pub streams: u32,
    /// What that makes of it in the air.
    pub air: sojourn_media::Station,
    /// Its own link, towards the access point or base station.
    pub link: Link,
}

/// Before or after the main link of a direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Crossed first.
    Before,
    /// Crossed afterwards.
    After,
}

/// Which way a group sends its data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// Data over the bottleneck, acknowledgements over the return link.
    Forward,
    /// Data over the return link, acknowledgements over the bottleneck.
    Reverse,
}

impl Direction {
    /// The other way.
    pub fn opposite(self) -> Direction {
        match self {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
        }
    }
}

/// What a receiver steers its sender by (RFC 9840).
#[derive(Clone, Debug)]
pub struct ReceiverControl {
    /// The control whose window it grants.
    pub control: Params,
    /// It is told in units of 2 to the power of this, in bytes (RFC 7323 section 2).
    pub window_scale: u8,
}

/// A group of flows that differ only in their round-trip and start times.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Group {
    /// What records and overrides call it; its random streams follow it.
    pub name: String,
    /// What tables and figures call it, where that is not the name.
    pub title: Option<String>,
    /// How many flows; at least one.
    pub flows: u32,
    /// The congestion control; `None` for traffic that does not respond to congestion.
    pub control: Option<Params>,
    /// What the receiver runs to steer the sender; nothing where absent.
    pub receiver_control: Option<ReceiverControl>,
    /// Options of sender and receiver (`sojourn_transport::DESCRIPTOR`).
    pub transport: Params,
    /// What the application sends.
    pub traffic: Traffic,
    /// Base round-trip time of each flow, `flows` values; without the links' own delays.
    pub rtt: Vec<Span>,
    /// Rate of each flow's own access link before the first shared link; unlimited where absent.
    pub access_rate: Option<Rate>,
    /// What its hosts do before that link; nothing where absent.
    pub host: Option<Host>,
    /// When its flows start.
    pub start: Moments,
    /// When its flows stop sending new data; at the end of the run where absent.
    pub stop: Option<Moments>,
    /// Which way data travels.
    pub direction: Direction,
    /// The group, by index, on whose connections its data travels, the other way; connections of its own where absent.
    pub connections_of: Option<usize>,
    /// The link at which its data enters the network; the first of its direction where absent.
    pub enters: Option<Which>,
    /// Indices of the stations that its flows go to or come from, in turn; none without stations.
    pub stations: Vec<usize>,
    /// Differentiated services code point of its data and acknowledgements.
    pub dscp: Dscp,
    /// How many hosts send its data, at most `flows`; one for each flow where absent.
    pub hosts: Option<u32>,
    /// How many hosts receive its data, at most `flows`; one for each flow where absent.
    pub receiver_hosts: Option<u32>,
    /// Receiver's clock minus sender's clock at the start, in ns.
    pub clock_offset_nanos: i64,
    /// How much faster the receiver's clock runs than the sender's, in parts per million.
    pub clock_skew_ppm: f64,
}

/// When the flows of a group start or stop.
#[derive(Clone, PartialEq, Debug)]
pub enum Moments {
    /// Each at its own time, `flows` values.
    At(Vec<Span>),
    /// Each at a random time, uniform in the range.
    Uniform(Span, Span),
}
