//! What can be set of a cell in a scenario.

use super::phy::{Duplex, Phy, Radio};
use super::setup::{Recovery, Scheduler, Setup, Uplink};
use sojourn_core::Span;
use sojourn_core::registry::{Descriptor, Kind, Linux, Parameter, ParameterError, Params, Preset, Value};

/// What `lte` is and what can be set.
pub static LTE: Descriptor = Descriptor {
    name: "lte",
    summary: "a cell of LTE and its stations: a queue for each in both directions, a scheduler, HARQ, requests and grants",
    sources: &[
        "3GPP TS 36.213 (CQI, transport blocks), TS 36.321 (HARQ, scheduling requests), TS 36.322 (RLC)",
        "3GPP TR 36.881, section 5 (components of latency)",
        "Piro et al., An LTE module for the ns-3 network simulator, SIMUTools 2011 (SNR to CQI)",
        "Blanquez-Casado et al., eOLLA, EURASIP JWCN 2016:20 (outer-loop link adaptation)",
    ],
    parameters: &[
        Parameter {
            name: "bandwidth",
            kind: Kind::Choice(&["1.4 MHz", "3 MHz", "5 MHz", "10 MHz", "15 MHz", "20 MHz"]),
            default: Value::Choice("10 MHz"),
            description: "width of the channel in each direction: 6, 15, 25, 50, 75 or 100 resource blocks",
        },
        BLOCKS,
        SCHEDULER,
        WINDOW,
        BLER,
        Parameter { default: Value::Span(Span::from_millis(8)), ..HARQ },
        TRIES,
        Parameter { default: Value::Integer(8), ..PROCESSES },
        RLC,
        REORDERING,
        Parameter { default: Value::Span(Span::from_millis(2)), ..PROCESSING },
        UPLINK,
        Parameter { default: Value::Span(Span::from_millis(10)), ..SR_PERIOD },
        Parameter { default: Value::Span(Span::from_millis(8)), ..GRANT },
        FIRST_GRANT,
        REPORT,
        REPORT_DELAY,
        Parameter { default: Value::Number(1.8), ..CARRIER },
        Parameter { default: Value::Integer(2), ..ANTENNAS },
        NOMINAL,
    ],
    presets: &[
        Preset {
            name: "lte-10mhz",
            summary: "10 MHz, proportional fair, a request for the uplink every 10 ms",
            values: &[],
        },
        Preset {
            name: "lte-20mhz",
            summary: "the same with 20 MHz",
            values: &[("bandwidth", Value::Choice("20 MHz"))],
        },
        Preset {
            name: "prescheduled",
            summary: "stations need not ask for the uplink, as in a cell with little traffic",
            values: &[("uplink", Value::Choice("prescheduled"))],
        },
        Preset {
            name: "ns3",
            summary: "ns-3.37 without fading: no lost blocks, RLC without acknowledgements, no scheduling requests",
            values: &[
                ("window", Value::Span(Span::from_millis(99))),
                ("bler", Value::Number(0.0)),
                ("rlc", Value::Choice("um")),
                ("uplink", Value::Choice("prescheduled")),
            ],
        },
    ],
    linux: Linux::Absent("a medium is not a queue discipline"),
    ..Descriptor::PLAIN
};

