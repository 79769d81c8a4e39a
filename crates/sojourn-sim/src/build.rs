//! Builds the world of a run from a scenario and a seed.

mod ends;
mod routes;
#[cfg(test)]
mod tests;

use crate::agenda::Agenda;
use crate::air::Air;
use crate::dialer::Dialer;
use crate::ends::Ends;
use crate::flow::{Counts, Endpoints, Flow, InHost, Listener};
use crate::gateway::Gateway;
use crate::grants::Grants;
use crate::line::{Line, LineEnd, Lines};
use crate::link::{Link, Shared, Special};
use crate::network::{BOTTLENECK, changes_line, end_of, halves, named_links, nth, of_link, place, queue, service};
use crate::noise::NoisyWire;
use crate::packets::PacketLog;
use crate::phases::Phases;
use crate::series::Recorder;
use crate::times::Times;
use crate::tokens::Tokens;
use crate::wanted::Wanted;
use crate::world::{GroupMeter, Reroutes, World};
pub use ends::header_bytes;
use ends::{codepoint, flow_key, station};
use routes::Routes;
use sojourn_core::{Optional, Span, Stream, Time};
use sojourn_media::{Device, Medium};
use sojourn_queue::Queue;
use sojourn_scenario::{
    self as scenario, Capacity, Direction, Group, Moments, Protection, Reach, Scenario, Traffic, Which,
};
use sojourn_traffic::{Application, Surroundings};
use sojourn_transport::{EcnFlags, Options, Segment, SmallQueue};
use std::collections::{BTreeMap, HashMap};

/// The transport options of `group`.
pub fn options(group: &Group) -> Options {
    Options::new(&group.transport).expect("the scenario's options were checked")
}

/// Most links whose instruments are as fine as can be: 140 kB each.
const FEW_LINKS: usize = 64;

struct Builder<'a> {
    scenario: &'a Scenario,
    seed: u64,
    links: Vec<Link>,
    lines: Vec<Line>,
    /// Lines that flows share, by where packets travel and how long.
    shared: HashMap<(Direction, Span, LineEnd), usize>,
    /// Those of them that flows take after a change.
    other_lines: HashMap<(Direction, Span, LineEnd), usize>,
    /// The routes of flows so far.
    routes: Routes,
    devices: Vec<crate::device::Device>,
    /// Flows so far.
    numbered: u32,
}

/// Where a flow stands.
struct FlowPlace {
    /// Its group's index.
    group: usize,
    /// Its place in the group.
    index: u32,
    /// Its place among all flows.
    number: u32,
    /// The number of its first connection.
    lead: usize,
}

/// The world of `scenario` with seed `seed` before its first event.
pub fn build(scenario: &Scenario, seed: u64, wanted: &Wanted) -> World {
    let mut builder = Builder {
        scenario,
        seed,
        links: Vec::new(),
        lines: Vec::new(),
        shared: HashMap::new(),
        other_lines: HashMap::new(),
        routes: Routes::default(),
        devices: Vec::new(),
        numbered: 0,
    };
    builder.add_links();
    let mut flows = builder.flows();
    crate::world::duplex::join_all(scenario, &mut flows);
    builder.add_other_lines();
    let reroutes = builder.reroutes(&flows);
    let first_station = builder.first_station();
    builder.routes.lay(&mut builder.links, first_station);
    builder.share_lines(&flows);
    builder.drop_unused_lines(&mut flows);
    let devices = std::mem::take(&mut builder.devices);
    let Builder { mut links, lines, other_lines, .. } = builder;
    if wanted.packets {
        links[BOTTLENECK].special().log = Some(PacketLog::default());
    }
    let recorder = wanted.bin.map(|bin| Recorder::new(bin, wanted.probes, links.len(), flows.len()));
    let groups = scenario
        .groups
        .iter()
        .map(|group| GroupMeter {
            rtt: Times::default(),
            fct: Times::default(),
            fct_nanos: 0,
            waited: 0,
            fct_by_size: BTreeMap::new(),
            page: Times::default(),
            page_nanos: 0,
            delay: Times::default(),
            dialer: Dialer::new(group, &options(group), seed),
        })
        .collect();
    let air = air(scenario, seed).map(|medium| Box::new(Air::new(medium, links.len() - scenario.stations.len())));
    let owners = flows.len() + links.len() + devices.len();
    let agenda = Agenda::new(World::slots(links.len(), lines.len(), air.is_some()), owners);
    assert!(Time::ZERO + scenario.duration < agenda.horizon(), "scenarios beyond the horizon are refused");
    assert!(owners < Agenda::MAX_OWNERS as usize, "so many connections need more memory than there is");
    let transfers = wanted.transfers.then(Vec::new);
    let ends = Ends::new(wanted, flows.len());
    let first_flow = |group| flows.iter().position(|flow: &Flow| flow.group as usize == group).unwrap_or(0);
    let gateway = Gateway::new(scenario, seed, first_flow).map(Box::new);
    World {
        now: Time::ZERO,
        events: 0,
        ends,
        transfers,
        agenda,
        links,
        lines: Lines::new(lines),
        other_lines,
        reroutes,
        flows,
        groups,
        devices,
        air,
        gateway,
        recorder,
        phases: Phases::new(scenario),
        measuring: false,
    }
}

