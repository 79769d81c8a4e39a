//! The population of access lines (`scenarios/lines/population.toml`): plans as they are sold, in homes as people have them.

use super::profiles::{Profile, Settings};
use crate::diagnostic::Reporter;
use crate::node::{Data, Node, Origin, Table};
use crate::{source, value};
use std::sync::LazyLock;

const TEXT: &str = include_str!("../../scenarios/lines/population.toml");
/// How much faster than the plan a line is on which a policer holds the plan's rate.
const POLICED_LINE: u64 = 4;
/// From how fast to how fast the rate of a mobile link goes, one after the other, in parts of the plan's rate.
const MOBILE: [f64; 5] = [0.6, 1.2, 0.8, 1.4, 1.0];
const MOBILE_S: u64 = 5;
/// After how long another satellite serves, how much longer the way by each second one is, and the rate there.
const ORBIT_S: u64 = 15;
const ORBIT_EXTRA_NS: u64 = 6_000_000;
const ORBIT_RATE: f64 = 0.7;

/// A line that people have.
#[derive(Debug)]
pub struct Line {
    /// PLAN-HOME.
    pub name: String,
    /// How many of all lines are like this, in parts of one.
    pub weight: f64,
    /// The part of the plan's rates to which the home's gateway shapes; nothing where it does not.
    pub gateway: Option<f64>,
    plan: &'static Table,
    home: &'static Table,
}

/// What is set of a link: keys and their values, written as in a file.
pub(super) type Keys = Vec<(&'static str, String)>;

/// A direction of a line.
pub(super) struct Way {
    pub keys: Keys,
    /// What passes in the long run, in bit/s of the wire: its rate, or that of the policer that holds the plan's.
    pub passes: u64,
}

/// What a line makes of a scenario.
pub(super) struct Path {
    /// The way to the home.
    pub down: Way,
    /// The way from it.
    pub up: Way,
    /// What changes of the links while a run goes on.
    pub changes: Vec<Step>,
    /// What else the home does: `data`, which way, and the rest of a group.
    pub others: &'static [Other],
}

/// A change of both links of a line: parts of their rates, and what their delays get in addition.
pub(super) struct Step {
    pub at_s: u64,
    pub every_s: u64,
    pub rate: f64,
    pub extra_ns: u64,
}

/// A group of the home.
pub(super) struct Other {
    pub name: &'static str,
    pub is_down: bool,
    pub keys: &'static [(&'static str, &'static str)],
}

const LINUX: [(&str, &str); 3] =
    [("rtt", "20 ms"), ("control", "{ kind = \"cubic\", preset = \"linux\" }"), ("transport", "linux")];
const FILM: Other = Other {
    name: "line-film",
    is_down: true,
    keys: &[LINUX[0], LINUX[1], LINUX[2], ("traffic", "video"), ("start", "{ uniform = [\"0 s\", \"1 s\"] }")],
};
const PAGES: Other = Other {
    name: "line-pages",
    is_down: true,
    keys: &[
        LINUX[0],
        LINUX[1],
        LINUX[2],
        (
            "traffic",
            "{ kind = \"web\", objects = 12, size = { kind = \"log-normal\", median = \"10 kB\", sigma = 1.2, max = \"1 MB\" }, think = \"10 s\" }",
        ),
    ],
};
const PHOTOS: Other = Other {
    name: "line-photos",
    is_down: false,
    keys: &[
        LINUX[0],
        LINUX[1],
        LINUX[2],
        ("traffic", "{ kind = \"transfers\", size = \"3 MB\", interval = \"20 s\" }"),
    ],
};

impl Line {
    /// All lines, in the order of the table.
    pub fn all() -> &'static [Line] {
        static LINES: LazyLock<Vec<Line>> = LazyLock::new(lines);
        &LINES
    }

    /// The line called `name`.
    pub fn named(name: &str) -> Option<&'static Line> {
        Line::all().iter().find(|line| line.name == name)
    }

    /// The line at a part of the population, whose lines lie side by side, each as wide as its weight.
    pub(super) fn at(part: f64) -> &'static Line {
        let mut end = 0.0;
        let mut lines = Line::all().iter();
        let found = lines.find(|line| {
            end += line.weight;
            part < end
        });
        found.or(Line::all().last()).expect("there are lines")
    }

    /// The technology of its plan: what the name begins with.
    pub fn technology(&self) -> &str {
        self.name.split('-').next().unwrap_or_default()
    }

    /// One line: the plan and the home.
    pub fn summary(&self) -> String {
        let [down, up] = ["down", "up"].map(|key| text(self.plan, key).unwrap_or_default());
        format!("{down} down, {up} up; {}", text(self.home, "summary").unwrap_or_default())
    }

    pub(super) fn path(&self) -> Path {
        let profile = text(self.plan, "profile").map(|name| Profile::named(name).expect("the table names profiles"));
        let direction = |rate: &str, buffer: &str, settings: Settings| {
            let mut keys: Keys = settings.iter().map(|&(key, value)| (key, value.to_owned())).collect();
            let mut put = |key, value: String| {
                keys.retain(|(known, _)| *known != key);
                keys.push((key, value));
            };
            let policer = text(self.plan, "policed");
            let plan = bits_per_second(text(self.plan, rate).expect("a plan has rates"));
            let wire = plan * if policer.is_some() { POLICED_LINE } else { 1 };
            put("rate", format!("{wire} bit/s"));
            put("delay", format!("{} ns", self.access_ns() / 2));
            if let Some(burst) = policer {
                put("policer", format!("{{ rate = \"{plan} bit/s\", burst = \"{burst}\" }}"));
            }
            if let Some(limit) = text(self.plan, buffer) {
                put("queue", format!("{{ kind = \"droptail\", limit = \"{limit}\" }}"));
            }
            if let Some(jitter) = text(self.home, "jitter") {
                put("jitter", jitter.to_owned());
            }
            if let Some(loss) = number(self.plan, "loss") {
                put("loss", loss.to_string());
            }
            Way { keys, passes: plan }
        };
        let (down, up) = profile.map_or((&[][..], &[][..]), |profile| (profile.down, profile.up));
        let step = |at_s, every_s, rate, extra_ns| Step { at_s, every_s, rate, extra_ns };
        let changes = match text(self.plan, "varies") {
            None => Vec::new(),
            Some("mobile") => (1..).zip(MOBILE).map(|(n, rate)| step(n * MOBILE_S, 5 * MOBILE_S, rate, 0)).collect(),
            Some("orbits") => {
                vec![step(ORBIT_S, 2 * ORBIT_S, ORBIT_RATE, ORBIT_EXTRA_NS), step(2 * ORBIT_S, 2 * ORBIT_S, 1.0, 0)]
            }
            Some(other) => unreachable!("the table says {other}"),
        };
        let others = match text(self.home, "others") {
            None => &[][..],
            Some("film") => &[FILM],
            Some("household") => &[FILM, PAGES, PHOTOS],
            Some(other) => unreachable!("the table says {other}"),
        };
        Path { down: direction("down", "down_buffer", down), up: direction("up", "up_buffer", up), changes, others }
    }

    /// What the access takes both ways, in ns.
    fn access_ns(&self) -> u64 {
        nanoseconds(text(self.plan, "rtt").expect("a plan has an RTT"))
    }
}

