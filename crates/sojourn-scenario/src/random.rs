//! Random scenarios, for tests: derived from the format, so that every key and every parameter of every
//! algorithm takes part without being listed here.

mod air;
#[cfg(test)]
mod tests;

use crate::form::{Family, Form, Key, LONGEST, MAX_FLOWS, Part, Presence, Section, Select};
use crate::format::SCENARIO;
use crate::write::{self, Written};
use crate::{Base, Scenario};
use sojourn_core::registry::{Choice as _, Descriptor, Kind};
use sojourn_core::{Rate, Span, Stream};
use sojourn_media::Setup;
use sojourn_media::wifi::{Air, Standard};
use sojourn_queue::Dscp;

/// The text of a scenario of a few flows and seconds. Each value fits its key, but not always the others.
pub fn text(random: &mut Stream) -> String {
    let groups = 1 + (random.uniform() * 3.0) as usize;
    let groups = (0..groups).map(|_| format!("n{}", random.bits())).collect();
    let shared = random.chance(0.3).then(|| shared(random));
    let mut writer = Writer { random, flows: 1, groups, depth: 0, shared };
    write::toml(&writer.section(&SCENARIO))
}

/// A medium of the bottleneck that stations share.
#[derive(Clone, Copy)]
enum Shared {
    Wifi(Air),
    /// Another one, whose stations have a channel quality.
    Cell(&'static Descriptor),
}

/// Any medium that stations share.
fn shared(random: &mut Stream) -> Shared {
    let media = Setup::DESCRIPTORS;
    match media[(random.uniform() * media.len() as f64) as usize] {
        medium if medium.name == "wifi" => Shared::Wifi(air(random)),
        medium => Shared::Cell(medium),
    }
}

/// Any air.
fn air(random: &mut Stream) -> Air {
    let mut pick = |count: usize| (random.uniform() * count as f64) as usize;
    let standard = Standard::ALL[pick(Standard::ALL.len())];
    Air { width_mhz: if standard == Standard::Ac { [20, 40, 80][pick(3)] } else { 20 }, ..Air::plain(standard) }
}

/// The first of the texts that follow which is a valid scenario.
pub fn scenario(random: &mut Stream) -> Scenario {
    loop {
        if let Ok(loaded) = Scenario::parse(&text(random), None, &Base::Nowhere, &[]) {
            return loaded.scenario;
        }
    }
}

type Entries = Vec<(&'static str, Written)>;

struct Writer<'a> {
    random: &'a mut Stream,
    /// Flows of the group that is being written.
    flows: u64,
    /// Names of the groups.
    groups: Vec<String>,
    /// Algorithms around the one that is being written.
    depth: usize,
    /// The medium of the bottleneck, where stations share it.
    shared: Option<Shared>,
}

/// Whether a random scenario does not have the key: it is a chain, whatever sends is the simulation's own, and no two of its links
/// are surely shapers for a controller.
fn left_out(section: &Section, key: &Key) -> bool {
    let words: &[&str] = match section.name {
        "" => &["shaper"],
        "group" => &["from", "to", "path", "back", "stack"],
        "bottleneck" | "reverse" | "hop" => &["from", "to", "count", "lines"],
        _ => &[],
    };
    words.contains(&key.name)
}

/// What a station is called.
const STATION: &str = "station";

impl Writer<'_> {
    fn below(&mut self, end: usize) -> usize {
        (self.random.uniform() * end as f64) as usize
    }

