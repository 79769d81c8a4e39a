//! What applications send.

use crate::outside::{self, CustomTraffic};
use sojourn_core::{Rate, Span};
use sojourn_queue::Ecn;

/// What the application at the sender does.
#[derive(Clone, PartialEq, Debug)]
pub enum Traffic {
    /// Always has data; or so many payload bytes, whose completion time is then recorded.
    Bulk {
        /// Payload bytes to send; unlimited where absent.
        size_bytes: Option<u64>,
    },
    /// On and off times; sends as `Bulk` while on.
    OnOff {
        /// Mean of the on times.
        on: Span,
        /// Mean of the off times.
        off: Span,
        /// Whether they always have their means, or are exponential.
        fixed: bool,
        /// Whether an off time is followed by a fresh connection, or by the one before it.
        fresh: bool,
    },
    /// Packets of one size at a constant rate, whatever happens to them.
    Cbr {
        /// Rate on the wire.
        rate: Rate,
        /// Bytes of a packet on the wire.
        packet_bytes: u32,
        /// What its packets carry: not CE.
        ecn: Ecn,
    },
    /// Packets at a constant interval that the receiver sends back, for their round-trip times.
    Ping {
        /// From one packet to the next.
        every: Span,
        /// Bytes of a packet on the wire, both ways.
        packet_bytes: u32,
    },
    /// Trains of packets at exact times, whatever happens to them.
    Train(Train),
    /// One direction of a call.
    Voip(Voip),
    /// Adaptive streaming.
    Video(Video),
    /// Transfers that come at random times, each over a connection of its own.
    Transfers {
        /// Mean of the exponential times between their arrivals.
        interval: Span,
        /// Their sizes.
        sizes: Sizes,
        /// How many connections a flow may have at once.
        connections: u32,
    },
    /// Pages of a browser.
    Web(Web),
    /// Messages at a constant interval over one connection.
    Messages(Messages),
    /// Small datagrams that shorten a queue limited in packets.
    Padding(Padding),
    /// A kind from outside, over connections of the flow's transport.
    Custom(CustomTraffic),
}

impl Traffic {
    /// The ECN code point of datagrams, which nothing answers for; that of a connection follows its transport and control.
    pub fn datagram_ecn(&self) -> Ecn {
        match self {
            Traffic::Cbr { ecn, .. } | Traffic::Train(Train { ecn, .. }) => *ecn,
            _ => Ecn::NotEct,
        }
    }

    /// How many connections a flow may have at once.
    pub fn connections(&self) -> u32 {
        match self {
            Traffic::Transfers { connections, .. } => *connections,
            Traffic::Web(web) => web.connections,
            Traffic::Custom(params) => outside::connections(params),
            Traffic::Bulk { .. }
            | Traffic::OnOff { .. }
            | Traffic::Cbr { .. }
            | Traffic::Ping { .. }
            | Traffic::Train(_)
            | Traffic::Voip(_)
            | Traffic::Video(_)
            | Traffic::Messages(_)
            | Traffic::Padding(_) => 1,
        }
    }
}

/// Trains of packets of one size, each packet at its own exact time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Train {
    /// Packets of a train; at least one.
    pub count: u32,
    /// Bytes of a packet on the wire.
    pub packet_bytes: u32,
    /// From one packet of a train to the next.
    pub spacing: Span,
    /// From the start of a train to that of the next; one train alone where absent.
    pub every: Option<Span>,
    /// How many trains there are; trains without end where absent.
    pub repeat: Option<u32>,
    /// Packets of the large trains, and from one of them to the next in trains; the first one is large. All have `count`
    /// where absent.
    pub large: Option<(u32, u32)>,
    /// What its packets carry: not CE.
    pub ecn: Ecn,
}

impl Train {
    /// Packets of train `index`.
    pub fn packets(&self, index: u32) -> u32 {
        match self.large {
            Some((packets, every)) if index.is_multiple_of(every) => packets,
            _ => self.count,
        }
    }

    /// The train of packet `number`, and its place in it.
    pub fn place(&self, number: u32) -> (u32, u32) {
        let Some((large, every)) = self.large else { return (number / self.count, number % self.count) };
        let (number, count, large) = (u64::from(number), u64::from(self.count), u64::from(large));
        let round = large + count * u64::from(every - 1);
        let first = (number / round) as u32 * every;
        match (number % round).checked_sub(large) {
            None => (first, (number % round) as u32),
            Some(after) => (first + 1 + (after / count) as u32, (after % count) as u32),
        }
    }

    /// Packets of a train in the mean.
    pub fn mean_packets(&self) -> f64 {
        mean_packets(f64::from(self.count), self.large.map(|(packets, every)| (f64::from(packets), f64::from(every))))
    }
}

