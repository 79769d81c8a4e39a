//! The runs behind each law.

use super::{Law, Subject};
use crate::simulate;
use serde_json::Value;
use sojourn_scenario::{Base, Scenario};
use sojourn_sim::Record;

const RATE_MBPS: f64 = 10.0;
const RTT_S: f64 = 0.04;
const SEEDS: u64 = 3;
/// Measurements leave out so much of a run's beginning.
const WARMUP_S: f64 = 5.0;
/// What a transfer over an empty link sends: long enough that it does not end in slow start.
const SENT_BYTES: u64 = 1_000_000;
/// How long such a transfer is waited for, so that a verdict can say when it ended.
const SENT_WITHIN_S: f64 = 60.0;
/// What a transfer over a path with faults sends.
const HARD_BYTES: u64 = 300_000;
/// Packets of the bandwidth-delay product.
const BDP: u32 = 34;

/// Whether a law holds and what was found; or why a run failed.
pub type Judged = Result<(bool, String), String>;

/// Judges a stack by one law.
pub fn check(subject: &Subject, law: Law) -> Judged {
    match law {
        Law::SameSeed => same_seed(subject),
        Law::Arithmetic => arithmetic(subject),
        Law::Faults => faults(subject),
        Law::LoneUse => lone_use(subject),
        Law::LoneLoss => lone_loss(subject),
        Law::EqualShares => equal_shares(subject),
    }
}

/// A link, and the connections on it.
#[derive(Clone)]
struct Lab {
    duration_s: f64,
    warmup_s: f64,
    rate: &'static str,
    queue: String,
    /// Further keys of the bottleneck.
    link: &'static str,
    /// Further tables of the scenario.
    tables: &'static str,
    flows: u32,
    /// Further keys of the connections' group.
    group: &'static str,
    bytes: Option<u64>,
}

impl Lab {
    /// So many connections that send without end.
    fn endless(queue: String, duration_s: f64, flows: u32) -> Lab {
        let (rate, link, tables, group) = ("10 Mbit/s", "", "", "");
        Lab { duration_s, warmup_s: WARMUP_S, rate, queue, link, tables, flows, group, bytes: None }
    }

    /// A connection that sends so much.
    fn transfer(queue: String, duration_s: f64, bytes: u64) -> Lab {
        Lab { warmup_s: 0.0, bytes: Some(bytes), ..Lab::endless(queue, duration_s, 1) }
    }

    fn run(&self, subject: &Subject, seed: u64) -> Result<Record, String> {
        let Lab { duration_s, warmup_s, rate, queue, link, tables, flows, group, .. } = self;
        let control = subject.control.as_ref().map_or(String::new(), |name| format!("control = {name:?}\n"));
        let bytes =
            self.bytes.map_or(String::new(), |size| format!("traffic = {{ kind = \"bulk\", size = \"{size} B\" }}\n"));
        let text = format!(
            "duration = \"{duration_s} s\"\nwarmup = \"{warmup_s} s\"\n\
             bottleneck = {{ rate = \"{rate}\", queue = {queue}{link} }}\n{tables}\
             [[group]]\nname = \"a\"\nstack = \"judged\"\nrtt = \"40 ms\"\nflows = {flows}\n{control}{bytes}{group}"
        );
        let scenario = Scenario::parse(&text, None, &Base::Nowhere, &[]).map_err(|problems| problems.to_string())?;
        simulate(scenario.scenario, seed, None, subject.connect).map_err(|error| error.to_string())
    }

    /// The mean of a number of the record over all seeds; none where a run has none.
    fn mean(&self, subject: &Subject, number: impl Fn(&Record) -> Option<f64>) -> Result<Option<f64>, String> {
        let found: Result<Vec<_>, _> = (1..=SEEDS).map(|seed| self.run(subject, seed)).collect();
        let found: Option<Vec<_>> = found?.iter().map(number).collect();
        Ok(found.map(|values| values.iter().sum::<f64>() / values.len() as f64))
    }