    fn section(&mut self, section: &'static Section) -> Entries {
        if section.name == "group" {
            self.flows = 1 + self.below(4) as u64;
        }
        let exclusive = section.exclusive();
        let one = (!exclusive.is_empty()).then(|| exclusive[self.below(exclusive.len())]);
        let mut entries = Entries::new();
        for key in section.keys().filter(|key| !left_out(section, key)) {
            let wanted = match (one, &key.presence) {
                (Some(one), _) if exclusive.contains(&key.name) => key.name == one,
                // A chain says it.
                _ if key.name == "at" => true,
                (_, Presence::Required | Presence::RequiredWithout(_) | Presence::RequiredUnless { .. }) => true,
                (_, Presence::Default(_) | Presence::Optional(_) | Presence::OptionalBeside { .. }) => {
                    self.random.chance(0.4)
                }
            };
            if wanted || key.name == "flows" {
                entries.push((key.name, self.value(key)));
            }
        }
        self.respect_conditions(section, &mut entries);
        self.respect_air(section, &mut entries);
        if section.name.is_empty() {
            self.respect_ways(&mut entries);
            self.respect_links(&mut entries);
            respect_times(&mut entries);
        }
        entries
    }

    /// Removes what the kind of another key, or its absence, forbids.
    fn respect_conditions(&mut self, section: &'static Section, entries: &mut Entries) {
        for key in section.keys() {
            let forbidden = match key.presence {
                Presence::RequiredUnless { key: other, kinds, .. } => entries
                    .iter()
                    .any(|(name, written)| *name == other && kinds.iter().any(|kind| written.is_kind(kind))),
                Presence::OptionalBeside { key: other, .. } => !entries.iter().any(|(name, _)| *name == other),
                _ => continue,
            };
            entries.retain(|(name, _)| !(forbidden && *name == key.name));
        }
    }

    fn value(&mut self, key: &'static Key) -> Written {
        self.form(&key.form, key.example)
    }

    /// A value of this form; `example` is one.
    fn form(&mut self, form: &'static Form, example: &str) -> Written {
        match form {
            Form::Value(Kind::Integer { max: MAX_FLOWS, .. }) => Written::Integer(self.flows),
            Form::Value(kind) => self.kind(kind),
            Form::Bytes { min, max } => {
                Written::Text(format!("{} B", self.logarithmic(*min as f64, (*max).min(100_000) as f64) as u64))
            }
            Form::PacketRate { min, max } => {
                Written::Text(format!("{} packets/s", self.logarithmic(min.max(1.0), max.min(1000.0))))
            }
            Form::Payload { .. } if self.random.chance(0.3) => Written::Text(format!("{} packets", 1 + self.below(50))),
            Form::Payload { max } => {
                Written::Text(format!("{} B", self.logarithmic(1.0, (*max).min(100_000) as f64) as u64))
            }
            Form::Offset(_) => {
                let sign = if self.random.chance(0.5) { "-" } else { "" };
                Written::Text(format!("{sign}{}", self.span(Span::ZERO, LONGEST)))
            }
            Form::Text => Written::Text((0..1 + self.below(8)).map(|_| self.letter()).collect::<String>() + "."),
            Form::Name { .. } => Written::Text(format!("n{}", self.random.bits())),
            Form::Trace => Written::Text(example.to_owned()),
            Form::Dscp => match self.below(64) {
                number if number % 2 == 0 => Written::Integer(number as u64),
                number => Written::Text(Dscp::NAMES[number % Dscp::NAMES.len()].0.to_owned()),
            },
            Form::Addresses => Written::Text(example.to_owned()),
            Form::Range(_) => {
                let first = self.span(Span::ZERO, LONGEST);
                let second = first + self.span(Span::ZERO, LONGEST).mul_f64(0.1);
                Written::List([first, second].map(|span| Written::Text(span.to_string())).to_vec())
            }
            Form::Ladder { .. } => {
                let mut rates: Vec<u64> = (0..1 + self.below(4)).map(|_| self.logarithmic(10e3, 10e6) as u64).collect();
                rates.sort_unstable();
                Written::List(rates.into_iter().map(|rate| Written::Text(format!("{rate} bit/s"))).collect())
            }
            Form::PerFlow { kind, table } => self.per_flow(kind, *table),
            Form::Select(select) => self.select(select),
            Form::Algorithm(family) => self.algorithm(family),
            Form::Table(section) => Written::Section(self.section(section)),
            Form::Group => {
                let index = self.below(self.groups.len());
                Written::Text(self.groups[index].clone())
            }
            Form::OneOrMore(inner) => self.form(inner, ""),
            Form::Tables(section) if section.name == "group" => {
                let names = self.groups.clone();
                let mut group = |name: &String| {
                    let mut entries = self.section(section);
                    let own = entries.iter_mut().find(|(key, _)| *key == "name").expect("a group has a name");
                    own.1 = Written::Text(name.clone());
                    Written::Section(entries)
                };
                Written::List(names.iter().map(&mut group).collect())
            }
            Form::Part(part) => self.part(part),
            Form::Tables(section) => {
                let tables = (0..1 + self.below(3)).map(|_| Written::Section(self.section(section))).collect();
                Written::List(tables)
            }
        }
    }

