//! Strict priority against Linux's tables and against the laws of every discipline.

use super::{BANDS, DESCRIPTOR, Prio};
use crate::testing::{Recorder, build, limit, link, live, lives, packet, params};
use crate::{Discipline, DropReason, Dscp, Packet};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Stream, Time};

fn prio(classes: &'static str, changes: &[(&str, Value)]) -> Prio<u32> {
    let changes = [&[("classes", Value::Choice(classes))], changes].concat();
    Prio::new(&params(&DESCRIPTOR, "default", &changes), &link(10_000), Stream::new(1, "queue")).unwrap()
}

fn marked(name: &str, number: u32) -> Packet<u32> {
    Packet { dscp: Dscp::from_name(name).unwrap(), ..packet(1500, number) }
}

/// The named code points in each band.
fn members(classes: &'static str) -> [Vec<&'static str>; BANDS] {
    let prio = prio(classes, &[]);
    std::array::from_fn(|band| {
        let is_member = |number: u8| usize::from(prio.band_of[usize::from(number)]) == band;
        Dscp::NAMES.iter().filter(|&&(_, number)| is_member(number)).map(|&(name, _)| name).collect()
    })
}

#[test]
fn bands_of_diffserv3() {
    let [first, _, last] = members("diffserv");
    assert_eq!(first, ["va", "ef", "cs6", "cs7"]);
    assert_eq!(last, ["le", "cs1"]);
    // TOS 4, minimum delay, without a name.
    assert_eq!(prio("diffserv", &[]).band_of[4], 0);
    assert_eq!(prio("diffserv", &[]).band_of.iter().filter(|&&band| band == 1).count(), 64 - 5 - 2);
}

/// `ip_tos2prio` by the four old TOS bits, `prio2band` by priority: as the kernel's tables have them.
#[test]
fn bands_of_the_default_priomap() {
    const BESTEFFORT: usize = 0;
    const BULK: usize = 2;
    const INTERACTIVE_BULK: usize = 4;
    const INTERACTIVE: usize = 6;
    let tos2prio = [[BESTEFFORT; 4], [BULK; 4], [INTERACTIVE; 4], [INTERACTIVE_BULK; 4]].concat();
    let prio2band = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];
    let prio = prio("tos", &[]);
    for dscp in 0..64usize {
        let tos = dscp << 2;
        assert_eq!(prio.band_of[dscp], prio2band[tos2prio[(tos & 0x1e) >> 1]], "DSCP {dscp}");
    }
    let [first, second, last] = members("tos");
    assert_eq!(first, ["af12", "af22", "af32", "af42", "va"]);
    assert!(second.contains(&"ef") && second.contains(&"le") && second.contains(&"cs6"));
    assert_eq!(last, ["af11", "af21", "af31", "af41"]);
}

#[test]
fn a_band_waits_for_all_above_it() {
    let (mut prio, mut sink) = (prio("diffserv", &[]), Recorder::default());
    for (number, name) in (0..).zip(["le", "default", "ef", "le", "af41", "ef"]) {
        prio.enqueue(marked(name, number), Time::ZERO, &mut sink);
    }
    let mut send = || prio.dequeue(Time::ZERO, &mut sink).map(|packet| packet.body);
    assert_eq!([send(), send(), send()], [Some(2), Some(5), Some(1)]);
    // What comes meanwhile goes first.
    prio.enqueue(marked("cs6", 6), Time::ZERO, &mut sink);
    let mut send = || prio.dequeue(Time::ZERO, &mut sink).map(|packet| packet.body);
    assert_eq!([send(), send(), send(), send(), send()], [Some(6), Some(4), Some(0), Some(3), None]);
}

#[test]
fn each_band_has_its_own_limit() {
    let (mut prio, mut sink) = (prio("diffserv", &[limit(Amount::Packets(2.0))]), Recorder::default());
    for (number, name) in (0..).zip(["le", "le", "le", "ef", "ef", "ef", "default"]) {
        prio.enqueue(marked(name, number), Time::ZERO, &mut sink);
    }
    assert_eq!(sink.drops, [(2, DropReason::Overflow), (5, DropReason::Overflow)]);
    assert_eq!((prio.packets(), prio.bytes()), (5, 7500));
    let mut shown = Vec::new();
    prio.probe(&mut |_, packets| shown.push(packets));
    assert_eq!(shown, [2.0, 1.0, 2.0]);
}

#[test]
fn a_limit_that_holds_nothing_is_refused() {
    let fault = |amount| build(&params(&DESCRIPTOR, "linux", &[limit(amount)]), &link(10_000)).err();
    assert_eq!(fault(Amount::Bytes(1499.0)), Some("limit"));
    assert_eq!(fault(Amount::Bytes(1500.0)), None);
}

proptest! {
    /// Without code points it is one first-in first-out queue.
    #[test]
    fn limits_hold_and_nothing_is_lost(most in 1u32..60, life in lives()) {
        let changes = [limit(Amount::Packets(f64::from(most)))];
        let mut queue = build(&params(&DESCRIPTOR, "linux", &changes), &link(10_000)).unwrap();
        live(&mut queue, &life, |queue| assert!(queue.packets() <= most as usize))?;
    }

    /// Whatever is sent, no higher band has a packet, and the packet is the oldest of its band.
    #[test]
    fn the_highest_band_sends_its_oldest(steps in prop::collection::vec((0u64..64, any::<bool>()), 1..200)) {
        let (mut prio, mut sink, mut waiting) = (prio("diffserv", &[]), Recorder::default(), Vec::new());
        for (number, (dscp, ask)) in (0u32..).zip(steps) {
            let dscp = Dscp::from_number(dscp).unwrap();
            prio.enqueue(Packet { dscp, ..packet(100, number) }, Time::ZERO, &mut sink);
            waiting.push((prio.band_of[usize::from(dscp.number())], number));
            if ask {
                let next = *waiting.iter().min().unwrap();
                waiting.retain(|&other| other != next);
                prop_assert_eq!(prio.dequeue(Time::ZERO, &mut sink).map(|packet| packet.body), Some(next.1));
            }
            prop_assert_eq!(prio.packets(), waiting.len());
        }
    }
}
