//! Who shares with whom.

use super::*;
use crate::cake::tin::{Setting, Tin};
use proptest::prelude::*;
use sojourn_core::Stream;

/// Packets that the flows send in `rounds` turns of the link while none runs empty; each is (sender, receiver).
fn shares(changes: &[(&str, Value)], flows: &[(u16, u16)], rounds: usize) -> Vec<u32> {
    let mut queue = cake(&[&[("rtt", Value::Span(Span::from_secs(1000)))], changes].concat());
    let mut sink = Recorder::default();
    let mut send = |queue: &mut Queue<u32>, flow: u32| {
        queue.enqueue(of_hosts(flow, flows[flow as usize], 1500, flow), Time::ZERO, &mut sink);
    };
    for flow in 0..flows.len() as u32 {
        (0..3).for_each(|_| send(&mut queue, flow));
    }
    let mut sent = vec![0; flows.len()];
    let mut ignored = Recorder::default();
    for _ in 0..rounds {
        let flow = queue.dequeue(Time::ZERO, &mut ignored).unwrap().flow;
        sent[flow as usize] += 1;
        send(&mut queue, flow);
    }
    sent
}

/// The part in tenths of a percent of the first of the flows, against all others.
fn first(isolation: &'static str, perfect: bool, flows: &[(u16, u16)]) -> u32 {
    let changes = [word("isolation", isolation), ("perfect", Value::Boolean(perfect))];
    let sent = shares(&changes, flows, 11_000);
    (sent[0] * 1000 + 5_500) / 11_000
}

/// One flow of host 1 against ten of host 2, all to hosts of their own.
fn one_against_ten() -> Vec<(u16, u16)> {
    (0..11).map(|flow| (if flow == 0 { 1 } else { 2 }, 100 + flow)).collect()
}

fn reversed(flows: &[(u16, u16)]) -> Vec<(u16, u16)> {
    flows.iter().map(|&(source, destination)| (destination, source)).collect()
}

#[test]
fn hosts_share_alike_whatever_their_flows() {
    let (sending, receiving) = (one_against_ten(), reversed(&one_against_ten()));
    for perfect in [false, true] {
        let part = |isolation, flows: &[_]| first(isolation, perfect, flows);
        for (isolation, of_sender, of_receiver) in
            [("flows", 91, 91), ("dual-srchost", 500, 91), ("dual-dsthost", 91, 500), ("triple-isolate", 500, 500)]
        {
            let found = [part(isolation, &sending), part(isolation, &receiving)];
            for (found, expected) in found.into_iter().zip([of_sender, of_receiver]) {
                assert!(found.abs_diff(expected) <= 6, "{isolation}, perfect {perfect}: {found} for {expected}");
            }
        }
    }
}

#[test]
fn flows_of_a_host_share_its_part_alike() {
    let sent = shares(&[word("isolation", "triple-isolate")], &one_against_ten(), 22_000);
    assert!(sent[1..].iter().all(|&sent| sent.abs_diff(1_100) <= 25), "{sent:?}");
}

/// A sender with three flows to one receiver, and one with one to the same: the receiver's four are more than the
/// sender's three, so that each flow gets the same.
#[test]
fn triple_isolation_goes_by_the_busier_end() {
    let flows = [(1, 9), (1, 9), (1, 9), (2, 9)];
    let sent = shares(&[word("isolation", "triple-isolate")], &flows, 8_000);
    assert!(sent.iter().all(|&sent| sent.abs_diff(2_000) <= 30), "{sent:?}");
    let sent = shares(&[word("isolation", "dual-srchost")], &flows, 9_000);
    assert!(sent[3].abs_diff(4_500) <= 50 && sent[0].abs_diff(1_500) <= 30, "{sent:?}");
}

#[test]
fn hosts_may_be_the_flows() {
    let order = |isolation, flows: &[(u16, u16)]| {
        let mut queue = cake(&[word("isolation", isolation)]);
        let mut sink = Recorder::default();
        for (flow, &hosts) in (0..).zip(flows) {
            (0..2).for_each(|_| queue.enqueue(of_hosts(flow, hosts, 1514, flow), Time::ZERO, &mut sink));
        }
        probe(&queue, "best_effort.sparse_flows")
    };
    let flows = [(1, 5), (1, 6), (2, 5), (2, 5)];
    for (isolation, queues) in [("flowblind", 1.0), ("srchost", 2.0), ("dsthost", 2.0), ("hosts", 3.0), ("flows", 4.0)]
    {
        assert_eq!(order(isolation, &flows), queues, "{isolation}");
    }
}

