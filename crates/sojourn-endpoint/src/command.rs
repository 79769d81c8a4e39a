//! The command line that all stacks share.

use crate::{Connection, run};
use sojourn_scenario::{Base, Direction, Scenario};
use sojourn_sim::{Monitor, Record, Session, Wanted};
use std::error::Error;
use std::io::Write;
use std::path::Path;
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
}

/// Makes both ends of a connection.
pub type Connect<'a> = &'a dyn Fn(&Asked) -> Result<Connection, Box<dyn Error>>;

/// Runs a scenario with a stack's connections on its flows of programs that travel forward.
///
/// # Errors
/// What the stack says of what it is asked for; what it does that no stack may do.
pub fn simulate(scenario: Scenario, asked: &Asked, connect: Connect<'_>) -> Result<Record, Box<dyn Error>> {
    let mut session = Session::new(scenario, asked.seed, &Wanted::default());
    let flows = session.outside().into_iter().filter(|(_, direction, _)| *direction == Direction::Forward).count();
    let numbered = (0..flows).map(|number| connect(&Asked { number, ..asked.clone() }));
    run(&mut session, numbered.collect::<Result<_, _>>()?, &Monitor::default())
        .map_err(|failure| failure.to_string())?;
    Ok(session.finish(&Monitor::default()).map_err(|why| format!("{why:?}"))?.record)
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

/// Does what these words ask for: `SCENARIO [CONTROL [SEED [BYTES]]]`. Prints the record as JSON. An empty control is the stack's
/// own choice.
///
/// # Errors
/// As [`simulate`]; what is wrong with the words or the scenario.
pub fn command_of(words: &[String], connect: Connect<'_>) -> Result<(), Box<dyn Error>> {
    let [file, rest @ ..] = words else {
        return Err("found no scenario; allowed: SCENARIO [CONTROL [SEED [BYTES]]]".into());
    };
    let number = |place: usize, what: &str| {
        let word: Option<&String> = rest.get(place);
        let read =
            |word: &String| word.parse::<u64>().map_err(|_| format!("{what}: found {word:?}; allowed: a whole number"));
        word.map(read).transpose()
    };
    let asked = Asked {
        control: rest.first().filter(|word| !word.is_empty()).cloned(),
        seed: number(1, "seed")?.unwrap_or(1),
        number: 0,
        bytes: number(2, "bytes")?,
    };
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let folder = Path::new(file).parent().unwrap_or(Path::new("."));
    let loaded = Scenario::parse(&text, Some(file), &Base::Folder(folder.to_owned()), &[]);
    let scenario = loaded.map_err(|problems| problems.to_string())?.scenario;
    let record = serde_json::to_string(&simulate(scenario, &asked, connect)?)?;
    Ok(writeln!(std::io::stdout(), "{record}")?)
}
