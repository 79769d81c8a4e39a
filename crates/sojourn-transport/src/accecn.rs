//! More accurate ECN feedback (RFC 9768): the receiver counts marked packets and bytes, every acknowledgement carries the low
//! bits of the counters, and the sender works out by how much they have grown since the last one that it got.
//!
//! Neither end sends ECN-capable acknowledgements, so that only data segments count. The tests of the path are left out: for
//! cleared flags and counters, and for packets with the option that never arrive. Nothing on a simulated path does that.

mod counts;

pub(crate) use counts::{Counts, Decoder};

use crate::segment::EcnFlags;
use sojourn_core::choices;

choices! {
    /// What an end can do with marks, or both agree to.
    #[derive(Default)]
    pub enum Ability {
        /// Count them (RFC 9768).
        Counts = "accecn",
        /// Echo them until the sender has reduced its window (RFC 3168).
        Classic = "classic",
        /// Nothing: no ECN.
        #[default]
        Nothing = "none",
    }
}

impl Ability {
    /// The flags of a SYN/ACK of an end that can do this, to a SYN that `asks`. The SYN itself was not ECN-capable.
    pub(crate) fn answer(self, asks: EcnFlags) -> EcnFlags {
        match self {
            Ability::Counts if asks == EcnFlags::ALL => EcnFlags::CWR,
            Ability::Counts | Ability::Classic if asks.has(EcnFlags::CWR) && asks.has(EcnFlags::ECE) => EcnFlags::ECE,
            _ => EcnFlags::NONE,
        }
    }

    /// What the flags of a SYN/ACK agree to, where the SYN asked for counts (section 3.1.2, table 2).
    pub(crate) fn agreed(answer: EcnFlags) -> Ability {
        match answer.ace() {
            0b000 | 0b111 => Ability::Nothing,
            0b001 | 0b101 => Ability::Classic,
            _ => Ability::Counts,
        }
    }
}
