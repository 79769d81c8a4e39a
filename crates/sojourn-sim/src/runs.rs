//! One run, and many runs on many threads.

use crate::build::{BOTTLENECK, build, named_links};
use crate::flow::{Endpoints, Flow, by_flow};
use crate::link::Link;
use crate::opportunities::Opportunities;
use crate::packets::PacketLog;
use crate::record::{
    Fct, FlowRecord, GroupRecord, LinkRecord, Milliseconds, PaddingRecord, QueueMs, Record, VideoRecord, VoipRecord,
    jain,
};
use crate::series::{Recorder, Series};
use crate::times::{Coarse, Times};
use crate::world::{TransferRow, World};
use sojourn_core::{Span, Time};
use sojourn_scenario::{Capacity, Direction, Scenario, Traffic};
use sojourn_traffic::voip;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// What to keep of a run beside its record.
#[derive(Clone, Copy, Default, Debug)]
pub struct Wanted {
    /// Time series with bins of this length.
    pub bin: Option<Span>,
    /// A row per packet at the bottleneck.
    pub packets: bool,
    /// In the time series, what disciplines and controls show of themselves.
    pub probes: bool,
    /// A row for each transfer that ended.
    pub transfers: bool,
}

/// What a run leaves.
#[derive(Debug)]
pub struct Outcome {
    /// Its record.
    pub record: Record,
    /// Its time series, where they were wanted.
    pub series: Option<Series>,
    /// Its packets, where they were wanted.
    pub packets: Option<PacketLog>,
    /// Its transfers in the order in which they ended, where they were wanted.
    pub transfers: Option<Vec<TransferRow>>,
}

/// Lets another thread see how far runs are, and stop them.
#[derive(Default, Debug)]
pub struct Monitor {
    simulated_nanos: AtomicU64,
    stop: AtomicBool,
}

/// The runs were stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interrupted;

/// Events between two looks at the monitor: a few milliseconds of work.
const EVENTS_PER_LOOK: u64 = 50_000;

impl Monitor {
    /// Asks all runs to stop soon.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Simulated time of all runs together.
    pub fn simulated(&self) -> Span {
        Span::from_nanos(self.simulated_nanos.load(Ordering::Relaxed))
    }
}

/// Runs `scenario` once with seed `seed`.
///
/// # Errors
/// [`Interrupted`] where the monitor was told to stop.
pub fn simulate(scenario: &Scenario, seed: u64, wanted: &Wanted, monitor: &Monitor) -> Result<Outcome, Interrupted> {
    let started = Instant::now();
    if monitor.is_stopped() {
        return Err(Interrupted);
    }
    let mut world = build(scenario, seed, wanted);
    world.start();
    let (warmup, end) = (Time::ZERO + scenario.warmup, Time::ZERO + scenario.duration);
    advance(&mut world, warmup, monitor)?;
    world.begin_measuring();
    advance(&mut world, end, monitor)?;
    world.read_instruments();
    world.assert_conservation();
    let series = world.recorder.take().map(|mut recorder| {
        recorder.end_bin(&world.links, &world.flows, world.now);
        recorder.finish()
    });
    let record = record(scenario, seed, &world, started);
    Ok(Outcome { record, series, packets: world.links[BOTTLENECK].log.take(), transfers: world.transfers.take() })
}

/// Processes events up to `until`, ending bins on the way.
fn advance(world: &mut World, until: Time, monitor: &Monitor) -> Result<(), Interrupted> {
    while world.now < until {
        let bin_end = world.recorder.as_ref().map_or(Time::NEVER, Recorder::bin_end);
        let before = world.now;
        let reached = world.run(until.min(bin_end), EVENTS_PER_LOOK);
        monitor.simulated_nanos.fetch_add(world.now.since(before).as_nanos(), Ordering::Relaxed);
        if monitor.is_stopped() {
            return Err(Interrupted);
        }
        if cfg!(debug_assertions) {
            world.assert_conservation();
        }
        if reached && world.now == bin_end {
            world.read_instruments();
            if let Some(recorder) = &mut world.recorder {
                recorder.end_bin(&world.links, &world.flows, world.now);
            }
        }
    }
    Ok(())
}

