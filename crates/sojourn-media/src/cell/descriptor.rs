//! What can be set of a cell in a scenario.

use super::phy::{Duplex, Phy, Radio};
use super::setup::{Recovery, Scheduler, Setup, Uplink};
use sojourn_core::registry::declare::{choice, integer, integer_in, number, or_auto, rate_or_auto, span, word};
use sojourn_core::registry::{
    Descriptor, Linux, Parameter, ParameterError, Params, Preset, Value, joined, with_defaults,
};
use sojourn_core::{Rate, Span, choices, parameters};

/// Most resource blocks of a channel.
const MAX_BLOCKS: u64 = 273;
const SECOND: Span = Span::from_secs(1);
const SLOT: Span = Span::from_micros(500);

choices! {
    /// Who gets resource blocks.
    enum Turns { Fair = "pf", RoundRobin = "rr" }
    /// How stations come to send.
    enum Grants { Requested = "requested", Prescheduled = "prescheduled" }
    /// Widths of a channel of LTE.
    enum LteWidth {
        Mhz1_4 = "1.4 MHz",
        Mhz3 = "3 MHz",
        Mhz5 = "5 MHz",
        Mhz10 = "10 MHz",
        Mhz15 = "15 MHz",
        Mhz20 = "20 MHz",
    }
    /// Widths of a channel of 5G.
    enum NrWidth { Mhz10 = "10 MHz", Mhz20 = "20 MHz", Mhz40 = "40 MHz", Mhz100 = "100 MHz" }
    /// Spacings of subcarriers.
    enum Spacing { Khz15 = "15 kHz", Khz30 = "30 kHz" }
    /// The highest modulation.
    enum Modulation { Qam64 = "64qam", Qam256 = "256qam" }
}

parameters! {
    /// What can be set of both kinds of cell; the defaults are those of LTE.
    struct Common {
        /// resource blocks that data may use; auto: all of the bandwidth
        blocks: Option<u32> = or_auto(&integer_in(6..=MAX_BLOCKS)),
        /// who gets resource blocks: pf, whoever has the best channel compared with what it got so far (proportional fair);
        /// rr, all alike in each slot (round robin)
        scheduler: Turns = choice(Turns::Fair.value()),
        /// over how long proportional fair averages what a station got
        window: Span = span(Span::from_millis(100), Span::from_millis(2)..=Span::from_secs(100)),
        /// probability that a transport block is lost; where the channel fades, the link adaptation aims at it for first
        /// transmissions
        bler: f64 = number(0.1, 0.0..=0.5),
        /// from the transmission of a block to its next one
        harq: Span = span(Span::from_millis(8), SLOT..=SECOND),
        /// how often a block is sent before RLC has to help
        tries: u32 = integer(4, 1..=16),
        /// HARQ processes: blocks of a station and direction on their way at once
        processes: usize = integer(8, 1..=64),
        /// what follows the last try: am, the block is sent anew (acknowledged mode); um, its packets are lost
        /// (unacknowledged)
        rlc: Recovery = choice(Recovery::Again.value()),
        /// how long the receiver waits after the last try before it reports or gives up a block (t-Reordering)
        reordering: Span = span(Span::from_millis(50), SLOT..=SECOND),
        /// coding and decoding at both ends, from the end of a block to the delivery of its packets
        processing: Span = span(Span::from_millis(2), Span::ZERO..=SECOND),
        /// how stations come to send: requested, after a scheduling request and reports of what waits; prescheduled, whenever
        /// something waits
        uplink: Grants = choice(Grants::Requested.value()),
        /// between two chances of a station for a scheduling request
        sr_period: Span = span(Span::from_millis(10), SLOT..=SECOND),
        /// from a request, or a report of what waits, to the data that it lets go
        grant: Span = span(Span::from_millis(8), SLOT..=SECOND),
        /// bytes that a scheduling request lets go, since it does not say how much waits
        first_grant: u64 = integer(100, 10..=1_000_000),
        /// between two reports of a station's CQI
        report: Span = span(Span::from_millis(5), SLOT..=SECOND),
        /// from the measurement of a CQI to the first block by it
        report_delay: Span = span(Span::from_millis(6), Span::ZERO..=SECOND),
        /// frequency of the carrier, by which a moving station's channel fades
        carrier_ghz: f64 = number(1.8, 0.1..=100.0),
        /// antennas of a receiver: each has fading of its own, so that with more of them a moving station's channel varies
        /// less
        antennas: u32 = integer(2, 1..=8),
        /// what disciplines take for the rate, and limits in time are reckoned with; auto: what the station, for the base
        /// station the first one, gets down where it is alone
        nominal: Option<Rate> = rate_or_auto(),
    }
}

