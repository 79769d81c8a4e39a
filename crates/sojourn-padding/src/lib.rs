//! Padding: small packets that take the places of large ones in a queue limited in packets, so that it holds less time
//! (Braud, Heusse and Duda, "TCP over Large Buffers: When Adding Traffic Improves Latency").
//!
//! [`Pacer`] says when the next packet goes, [`Controller`] how many a second from what a host at home can measure: the
//! round-trip times of its own probes. Neither knows a socket or a clock: `now` goes in, decisions come out.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod controller;
mod pacer;

pub use controller::{Config, Controller};
pub use pacer::{Bursts, Pacer};
