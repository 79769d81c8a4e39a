//! Links: the bottleneck, the return link and the hops.

mod capacity;
mod headers;
mod jitter;

pub use capacity::{Bucket, Capacity};
pub use headers::{EcnRemark, Remark};
pub use jitter::{Jitter, Shape};

use crate::access::{Medium, Noise, Protection};
use crate::declare::{
    Elsewhere, algorithm, elsewhere, held, inner, name, number, rate, select, span, table, text, trace, word,
};
use crate::families::{FRAMINGS, MEDIA, NOISES, PROTECTIONS, QUEUES};
use crate::form::{Form, MAX_LINKS, PATH_DELAY, Section};
use crate::recording::Trace;
use capacity::{POLICER, SHAPER};
use headers::REMARK;
use jitter::JITTER;
use sojourn_core::registry::{Kind, Params};
use sojourn_core::{Rate, Span, Time, choices};
use sojourn_media::Setup;
use sojourn_queue::LinkProperties;
use sojourn_queue::framing::Framing;
use std::ops::Deref;
use std::sync::Arc;

pub(crate) static BOTTLENECK: Section = Section {
    name: "bottleneck",
    description: "The link that all flows cross, and the queue before it.",
    base: Some(&LINK),
    ..Section::PLAIN
};

pub(crate) static REVERSE: Section = Section {
    name: "reverse",
    description: "The return link: it carries the acknowledgements of forward groups and the data of reverse ones. \
                  Without this section the return path is unlimited.",
    base: Some(&LINK),
    ..Section::PLAIN
};

/// Why noise and protection go with a rate only.
const HELD_BY_RECORDING: &str = "a recorded link holds already what its wire did";

table! {
    /// A link.
    pub struct LinkKeys = LINK, "link", one_of &["rate", "trace"] => {
        /// how fast the link sends what is on the wire, `framing` included
        rate: Option<Rate> = rate().unless("the link follows `trace`", "10 Mbit/s"),
        /// a recorded link: a file, relative to the scenario's folder, with one time in whole ms per line
        /// and chance to send 1500 bytes; it repeats at its end; `ready:NAME` is a trace that comes with Sojourn
        trace: Option<Arc<Trace>> = trace().unless("the link has a fixed `rate`", "ready:synthetic-lte"),
        /// what a packet occupies on the wire: a word, or a table with `preset` and what differs from it; queues
        /// count bytes as IP sees them
        framing: Option<Params> = algorithm(&FRAMINGS)
            .unless("packets are on the wire as IP sees them", "pppoe-llcsnap"),
        /// how the link comes to send: a kind, or a table with `kind`, `preset` and parameters; beside one that
        /// stations share (`wifi`, `lte`, `5g`) there is neither `rate` nor `trace`, and the others go with `rate` only
        medium: Option<Params> = algorithm(&MEDIA).unless("the wire is the link's own, as with `dedicated`", "docsis"),
        /// one-way propagation delay, in addition to each group's own path
        delay: Span = span(PATH_DELAY).or("0 s", "5 ms"),
        /// random delay after transmission; a time alone is uniform from zero to it
        jitter: Option<Jitter> = select(&JITTER).unless("no jitter", "10 ms"),
        /// probability that a packet is lost after transmission
        loss: f64 = number(0.0..=1.0).or("0", "0.01"),
        /// impulse noise, which spoils the packets that are on the wire: a kind, or a table with `kind`, `preset`
        /// and parameters
        noise: Option<Params> = algorithm(&NOISES)
            .beside("rate", "no noise", HELD_BY_RECORDING, "{ kind = \"rein\", preset = \"60hz\" }"),
        /// what is done against noise, and the delay that it costs: a kind, or a table with `kind`, `preset` and
        /// parameters
        protection: Option<Params> = algorithm(&PROTECTIONS).beside(
            "rate",
            "a spoilt packet is lost",
            HELD_BY_RECORDING,
            "{ kind = \"interleaving\", delay = \"8 ms\" }",
        ),
        /// what drops, before the queue, packets beyond a rate and a burst
        policer: Option<Bucket> = inner(&POLICER).unless("no policer", "{ rate = \"8 Mbit/s\", burst = \"50 kB\" }"),
        /// what keeps packets in the queue so that no more than a rate and a burst leaves
        shaper: Option<Bucket> = inner(&SHAPER)
            .unless("the link sends whatever its rate allows", "{ rate = \"8 Mbit/s\", burst = \"500 kB\" }"),
        /// what is written into the headers of packets that arrive, before the queue sees them
        remark: Option<Remark> = inner(&REMARK)
            .unless("packets keep their code points", "{ dscp = \"default\", ecn = \"bleached\" }"),
        /// the node at which the link begins, where links form a network: a name, with `*` for the number of the link where
        /// `count` makes several
        from: Option<String> = text().unless("the links form a chain", "gateway"),
        /// the node at which it ends; with a medium that stations share none: it leads to all stations, which are nodes with their
        /// names, and back
        to: Option<String> = text().unless("the links form a chain", "home-*"),
        /// the queue before the link: a discipline, or a table with `kind`, `preset` and parameters
        queue: Params = algorithm(&QUEUES).or("droptail", "{ kind = \"droptail\", limit = \"500 packets\" }"),
    }
}

/// A link: what a file says of it, and what its medium makes of that.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Link {
    /// About so fast it sends 1500 bytes at a time where a medium lets it, and nobody else sends; absent on a wire of its own.
    pub shared_rate: Option<Rate>,
    /// The keys of its table, which are the link's own fields as well.
    pub keys: LinkKeys,
}

