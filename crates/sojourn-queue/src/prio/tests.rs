//! Strict priority, and the bands of Linux against its tables.

use super::Bands;
use super::{DESCRIPTOR, bands};
use crate::testing::{Recorder, build, class, dscp, held, limit, link, live, lives, packet_with, params};
use crate::{Discipline, DropReason, Dscp, Queue};
use proptest::prelude::*;
use sojourn_core::registry::{Members, Params, Value};
use sojourn_core::{Amount, Time};

/// The parameters of `prio` without classes.
fn bare(changes: &[(&str, Value)]) -> Params {
    let mut params = params(&DESCRIPTOR, "default", changes);
    params.classes.clear();
    params
}

fn prio(changes: &[(&str, Value)]) -> Queue<u32> {
    build(&bare(changes), &link(10_000)).unwrap()
}

fn number(name: &str) -> u8 {
    Dscp::from_name(name).unwrap().number()
}

/// The band of each code point.
fn band_of(kind: Bands) -> [usize; 64] {
    let bands = bands(kind);
    assert!(bands[1].members.is_rest());
    std::array::from_fn(|number| {
        let takes = |band: usize| bands[band].members.dscp.contains(&(number as u8));
        [0, 2].into_iter().find(|&band| takes(band)).unwrap_or(1)
    })
}

/// The named code points in each band.
fn members(kind: Bands) -> [Vec<&'static str>; 3] {
    let band_of = band_of(kind);
    std::array::from_fn(|band| {
        let is_member = |number: u8| band_of[usize::from(number)] == band;
        Dscp::NAMES.iter().filter(|&&(_, number)| is_member(number)).map(|&(name, _)| name).collect()
    })
}

#[test]
fn bands_of_diffserv3() {
    let [first, _, last] = members(Bands::Diffserv);
    assert_eq!(first, ["va", "ef", "cs6", "cs7"]);
    assert_eq!(last, ["le", "cs1"]);
    // TOS 4, minimum delay, without a name.
    assert_eq!(band_of(Bands::Diffserv)[4], 0);
    assert_eq!(band_of(Bands::Diffserv).iter().filter(|&&band| band == 1).count(), 64 - 5 - 2);
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
    for (dscp, band) in band_of(Bands::Tos).into_iter().enumerate() {
        let tos = dscp << 2;
        assert_eq!(band, prio2band[tos2prio[(tos & 0x1e) >> 1]], "DSCP {dscp}");
    }
    let [first, second, last] = members(Bands::Tos);
    assert_eq!(first, ["af12", "af22", "af32", "af42", "va", "nqb"]);
    assert!(second.contains(&"ef") && second.contains(&"le") && second.contains(&"cs6"));
    assert_eq!(last, ["af11", "af21", "af31", "af41"]);
}

#[test]
fn a_band_waits_for_all_above_it() {
    let (mut prio, mut sink) = (prio(&[]), Recorder::default());
    for (index, name) in (0..).zip(["le", "default", "ef", "le", "af41", "ef"]) {
        prio.enqueue(packet_with(number(name), 1500, index), Time::ZERO, &mut sink);
    }
    let mut send = || prio.dequeue(Time::ZERO, &mut sink).map(|packet| packet.body);
    assert_eq!([send(), send(), send()], [Some(2), Some(5), Some(1)]);
    // What comes meanwhile goes first.
    prio.enqueue(packet_with(number("cs6"), 1500, 6), Time::ZERO, &mut sink);
    let mut send = || prio.dequeue(Time::ZERO, &mut sink).map(|packet| packet.body);
    assert_eq!([send(), send(), send(), send(), send()], [Some(6), Some(4), Some(0), Some(3), None]);
}

#[test]
fn bands_hold_a_thousand_packets_each() {
    let (mut prio, mut sink) = (prio(&[]), Recorder::default());
    for index in 0..1001 {
        prio.enqueue(packet_with(number("le"), 100, index), Time::ZERO, &mut sink);
        prio.enqueue(packet_with(number("ef"), 100, 10_000 + index), Time::ZERO, &mut sink);
    }
    assert_eq!(sink.drops, [(1000, DropReason::Overflow), (11_000, DropReason::Overflow)]);
    assert_eq!((prio.packets(), prio.bytes()), (2000, 200_000));
    assert_eq!(prio.classes(), ["first", "second", "last"]);
}

#[test]
fn given_classes_are_served_in_their_order() {
    let mut params = bare(&[]);
    params.classes = vec![
        class(&DESCRIPTOR, "bulk", dscp(&[8]), &[], held("droptail", &[])),
        class(&DESCRIPTOR, "rest", Members::default(), &[], held("droptail", &[])),
        class(&DESCRIPTOR, "voice", dscp(&[46]), &[], held("droptail", &[])),
    ];
    let (mut prio, mut sink) = (build(&params, &link(10_000)).unwrap(), Recorder::default());
    for (index, dscp) in (0..).zip([46, 0, 8, 46, 0, 8]) {
        prio.enqueue(packet_with(dscp, 1500, index), Time::ZERO, &mut sink);
    }
    assert_eq!(crate::testing::drain(&mut prio), [2, 5, 1, 4, 0, 3]);
}

#[test]
fn a_limit_that_holds_nothing_is_refused() {
    let fault = |amount| build(&bare(&[limit(amount)]), &link(10_000)).err();
    assert_eq!(fault(Amount::Bytes(1499.0)), Some("limit"));
    assert_eq!(fault(Amount::Bytes(1500.0)), None);
}

proptest! {
    /// Without code points it is one first-in first-out queue.
    #[test]
    fn limits_hold_and_nothing_is_lost(most in 1500u32..90_000, life in lives()) {
        let mut queue = prio(&[limit(Amount::Bytes(f64::from(most)))]);
        live(&mut queue, &life, |queue| assert!(queue.bytes() <= u64::from(most)))?;
    }

    /// Whatever is sent, no higher band has a packet, and the packet is the oldest of its band.
    #[test]
    fn the_highest_band_sends_its_oldest(steps in prop::collection::vec((0u8..64, any::<bool>()), 1..200)) {
        let (mut prio, mut sink, mut waiting) = (prio(&[]), Recorder::default(), Vec::new());
        let band_of = band_of(Bands::Diffserv);
        for (number, (dscp, ask)) in (0u32..).zip(steps) {
            prio.enqueue(packet_with(dscp, 100, number), Time::ZERO, &mut sink);
            waiting.push((band_of[usize::from(dscp)], number));
            if ask {
                let next = *waiting.iter().min().unwrap();
                waiting.retain(|&other| other != next);
                let sent = prio.dequeue(Time::ZERO, &mut sink).unwrap();
                prop_assert_eq!((usize::from(sent.class), sent.body), next);
            }
            prop_assert_eq!(prio.packets(), waiting.len());
        }
    }
}
