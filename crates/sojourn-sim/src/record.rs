//! The run record: what every world answers with, in the same names and units.

mod distributions;
#[cfg(test)]
mod tests;

use crate::times::{Coarse, Times};
use serde::{Serialize, Serializer};
use sojourn_core::Span;
use sojourn_media::Tally;
use sojourn_traffic::{e_model, video, voip};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The result of one run. A value that could not be had is `None`, never zero.
#[derive(Clone, Serialize, Debug)]
#[non_exhaustive]
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
    /// Further links by name, where there are any.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hops: BTreeMap<String, LinkRecord>,
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
    /// Jain's fairness index of the goodputs of all flows; `jain` is that of a group's flows.
    pub jain_all: Option<f64>,
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
    /// Further links by name, where there are any.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hops: BTreeMap<String, PhaseLinkRecord>,
    /// The stations' own queues by name, where the bottleneck is an access point.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub stations: BTreeMap<String, PhaseLinkRecord>,
    /// Groups by name.
    pub groups: BTreeMap<String, PhaseGroupRecord>,
}

/// What was measured at a link in a phase.
#[derive(Clone, Serialize, Debug)]
#[non_exhaustive]
pub struct PhaseLinkRecord {
    /// Bits sent over bits that could have been sent, 0 to 1.
    pub utilization: Option<f64>,
    /// Packets waiting, without the one on the wire: time average.
    pub queue_packets: Mean,
    /// Sojourn times of the packets that left the queue.
    pub queue_ms: Milliseconds,
    /// Packets offered to the queue.
    pub arrivals: u64,
    /// Packets that left it for the link.
    pub departures: u64,
    /// Packets that it dropped, or that the link lost.
    pub drops: u64,
    /// Packets that it marked.
    pub marks: u64,
    /// Drops over arrivals, 0 to 1.
    pub drop_rate: Option<f64>,
}

/// What was measured of a group in a phase.
#[derive(Clone, Serialize, Debug)]
#[non_exhaustive]
pub struct PhaseGroupRecord {
    /// Its delivered payload over that of all groups of its direction, 0 to 1.
    pub share: Option<f64>,
    /// Delivered payload in Mbit/s, all flows together.
    pub goodput_mbps: f64,
    /// Its data packets dropped over those sent, 0 to 1.
    pub drop_rate: Option<f64>,
    /// Its data packets marked over those sent, 0 to 1.
    pub mark_rate: Option<f64>,
}

/// What was measured at a link.
#[derive(Clone, Serialize, Debug)]
#[non_exhaustive]
pub struct LinkRecord {
    /// Bits sent over bits that could have been sent, 0 to 1.
    pub utilization: Option<f64>,
    /// Packets waiting, without the one on the wire: time average and maximum.
    pub queue_packets: MeanMax,
    /// Bytes waiting: time average and maximum.
    pub queue_bytes: MeanMax,
    /// Sojourn times of the packets that left the queue.
    pub queue_ms: QueueMs,
    /// Packets offered to the queue.
    pub arrivals: u64,
    /// Packets that left it for the link.
    pub departures: u64,
    /// Packets that it dropped, or that the link lost at random.
    pub drops: u64,
    /// Packets that it marked.
    pub marks: u64,
    /// Drops over arrivals, 0 to 1.
    pub drop_rate: Option<f64>,
    /// The queues inside, by the discipline's names for them, where there are any.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<String, ClassRecord>,
    /// How its packets got over the medium, where it shares one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<AccessRecord>,
}

/// How the packets of a link got over a medium that others use as well.
#[derive(Clone, Copy, Serialize, Debug)]
#[non_exhaustive]
pub struct AccessRecord {
    /// Exchanges that it began, or transport blocks that it sent.
    pub exchanges: u64,
    /// Those that met another one.
    pub collisions: u64,
    /// Packets in an exchange, on average.
    pub aggregate: Option<f64>,
    /// Packets that had to be sent again, each time counted.
    pub retries: u64,
    /// Packets given up after the last try; they count as drops too.
    pub given_up: u64,
    /// From the queue to the other side: the driver's buffer, access and air time, and waiting for earlier packets.
    pub ms: QueueMs,
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
            ms: QueueMs::of(access),
        }
    }
}

