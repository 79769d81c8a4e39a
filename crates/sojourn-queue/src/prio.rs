//! Strict priority: three bands, and a band sends only while all above it are empty.
//!
//! Linux's `prio` with what it has by default: three first-in first-out bands, chosen by the packet's priority. A lower
//! band waits as long as a higher one has packets, without limit. Nothing but the differentiated services code point
//! decides the band; Linux gets its priority from there by a table that is older than DSCPs and sees the three lowest
//! of the six bits only, so that EF is not in its first band: see `classes`.

#[cfg(test)]
mod tests;

use crate::{Discipline, DropReason, Dscp, Fifo, Limit, LinkProperties, Packet, Sink, advice};
use sojourn_core::registry::{Advice, Descriptor, Kind, Parameter, ParameterError, Params, Preset, Value};
use sojourn_core::{Amount, Stream, Time};

/// What `prio` is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "prio",
    summary: "strict priority: three first-in first-out bands, by the packets' DSCP",
    sources: &[
        "Linux net/sched/sch_prio.c, net/sched/sch_generic.c (prio2band) and net/ipv4/route.c (ip_tos2prio)",
        "Linux net/sched/sch_cake.c (diffserv3)",
        "RFC 8622",
    ],
    parameters: &[
        Parameter {
            name: "limit",
            kind: Kind::Amount { min_packets: 1.0, whole: true },
            default: Value::Amount(Amount::Packets(1000.0)),
            description: "what may wait in each band: packets, bytes, or time at the link's rate",
        },
        Parameter {
            name: "classes",
            kind: Kind::Choice(&["diffserv", "tos"]),
            default: Value::Choice("diffserv"),
            description: "which band a DSCP means: VA, EF, CS6, CS7 and TOS 4 the first, LE and CS1 the last, all others the second (diffserv, as in cake's diffserv3), or by the old meaning of the TOS byte, where the DSCP's lowest three bits are minimum delay (4: first band, with 2: second) and maximum throughput (2: last band; Linux's default priomap)",
        },
    ],
    presets: &[Preset {
        name: "linux",
        summary: "sch_prio with its default priomap and a pfifo of 1000 packets in each band. EF, LE and the class selectors are in the second band with default traffic, VA and the classes AF x2 in the first, AF x1 in the last",
        values: &[("classes", Value::Choice("tos"))],
    }],
};

const BANDS: usize = 3;

/// Three queues, the first of which goes first.
#[derive(Debug)]
pub struct Prio<B> {
    bands: [Fifo<B>; BANDS],
    limit: Limit,
    /// The band of each DSCP.
    band_of: [u8; 64],
}

impl<B: Copy> Prio<B> {
    /// Empty bands with the given parameters.
    ///
    /// # Errors
    /// A limit that holds no packet.
    pub fn new(params: &Params, link: &LinkProperties, _random: Stream) -> Result<Self, ParameterError> {
        let limit = Limit::new(params.amount("limit"), link);
        if matches!(limit, Limit::Bytes(bytes) if bytes < u64::from(link.packet_bytes)) {
            return Err(ParameterError::new(
                "limit",
                format!("room for at least one full-size packet ({} B), or every one is dropped", link.packet_bytes),
            ));
        }
        let band = if params.choice("classes") == "tos" { tos_band } else { diffserv_band };
        Ok(Prio {
            bands: Default::default(),
            limit,
            band_of: std::array::from_fn(|number| Dscp::from_number(number as u64).map_or(1, band)),
        })
    }
}

/// cake's diffserv3.
fn diffserv_band(dscp: Dscp) -> u8 {
    match (dscp.name(), dscp.number()) {
        (Some("va" | "ef" | "cs6" | "cs7"), _) | (_, 4) => 0,
        (Some("le" | "cs1"), _) => 2,
        _ => 1,
    }
}

/// `ip_tos2prio` and then `prio2band`. Of the DSCP, the old TOS field had the lowest three bits.
fn tos_band(dscp: Dscp) -> u8 {
    match dscp.number() & 7 {
        // TC_PRIO_BULK.
        2 | 3 => 2,
        // TC_PRIO_INTERACTIVE.
        4 | 5 => 0,
        // TC_PRIO_BESTEFFORT and TC_PRIO_INTERACTIVE_BULK.
        _ => 1,
    }
}

impl<B: Copy> Discipline<B> for Prio<B> {
    #[inline]
    fn enqueue<S: Sink<B>>(&mut self, mut packet: Packet<B>, now: Time, sink: &mut S) {
        packet.enqueued = now;
        let band = &mut self.bands[usize::from(self.band_of[usize::from(packet.dscp.number())])];
        if self.limit.has_room(band, packet.bytes) {
            band.push(packet);
        } else {
            sink.dropped(&packet, DropReason::Overflow);
        }
    }

    #[inline]
    fn dequeue<S: Sink<B>>(&mut self, _now: Time, _sink: &mut S) -> Option<Packet<B>> {
        self.bands.iter_mut().find_map(Fifo::pop)
    }

    #[inline]
    fn packets(&self) -> usize {
        self.bands.iter().map(Fifo::packets).sum()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bands.iter().map(Fifo::bytes).sum()
    }

    fn advice(params: &Params, link: &LinkProperties) -> Vec<Advice> {
        advice::plain_buffer(params, link).into_iter().collect()
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        for (name, band) in ["band_0_packets", "band_1_packets", "band_2_packets"].into_iter().zip(&self.bands) {
            visit(name, band.packets() as f64);
        }
    }
}
