//! What a run has measured, as its record.

use crate::ends::Ends;
use crate::flow::{Counts, Endpoints, Flow, by_flow};
use crate::meter::{Reading, utilization};
use crate::network::{BOTTLENECK, changes_capacity, named_links, nth, of_link};
use crate::opportunities::Opportunities;
use crate::phases::{Counted, Instruments};
use crate::record::{
    FlowRecord, GroupRecord, Known, LinkRecord, PaddingRecord, PhaseGroupRecord, PhaseRecord, QueueMs, Record,
    StationRecord, TrainRecord, VideoRecord, VoipRecord, jain,
};
use crate::times::{Coarse, Times};
use crate::world::World;
use sojourn_core::{Span, Time};
use sojourn_scenario::{Bulk, Capacity, Direction, Scenario, Traffic, Which};
use sojourn_scenario::{Group, Phase};
use sojourn_traffic::voip;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The record of the run of `scenario` with seed `seed` that has left `world`, and took `wall_s`.
pub fn record(scenario: &Scenario, seed: u64, world: &World, wall_s: f64) -> Record {
    let measured = scenario.duration - scenario.warmup;
    let mut links = named_links(scenario)
        .into_iter()
        .enumerate()
        .map(|(index, (name, ..))| (name.to_owned(), link_record(index, scenario, world)));
    let (_, bottleneck) = links.next().expect("there is a bottleneck");
    let reverse = scenario.reverse.as_ref().and_then(|_| links.next()).map(|(_, record)| record);
    let hops = links.by_ref().take(scenario.hops.len()).collect();
    let stations = stations(scenario, world, links, measured);
    let flows = flow_records(scenario, world, measured);
    Record {
        seed,
        duration_s: scenario.duration.as_secs_f64(),
        measured_from_s: scenario.warmup.as_secs_f64(),
        events: world.events,
        bottleneck,
        reverse,
        hops,
        stations,
        groups: (0..scenario.groups.len())
            .map(|index| (scenario.groups[index].name.clone(), group_record(scenario, world, index)))
            .collect(),
        phases: phases(scenario, world),
        jain_all: jain(flows.iter().map(|flow| flow.goodput_mbps)),
        flows,
        wall_s,
    }
}

/// What was measured in each phase.
fn phases(scenario: &Scenario, world: &World) -> BTreeMap<String, PhaseRecord> {
    let all = scenario.phases.iter().zip(world.phases.measured());
    all.map(|(phase, measured)| (phase.name.clone(), phase_record(scenario, world, phase, measured))).collect()
}

fn phase_record(scenario: &Scenario, world: &World, phase: &Phase, measured: &Instruments) -> PhaseRecord {
    let windows: Vec<_> = phase.windows(scenario.duration).collect();
    let time = windows.iter().fold(Span::ZERO, |sum, &(from, to)| sum + (to - from));
    let capacity_bytes = |index| {
        windows.iter().map(|&(from, to)| capacity(scenario, world, index, Time::ZERO + from, Time::ZERO + to)).sum()
    };
    let record = |index: usize, reading: &Reading| {
        let utilization = match (scenario.air(), index) {
            (None, _) => {
                let capacity_bytes: f64 = capacity_bytes(index);
                let sent_bytes = reading.totals.sent_bytes as f64 + reading.partial_bytes;
                utilization(sent_bytes, capacity_bytes, time, windows.len())
            }
            // As of the whole run: an exchange that was in the air when a window began counts as a whole.
            (Some(_), BOTTLENECK) => Some(measured.busy.ratio(time).min(1.0)),
            (Some(_), _) => None,
        };
        reading.record(utilization, time)
    };
    let names = named_links(scenario).into_iter().map(|(name, ..)| name.to_owned());
    let mut links = names.zip(measured.links.iter().enumerate().map(|(index, reading)| record(index, reading)));
    let (_, bottleneck) = links.next().expect("there is a bottleneck");
    let reverse = scenario.reverse.as_ref().and_then(|_| links.next()).map(|(_, record)| record);
    let hops = links.by_ref().take(scenario.hops.len()).collect();
    let of_direction = |direction| {
        let groups = scenario.groups.iter().zip(&measured.groups);
        groups.filter(|(group, _)| group.direction == direction).map(|(_, counted)| counted.delivered_bytes).sum()
    };
    let group = |(group, counted): (&Group, &Counted)| {
        let all_bytes: u64 = of_direction(group.direction);
        let rate = |count: u64| (counted.sent > 0).then(|| count as f64 / counted.sent as f64);
        let record = PhaseGroupRecord {
            share: (all_bytes > 0).then(|| counted.delivered_bytes as f64 / all_bytes as f64),
            goodput_mbps: mbps(counted.delivered_bytes, time),
            drop_rate: rate(counted.drops),
            mark_rate: rate(counted.marks),
        };
        (group.name.clone(), record)
    };
    PhaseRecord {
        time_s: time.as_secs_f64(),
        bottleneck,
        reverse,
        hops,
        stations: links.collect(),
        groups: scenario.groups.iter().zip(&measured.groups).map(group).collect(),
    }
}

