//! Sender and receiver against the RFCs, over a path on which every loss and delay is written down.

mod ecn;
mod network;
mod newreno;
mod random;
mod rates;
mod reduction;
mod round_trips;
mod sack;
mod sending;
mod short;
mod timers;