    fn measured(&self) -> String {
        format!("from {} to {} s", self.warmup_s, self.duration_s)
    }
}

fn droptail(packets: u32) -> String {
    format!("{{ kind = \"droptail\", limit = \"{packets} packets\" }}")
}

/// When the one transfer of a run ended, in s; none where it did not, or not all of it arrived.
fn ended_s(record: &Record, bytes: u64) -> Option<f64> {
    let fct = record.groups["a"].fct_ms.as_ref()?;
    (record.flows[0].delivered_bytes == bytes).then_some(fct.mean? / 1e3)
}

fn percent(part: Option<f64>) -> String {
    part.map_or("unknown".to_owned(), |part| format!("{:.1} %", 100.0 * part))
}

fn same_seed(subject: &Subject) -> Judged {
    let lab = Lab::endless(droptail(50), 30.0, 2);
    let record = || {
        let mut record = serde_json::to_value(lab.run(subject, 1)?).map_err(|error| error.to_string())?;
        record["wall_s"].take();
        Ok::<_, String>(record)
    };
    Ok(match difference(&record()?, &record()?) {
        None => (true, "the same record twice".to_owned()),
        Some((place, one, two)) => (
            false,
            format!("two runs of {} s with one seed: {place} is {one} and {two}; allowed: the same", lab.duration_s),
        ),
    })
}

/// The first place where two records differ, and what they have there.
pub fn difference(one: &Value, two: &Value) -> Option<(String, String, String)> {
    let within = |key: &str, one, two| difference(one, two).map(|(rest, a, b)| (format!("{key}.{rest}"), a, b));
    let found = match (one, two) {
        (Value::Object(one), Value::Object(two)) if one.keys().eq(two.keys()) => {
            one.iter().find_map(|(key, value)| within(key, value, &two[key]))
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            one.iter().zip(two).enumerate().find_map(|(place, (one, two))| within(&place.to_string(), one, two))
        }
        _ => (one != two).then(|| (String::new(), one.to_string(), two.to_string())),
    };
    found.map(|(place, one, two)| (place.trim_end_matches('.').to_owned(), one, two))
}

/// Room for all of the transfer, so nothing is lost.
fn arithmetic(subject: &Subject) -> Judged {
    let record = Lab::transfer(droptail(1000), SENT_WITHIN_S, SENT_BYTES).run(subject, 1)?;
    let least_s = SENT_BYTES as f64 * 8.0 / (RATE_MBPS * 1e6);
    let most_s = least_s / subject.bounds.efficiency + subject.bounds.round_trips * RTT_S;
    let allowed = format!("allowed: after {least_s:.2} s, by {most_s:.2} s");
    Ok(match ended_s(&record, SENT_BYTES) {
        Some(at_s) => (
            at_s > least_s && at_s <= most_s,
            format!("flow 0: all {SENT_BYTES} B had arrived at {at_s:.3} s; {allowed}"),
        ),
        None => (false, format!("{}; {allowed}", short(&record, SENT_BYTES, SENT_WITHIN_S))),
    })
}

/// What has arrived of a transfer that did not end.
fn short(record: &Record, bytes: u64, at_s: f64) -> String {
    format!("flow 0 at {at_s} s: {} of {bytes} B have arrived", record.flows[0].delivered_bytes)
}

