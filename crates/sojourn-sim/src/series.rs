//! Time series: what happened in each bin of the run.

use crate::flow::{Counts, Endpoints, Flow, by_flow};
use crate::gateway::Gateway;
use crate::link::Link;
use crate::meter::Totals;
use sojourn_congestion::Control;
use sojourn_core::{Span, Time};

/// The series of all links and flows of a run, as columns.
#[derive(Default, Debug)]
#[non_exhaustive]
pub struct Series {
    /// One row per bin and link.
    pub queues: QueueSeries,
    /// One row per bin and flow.
    pub flows: FlowSeries,
    /// One row per bin, link and probe of its discipline; empty unless wanted.
    pub queue_probes: QueueProbes,
    /// One row per bin, flow and probe of its control; empty unless wanted.
    pub flow_probes: FlowProbes,
}

/// What algorithms show of themselves, at the end of each bin.
#[derive(Default, Debug)]
#[non_exhaustive]
pub struct Probes {
    /// Start of the bin in s.
    pub time_s: Vec<f64>,
    /// Index of the name in `names`.
    pub name: Vec<u32>,
    /// The value; NaN where there is none yet.
    pub value: Vec<f64>,
    /// All names, with their units.
    pub names: Vec<String>,
}

/// Probes of disciplines.
#[derive(Default, Debug)]
#[non_exhaustive]
pub struct QueueProbes {
    /// Index of the link.
    pub link: Vec<u32>,
    /// What they show.
    pub probes: Probes,
}

/// Probes of controls.
#[derive(Default, Debug)]
#[non_exhaustive]
pub struct FlowProbes {
    /// Index of the group.
    pub group: Vec<u32>,
    /// Place in the group.
    pub index: Vec<u32>,
    /// What they show.
    pub probes: Probes,
}

/// One row per bin and link.
#[derive(Default, Debug)]
#[non_exhaustive]
pub struct QueueSeries {
    /// Index of the link.
    pub link: Vec<u32>,
    /// Start of the bin in s.
    pub time_s: Vec<f64>,
    /// Packets waiting, time average.
    pub queue_packets: Vec<f64>,
    /// Bytes waiting, time average.
    pub queue_bytes: Vec<f64>,
    /// Mean sojourn time in ms of packets that left the queue in the bin; NaN where none did.
    pub queue_ms: Vec<f64>,
    /// Packets that arrived.
    pub arrivals: Vec<u64>,
    /// Packets that left the queue.
    pub departures: Vec<u64>,
    /// Packets dropped.
    pub drops: Vec<u64>,
    /// Packets marked.
    pub marks: Vec<u64>,
    /// Bytes sent on the link, its framing included.
    pub sent_bytes: Vec<u64>,
}

/// One row per bin and flow.
#[derive(Default, Debug)]
#[non_exhaustive]
pub struct FlowSeries {
    /// Start of the bin in s.
    pub time_s: Vec<f64>,
    /// Index of the group.
    pub group: Vec<u32>,
    /// Place in the group.
    pub index: Vec<u32>,
    /// Payload bytes received for the first time.
    pub delivered_bytes: Vec<u64>,
    /// Congestion window at the end of the bin, in segments; NaN for flows without one, or with several.
    pub cwnd_packets: Vec<f64>,
    /// Mean round-trip time in ms; NaN where none was measured.
    pub rtt_ms: Vec<f64>,
    /// Mean one-way delay in ms of data that arrived; NaN where none did.
    pub one_way_delay_ms: Vec<f64>,
}

/// Fills the series bin by bin.
#[derive(Debug)]
pub struct Recorder {
    series: Series,
    bin_start: Time,
    bin: Span,
    probes: bool,
    links: Vec<Totals>,
    flows: Vec<Counts>,
}

impl Recorder {
    /// A recorder with bins of length `bin`, which asks for `probes` or not.
    pub fn new(bin: Span, probes: bool, links: usize, flows: usize) -> Recorder {
        Recorder {
            series: Series::default(),
            bin_start: Time::ZERO,
            bin,
            probes,
            links: vec![Totals::default(); links],
            flows: vec![Counts::default(); flows],
        }
    }

    /// When the present bin ends.
    pub fn bin_end(&self) -> Time {
        self.bin_start + self.bin
    }

    /// Ends the present bin at `now`; the instruments of all links have been read.
    pub fn end_bin(&mut self, links: &[Link], flows: &[Flow], gateway: Option<&Gateway>, now: Time) {
        let length = now.since(self.bin_start);
        if length.is_zero() {
            return;
        }
        for (index, link) in links.iter().enumerate() {
            let change = link.meter.totals - self.links[index];
            self.links[index] = link.meter.totals;
            self.series.queues.add(index, self.bin_start, length, &change);
        }
        for connections in by_flow(flows) {
            let first = connections[0].lead as usize;
            let before = &mut self.flows[first..first + connections.len()];
            self.series.flows.add(connections, before, self.bin_start);
        }
        if self.probes {
            self.probe(links, flows, gateway);
        }
        self.bin_start = now;
    }

