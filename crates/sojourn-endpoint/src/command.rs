//! The command line that all stacks share.

use crate::carry::asked_bytes;
use crate::laws::{Law, Subject};
use crate::{Connection, run};
use serde_json::json;
use sojourn_capture::{qlog_names, table, write_qlogs, write_table};
use sojourn_core::Span;
use sojourn_scenario::{Base, Group, Scenario};
use sojourn_sim::{Monitor, Outcome, Record, Session, Wanted};
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What a connection is asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The congestion control, as the stack names it; none for the stack's own choice.
    pub control: Option<String>,
    /// The run's seed.
    pub seed: u64,
    /// The connection's number in the run.
    pub number: usize,
    /// What its application writes at first; without end where there is no number. More may follow by
    /// [`write`](crate::Endpoint::write), so the end of these bytes is not that of the connection.
    pub bytes: Option<u64>,
    /// The file for a log of what its sender decides, where one is wanted and the stack writes qlog.
    pub qlog: Option<PathBuf>,
}

/// What the words after the program's name may be.
const WORDS: &str = "SCENARIO [SEED [FOLDER KEPT...]], --controls, --laws, or --law NAME [CONTROL]";
/// What of a run can be kept beside its record.
const KEPT: &str = "series=SECONDS, probes, packets, transfers, delays, decisions";
/// The tables of what is kept.
const TABLES: [&str; 6] = ["queue", "flows", "queue_probes", "flow_probes", "packets", "transfers"];

/// What of a run is kept beside its record, in a folder that exists.
#[derive(Debug)]
pub struct Keep<'a> {
    /// Where.
    pub folder: &'a Path,
    /// What: a file `NAME.table` for each table, `packets.pcapng`, and logs of what senders decide.
    pub wanted: Wanted,
}

/// Makes both ends of a connection.
pub type Connect<'a> = &'a dyn Fn(&Asked) -> Result<Connection, Box<dyn Error>>;

/// Runs a scenario with a stack's connections on the flows of its groups with `stack`.
///
/// What is to be kept beside the record is written to files; what senders decide by the stack, and of the simulation's own
/// senders.
///
/// # Errors
/// Where there is no such group; what the stack says of what it is asked for; what it does that no stack may do.
pub fn simulate(
    scenario: Scenario,
    seed: u64,
    keep: Option<&Keep<'_>>,
    connect: Connect<'_>,
) -> Result<Record, Box<dyn Error>> {
    let wanted = keep.map_or(Wanted::default(), |keep| keep.wanted);
    let qlogs = keep.filter(|keep| keep.wanted.decisions).map(|keep| keep.folder);
    let mut session = Session::new(scenario, seed, &wanted);
    let names = qlog_names(session.scenario(), seed);
    let asked = |(number, (flow, group, _)): (usize, (usize, &Group, _))| Asked {
        control: group.stack.as_ref().and_then(|stack| stack.control.clone()),
        seed,
        number,
        bytes: asked_bytes(group),
        qlog: qlogs.map(|folder| folder.join(format!("{}.sqlog", names[flow]))),
    };
    let connections = session.stacks().into_iter().enumerate().map(|(number, flow)| {
        let name = &flow.1.name;
        connect(&asked((number, flow))).map_err(|error| format!("group.{name}: {error}"))
    });
    let connections: Vec<_> = connections.collect::<Result<_, _>>()?;
    if connections.is_empty() {
        return Err(
            format!("{}: found no group with the key stack; allowed: one or more", session.scenario().name).into()
        );
    }
    run(&mut session, connections, &Monitor::default()).map_err(|failure| failure.to_string())?;
    let scenario = session.scenario().clone();
    let outcome = session.finish(&Monitor::default()).map_err(|why| format!("{why:?}"))?;
    if let Some(keep) = keep {
        write(keep, &scenario, &outcome)?;
    }
    Ok(outcome.record)
}

/// Writes what is kept of a run.
fn write(keep: &Keep<'_>, scenario: &Scenario, outcome: &Outcome) -> Result<(), Box<dyn Error>> {
    let file = |name: &str| File::create(keep.folder.join(name)).map(BufWriter::new);
    for (name, columns) in TABLES.iter().filter_map(|name| Some((name, table(scenario, outcome, name).ok()?))) {
        let mut out = file(&format!("{name}.table"))?;
        write_table(&mut out, &columns)?;
        out.flush()?;
    }
    if let Some(packets) = &outcome.packets {
        let mut out = file("packets.pcapng")?;
        sojourn_capture::write(&mut out, scenario, packets)?;
        out.flush()?;
    }
    if let Some(log) = &outcome.decisions {
        write_qlogs(keep.folder, scenario, outcome.record.seed, log)?;
    }
    Ok(())
}