/// Packets of a train in the mean, where one of `every` has another number than `count`.
pub(crate) fn mean_packets(count: f64, large: Option<(f64, f64)>) -> f64 {
    large.map_or(count, |(packets, every)| count + (packets - count) / every)
}

/// Messages of one size at a constant interval, written whatever has become of those before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Messages {
    /// Payload bytes of a message.
    pub size_bytes: u64,
    /// From one message to the next.
    pub every: Span,
}

/// Pages of a browser, one after the other.
#[derive(Clone, PartialEq, Debug)]
pub struct Web {
    /// How many objects a page has.
    pub objects: Sizes,
    /// Their sizes.
    pub sizes: Sizes,
    /// How many connections fetch objects at once.
    pub connections: u32,
    /// Whether a connection is kept for further objects of its page.
    pub reuse: bool,
    /// Payload bytes of a request.
    pub request_bytes: u32,
    /// Mean of the exponential times between two pages.
    pub think: Span,
}

/// Small datagrams that shorten a queue limited in packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Padding {
    /// How many of them.
    pub pace: Pace,
    /// Bytes of a packet on the wire.
    pub packet_bytes: u32,
    /// How far they travel.
    pub reach: Reach,
}

/// How much padding is sent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pace {
    /// Always as much.
    Steady {
        /// Packets per second, in bursts that within a burst.
        rate: f64,
        /// Packets of a burst and the time from its start to that of the next, where there are bursts.
        bursts: Option<(u32, Span)>,
    },
    /// As the delay of probes demands.
    Adaptive {
        /// Queueing delay that nine probes in ten shall not exceed.
        target: Span,
        /// Most packets per second.
        most: f64,
        /// The share of each second in which packets are sent.
        duty: f64,
        /// From one probe to the next.
        probe: Span,
    },
}

/// How far padding travels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// To the receiver.
    Receiver,
    /// Just past the main link of its direction.
    Bottleneck,
}

/// A distribution of sizes in payload bytes, or of numbers of things.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Sizes {
    /// All the same.
    Fixed(u64),
    /// Pareto between two bounds.
    Pareto {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
        /// The exponent of the tail.
        shape: f64,
    },
    /// Log-normal; what lies above the largest has its size.
    LogNormal {
        /// Half of them are smaller.
        median: u64,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// The largest.
        max: u64,
    },
    /// So many units, 1 to `most`, the k-th with a probability that falls as k^-exponent.
    Zipf {
        /// Bytes of a unit.
        unit: u64,
        /// The largest number of units.
        most: u64,
        /// How fast the probability falls.
        exponent: f64,
    },
}

impl Sizes {
    /// The largest of them.
    pub fn largest(&self) -> u64 {
        match *self {
            Sizes::Fixed(size) => size,
            Sizes::Pareto { max, .. } | Sizes::LogNormal { max, .. } => max,
            Sizes::Zipf { unit, most, .. } => unit.saturating_mul(most),
        }
    }

    /// Their mean in bytes; that of the log-normal without its cut.
    pub fn mean(&self) -> f64 {
        match *self {
            Sizes::Fixed(size) => size as f64,
            Sizes::Pareto { min, max, shape } => {
                let (low, high) = (min as f64, max as f64);
                let kept = 1.0 - libm::pow(low / high, shape);
                if (shape - 1.0).abs() < 1e-9 {
                    low / kept * libm::log(high / low)
                } else {
                    low / kept * shape / (shape - 1.0) * (1.0 - libm::pow(low / high, shape - 1.0))
                }
            }
            Sizes::LogNormal { median, sigma, .. } => median as f64 * libm::exp(sigma * sigma / 2.0),
            Sizes::Zipf { unit, most, exponent } => unit as f64 * powers(most, exponent - 1.0) / powers(most, exponent),
        }
    }
}

/// The sum of k^-exponent for k from 1 to `most`: its first terms, and an integral in place of the others.
fn powers(most: u64, exponent: f64) -> f64 {
    const TERMS: u64 = 10_000;
    let sum: f64 = (1..=most.min(TERMS)).map(|k| libm::pow(k as f64, -exponent)).sum();
    if most <= TERMS {
        return sum;
    }
    let (from, to) = (TERMS as f64 + 0.5, most as f64 + 0.5);
    let rest = 1.0 - exponent;
    let tail =
        if rest.abs() < 1e-9 { libm::log(to / from) } else { (libm::pow(to, rest) - libm::pow(from, rest)) / rest };
    sum + tail
}

/// A speech codec.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Codec {
    /// What the scenario file calls it.
    pub name: &'static str,
    /// Bits of coded speech per second.
    pub rate: u64,
    /// How far it looks ahead of the frame that it codes.
    pub lookahead: Span,
    /// Equipment impairment factor Ie and packet-loss robustness factor Bpl (ITU-T G.113 Appendix I), where known.
    pub quality: Option<(f64, f64)>,
}

