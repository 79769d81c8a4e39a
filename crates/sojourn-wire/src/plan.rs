//! The plan: what the endpoints of one process do.

use crate::clock::Timeline;
use crate::error::WireError;
use serde::Deserialize;
use sojourn_core::{Rate, Span, Time};
use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// Most bins of a run.
const MAX_BINS: f64 = 10_000_000.0;
/// Most packets that the log of a flow may hold.
const MAX_LOGGED: f64 = 1_000_000.0;

/// What the endpoints of one process do.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Start of the run on CLOCK_MONOTONIC.
    pub start_at_s: f64,
    /// Its length.
    pub duration_s: f64,
    /// Length of the bins in which bytes are counted and senders are read.
    #[serde(default = "tenth")]
    pub bin_s: f64,
    /// Whether both ends of each flow read the same clock, as on one machine.
    #[serde(default = "yes")]
    pub common_clock: bool,
    /// An empty file that is made when all sockets are open.
    #[serde(default)]
    pub ready: Option<PathBuf>,
    /// What all endpoints of the session may send together; no bound where absent.
    #[serde(default)]
    pub budget: Option<BudgetPlan>,
    /// Ends of flows.
    #[serde(default)]
    pub flows: Vec<FlowPlan>,
    /// Captures.
    #[serde(default)]
    pub captures: Vec<CapturePlan>,
    /// Echo probes.
    #[serde(default)]
    pub pings: Vec<PingPlan>,
}

/// What several processes may send together.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct BudgetPlan {
    /// Bits of IP packets a second.
    pub rate_bps: u64,
    /// Bytes above it that may leave at once.
    pub burst_bytes: u64,
    /// A file of eight bytes, zeros at first, that the processes share.
    pub file: PathBuf,
}

/// One end of a flow.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct FlowPlan {
    /// Its number, the same at both ends.
    pub id: u32,
    /// Which end.
    pub role: Role,
    /// What carries it.
    pub kind: Kind,
    /// Address of this end.
    pub local: Ipv4Addr,
    /// Address of the other end.
    pub peer: Ipv4Addr,
    /// The receiver's port.
    pub port: u16,
    /// tcp: the kernel's name of the congestion control. udp: a scenario's
    /// `control`, where it sends.
    #[serde(default)]
    pub control: serde_json::Value,
    /// udp: a scenario's `transport`.
    #[serde(default)]
    pub transport: serde_json::Value,
    /// When the application starts, from the start of the run.
    #[serde(default)]
    pub start_s: f64,
    /// When it stops; at the end of the run where absent.
    #[serde(default)]
    pub stop_s: Option<f64>,
    /// A scenario's `traffic`; bulk without end where absent.
    #[serde(default)]
    pub traffic: serde_json::Value,
    /// Differentiated services code point.
    #[serde(default)]
    pub dscp: u8,
    /// Whether it asks for congestion marks.
    #[serde(default)]
    pub ecn: bool,
    /// Seed of its random numbers.
    #[serde(default = "one")]
    pub seed: u64,
    /// What a receiver must be shown before it answers or counts, the same at both ends; 0 for udp where absent, and
    /// nothing for the others.
    #[serde(default)]
    pub token: Option<u64>,
    /// udp and tcp: a rate that it must not exceed, whatever its control says: bit/s of IP packets.
    #[serde(default)]
    pub max_rate_bps: Option<u64>,
    /// udp and cbr: of how many packets its report has times, sizes and marks, one by one.
    #[serde(default)]
    pub logged_packets: u32,
}

/// An end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Sends data.
    Send,
    /// Receives it.
    Receive,
}

/// What carries a flow.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The kernel's TCP.
    Tcp,
    /// The project's own transport over UDP.
    Udp,
    /// Datagrams that nobody acknowledges.
    Cbr,
}

/// A capture.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct CapturePlan {
    /// Name of the interface.
    pub interface: String,
    /// File to write.
    pub file: PathBuf,
    /// Which packets: those that leave by the interface, those that come in, or both.
    #[serde(default)]
    pub direction: CaptureDirection,
}

/// Which packets a capture holds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize, Debug)]
#[serde(rename_all = "lowercase")]
pub enum CaptureDirection {
    /// Those that come in.
    In,
    /// Those that leave.
    Out,
    /// Both.
    #[default]
    Both,
}