fn link_record(index: usize, scenario: &Scenario, world: &World) -> LinkRecord {
    let link = &world.links[index];
    let capacity_bytes = capacity(scenario, world, index, Time::ZERO + scenario.warmup, world.now);
    let record = link.record(capacity_bytes, world.now);
    let (Some(air), Some(shared)) = (&world.air, &link.shared) else { return record };
    let measured = scenario.duration - scenario.warmup;
    LinkRecord {
        utilization: (index == BOTTLENECK).then(|| air.utilization(measured)),
        access: Some(air.access(index, shared)),
        ..record
    }
}

/// The records of all stations, whose own links are `links`.
fn stations(
    scenario: &Scenario,
    world: &World,
    links: impl Iterator<Item = (String, LinkRecord)>,
    measured: Span,
) -> BTreeMap<String, StationRecord> {
    let Some(air) = &world.air else { return BTreeMap::new() };
    let record = |(index, (name, uplink)): (usize, (String, LinkRecord))| {
        let goodput = |crossed| {
            let is_own = |flow: &&Flow| {
                let route = scenario.groups[flow.group as usize].route(flow.index as usize);
                route.station == Some(index) && route.there.contains(&crossed)
            };
            mbps(world.flows.iter().filter(is_own).map(delivered).sum(), measured)
        };
        let (air_down, air_up) = air.shares(index, measured);
        let station = StationRecord {
            uplink,
            goodput_down_mbps: goodput(Which::Bottleneck),
            goodput_up_mbps: goodput(Which::Station),
            air_down,
            air_up,
        };
        (name, station)
    };
    links.enumerate().map(record).collect()
}

/// Bytes that the link `index` could send from `from` to `to` in this run, where a controller may have set its rate.
fn capacity(scenario: &Scenario, world: &World, index: usize, from: Time, to: Time) -> f64 {
    let set = world.gateway.as_ref().and_then(|gateway| gateway.capacity_bytes(index, from, to));
    set.unwrap_or_else(|| capacity_bytes(scenario, index, from, to))
}

/// Bytes that the link `index` of a scenario, in the order of [`named_links`], can send from `from` to `to` at the rates that
/// are in force then.
pub fn capacity_bytes(scenario: &Scenario, index: usize, from: Time, to: Time) -> f64 {
    let (_, base) = nth(scenario, index);
    let mut begun = (Time::ZERO, base.capacity());
    let mut bytes = 0.0;
    for (change, link) in of_link(scenario, index).filter(|(_, link)| changes_capacity(link)) {
        let at = Time::ZERO + change.at;
        bytes += bytes_at(&begun, from, at.min(to));
        begun = (at, link.link.capacity());
    }
    bytes + bytes_at(&begun, from, to)
}

/// Bytes that a link can send from `from` to `to` whose capacity is in force since some time.
fn bytes_at((since, capacity): &(Time, Capacity), from: Time, to: Time) -> f64 {
    let from = from.max(*since);
    if to <= from {
        return 0.0;
    }
    match capacity {
        Capacity::Fixed(rate) | Capacity::Shared(rate) => rate.bytes_in(to.since(from)),
        Capacity::Recorded(trace) => {
            let of_recording = |time: Time| Time::ZERO + time.since(*since);
            Opportunities::capacity_bytes(trace, of_recording(from), of_recording(to))
        }
    }
}

fn delivered(flow: &Flow) -> u64 {
    flow.since(|counts| counts.delivered_bytes)
}