parameters! {
    /// What can be set of a cell of LTE beside that.
    struct Lte {
        /// width of the channel in each direction: 6, 15, 25, 50, 75 or 100 resource blocks
        bandwidth: LteWidth = choice(LteWidth::Mhz10.value()),
    }
}

parameters! {
    /// What can be set of a cell of 5G beside that.
    struct Nr {
        /// width of the channel: 52, 106 or 216 resource blocks with 15 kHz, and 24, 51, 106 or 273 with 30 kHz
        bandwidth: NrWidth = choice(NrWidth::Mhz100.value()),
        /// spacing of the subcarriers: slots of 1 ms or 0.5 ms
        spacing: Spacing = choice(Spacing::Khz30.value()),
        /// fdd, a frequency for each direction; or a pattern of slots on one: D down, U up, S 10 of 14 symbols down
        duplex: &'static str = word("DDDSU", &["fdd", "DDDSU", "DDSU", "DDDDDDDSUU"]),
        /// the highest modulation, and so the table that a CQI points into
        modulation: Modulation = choice(Modulation::Qam256.value()),
    }
}

/// What of [`Common`] is otherwise where there is no file to say so.
const COMMON_OF_NR: [Parameter; Common::LIST.len()] = with_defaults(
    Common::LIST,
    &[
        ("harq", Value::Span(Span::from_millis(4))),
        ("processes", Value::Integer(16)),
        ("processing", Value::Span(Span::from_millis(1))),
        ("sr_period", Value::Span(Span::from_millis(5))),
        ("grant", Value::Span(Span::from_millis(4))),
        ("carrier_ghz", Value::Number(3.5)),
        ("antennas", Value::Integer(4)),
    ],
);

static OF_LTE: [Parameter; Lte::LIST.len() + Common::LIST.len()] = joined(&[&Lte::LIST, &Common::LIST]);

