//! What `cake` is, what can be set, and what had better not be.

use super::acks::Filter;
use super::plan::{Diffserv, Plan};
use crate::cobalt::law::CobaltLaw;
use crate::framing::{self, Cells, Framing};
use crate::{Limit, LinkProperties, flows};
use alloc::format;
use alloc::vec::Vec;
use sojourn_core::registry::declare::{
    amount_in, choice, flag, integer_in, or_auto, rate_or_auto, span, span_in, word,
};
use sojourn_core::registry::{Advice, Auto, Descriptor, Form, Linux, ParameterError, Params, Preset, Setting, Unit};
use sojourn_core::{Amount, Rate, Span, choices, parameters};

choices! {
    /// What has a queue of its own, and at which ends hosts share fairly.
    enum Isolate {
        Flowblind = "flowblind",
        SrcHost = "srchost",
        DstHost = "dsthost",
        Hosts = "hosts",
        Flows = "flows",
        DualSrcHost = "dual-srchost",
        DualDstHost = "dual-dsthost",
        Triple = "triple-isolate",
    }
}

parameters! {
    /// What can be set.
    pub(super) struct Parameters {
        /// rate to shape to, framing included; auto is unlimited: as fast as the link takes packets, without thresholds for
        /// the tins
        bandwidth: Option<Rate> = rate_or_auto(),
        /// COBALT's interval; tc's words: datacentre 100 us, lan 1 ms, metro 10 ms, regional 30 ms, internet 100 ms, oceanic
        /// 300 ms, satellite 1 s, interplanetary 1000 s
        rtt: Span = span(Span::from_millis(100), Span::from_micros(1)..=Span::from_secs(10_000)),
        /// COBALT's target; auto is a twentieth of rtt. Both are stretched in tins where a full packet takes long
        target: Option<Span> = or_auto(&span_in(Span::from_micros(1)..=Span::from_secs(1000))),
        /// tins and their DSCPs. With bandwidth, the highest tin within its part of it goes first. LE and CS1 are in bulk
        /// (1/16), all else in best effort (1); but EF, VA, CS6, CS7 and TOS 4 in voice (1/4) of diffserv3; CS4, CS5, EF, VA,
        /// CS6, CS7 in voice (1/4) and AF2x to AF4x, CS2, CS3 and TOS 4 in video (1/2) of diffserv4; diffserv8 and precedence
        /// have eight, each with 7/8 of the one below
        diffserv: Diffserv = choice(Diffserv::Three.value()),
        /// what has a queue of its own: nothing, a sending or receiving host, a pair of hosts, or a flow; dual and triple let
        /// flows share their host's part: the sending host's, the receiving host's, or that of the busier of both. There is no
        /// NAT to look through
        isolation: Isolate = choice(Isolate::Triple.value()),
        perfect: bool = flows::PERFECT_FOR_STUDY,
        /// whether the DSCP is cleared once it has decided the tin
        wash: bool = flag(false),
        /// whether the older of two waiting acknowledgements is dropped when a new one of the same flow says all that both say
        /// (normal), or even a single one right before it (aggressive)
        ack_filter: Filter = choice(Filter::Off.value()),
        /// what may wait in all tins together; above it the longest queue loses packets from its head. auto is four times
        /// bandwidth times rtt but at least 4 MiB, and never more than 10240 full packets. Linux counts the kernel's buffers,
        /// up to some times the bytes on the wire that are counted here
        memlimit: Option<Amount> = or_auto(&amount_in(1.0, true)),
        /// a packet's size on the wire, on which bandwidth and turns are reckoned, by tc's words: overhead, least size and
        /// cells, which the next three change. Packets here are sized as IP sees them
        link_layer: &'static str = word("raw", &framing::WORDS),
        /// bytes added to each packet; auto is that of link_layer. Add 4 for each VLAN tag (ether-vlan)
        overhead: Option<u32> = or_auto(&integer_in(0..=256)),
        /// least bytes of a packet with its overhead; auto is that of link_layer
        mpu: Option<u32> = or_auto(&integer_in(0..=256)),
        /// atm: cells of 53 bytes for each 48; ptm: a byte more for each 64; auto is that of link_layer
        cells: Option<Cells> = or_auto(&choice(Cells::None.value())),
        /// whether packets have crossed the bottleneck already: drops then count against bandwidth, and a delay of two packets
        /// for each bulk flow is no congestion
        ingress: bool = flag(false),
    }
}

