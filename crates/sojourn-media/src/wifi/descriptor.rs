//! What can be set of a network in a scenario.

use super::phy::{Air, Standard};
use super::setup::{AfterCollision, Scheduler, Setup};
use sojourn_core::Span;
use sojourn_core::registry::{Descriptor, Kind, Linux, Parameter, ParameterError, Params, Preset, Value};

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
    parameters: &[
        Parameter {
            name: "standard",
            kind: Kind::Choice(&Standard::NAMES),
            default: Value::Choice("802.11n"),
            description: "the generation, with its slots, preambles and rates; 802.11a, n and ac are in the 5 GHz band",
        },
        Parameter {
            name: "width",
            kind: Kind::Choice(&WIDTHS),
            default: Value::Choice("20 MHz"),
            description: "width of the channel: 20 MHz, and 40 MHz with 802.11n, and 80 MHz with 802.11ac",
        },
        Parameter {
            name: "guard",
            kind: Kind::Choice(&["800 ns", "400 ns"]),
            default: Value::Choice("800 ns"),
            description: "guard interval of 802.11n and ac: long or short",
        },
        Parameter {
            name: "preamble",
            kind: Kind::Choice(&["long", "short"]),
            default: Value::Choice("long"),
            description: "preamble of 802.11b",
        },
        Parameter {
            name: "slot",
            kind: Kind::Choice(&["short", "long"]),
            default: Value::Choice("short"),
            description: "slot of 802.11g: 9 us, or 20 us as where a station of 802.11b is near",
        },
        Parameter {
            name: "edca",
            kind: Kind::Boolean,
            default: Value::Boolean(false),
            description: "whether packets contend by their code point, in one of the categories background, best effort, video and voice",
        },
        Parameter {
            name: "txop",
            kind: Kind::Boolean,
            default: Value::Boolean(false),
            description: "whether, with edca, video and voice send several exchanges in a row: for 3.008 and 1.504 ms, with 802.11b 6.016 and 3.264 ms",
        },
        Parameter {
            name: "rts",
            kind: Kind::OrAuto(&Kind::Integer { min: 0, max: 1_048_575 }),
            default: Value::Auto,
            description: "least bytes of a frame or an aggregate that RTS and CTS precede; auto is never",
        },
        Parameter {
            name: "scheduler",
            kind: Kind::Choice(&["airtime", "aql", "fifo"]),
            default: Value::Choice("airtime"),
            description: "what stands between `queue` and the air: airtime, a queue for each station, and turns by air time (mac80211); aql, the same above a firmware that gets up to 5 ms of packets for each station, and 12 ms while it holds less than 24 ms; fifo, one queue, and below it the driver's first-in first-out buffer",
        },
        Parameter {
            name: "driver",
            kind: Kind::Integer { min: 1, max: 100_000 },
            default: Value::Integer(123),
            description: "packets that the driver holds below the queue, for all stations, with the scheduler fifo",
        },
        Parameter {
            name: "ahead",
            kind: Kind::Integer { min: 1, max: 16 },
            default: Value::Integer(2),
            description: "exchanges that the hardware has ready, the one in the air included",
        },
        Parameter {
            name: "aggregate",
            kind: Kind::Integer { min: 1, max: 64 },
            default: Value::Integer(32),
            description: "most packets in an aggregate of 802.11n and ac; 1 for none",
        },
        Parameter {
            name: "aggregate_bytes",
            kind: Kind::Integer { min: 4_096, max: 1_048_575 },
            default: Value::Integer(65_535),
            description: "most bytes in an aggregate; 65535 at most with 802.11n",
        },
        Parameter {
            name: "longest",
            kind: Kind::Span { min: Span::from_micros(100), max: LONGEST },
            default: Value::Span(Span::from_millis(4)),
            description: "longest air time of an aggregate; a single packet may take longer",
        },
        Parameter {
            name: "tries",
            kind: Kind::Integer { min: 1, max: 30 },
            default: Value::Integer(7),
            description: "how often a packet is sent before it is given up",
        },
        Parameter {
            name: "nominal",
            kind: Kind::OrAuto(&Kind::Rate),
            default: Value::Auto,
            description: "what disciplines take for the rate, and limits in time are reckoned with; auto: what the station, for the access point the first one, gets with packets of 1500 bytes where nobody else sends",
        },
    ],
    presets: &[
        Preset {
            name: "mac80211",
            summary: "Linux since 4.11 with ath9k: a queue for each station, turns by air time, two aggregates of 4 ms ready",
            values: &[],
        },
        Preset {
            name: "mac80211-aql",
            summary: "Linux since 5.5 where firmware makes the aggregates",
            values: &[("scheduler", Value::Choice("aql"))],
        },
        Preset {
            name: "ath9k-2013",
            summary: "before that: one queue, and a driver that takes 123 packets from it",
            values: &[("scheduler", Value::Choice("fifo")), ("driver", Value::Integer(123))],
        },
        Preset {
            name: "ns3",
            summary: "ns-3.37: one first-in first-out queue of 500 packets in the MAC, and the longest aggregates",
            values: &[
                ("scheduler", Value::Choice("fifo")),
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
const WIDTHS: [&str; 3] = ["20 MHz", "40 MHz", "80 MHz"];

impl Setup {
    /// The network that `params` of [`DESCRIPTOR`] describe.
    ///
    /// # Errors
    /// A width or a size that the standard does not have.
    pub fn new(params: &Params) -> Result<Setup, ParameterError> {
        let standard = Standard::named(params.choice("standard"));
        let width_mhz = match params.choice("width") {
            "20 MHz" => 20,
            "40 MHz" => 40,
            _ => 80,
        };
        let widest = match standard {
            Standard::B | Standard::A | Standard::G => 20,
            Standard::N => 40,
            Standard::Ac => 80,
        };
        if width_mhz > widest {
            return Err(ParameterError::new("width", format!("at most {widest} MHz with {}", standard.name())));
        }
        let aggregate_bytes = params.integer("aggregate_bytes") as u32;
        if standard == Standard::N && aggregate_bytes > 65_535 {
            return Err(ParameterError::new("aggregate_bytes", "at most 65535 with 802.11n"));
        }
        let scheduler = match params.choice("scheduler") {
            "fifo" => Scheduler::Fifo { driver: params.integer("driver") as u32 },
            "aql" => Scheduler::Aql,
            _ => Scheduler::Airtime,
        };
        let (edca, bursts) = (params.boolean("edca"), params.boolean("txop"));
        if bursts && !edca {
            return Err(ParameterError::new("txop", "edca = true beside it"));
        }
        Ok(Setup {
            air: Air {
                standard,
                width_mhz,
                short_guard: params.choice("guard") == "400 ns",
                short_preamble: params.choice("preamble") == "short",
                long_slot: params.choice("slot") == "long",
            },
            longest: params.span("longest"),
            aggregate: params.integer("aggregate") as u32,
            aggregate_bytes,
            tries: params.integer("tries") as u32,
            scheduler,
            ahead: params.integer("ahead") as usize,
            edca,
            bursts,
            rts: match params.get("rts") {
                Value::Integer(least) => Some(least as u32),
                _ => None,
            },
            after_collision: AfterCollision::Standard,
        })
    }
}
