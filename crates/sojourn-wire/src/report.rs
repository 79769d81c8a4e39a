//! What was seen. Lists per bin have one entry for each bin of the run.

use crate::log::PacketLog;
use serde::Serialize;

/// All that the endpoints of a plan saw.
#[derive(Default, Serialize, Debug)]
pub struct Report {
    /// One entry for each flow of the plan, in its order.
    pub flows: Vec<FlowReport>,
    /// One for each probe.
    pub pings: Vec<PingReport>,
    /// One for each capture.
    pub captures: Vec<CaptureReport>,
}

/// One end of a flow. What an end cannot know is absent.
#[derive(Default, Serialize, Debug)]
pub struct FlowReport {
    /// The plan's number.
    pub id: u32,
    /// Receiver: payload bytes that arrived in each bin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered_bytes: Option<Vec<u64>>,
    /// Sender: for each transfer that ended, how long it took in s, from its arrival until its last byte was received,
    /// and its payload bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<Vec<(f64, u64)>>,
    /// Sender: payload bytes that were acknowledged; of datagrams, those that were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_bytes: Option<u64>,
    /// Sender of datagrams: those that were not sent because it was held up, or had no room in its session's budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped_packets: Option<u64>,
    /// Sender: segments sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmissions: Option<u64>,
    /// Sender: retransmission timeouts. A kernel before 6.7 does not count them: then those are counted that could
    /// still be seen at the end of a bin, so that there may have been more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<u64>,
    /// Sender: smoothed round-trip time at the end of each bin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_ms: Option<Vec<Option<f64>>>,
    /// Sender: congestion window at the end of each bin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwnd_packets: Option<Vec<Option<f64>>>,
    /// The packets of this end, where the plan asks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<Box<PacketLog>>,
    /// What ended the flow before its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A probe.
#[derive(Serialize, Debug)]
pub struct PingReport {
    /// The plan's name.
    pub id: String,
    /// When each request was sent, from the start of the run.
    pub sent_s: Vec<f64>,
    /// Its round-trip time; none where no answer came, though one to a later request did.
    pub rtt_ms: Vec<Option<f64>>,
    /// Requests after the last one that was answered, which are not in the lists: their answers may have been on the way.
    pub undecided: u64,
}

/// A capture.
#[derive(Serialize, Debug)]
pub struct CaptureReport {
    /// The plan's file.
    pub file: String,
    /// Packets in it.
    pub packets: u64,
    /// Packets that the kernel had no room for.
    pub lost: u64,
}
