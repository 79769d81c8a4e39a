//! Sender and receiver against the RFCs, over a path on which every loss and delay is written down.

mod audit;
mod burst;
mod ecn;
mod fast_path;
mod laws;
mod network;
mod newreno;
mod probe;
mod rack;
mod random;
mod rates;
mod reduction;
mod round_trips;
mod sack;
mod sending;
mod short;
mod steering;
mod timers;
mod undo;