/// The air of the bottleneck, where it has one.
fn air(scenario: &Scenario, seed: u64) -> Option<Medium<Segment>> {
    let stream = |device: Device, name: &str| {
        let device = device.checked_sub(1).map_or("bottleneck", |station| &scenario.stations[station].name);
        Stream::new(seed, &format!("medium.{device}.{name}"))
    };
    let stations: Vec<_> = scenario.stations.iter().map(|one| one.air).collect();
    Some(scenario.air()?.build(&stations, stream))
}

impl Builder<'_> {
    fn stream(&self, name: &str) -> Stream {
        Stream::new(self.seed, name)
    }

    fn add_links(&mut self) {
        for (name, direction, spec) in named_links(self.scenario) {
            let mut link = self.link(name, direction, spec);
            link.line = self.link_line(name, spec);
            self.links.push(link);
        }
        if self.links.len() > FEW_LINKS {
            self.links.iter_mut().for_each(|link| link.meter.shrink());
        }
    }

    /// The queue of a link; `part` tells those of a link with several apart.
    fn queue(&self, name: &str, part: &str, spec: &scenario::Link) -> Queue<Segment> {
        let random = self.stream(&format!("link.{name}.queue{part}"));
        queue(name, spec, self.scenario.largest_packet_bytes(), random, Time::ZERO)
    }

    /// What the link `name` has of the medium.
    fn shared(&self, name: &str, spec: &scenario::Link) -> Option<Box<Shared>> {
        let setup = self.scenario.air().filter(|_| matches!(spec.capacity(), Capacity::Shared(_)))?;
        let receivers = if self.links.is_empty() { self.scenario.stations.len() } else { 1 };
        let others = (1..setup.queues(receivers)).map(|index| self.queue(name, &format!(".{index}"), spec));
        Some(Box::new(Shared::new(others.collect())))
    }

    fn link(&self, name: &str, direction: Direction, spec: &scenario::Link) -> Link {
        let queue = self.queue(name, "", spec);
        let mut link = Link::new(direction, queue, service(&spec.capacity(), Time::ZERO), self.special(name, spec));
        link.shared = self.shared(name, spec);
        link
    }

    /// What the link `name` has beside its queue.
    fn special(&self, name: &str, spec: &scenario::Link) -> Special {
        let random = |of: &str| self.stream(&format!("link.{name}.{of}"));
        Special {
            framing: spec.framing(),
            policer: spec.policer.map(Tokens::new),
            shaper: spec.shaper.map(Tokens::new),
            remark: spec.remark,
            grants: spec.medium().map(Grants::new),
            noise: spec.noise().and_then(|noise| {
                NoisyWire::new(noise, spec.protection(), spec.capacity().mean_rate(), random("noise"))
            }),
            loss: (spec.loss > 0.0).then(|| (spec.loss, random("loss"))),
            ..Special::default()
        }
    }

    /// The line for a link's own delay and jitter, where it has any.
    fn link_line(&mut self, name: &str, spec: &scenario::Link) -> Option<usize> {
        let end = LineEnd::Beyond(self.links.len());
        let delay = spec.latency();
        let retransmits = spec.noise.is_some() && matches!(spec.protection(), Some(Protection::Retransmission { .. }));
        let line = match spec.jitter {
            Some(jitter) => Line::jittery(delay, jitter, self.stream(&format!("link.{name}.jitter")), end),
            None if retransmits => Line::in_order(delay, end),
            None if of_link(self.scenario, self.links.len()).any(|(_, change)| changes_line(change)) => {
                Line::changing(delay, end)
            }
            None if delay.is_zero() => return None,
            None => Line::constant(delay, end),
        };
        self.lines.push(line);
        Some(self.lines.len() - 1)
    }

    /// The first link of a station.
    fn first_station(&self) -> usize {
        place(self.scenario, Which::Station)
    }

    fn flows(&mut self) -> Vec<Flow> {
        let mut flows = Vec::new();
        for (group_index, group) in self.scenario.groups.iter().enumerate() {
            let options = options(group);
            let starts = self.times(&group.start, &format!("group.{}.start", group.name), group.flows);
            let stops = match &group.stop {
                Some(stop) => self.times(stop, &format!("group.{}.stop", group.name), group.flows),
                None => vec![Time::NEVER; group.flows as usize],
            };
            for (index, life) in starts.into_iter().zip(stops).enumerate() {
                let place =
                    FlowPlace { group: group_index, index: index as u32, number: self.numbered, lead: flows.len() };
                self.numbered += 1;
                self.connections(&place, life, &options, &mut flows);
            }
        }
        flows
    }

    /// A time for each of `flows` flows; random ones come from the stream `name`.
    fn times(&self, moments: &Moments, name: &str, flows: u32) -> Vec<Time> {
        match moments {
            Moments::At(times) => times.iter().map(|&time| Time::ZERO + time).collect(),
            Moments::Uniform(low, high) => {
                let mut random = self.stream(name);
                let mut draw = || random.uniform_between(low.as_secs_f64(), high.as_secs_f64());
                (0..flows).map(|_| Time::ZERO + Span::from_secs_f64(draw())).collect()
            }
        }
    }

    /// The connections of the flow at `place`, which lives from one time to another.
    fn connections(&mut self, place: &FlowPlace, life: (Time, Time), options: &Options, flows: &mut Vec<Flow>) {
        let group = &self.scenario.groups[place.group];
        let rtt = group.rtt[place.index as usize];
        let (_, back) = halves(rtt);
        let lines = self.flow_lines(group, rtt);
        let access = group.access_rate.map(|rate| {
            self.lines.push(Line::access(rate, LineEnd::Network(group.direction)));
            self.lines.len() - 1
        });
        let device = self.device(group, place, options);
        let stream = |name: &str| self.stream(&format!("group.{}.{}.{name}", group.name, place.index));
        let about =
            Surroundings { payload_bytes: options.payload_bytes, request: back + self.links_delay(group, place.index) };
        let mut application = Application::new(&group.traffic, about, life, stream);
        application.belongs_to(|| format!("flow {} of {}", place.index, group.name));
        let mut application = Some(application);
        let route = self.routes.number(self.scenario, group, group.route(place.index as usize), None);
        for _ in 0..group.traffic.connections() {
            let endpoints = ends::endpoints(group, place.index, options, self.seed);
            flows.push(Flow {
                group: place.group as u32,
                index: place.index,
                lead: place.lead as u32,
                direction: group.direction,
                station: station(group, place.index) as u32,
                route,
                entrances: self.routes.entrances(route),
                lines: lines.map(|line| line as u32),
                access: access.map(|line| line as u32).into(),
                host: group.host.map(|host| {
                    Box::new(InHost { small: SmallQueue::new(host.small_queue, host.small_queue_packets), device })
                }),
                dies_past: self.dies_past(group, place.index).map(|link| link as u32).into(),
                key: flow_key(group, place, &endpoints),
                dscp: group.dscp,
                ecn: codepoint(group, options, &endpoints),
                flags: match &endpoints {
                    Endpoints::Transport(sender, _) => sender.data_flags(),
                    Endpoints::Datagrams(_) | Endpoints::Padding(_) | Endpoints::Outside(_) => EcnFlags::NONE,
                },
                header_bytes: header_bytes(group, options),
                application: application.take(),
                listener: Listener::new(&group.traffic),
                has_messages: matches!(group.traffic, Traffic::Messages(_)),
                endpoints,
                sojourn: None,
                counts: Counts::default(),
                past: None,
                duplex: None,
                armed: Time::NEVER,
            });
        }
    }

    /// The link past which datagrams of flow `index` of the group die, where they do not reach the receiver.
    fn dies_past(&self, group: &Group, index: u32) -> Option<usize> {
        let Traffic::Padding(padding) = &group.traffic else { return None };
        let main = group.route(index as usize).main.filter(|_| padding.reach() == Reach::Bottleneck)?;
        Some(place(self.scenario, main) + if main == Which::Station { station(group, index) } else { 0 })
    }

    /// Constant delays of the links that answers to the packets of flow `index` of a group cross.
    fn links_delay(&self, group: &Group, index: u32) -> Span {
        let back = group.route(index as usize).back.iter();
        let latency = |&link| nth(self.scenario, place(self.scenario, link)).1.latency();
        back.map(latency).fold(Span::ZERO, |sum, delay| sum + delay)
    }

    /// The lines behind the last link, for a flow's packets that travel forward and in reverse.
    fn flow_lines(&mut self, group: &Group, rtt: Span) -> [usize; 2] {
        let (there, back) = halves(rtt);
        [Direction::Forward, Direction::Reverse].map(|direction| {
            self.shared_line(direction, if direction == group.direction { there } else { back }, end_of(group))
        })
    }

    /// The lines that flows take after changes.
    fn add_other_lines(&mut self) {
        let scenario = self.scenario;
        for change in scenario.changes.iter().flat_map(|change| &change.groups) {
            for &rtt in change.rtt.iter().flatten() {
                let group = &scenario.groups[change.group];
                let (there, back) = halves(rtt);
                for (way, delay) in [(group.direction, there), (group.direction.opposite(), back)] {
                    let line = self.shared_line(way, delay, end_of(group));
                    self.other_lines.insert((way, delay, end_of(group)), line);
                }
            }
        }
    }

    /// The routes that connections take after changes: for each change that makes any, the number of each and where packets enter.
    fn reroutes(&mut self, flows: &[Flow]) -> Reroutes {
        let scenario = self.scenario;
        let mut present: Vec<u32> = flows.iter().map(|flow| flow.route).collect();
        let mut reroutes = Reroutes::new();
        for (index, change) in scenario.changes.iter().enumerate() {
            for (group, changed) in
                change.groups.iter().filter_map(|one| Some((one.group, &one.rerouted.as_ref()?.routes)))
            {
                for (number, flow) in flows.iter().enumerate().filter(|(_, flow)| flow.group as usize == group) {
                    let route = &changed[flow.index as usize % changed.len()];
                    let before = Some(present[number]);
                    present[number] = self.routes.number(scenario, &scenario.groups[group], route, before);
                    let entrances = self.routes.entrances(present[number]);
                    reroutes.entry(index).or_default().push((number, present[number], entrances));
                }
            }
        }
        reroutes
    }

    fn shared_line(&mut self, direction: Direction, delay: Span, end: LineEnd) -> usize {
        *self.shared.entry((direction, delay, end)).or_insert_with(|| {
            self.lines.push(Line::constant(delay, end));
            self.lines.len() - 1
        })
    }

    /// The queue of the host of the flow at `place`, where it has one.
    fn device(&mut self, group: &Group, place: &FlowPlace, options: &Options) -> Option<usize> {
        let (queue, rate) = group.host.and_then(|host| host.queue()).zip(group.access_rate)?;
        let packet_bytes = options.payload_bytes + header_bytes(group, options);
        let link = sojourn_queue::LinkProperties { rate, delay: Span::ZERO, packet_bytes, since: Time::ZERO };
        let random = self.stream(&format!("group.{}.{}.qdisc", group.name, place.index));
        self.devices.push(crate::device::Device::new(&queue, &link, random));
        Some(self.devices.len() - 1)
    }

    /// Lets links with the same delay, behind which all packets go to the same place, share a line: those of hundreds of homes then
    /// take one slot of the agenda, and their packets lie together.
    fn share_lines(&mut self, flows: &[Flow]) {
        let ends_lives: Vec<u32> = flows.iter().filter_map(|flow| flow.dies_past.get()).collect();
        let mut alike: HashMap<(Span, Optional, Direction), Vec<usize>> = HashMap::new();
        for (index, link) in self.links.iter().enumerate().filter(|(index, _)| !ends_lives.contains(&(*index as u32))) {
            let delay = link.line.and_then(|line| self.lines[line].always());
            if let Some((delay, (next, way))) = delay.zip(link.behind_all()) {
                alike.entry((delay, next, way)).or_default().push(index);
            }
        }
        for ((delay, next, way), links) in alike.into_iter().filter(|(_, links)| links.len() > 1) {
            let Some(line) = self.links[links[0]].line else { continue };
            self.lines[line] = Line::constant(delay, LineEnd::Behind(next, way));
            links.into_iter().for_each(|link| self.links[link].line = Some(line));
        }
    }

    /// Leaves out the lines that no packet can take: the agenda has a slot for each.
    fn drop_unused_lines(&mut self, flows: &mut [Flow]) {
        let mut used = vec![false; self.lines.len()];
        let of_links = self.links.iter().filter_map(|link| link.line);
        let of_flows =
            flows.iter().flat_map(|flow| flow.lines.into_iter().chain(flow.access.get())).map(|line| line as usize);
        of_links.chain(of_flows).chain(self.other_lines.values().copied()).for_each(|line| used[line] = true);
        let places: Vec<u32> =
            used.iter().scan(0, |left, &used| Some(std::mem::replace(left, *left + u32::from(used)))).collect();
        let mut is_used = used.into_iter();
        self.lines.retain(|_| is_used.next() == Some(true));
        self.links.iter_mut().filter_map(|link| link.line.as_mut()).for_each(|line| *line = places[*line] as usize);
        self.other_lines.values_mut().for_each(|line| *line = places[*line] as usize);
        for flow in flows {
            flow.lines = flow.lines.map(|line| places[line as usize]);
            flow.access = flow.access.get().map(|line| places[line as usize]).into();
        }
    }
}
