//! A reliable transport as two state machines: [options](options) shared by sender and receiver.

pub mod options;

pub use options::{DESCRIPTOR, Options};
