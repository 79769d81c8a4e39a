//! What a page asks of the engine.

use crate::columns::{COLUMNS, columns};
use serde::Deserialize;
use serde_json::{Value, json};
use sojourn_core::{Span, Time};
use sojourn_scenario::{Base, Diagnostic, Diagnostics, Loaded, Scenario, Traffic};
use sojourn_sim::{BOTTLENECK, Monitor, PacketLog, Session, Stopped, Wanted, capacity_bytes, named_links};
use std::sync::Arc;

/// Most flows of a run in a page: a browser's tab has less memory and patience than a command line.
pub const MAX_FLOWS: u64 = 2000;

/// A scenario, and what is wanted of it.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The scenario as TOML.
    pub text: String,
    /// What messages call it, and its name where the text has none.
    #[serde(default)]
    pub name: Option<String>,
    /// Changes as of `sojourn run --set`: `dotted.key=value`.
    #[serde(default)]
    pub overrides: Vec<String>,
    /// Recorded links that the page was given: their names and texts.
    #[serde(default)]
    pub traces: Vec<(String, String)>,
    /// Another seed than the scenario's.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Step of the time series in s; none are kept without one.
    #[serde(default)]
    pub bin_s: Option<f64>,
    /// Whether the packets of the bottleneck, what is heard of calls and the objects of pages are kept.
    #[serde(default)]
    pub packets: bool,
}

impl Request {
    /// The request in `text`, which is JSON.
    ///
    /// # Errors
    /// Problems as [`check`] answers them.
    pub fn read(text: &str) -> Result<Request, Value> {
        serde_json::from_str(text).map_err(|error| sentence(&format!("the page asked for nothing known: {error}")))
    }

    fn load(&self) -> Result<Loaded, Value> {
        let loaded =
            Scenario::parse(&self.text, self.name.as_deref(), &Base::Given(self.traces.clone()), &self.overrides);
        let loaded = loaded.map_err(|problems| refusal(&problems))?;
        let flows: u64 = loaded.scenario.groups.iter().map(|group| u64::from(group.flows)).sum();
        if flows > MAX_FLOWS {
            let name = &loaded.scenario.name;
            return Err(sentence(&format!(
                "{name}: found {flows} flows; allowed in a page: at most {MAX_FLOWS}; `sojourn run` has no such limit"
            )));
        }
        if let Some(group) = loaded.scenario.groups.iter().find(|group| group.stack.is_some()) {
            let name = &group.name;
            return Err(sentence(&format!("group.{name}.stack: a page runs no stacks of others; `sojourn run` does")));
        }
        if let Some(group) = loaded.scenario.groups.iter().find(|group| matches!(group.traffic, Traffic::Program(_))) {
            let name = &group.name;
            return Err(sentence(&format!("group.{name}.traffic: a page runs no programs; `sojourn shell` does")));
        }
        Ok(loaded)
    }
}

/// What the scenario of a request is once every default is filled in: `{"scenario": {...}, "toml": TEXT, "links": [NAME],
/// "packets": NUMBER, "warnings": [PROBLEM]}`, where the number is that of the full packets that the bottleneck can carry.
///
/// # Errors
/// `{"problems": [{"message", "line", "column", "key"}], "left_out": N}` of a scenario that cannot be run.
pub fn check(request: &Request) -> Result<Value, Value> {
    let Loaded { scenario, warnings, .. } = request.load()?;
    Ok(json!({
        "scenario": scenario.to_json(),
        "toml": scenario.to_toml(),
        "links": named_links(&scenario).into_iter().map(|(name, ..)| name).collect::<Vec<_>>(),
        "packets": capacity_bytes(&scenario, BOTTLENECK, Time::ZERO, Time::ZERO + scenario.duration)
            / f64::from(scenario.largest_packet_bytes()),
        "warnings": warnings.iter().map(problem).collect::<Vec<_>>(),
    }))
}

fn refusal(problems: &Diagnostics) -> Value {
    json!({ "problems": problems.list().iter().map(problem).collect::<Vec<_>>(), "left_out": problems.left_out() })
}

fn problem(diagnostic: &Diagnostic) -> Value {
    json!({
        "message": diagnostic.to_string(),
        "line": diagnostic.line,
        "column": diagnostic.column,
        "key": diagnostic.key,
    })
}

