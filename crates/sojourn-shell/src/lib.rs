//! A real program's packets through a scenario's path in real time: read from one device, sent through the links, queues,
//! delays and losses of a simulated run, written to another. The simulation's own flows run beside them and share the
//! queues.
//!
//! It needs Linux. Elsewhere the crate is empty.
#![cfg(target_os = "linux")]

mod buffers;
mod bundle;
mod end;
mod forwarding;
mod headers;
mod road;
mod timing;

pub use end::End;
pub use road::{Failure, Side, run};
pub use timing::Timing;
