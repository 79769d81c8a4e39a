//! What `cake` is, what can be set, and what had better not be.

use super::acks::Filter;
use super::plan::Plan;
use crate::cobalt::law::CobaltLaw;
use crate::fifo::LIMIT_KIND;
use crate::framing::{self, Cells, Framing};
use crate::{Limit, LinkProperties, flows};
use alloc::format;
use alloc::vec::Vec;
use sojourn_core::registry::{
    Advice, Auto, Descriptor, Form, Kind, Linux, Parameter, ParameterError, Params, Preset, Setting, Unit, Value,
};
use sojourn_core::{Rate, Span};

/// What `cake` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "cake",
    summary: "shaper, tins by DSCP, fairness among hosts and among flows, and COBALT in each queue",
    sources: &["Linux net/sched/sch_cake.c (6.18)", "iproute2 tc/q_cake.c and tc-cake(8)"],
    parameters: &[
        Parameter {
            name: "bandwidth",
            kind: Kind::OrAuto(&Kind::Rate),
            default: Value::Auto,
            description: "rate to shape to, framing included; auto is unlimited: as fast as the link takes packets, without thresholds for the tins",
        },
        Parameter {
            name: "rtt",
            kind: Kind::Span { min: Span::from_micros(1), max: Span::from_secs(10_000) },
            default: Value::Span(Span::from_millis(100)),
            description: "COBALT's interval; tc's words: datacentre 100 us, lan 1 ms, metro 10 ms, regional 30 ms, internet 100 ms, oceanic 300 ms, satellite 1 s, interplanetary 1000 s",
        },
        Parameter {
            name: "target",
            kind: Kind::OrAuto(&Kind::Span { min: Span::from_micros(1), max: Span::from_secs(1000) }),
            default: Value::Auto,
            description: "COBALT's target; auto is a twentieth of rtt. Both are stretched in tins where a full packet takes long",
        },
        Parameter {
            name: "diffserv",
            kind: Kind::Choice(&["besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8"]),
            default: Value::Choice("diffserv3"),
            description: "tins and their DSCPs. With bandwidth, the highest tin within its part of it goes first. LE and CS1 are in bulk (1/16), all else in best effort (1); but EF, VA, CS6, CS7 and TOS 4 in voice (1/4) of diffserv3; CS4, CS5, EF, VA, CS6, CS7 in voice (1/4) and AF2x to AF4x, CS2, CS3 and TOS 4 in video (1/2) of diffserv4; diffserv8 and precedence have eight, each with 7/8 of the one below",
        },
        Parameter {
            name: "isolation",
            kind: Kind::Choice(&[
                "flowblind",
                "srchost",
                "dsthost",
                "hosts",
                "flows",
                "dual-srchost",
                "dual-dsthost",
                "triple-isolate",
            ]),
            default: Value::Choice("triple-isolate"),
            description: "what has a queue of its own: nothing, a sending or receiving host, a pair of hosts, or a flow; dual and triple let flows share their host's part: the sending host's, the receiving host's, or that of the busier of both. There is no NAT to look through",
        },
        flows::PERFECT_FOR_STUDY,
        Parameter {
            name: "wash",
            kind: Kind::Boolean,
            default: Value::Boolean(false),
            description: "whether the DSCP is cleared once it has decided the tin",
        },
        Parameter {
            name: "ack_filter",
            kind: Kind::Choice(&["off", "normal", "aggressive"]),
            default: Value::Choice("off"),
            description: "whether the older of two waiting acknowledgements is dropped when a new one of the same flow says all that both say (normal), or even a single one right before it (aggressive)",
        },
        Parameter {
            name: "memlimit",
            kind: Kind::OrAuto(&LIMIT_KIND),
            default: Value::Auto,
            description: "what may wait in all tins together; above it the longest queue loses packets from its head. auto is four times bandwidth times rtt but at least 4 MiB, and never more than 10240 full packets. Linux counts the kernel's buffers, up to some times the bytes on the wire that are counted here",
        },
        Parameter {
            name: "link_layer",
            kind: Kind::Choice(&framing::WORDS),
            default: Value::Choice("raw"),
            description: "a packet's size on the wire, on which bandwidth and turns are reckoned, by tc's words: overhead, least size and cells, which the next three change. Packets here are sized as IP sees them",
        },
        Parameter {
            name: "overhead",
            kind: Kind::OrAuto(&framing::OVERHEAD),
            default: Value::Auto,
            description: "bytes added to each packet; auto is that of link_layer. Add 4 for each VLAN tag (ether-vlan)",
        },
        Parameter {
            name: "mpu",
            kind: Kind::OrAuto(&framing::OVERHEAD),
            default: Value::Auto,
            description: "least bytes of a packet with its overhead; auto is that of link_layer",
        },
        Parameter {
            name: "cells",
            kind: Kind::OrAuto(&framing::CELLS),
            default: Value::Auto,
            description: "atm: cells of 53 bytes for each 48; ptm: a byte more for each 64; auto is that of link_layer",
        },
        Parameter {
            name: "ingress",
            kind: Kind::Boolean,
            default: Value::Boolean(false),
            description: "whether packets have crossed the bottleneck already: drops then count against bandwidth, and a delay of two packets for each bulk flow is no congestion",
        },
    ],
    presets: &[
        Preset { name: "linux", summary: "tc cake: diffserv3, triple-isolate, rtt 100 ms, unlimited", values: &[] },
        Preset {
            name: "besteffort",
            summary: "tc cake besteffort: one tin",
            values: &[("diffserv", Value::Choice("besteffort"))],
        },
        Preset {
            name: "diffserv4",
            summary: "tc cake diffserv4: bulk, best effort, video, voice",
            values: &[("diffserv", Value::Choice("diffserv4"))],
        },
    ],
    linux: Linux::Kernel(&[Form {
        name: "cake",
        module: "sch_cake",
        settings: &[
            Setting::auto("bandwidth", "bandwidth", Unit::Rate, Auto::Word("unlimited")),
            Setting::option("rtt", "rtt", Unit::Micros),
            Setting::words(
                "diffserv",
                &[
                    ("besteffort", "besteffort"),
                    ("precedence", "precedence"),
                    ("diffserv3", "diffserv3"),
                    ("diffserv4", "diffserv4"),
                    ("diffserv8", "diffserv8"),
                ],
            ),
            Setting::words(
                "isolation",
                &[
                    ("flowblind", "flowblind"),
                    ("srchost", "srchost"),
                    ("dsthost", "dsthost"),
                    ("hosts", "hosts"),
                    ("flows", "flows"),
                    ("dual-srchost", "dual-srchost"),
                    ("dual-dsthost", "dual-dsthost"),
                    ("triple-isolate", "triple-isolate"),
                ],
            ),
            Setting::flag("wash", "wash", "nowash"),
            Setting::words(
                "ack_filter",
                &[("off", "no-ack-filter"), ("normal", "ack-filter"), ("aggressive", "ack-filter-aggressive")],
            ),
            Setting::auto("memlimit", "memlimit", Unit::Bytes, Auto::Omit),
            Setting::words(
                "link_layer",
                &[
                    ("raw", "raw"),
                    ("conservative", "conservative"),
                    ("ethernet", "ethernet"),
                    ("docsis", "docsis"),
                    ("pppoe-ptm", "pppoe-ptm"),
                    ("bridged-ptm", "bridged-ptm"),
                    ("ipoa-vcmux", "ipoa-vcmux"),
                    ("ipoa-llcsnap", "ipoa-llcsnap"),
                    ("bridged-vcmux", "bridged-vcmux"),
                    ("bridged-llcsnap", "bridged-llcsnap"),
                    ("pppoa-vcmux", "pppoa-vcmux"),
                    ("pppoa-llc", "pppoa-llc"),
                    ("pppoe-vcmux", "pppoe-vcmux"),
                    ("pppoe-llcsnap", "pppoe-llcsnap"),
                ],
            ),
            Setting::auto("overhead", "overhead", Unit::Number, Auto::Omit),
            Setting::auto("mpu", "mpu", Unit::Number, Auto::Omit),
            Setting::words("cells", &[("auto", ""), ("none", "noatm"), ("atm", "atm"), ("ptm", "ptm")]),
            Setting::flag("ingress", "ingress", "egress"),
        ],
        remarks: &["memlimit counts the kernel's buffers, which are larger than the packets in them"],
        ..Form::PLAIN
    }]),
    ..Descriptor::PLAIN
};