    fn probe(&mut self, links: &[Link], flows: &[Flow], gateway: Option<&Gateway>) {
        let start = self.bin_start;
        for (index, link) in links.iter().enumerate() {
            let QueueProbes { link: column, probes } = &mut self.series.queue_probes;
            let mut add = |name: &str, value| {
                column.push(index as u32);
                probes.add(start, name, value);
            };
            link.probe(&mut add);
            if let Some(gateway) = gateway {
                gateway.probe(index, &mut add);
            }
        }
        // The controls of flows with several connections come and go with them.
        for flow in by_flow(flows).filter_map(|connections| match connections {
            [flow] => Some(flow),
            _ => None,
        }) {
            let FlowProbes { group, index, probes } = &mut self.series.flow_probes;
            let mut add = |name: &'static str, value| {
                group.push(flow.group);
                index.push(flow.index);
                probes.add(start, name, value);
            };
            let sender = match &flow.endpoints {
                Endpoints::Transport(sender, _) => sender,
                Endpoints::Padding(padding) => {
                    padding.rate().into_iter().for_each(|rate| add("padding_packets_per_second", rate));
                    continue;
                }
                Endpoints::Datagrams(_) | Endpoints::Outside(_) => continue,
            };
            // Every control has these; its window is in the series of flows.
            let threshold = sender.control().slow_start_threshold();
            add("ssthresh_segments", if threshold.is_finite() { threshold } else { f64::NAN });
            if let Some(rate) = sender.control().pacing_rate() {
                add("pacing_mbps", rate.bits_per_second() as f64 / 1e6);
            }
            sender.control().probe(&mut add);
        }
    }

    /// The bins that have ended since the last call.
    pub fn take(&mut self) -> Series {
        std::mem::take(&mut self.series)
    }
}

/// The mean in ms of `count` times with sum `nanos`; NaN where there are none.
fn mean_ms(nanos: u128, count: u64) -> f64 {
    if count == 0 { f64::NAN } else { nanos as f64 / count as f64 / 1e6 }
}

impl Probes {
    fn add(&mut self, start: Time, name: &str, value: f64) {
        // There are a handful of names.
        let code = self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        self.time_s.push(start.as_secs_f64());
        self.name.push(code as u32);
        self.value.push(value);
    }
}

impl QueueSeries {
    fn add(&mut self, link: usize, start: Time, length: Span, change: &Totals) {
        let nanos = length.as_nanos() as f64;
        self.link.push(link as u32);
        self.time_s.push(start.as_secs_f64());
        self.queue_packets.push(change.packet_nanos as f64 / nanos);
        self.queue_bytes.push(change.byte_nanos as f64 / nanos);
        self.queue_ms.push(mean_ms(change.sojourn_nanos, change.departures));
        self.arrivals.push(change.arrivals);
        self.departures.push(change.departures);
        self.drops.push(change.drops);
        self.marks.push(change.marks);
        self.sent_bytes.push(change.sent_bytes);
    }
}

impl FlowSeries {
    /// What the connections of a flow did since `before`, which is brought up to now.
    fn add(&mut self, connections: &[Flow], before: &mut [Counts], start: Time) {
        let flow = &connections[0];
        let mut change = Change::default();
        for (connection, before) in connections.iter().zip(before) {
            change.add(&connection.counts, before);
            *before = connection.counts;
        }
        self.time_s.push(start.as_secs_f64());
        self.group.push(flow.group);
        self.index.push(flow.index);
        self.delivered_bytes.push(change.delivered_bytes);
        self.cwnd_packets.push(match (&flow.endpoints, connections) {
            (Endpoints::Transport(sender, _), [_]) => sender.window(),
            _ => f64::NAN,
        });
        self.rtt_ms.push(mean_ms(change.rtt_nanos, change.rtt_samples));
        self.one_way_delay_ms.push(mean_ms(change.delay_nanos, change.delay_samples));
    }
}

/// What a flow did in a bin.
#[derive(Default)]
struct Change {
    delivered_bytes: u64,
    rtt_nanos: u128,
    rtt_samples: u64,
    delay_nanos: u128,
    delay_samples: u64,
}

impl Change {
    /// Adds what a connection did since `before`.
    fn add(&mut self, now: &Counts, before: &Counts) {
        self.delivered_bytes += now.delivered_bytes - before.delivered_bytes;
        self.rtt_nanos += now.rtt_nanos - before.rtt_nanos;
        self.rtt_samples += now.rtt_samples - before.rtt_samples;
        self.delay_nanos += now.delay_nanos - before.delay_nanos;
        self.delay_samples += now.delay_samples - before.delay_samples;
    }
}
