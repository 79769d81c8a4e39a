//! The command line that all stacks share.

use crate::laws::{Law, Subject};
use crate::{Connection, run};
use serde_json::json;
use sojourn_capture::{qlog_names, write_qlogs};
use sojourn_scenario::{Base, Group, Scenario, Traffic};
use sojourn_sim::{Monitor, Record, Session, Wanted};
use std::error::Error;
use std::io::Write;
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
    /// What it sends; without end where there is no number.
    pub bytes: Option<u64>,
    /// The file for a log of what its sender decides, where one is wanted and the stack writes qlog.
    pub qlog: Option<PathBuf>,
}

/// The folder of logs, by the name of the variable that QUIC stacks take it from.
const QLOG_FOLDER: &str = "QLOGDIR";

/// What the words after the program's name may be.
const WORDS: &str = "SCENARIO [SEED], --laws, or --law NAME [CONTROL]";

/// Makes both ends of a connection.
pub type Connect<'a> = &'a dyn Fn(&Asked) -> Result<Connection, Box<dyn Error>>;

/// Runs a scenario with a stack's connections on the flows of its groups with `stack`.
///
/// Where logs are wanted, what senders decide is written to `qlogs`, a folder that exists: by the stack, and of the simulation's
/// own senders.
///
/// # Errors
/// Where there is no such group; what the stack says of what it is asked for; what it does that no stack may do.
pub fn simulate(
    scenario: Scenario,
    seed: u64,
    qlogs: Option<&Path>,
    connect: Connect<'_>,
) -> Result<Record, Box<dyn Error>> {
    let wanted = Wanted { decisions: qlogs.is_some(), ..Wanted::default() };
    let mut session = Session::new(scenario, seed, &wanted);
    let names = qlog_names(session.scenario(), seed);
    let asked = |(number, (flow, group, _)): (usize, (usize, &Group, _))| Asked {
        control: group.stack.as_ref().and_then(|stack| stack.control.clone()),
        seed,
        number,
        bytes: match &group.traffic {
            Traffic::Bulk(bulk) => bulk.size_bytes,
            _ => None,
        },
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
    if let (Some(folder), Some(log)) = (qlogs, &outcome.decisions) {
        write_qlogs(folder, &scenario, seed, log)?;
    }
    Ok(outcome.record)
}

/// Does what the words after the program's name ask for, and says on stderr what is wrong: the `main` of a stack.
pub fn command(connect: Connect<'_>) -> ExitCode {
    match command_of(&std::env::args().skip(1).collect::<Vec<_>>(), connect) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Does what these words ask for, and prints JSON:
///
/// - `SCENARIO [SEED]`: the record of a run. Without a seed it is the scenario's. Logs go to the folder that QLOGDIR in the
///   environment names.
/// - `--laws`: the laws of stacks, a list of `name` and `says`.
/// - `--law NAME [CONTROL]`: the verdict on one, with the usual bounds: `holds` and `found`.
///
/// # Errors
/// As [`simulate`]; what is wrong with the words or the scenario. A law that does not hold is none.
pub fn command_of(words: &[String], connect: Connect<'_>) -> Result<(), Box<dyn Error>> {
    let printed = match words {
        [word] if word == "--laws" => {
            let laws = Law::ALL.map(|law| json!({ "name": law.name(), "says": law.says() }));
            serde_json::to_string(&laws)?
        }
        [word, name, control @ ..] if word == "--law" && control.len() < 2 => {
            let law = Law::ALL
                .into_iter()
                .find(|law| law.name() == name)
                .ok_or_else(|| format!("--law: found {name:?}; allowed: {}", Law::ALL.map(Law::name).join(", ")))?;
            let subject = control.iter().fold(Subject::new("stack", connect), |subject, name| subject.control(name));
            let verdict = subject.judge(law);
            json!({ "holds": verdict.holds, "found": verdict.found }).to_string()
        }
        [word] if word.starts_with("--") => return Err(format!("found {word:?}; allowed: {WORDS}").into()),
        [file] => recorded(file, None, connect)?,
        [file, seed] => {
            let read = seed.parse::<u64>().map_err(|_| format!("seed: found {seed:?}; allowed: a whole number"))?;
            recorded(file, Some(read), connect)?
        }
        _ => return Err(format!("found {} words; allowed: {WORDS}", words.len()).into()),
    };
    Ok(writeln!(std::io::stdout(), "{printed}")?)
}

/// The record of a run of the scenario in a file, as JSON.
fn recorded(file: &str, seed: Option<u64>, connect: Connect<'_>) -> Result<String, Box<dyn Error>> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let folder = Path::new(file).parent().unwrap_or(Path::new("."));
    let loaded = Scenario::parse(&text, Some(file), &Base::Folder(folder.to_owned()), &[]);
    let scenario = loaded.map_err(|problems| problems.to_string())?.scenario;
    let seed = seed.unwrap_or(scenario.seed);
    let qlogs = std::env::var_os(QLOG_FOLDER).map(PathBuf::from);
    Ok(serde_json::to_string(&simulate(scenario, seed, qlogs.as_deref(), connect)?)?)
}
