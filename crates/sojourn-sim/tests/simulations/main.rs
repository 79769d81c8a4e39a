//! Whole simulations against numbers worked out by hand, laws, and the claims of the design.

mod accecn;
mod access;
mod bbr;
mod cell;
mod changes;
mod classes;
mod common;
mod delays;
mod determinism;
mod flows;
mod fusing;
mod host;
mod instruments;
mod ledbat;
mod links;
mod messages;
#[cfg(feature = "nimbus")]
mod nimbus;
mod padding;
mod phases;
mod probing;
mod random;
mod remarks;
mod retune;
#[cfg(feature = "rledbat")]
mod rledbat;
mod session;
mod traffic;
mod web;
mod wifi;
mod worked;