/// What `5g` is and what can be set.
pub static NR: Descriptor = Descriptor {
    name: "5g",
    summary: "a cell of 5G (NR): as `lte`, with shorter slots, wider channels, and one frequency for both directions in turn",
    sources: &[
        "3GPP TS 38.214 (CQI, transport blocks), TS 38.101-1 (resource blocks), TS 38.321 (HARQ, scheduling requests)",
    ],
    parameters: &[
        Parameter {
            name: "bandwidth",
            kind: Kind::Choice(&["10 MHz", "20 MHz", "40 MHz", "100 MHz"]),
            default: Value::Choice("100 MHz"),
            description: "width of the channel: 52, 106 or 216 resource blocks with 15 kHz, and 24, 51, 106 or 273 with 30 kHz",
        },
        Parameter {
            name: "spacing",
            kind: Kind::Choice(&["15 kHz", "30 kHz"]),
            default: Value::Choice("30 kHz"),
            description: "spacing of the subcarriers: slots of 1 ms or 0.5 ms",
        },
        Parameter {
            name: "duplex",
            kind: Kind::Choice(&DUPLEX),
            default: Value::Choice("DDDSU"),
            description: "fdd, a frequency for each direction; or a pattern of slots on one: D down, U up, S 10 of 14 symbols down",
        },
        Parameter {
            name: "modulation",
            kind: Kind::Choice(&["64qam", "256qam"]),
            default: Value::Choice("256qam"),
            description: "the highest modulation, and so the table that a CQI points into",
        },
        BLOCKS,
        SCHEDULER,
        WINDOW,
        BLER,
        Parameter { default: Value::Span(Span::from_millis(4)), ..HARQ },
        TRIES,
        Parameter { default: Value::Integer(16), ..PROCESSES },
        RLC,
        REORDERING,
        Parameter { default: Value::Span(Span::from_millis(1)), ..PROCESSING },
        UPLINK,
        Parameter { default: Value::Span(Span::from_millis(5)), ..SR_PERIOD },
        Parameter { default: Value::Span(Span::from_millis(4)), ..GRANT },
        FIRST_GRANT,
        REPORT,
        REPORT_DELAY,
        Parameter { default: Value::Number(3.5), ..CARRIER },
        Parameter { default: Value::Integer(4), ..ANTENNAS },
        NOMINAL,
    ],
    presets: &[
        Preset { name: "5g-100mhz", summary: "100 MHz at 3.5 GHz, DDDSU, up to 256QAM", values: &[] },
        Preset {
            name: "5g-20mhz-fdd",
            summary: "20 MHz in each direction at 1.8 GHz with slots of 1 ms, as where LTE was before",
            values: &[
                ("bandwidth", Value::Choice("20 MHz")),
                ("spacing", Value::Choice("15 kHz")),
                ("duplex", Value::Choice("fdd")),
                ("harq", Value::Span(Span::from_millis(8))),
                ("sr_period", Value::Span(Span::from_millis(10))),
                ("carrier_ghz", Value::Number(1.8)),
            ],
        },
        Preset {
            name: "configured",
            summary: "the default with grants that stations need not ask for",
            values: &[("uplink", Value::Choice("prescheduled"))],
        },
    ],
    linux: Linux::Absent("a medium is not a queue discipline"),
    ..Descriptor::PLAIN
};

const DUPLEX: [&str; 4] = ["fdd", "DDDSU", "DDSU", "DDDDDDDSUU"];
/// Most resource blocks of a channel.
const MAX_BLOCKS: u64 = 273;
const SECOND: Span = Span::from_secs(1);
const SLOT: Span = Span::from_micros(500);

