//! Endpoints on real sockets: TCP of the kernel, datagrams at a rate, the project's own controls over UDP, echo probes,
//! captures. A plan says what to do, a report what was seen; one event loop in one thread does it all.
//!
//! Times are those of CLOCK_MONOTONIC, so that all endpoints on one kernel share them. The loop sleeps in one system
//! call until something is due or has arrived: where a kernel runs in virtual time, its cost is that of its system calls.
//!
//! It needs Linux. Elsewhere the crate is empty, so that the workspace builds there, and whoever asks for it says so.
#![cfg(target_os = "linux")]

mod bins;
mod budget;
mod capture;
mod cbr;
mod clock;
mod error;
mod log;
mod marked;
mod ping;
mod plan;
mod poll;
mod report;
mod socket;
#[allow(unsafe_code, reason = "the C library's calls that no safe crate offers; nothing else is in there")]
mod sys;
mod tables;
mod tcp;
pub mod udp;
mod wire;

pub use clock::now;
pub use error::{Fault, WireError};
pub use log::PacketLog;
pub use marked::Marked;
pub use plan::{BudgetPlan, CaptureDirection, CapturePlan, FlowPlan, Kind, PingPlan, Plan, Role};
pub use poll::{Interest, can_read};
pub use report::{CaptureReport, FlowReport, PingReport, Report};
pub use sys::{duplicate, readable, wait, wake_on_time};
pub use wire::run;