/// Runs `scenario` with each of `seeds` on up to `jobs` threads; outcomes in the order of the seeds.
///
/// # Errors
/// [`Interrupted`] where the monitor was told to stop.
pub fn run_all(
    scenario: &Scenario,
    seeds: &[u64],
    jobs: usize,
    wanted: &Wanted,
    monitor: &Monitor,
) -> Result<Vec<Outcome>, Interrupted> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<Outcome, Interrupted>>>> = seeds.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some((seed, result)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            seeds.get(index).zip(results.get(index))
        } {
            let outcome = simulate(scenario, *seed, wanted, monitor);
            *result.lock().expect("no run panics while it stores its result") = Some(outcome);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.min(seeds.len()) {
            scope.spawn(work);
        }
        work();
    });
    results.into_iter().map(|result| result.into_inner().ok().flatten().expect("every run was done")).collect()
}

fn record(scenario: &Scenario, seed: u64, world: &World, started: Instant) -> Record {
    let measured = scenario.duration - scenario.warmup;
    let mut links = named_links(scenario)
        .into_iter()
        .zip(&world.links)
        .map(|((name, _, spec), link)| (name.to_owned(), link_record(&spec.capacity, link, scenario, world.now)));
    let (_, bottleneck) = links.next().expect("there is a bottleneck");
    let reverse = scenario.reverse.as_ref().and_then(|_| links.next()).map(|(_, record)| record);
    let hops = links.collect();
    let flows: Vec<FlowRecord> =
        by_flow(&world.flows).map(|connections| flow_record(scenario, connections, measured)).collect();
    Record {
        seed,
        duration_s: scenario.duration.as_secs_f64(),
        measured_from_s: scenario.warmup.as_secs_f64(),
        events: world.events,
        bottleneck,
        reverse,
        hops,
        groups: (0..scenario.groups.len())
            .map(|index| (scenario.groups[index].name.clone(), group_record(scenario, world, index)))
            .collect(),
        jain: jain(flows.iter().map(|flow| flow.goodput_mbps)),
        flows,
        wall_s: started.elapsed().as_secs_f64(),
    }
}

fn link_record(capacity: &Capacity, link: &Link, scenario: &Scenario, now: Time) -> LinkRecord {
    link.record(capacity_bytes(capacity, Time::ZERO + scenario.warmup, now), now)
}

/// Bytes that a link of `capacity` can send from `from` to `to`.
pub fn capacity_bytes(capacity: &Capacity, from: Time, to: Time) -> f64 {
    match capacity {
        Capacity::Fixed(rate) => rate.bytes_in(to.since(from)),
        Capacity::Recorded(trace) => Opportunities::capacity_bytes(trace, from, to),
    }
}

fn delivered(flow: &Flow) -> u64 {
    flow.counts.delivered_bytes - flow.base.delivered_bytes
}

fn mbps(bytes: u64, time: Span) -> f64 {
    bytes as f64 * 8.0 / time.as_secs_f64() / 1e6
}

fn flow_record(scenario: &Scenario, connections: &[Flow], measured: Span) -> FlowRecord {
    let sum = |of: &dyn Fn(&Flow) -> u64| connections.iter().map(of).sum::<u64>();
    let samples = sum(&|flow| flow.counts.rtt_samples - flow.base.rtt_samples);
    let nanos: u128 = connections.iter().map(|flow| flow.counts.rtt_nanos - flow.base.rtt_nanos).sum();
    let mut sojourn = Coarse::default();
    connections.iter().for_each(|flow| sojourn.add(&flow.sojourn));
    FlowRecord {
        group: scenario.groups[connections[0].group].name.clone(),
        index: connections[0].index,
        goodput_mbps: mbps(sum(&delivered), measured),
        delivered_bytes: sum(&delivered),
        drops: sum(&|flow| flow.counts.drops - flow.base.drops),
        rtt_ms_mean: (samples > 0).then(|| nanos as f64 / samples as f64 / 1e6),
        queue_ms: QueueMs::of(&sojourn),
    }
}

/// The connections of the group `index`, which stand together.
fn of_group(flows: &[Flow], index: usize) -> &[Flow] {
    let first = flows.partition_point(|flow| flow.group < index);
    &flows[first..flows.partition_point(|flow| flow.group <= index)]
}