static OF_NR: [Parameter; Nr::LIST.len() + Common::LIST.len()] = joined(&[&Nr::LIST, &COMMON_OF_NR]);

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
    parameters: &OF_LTE,
    presets: &[
        Preset {
            name: "lte-10mhz",
            summary: "10 MHz, proportional fair, a request for the uplink every 10 ms",
            values: &[],
        },
        Preset {
            name: "lte-20mhz",
            summary: "the same with 20 MHz",
            values: &[("bandwidth", LteWidth::Mhz20.value())],
        },
        Preset {
            name: "prescheduled",
            summary: "stations need not ask for the uplink, as in a cell with little traffic",
            values: &[("uplink", Grants::Prescheduled.value())],
        },
        Preset {
            name: "ns3",
            summary: "ns-3.37 without fading: no lost blocks, RLC without acknowledgements, no scheduling requests",
            values: &[
                ("window", Value::Span(Span::from_millis(99))),
                ("bler", Value::Number(0.0)),
                ("rlc", Recovery::Nothing.value()),
                ("uplink", Grants::Prescheduled.value()),
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
    parameters: &OF_NR,
    presets: &[
        Preset { name: "5g-100mhz", summary: "100 MHz at 3.5 GHz, DDDSU, up to 256QAM", values: &[] },
        Preset {
            name: "5g-20mhz-fdd",
            summary: "20 MHz in each direction at 1.8 GHz with slots of 1 ms, as where LTE was before",
            values: &[
                ("bandwidth", NrWidth::Mhz20.value()),
                ("spacing", Spacing::Khz15.value()),
                ("duplex", Value::Choice("fdd")),
                ("harq", Value::Span(Span::from_millis(8))),
                ("sr_period", Value::Span(Span::from_millis(10))),
                ("carrier_ghz", Value::Number(1.8)),
            ],
        },
        Preset {
            name: "configured",
            summary: "the default with grants that stations need not ask for",
            values: &[("uplink", Grants::Prescheduled.value())],
        },
    ],
    linux: Linux::Absent("a medium is not a queue discipline"),
    ..Descriptor::PLAIN
};

impl Setup {
    /// The cell that `params` of [`LTE`] or [`NR`] describe.
    ///
    /// # Errors
    /// More resource blocks than the bandwidth has, or a bandwidth that the spacing does not have.
    pub fn new(params: &Params) -> Result<Setup, ParameterError> {
        let declared = Common::of(params);
        let phy = if std::ptr::eq(params.descriptor(), &raw const LTE) {
            lte(&Lte::of(params))
        } else {
            nr(&Nr::of(params))?
        };
        let blocks = declared.blocks.unwrap_or(phy.blocks);
        if blocks > phy.blocks {
            let rule = format!("at most {}, those of {}", phy.blocks, params.get("bandwidth"));
            return Err(ParameterError::new("blocks", rule));
        }
        let slots = |span: Span| span.as_nanos().div_ceil(phy.slot.as_nanos());
        Ok(Setup {
            phy: Phy { blocks, ..phy },
            antennas: declared.antennas,
            carrier_hz: declared.carrier_ghz * 1e9,
            scheduler: match declared.scheduler {
                Turns::RoundRobin => Scheduler::RoundRobin,
                Turns::Fair => Scheduler::ProportionalFair { window: declared.window.ratio(phy.slot) },
            },
            bler: declared.bler,
            harq: slots(declared.harq),
            tries: declared.tries,
            processes: declared.processes,
            recovery: declared.rlc,
            reordering: slots(declared.reordering),
            processing: slots(declared.processing),
            uplink: match declared.uplink {
                Grants::Prescheduled => Uplink::Prescheduled,
                Grants::Requested => Uplink::Requested {
                    period: slots(declared.sr_period),
                    grant: slots(declared.grant),
                    first_bytes: declared.first_grant,
                },
            },
            report: slots(declared.report),
            report_delay: slots(declared.report_delay),
        })
    }
}

fn lte(declared: &Lte) -> Phy {
    // Resource block groups of TS 36.213, table 7.1.6.1-1.
    let (blocks, group) = match declared.bandwidth {
        LteWidth::Mhz1_4 => (6, 1),
        LteWidth::Mhz3 => (15, 2),
        LteWidth::Mhz5 => (25, 2),
        LteWidth::Mhz10 => (50, 3),
        LteWidth::Mhz15 => (75, 4),
        LteWidth::Mhz20 => (100, 4),
    };
    Phy { radio: Radio::Lte, slot: Span::from_millis(1), blocks, group, duplex: Duplex::Fdd }
}

fn nr(declared: &Nr) -> Result<Phy, ParameterError> {
    let blocks = match (declared.bandwidth, declared.spacing) {
        (NrWidth::Mhz10, Spacing::Khz15) => 52,
        (NrWidth::Mhz20, Spacing::Khz15) => 106,
        (NrWidth::Mhz40, Spacing::Khz15) => 216,
        (NrWidth::Mhz10, Spacing::Khz30) => 24,
        (NrWidth::Mhz20, Spacing::Khz30) => 51,
        (NrWidth::Mhz40, Spacing::Khz30) => 106,
        (NrWidth::Mhz100, Spacing::Khz30) => 273,
        (NrWidth::Mhz100, Spacing::Khz15) => {
            return Err(ParameterError::new("bandwidth", "at most 40 MHz with a spacing of 15 kHz"));
        }
    };
    // The first configuration of TS 38.214, table 5.1.2.2.1-1.
    let group = match blocks {
        ..=36 => 2,
        37..=72 => 4,
        73..=144 => 8,
        _ => 16,
    };
    let duplex = if declared.duplex == "fdd" { Duplex::Fdd } else { Duplex::Tdd(declared.duplex) };
    let slot = match declared.spacing {
        Spacing::Khz15 => Span::from_millis(1),
        Spacing::Khz30 => SLOT,
    };
    let radio = Radio::Nr { qam256: declared.modulation == Modulation::Qam256 };
    Ok(Phy { radio, slot, blocks, group, duplex })
}