fn lines() -> Vec<Line> {
    static POPULATION: LazyLock<Node> =
        LazyLock::new(|| source::toml(TEXT, &mut Reporter::new("population.toml", &[])));
    let list = |key: &str| match POPULATION.as_table().and_then(|root| root.get(key)).map(|node| &node.data) {
        Some(Data::List(rows)) => rows.iter().filter_map(Node::as_table).collect::<Vec<_>>(),
        _ => Vec::new(),
    };
    let (plans, homes): (Vec<&'static Table>, Vec<&'static Table>) = (list("plan"), list("home"));
    let weight = |table: &Table| number(table, "weight").expect("a row has a weight");
    let sum = |tables: &[&'static Table]| tables.iter().map(|table| weight(table)).sum::<f64>();
    let all = sum(&plans) * sum(&homes);
    let line = |plan: &'static Table, home: &'static Table| Line {
        name: format!("{}-{}", text(plan, "name").unwrap_or_default(), text(home, "name").unwrap_or_default()),
        weight: weight(plan) * weight(home) / all,
        gateway: number(home, "gateway"),
        plan,
        home,
    };
    plans.iter().flat_map(|plan| homes.iter().map(move |home| line(plan, home))).collect()
}

impl Way {
    /// The direction that keys describe which name no policer.
    pub fn of(keys: Keys) -> Way {
        let passes = keys.iter().find(|(key, _)| *key == "rate").map_or(1, |(_, rate)| bits_per_second(rate));
        Way { keys, passes }
    }

    /// What it has of rate and delay after a change.
    pub fn then(&self, step: &Step) -> String {
        let rate = (self.passes as f64 * step.rate).round();
        let delay = self.delay_ns() + step.extra_ns;
        format!("rate = \"{rate} bit/s\", delay = \"{delay} ns\"")
    }

    /// Its propagation delay, in ns.
    pub fn delay_ns(&self) -> u64 {
        self.keys.iter().find(|(key, _)| *key == "delay").map_or(0, |(_, delay)| nanoseconds(delay))
    }
}

fn nanoseconds(time: &str) -> u64 {
    let read = value::span(&Node::text(time, Origin::Unknown));
    read.unwrap_or_else(|_| panic!("the table has the time {time}")).as_nanos()
}

fn bits_per_second(rate: &str) -> u64 {
    let read = value::rate(&Node::text(rate, Origin::Unknown));
    read.unwrap_or_else(|_| panic!("the table has the rate {rate}")).bits_per_second()
}

fn text<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.get(key)?.as_text()
}

