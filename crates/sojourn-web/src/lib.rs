//! The engine for the laboratory in the browser: what a page asks for, and the C ABI through which it asks.
//!
//! The module imports only the page's own congestion control. Text goes in and comes out as JSON in UTF-8; time series are columns of 64-bit floats that
//! the page reads in place. The page's side of it is `web/engine.js`.

#[allow(unsafe_code, reason = "symbols are exported, and memory is shared with the page")]
mod abi;
mod calls;
mod columns;
#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code, reason = "functions of the page are imported")]
mod control;
mod engine;

pub use abi::*;
pub use columns::COLUMNS;
pub use engine::{MAX_FLOWS, Request, Run, check};
