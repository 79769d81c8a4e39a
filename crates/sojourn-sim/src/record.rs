//! The run record: what every world answers with, in the same names and units.

mod by_name;
mod distributions;
pub mod metric;
#[cfg(test)]
mod tests;

use crate::times::Coarse;
pub use by_name::ByName;
pub use distributions::{DelayMs, Fct, Known, Mean, MeanMax, Milliseconds, QueueMs};
use metric::record;
use serde::{Serialize, Serializer};
use sojourn_media::Tally;
use std::collections::BTreeMap;
use std::sync::Arc;

record! {
    /// The result of one run. A value that could not be had is `None`, never zero.
    pub struct Record {
        /// The seed of the run.
        pub seed: u64,
        /// Simulated time in s.
        pub duration_s: f64,
        /// Start of the measured part in s.
        pub measured_from_s: f64,
        /// Events processed.
        pub events: u64,
        /// Time the run took on this machine in s; all else is the same on every machine.
        pub wall_s: f64,
        /// The bottleneck.
        pub bottleneck: LinkRecord,
        /// The return link, where there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub reverse: Option<LinkRecord>,
        /// Further links by name in the order of the file, where there are any.
        #[serde(skip_serializing_if = "ByName::is_empty")]
        pub hops: ByName<LinkRecord>,
        /// Stations by name, where the bottleneck is an access point.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub stations: BTreeMap<String, StationRecord>,
        /// Groups by name.
        pub groups: BTreeMap<String, GroupRecord>,
        /// Phases by name, where there are any.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub phases: BTreeMap<String, PhaseRecord>,
        /// Flows, in the order of groups and indices.
        pub flows: Vec<FlowRecord>,
        pub jain_all: Option<f64> => FRACTION "Jain's fairness index of the goodputs of all flows",
    }

    /// What was measured at a link in a phase.
    pub struct PhaseLinkRecord {
        pub utilization: Option<f64> => SHARE "bits sent over bits that could have been sent",
        pub queue_packets: Mean => PACKETS "packets that wait",
        pub queue_ms: Milliseconds => MS "sojourn time in the queue",
        pub arrivals: u64 => PACKETS "packets offered to the queue",
        pub departures: u64 => PACKETS "packets that left the queue for the link",
        pub drops: u64 => PACKETS "packets dropped by the queue, or lost on the link",
        pub marks: u64 => PACKETS "packets marked with congestion experienced",
        pub drop_rate: Option<f64> => SHARE "drops over arrivals",
    }

    /// What was measured of a group in a phase.
    pub struct PhaseGroupRecord {
        pub share: Option<f64> => SHARE "delivered payload over that of all groups of its direction",
        pub goodput_mbps: f64 => MBPS "delivered payload, all flows together",
        pub drop_rate: Option<f64> => SHARE "data packets dropped over those sent",
        pub mark_rate: Option<f64> => SHARE "data packets marked over those sent",
    }

    /// What was measured at a link.
    pub struct LinkRecord {
        pub utilization: Option<f64> => SHARE "bits sent over bits that could have been sent",
        /// Without the one on the wire.
        pub queue_packets: MeanMax => PACKETS "packets that wait",
        pub queue_bytes: MeanMax => BYTES "bytes that wait",
        pub queue_ms: QueueMs => MS "sojourn time in the queue",
        pub arrivals: u64 => PACKETS "packets offered to the queue",
        pub departures: u64 => PACKETS "packets that left the queue for the link",
        pub drops: u64 => PACKETS "packets dropped by the queue, or lost on the link",
        pub marks: u64 => PACKETS "packets marked with congestion experienced",
        pub drop_rate: Option<f64> => SHARE "drops over arrivals",
        /// The queues inside, by the discipline's names for them, where there are any.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub classes: BTreeMap<String, ClassRecord>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub access: Option<AccessRecord> => ITS_OWN "how its packets got over the medium, where it shares one",
    }

    /// How the packets of a link got over a medium that others use as well.
    #[derive(Copy)]
    pub struct AccessRecord {
        pub exchanges: u64 => COUNT "exchanges that were begun on the medium; transport blocks of a cell",
        pub collisions: u64 => COUNT "exchanges that met another one",
        pub aggregate: Option<f64> => PACKETS "packets in an exchange, on average",
        pub retries: u64 => PACKETS "packets that had to be sent again, each time counted",
        /// They count as drops too.
        pub given_up: u64 => PACKETS "packets given up after the last try",
        /// The driver's buffer, access and air time, and waiting for earlier packets.
        pub ms: QueueMs => MS "from the queue to the other side of the medium",
    }