/// All codecs.
static CODECS: [Codec; 3] = [
    // G.113 Appendix I: G.711 with the packet loss concealment of its own Appendix I.
    Codec { name: "g711", rate: 64_000, lookahead: Span::ZERO, quality: Some((0.0, 25.1)) },
    // G.729 section 3: 5 ms look-ahead. G.113 Appendix I: G.729A with voice activity detection.
    Codec { name: "g729", rate: 8_000, lookahead: Span::from_millis(5), quality: Some((11.0, 19.0)) },
    // RFC 6716 section 2: 5 ms look-ahead of SILK and 1.5 ms of resampling. G.113 has no values for it.
    Codec { name: "opus", rate: 24_000, lookahead: Span::from_micros(6500), quality: None },
];

/// Names of all codecs.
pub(crate) static CODEC_NAMES: &[&str] = &["g711", "g729", "opus"];

/// Most rates of a ladder.
pub(crate) const MAX_RUNGS: usize = 100;

impl Codec {
    /// The codec called `name`.
    pub fn named(name: &str) -> Option<&'static Codec> {
        CODECS.iter().find(|codec| codec.name == name)
    }
}

/// How much of a voice comes back as an echo, for the E-model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Echo {
    /// Talker echo loudness rating TELR in dB: how much quieter than his voice a talker's own echo is.
    pub telr_db: f64,
    /// Weighted echo path loss WEPL in dB: how much quieter than the voice a listener hears it a second time.
    pub wepl_db: f64,
}

impl Default for Echo {
    /// The defaults of ITU-T G.107: echo cancellers at both ends.
    fn default() -> Echo {
        Echo { telr_db: 65.0, wepl_db: 110.0 }
    }
}

/// One direction of a call: a packet for every frame of speech.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Voip {
    /// The codec.
    pub codec: &'static Codec,
    /// Speech in a packet.
    pub frame: Span,
    /// Coded speech in a packet.
    pub payload_bytes: u32,
    /// Ie and Bpl of the E-model, where known.
    pub quality: Option<(f64, f64)>,
    /// Echo losses of the E-model.
    pub echo: Echo,
    /// Means of talk spurts and silences; speaks without pause where absent.
    pub spurts: Option<(Span, Span)>,
}

impl Voip {
    /// IPv4, UDP and RTP headers (RFC 791, RFC 768, RFC 3550).
    pub const HEADER_BYTES: u32 = 20 + 8 + 12;
    /// Speech in a packet where nothing else is said (RFC 3551 section 4.2).
    pub const FRAME: Span = Span::from_millis(20);

    /// Bytes of a packet on the wire.
    pub fn packet_bytes(&self) -> u32 {
        self.payload_bytes + Voip::HEADER_BYTES
    }

    /// How long it takes from the mouth to the network: a frame is filled, then the codec looks ahead.
    pub fn codec_delay(&self) -> Span {
        self.frame + self.codec.lookahead
    }
}

/// Adaptive streaming: segments of equal play time.
#[derive(Clone, PartialEq, Debug)]
pub struct Video {
    /// Rates of the video, ascending.
    pub ladder: Vec<Rate>,
    /// Play time of a segment.
    pub segment: Span,
    /// Play time that the buffer holds.
    pub buffer: Span,
    /// Segments whose throughputs are averaged.
    pub samples: usize,
    /// Share of the throughput which the rate may take.
    pub safety: f64,
    /// Share of the throughput, times the segments in the buffer, which the rate may take.
    pub low_buffer_safety: f64,
}

#[cfg(test)]
mod tests {
    use super::Sizes;

    #[track_caller]
    fn close(sizes: Sizes, expected: f64) {
        let found = sizes.mean();
        assert!((found / expected - 1.0).abs() < 1e-3, "{sizes:?}: {found}, expected {expected}");
    }

    /// Pareto 1 to 100 of shape 2: 2 (1 - 1/100) / (1 - 1/10^4); of shape 1: ln 100 / 0.99. Zipf: 3 / (1 + 1/2 + 1/3).
    #[test]
    fn means_by_hand() {
        close(Sizes::Fixed(7), 7.0);
        close(Sizes::Pareto { min: 1, max: 100, shape: 2.0 }, 2.0 * 0.99 / 0.9999);
        close(Sizes::Pareto { min: 1, max: 100, shape: 1.0 }, 100f64.ln() / 0.99);
        close(Sizes::LogNormal { median: 10, sigma: 2.0, max: 1 << 40 }, 10.0 * 2f64.exp());
        close(Sizes::Zipf { unit: 10, most: 3, exponent: 1.0 }, 30.0 * 6.0 / 11.0);
        // The sums of 10^6 terms of k^-0.7 and of k^-1.7.
        close(Sizes::Zipf { unit: 1, most: 1_000_000, exponent: 1.7 }, 207.541 / 2.05420);
    }
}