/// Most full packets that may wait without a memlimit, and least bytes that it is with a rate.
const MAX_PACKETS: u64 = 10_240;
const MIN_BYTES: u64 = 4 << 20;
/// How often bandwidth times rtt may wait.
const WINDOWS: u64 = 4;
/// `target` is this part of `rtt`.
const TARGET_PART: u64 = 20;

/// The framing that `params` describe.
pub(super) fn framing(params: &Params) -> Framing {
    let mut framing = Framing::named(params.choice("link_layer"));
    if let Value::Integer(bytes) = params.get("overhead") {
        framing.overhead = bytes as u32;
    }
    if let Value::Integer(bytes) = params.get("mpu") {
        framing.mpu = bytes as u32;
    }
    if let Value::Choice(cells) = params.get("cells") {
        framing.cells = Cells::of(cells);
    }
    framing
}

/// The rate to shape to.
pub(super) fn bandwidth(params: &Params) -> Option<Rate> {
    match params.get("bandwidth") {
        Value::Rate(rate) => Some(rate),
        _ => None,
    }
}

/// Target and interval, before a tin's rate stretches them.
pub(super) fn times(params: &Params) -> Result<(Span, Span), ParameterError> {
    let interval = params.span("rtt");
    match params.get("target") {
        Value::Span(target) => CobaltLaw::check(target, interval, "rtt").map(|()| (target, interval)),
        _ => Ok(((interval / TARGET_PART).max(Span::from_micros(1)), interval)),
    }
}