    /// What was measured of a station.
    pub struct StationRecord {
        /// Its own queue, towards the access point.
        #[serde(flatten)]
        pub uplink: LinkRecord,
        pub goodput_down_mbps: f64 => MBPS "delivered payload of the flows to a station",
        pub goodput_up_mbps: f64 => MBPS "delivered payload of the flows from a station",
        /// Answers and collisions included. In a cell, the part of the downlink's resource blocks.
        pub air_down: f64 => SHARE "time in which the medium carried what was sent to a station",
        /// Answers and collisions included. In a cell, the part of the uplink's resource blocks.
        pub air_up: f64 => SHARE "time in which the medium carried what a station sent",
    }

    /// What was measured of a queue inside a discipline.
    pub struct ClassRecord {
        pub queue_ms: QueueMs => MS "sojourn time in the queue",
        pub departures: u64 => PACKETS "packets that left the queue for the link",
        pub drops: u64 => PACKETS "packets dropped by the queue, or lost on the link",
        pub marks: u64 => PACKETS "packets marked with congestion experienced",
    }

    /// What was measured of a group.
    pub struct GroupRecord {
        pub share: Option<f64> => SHARE "delivered payload over that of all groups of its direction",
        pub goodput_mbps: f64 => MBPS "delivered payload, all flows together",
        pub drop_rate: Option<f64> => SHARE "data packets dropped over those sent",
        pub mark_rate: Option<f64> => SHARE "data packets marked over those sent",
        /// `None` for traffic that has none.
        pub ack_drop_rate: Option<f64> => SHARE "acknowledgements of its data dropped over those sent",
        /// `None` for traffic that has none.
        pub syn_drops: Option<u64> => PACKETS "SYNs and SYN-ACKs dropped",
        /// `None` for traffic that never does.
        pub retransmissions: Option<u64> => PACKETS "data packets sent again",
        /// `None` for traffic that has none.
        pub timeouts: Option<u64> => COUNT "retransmission timeouts",
        pub jain: Option<f64> => FRACTION "Jain's fairness index of its flows' goodputs",
        pub rtt_ms: Milliseconds => MS "round-trip time that its senders measured",
        /// Draft-ietf-ippm-responsiveness-08, "Aggregating the Measurements".
        pub rpm: Option<f64> => PER_MINUTE "round trips in a minute: 60 s over the mean of the shortest 95 % of these times",
        pub queue_ms: QueueMs => MS "sojourn time of its data packets at the main link of their direction",
        /// From host to host, where they were wanted.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub delay_ms: Option<DelayMs> => MS "one-way delay of its data packets",
        #[serde(skip_serializing_if = "Option::is_none")]
        pub pdv_ms: Option<QueueMs> => MS "one-way delay beyond the shortest of the flow (RFC 5481)",
        /// Where delays were wanted.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub startup_ms: Option<Fct> => MS "from the first packet of a connection, or a request, to the first byte",
        /// Where its transfers end.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub fct_ms: Option<Fct> => MS "completion time of a transfer",
        /// The same by size, under the smallest size of each power of ten, where there are any.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub fct_by_size_ms: BTreeMap<String, Fct>,
        /// Where it has pages.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub page_ms: Option<Fct> => MS "time of a page, from the first request to the last byte",
        /// Of those that ended in the measured part, where transfers may wait.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub transfers_waited: Option<u64> => COUNT "transfers that waited for a connection of their flow",
        #[serde(skip_serializing_if = "Option::is_none")]
        pub padding: Option<PaddingRecord> => ITS_OWN "what it sent, where it is padding",
        #[serde(skip_serializing_if = "Option::is_none")]
        pub voip: Option<VoipRecord> => ITS_OWN "quality of its calls, where it has some",
        #[serde(skip_serializing_if = "Option::is_none")]
        pub train: Option<TrainRecord> => ITS_OWN "how its trains arrived, where it sends some",
        #[serde(skip_serializing_if = "Option::is_none")]
        pub video: Option<VideoRecord> => ITS_OWN "quality of its streams of video, where it has some",
    }

    /// What was measured of padding.
    #[derive(Copy)]
    pub struct PaddingRecord {
        pub packets_per_second: f64 => PACKETS_PER_SECOND "padding sent, all flows together, without probes",
        /// Since the flows started.
        pub rests: u64 => COUNT "how often adaptive padding was given up",
    }