fn group_record(scenario: &Scenario, world: &World, index: usize) -> GroupRecord {
    let measured = scenario.duration - scenario.warmup;
    let group = &scenario.groups[index];
    let flows = of_group(&world.flows, index);
    let sum = |of: &dyn Fn(&Flow) -> u64| flows.iter().map(of).sum::<u64>();
    let bytes = sum(&delivered);
    let all_bytes = direction_bytes(world, group.direction);
    let sent = sum(&|flow| flow.counts.sent - flow.base.sent);
    let rate = |count: u64| (sent > 0).then(|| count as f64 / sent as f64);
    let senders = |of: &dyn Fn(&Flow) -> Option<u64>| flows.iter().map(of).sum::<Option<u64>>();
    let meter = &world.groups[index];
    let mut sojourn = Coarse::default();
    flows.iter().for_each(|flow| sojourn.add(&flow.sojourn));
    GroupRecord {
        share: (all_bytes > 0).then(|| bytes as f64 / all_bytes as f64),
        goodput_mbps: mbps(bytes, measured),
        drop_rate: rate(sum(&|flow| flow.counts.drops - flow.base.drops)),
        mark_rate: rate(sum(&|flow| flow.counts.marks - flow.base.marks)),
        retransmissions: senders(&|flow| sender_count(flow).map(|count| count.0)),
        timeouts: senders(&|flow| sender_count(flow).map(|count| count.1)),
        jain: jain(by_flow(flows).map(|connections| connections.iter().map(delivered).sum::<u64>() as f64)),
        rtt_ms: Milliseconds::new(
            &meter.rtt,
            flows.iter().map(|flow| flow.counts.rtt_nanos - flow.base.rtt_nanos).sum(),
        ),
        queue_ms: QueueMs::of(&sojourn),
        fct_ms: ends(&group.traffic).then(|| Fct::new(&meter.fct, meter.fct_nanos)),
        fct_by_size_ms: meter.fct_by_size.iter().map(|(&power, times)| (size_class(power), Fct::of(times))).collect(),
        page_ms: matches!(group.traffic, Traffic::Web(_)).then(|| Fct::new(&meter.page, meter.page_nanos)),
        transfers_waited: matches!(group.traffic, Traffic::Transfers { .. }).then_some(meter.waited),
        padding: padding_record(flows, sent, measured),
        voip: voip_record(flows, &meter.delay),
        video: video_record(flows, world.now),
    }
}

/// The smallest size of those that reach this power of ten.
fn size_class(power: u32) -> String {
    let (unit, rest) = [("B", 0), ("kB", 3), ("MB", 6), ("GB", 9), ("TB", 12), ("PB", 15)]
        .into_iter()
        .rev()
        .find_map(|(unit, exponent)| Some((unit, power.checked_sub(exponent)?)))
        .expect("every power is at least that of a byte");
    format!("{}{unit}", 10u64.pow(rest))
}

fn voip_record(flows: &[Flow], delay: &Times) -> Option<VoipRecord> {
    let calls: Vec<_> = flows.iter().filter_map(|flow| Some((flow, flow.call.as_ref()?))).collect();
    if calls.is_empty() {
        return None;
    }
    let lost = |flow: &Flow| flow.counts.drops - flow.base.drops;
    let mut tally = voip::Tally::default();
    calls.iter().for_each(|(_, call)| tally.add(call.tally()));
    let ratings: Vec<f64> = calls.iter().filter_map(|(flow, call)| call.rating(lost(flow))).collect();
    let nanos: u128 = flows.iter().map(|flow| flow.counts.delay_nanos - flow.base.delay_nanos).sum();
    let mean = tally.mean(nanos as f64 / 1e6);
    Some(VoipRecord::new(&tally, delay, mean, flows.iter().map(lost).sum(), &ratings))
}

fn padding_record(flows: &[Flow], sent: u64, measured: Span) -> Option<PaddingRecord> {
    let rests = flows.iter().map(|flow| match &flow.endpoints {
        Endpoints::Padding(padding) => Some(padding.rests()),
        Endpoints::Transport(..) | Endpoints::Datagrams(_) => None,
    });
    Some(PaddingRecord { packets_per_second: sent as f64 / measured.as_secs_f64(), rests: rests.sum::<Option<u64>>()? })
}

fn video_record(flows: &[Flow], now: Time) -> Option<VideoRecord> {
    let tallies = flows.iter().filter_map(|flow| flow.application.as_ref()?.video()).map(|video| video.tally(now));
    tallies.reduce(|sum, tally| sum.plus(&tally)).map(|tally| VideoRecord::new(&tally))
}

/// Whether traffic consists of transfers that end.
fn ends(traffic: &Traffic) -> bool {
    matches!(traffic, Traffic::Bulk { size_bytes: Some(_) } | Traffic::Transfers { .. } | Traffic::Web(_))
}

fn direction_bytes(world: &World, direction: Direction) -> u64 {
    world.flows.iter().filter(|flow| flow.direction == direction).map(delivered).sum()
}

/// Retransmissions and timeouts of a flow in the measured part.
fn sender_count(flow: &Flow) -> Option<(u64, u64)> {
    let (now, before) = (flow.sender_counts()?, flow.base_sender);
    Some((now.retransmissions - before.retransmissions, now.timeouts - before.timeouts))
}