impl Deref for Link {
    type Target = LinkKeys;

    fn deref(&self) -> &LinkKeys {
        &self.keys
    }
}

impl Link {
    /// How fast it sends what is on the wire.
    ///
    /// # Panics
    /// Where it has no rate, no recording and no medium: no checked link is like that.
    pub fn capacity(&self) -> Capacity {
        match (&self.keys.trace, self.keys.rate.or(self.shared_rate)) {
            (Some(trace), _) => Capacity::Recorded(Arc::clone(trace)),
            (None, Some(rate)) if self.shared_rate.is_none() => Capacity::Fixed(rate),
            (None, Some(rate)) => Capacity::Shared(rate),
            (None, None) => unreachable!("a checked link has a rate, a recording or a medium"),
        }
    }

    /// What the link's discipline may know that takes its place at `since`, where full-size packets have `packet_bytes`
    /// bytes.
    pub fn properties(&self, packet_bytes: u32, since: Time) -> LinkProperties {
        let rate = self.capacity().mean_rate();
        let rate = self.framing().map_or(rate, |framing| framing.packet_rate(rate, packet_bytes));
        let rate = self.shaper.as_ref().map_or(rate, |shaper| shaper.slowed(rate));
        LinkProperties { rate, delay: self.latency(), packet_bytes, since }
    }

    /// The delay of every packet: propagation, and what protection from noise costs.
    pub fn latency(&self) -> Span {
        self.delay + self.protection().map_or(Span::ZERO, Protection::delay)
    }

    /// How the link comes to send, where it waits for grants.
    pub fn medium(&self) -> Option<Medium> {
        self.keys.medium.as_ref().and_then(Medium::new)
    }

    /// Impulse noise, where there is any.
    pub fn noise(&self) -> Option<Noise> {
        self.keys.noise.as_ref().map(|params| Noise::new(params).expect("the scenario's parameters were checked"))
    }

    /// What is done against it, if anything.
    pub fn protection(&self) -> Option<Protection> {
        self.keys
            .protection
            .as_ref()
            .map(|params| Protection::new(params).expect("the scenario's parameters were checked"))
    }

    /// What packets occupy on the wire, where it is not what IP sees.
    pub fn framing(&self) -> Option<Framing> {
        self.keys.framing.as_ref().map(Framing::of)
    }
}

/// Whether `medium` is one that stations share.
pub(crate) fn is_shared(medium: &Params) -> bool {
    Setup::DESCRIPTORS.iter().any(|shared| std::ptr::eq(medium.descriptor(), *shared))
}

choices! {
    /// Before or after the main link of a direction.
    pub enum Place {
        /// Crossed first.
        Before = "before",
        /// Crossed afterwards.
        After = "after",
    }
    /// Which way a group sends its data.
    #[derive(Hash)]
    pub enum Direction {
        /// Data over the bottleneck, acknowledgements over the return link.
        Forward = "forward",
        /// Data over the return link, acknowledgements over the bottleneck.
        Reverse = "reverse",
    }
}

held! { Place: |this| this.value(), Direction: |this| this.value() }

impl Direction {
    /// The other way.
    pub fn opposite(self) -> Direction {
        match self {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
        }
    }
}

/// Ways of a line: to the home, and from it.
pub(crate) const WAYS: [&str; 2] = ["down", "up"];

table! {
    /// One more link beside the bottleneck or the return link, in the order of the file. Either all links form a chain, and it
    /// says `at`, or they form a network, and all say `from` and `to`.
    pub struct HopKeys = HOP, "hop", base &LINK => {
        /// what the link is called in records and overrides
        name: String = name(&["bottleneck", "reverse"]).required("gateway"),
        /// whether packets cross it before or after the bottleneck (or the return link)
        place as "at": Option<Place> = word().unless("the links form a network; required in a chain", "before"),
        /// which way its packets travel: with the bottleneck, or with the return link; in a network only figures go by it
        direction: Direction = word().or("forward", "reverse"),
        /// how many such links there are: their names end in `-0`, `-1` and so on, and a value that is a list is dealt out to
        /// them in turn
        count: Elsewhere = elsewhere(Form::Value(Kind::Integer { min: 1, max: MAX_LINKS })).absent("one", "500"),
        /// with `count`, the links are ways to homes, or from them, whose lines stand for the population (`sojourn list lines`): the
        /// table's own keys come first, and the same home has the same line both ways
        lines: Elsewhere = elsewhere(Form::Value(Kind::Choice(&WAYS))).absent("the keys say what they are", "down"),
    }
}

/// A link beside the bottleneck and the return link.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Hop {
    /// The keys of its table that other links have not.
    pub keys: HopKeys,
    /// The link.
    pub link: Link,
}

impl Deref for Hop {
    type Target = HopKeys;

    fn deref(&self) -> &HopKeys {
        &self.keys
    }
}

/// A link of a scenario.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Which {
    /// The bottleneck.
    Bottleneck,
    /// The return link.
    Reverse,
    /// The hop with this index.
    Hop(usize),
    /// That of the flow's own station.
    Station,
}

/// The links that a flow's packets cross, each way in order.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Route {
    /// Those of its data.
    pub there: Vec<Which>,
    /// Those of its acknowledgements.
    pub back: Vec<Which>,
    /// The one that tells the flow how long its data waits in the queue, where any does.
    pub main: Option<Which>,
    /// The station that its packets go to or come from, where they cross a medium that stations share.
    pub station: Option<usize>,
}