/// Echo requests at regular intervals over the whole run.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct PingPlan {
    /// Its name.
    pub id: String,
    /// Who answers.
    pub peer: Ipv4Addr,
    /// Time between two requests.
    pub interval_s: f64,
    /// First one, from the start of the run; may be negative, for a base before the flows start.
    #[serde(default)]
    pub start_s: f64,
    /// Bytes of data in each (ping's own default).
    #[serde(default = "ping_bytes")]
    pub payload_bytes: u16,
    /// Differentiated services code point.
    #[serde(default)]
    pub dscp: u8,
}

fn tenth() -> f64 {
    0.1
}

fn yes() -> bool {
    true
}

fn one() -> u64 {
    1
}

fn ping_bytes() -> u16 {
    56
}

impl Plan {
    /// Reads and checks a plan.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(json: &str) -> Result<Plan, WireError> {
        let plan: Plan = serde_json::from_str(json).map_err(|error| WireError::input(format!("the plan: {error}")))?;
        plan.check()?;
        Ok(plan)
    }

    /// Its place on the clock.
    pub fn timeline(&self) -> Timeline {
        let start = Time::ZERO + Span::from_secs_f64(self.start_at_s);
        Timeline { start, end: start + Span::from_secs_f64(self.duration_s), bin: Span::from_secs_f64(self.bin_s) }
    }

    fn check(&self) -> Result<(), WireError> {
        within("start_at_s", self.start_at_s, 0.0, 1e9)?;
        within("duration_s", self.duration_s, 1e-3, 1e6)?;
        within("bin_s", self.bin_s, 1e-6, 1e6)?;
        within("duration_s / bin_s", self.duration_s / self.bin_s, 0.0, MAX_BINS)?;
        let mut ports = HashSet::new();
        for flow in &self.flows {
            flow.check(self.duration_s)?;
            if flow.role == Role::Receive && !ports.insert((flow.kind == Kind::Tcp, flow.local, flow.port)) {
                let FlowPlan { id, local, port, .. } = flow;
                return Err(WireError::input(format!("flow {id}: another flow receives at port {port} of {local}")));
            }
        }
        for ping in &self.pings {
            let key = |name| format!("ping {:?}: {name}", ping.id);
            within(&key("interval_s"), ping.interval_s, 1e-4, 1e6)?;
            within(&key("start_s"), ping.start_s, -self.start_at_s, self.duration_s)?;
            within(&key("payload_bytes"), f64::from(ping.payload_bytes), 8.0, 60_000.0)?;
            within(&key("dscp"), f64::from(ping.dscp), 0.0, 63.0)?;
        }
        Ok(())
    }
}

impl FlowPlan {
    fn check(&self, duration_s: f64) -> Result<(), WireError> {
        let key = |name: &str| format!("flow {}: {name}", self.id);
        within(&key("start_s"), self.start_s, 0.0, duration_s)?;
        within(&key("dscp"), f64::from(self.dscp), 0.0, 63.0)?;
        if self.logged_packets > 0 && self.kind == Kind::Tcp {
            let found = self.logged_packets;
            return Err(WireError::input(format!(
                "flow {}: logged_packets is {found}; allowed is 0 with tcp: a socket does not see the kernel's packets",
                self.id
            )));
        }
        within(&key("logged_packets"), f64::from(self.logged_packets), 0.0, MAX_LOGGED)?;
        within(&key("port"), f64::from(self.port), 1.0, 65_535.0)?;
        if let Some(stop_s) = self.stop_s {
            within(&key("stop_s"), stop_s, self.start_s, 1e9)?;
        }
        Ok(())
    }

    /// The rate that it must not exceed.
    pub(crate) fn max_rate(&self) -> Result<Option<Rate>, WireError> {
        let Some(bits) = self.max_rate_bps else { return Ok(None) };
        let refused = || WireError::input(format!("flow {}: max_rate_bps is {bits}; allowed is 1 and more", self.id));
        Rate::from_bits_per_second(bits).map(Some).ok_or_else(refused)
    }

    /// When the application starts and stops.
    pub(crate) fn life(&self, line: &Timeline) -> (Time, Time) {
        let at = |seconds| line.start + Span::from_secs_f64(seconds);
        (at(self.start_s), self.stop_s.map_or(line.end, |stop_s| at(stop_s).min(line.end)))
    }
}

fn within(what: &str, found: f64, low: f64, high: f64) -> Result<(), WireError> {
    if (low..=high).contains(&found) {
        return Ok(());
    }
    Err(WireError::input(format!("{what} is {found}; allowed is {low} to {high}")))
}