fn mbps(bytes: u64, time: Span) -> f64 {
    bytes as f64 * 8.0 / time.as_secs_f64() / 1e6
}

/// A row for each flow. There may be very many, which share what is the same in all.
fn flow_records(scenario: &Scenario, world: &World, measured: Span) -> Vec<FlowRecord> {
    let groups: Vec<Arc<str>> = scenario.groups.iter().map(|group| group.name.as_str().into()).collect();
    let nothing = Arc::new(QueueMs::default());
    let mut records = Vec::with_capacity(by_flow(&world.flows).count());
    records.extend(by_flow(&world.flows).map(|connections| {
        let group = groups[connections[0].group as usize].clone();
        flow_record(group, connections, measured, &nothing)
    }));
    records
}

fn flow_record(group: Arc<str>, connections: &[Flow], measured: Span, nothing: &Arc<QueueMs>) -> FlowRecord {
    let sum = |of: &dyn Fn(&Flow) -> u64| connections.iter().map(of).sum::<u64>();
    let samples = sum(&|flow| flow.since(|counts| counts.rtt_samples));
    let nanos: u128 = connections.iter().map(|flow| flow.since(|counts| counts.rtt_nanos)).sum();
    let mut sojourn = Coarse::default();
    connections.iter().filter_map(|flow| flow.sojourn.as_ref()).for_each(|own| sojourn.add(own));
    FlowRecord {
        group,
        index: connections[0].index,
        goodput_mbps: mbps(sum(&delivered), measured),
        delivered_bytes: sum(&delivered),
        drops: sum(&|flow| flow.since(|counts| counts.drops)),
        rtt_ms_mean: (samples > 0).then(|| nanos as f64 / samples as f64 / 1e6),
        queue_ms: if sojourn.count() > 0 { Arc::new(Known::from(&sojourn).into()) } else { nothing.clone() },
    }
}

/// The connections of the group `index`, which stand together.
fn of_group(flows: &[Flow], index: usize) -> &[Flow] {
    let first = flows.partition_point(|flow| (flow.group as usize) < index);
    &flows[first..flows.partition_point(|flow| flow.group as usize <= index)]
}

fn group_record(scenario: &Scenario, world: &World, index: usize) -> GroupRecord {
    let measured = scenario.duration - scenario.warmup;
    let group = &scenario.groups[index];
    let flows = of_group(&world.flows, index);
    let sum = |of: &dyn Fn(&Flow) -> u64| flows.iter().map(of).sum::<u64>();
    let bytes = sum(&delivered);
    let all_bytes = direction_bytes(world, group.direction);
    let since = |of: fn(&Counts) -> u64| sum(&|flow| flow.since(of));
    let sent = since(|counts| counts.sent);
    let rate = |count: u64| (sent > 0).then(|| count as f64 / sent as f64);
    let senders = |of: &dyn Fn(&Flow) -> Option<u64>| flows.iter().map(of).sum::<Option<u64>>();
    let meter = &world.groups[index];
    let mut sojourn = Coarse::default();
    flows.iter().filter_map(|flow| flow.sojourn.as_ref()).for_each(|own| sojourn.add(own));
    let acks = since(|counts| counts.entered) - sent - since(|counts| counts.others);
    let connects = flows.iter().all(|flow| matches!(flow.endpoints, Endpoints::Transport(..)));
    let delays = world.ends.as_ref().and_then(Ends::delays).map(|delays| delays.of_group(flows));
    GroupRecord {
        share: (all_bytes > 0).then(|| bytes as f64 / all_bytes as f64),
        goodput_mbps: mbps(bytes, measured),
        drop_rate: rate(since(|counts| counts.drops)),
        mark_rate: rate(since(|counts| counts.marks)),
        ack_drop_rate: (connects && acks > 0).then(|| since(|counts| counts.lost_acks) as f64 / acks as f64),
        syn_drops: connects.then(|| since(|counts| counts.lost_syns)),
        delay_ms: delays.as_ref().map(|delays| delays.delay_ms),
        pdv_ms: delays.as_ref().map(|delays| delays.pdv_ms),
        startup_ms: delays.and_then(|delays| delays.startup_ms),
        retransmissions: senders(&|flow| Some(flow.sender_since()?.retransmissions)),
        timeouts: senders(&|flow| Some(flow.sender_since()?.timeouts)),
        jain: jain(by_flow(flows).map(|connections| connections.iter().map(delivered).sum::<u64>() as f64)),
        rtt_ms: Known::new(&meter.rtt, flows.iter().map(|flow| flow.since(|counts| counts.rtt_nanos)).sum()).into(),
        rpm: meter.rtt.trimmed_mean(RPM_KEEPS).map(|rtt| 60.0 / rtt.as_secs_f64()),
        queue_ms: Known::from(&sojourn).into(),
        fct_ms: transfers_end(&group.traffic).then(|| Known::new(&meter.fct, meter.fct_nanos).into()),
        fct_by_size_ms: meter
            .fct_by_size
            .iter()
            .map(|(&power, times)| (size_class(power), Known::from(times).into()))
            .collect(),
        page_ms: matches!(group.traffic, Traffic::Web(_)).then(|| Known::new(&meter.page, meter.page_nanos).into()),
        transfers_waited: matches!(group.traffic, Traffic::Transfers { .. } | Traffic::Custom(_))
            .then_some(meter.waited),
        padding: padding_record(flows, sent, measured),
        voip: voip_record(flows, &meter.delay),
        train: train_record(flows, &meter.delay),
        video: video_record(flows, world.now),
    }
}