const BLOCKS: Parameter = Parameter {
    name: "blocks",
    kind: Kind::OrAuto(&Kind::Integer { min: 6, max: MAX_BLOCKS }),
    default: Value::Auto,
    description: "resource blocks that data may use; auto: all of the bandwidth",
};
const SCHEDULER: Parameter = Parameter {
    name: "scheduler",
    kind: Kind::Choice(&["pf", "rr"]),
    default: Value::Choice("pf"),
    description: "who gets resource blocks: pf, whoever has the best channel compared with what it got so far (proportional fair); rr, all alike in each slot (round robin)",
};
const WINDOW: Parameter = Parameter {
    name: "window",
    kind: Kind::Span { min: Span::from_millis(2), max: Span::from_secs(100) },
    default: Value::Span(Span::from_millis(100)),
    description: "over how long proportional fair averages what a station got",
};
const BLER: Parameter = Parameter {
    name: "bler",
    kind: Kind::Number { min: 0.0, max: 0.5 },
    default: Value::Number(0.1),
    description: "probability that a transport block is lost; where the channel fades, the link adaptation aims at it for first transmissions",
};
const HARQ: Parameter = Parameter {
    name: "harq",
    kind: Kind::Span { min: SLOT, max: SECOND },
    default: Value::Span(Span::from_millis(8)),
    description: "from the transmission of a block to its next one",
};
const TRIES: Parameter = Parameter {
    name: "tries",
    kind: Kind::Integer { min: 1, max: 16 },
    default: Value::Integer(4),
    description: "how often a block is sent before RLC has to help",
};
const PROCESSES: Parameter = Parameter {
    name: "processes",
    kind: Kind::Integer { min: 1, max: 64 },
    default: Value::Integer(8),
    description: "HARQ processes: blocks of a station and direction on their way at once",
};
const RLC: Parameter = Parameter {
    name: "rlc",
    kind: Kind::Choice(&["am", "um"]),
    default: Value::Choice("am"),
    description: "what follows the last try: am, the block is sent anew (acknowledged mode); um, its packets are lost (unacknowledged)",
};
const REORDERING: Parameter = Parameter {
    name: "reordering",
    kind: Kind::Span { min: SLOT, max: SECOND },
    default: Value::Span(Span::from_millis(50)),
    description: "how long the receiver waits after the last try before it reports or gives up a block (t-Reordering)",
};
const PROCESSING: Parameter = Parameter {
    name: "processing",
    kind: Kind::Span { min: Span::ZERO, max: SECOND },
    default: Value::Span(Span::from_millis(2)),
    description: "coding and decoding at both ends, from the end of a block to the delivery of its packets",
};
const UPLINK: Parameter = Parameter {
    name: "uplink",
    kind: Kind::Choice(&["requested", "prescheduled"]),
    default: Value::Choice("requested"),
    description: "how stations come to send: requested, after a scheduling request and reports of what waits; prescheduled, whenever something waits",
};
const SR_PERIOD: Parameter = Parameter {
    name: "sr_period",
    kind: Kind::Span { min: SLOT, max: SECOND },
    default: Value::Span(Span::from_millis(10)),
    description: "between two chances of a station for a scheduling request",
};
const GRANT: Parameter = Parameter {
    name: "grant",
    kind: Kind::Span { min: SLOT, max: SECOND },
    default: Value::Span(Span::from_millis(8)),
    description: "from a request, or a report of what waits, to the data that it lets go",
};
const FIRST_GRANT: Parameter = Parameter {
    name: "first_grant",
    kind: Kind::Integer { min: 10, max: 1_000_000 },
    default: Value::Integer(100),
    description: "bytes that a scheduling request lets go, since it does not say how much waits",
};
const REPORT: Parameter = Parameter {
    name: "report",
    kind: Kind::Span { min: SLOT, max: SECOND },
    default: Value::Span(Span::from_millis(5)),
    description: "between two reports of a station's CQI",
};
const REPORT_DELAY: Parameter = Parameter {
    name: "report_delay",
    kind: Kind::Span { min: Span::ZERO, max: SECOND },
    default: Value::Span(Span::from_millis(6)),
    description: "from the measurement of a CQI to the first block by it",
};
const CARRIER: Parameter = Parameter {
    name: "carrier_ghz",
    kind: Kind::Number { min: 0.1, max: 100.0 },
    default: Value::Number(1.8),
    description: "frequency of the carrier, by which a moving station's channel fades",
};
const ANTENNAS: Parameter = Parameter {
    name: "antennas",
    kind: Kind::Integer { min: 1, max: 8 },
    default: Value::Integer(2),
    description: "antennas of a receiver: each has fading of its own, so that with more of them a moving station's channel varies less",
};
const NOMINAL: Parameter = Parameter {
    name: "nominal",
    kind: Kind::OrAuto(&Kind::Rate),
    default: Value::Auto,
    description: "what disciplines take for the rate, and limits in time are reckoned with; auto: what the station, for the base station the first one, gets down where it is alone",
};