    fn part(&mut self, part: &'static Part) -> Written {
        let exclusive = part.of.exclusive();
        let one = (!exclusive.is_empty()).then(|| exclusive[self.below(exclusive.len())]);
        let mut entries = Entries::new();
        for key in part
            .all_keys()
            .filter(|key| !left_out(part.of, key))
            .filter(|key| !exclusive.contains(&key.name) || Some(key.name) == one)
        {
            if key.name == "name" || self.random.chance(0.25) {
                entries.push((key.name, self.value(key)));
            }
        }
        let table = Written::Section(entries);
        if part.listed { Written::List(vec![table]) } else { table }
    }

    /// No group's data travels on connections of another, but for that of one more group in some scenarios with a way back.
    fn respect_ways(&mut self, entries: &mut Entries) {
        let has_reverse = entries.iter().any(|(key, _)| *key == "reverse");
        let Some((_, Written::List(groups))) = entries.iter_mut().find(|(key, _)| *key == "group") else { return };
        for group in groups.iter_mut() {
            let Written::Section(group) = group else { continue };
            group.retain(|(key, _)| *key != "connections_of");
        }
        if !has_reverse || !self.random.chance(0.5) {
            return;
        }
        let Some(Written::Section(group)) = groups.first_mut() else { return };
        group.retain(|(key, written)| {
            let one_way = ["host", "receiver_control", "window_scale", "clock_offset", "clock_skew_ppm"];
            !one_way.contains(key) && (*key != "traffic" || written.is_kind("bulk"))
        });
        let Some((_, Written::Text(name))) = group.iter().find(|(key, _)| *key == "name").cloned() else { return };
        let mut other = group.clone();
        other.retain(|(key, _)| !["name", "direction", "enters", "hosts", "receiver_hosts"].contains(key));
        let is_reverse = group.contains(&("direction", Written::Text("reverse".to_owned())));
        let direction = if is_reverse { "forward" } else { "reverse" };
        other.push(("name", Written::Text(format!("{name}-back"))));
        other.push(("direction", Written::Text(direction.to_owned())));
        other.push(("connections_of", Written::Text(name)));
        groups.push(Written::Section(other));
    }

    /// Changes are of links that there are.
    fn respect_links(&mut self, entries: &mut Entries) {
        let has = |name: &str| entries.iter().any(|(key, _)| *key == name);
        let (has_reverse, has_access) = (has("reverse"), has("access"));
        let hop = entries.iter().find(|(key, _)| *key == "hop").and_then(|(_, hops)| hops.first_name());
        let group = entries.iter().find(|(key, _)| *key == "group").and_then(|(_, groups)| groups.first_control());
        if self.shared.is_some() {
            return entries.retain(|(key, _)| *key != "change");
        }
        for (_, written) in entries.iter_mut().filter(|(key, _)| *key == "change") {
            let Written::List(changes) = written else { continue };
            for change in changes {
                let Written::Section(change) = change else { continue };
                change.retain(|(key, _)| match *key {
                    "reverse" => has_reverse && !has_access,
                    "hop" => hop.is_some(),
                    "group" => false,
                    _ => true,
                });
                // A control takes parameters of its kind: those that it has, whatever these are.
                if let Some(group) = group.clone().filter(|_| self.random.chance(0.5)) {
                    change.push(("group", Written::List(vec![Written::Section(group)])));
                }
                if let (Some((_, Written::List(parts))), Some(name)) =
                    (change.iter_mut().find(|(key, _)| *key == "hop"), &hop)
                    && let Some(Written::Section(part)) = parts.first_mut()
                {
                    part.retain(|(key, _)| *key != "name");
                    part.push(("name", Written::Text(name.clone())));
                }
            }
        }
    }