    /// What was measured of calls.
    #[derive(Copy)]
    pub struct VoipRecord {
        pub delay_ms: DelayMs => MS "one-way delay of a call's packets",
        /// Section 6.4.1, mean over all arrivals.
        pub jitter_ms: Option<f64> => MS "interarrival jitter of calls (RFC 3550)",
        pub loss: Option<f64> => SHARE "call packets dropped over those that were dropped or arrived",
        pub late: Option<f64> => SHARE "call packets that came too late to be played over the same",
        /// Codec, network and playout buffer.
        pub mouth_to_ear_ms: Option<f64> => MS "mean delay from mouth to ear",
        /// Mean over the calls.
        pub r_factor: Option<f64> => R_FACTOR "R of the E-model (ITU-T G.107)",
        /// Mean over the calls.
        pub mos: Option<f64> => OPINION "mean opinion score",
    }

    /// What was measured of trains of packets.
    #[derive(Copy)]
    pub struct TrainRecord {
        /// From when the first packet of a train was due to the arrival of the last one.
        pub ms: Fct => MS "time that a whole train of packets takes",
        pub broken: Option<f64> => SHARE "trains of which a packet did not arrive",
    }

    /// What was measured of streams of video.
    #[derive(Copy)]
    pub struct VideoRecord {
        pub rate_mbps: Option<f64> => MBPS "mean rate of the segments of video that arrived",
        pub switches: u64 => COUNT "changes of rate of video",
        pub stalls: u64 => COUNT "times at which a player's buffer ran out",
        /// All streams together.
        pub stall_s: f64 => SECONDS "time without play after the start",
        /// Mean of the streams that began to play.
        pub startup_ms: Option<f64> => MS "time from the start of the flow to play",
    }
}

/// What was measured in a phase, in all its windows together.
#[derive(Clone, Serialize, Debug)]
#[non_exhaustive]
pub struct PhaseRecord {
    /// How long all its windows last, in s.
    pub time_s: f64,
    /// The bottleneck.
    pub bottleneck: PhaseLinkRecord,
    /// The return link, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverse: Option<PhaseLinkRecord>,
    /// Further links by name in the order of the file, where there are any.
    #[serde(skip_serializing_if = "ByName::is_empty")]
    pub hops: ByName<PhaseLinkRecord>,
    /// The stations' own queues by name, where the bottleneck is an access point.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub stations: BTreeMap<String, PhaseLinkRecord>,
    /// Groups by name.
    pub groups: BTreeMap<String, PhaseGroupRecord>,
}

/// What was measured of a flow.
#[derive(Clone, Serialize, Debug)]
#[non_exhaustive]
pub struct FlowRecord {
    /// Its group.
    #[serde(serialize_with = "shared")]
    pub group: Arc<str>,
    /// Its place in the group, from 0.
    pub index: u32,
    /// Delivered payload in Mbit/s.
    pub goodput_mbps: f64,
    /// Delivered payload in bytes.
    pub delivered_bytes: u64,
    /// Data packets dropped.
    pub drops: u64,
    /// Mean round-trip time that its sender measured.
    pub rtt_ms_mean: Option<f64>,
    /// Sojourn times of its data packets in the queue of their direction's main link.
    #[serde(serialize_with = "shared")]
    pub queue_ms: Arc<QueueMs>,
}

impl AccessRecord {
    /// Of `tally`, where packets took `access`.
    pub fn new(tally: Tally, access: &Coarse) -> AccessRecord {
        AccessRecord {
            exchanges: tally.exchanges,
            collisions: tally.collisions,
            aggregate: (tally.exchanges > 0).then(|| tally.frames as f64 / tally.exchanges as f64),
            retries: tally.retries,
            given_up: tally.given_up,
            ms: Known::from(access).into(),
        }
    }
}

/// Writes what rows of many flows have in common as if each had its own.
fn shared<T: Serialize + ?Sized, S: Serializer>(value: &Arc<T>, serializer: S) -> Result<S::Ok, S::Error> {
    T::serialize(value, serializer)
}

/// Jain's fairness index (sum x)^2 / (n sum x^2); `None` where nothing was delivered.
pub fn jain(goodputs: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for goodput in goodputs {
        count += 1.0;
        sum += goodput;
        squares += goodput * goodput;
    }
    (squares > 0.0).then(|| sum * sum / (count * squares))
}