/// Why a run goes on no more. Nobody asks the monitor to stop.
fn reason(stopped: &Stopped) -> String {
    match stopped {
        Stopped::Failed(failure) => failure.to_string(),
        Stopped::Asked => "stopped".to_owned(),
        Stopped::OutOfMemory => "out of memory".to_owned(),
    }
}

/// A refusal that has no place in the text.
fn sentence(message: &str) -> Value {
    json!({ "problems": [{ "message": message, "line": null, "column": null, "key": "" }], "left_out": 0 })
}

/// A run that a page advances step by step.
#[derive(Debug)]
pub struct Run {
    session: Option<Session<Arc<Scenario>>>,
    scenario: Arc<Scenario>,
    columns: [Vec<f64>; COLUMNS.len()],
    monitor: Monitor,
    /// Why there is no session any more.
    stopped: String,
}

impl Run {
    /// The run that `request` describes before its first event.
    ///
    /// # Errors
    /// As [`check`].
    pub fn open(request: &Request) -> Result<Run, Value> {
        let scenario = Arc::new(request.load()?.scenario);
        let bin = request.bin_s.map(|bin_s| Span::from_secs_f64(bin_s).max(Span::from_millis(1)));
        let seed = request.seed.unwrap_or(scenario.seed);
        let wanted = Wanted { bin, packets: request.packets, transfers: request.packets, ..Wanted::default() };
        let session = Session::new(Arc::clone(&scenario), seed, &wanted);
        Ok(Run {
            session: Some(session),
            scenario,
            columns: [const { Vec::new() }; COLUMNS.len()],
            monitor: Monitor::default(),
            stopped: String::new(),
        })
    }

    /// Takes the run forward to `until_s`, or to its end where that is earlier; where it is then, in s, or NaN for a run that
    /// goes on no more, of which [`Run::finish`] says why.
    pub fn advance(&mut self, until_s: f64) -> f64 {
        let Some(session) = &mut self.session else { return f64::NAN };
        match session.advance(Time::ZERO + Span::from_secs_f64(until_s.max(0.0)), &self.monitor) {
            Ok(()) => session.now().as_secs_f64(),
            Err(stopped) => {
                self.stopped = reason(&stopped);
                self.session = None;
                f64::NAN
            }
        }
    }

    /// Fills the columns with the bins that have ended since the last call.
    pub fn take(&mut self) {
        let series = self.session.as_mut().and_then(Session::take_series);
        self.columns = columns(series.unwrap_or_default(), &PacketLog::default(), &[], &self.scenario);
    }

    /// Takes the run to its end: the record as JSON, and in the columns the bins that have not been taken, and the packets
    /// where they are kept.
    ///
    /// # Errors
    /// A sentence for a run that the page's own control has stopped, or that has been finished before.
    pub fn finish(&mut self) -> Result<String, String> {
        let session = self.session.take().ok_or_else(|| self.stopped.clone())?;
        "finished".clone_into(&mut self.stopped);
        let outcome = session.finish(&self.monitor).map_err(|stopped| reason(&stopped))?;
        let packets = outcome.packets.unwrap_or_default();
        let objects = outcome.transfers.unwrap_or_default();
        self.columns = columns(outcome.series.unwrap_or_default(), &packets, &objects, &self.scenario);
        serde_json::to_string(&outcome.record).map_err(|error| error.to_string())
    }

