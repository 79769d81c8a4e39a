//! What a network consists of, and what follows from it for frames.

use super::phy::{Air, Mode, Standard};
use sojourn_core::{Rate, Span};
use sojourn_queue::Dscp;

/// How a network is set up.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setup {
    /// Standard and channel.
    pub air: Air,
    /// Longest air time of an aggregate.
    pub longest: Span,
    /// Most frames in an aggregate.
    pub aggregate: u32,
    /// Most bytes in an aggregate.
    pub aggregate_bytes: u32,
    /// How often a frame is sent before it is given up.
    pub tries: u32,
    /// What stands between the queues and the air.
    pub scheduler: Scheduler,
    /// Exchanges that are ready while one is in the air or contends, that one included.
    pub ahead: usize,
    /// Whether packets contend by their code point.
    pub edca: bool,
    /// Whether video and voice send several exchanges in a row, as long as a transmission opportunity (TXOP) allows.
    pub bursts: bool,
    /// From how many bytes on a frame is preceded by a request to send (RTS); none for never.
    pub rts: Option<u32>,
    /// What stations wait after a collision.
    pub after_collision: AfterCollision,
}

/// What stands between the queues and the air.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scheduler {
    /// One queue for all receivers, and a first-in first-out buffer of the driver for so many packets.
    Fifo {
        /// Packets.
        driver: u32,
    },
    /// A queue for each receiver, and turns by air time.
    Airtime,
    /// The same above a firmware, which gets packets up to airtime queue limits and makes exchanges of them.
    Aql,
}

/// What stations wait after a collision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterCollision {
    /// Those who sent their timeout, the others EIFS: as the standard has it.
    Standard,
    /// All of them as after any exchange: what some models reckon with.
    Difs,
    /// All of them EIFS.
    Eifs,
}

/// A station.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Station {
    /// How frames to and from it are sent; what is reckoned with where that is selected.
    pub mode: Mode,
    /// What its rate is selected by.
    pub quality: Option<Quality>,
    /// The probability that a frame of 1500 bytes is lost, 0 to 1; longer ones are lost more often.
    pub loss: f64,
    /// Its share of the air, unless the scheduler is [`Scheduler::Fifo`].
    pub weight: f64,
}

/// The channel of a station whose rate is selected, in both directions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Quality {
    /// Mean signal-to-noise ratio in dB, of all spatial streams together.
    pub mean_db: f64,
    /// How fast the station moves, in km/h; the channel is constant where it does not.
    pub speed_kmh: f64,
    /// Standard deviation of the shadowing in dB.
    pub shadowing_db: f64,
    /// Most spatial streams.
    pub streams: u32,
}

/// An access category of EDCA, from the lowest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Category {
    /// Background.
    Background,
    /// Best effort.
    BestEffort,
    /// Video.
    Video,
    /// Voice.
    Voice,
}

impl Category {
    /// From the lowest.
    pub(super) const ALL: [Category; 4] =
        [Category::Background, Category::BestEffort, Category::Video, Category::Voice];

    /// The category of a code point: its upper three bits are the user priority.
    pub fn of(dscp: Dscp) -> Category {
        match dscp.number() >> 3 {
            1 | 2 => Category::Background,
            0 | 3 => Category::BestEffort,
            4 | 5 => Category::Video,
            _ => Category::Voice,
        }
    }

    /// Slots that it waits beside SIFS.
    pub(super) fn slots(self) -> u64 {
        match self {
            Category::Background => 7,
            Category::BestEffort => 3,
            Category::Video | Category::Voice => 2,
        }
    }

    /// Its contention windows where those of the standard are these.
    pub(super) fn windows(self, (smallest, largest): (u32, u32)) -> (u32, u32) {
        match self {
            Category::Background | Category::BestEffort => (smallest, largest),
            Category::Video => (smallest.div_ceil(2) - 1, smallest),
            Category::Voice => (smallest.div_ceil(4) - 1, smallest.div_ceil(2) - 1),
        }
    }

    /// The longest time that it may use the medium at once (TXOP limit); others are limited by their one exchange.
    pub(super) fn txop(self, standard: Standard) -> Option<Span> {
        match (self, standard) {
            (Category::Video, Standard::B) => Some(Span::from_micros(6_016)),
            (Category::Voice, Standard::B) => Some(Span::from_micros(3_264)),
            (Category::Video, _) => Some(Span::from_micros(3_008)),
            (Category::Voice, _) => Some(Span::from_micros(1_504)),
            (Category::Background | Category::BestEffort, _) => None,
        }
    }
}