/// What was measured of a station.
#[derive(Clone, Serialize, Debug)]
#[non_exhaustive]
pub struct StationRecord {
    /// Its own queue, towards the access point.
    #[serde(flatten)]
    pub uplink: LinkRecord,
    /// Delivered payload of the flows to it in Mbit/s.
    pub goodput_down_mbps: f64,
    /// Delivered payload of the flows from it in Mbit/s.
    pub goodput_up_mbps: f64,
    /// The part of the time that the air was used for sending to it, 0 to 1; answers and collisions included. In a cell, the
    /// part of the downlink's resource blocks.
    pub air_down: f64,
    /// The part of the time that it used the air for sending, 0 to 1; answers and collisions included. In a cell, the part of
    /// the uplink's resource blocks.
    pub air_up: f64,
}

/// What was measured of a queue inside a discipline.
#[derive(Clone, Serialize, Debug)]
#[non_exhaustive]
pub struct ClassRecord {
    /// Sojourn times of its packets that left the queue.
    pub queue_ms: QueueMs,
    /// Its packets that left the queue for the link.
    pub departures: u64,
    /// Its packets dropped by the queue, or lost on the link.
    pub drops: u64,
    /// Its packets marked.
    pub marks: u64,
}

/// A time average.
#[derive(Clone, Copy, Serialize, Debug)]
#[non_exhaustive]
pub struct Mean {
    /// Time average.
    pub mean: f64,
}

/// A time average and a maximum.
#[derive(Clone, Copy, Serialize, Debug)]
#[non_exhaustive]
pub struct MeanMax {
    /// Time average.
    pub mean: f64,
    /// Maximum.
    pub max: u64,
}

/// A distribution of times in ms.
#[derive(Clone, Copy, Default, Serialize, Debug)]
#[non_exhaustive]
pub struct QueueMs {
    /// Mean.
    pub mean: Option<f64>,
    /// 10th percentile.
    pub p10: Option<f64>,
    /// Lower quartile.
    pub p25: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// Upper quartile.
    pub p75: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
    /// Maximum.
    pub max: Option<f64>,
}

/// A distribution of round-trip times in ms.
#[derive(Clone, Copy, Default, Serialize, Debug)]
#[non_exhaustive]
pub struct Milliseconds {
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
}

/// Completion times of finite transfers, or of pages, in ms.
#[derive(Clone, Copy, Serialize, Debug)]
#[non_exhaustive]
pub struct Fct {
    /// Transfers, or pages, that ended in the measured part.
    pub count: u64,
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
}