fn faults(subject: &Subject) -> Judged {
    let within_s = subject.bounds.faults_s;
    let usual = Lab::transfer(droptail(50), within_s, HARD_BYTES);
    let paths = [
        ("5 % loss", Lab { link: ", loss = 0.05", ..usual.clone() }),
        (
            "5 % loss on the way back",
            Lab { tables: "reverse = { rate = \"10 Mbit/s\", loss = 0.05 }\n", ..usual.clone() },
        ),
        (
            "reordering",
            Lab { link: ", jitter = { kind = \"uniform\", max = \"20 ms\", reorder = true }", ..usual.clone() },
        ),
        ("a buffer of two packets", Lab { queue: droptail(2), ..usual.clone() }),
        ("100 kbit/s", Lab { rate: "100 kbit/s", ..usual.clone() }),
        (
            "3 s without a link",
            Lab {
                tables: "change = [{ at = \"100 ms\", bottleneck = { loss = 1.0 } }, \
                         { at = \"3100 ms\", bottleneck = { loss = 0.0 } }]\n",
                ..usual
            },
        ),
    ];
    let (mut broken, mut ended) = (Vec::new(), Vec::new());
    for (what, lab) in paths {
        let record = lab.run(subject, 1).map_err(|error| format!("{what}: {error}"))?;
        match ended_s(&record, HARD_BYTES) {
            Some(at_s) => ended.push(format!("{what} at {at_s:.2} s")),
            None => broken.push(format!("{what}: {}", short(&record, HARD_BYTES, within_s))),
        }
    }
    let allowed = format!("allowed: all by {within_s} s");
    Ok(if broken.is_empty() {
        (true, format!("flow 0: {HARD_BYTES} B had arrived through {}; {allowed}", ended.join(", ")))
    } else {
        (false, format!("{}; {allowed}", broken.join("; ")))
    })
}

fn lone_use(subject: &Subject) -> Judged {
    let lab = Lab::endless(droptail(BDP), 60.0, 1);
    let (used, least) = (lab.mean(subject, |record| record.bottleneck.utilization)?, subject.bounds.utilization);
    let found =
        format!("flow 0 {}: utilization {}; allowed: at least {}", lab.measured(), percent(used), percent(Some(least)));
    Ok((used >= Some(least), found))
}

/// Whether a window follows its losses shows under each discipline.
fn lone_loss(subject: &Subject) -> Judged {
    let queues = [
        ("droptail", droptail(BDP)),
        ("red", "{ kind = \"red\", limit = \"100 packets\" }".to_owned()),
        ("codel", "\"codel\"".to_owned()),
        ("pie", "\"pie\"".to_owned()),
        ("fq_codel", "\"fq_codel\"".to_owned()),
        ("cake", "\"cake\"".to_owned()),
    ];
    let most = subject.bounds.loss;
    let (mut broken, mut measured, mut names, mut highest) = (Vec::new(), String::new(), Vec::new(), Some(0.0));
    for (name, queue) in queues {
        let lab = Lab::endless(queue, 30.0, 1);
        let lost = lab.mean(subject, |record| record.bottleneck.drop_rate);
        let lost = lost.map_err(|error| format!("{name}: {error}"))?;
        if lost.is_none_or(|lost| lost > most) {
            broken.push(format!("{} under {name}", percent(lost)));
        }
        (measured, highest) = (lab.measured(), if lost > highest { lost } else { highest });
        names.push(name);
    }
    let allowed = format!("allowed: at most {}", percent(Some(most)));
    Ok(if broken.is_empty() {
        let highest = percent(highest);
        (true, format!("flow 0 {measured}: at most {highest} dropped under {}; {allowed}", names.join(", ")))
    } else {
        (false, format!("flow 0 {measured}: dropped {}; {allowed}", broken.join(", ")))
    })
}

fn equal_shares(subject: &Subject) -> Judged {
    let start = "start = { uniform = [\"0 s\", \"1 s\"] }\n";
    let lab = Lab { group: start, ..Lab::endless(droptail(50), 60.0, 4) };
    let (jain, least) = (lab.mean(subject, |record| record.groups["a"].jain)?, subject.bounds.jain);
    let found = jain.map_or("unknown".to_owned(), |jain| format!("{jain:.3}"));
    let found = format!("flows 0 to 3 {}: Jain's index {found}; allowed: at least {least}", lab.measured());
    Ok((jain >= Some(least), found))
}