    /// Letters that need care, and others.
    fn letter(&mut self) -> char {
        let letters = ['a', 'Z', '"', '\\', '\'', '#', '=', ' ', '\u{e9}', '\u{1f4a1}', '[', '{'];
        letters[self.below(letters.len())]
    }

    fn per_flow(&mut self, kind: &Kind, table: Option<&'static Section>) -> Written {
        match (self.below(3), table) {
            (0, Some(table)) => Written::Inline(self.section(table)),
            (1, _) => Written::List((0..self.flows).map(|_| self.kind(kind)).collect()),
            _ => self.kind(kind),
        }
    }

    fn select(&mut self, select: &'static Select) -> Written {
        // Packets of programs come from nowhere in a simulation.
        let kinds: Vec<_> = select.kinds.iter().filter(|kind| kind.name != "program").collect();
        let kind = kinds[self.below(kinds.len())];
        let mut entries = self.section(kind);
        entries.insert(0, ("kind", Written::Text(kind.name.to_owned())));
        Written::Inline(entries)
    }

    fn algorithm(&mut self, family: &'static Family) -> Written {
        let mut words = family.words();
        words.retain(|word| Setup::DESCRIPTORS.iter().all(|shared| shared.name != *word));
        if self.random.chance(0.3) {
            return Written::Text(words[self.below(words.len())].to_owned());
        }
        let member = self.member(family);
        let mut entries = Entries::new();
        if family.choice {
            entries.push(("kind", Written::Text(member.name.to_owned())));
        }
        if !member.presets.is_empty() && self.random.chance(0.5) {
            let preset = &member.presets[self.below(member.presets.len())];
            entries.push(("preset", Written::Text(preset.name.to_owned())));
        }
        self.parameters(member, &mut entries);
        if let Some(key) = family.held(member) {
            self.depth += 1;
            entries.push((key.name, self.held(key, member)));
            self.depth -= 1;
        }
        Written::Section(entries)
    }

