//! What is wrong with a scenario, and where.

use crate::origin::Origin;
use std::fmt;

/// How bad a problem is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The scenario cannot be run.
    Error,
    /// The scenario can be run, but may not do what its author wants.
    Warning,
}

/// One problem of a scenario: where it is, what was found, what is allowed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The file's name as the user gave it, or the `--set` option at fault.
    pub file: String,
    /// Line in the file, from 1.
    pub line: Option<u32>,
    /// Column in characters, from 1.
    pub column: Option<u32>,
    /// The key with dots, groups and hops by name: `group.tcp.rtt`; empty for the file as a whole.
    pub key: String,
    /// What was found there.
    pub found: String,
    /// What is allowed there; of a warning, why it is unwise.
    pub allowed: String,
    /// The nearest thing that is allowed.
    pub nearest: Option<String>,
}

impl Diagnostic {
    /// Whether `other` says the same of another link or station that the same table stands for.
    fn is_of_a_copy(&self, other: &Diagnostic) -> bool {
        let unnumbered = |key: &str| key.chars().filter(|letter| !letter.is_ascii_digit()).collect::<String>();
        let place = |one: &Diagnostic| one.line.zip(one.column);
        place(self).is_some()
            && place(self) == place(other)
            && (&self.found, &self.allowed) == (&other.found, &other.allowed)
            && unnumbered(&self.key) == unnumbered(&other.key)
    }

    /// What was found, what is allowed and what may have been meant, without the place.
    pub fn message(&self) -> String {
        let nearest = self.nearest.as_ref().map(|nearest| format!("; did you mean {nearest:?}?")).unwrap_or_default();
        let allowed = if self.severity == Severity::Error { "allowed: " } else { "" };
        format!("found {}; {allowed}{}{nearest}", self.found, self.allowed)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.message())
    }
}

/// All problems of a scenario, in the order of the file; at most [`Diagnostics::MOST`] are kept.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    left_out: usize,
}

impl Diagnostics {
    /// Most problems that are kept; of the others only their number is.
    pub const MOST: usize = 50;

    /// The problems that were kept.
    pub fn list(&self) -> &[Diagnostic] {
        &self.list
    }

    /// How many more there were.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Adds one; what is wrong in the same way at the same place of another copy of a table is said once.
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        if self.list.iter().any(|known| known.is_of_a_copy(&diagnostic)) {
            return;
        }
        if self.list.len() < Diagnostics::MOST {
            self.list.push(diagnostic);
        } else {
            self.left_out += 1;
        }
    }

    /// Sorts by place in the file; what has no line comes first.
    pub(crate) fn sort(&mut self) {
        self.list.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.column));
    }
}

/// One line for each problem.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.list.iter().enumerate() {
            let newline = if index > 0 { "\n" } else { "" };
            write!(f, "{newline}{diagnostic}")?;
        }
        if self.left_out > 0 {
            write!(f, "\n... and {} more", self.left_out)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// What was found, and the nearest allowed thing: a problem whose place its caller knows.
#[derive(Debug)]
pub(crate) struct Fault {
    pub found: String,
    pub nearest: Option<String>,
}

impl Fault {
    pub fn new(found: impl Into<String>) -> Fault {
        Fault { found: found.into(), nearest: None }
    }

    pub fn near(found: impl Into<String>, nearest: Option<impl Into<String>>) -> Fault {
        Fault { found: found.into(), nearest: nearest.map(Into::into) }
    }
}

/// Collects problems, knowing what to call the places they are in.
#[derive(Debug)]
pub(crate) struct Reporter<'a> {
    file: &'a str,
    overrides: &'a [String],
    pub problems: Diagnostics,
    pub warnings: Diagnostics,
}

impl<'a> Reporter<'a> {
    pub fn new(file: &'a str, overrides: &'a [String]) -> Reporter<'a> {
        Reporter { file, overrides, problems: Diagnostics::default(), warnings: Diagnostics::default() }
    }

    /// All errors, in order.
    pub fn finish(mut self) -> Diagnostics {
        self.problems.sort();
        self.problems
    }

    /// An error at `origin`.
    pub fn error(&mut self, origin: Origin, key: &str, fault: Fault, allowed: impl Into<String>) {
        let diagnostic = self.diagnostic(Severity::Error, origin, key, fault, allowed.into());
        self.problems.push(diagnostic);
    }

    /// The one of `names` that is most like `name`; not searched for once there are enough problems.
    pub fn nearest<'n>(&self, name: &str, names: &[&'n str]) -> Option<&'n str> {
        if self.problems.list.len() < Diagnostics::MOST { nearest(name, names.iter().copied()) } else { None }
    }

    /// Something legal but unwise at `origin`.
    pub fn warning(&mut self, origin: Origin, key: &str, found: impl Into<String>, advice: impl Into<String>) {
        let diagnostic = self.diagnostic(Severity::Warning, origin, key, Fault::new(found), advice.into());
        self.warnings.push(diagnostic);
    }

    fn diagnostic(&self, severity: Severity, origin: Origin, key: &str, fault: Fault, allowed: String) -> Diagnostic {
        let (file, line, column) = match origin {
            Origin::File { line, column } => (self.file.to_owned(), Some(line), Some(column)),
            Origin::Override(index) => (format!("--set {}", plain(&self.overrides[index])), None, None),
            Origin::Unknown => (self.file.to_owned(), None, None),
        };
        Diagnostic {
            severity,
            file,
            line,
            column,
            key: plain(key),
            found: fault.found,
            allowed,
            nearest: fault.nearest,
        }
    }

    /// A line number for a message that points at another place.
    pub fn place(&self, origin: Origin) -> String {
        match origin {
            Origin::File { line, .. } => format!(" in line {line}"),
            _ => String::new(),
        }
    }
}

/// The start of a text that a user may have made very long.
pub(crate) fn shorten(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// The start of a user's text without quotes, with its control characters made visible.
fn plain(text: &str) -> String {
    let visible =
        |letter: char| if letter.is_control() { letter.escape_default().to_string() } else { letter.to_string() };
    shorten(text).chars().map(visible).collect()
}

/// A user's text in quotes, with its control characters made visible.
pub(crate) fn quote(text: &str) -> String {
    format!("{:?}", shorten(text))
}

/// The one of `names` that is most like `name`, if any is like it.
pub(crate) fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    const LONGEST: usize = 60;
    const MEANINGFUL: usize = 4;
    if name.len() > LONGEST {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let most = (lower.chars().count() / 3).clamp(1, 3);
    let names: Vec<_> = names.into_iter().collect();
    // Who leaves something out means the whole: "reno" is newreno rather than veno, and "lp" is tcp_lp.
    let is_part = |known: &str| {
        lower.len() >= MEANINGFUL && known.contains(&lower) || known.split(['_', '-']).any(|word| word == lower)
    };
    let whole = names.iter().copied().filter(|known| is_part(known));
    if let Some(known) = whole.min_by_key(|known| known.len()) {
        return Some(known);
    }
    names
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(&lower, &known.to_ascii_lowercase()), known))
        .filter(|&(distance, known)| distance <= most && distance < known.len())
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, known)| known)
}