    /// The column with this index in [`COLUMNS`].
    pub fn column(&self, index: usize) -> &[f64] {
        self.columns.get(index).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(overrides: &[&str]) -> Request {
        let ready = sojourn_scenario::ready().iter().find(|ready| ready.name == "motivating-red").unwrap();
        Request {
            text: ready.text.to_owned(),
            name: Some(ready.name.to_owned()),
            overrides: overrides.iter().map(|&text| text.to_owned()).collect(),
            seed: None,
            bin_s: Some(0.1),
            packets: false,
            traces: Vec::new(),
        }
    }

    /// The record without the time by the machine's clock, and all rows of all columns.
    fn result(steps_s: &[f64]) -> (String, Vec<Vec<f64>>) {
        let mut run = Run::open(&request(&["duration=5 s"])).unwrap();
        let mut rows = vec![Vec::new(); COLUMNS.len()];
        let keep = |run: &Run, rows: &mut Vec<Vec<f64>>| {
            rows.iter_mut().enumerate().for_each(|(index, column)| column.extend(run.column(index)));
        };
        for &step in steps_s {
            assert_eq!(run.advance(step), step.min(5.0));
            run.take();
            keep(&run, &mut rows);
        }
        let record = run.finish().unwrap();
        keep(&run, &mut rows);
        let mut record: Value = serde_json::from_str(&record).unwrap();
        record["wall_s"] = json!(0);
        (record.to_string(), rows)
    }

    #[test]
    fn steps_leave_no_trace() {
        let (whole, stepped) = (result(&[]), result(&[0.0, 0.01, 0.01, 2.345, 4.999, 7.0]));
        assert_eq!(whole.0, stepped.0);
        // Bins without a round-trip time hold a NaN, which equals nothing.
        assert_eq!(format!("{:?}", whole.1), format!("{:?}", stepped.1));
        assert_eq!(whole.1[0].len(), 50);
        assert_eq!(whole.1[10].len(), 500);
    }

    #[test]
    fn a_finished_run_stays_finished() {
        let mut run = Run::open(&request(&["duration=1 s"])).unwrap();
        assert!(run.finish().is_ok());
        assert_eq!(run.finish().unwrap_err(), "finished");
        assert!(run.advance(1.0).is_nan());
        run.take();
        assert_eq!(run.column(0), &[] as &[f64]);
        assert_eq!(run.column(COLUMNS.len()), &[] as &[f64]);
    }

    /// Each packet that left or was dropped, in order, with the group that sent it.
    #[test]
    fn packets_are_columns_where_they_are_wanted() {
        let mut run = Run::open(&Request { packets: true, ..request(&["duration=5 s"]) }).unwrap();
        let record: Value = serde_json::from_str(&run.finish().unwrap()).unwrap();
        let column = |name: &str| run.column(COLUMNS.iter().position(|known| *known == name).unwrap());
        let (left, dropped) = (column("packets.left_s"), column("packets.dropped"));
        assert!(left.is_sorted());
        let drops: f64 = dropped.iter().sum();
        assert_eq!(drops, record["bottleneck"]["drops"].as_f64().unwrap());
        assert_eq!(left.len() as f64 - drops, record["bottleneck"]["departures"].as_f64().unwrap());
        assert!(column("packets.group").iter().all(|group| [0.0, 1.0].contains(group)));
        assert!(column("packets.waited_s").iter().zip(left).all(|(waited, left)| (0.0..=*left).contains(waited)));
    }

    /// What is heard is what the record counts: each packet's fate, and over the whole run the same means.
    #[test]
    fn what_is_heard_of_a_call_is_what_the_record_says() {
        let ready = sojourn_scenario::ready().iter().find(|ready| ready.name == "voip-under-load").unwrap();
        for overrides in [vec!["warmup=0 s"], vec!["warmup=0 s", "bottleneck.queue=pie", "bottleneck.loss=0.02"]] {
            let overrides = overrides.into_iter().map(str::to_owned).collect();
            let mut run =
                Run::open(&Request { text: ready.text.to_owned(), packets: true, overrides, ..request(&[]) }).unwrap();
            let record: Value = serde_json::from_str(&run.finish().unwrap()).unwrap();
            let column = |name: &str| run.column(COLUMNS.iter().position(|known| *known == name).unwrap());
            let [groups, spoken, arrived, played] =
                ["calls.group", "calls.spoken_s", "calls.arrived_s", "calls.played_s"].map(column);
            for (group, name) in [(1.0, "speaks"), (2.0, "hears")] {
                let voip = &record["groups"][name]["voip"];
                let rows: Vec<usize> = (0..groups.len()).filter(|&row| groups[row] == group).collect();
                let count = |of: &dyn Fn(usize) -> bool| rows.iter().filter(|&&row| of(row)).count() as f64;
                let (lost, unplayed) = (count(&|row| arrived[row].is_nan()), count(&|row| played[row].is_nan()));
                let all = rows.len() as f64;
                // The record counts what is dropped; here a loss is known by the packet after it.
                assert!((lost / all - voip["loss"].as_f64().unwrap()).abs() < 2e-3, "{name}: {lost} of {all}, {voip}");
                assert!(
                    ((unplayed) / all - voip["late"].as_f64().unwrap() - lost / all).abs() < 2e-3,
                    "{name}: {voip}"
                );
                assert!(rows.is_sorted_by(|&one, &other| spoken[one] <= spoken[other]));
                assert!(rows.iter().all(|&row| played[row].is_nan() || played[row] >= arrived[row]));
            }
            let mos = column("opinions.mos");
            assert!(mos.len() > 20 && mos.iter().all(|mos| (1.0..=4.5).contains(mos)));
        }
    }

    /// Objects of pages arrive after they were asked for, and are those that the record counts.
    #[test]
    fn objects_of_pages_are_columns() {
        let ready = sojourn_scenario::ready().iter().find(|ready| ready.name == "web-pages").unwrap();
        let changed = vec!["warmup=0 s".to_owned(), "duration=40 s".to_owned()];
        let text = ready.text.to_owned();
        let mut run = Run::open(&Request { text, packets: true, overrides: changed, ..request(&[]) }).unwrap();
        let record: Value = serde_json::from_str(&run.finish().unwrap()).unwrap();
        let column = |name: &str| run.column(COLUMNS.iter().position(|known| *known == name).unwrap());
        let (asked, arrived) = (column("objects.asked_s"), column("objects.arrived_s"));
        assert_eq!(record["groups"]["web"]["fct_ms"]["count"].as_u64().unwrap(), asked.len() as u64);
        assert!(arrived.is_sorted() && asked.iter().zip(arrived).all(|(asked, arrived)| asked < arrived));
    }

    #[test]
    fn a_recorded_link_may_be_given_with_the_scenario() {
        let named = request(&["bottleneck={trace=\"bus.up\"}", "duration=2 s"]);
        let refused = check(&named).unwrap_err();
        assert!(refused["problems"][0]["message"].as_str().unwrap().contains("allowed: ready:NAME"), "{refused}");
        let given = Request { traces: vec![("bus.up".to_owned(), "0\n10\n20\n".to_owned())], ..named };
        let record: Value = serde_json::from_str(&Run::open(&given).unwrap().finish().unwrap()).unwrap();

        assert!(record["bottleneck"]["departures"].as_f64().unwrap() > 0.0);
        let broken = Request { traces: vec![("bus.up".to_owned(), "0\nten\n".to_owned())], ..given };
        assert!(check(&broken).unwrap_err()["problems"][0]["message"].as_str().unwrap().contains("in line 2 of"));
    }

    #[test]
    fn what_cannot_be_run_is_refused_with_its_place() {
        let refused = |overrides: &[&str]| check(&request(overrides)).unwrap_err();
        let message = |value: &Value| value["problems"][0]["message"].as_str().unwrap().to_owned();
        let unknown = refused(&["bottleneck.queue={kind=\"redd\"}"]);
        assert!(message(&unknown).contains("did you mean \"red\"?"), "{unknown}");
        let crowd = refused(&["group.tcp.flows=2001"]);
        assert!(message(&crowd).contains("found 2006 flows; allowed in a page: at most 2000"), "{crowd}");
        let program = "duration = \"5 s\"\nbottleneck.rate = \"1 Mbit/s\"\nbottleneck.queue = \"codel\"\n\
                       [[group]]\nname = \"mine\"\ntraffic = \"program\"\nrtt = \"20 ms\"\n";
        let program = check(&Request { text: program.to_owned(), ..request(&[]) }).unwrap_err();
        assert!(message(&program).contains("group.mine.traffic: a page runs no programs"), "{program}");
        let broken = Request { text: "name = ".to_owned(), ..request(&[]) };
        assert_eq!(check(&broken).unwrap_err()["problems"][0]["line"], 1);
        assert!(message(&Request::read("{}").unwrap_err()).contains("missing field `text`"));
    }

    #[test]
    fn the_text_of_a_checked_scenario_is_the_same_scenario() {
        let checked = check(&request(&["bottleneck.rate=4 Mbit/s"])).unwrap();
        let text = checked["toml"].as_str().unwrap().to_owned();
        let again = check(&Request { text, ..request(&[]) }).unwrap();
        assert_eq!(checked, again);
        assert_eq!(checked["scenario"]["bottleneck"]["rate"], "4 Mbit/s");
        assert_eq!(checked["links"][0], "bottleneck");
    }
}