fn number(table: &Table, key: &str) -> Option<f64> {
    match table.get(key)?.data {
        Data::Integer(value) => Some(value as f64),
        Data::Float(value) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Base, Scenario};

    fn load(text: &str, overrides: &[&str]) -> Scenario {
        let overrides: Vec<_> = overrides.iter().map(|&one| one.to_owned()).collect();
        let group = "\nduration = \"40 s\"\ngroup = [{ name = \"a\", control = \"cubic\", rtt = \"20 ms\" }]";
        let loaded = Scenario::parse(&format!("{text}{group}"), None, &Base::Nowhere, &overrides);
        loaded.unwrap_or_else(|problems| panic!("{text}: {problems}")).scenario
    }

    /// Homes of a street: as many of each technology as its weight says, the same line both ways, and changes of what varies.
    #[test]
    fn hops_are_lines_of_the_population() {
        let hop = |way: &str, keys: &str, ends: &str| {
            format!("[[hop]]\nname = \"{way}\"\ncount = 200\nlines = \"{way}\"\n{ends}\n{keys}\n")
        };
        let ways =
            hop("down", "loss = 0.5", "from = \"b\"\nto = \"h-*\"") + &hop("up", "", "from = \"h-*\"\nto = \"a\"");
        let text = format!(
            "duration = \"12 s\"\nbottleneck = {{ rate = \"1 Gbit/s\", from = \"a\", to = \"b\" }}\n{ways}\
             [[group]]\nname = \"tcp\"\nflows = 200\ncontrol = \"cubic\"\nrtt = \"20 ms\"\nfrom = \"a\"\nto = \"h-*\"\n"
        );
        let scenario = Scenario::parse(&text, None, &Base::Nowhere, &[]).expect("a street").scenario;
        assert_eq!(scenario.hops.len(), 400);
        let lines: Vec<_> = (0..200).map(|home| Line::at((f64::from(home) + 0.5) / 200.0)).collect();
        for technology in Line::all().iter().map(Line::technology) {
            let weight: f64 =
                Line::all().iter().filter(|one| one.technology() == technology).map(|one| one.weight).sum();
            let homes = lines.iter().filter(|one| one.technology() == technology).count();
            assert!((homes as f64 - 200.0 * weight).abs() <= 1.0, "{technology}: {homes} of 200, weight {weight}");
        }
        for (home, line) in lines.iter().enumerate() {
            let Path { down, up, .. } = line.path();
            for (way, hop) in [(&down, home), (&up, 200 + home)] {
                let rate = scenario.hops[hop].link.capacity().mean_rate().bits_per_second();
                let (_, wire) = way.keys.iter().find(|(key, _)| *key == "rate").expect("lines have rates");
                assert_eq!(rate, bits_per_second(wire), "{}", line.name);
            }
            assert!((scenario.hops[home].link.loss - 0.5).abs() < 1e-9, "a key of its own");
        }
        let varies = lines.iter().filter(|line| line.path().changes.iter().any(|step| step.at_s < 12)).count();
        let first = scenario.changes.first().expect("mobile lines change");
        assert!(varies > 5 && first.links.len() == 2 * varies, "{varies} homes, {} links", first.links.len());
    }

    #[test]
    fn there_are_two_hundred_lines_whose_weights_are_parts_of_one() {
        let lines = Line::all();
        assert!(lines.len() >= 200);
        assert!((lines.iter().map(|line| line.weight).sum::<f64>() - 1.0).abs() < 1e-12);
        let names: std::collections::BTreeSet<_> = lines.iter().map(|line| &line.name).collect();
        assert_eq!(names.len(), lines.len());
    }

    /// Each in both directions, with the home's gateway, without one and with one.
    #[test]
    fn every_line_is_a_scenario() {
        for line in Line::all() {
            for side in ["up", "down"] {
                for gateway in ["", ", gateway = 0", ", gateway = 0.9"] {
                    load(&format!("access = {{ line = \"{}\", bottleneck = \"{side}\"{gateway} }}", line.name), &[]);
                }
            }
        }
    }

    /// The gateway's shapers are slower than the line, which stands behind them on the way up and before them on the way
    /// down.
    #[test]
    fn a_gateway_shapes_before_the_modem() {
        let scenario = load("access = { line = \"cable-100-10-quiet\", gateway = 0.9 }", &[]);
        let rate = |link: &crate::Link| link.capacity().mean_rate().to_string();
        assert_eq!(rate(&scenario.bottleneck), "9 Mbit/s");
        assert_eq!(scenario.bottleneck.queue.descriptor().name, "cake");
        assert_eq!(rate(scenario.reverse.as_ref().unwrap()), "90 Mbit/s");
        let hops: Vec<_> = scenario.hops.iter().map(|hop| (hop.name.as_str(), rate(&hop.link))).collect();
        assert_eq!(hops, [("modem", "10 Mbit/s".to_owned()), ("isp", "100 Mbit/s".to_owned())]);
        assert_eq!(scenario.hops[0].link.delay, sojourn_core::Span::from_millis(6));
    }

    /// The gateway shapes to the plan, not to the faster line on which a policer holds it.
    #[test]
    fn a_policed_plan_is_shaped_below_the_policer() {
        let scenario = load("access = { line = \"fibre-100-20-quiet\", gateway = 0.9 }", &[]);
        assert_eq!(scenario.bottleneck.capacity().mean_rate().to_string(), "18 Mbit/s");
        let modem = &scenario.hops[0].link;
        assert_eq!(modem.capacity().mean_rate().to_string(), "80 Mbit/s");
        assert_eq!(modem.policer.unwrap().rate.to_string(), "20 Mbit/s");
    }

    #[test]
    fn a_line_of_an_override_takes_the_place_of_links() {
        let links = "bottleneck = { rate = \"1 Mbit/s\", queue = \"codel\" }\nreverse.rate = \"2 Mbit/s\"";
        let scenario = load(links, &["access.line=fibre-50-10-film", "bottleneck.queue=pie"]);
        assert_eq!(scenario.bottleneck.capacity().mean_rate().to_string(), "10 Mbit/s");
        assert_eq!(scenario.bottleneck.queue.descriptor().name, "pie");
        assert_eq!(scenario.groups[1].name, "line-film");
    }

    /// What a file with an access line sets of its links stays.
    #[test]
    fn a_line_of_an_override_keeps_what_is_beside_another_line() {
        let text = "access.line = \"cable-50-5-quiet\"\nbottleneck.queue = \"codel\"";
        let scenario = load(text, &["access.line=fibre-50-10-quiet"]);
        assert_eq!(scenario.bottleneck.queue.descriptor().name, "codel");
    }

    /// No change after the end of a short run, which would be refused.
    #[test]
    fn what_varies_changes_within_the_run() {
        let changes = |line: &str| load(&format!("access.line = \"{line}\""), &[]).changes.len();
        assert_eq!(
            [changes("fixed-5g-100-20-quiet"), changes("leo-200-20-quiet"), changes("geo-50-3-quiet")],
            [7, 2, 0]
        );
        let short = load("access.line = \"fixed-5g-100-20-quiet\"", &["bottleneck.queue=pie", "duration=12 s"]);
        assert_eq!(short.changes.len(), 2);
    }

    #[test]
    fn a_gateway_before_a_shared_medium_is_refused() {
        let text = "access = { profile = \"wifi\", gateway = 0.9 }\nduration = \"1 s\"\ngroup = [{ name = \"a\", control = \"cubic\", rtt = \"1 ms\" }]";
        let problems = Scenario::parse(text, None, &Base::Nowhere, &[]).unwrap_err().to_string();
        assert!(problems.contains("access.gateway: found a gateway before a medium that stations share"), "{problems}");
    }

    #[test]
    fn an_unknown_line_gets_a_suggestion() {
        let text = "access.line = \"cable-100-10-fim\"\nduration = \"1 s\"\ngroup = [{ name = \"a\", control = \"lp\", rtt = \"1 ms\", direction = \"reverse\" }]";
        let problems = Scenario::parse(text, None, &Base::Nowhere, &[]).unwrap_err().to_string();
        assert!(problems.contains("did you mean \"cable-100-10-film\"?"), "{problems}");
        // Its links are not there: nothing is said of what lies beside them.
        assert!(!problems.contains("[reverse]"), "{problems}");
        assert!(problems.contains("did you mean \"tcp_lp\"?"), "{problems}");
    }
}