/// LLC and SNAP, and the frame check sequence.
const LLC_BYTES: u32 = 8;
const FCS_BYTES: u32 = 4;

impl Station {
    /// The probability that a frame of `bytes` is lost.
    pub(super) fn loss_of(&self, bytes: u32) -> f64 {
        1.0 - libm::pow(1.0 - self.loss, f64::from(bytes) / 1500.0)
    }
}

impl Scheduler {
    /// How many queues a device that sends to so many receivers has in each category.
    pub(super) fn queues(self, receivers: usize) -> usize {
        match self {
            Scheduler::Fifo { .. } => 1,
            Scheduler::Airtime | Scheduler::Aql => receivers,
        }
    }
}

impl Setup {
    /// How many queues a device that sends to so many receivers has: in each category one for all, or one for each.
    pub fn queues(&self, receivers: usize) -> usize {
        self.scheduler.queues(receivers) * self.categories().len()
    }

    /// What frames and exchanges are made of.
    pub(super) fn limits(&self) -> Limits {
        let aggregates = self.air.standard.aggregates();
        Limits {
            aggregate: if aggregates { self.aggregate } else { 1 },
            aggregate_bytes: self.aggregate_bytes,
            tries: self.tries,
            ahead: self.ahead,
            header_bytes: LLC_BYTES + FCS_BYTES + if aggregates || self.edca { 26 } else { 24 },
            aggregates,
            always: self.air.standard == Standard::Ac,
        }
    }

    /// The categories in which devices contend.
    pub(super) fn categories(&self) -> &'static [Category] {
        if self.edca { &Category::ALL } else { &[Category::BestEffort] }
    }

    /// How long the medium must be idle for `category`. Without EDCA and aggregates that is DIFS.
    pub(super) fn aifs(&self, category: Category) -> Span {
        let slots = if self.edca || self.air.standard.aggregates() { category.slots() } else { 2 };
        self.air.sifs() + self.air.slot() * slots
    }

    /// What precedes a frame of `bytes`: nothing, or a request to send and what clears it.
    pub(super) fn reservation(&self, mode: &Mode, bytes: u32) -> Span {
        if self.rts.is_some_and(|least| bytes >= least) { self.air.reservation(mode) } else { Span::ZERO }
    }

    /// What one saturated station of `mode` gets of the medium for packets of `packet_bytes`, as IP sees them.
    pub fn nominal_rate(&self, mode: &Mode, packet_bytes: u32) -> Rate {
        let limits = self.limits();
        let most = self.aggregate_bytes.min(mode.bytes_within(self.longest));
        let frames = (most / limits.subframe_bytes(packet_bytes)).clamp(1, limits.aggregate);
        let bytes =
            if frames == 1 { limits.alone_bytes(packet_bytes) } else { frames * limits.subframe_bytes(packet_bytes) };
        let (window, _) = self.air.windows();
        let back_off = Span::from_nanos(self.air.slot().as_nanos() * u64::from(window) / 2);
        let response = self.air.sifs() + self.air.response(mode, frames > 1);
        let before = self.aifs(Category::BestEffort) + back_off + self.reservation(mode, bytes);
        let time = before + mode.time(bytes) + response;
        Rate::from_bytes_over(f64::from(frames * packet_bytes), time)
    }
}

/// What frames and exchanges are made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub aggregate: u32,
    pub aggregate_bytes: u32,
    pub tries: u32,
    pub ahead: usize,
    header_bytes: u32,
    aggregates: bool,
    /// Whether a single frame is an aggregate too, as in 802.11ac.
    always: bool,
}

impl Limits {
    /// Bytes of the frame with a packet of `packet_bytes`.
    pub fn mpdu_bytes(&self, packet_bytes: u32) -> u32 {
        packet_bytes + self.header_bytes
    }

    /// Bytes of it in an aggregate: with its delimiter, and padded to four.
    pub fn subframe_bytes(&self, packet_bytes: u32) -> u32 {
        let bytes = self.mpdu_bytes(packet_bytes);
        if self.aggregates { 4 + bytes.next_multiple_of(4) } else { bytes }
    }

    /// Bytes of it alone.
    pub fn alone_bytes(&self, packet_bytes: u32) -> u32 {
        if self.always { self.subframe_bytes(packet_bytes) } else { self.mpdu_bytes(packet_bytes) }
    }
}
