//! The tins of each way.

use super::*;
use crate::cake::plan::{Diffserv, Plan};
use crate::cake::tin::{Setting, Tin};
use sojourn_core::registry::{Choice as _, Value, declare::FromValue as _};

/// The plan that a scenario's word means.
pub(super) fn plan_of(word: &'static str) -> &'static Plan {
    Plan::of(Diffserv::from_value(Value::Choice(word)).expect("a word"))
}

/// The tins of DSCPs 0 to 63, eight in a word.
fn table(plan: &Plan) -> String {
    let tin = |number| char::from(b'0' + plan.tin_of(Dscp::from_number(number).unwrap()));
    let rows: Vec<String> = (0..8).map(|row| (8 * row..8 * row + 8).map(tin).collect()).collect();
    rows.join(" ")
}

#[test]
fn code_points_are_in_the_kernel_s_tins() {
    let expected = [
        ("besteffort", "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000"),
        ("precedence", "00000000 11111111 22222222 33333333 44444444 55555555 66666666 77777777"),
        ("diffserv3", "01002000 10000000 00000000 00000000 00000000 00002020 20000000 20000000"),
        ("diffserv4", "01002000 10000000 20202020 20202020 30202020 30003030 30000000 30000000"),
        ("diffserv8", "20124222 12121212 52424242 32323232 62323232 62226262 72222222 72222222"),
    ];
    for (name, expected) in expected {
        assert_eq!(table(plan_of(name)), expected, "{name}");
    }
    assert_eq!(Diffserv::WORDS.len(), expected.len());
}

#[test]
fn every_tin_has_a_rate_a_turn_and_a_name() {
    for plan in Diffserv::WORDS.iter().map(|word| plan_of(word)) {
        assert_eq!(plan.rates(1_000_000).len(), plan.tins.len());
        assert_eq!(plan.quanta().len(), plan.tins.len());
        assert!((0..64).all(|number| usize::from(plan.tin_of(Dscp::from_number(number).unwrap())) < plan.tins.len()));
    }
}

#[test]
fn parts_of_the_link_are_the_kernel_s() {
    let rates = |name| plan_of(name).rates(125_000);
    let quanta = |name| plan_of(name).quanta();
    assert_eq!((rates("besteffort"), quanta("besteffort")), (vec![125_000], vec![65_535]));
    assert_eq!((rates("diffserv3"), quanta("diffserv3")), (vec![125_000, 7_812, 31_250], vec![1024, 64, 256]));
    assert_eq!(rates("diffserv4"), [125_000, 7_812, 62_500, 31_250]);
    assert_eq!(quanta("diffserv4"), [1024, 64, 512, 256]);
    for name in ["precedence", "diffserv8"] {
        assert_eq!(rates(name), [125_000, 109_375, 95_703, 83_740, 73_272, 64_113, 56_098, 49_085], "{name}");
        assert_eq!(quanta(name), [256, 224, 196, 171, 149, 130, 113, 98]);
    }
}

/// What `tc -s qdisc` shows of each tin: bytes of a flow's turn, target and interval in microseconds.
fn shown(name: &'static str, bandwidth: Option<u64>, rtt_millis: u64) -> Vec<(u32, u64, u64)> {
    let plan = plan_of(name);
    let micros = |span: Span| span.as_nanos() / 1000;
    let (target, interval) = (Span::from_micros(rtt_millis * 50), Span::from_millis(rtt_millis));
    let rates: Vec<Option<u64>> = match bandwidth {
        Some(rate) => plan.rates(rate / 8).into_iter().map(Some).collect(),
        None => plan.tins.iter().map(|_| None).collect(),
    };
    let tin =
        |rate| Tin::new(&Setting { rate, quantum: 0, target, interval, full_packet: 1500, fair_hosts: [false; 2] });
    let shown = |tin: Tin| (tin.flow_quantum(), micros(tin.law.target), micros(tin.law.interval));
    rates.into_iter().map(|rate| shown(tin(rate))).collect()
}

/// tc-cake(8): quantum 300, 1514 and 762 at 100 Mbit/s, 5 ms and 100 ms everywhere.
#[test]
fn a_fast_link_keeps_target_and_interval() {
    let usual = |quantum| (quantum, 5_000, 100_000);
    assert_eq!(shown("diffserv3", Some(100_000_000), 100), [usual(1514), usual(300), usual(762)]);
    assert_eq!(shown("diffserv4", None, 100), [usual(1514); 4]);
    assert_eq!(shown("besteffort", Some(49_600_000), 100), [usual(1513)]);
    assert_eq!(shown("besteffort", Some(49_700_000), 100), [usual(1514)]);
}

/// cake_set_rate: target is at least 1.5 packets' time, interval grows by as much and is at least twice target.
#[test]
fn slow_tins_stretch_target_and_interval() {
    // 12 ms a packet; 192.012 ms at 7812 B/s; 48 ms at a quarter.
    let expected = [(300, 18_000, 113_000), (300, 288_018, 576_036), (300, 72_000, 167_000)];
    assert_eq!(shown("diffserv3", Some(1_000_000), 100), expected);
    assert_eq!(shown("besteffort", Some(1_000_000), 1000), [(300, 50_000, 1_000_000)]);
    // 64 B/s is the least that is reckoned with.
    assert_eq!(shown("besteffort", Some(8), 100)[0].1, 35_156_250);
}

/// With bandwidth: a higher tin goes first as long as it keeps to its part.
#[test]
fn tins_share_by_priority_and_then_by_what_is_left() {
    let shares = |changes: &[_], offered: &[(&str, u64)]| {
        let mut queue =
            cake(&[&[PERFECT, word("diffserv", "diffserv4"), word("isolation", "flows")], changes].concat());
        let mut sink = Recorder::default();
        let mut sent = vec![0u64; offered.len()];
        for step in 0..20_000u64 {
            let now = at(step * 1200);
            for (flow, &(dscp, every)) in (0..).zip(offered) {
                // The flow's number is its packets' number: no queue runs empty, or longer than a few packets.
                if step % every == 0 && probe(&queue, TIN_BYTES[usize::from(tin(dscp))]) < 9_000.0 {
                    queue.enqueue(with_dscp(of_flow(flow, 1500, flow), dscp), now, &mut sink);
                    queue.enqueue(with_dscp(of_flow(flow, 1500, flow), dscp), now, &mut sink);
                }
            }
            if let Some(packet) = queue.dequeue(now, &mut sink) {
                sent[packet.body as usize] += 1;
            }
        }
        let total: u64 = sent.iter().sum();
        sent.into_iter().map(|sent| (sent * 1000 + total / 2) / total).collect::<Vec<_>>()
    };
    fn tin(dscp: &str) -> u8 {
        plan_of("diffserv4").tin_of(Dscp::from_name(dscp).unwrap())
    }
    const TIN_BYTES: [&str; 4] = ["best_effort.bytes", "bulk.bytes", "video.bytes", "voice.bytes"];
    let near = |found: Vec<u64>, expected: &[u64]| {
        assert!(found.iter().zip(expected).all(|(found, expected)| found.abs_diff(*expected) <= 1), "{found:?}");
    };
    let shaped = [bandwidth(10_000)];
    // All want all: voice 1/4, video 1/2, bulk 1/16, and best effort what is left of its own whole.
    let all = [("default", 1), ("le", 1), ("af41", 1), ("ef", 1)];
    near(shares(&shaped, &all), &[188, 63, 500, 250]);
    // By weight: 1024, 64, 512 and 256 of 1856.
    near(shares(&[], &all), &[552, 34, 276, 138]);
    near(shares(&shaped, &[("default", 1), ("le", 1)]), &[938, 63]);
    // Nobody else wants it: all is for bulk.
    near(shares(&shaped, &[("le", 1)]), &[1000]);
    // Voice that wants a tenth gets it.
    near(shares(&shaped, &[("default", 1), ("ef", 20)]), &[900, 100]);
}
