//! Where a value of a scenario comes from.

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// A place in the file, both from 1.
    File { line: u32, column: u32 },
    /// The override with this index.
    Override(usize),
    /// Somewhere in a text without lines, or nowhere.
    Unknown,
}

impl Origin {
    /// The line in the file.
    pub fn line(self) -> Option<u32> {
        match self {
            Origin::File { line, .. } => Some(line),
            Origin::Override(_) | Origin::Unknown => None,
        }
    }
}
