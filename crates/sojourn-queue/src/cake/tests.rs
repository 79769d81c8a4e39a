//! CAKE against the kernel's source, tc's words and tc-cake(8).

mod acks;
mod linux;
mod plan;
mod shaper;
mod sharing;
mod ways;

use super::DESCRIPTOR;
use crate::testing::{Recorder, build, link, packet, params, probe};
use crate::{Discipline, DropReason, Dscp, Ecn, FlowKey, LinkProperties, Packet, Queue};
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Rate, Span, Time};

const PERFECT: (&str, Value) = ("perfect", Value::Boolean(true));

fn cake_on(link: &LinkProperties, changes: &[(&str, Value)]) -> Queue<u32> {
    build(&params(&DESCRIPTOR, "linux", changes), link).unwrap()
}

fn cake(changes: &[(&str, Value)]) -> Queue<u32> {
    cake_on(&link(10_000), changes)
}

fn word(name: &'static str, word: &'static str) -> (&'static str, Value) {
    (name, Value::Choice(word))
}

fn bandwidth(kilobits: u64) -> (&'static str, Value) {
    ("bandwidth", Value::Rate(Rate::from_bits_per_second(kilobits * 1000).unwrap()))
}

fn at(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

/// A packet of `flow` between hosts of its own.
fn of_flow(flow: u32, bytes: u32, number: u32) -> Packet<u32> {
    of_hosts(flow, (flow as u16, flow as u16), bytes, number)
}

/// A packet of `flow` between two hosts.
fn of_hosts(flow: u32, (source, destination): (u16, u16), bytes: u32, number: u32) -> Packet<u32> {
    let (source, destination) = (source.into(), destination.into());
    let key = FlowKey { source, destination, source_port: flow as u16, destination_port: 80, ..FlowKey::default() };
    Packet { flow, key, ..packet(bytes, number) }
}

fn with_dscp(packet: Packet<u32>, name: &str) -> Packet<u32> {
    Packet { dscp: Dscp::from_name(name).unwrap(), ..packet }
}

#[test]
fn the_longest_queue_of_all_tins_pays_for_the_memory() {
    let mut queue = cake(&[PERFECT, ("memlimit", Value::Amount(Amount::Bytes(30_000.0)))]);
    let mut sink = Recorder::default();
    for number in 0..12 {
        queue.enqueue(with_dscp(of_flow(0, 1500, number), "ef"), Time::ZERO, &mut sink);
    }
    for number in 100..108 {
        queue.enqueue(of_flow(1, 1500, number), Time::ZERO, &mut sink);
    }
    assert!(sink.drops.is_empty(), "20 packets of 1500 B fit");
    for number in 200..204 {
        queue.enqueue(of_flow(2, 1500, number), Time::ZERO, &mut sink);
    }
    let dropped: Vec<u32> = sink.drops.iter().map(|drop| drop.0).collect();
    assert_eq!(dropped, [0, 1, 2, 3], "each from the head of the longest, whatever its tin's priority");
    assert!(sink.drops.iter().all(|drop| drop.1 == DropReason::Overflow));
    assert_eq!((probe(&queue, "voice.bytes"), probe(&queue, "best_effort.bytes")), (12_000.0, 18_000.0));
    assert_eq!(
        probe(&queue, "voice.unresponsive_flows"),
        0.0,
        "BLUE moves only where target has passed since it last did"
    );
    queue.enqueue(of_flow(0, 30_000, 300), at(5_001), &mut sink);
    assert_eq!(probe(&queue, "best_effort.unresponsive_flows"), 1.0);
}

/// cake_reconfigure: 4 x rate x interval, at least 4 MiB; 10240 packets in any case. tc-cake(8) shows 5000000 B for
/// 100 Mbit/s.
#[test]
fn memory_is_by_rate_and_rtt() {
    let limit =
        |changes: &[_]| super::descriptor::limit(&params(&DESCRIPTOR, "linux", changes), &link(10_000)).unwrap();
    assert_eq!(limit(&[]), crate::Limit::Bytes(15_360_000));
    assert_eq!(limit(&[bandwidth(100_000)]), crate::Limit::Bytes(5_000_000));
    assert_eq!(limit(&[bandwidth(10_000)]), crate::Limit::Bytes(4_194_304));
    assert_eq!(limit(&[bandwidth(1_000_000)]), crate::Limit::Bytes(15_360_000));
    assert_eq!(limit(&[("memlimit", Value::Amount(Amount::Bytes(9e7)))]), crate::Limit::Bytes(90_000_000));
}

#[test]
fn tins_have_names_and_packets_know_theirs() {
    let mut queue = cake(&[word("diffserv", "diffserv4")]);
    let classes = queue.classes();
    assert_eq!(classes, ["best_effort", "bulk", "video", "voice"]);
    let mut sink = Recorder::default();
    for (dscp, class) in [("le", "bulk"), ("default", "best_effort"), ("af41", "video"), ("va", "voice")] {
        queue.enqueue(with_dscp(packet(1500, 0), dscp), Time::ZERO, &mut sink);
        let sent = queue.dequeue(Time::ZERO, &mut sink).unwrap();
        assert_eq!((sent.dscp.name(), classes[usize::from(sent.class)].as_str()), (Some(dscp), class));
    }
}

#[test]
fn washing_clears_the_code_point_and_keeps_the_tin() {
    let mut queue = cake(&[("wash", Value::Boolean(true))]);
    let mut sink = Recorder::default();
    let marked = Packet { ecn: Ecn::Ect1, ..with_dscp(packet(1500, 0), "ef") };
    queue.enqueue(marked, Time::ZERO, &mut sink);
    let sent = queue.dequeue(Time::ZERO, &mut sink).unwrap();
    assert_eq!((sent.dscp, sent.ecn, sent.class), (Dscp::DEFAULT, Ecn::Ect1, 2));
}

#[test]
fn congestion_is_marked_where_it_may_be() {
    for (ecn, marks) in [(Ecn::Ect0, true), (Ecn::NotEct, false)] {
        let mut queue = cake(&[bandwidth(10_000)]);
        let mut sink = Recorder::default();
        for number in 0..200 {
            queue.enqueue(Packet { ecn, ..of_flow(0, 1500, number) }, Time::ZERO, &mut sink);
        }
        for step in 1..200 {
            queue.dequeue(at(1200 * step), &mut sink);
        }
        assert_eq!((sink.marks.is_empty(), sink.drops.is_empty()), (!marks, marks), "{ecn:?}");
    }
}

#[test]
fn wrong_combinations_name_the_parameter() {
    let fault = |changes: &[_]| build(&params(&DESCRIPTOR, "linux", changes), &link(10_000)).err();
    assert_eq!(fault(&[]), None);
    assert_eq!(fault(&[("target", Value::Span(Span::from_millis(100)))]), Some("target"));
    assert_eq!(fault(&[("rtt", Value::Span(Span::from_micros(1)))]), None);
    assert_eq!(fault(&[("memlimit", Value::Amount(Amount::Bytes(1000.0)))]), Some("memlimit"));
    for (isolation, allowed) in [("flows", true), ("dual-srchost", true), ("hosts", false), ("flowblind", false)] {
        assert_eq!(fault(&[PERFECT, word("isolation", isolation)]), (!allowed).then_some("perfect"), "{isolation}");
    }
}

#[test]
fn advice_is_given_on_what_will_disappoint() {
    let advice = |kilobits, changes: &[_]| {
        let advice = Queue::<u32>::advice(&params(&DESCRIPTOR, "linux", changes), &link(kilobits));
        advice.into_iter().map(|advice| advice.parameter).collect::<Vec<_>>()
    };
    let memory = |bytes| ("memlimit", Value::Amount(Amount::Bytes(bytes)));
    assert!(advice(10_000, &[]).is_empty());
    assert!(advice(10_000, &[bandwidth(10_000)]).is_empty());
    assert_eq!(advice(10_000, &[bandwidth(10_001)]), ["bandwidth"]);
    // 10 Mbit/s for 100 ms are 125000 B.
    assert_eq!(advice(10_000, &[memory(124_999.0)]), ["memlimit"]);
    assert!(advice(10_000, &[memory(125_000.0)]).is_empty());
    assert!(advice(10_000, &[memory(70_000.0), bandwidth(5_000)]).is_empty());
    // 52 B for 3000 B: 17.3 Mbit/s of acknowledgements for 1 Gbit/s.
    assert!(advice(17_000, &[word("ack_filter", "normal")]).is_empty());
    assert_eq!(advice(17_400, &[word("ack_filter", "normal")]), ["ack_filter"]);
    assert_eq!(advice(10_000, &[("ingress", Value::Boolean(true))]), ["ingress"]);
}