/// What words ask to keep.
fn wanted(words: &[String]) -> Result<Wanted, Box<dyn Error>> {
    let mut wanted = Wanted::default();
    for word in words {
        match word.as_str() {
            "probes" => wanted.probes = true,
            "packets" => wanted.packets = true,
            "transfers" => wanted.transfers = true,
            "delays" => wanted.delays = true,
            "decisions" => wanted.decisions = true,
            _ => {
                let seconds = word.strip_prefix("series=").and_then(|text| text.parse::<f64>().ok());
                let seconds = seconds.filter(|seconds| *seconds > 0.0 && seconds.is_finite());
                let seconds = seconds.ok_or_else(|| format!("kept: found {word:?}; allowed: {KEPT}"))?;
                wanted.bin = Some(Span::from_secs_f64(seconds).max(Span::from_nanos(1)));
            }
        }
    }
    Ok(wanted)
}

/// What is wrong with a control that is asked for.
fn refused(name: &str, controls: &[&str]) -> Option<String> {
    let allowed = if controls.is_empty() { "none".to_owned() } else { controls.join(", ") };
    (!controls.contains(&name)).then(|| format!("found {name:?}; allowed: {allowed}"))
}

/// Does what the words after the program's name ask for, and says on stderr what is wrong: the `main` of a stack.
///
/// `controls` are the names of the congestion controls that a scenario may ask for; where it asks for none the stack chooses.
pub fn command(controls: &[&str], connect: Connect<'_>) -> ExitCode {
    match command_of(&std::env::args().skip(1).collect::<Vec<_>>(), controls, connect) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Does what these words ask for, and prints JSON:
///
/// - `SCENARIO [SEED [FOLDER KEPT...]]`: the record of a run. Without a seed it is the scenario's. What is [kept](Keep) beside it
///   goes to the folder: `series=SECONDS` (the width of a bin), `probes`, `packets`, `transfers`, `delays`, `decisions`.
/// - `--controls`: the names of the stack's controls, a list.
/// - `--laws`: the laws of stacks, a list of `name` and `says`.
/// - `--law NAME [CONTROL]`: the verdict on one, with the usual bounds: `holds` and `found`.
///
/// # Errors
/// As [`simulate`]; what is wrong with the words or the scenario. A law that does not hold is none.
pub fn command_of(words: &[String], controls: &[&str], connect: Connect<'_>) -> Result<(), Box<dyn Error>> {
    let printed = match words {
        [word] if word == "--controls" => serde_json::to_string(controls)?,
        [word] if word == "--laws" => {
            let laws = Law::ALL.map(|law| json!({ "name": law.name(), "says": law.says() }));
            serde_json::to_string(&laws)?
        }
        [word, name, control @ ..] if word == "--law" && control.len() < 2 => {
            let law = Law::ALL
                .into_iter()
                .find(|law| law.name() == name)
                .ok_or_else(|| format!("--law: found {name:?}; allowed: {}", Law::ALL.map(Law::name).join(", ")))?;
            if let Some(wrong) = control.first().and_then(|name| refused(name, controls)) {
                return Err(format!("--law: control: {wrong}").into());
            }
            let subject = control.iter().fold(Subject::new("stack", connect), |subject, name| subject.control(name));
            let verdict = subject.judge(law);
            json!({ "holds": verdict.holds, "found": verdict.found }).to_string()
        }
        [word] if word.starts_with("--") => return Err(format!("found {word:?}; allowed: {WORDS}").into()),
        [file, run @ ..] if run.len() != 2 && !file.starts_with("--") => {
            let seed = run.first().map(|seed| seed.parse::<u64>()).transpose();
            let seed = seed.map_err(|_| format!("seed: found {:?}; allowed: a whole number", run[0]))?;
            let scenario = scenario(file, controls)?;
            let seed = seed.unwrap_or(scenario.seed);
            let keep = match run {
                [_, folder, words @ ..] => Some(Keep { folder: Path::new(folder), wanted: wanted(words)? }),
                _ => None,
            };
            serde_json::to_string(&simulate(scenario, seed, keep.as_ref(), connect)?)?
        }
        _ => return Err(format!("found {} words; allowed: {WORDS}", words.len()).into()),
    };
    Ok(writeln!(std::io::stdout(), "{printed}")?)
}

/// The scenario in a file, whose groups ask for controls that there are.
fn scenario(file: &str, controls: &[&str]) -> Result<Scenario, Box<dyn Error>> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let folder = Path::new(file).parent().unwrap_or(Path::new("."));
    let loaded = Scenario::parse(&text, Some(file), &Base::Folder(folder.to_owned()), &[]);
    let scenario = loaded.map_err(|problems| problems.to_string())?.scenario;
    let wrong = scenario.groups.iter().find_map(|group| {
        let control = group.stack.as_ref()?.control.as_ref()?;
        Some(format!("{file}: group.{}.control: {}", group.name, refused(control, controls)?))
    });
    wrong.map_or(Ok(scenario), |wrong| Err(wrong.into()))
}
