//! Which tins there are, whose packets come into them, and what part of the link each may have
//! (`cake_config_diffserv3` and its siblings). Later tins have priority over earlier ones while both are within their
//! rates.

use crate::Dscp;
use alloc::vec::Vec;
use sojourn_core::choices;

choices! {
    /// Ways to treat differentiated services, in the order of [`PLANS`].
    pub(super) enum Diffserv {
        BestEffort = "besteffort",
        Precedence = "precedence",
        Three = "diffserv3",
        Four = "diffserv4",
        Eight = "diffserv8",
    }
}

/// The tins of a way to treat differentiated services.
#[derive(Debug)]
pub(super) struct Plan {
    /// The tins.
    pub(super) tins: &'static [Label],
    /// What part of the link each tin may have, and its weight where there is no rate to have a part of.
    parts: Parts,
    /// The tin of packets that no other one is named for.
    rest: u8,
    /// The DSCPs of each tin.
    members: Members,
}

#[derive(Debug)]
enum Parts {
    /// The whole shifted right by so many bits, and a weight shifted likewise.
    Shifts(&'static [u32], u32),
    /// The first has the whole, each further one 7/8 of the one before, from this weight on.
    SevenEighths(u32),
}

#[derive(Debug)]
enum Members {
    /// Listed, as (tin, numbers).
    Listed(&'static [(u8, &'static [u8])]),
    /// The upper three bits are the tin.
    Precedence,
}

/// The names that a tin has in records and probes.
#[derive(Debug)]
pub(super) struct Label {
    pub(super) name: &'static str,
    pub(super) sparse: &'static str,
    pub(super) bulk: &'static str,
    pub(super) decaying: &'static str,
    pub(super) unresponsive: &'static str,
    pub(super) bytes: &'static str,
    pub(super) way_hits: &'static str,
    pub(super) way_misses: &'static str,
    pub(super) way_collisions: &'static str,
    pub(super) ack_drops: &'static str,
}

macro_rules! label {
    ($name:literal) => {
        Label {
            name: $name,
            sparse: concat!($name, ".sparse_flows"),
            bulk: concat!($name, ".bulk_flows"),
            decaying: concat!($name, ".decaying_flows"),
            unresponsive: concat!($name, ".unresponsive_flows"),
            bytes: concat!($name, ".bytes"),
            way_hits: concat!($name, ".way_hits"),
            way_misses: concat!($name, ".way_misses"),
            way_collisions: concat!($name, ".way_collisions"),
            ack_drops: concat!($name, ".ack_drops"),
        }
    };
}

const EIGHT: &[Label] = &[
    label!("tin_0"),
    label!("tin_1"),
    label!("tin_2"),
    label!("tin_3"),
    label!("tin_4"),
    label!("tin_5"),
    label!("tin_6"),
    label!("tin_7"),
];

/// Code points without a name in [`Dscp::NAMES`]: the bits of the TOS byte of RFC 1349 that asked for throughput and
/// for little delay.
const TOS_2: u8 = 2;
const TOS_4: u8 = 4;

const LE: u8 = 1;
const CS1: u8 = 8;
const CS2: u8 = 16;
const CS3: u8 = 24;
const CS4: u8 = 32;
const CS5: u8 = 40;
const CS6: u8 = 48;
const CS7: u8 = 56;
const AF11: u8 = 10;
const AF12: u8 = 12;
const AF13: u8 = 14;
const AF21: u8 = 18;
const AF22: u8 = 20;
const AF23: u8 = 22;
const AF31: u8 = 26;
const AF32: u8 = 28;
const AF33: u8 = 30;
const AF41: u8 = 34;
const AF42: u8 = 36;
const AF43: u8 = 38;
const VA: u8 = 44;
const EF: u8 = 46;

/// All ways.
static PLANS: [Plan; 5] = [
    Plan { tins: &[label!("best_effort")], parts: Parts::Shifts(&[0], 65_535), rest: 0, members: Members::Listed(&[]) },
    Plan { tins: EIGHT, parts: Parts::SevenEighths(256), rest: 0, members: Members::Precedence },
    Plan {
        tins: &[label!("best_effort"), label!("bulk"), label!("voice")],
        parts: Parts::Shifts(&[0, 4, 2], 1024),
        rest: 0,
        members: Members::Listed(&[(1, &[LE, CS1]), (2, &[TOS_4, VA, EF, CS6, CS7])]),
    },
    Plan {
        tins: &[label!("best_effort"), label!("bulk"), label!("video"), label!("voice")],
        parts: Parts::Shifts(&[0, 4, 1, 2], 1024),
        rest: 0,
        members: Members::Listed(&[
            (1, &[LE, CS1]),
            (2, &[TOS_4, CS2, AF21, AF22, AF23, CS3, AF31, AF32, AF33, AF41, AF42, AF43]),
            (3, &[CS4, CS5, VA, EF, CS6, CS7]),
        ]),
    },
    Plan {
        tins: EIGHT,
        parts: Parts::SevenEighths(256),
        rest: 2,
        members: Members::Listed(&[
            (0, &[LE]),
            (1, &[TOS_2, CS1, AF11, AF12, AF13]),
            (3, &[CS3, AF31, AF32, AF33, AF41, AF42, AF43]),
            (4, &[TOS_4, AF21, AF22, AF23]),
            (5, &[CS2]),
            (6, &[CS4, CS5, VA, EF]),
            (7, &[CS6, CS7]),
        ]),
    },
];

impl Plan {
    /// That of `diffserv`.
    pub(super) fn of(diffserv: Diffserv) -> &'static Plan {
        &PLANS[diffserv as usize]
    }

    /// The tin of `dscp`.
    pub(super) fn tin_of(&self, dscp: Dscp) -> u8 {
        match self.members {
            Members::Precedence => dscp.number() >> 3,
            Members::Listed(lists) => {
                let of = lists.iter().find(|(_, numbers)| numbers.contains(&dscp.number()));
                of.map_or(self.rest, |(tin, _)| *tin)
            }
        }
    }

    /// What each tin may send of `whole` bytes per second before its priority ends.
    pub(super) fn rates(&self, whole: u64) -> Vec<u64> {
        match self.parts {
            Parts::Shifts(shifts, _) => shifts.iter().map(|shift| whole >> shift).collect(),
            Parts::SevenEighths(_) => self.shrinking(whole),
        }
    }

    /// Bytes of each tin's turn where the link is shared by weight.
    pub(super) fn quanta(&self) -> Vec<i64> {
        let quanta: Vec<u64> = match self.parts {
            Parts::Shifts(shifts, weight) => shifts.iter().map(|shift| u64::from(weight >> shift)).collect(),
            Parts::SevenEighths(weight) => self.shrinking(u64::from(weight)),
        };
        quanta.into_iter().map(|quantum| quantum as i64).collect()
    }

    fn shrinking(&self, first: u64) -> Vec<u64> {
        core::iter::successors(Some(first), |part| Some(part * 7 / 8)).take(self.tins.len()).collect()
    }
}
