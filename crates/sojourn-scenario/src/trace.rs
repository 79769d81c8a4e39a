//! Reads recorded links.

use crate::Trace;
use crate::diagnostic::quote;
use std::fmt;
use std::io::{BufRead, Read};
use std::path::{Component, Path, PathBuf};

/// Where the files that a scenario names are looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Base {
    /// Relative to this folder.
    Folder(PathBuf),
    /// Relative to `folder`, and only what lies in `root`, also behind links: for scenarios of others. Nobody else may
    /// change `root` meanwhile.
    Confined {
        /// Where relative names are looked up.
        folder: PathBuf,
        /// What may be read.
        root: PathBuf,
    },
    /// Among these texts by their names: where there is a page and no file system.
    Given(Vec<(String, String)>),
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
    let path = match base {
        Base::Folder(folder) => folder.join(name),
        Base::Confined { folder, root } => confined(&folder.join(name), root, name)?,
        Base::Given(texts) => {
            let given = texts.iter().find(|(known, _)| known == name);
            let unknown =
                || TraceError::new(quote(name), "ready:NAME, or the name of a recorded link that was given here");
            return given.ok_or_else(unknown).and_then(|(_, text)| Trace::read(name, text.as_bytes()));
        }
        Base::Nowhere => return Err(TraceError::new(quote(name), "ready:NAME, where files cannot be read")),
    };
    let readable = "a file that can be read, relative to the scenario's folder";
    let failed = |error: std::io::Error| TraceError::new(format!("{} ({error})", quote(name)), readable);
    let size = regular_size(&path, name)?;
    if size > LARGEST_FILE {
        return Err(TraceError::new(format!("{} of {} MiB", quote(name), size >> 20), "a file of at most 64 MiB"));
    }
    let file = std::fs::File::open(&path).map_err(failed)?;
    // The file may have grown since its size was looked up.
    Trace::read(name, std::io::BufReader::new(file.take(LARGEST_FILE)))
}

/// The file at `path` without links, where it lies in `root`. What lies elsewhere is refused by its name alone, so that
/// nobody learns whether it exists.
fn confined(path: &Path, root: &Path, name: &str) -> Result<PathBuf, TraceError> {
    let outside = || {
        let found = format!("{}, which lies outside the folder that may be read", quote(name));
        TraceError::new(found, "a file in that folder, or ready:NAME")
    };
    let within = |path: &Path, root: &Path| path.starts_with(root).then_some(()).ok_or_else(outside);
    within(&normal(path).ok_or_else(outside)?, &normal(root).ok_or_else(outside)?)?;
    let missing = |_| TraceError::new(format!("{}, which does not exist", quote(name)), "a file that can be read");
    let real = path.canonicalize().map_err(missing)?;
    within(&real, &root.canonicalize().map_err(|_| outside())?)?;
    Ok(real)
}

/// An absolute path without `.` and `..`, as it is written.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for part in std::path::absolute(path).ok()?.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            other => normal.push(other),
        }
    }
    Some(normal)
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
    let shown = || start_of(text);
    let all_digits = text.iter().all(u8::is_ascii_digit);
    let parsed = std::str::from_utf8(text).ok().filter(|_| all_digits).and_then(|text| text.parse::<u64>().ok());
    let time = parsed.filter(|&time| time <= LATEST_MS).ok_or_else(shown)?;
    if time < last { Err(format!("{time} after {last}")) } else { Ok(time) }
}

/// The start of a line, in quotes. A few characters are enough to find it; more would let a scenario show what is in files
/// that are no traces.
fn start_of(line: &[u8]) -> String {
    const MAX_QUOTED: usize = 4;
    let start: String =
        line.iter().take(MAX_QUOTED).map(|&byte| if byte.is_ascii_graphic() { byte as char } else { '?' }).collect();
    format!("{start:?}{}", if line.len() > MAX_QUOTED { "..." } else { "" })
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
            ("99999999999\n", "\"9999\"... in line 1 of \"t\""),
            ("99999999999999999999999999\n", "\"9999\"... in line 1 of \"t\""),
            ("root:$y$j9T$secret\n", "\"root\"... in line 1 of \"t\""),
            ("\u{1b}[31\n", "\"?[31\" in line 1 of \"t\""),
        ] {
            assert_eq!(read(text), Err(found.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn endless_lines_end() {
        assert!(read(&"1".repeat(1_000_000)).is_err());
        assert!(read(&" ".repeat(1_000_000)).is_err());
    }

    #[test]
    fn a_scenario_reads_only_below_its_root() {
        let place = std::env::temp_dir().join(format!("sojourn-confined-{}", std::process::id()));
        let (root, below) = (place.join("root"), place.join("root/below"));
        std::fs::create_dir_all(&below).expect("a folder");
        for file in [place.join("outside.trace"), root.join("top.trace"), below.join("own.trace")] {
            std::fs::write(file, "5\n").expect("a file");
        }
        std::os::unix::fs::symlink(place.join("outside.trace"), below.join("link.trace")).expect("a link");
        std::os::unix::fs::symlink(root.join("top.trace"), below.join("inner.trace")).expect("a link");
        let base = Base::Confined { folder: below.clone(), root: root.clone() };
        let absolute = |path: &Path| path.display().to_string();
        for name in ["own.trace", "../top.trace", "inner.trace", &absolute(&root.join("top.trace"))] {
            assert!(open(name, &base).is_ok(), "{name}");
        }
        for name in [
            "../../outside.trace",
            "../../none.trace",
            "link.trace",
            "/etc/shadow",
            "/nowhere/none",
            &absolute(&place.join("root/../outside.trace")),
        ] {
            let error = open(name, &base).expect_err(name);
            assert!(error.found.ends_with("which lies outside the folder that may be read"), "{error}");
        }
        assert!(open("none.trace", &base).expect_err("it is not there").found.ends_with("which does not exist"));
        std::fs::remove_dir_all(place).expect("removed");
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
