//! What can go wrong.

use std::fmt::{Display, Formatter};

/// Whose fault it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The plan is wrong.
    Input,
    /// This machine lacks something, or forbids it.
    Missing,
    /// It went wrong on the way.
    Failed,
    /// The caller asked to stop.
    Stopped,
}

impl Fault {
    /// As `error.json` names it.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Input => "input",
            Fault::Missing => "missing",
            Fault::Failed => "failed",
            Fault::Stopped => "stopped",
        }
    }
}

/// An error with a sentence for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WireError {
    /// Whose fault it is.
    pub fault: Fault,
    /// What happened.
    pub message: String,
}

impl WireError {
    /// The plan is wrong.
    pub fn input(message: impl Into<String>) -> WireError {
        WireError { fault: Fault::Input, message: message.into() }
    }

    /// This machine lacks something.
    pub fn missing(message: impl Into<String>) -> WireError {
        WireError { fault: Fault::Missing, message: message.into() }
    }

    /// It went wrong.
    pub fn failed(message: impl Into<String>) -> WireError {
        WireError { fault: Fault::Failed, message: message.into() }
    }
}

impl Display for WireError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for WireError {}