    /// One that holds no others where there are two around it already.
    fn member(&mut self, family: &'static Family) -> &'static Descriptor {
        loop {
            let member = family.built_in[self.below(family.built_in.len())];
            let is_shared = Setup::DESCRIPTORS.iter().any(|shared| std::ptr::eq(*shared, member));
            if !is_shared && (self.depth < 2 || family.held(member).is_none()) {
                return member;
            }
        }
    }

    /// What `member` holds: one other, or two classes, of which the second takes the rest. Those of an `htb` may lie in a third.
    fn held(&mut self, key: &'static Key, member: &'static Descriptor) -> Written {
        let (Form::Tables(section), Some(class)) = (&key.form, member.class()) else { return self.value(key) };
        let text = |text: &str| Written::Text(text.to_owned());
        let above = (member.name == "htb" && self.random.chance(0.5)).then_some("above");
        let classes = (0..2).map(|number| {
            let mut entries = self.section(section);
            entries.retain(|(name, _)| number == 0 || !["dscp", "precedence", "groups"].contains(name));
            entries.retain(|(name, _)| *name != "parent");
            entries.extend(above.map(|above| ("parent", text(above))));
            self.parameters(class, &mut entries);
            Written::Section(entries)
        });
        let mut classes: Vec<_> = classes.collect();
        classes.extend(above.map(|above| Written::Section(vec![("name", text(above))])));
        Written::List(classes)
    }

    /// A few of the parameters: the more there are, the less they fit together.
    fn parameters(&mut self, member: &'static Descriptor, entries: &mut Entries) {
        let probability = 2.0 / member.parameters.len().max(2) as f64;
        for parameter in member.parameters {
            if self.random.chance(probability) {
                entries.push((parameter.name, self.kind(&parameter.kind)));
            }
        }
    }

    fn kind(&mut self, kind: &Kind) -> Written {
        match kind {
            Kind::Span { min, max } => Written::Text(self.span(*min, *max).to_string()),
            Kind::Rate => {
                let rate = Rate::from_bits_per_second(self.logarithmic(10e3, 100e6) as u64);
                Written::Text(rate.expect("not zero").to_string())
            }
            Kind::Amount { min_packets, whole } => self.amount(*min_packets, *whole),
            Kind::Number { min, max } => Written::Number(self.random.uniform_between(*min, *max)),
            Kind::Integer { min, max } => {
                let most = (*max).min(min + 20);
                Written::Integer(min + self.below((most - min + 1) as usize) as u64)
            }
            Kind::Boolean => Written::Boolean(self.random.chance(0.5)),
            Kind::Choice(words) => write::word(words[self.below(words.len())]),
            Kind::OrAuto(_) if self.random.chance(0.3) => Written::Text("auto".to_owned()),
            Kind::OrAuto(inner) => self.kind(inner),
        }
    }

    /// Moments of a run lie in its first half second, durations of runs are some seconds.
    fn span(&mut self, min: Span, max: Span) -> Span {
        let (low, high) = match (min.is_zero(), max >= LONGEST) {
            (true, true) => (1e-6, 0.5),
            (false, true) => (0.6, 4.0),
            (_, false) => (min.as_secs_f64().max(1e-6), max.as_secs_f64().min(1.0)),
        };
        Span::from_secs_f64(self.logarithmic(low, high)).clamp(min, max)
    }

    fn amount(&mut self, min_packets: f64, whole: bool) -> Written {
        let packets = self.logarithmic(min_packets.max(0.5), 1000.0);
        let packets = if whole { packets.ceil() } else { packets };
        Written::Text(match self.below(3) {
            0 => format!("{packets} packets"),
            1 => format!("{} B", (packets * 1500.0).ceil()),
            _ => format!("{} us", (packets * 1000.0).ceil()),
        })
    }

    fn logarithmic(&mut self, low: f64, high: f64) -> f64 {
        // The platform's functions will do: nothing is compared across machines here.
        self.random.uniform_between(low.ln(), high.max(low).ln()).exp().clamp(low, high.max(low))
    }
}

/// Phases begin when the warm-up is over, and end before the shortest of runs.
fn respect_times(entries: &mut Entries) {
    let warmup = entries.iter().find(|(key, _)| *key == "warmup").map(|(_, written)| written.clone());
    let Some((_, Written::List(phases))) = entries.iter_mut().find(|(key, _)| *key == "phase") else { return };
    for phase in phases {
        let Written::Section(phase) = phase else { continue };
        for (key, written) in phase.iter_mut() {
            match (*key, &warmup) {
                ("from", Some(warmup)) => *written = warmup.clone(),
                ("to", _) => *written = Written::Text("600 ms".to_owned()),
                _ => {}
            }
        }
    }
}

impl Written {
    /// The name of the first table of a list.
    fn first_name(&self) -> Option<String> {
        let Written::List(list) = self else { return None };
        let Written::Section(entries) = list.first()? else { return None };
        entries.iter().find_map(|(key, written)| match written {
            Written::Text(name) if *key == "name" => Some(name.clone()),
            _ => None,
        })
    }

    /// Name and control of the first of a list that has one.
    fn first_control(&self) -> Option<Entries> {
        let Written::List(list) = self else { return None };
        list.iter().find_map(|group| {
            let Written::Section(entries) = group else { return None };
            let kept = entries.iter().filter(|(key, _)| ["name", "control"].contains(key));
            let kept: Entries = kept.cloned().collect();
            (kept.len() == 2).then_some(kept)
        })
    }

    fn is_kind(&self, kind: &str) -> bool {
        match self {
            Written::Text(text) => text == kind,
            Written::Inline(entries) | Written::Section(entries) => {
                entries.iter().any(|(key, written)| *key == "kind" && written.is_kind(kind))
            }
            _ => false,
        }
    }
}