/// Quanta of 1514 B at no rate: a flow of 1500 B and one of 500 B get the same bytes.
#[test]
fn turns_are_in_bytes_on_the_wire() {
    let sent = |changes: &[_]| {
        let mut queue = cake(&[&[PERFECT, word("isolation", "flows")], changes].concat());
        let mut sink = Recorder::default();
        let sizes = [1500, 500];
        let mut sent = [0; 2];
        for flow in 0..2u32 {
            (0..10).for_each(|_| queue.enqueue(of_flow(flow, sizes[flow as usize], flow), Time::ZERO, &mut sink));
        }
        for _ in 0..8_000 {
            let flow = queue.dequeue(Time::ZERO, &mut sink).unwrap().flow;
            sent[flow as usize] += 1;
            queue.enqueue(of_flow(flow, sizes[flow as usize], flow), Time::ZERO, &mut sink);
        }
        sent
    };
    let near = |found: [u32; 2], expected: [u32; 2]| (0..2).all(|flow| found[flow].abs_diff(expected[flow]) <= 10);
    assert!(near(sent(&[]), [2_000, 6_000]));
    // 1750 and 750 B.
    assert!(near(sent(&[("overhead", Value::Integer(250))]), [2_400, 5_600]));
}

#[test]
fn a_sparse_flow_goes_first_and_is_bulk_once_it_owes() {
    let mut queue = cake(&[PERFECT]);
    let mut sink = Recorder::default();
    let standing = |queue: &Queue<u32>| {
        ["sparse", "bulk", "decaying"].map(|name| {
            let name = ["best_effort.", name, "_flows"].concat();
            let mut found = 0.0;
            queue.probe(&mut |shown, value| found = if shown == name { value } else { found });
            found as u32
        })
    };
    let next = |queue: &mut Queue<u32>| queue.dequeue(Time::ZERO, &mut Recorder::default()).map(|packet| packet.flow);
    for flow in [0, 0, 0, 0, 1, 1, 1, 1] {
        queue.enqueue(of_flow(flow, 1500, 0), Time::ZERO, &mut sink);
    }
    assert_eq!(standing(&queue), [2, 0, 0]);
    // 1514 B are one packet and then one on credit; then each is bulk.
    assert_eq!([next(&mut queue), next(&mut queue), next(&mut queue)], [Some(0), Some(0), Some(1)]);
    assert_eq!(standing(&queue), [1, 1, 0]);
    assert_eq!([next(&mut queue), next(&mut queue)], [Some(1), Some(0)]);
    assert_eq!(standing(&queue), [0, 2, 0]);
    queue.enqueue(of_flow(2, 100, 0), Time::ZERO, &mut sink);
    assert_eq!(next(&mut queue), Some(2));
    assert_eq!(standing(&queue), [1, 2, 0]);
    // Flow 2 is found empty, with a controller that has just seen a packet: it decays for an interval.
    assert_eq!(next(&mut queue), Some(1));
    assert_eq!(standing(&queue), [0, 2, 1]);
    queue.enqueue(of_flow(2, 100, 0), Time::ZERO, &mut sink);
    assert_eq!(standing(&queue), [1, 2, 0]);
    assert_eq!(next(&mut queue), Some(2));
    // The last packets; then both are found empty and decay, and so does flow 2.
    assert_eq!([next(&mut queue), next(&mut queue), next(&mut queue)], [Some(0), Some(1), None]);
    queue.enqueue(of_flow(3, 100, 0), at(99_000), &mut sink);
    assert_eq!(queue.dequeue(at(99_000), &mut sink).map(|packet| packet.flow), Some(3));
    // One decaying flow is looked at each time, and leaves once an interval has passed.
    for step in 0..5 {
        queue.enqueue(of_flow(3, 100, 0), at(200_000 + step), &mut sink);
        queue.dequeue(at(200_000 + step), &mut sink);
    }
    assert_eq!(standing(&queue)[2], 0);
}

/// A flow that has sent more than its quantum and stops owes: its next packet is not sparse again.
#[test]
fn a_pause_does_not_clear_a_debt() {
    let mut queue = cake(&[PERFECT]);
    let mut sink = Recorder::default();
    (0..6).for_each(|_| queue.enqueue(of_flow(0, 1500, 0), Time::ZERO, &mut sink));
    (0..2).for_each(|_| queue.enqueue(of_flow(1, 1500, 0), Time::ZERO, &mut sink));
    let mut next = |queue: &mut Queue<u32>| queue.dequeue(Time::ZERO, &mut sink).map(|packet| packet.flow);
    assert_eq!([(); 5].map(|()| next(&mut queue).unwrap()), [0, 0, 1, 1, 0]);
    assert_eq!(probe(&queue, "best_effort.sparse_flows"), 1.0, "flow 1 waits, counted as sparse");
    queue.enqueue(of_flow(1, 1500, 0), Time::ZERO, &mut Recorder::default());
    assert_eq!(probe(&queue, "best_effort.sparse_flows"), 0.0);
    assert_eq!(probe(&queue, "best_effort.bulk_flows"), 2.0);
}