/// What was measured of a group.
#[derive(Clone, Serialize, Debug)]
#[non_exhaustive]
pub struct GroupRecord {
    /// Its delivered payload over that of all groups of its direction, 0 to 1.
    pub share: Option<f64>,
    /// Delivered payload in Mbit/s, all flows together.
    pub goodput_mbps: f64,
    /// Its data packets dropped over those sent, 0 to 1.
    pub drop_rate: Option<f64>,
    /// Its data packets marked over those sent, 0 to 1.
    pub mark_rate: Option<f64>,
    /// Acknowledgements of its data dropped over those sent, 0 to 1; `None` for traffic that has none.
    pub ack_drop_rate: Option<f64>,
    /// Its SYNs and SYN-ACKs dropped; `None` for traffic that has none.
    pub syn_drops: Option<u64>,
    /// Data segments sent again; `None` for traffic that never does.
    pub retransmissions: Option<u64>,
    /// Retransmission timeouts; `None` for traffic that has none.
    pub timeouts: Option<u64>,
    /// Jain's fairness index of its flows' goodputs.
    pub jain: Option<f64>,
    /// Round-trip times that its senders measured.
    pub rtt_ms: Milliseconds,
    /// Round trips per minute: a minute over the mean of these times, less the longest 5 %
    /// (draft-ietf-ippm-responsiveness-08, "Aggregating the Measurements").
    pub rpm: Option<f64>,
    /// Sojourn times of its data packets in the queue of their direction's main link.
    pub queue_ms: QueueMs,
    /// One-way delays of its data packets from host to host, where they were wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<DelayMs>,
    /// How much longer than the shortest of their flow these are (RFC 5481's packet delay variation).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pdv_ms: Option<QueueMs>,
    /// From the first packet of a connection, or the request for an object, to the first byte of data, where delays were
    /// wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_ms: Option<Fct>,
    /// Completion times, where its transfers end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fct_ms: Option<Fct>,
    /// The same by size, under the smallest size of each power of ten, where there are any.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fct_by_size_ms: BTreeMap<String, Fct>,
    /// Times of its pages from the first request to the last byte, where it has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_ms: Option<Fct>,
    /// Transfers that ended in the measured part and had waited for a connection, where transfers may wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfers_waited: Option<u64>,
    /// What it sent, where it is padding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub padding: Option<PaddingRecord>,
    /// Quality of its calls, where it has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voip: Option<VoipRecord>,
    /// How its trains arrived, where it sends some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub train: Option<TrainRecord>,
    /// Quality of its streams of video, where it has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub video: Option<VideoRecord>,
}

/// What was measured of padding.
#[derive(Clone, Copy, Serialize, Debug)]
#[non_exhaustive]
pub struct PaddingRecord {
    /// Packets sent per second, all flows together, without probes.
    pub packets_per_second: f64,
    /// How often it was given up since the flows started.
    pub rests: u64,
}

/// What was measured of calls.
#[derive(Clone, Copy, Serialize, Debug)]
#[non_exhaustive]
pub struct VoipRecord {
    /// One-way delays of their packets from host to host.
    pub delay_ms: DelayMs,
    /// Interarrival jitter (RFC 3550 section 6.4.1), mean over all arrivals.
    pub jitter_ms: Option<f64>,
    /// Packets dropped over those that were dropped or arrived, 0 to 1.
    pub loss: Option<f64>,
    /// Packets that came too late to be played over the same, 0 to 1.
    pub late: Option<f64>,
    /// Mean delay from mouth to ear: codec, network and playout buffer.
    pub mouth_to_ear_ms: Option<f64>,
    /// R of the E-model, 0 to 100, mean over the calls.
    pub r_factor: Option<f64>,
    /// Mean opinion score, 1 to 4.5, mean over the calls.
    pub mos: Option<f64>,
}

/// What was measured of trains of packets.
#[derive(Clone, Copy, Serialize, Debug)]
#[non_exhaustive]
pub struct TrainRecord {
    /// From when the first packet of a train was due to the arrival of the last one, of whole trains.
    pub ms: Fct,
    /// Trains of which a packet did not arrive over all, 0 to 1.
    pub broken: Option<f64>,
}

/// A distribution of one-way delays in ms.
#[derive(Clone, Copy, Default, Serialize, Debug)]
#[non_exhaustive]
pub struct DelayMs {
    /// Minimum.
    pub min: Option<f64>,
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
    /// Maximum.
    pub max: Option<f64>,
}

/// What was measured of streams of video.
#[derive(Clone, Copy, Serialize, Debug)]
#[non_exhaustive]
pub struct VideoRecord {
    /// Mean rate of the segments that arrived.
    pub rate_mbps: Option<f64>,
    /// Changes of rate.
    pub switches: u64,
    /// Times at which a buffer ran out.
    pub stalls: u64,
    /// Time without play after the start, all streams together, in s.
    pub stall_s: f64,
    /// Mean time from start to play of the streams that began to play.
    pub startup_ms: Option<f64>,
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