/// What may wait (`cake_reconfigure`).
pub(super) fn limit(params: &Params, link: &LinkProperties) -> Result<Limit, ParameterError> {
    if !params.is_auto("memlimit") {
        return Limit::of(params, "memlimit", link);
    }
    let most = MAX_PACKETS * u64::from(link.packet_bytes);
    let of_rate = |rate: Rate| ((rate.bytes_in(params.span("rtt")) * WINDOWS as f64) as u64).max(MIN_BYTES);
    Ok(Limit::Bytes(bandwidth(params).map_or(most, |rate| of_rate(rate).min(most))))
}

/// How flows are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Isolation {
    /// All are one.
    One,
    /// By the hosts at these ends: sending, receiving.
    Hosts([bool; 2]),
    /// By all that identifies a flow.
    Flows,
    /// By the flow's index, whatever its hash.
    Perfect,
}

/// What has a queue of its own, and at which ends hosts share fairly: sending, receiving.
pub(super) fn isolation(params: &Params) -> Result<(Isolation, [bool; 2]), ParameterError> {
    let (isolation, fair) = match params.choice("isolation") {
        "flowblind" => (Isolation::One, [false, false]),
        "srchost" => (Isolation::Hosts([true, false]), [false, false]),
        "dsthost" => (Isolation::Hosts([false, true]), [false, false]),
        "hosts" => (Isolation::Hosts([true, true]), [false, false]),
        "flows" => (Isolation::Flows, [false, false]),
        "dual-srchost" => (Isolation::Flows, [true, false]),
        "dual-dsthost" => (Isolation::Flows, [false, true]),
        _ => (Isolation::Flows, [true, true]),
    };
    match isolation {
        _ if !params.boolean("perfect") => Ok((isolation, fair)),
        Isolation::Flows => Ok((Isolation::Perfect, fair)),
        _ => Err(ParameterError::new(
            "perfect",
            "false where isolation puts several flows into one queue: perfect gives every flow its own",
        )),
    }
}

/// How acknowledgements are filtered.
pub(super) fn ack_filter(params: &Params) -> Filter {
    match params.choice("ack_filter") {
        "normal" => Filter::Normal,
        "aggressive" => Filter::Aggressive,
        _ => Filter::Off,
    }
}

/// The tins.
pub(super) fn plan(params: &Params) -> &'static Plan {
    Plan::find(params.choice("diffserv"))
}

/// A download of this rate, about the fastest that homes have, with an acknowledgement of so many bytes for two full
/// packets: a link that carries these needs no filter.
const FAST_DOWNLOAD: f64 = 1e9;
const ACK_BYTES: u32 = 52;

/// What a careful user would not do.
pub(super) fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
    let mut advice = Vec::new();
    let packets = |rate| framing(params).packet_rate(rate, link.packet_bytes);
    let mut rate = bandwidth(params).unwrap_or(link.rate);
    if packets(rate).bits_per_second() > link.rate.bits_per_second() {
        rate = link.rate;
        let text = format!(
            "more than the link's {}: the shaper never waits, so its tins' thresholds are those of a rate that does not exist; a little less than the link's rate is usual",
            link.rate
        );
        advice.push(Advice::new("bandwidth", text));
    }
    let window = rate.bytes_in(params.span("rtt"));
    if let Value::Amount(memory) = params.get("memlimit") {
        let memory = memory.bytes(link.rate, f64::from(link.packet_bytes));
        if memory < window {
            let text = format!(
                "{memory:.0} B are less than the {window:.0} B that {rate} send in an rtt: packets are dropped for want of room before COBALT judges them"
            );
            advice.push(Advice::new("memlimit", text));
        }
    }
    let acks = f64::from(framing(params).bytes(ACK_BYTES)) / f64::from(2 * link.packet_bytes) * FAST_DOWNLOAD;
    if ack_filter(params) != Filter::Off && rate.bits_per_second() as f64 >= acks {
        let text = format!(
            "{rate} carry the acknowledgements of a download of 1 Gbit/s; the filter is for links much slower than their return direction, elsewhere it only thins what senders pace by"
        );
        advice.push(Advice::new("ack_filter", text));
    }
    if params.boolean("ingress") && params.is_auto("bandwidth") {
        advice.push(Advice::new("ingress", "without bandwidth there is nothing that drops could count against"));
    }
    advice
}