impl Setup {
    /// The cell that `params` of [`LTE`] or [`NR`] describe.
    ///
    /// # Errors
    /// More resource blocks than the bandwidth has, or a bandwidth that the spacing does not have.
    pub fn new(params: &Params) -> Result<Setup, ParameterError> {
        let phy = if std::ptr::eq(params.descriptor(), &raw const LTE) { lte(params) } else { nr(params)? };
        let blocks = match params.get("blocks") {
            Value::Integer(blocks) if blocks > u64::from(phy.blocks) => {
                return Err(ParameterError::new(
                    "blocks",
                    format!("at most {}, those of {}", phy.blocks, params.choice("bandwidth")),
                ));
            }
            Value::Integer(blocks) => blocks as u32,
            _ => phy.blocks,
        };
        let slots = |key: &str| params.span(key).as_nanos().div_ceil(phy.slot.as_nanos());
        let window = params.span("window").ratio(phy.slot);
        Ok(Setup {
            phy: Phy { blocks, ..phy },
            antennas: params.integer("antennas") as u32,
            carrier_hz: params.number("carrier_ghz") * 1e9,
            scheduler: match params.choice("scheduler") {
                "rr" => Scheduler::RoundRobin,
                _ => Scheduler::ProportionalFair { window },
            },
            bler: params.number("bler"),
            harq: slots("harq"),
            tries: params.integer("tries") as u32,
            processes: params.integer("processes") as usize,
            recovery: if params.choice("rlc") == "um" { Recovery::Nothing } else { Recovery::Again },
            reordering: slots("reordering"),
            processing: slots("processing"),
            uplink: match params.choice("uplink") {
                "prescheduled" => Uplink::Prescheduled,
                _ => Uplink::Requested {
                    period: slots("sr_period"),
                    grant: slots("grant"),
                    first_bytes: params.integer("first_grant"),
                },
            },
            report: slots("report"),
            report_delay: slots("report_delay"),
        })
    }
}

fn lte(params: &Params) -> Phy {
    // Resource block groups of TS 36.213, table 7.1.6.1-1.
    let (blocks, group) = match params.choice("bandwidth") {
        "1.4 MHz" => (6, 1),
        "3 MHz" => (15, 2),
        "5 MHz" => (25, 2),
        "10 MHz" => (50, 3),
        "15 MHz" => (75, 4),
        _ => (100, 4),
    };
    Phy { radio: Radio::Lte, slot: Span::from_millis(1), blocks, group, duplex: Duplex::Fdd }
}

fn nr(params: &Params) -> Result<Phy, ParameterError> {
    let (bandwidth, spacing) = (params.choice("bandwidth"), params.choice("spacing"));
    let blocks = match (bandwidth, spacing) {
        ("10 MHz", "15 kHz") => 52,
        ("20 MHz", "15 kHz") => 106,
        ("40 MHz", "15 kHz") => 216,
        ("10 MHz", _) => 24,
        ("20 MHz", _) => 51,
        ("40 MHz", _) => 106,
        (_, "15 kHz") => return Err(ParameterError::new("bandwidth", "at most 40 MHz with a spacing of 15 kHz")),
        _ => 273,
    };
    // The first configuration of TS 38.214, table 5.1.2.2.1-1.
    let group = match blocks {
        ..=36 => 2,
        37..=72 => 4,
        73..=144 => 8,
        _ => 16,
    };
    let duplex = match params.choice("duplex") {
        "fdd" => Duplex::Fdd,
        pattern => Duplex::Tdd(pattern),
    };
    let slot = if spacing == "15 kHz" { Span::from_millis(1) } else { SLOT };
    let radio = Radio::Nr { qam256: params.choice("modulation") == "256qam" };
    Ok(Phy { radio, slot, blocks, group, duplex })
}