/// A bulk flow whose queue is taken over by a flow of another host, as after a collision.
#[test]
fn a_queue_that_changes_hands_is_counted_for_its_new_host() {
    let setting = Setting {
        rate: None,
        quantum: 1,
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        full_packet: 1500,
        fair_hosts: [true, false],
    };
    let mut tin = Tin::new(&setting);
    let mut random = Stream::new(1, "tin");
    tin.grow(2);
    let load = |tin: &Tin| [3, 4].map(|host| tin.hosts[0].as_ref().unwrap().bulk_flows(host));
    for flow in 0..2 {
        let place = tin.hosts[0].as_mut().unwrap().place(3);
        tin.seat(flow, [place, 0]);
        tin.arrived(flow, &mut random);
        // It uses up its quantum and waits, behind the other, for more.
        tin.charge(flow, 1514);
        assert_eq!(tin.turn(&mut false, |_| true, &mut random), Some(flow), "after one more quantum");
        tin.charge(flow, 1514);
    }
    assert_eq!(load(&tin), [2, 0]);
    let place = tin.hosts[0].as_mut().unwrap().place(4);
    tin.seat(1, [place, 0]);
    assert_eq!(load(&tin), [1, 1]);
    // A sparse one counts for nobody.
    tin.grow(3);
    tin.arrived(2, &mut random);
    tin.seat(2, [place, 0]);
    assert_eq!(load(&tin), [1, 1]);
}

/// BLUE's 1/256 of one overflow is worn off by sixteen visits to the empty queue, more than target apart.
#[test]
fn an_unresponsive_flow_is_one_until_blue_rests() {
    let mut queue = cake(&[PERFECT, ("memlimit", Value::Amount(Amount::Bytes(1500.0)))]);
    let mut sink = Recorder::default();
    let start = 10_000;
    (0..2).for_each(|number| queue.enqueue(of_flow(0, 1500, number), at(start), &mut sink));
    assert_eq!((sink.drops.len(), probe(&queue, "best_effort.unresponsive_flows")), (1, 1.0));
    assert!(queue.dequeue(at(start), &mut sink).is_some());
    for visit in 1..=16u64 {
        assert_eq!(probe(&queue, "best_effort.unresponsive_flows"), 1.0, "before visit {visit}");
        let now = at(start + visit * 5_001);
        queue.enqueue(of_flow(1, 100, 0), now, &mut sink);
        // Flow 1 is found empty where it went first, and then flow 0.
        while queue.dequeue(now, &mut sink).is_some() {}
    }
    assert_eq!(probe(&queue, "best_effort.unresponsive_flows"), 0.0);
}

/// What is left of a turn: anything, or whole quanta.
fn debts() -> impl Strategy<Value = i64> {
    prop_oneof![-4000i64..2000, (-60i64..30).prop_map(|parts| parts * 64)]
}

proptest! {
    /// Turns that are passed at once leave every tin as turns that go round one by one (`cake_dequeue`).
    #[test]
    fn turns_passed_at_once_are_those_that_go_round(
        tins in prop::collection::vec((debts(), 0u32..2), 3..=3), current in 0usize..3,
    ) {
        prop_assume!(tins.iter().any(|&(_, flows)| flows > 0));
        let Queue::Cake(mut cake) = cake(&[]) else { unreachable!("it is CAKE") };
        cake.current = current;
        for (tin, &(deficit, flows)) in cake.tins.iter_mut().zip(&tins) {
            (tin.deficit, tin.census.bulk) = (deficit, flows);
        }
        let mut expected: Vec<(i64, i64, bool)> =
            cake.tins.iter().map(|tin| (tin.deficit, tin.quantum, tin.waits())).collect();
        let mut turn = current;
        while expected[turn].0 < 0 || !expected[turn].2 {
            let (deficit, quantum, _) = &mut expected[turn];
            *deficit += if *deficit <= 0 { *quantum } else { 0 };
            turn = (turn + 1) % tins.len();
        }
        prop_assert_eq!(cake.tin_in_turn(), turn);
        let found: Vec<(i64, i64, bool)> =
            cake.tins.iter().map(|tin| (tin.deficit, tin.quantum, tin.waits())).collect();
        prop_assert_eq!(found, expected);
    }
}
