//! What can be set of a network in a scenario.

use super::phy::{Air, Standard};
use super::setup::{AfterCollision, Scheduler, Setup};
use sojourn_core::registry::declare::{choice, flag, integer, integer_in, or_auto, rate_or_auto, span};
use sojourn_core::registry::{Descriptor, Linux, ParameterError, Params, Preset, Value};
use sojourn_core::{Rate, Span, choices, parameters};

choices! {
    /// Widths of a channel.
    enum Width { Mhz20 = "20 MHz", Mhz40 = "40 MHz", Mhz80 = "80 MHz" }
    /// Guard intervals.
    enum Guard { Long = "800 ns", Short = "400 ns" }
    /// Preambles and slots.
    enum Length { Long = "long", Short = "short" }
    /// What stands between the queue and the air.
    enum Turns { Airtime = "airtime", Aql = "aql", Fifo = "fifo" }
}

parameters! {
    /// What can be set.
    struct Parameters {
        /// the generation, with its slots, preambles and rates; 802.11a, n and ac are in the 5 GHz band
        standard: Standard = choice(Standard::N.value()),
        /// width of the channel: 20 MHz, and 40 MHz with 802.11n, and 80 MHz with 802.11ac
        width: Width = choice(Width::Mhz20.value()),
        /// guard interval of 802.11n and ac: long or short
        guard: Guard = choice(Guard::Long.value()),
        /// preamble of 802.11b
        preamble: Length = choice(Length::Long.value()),
        /// slot of 802.11g: 9 us, or 20 us as where a station of 802.11b is near
        slot: Length = choice(Length::Short.value()),
        /// whether packets contend by their code point, in one of the categories background, best effort, video and voice
        edca: bool = flag(false),
        /// whether, with edca, video and voice send several exchanges in a row: for 3.008 and 1.504 ms, with 802.11b 6.016 and
        /// 3.264 ms
        txop: bool = flag(false),
        /// least bytes of a frame or an aggregate that RTS and CTS precede; auto is never
        rts: Option<u32> = or_auto(&integer_in(0..=1_048_575)),
        /// what stands between `queue` and the air: airtime, a queue for each station, and turns by air time (mac80211); aql,
        /// the same above a firmware that gets up to 5 ms of packets for each station, and 12 ms while it holds less than 24
        /// ms; fifo, one queue, and below it the driver's first-in first-out buffer
        scheduler: Turns = choice(Turns::Airtime.value()),
        /// packets that the driver holds below the queue, for all stations, with the scheduler fifo
        driver: u32 = integer(123, 1..=100_000),
        /// exchanges that the hardware has ready, the one in the air included
        ahead: usize = integer(2, 1..=16),
        /// most packets in an aggregate of 802.11n and ac; 1 for none
        aggregate: u32 = integer(32, 1..=64),
        /// most bytes in an aggregate; 65535 at most with 802.11n
        aggregate_bytes: u32 = integer(65_535, 4_096..=1_048_575),
        /// longest air time of an aggregate; a single packet may take longer
        longest: Span = span(Span::from_millis(4), Span::from_micros(100)..=LONGEST),
        /// how often a packet is sent before it is given up
        tries: u32 = integer(7, 1..=30),
        /// what disciplines take for the rate, and limits in time are reckoned with; auto: what the station, for the access
        /// point the first one, gets with packets of 1500 bytes where nobody else sends
        nominal: Option<Rate> = rate_or_auto(),
    }
}

/// What `wifi` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "wifi",
    summary: "an access point and its stations, which share the air in both directions: CSMA/CA, retries, aggregates, EDCA",
    sources: &[
        "IEEE 802.11-2016, clauses 10 and 16 to 21",
        "Bianchi, Performance analysis of the IEEE 802.11 distributed coordination function, IEEE JSAC 18(3), 2000",
        "Heusse et al., Performance anomaly of 802.11b, INFOCOM 2003",
        "Linux net/mac80211/tx.c and drivers/net/wireless/ath/ath9k/xmit.c",
        "Linux net/mac80211/rc80211_minstrel_ht.c",
        "Pei and Henderson, Validation of OFDM error rate model in ns-3, 2010",
    ],
    parameters: &Parameters::LIST,
    presets: &[
        Preset {
            name: "mac80211",
            summary: "Linux since 4.11 with ath9k: a queue for each station, turns by air time, two aggregates of 4 ms ready",
            values: &[],
        },
        Preset {
            name: "mac80211-aql",
            summary: "Linux since 5.5 where firmware makes the aggregates",
            values: &[("scheduler", Turns::Aql.value())],
        },
        Preset {
            name: "ath9k-2013",
            summary: "before that: one queue, and a driver that takes 123 packets from it",
            values: &[("scheduler", Turns::Fifo.value()), ("driver", Value::Integer(123))],
        },
        Preset {
            name: "ns3",
            summary: "ns-3.37: one first-in first-out queue of 500 packets in the MAC, and the longest aggregates",
            values: &[
                ("scheduler", Turns::Fifo.value()),
                ("driver", Value::Integer(500)),
                ("ahead", Value::Integer(1)),
                ("aggregate", Value::Integer(64)),
                ("longest", Value::Span(LONGEST)),
            ],
        },
    ],
    linux: Linux::Absent("a medium is not a queue discipline"),
    ..Descriptor::PLAIN
};

/// The longest frame that L-SIG can announce (aPPDUMaxTime, 5.484 ms).
const LONGEST: Span = Span::from_micros(5_484);

impl Setup {
    /// The network that `params` of [`DESCRIPTOR`] describe.
    ///
    /// # Errors
    /// A width or a size that the standard does not have.
    pub fn new(params: &Params) -> Result<Setup, ParameterError> {
        let declared = Parameters::of(params);
        let standard = declared.standard;
        let width_mhz = match declared.width {
            Width::Mhz20 => 20,
            Width::Mhz40 => 40,
            Width::Mhz80 => 80,
        };
        let widest = match standard {
            Standard::B | Standard::A | Standard::G => 20,
            Standard::N => 40,
            Standard::Ac => 80,
        };
        if width_mhz > widest {
            return Err(ParameterError::new("width", format!("at most {widest} MHz with {}", standard.word())));
        }
        let aggregate_bytes = declared.aggregate_bytes;
        if standard == Standard::N && aggregate_bytes > 65_535 {
            return Err(ParameterError::new("aggregate_bytes", "at most 65535 with 802.11n"));
        }
        let scheduler = match declared.scheduler {
            Turns::Fifo => Scheduler::Fifo { driver: declared.driver },
            Turns::Aql => Scheduler::Aql,
            Turns::Airtime => Scheduler::Airtime,
        };
        let (edca, bursts) = (declared.edca, declared.txop);
        if bursts && !edca {
            return Err(ParameterError::new("txop", "edca = true beside it"));
        }
        Ok(Setup {
            air: Air {
                standard,
                width_mhz,
                short_guard: declared.guard == Guard::Short,
                short_preamble: declared.preamble == Length::Short,
                long_slot: declared.slot == Length::Long,
            },
            longest: declared.longest,
            aggregate: declared.aggregate,
            aggregate_bytes,
            tries: declared.tries,
            scheduler,
            ahead: declared.ahead,
            edca,
            bursts,
            rts: declared.rts,
            after_collision: AfterCollision::Standard,
        })
    }
}