/// The part of round-trip times that responsiveness counts, the shortest: its trimmed mean percentage.
const RPM_KEEPS: f64 = 0.95;

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
    let calls: Vec<_> = flows.iter().filter_map(|flow| Some((flow, flow.call()?))).collect();
    if calls.is_empty() {
        return None;
    }
    let lost = |flow: &Flow| flow.since(|counts| counts.drops);
    let mut tally = voip::Tally::default();
    calls.iter().for_each(|(_, call)| tally.add(call.tally()));
    let ratings: Vec<f64> = calls.iter().filter_map(|(flow, call)| call.rating(lost(flow))).collect();
    let nanos: u128 = flows.iter().map(|flow| flow.since(|counts| counts.delay_nanos)).sum();
    let mean = tally.mean(nanos as f64 / 1e6);
    Some(VoipRecord::new(&tally, delay, mean, flows.iter().map(lost).sum(), &ratings))
}

fn train_record(flows: &[Flow], time: &Times) -> Option<TrainRecord> {
    let mut ends = flows.iter().filter_map(Flow::trains);
    let first = ends.next()?;
    let (mut whole, mut nanos, mut broken) = (first.whole().0, first.whole().1, first.broken());
    for end in ends {
        whole += end.whole().0;
        nanos += end.whole().1;
        broken += end.broken();
    }
    let all = whole + broken;
    Some(TrainRecord { ms: Known::new(time, nanos).into(), broken: (all > 0).then(|| broken as f64 / all as f64) })
}

fn padding_record(flows: &[Flow], sent: u64, measured: Span) -> Option<PaddingRecord> {
    let rests = flows.iter().map(|flow| match &flow.endpoints {
        Endpoints::Padding(padding) => Some(padding.rests()),
        Endpoints::Transport(..) | Endpoints::Datagrams(_) | Endpoints::Outside(_) => None,
    });
    Some(PaddingRecord { packets_per_second: sent as f64 / measured.as_secs_f64(), rests: rests.sum::<Option<u64>>()? })
}

fn video_record(flows: &[Flow], now: Time) -> Option<VideoRecord> {
    let tallies = flows.iter().filter_map(|flow| flow.application.as_ref()?.video()).map(|video| video.tally(now));
    tallies.reduce(|sum, tally| sum.plus(&tally)).map(|tally| VideoRecord::new(&tally))
}

/// Whether traffic consists of transfers that end.
fn transfers_end(traffic: &Traffic) -> bool {
    matches!(
        traffic,
        Traffic::Bulk(Bulk { size_bytes: Some(_) })
            | Traffic::Transfers { .. }
            | Traffic::Web(_)
            | Traffic::Messages(_)
            | Traffic::Custom(_)
    )
}

fn direction_bytes(world: &World, direction: Direction) -> u64 {
    world.flows.iter().filter(|flow| flow.direction == direction).map(delivered).sum()
}
