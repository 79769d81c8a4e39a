//! Reads recorded links.

use crate::Trace;
use crate::diagnostic::quote;
use std::fmt;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

/// Where the files that a scenario names are looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Base {
    /// Relative to this folder.
    Folder(PathBuf),
    /// Nowhere: only what comes with Sojourn can be named.
    Nowhere,
}

/// Why a recorded link cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceError {
    /// What was found.
    pub found: String,
    /// What is allowed.
    pub allowed: String,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found {}; allowed: {}", self.found, self.allowed)
    }
}

impl std::error::Error for TraceError {}

/// Largest file that is read: hours of the fastest cellular links.
const LARGEST_FILE: u64 = 64 << 20;
/// Latest time of a trace, in ms: the longest run.
const LATEST_MS: u64 = 10_000_000_000;
/// Longest line: the latest time, and some room.
const LONGEST_LINE: u64 = 64;

const FORMAT: &str = "one time in whole ms per line, from 0 to 10^10, none before the one above it, the last above 0";

impl TraceError {
    fn new(found: impl Into<String>, allowed: impl Into<String>) -> TraceError {
        TraceError { found: found.into(), allowed: allowed.into() }
    }

    fn format(found: impl Into<String>) -> TraceError {
        TraceError::new(found, FORMAT)
    }
}

/// Reads the file `name` relative to `base`.
pub(crate) fn open(name: &str, base: &Base) -> Result<Trace, TraceError> {
    let Base::Folder(folder) = base else {
        return Err(TraceError::new(quote(name), "ready:NAME, where files cannot be read"));
    };
    let readable = "a file that can be read, relative to the scenario's folder";
    let failed = |error: std::io::Error| TraceError::new(format!("{} ({error})", quote(name)), readable);
    let path = folder.join(Path::new(name));
    let size = regular_size(&path, name)?;
    if size > LARGEST_FILE {
        return Err(TraceError::new(format!("{} of {} MiB", quote(name), size >> 20), "a file of at most 64 MiB"));
    }
    let file = std::fs::File::open(&path).map_err(failed)?;
    // The file may have grown since its size was looked up.
    Trace::read(name, std::io::BufReader::new(file.take(LARGEST_FILE)))
}

/// The size of a file that is neither a directory nor a device nor a pipe.
pub(crate) fn regular_size(path: &Path, name: &str) -> Result<u64, TraceError> {
    let failed = |error: std::io::Error| {
        let found = match error.kind() {
            std::io::ErrorKind::NotFound => format!("{}, which does not exist", quote(name)),
            _ => format!("{} ({error})", quote(name)),
        };
        TraceError::new(found, "a file that can be read")
    };
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return Err(TraceError::new(format!("{}, which is a folder", quote(name)), "a file"));
    }
    if !metadata.is_file() {
        return Err(TraceError::new(format!("{}, which is a device or a pipe", quote(name)), "a regular file"));
    }
    Ok(metadata.len())
}

impl Trace {
    /// Reads a recorded link, line by line, and calls it `name`.
    ///
    /// # Errors
    /// A line that is not a whole number of ms or lies before the line above it; no line at all; a
    /// last time of zero.
    pub fn read(name: &str, mut reader: impl BufRead) -> Result<Trace, TraceError> {
        let mut opportunities_ms: Vec<u64> = Vec::new();
        let mut line = Vec::new();
        let mut empty_since = None;
        for number in 1u64.. {
            line.clear();
            let read = reader
                .by_ref()
                .take(LONGEST_LINE)
                .read_until(b'\n', &mut line)
                .map_err(|error| TraceError::format(format!("{} ({error})", quote(name))))?;
            if read == 0 {
                break;
            }
            let text = line.trim_ascii();
            if text.is_empty() {
                empty_since.get_or_insert(number);
                continue;
            }
            if let Some(empty) = empty_since {
                return Err(at_line(name, empty, "nothing"));
            }
            let last = opportunities_ms.last().copied().unwrap_or(0);
            opportunities_ms.push(time(text, last).map_err(|found| at_line(name, number, &found))?);
        }
        match opportunities_ms.last() {
            None => Err(TraceError::format(format!("{}, which is empty", quote(name)))),
            Some(0) => Err(TraceError::format(format!("{}, whose last time is 0", quote(name)))),
            Some(_) => Ok(Trace { name: name.to_owned(), opportunities_ms }),
        }
    }
}

fn at_line(name: &str, number: u64, found: &str) -> TraceError {
    TraceError::format(format!("{found} in line {number} of {}", quote(name)))
}

/// The time in `text`, which must not lie before `last`.
fn time(text: &[u8], last: u64) -> Result<u64, String> {
    let shown = || quote(&String::from_utf8_lossy(text));
    let all_digits = text.iter().all(u8::is_ascii_digit);
    let parsed = std::str::from_utf8(text).ok().filter(|_| all_digits).and_then(|text| text.parse::<u64>().ok());
    let time = parsed.filter(|&time| time <= LATEST_MS).ok_or_else(shown)?;
    if time < last { Err(format!("{time} after {last}")) } else { Ok(time) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Vec<u64>, String> {
        Trace::read("t", text.as_bytes()).map(|trace| trace.opportunities_ms).map_err(|error| error.found)
    }

    #[test]
    fn good_traces_are_read() {
        assert_eq!(read("0\n0\n5\n"), Ok(vec![0, 0, 5]));
        assert_eq!(read("1\r\n2\r\n"), Ok(vec![1, 2]), "CRLF");
        assert_eq!(read("3"), Ok(vec![3]), "no last newline");
        assert_eq!(read("3\n\n \n"), Ok(vec![3]), "empty lines at the end");
    }

    #[test]
    fn bad_traces_are_named_with_their_line() {
        for (text, found) in [
            ("", "\"t\", which is empty"),
            ("\n\n", "\"t\", which is empty"),
            ("0\n0\n", "\"t\", whose last time is 0"),
            ("1\nx\n", "\"x\" in line 2 of \"t\""),
            ("1\n-2\n", "\"-2\" in line 2 of \"t\""),
            ("1.5\n", "\"1.5\" in line 1 of \"t\""),
            ("1\n7\n5\n", "5 after 7 in line 3 of \"t\""),
            ("1\n\n5\n", "nothing in line 2 of \"t\""),
            ("99999999999\n", "\"99999999999\" in line 1 of \"t\""),
            ("99999999999999999999999999\n", "\"99999999999999999999999999\" in line 1 of \"t\""),
        ] {
            assert_eq!(read(text), Err(found.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn endless_lines_end() {
        assert!(read(&"1".repeat(1_000_000)).is_err());
        assert!(read(&" ".repeat(1_000_000)).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_trace_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Trace::read("t", &bytes[..]);
        }

        #[test]
        fn any_digits_are_a_trace_or_an_error(text in "[0-9\r\n ]{0,200}") {
            if let Ok(trace) = Trace::read("t", text.as_bytes()) {
                prop_assert!(trace.opportunities_ms.is_sorted());
                prop_assert!(!trace.period().is_zero());
            }
        }
    }
}