/// What `cake` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "cake",
    summary: "shaper, tins by DSCP, fairness among hosts and among flows, and COBALT in each queue",
    sources: &["Linux net/sched/sch_cake.c (6.18)", "iproute2 tc/q_cake.c and tc-cake(8)"],
    parameters: &Parameters::LIST,
    presets: &[
        Preset { name: "linux", summary: "tc cake: diffserv3, triple-isolate, rtt 100 ms, unlimited", values: &[] },
        Preset {
            name: "besteffort",
            summary: "tc cake besteffort: one tin",
            values: &[("diffserv", Diffserv::BestEffort.value())],
        },
        Preset {
            name: "diffserv4",
            summary: "tc cake diffserv4: bulk, best effort, video, voice",
            values: &[("diffserv", Diffserv::Four.value())],
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
    let declared = Parameters::of(params);
    let mut framing = Framing::named(declared.link_layer);
    framing.overhead = declared.overhead.unwrap_or(framing.overhead);
    framing.mpu = declared.mpu.unwrap_or(framing.mpu);
    framing.cells = declared.cells.unwrap_or(framing.cells);
    framing
}

/// The rate to shape to.
pub(super) fn bandwidth(params: &Params) -> Option<Rate> {
    Parameters::of(params).bandwidth
}

/// Target and interval, before a tin's rate stretches them.
pub(super) fn times(params: &Params) -> Result<(Span, Span), ParameterError> {
    let declared = Parameters::of(params);
    let interval = declared.rtt;
    match declared.target {
        Some(target) => CobaltLaw::check(target, interval, "rtt").map(|()| (target, interval)),
        None => Ok(((interval / TARGET_PART).max(Span::from_micros(1)), interval)),
    }
}

/// What may wait (`cake_reconfigure`).
pub(super) fn limit(params: &Params, link: &LinkProperties) -> Result<Limit, ParameterError> {
    let declared = Parameters::of(params);
    if declared.memlimit.is_some() {
        return Limit::of(params, "memlimit", link);
    }
    let most = MAX_PACKETS * u64::from(link.packet_bytes);
    let of_rate = |rate: Rate| ((rate.bytes_in(declared.rtt) * WINDOWS as f64) as u64).max(MIN_BYTES);
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
    let declared = Parameters::of(params);
    let (isolation, fair) = match declared.isolation {
        Isolate::Flowblind => (Isolation::One, [false, false]),
        Isolate::SrcHost => (Isolation::Hosts([true, false]), [false, false]),
        Isolate::DstHost => (Isolation::Hosts([false, true]), [false, false]),
        Isolate::Hosts => (Isolation::Hosts([true, true]), [false, false]),
        Isolate::Flows => (Isolation::Flows, [false, false]),
        Isolate::DualSrcHost => (Isolation::Flows, [true, false]),
        Isolate::DualDstHost => (Isolation::Flows, [false, true]),
        Isolate::Triple => (Isolation::Flows, [true, true]),
    };
    match isolation {
        _ if !declared.perfect => Ok((isolation, fair)),
        Isolation::Flows => Ok((Isolation::Perfect, fair)),
        _ => Err(ParameterError::new(
            "perfect",
            "false where isolation puts several flows into one queue: perfect gives every flow its own",
        )),
    }
}

/// How acknowledgements are filtered.
pub(super) fn ack_filter(params: &Params) -> Filter {
    Parameters::of(params).ack_filter
}

/// The tins.
pub(super) fn plan(params: &Params) -> &'static Plan {
    Plan::of(Parameters::of(params).diffserv)
}

/// A download of this rate, about the fastest that homes have, with an acknowledgement of so many bytes for two full
/// packets: a link that carries these needs no filter.
const FAST_DOWNLOAD: f64 = 1e9;
const ACK_BYTES: u32 = 52;

/// What a careful user would not do.
pub(super) fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
    let declared = Parameters::of(params);
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
    let window = rate.bytes_in(declared.rtt);
    if let Some(memory) = declared.memlimit {
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
    if declared.ingress && declared.bandwidth.is_none() {
        advice.push(Advice::new("ingress", "without bandwidth there is nothing that drops could count against"));
    }
    advice
}
