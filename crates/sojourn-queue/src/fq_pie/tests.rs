//! FQ-PIE: what it takes from FQ-CoDel and from PIE, and the laws.

use super::{DESCRIPTOR, FqPie, PieController, backlog};
use crate::laws::{Event, lead, mixed_lives, packet_of};
use crate::testing::{Recorder, build, limit, link, params, probe};
use crate::{Discipline, DropReason, Ecn, Queue};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span, Stream, Time};

const PERFECT: (&str, Value) = ("perfect", Value::Boolean(true));

fn fq_pie(changes: &[(&str, Value)]) -> Queue<u32> {
    build(&params(&DESCRIPTOR, "linux", changes), &link(10_000)).unwrap()
}

#[test]
fn flows_take_turns_of_a_quantum() {
    let mut queue = fq_pie(&[PERFECT]);
    let mut sink = Recorder::default();
    for (flow, packets, bytes) in [(0, 10, 1500), (1, 20, 500)] {
        for _ in 0..packets {
            queue.enqueue(packet_of(flow, bytes, flow, Ecn::NotEct), Time::ZERO, &mut sink);
        }
    }
    let order: Vec<u32> = (0..8).map(|_| queue.dequeue(Time::ZERO, &mut sink).unwrap().body).collect();
    assert_eq!(order, [0, 1, 1, 1, 0, 1, 1, 1]);
}

/// A flow that sends twice its share beside one that sends a tenth of it: only the first is dropped from.
#[test]
fn each_queue_has_its_own_controller() {
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        let mut queue = fq_pie(&[PERFECT, ("ecn", Value::Boolean(true)), limit(Amount::Packets(1e5))]);
        let mut sink = Recorder::default();
        for step in 0..20_000u64 {
            let now = Time::ZERO + Span::from_micros(1200 * step);
            while let Some(time) = queue.timer().filter(|&time| time <= now) {
                queue.on_timer(time, &mut sink);
            }
            queue.enqueue(packet_of(0, 1500, 0, ecn), now, &mut sink);
            if step % 20 == 0 {
                queue.enqueue(packet_of(1, 1500, 1, ecn), now, &mut sink);
            }
            queue.dequeue(now, &mut sink);
        }
        let signals = [sink.drops.iter().map(|drop| drop.0).collect(), sink.marks.clone()].concat();
        assert!(signals.len() > 200 && signals.iter().all(|&flow| flow == 0), "{ecn:?} {}", signals.len());
        assert_eq!(sink.marks.is_empty(), ecn == Ecn::NotEct);
        assert!(probe(&queue, "max_drop_probability") > 0.0);
    }
}

#[test]
fn a_full_buffer_refuses_the_arrival() {
    let memory = ("memory_limit", Value::Amount(Amount::Bytes(4_500.0)));
    for (changes, kept) in [(limit(Amount::Packets(5.0)), 5), (memory, 3)] {
        let mut queue = fq_pie(&[PERFECT, changes]);
        let mut sink = Recorder::default();
        for number in 0..8 {
            queue.enqueue(packet_of(number % 2, 1500, number, Ecn::NotEct), Time::ZERO, &mut sink);
        }
        let refused: Vec<_> = (kept..8).map(|number| (number, DropReason::Overflow)).collect();
        assert_eq!(sink.drops, refused);
    }
}

/// RFC 8033 appendix B: a refusal starts the accumulated probability of its queue over, and of no other.
#[test]
fn a_refused_arrival_starts_the_accumulation_over() {
    let params = params(&DESCRIPTOR, "linux", &[PERFECT, limit(Amount::Packets(2.0))]);
    let mut queue = FqPie::new(&params, &link(10_000), Stream::new(1, "queue")).unwrap();
    let mut sink = Recorder::default();
    for number in 0..2 {
        queue.enqueue(packet_of(number, 1500, number, Ecn::NotEct), Time::ZERO, &mut sink);
    }
    queue.controllers.iter_mut().for_each(|controller| controller.accumulate(0.5));
    queue.enqueue(packet_of(1, 1500, 2, Ecn::NotEct), Time::ZERO, &mut sink);
    assert_eq!(queue.controllers.iter().map(PieController::accumulated).collect::<Vec<_>>(), [0.5, 0.0]);
}

/// ns-3: flow 0 has 60 % of the bytes and loses from its head half of what it has, as FQ-CoDel does it.
#[test]
fn or_the_longest_queue_pays_for_it() {
    let arrivals = [(0, 1500); 6].into_iter().chain([(1, 1500); 4]).chain([(1, 100)]);
    for (batch, dropped) in [(64, vec![0, 1, 2]), (2, vec![0, 1])] {
        let changes = [PERFECT, limit(Amount::Packets(10.0)), ("drop_batch", Value::Integer(batch))];
        let mut queue = build(&params(&DESCRIPTOR, "ns3", &changes), &link(10_000)).unwrap();
        let mut sink = Recorder::default();
        for (number, (flow, bytes)) in (0..).zip(arrivals.clone()) {
            queue.enqueue(packet_of(flow, bytes, number, Ecn::NotEct), Time::ZERO, &mut sink);
        }
        assert_eq!(sink.drops, dropped.iter().map(|&number| (number, DropReason::Overflow)).collect::<Vec<_>>());
        assert_eq!(queue.packets(), 11 - dropped.len());
    }
}

/// The attributes of ns3::FqPieQueueDisc that differ from those of its PieQueueDisc are the limit, ECN and the burst.
#[test]
fn the_preset_of_ns3_is_that_of_its_pie() {
    let ours = params(&DESCRIPTOR, "ns3", &[]);
    let theirs = params(&crate::pie::DESCRIPTOR, "ns3", &[]);
    let differing: Vec<_> = theirs
        .iter()
        .filter(|(parameter, _)| ours.descriptor().parameter(parameter.name).is_some())
        .filter(|(parameter, value)| ours.get(parameter.name) != *value)
        .map(|(parameter, _)| parameter.name)
        .collect();
    assert_eq!(differing, ["limit", "ecn"]);
}

#[test]
fn wrong_combinations_name_the_parameter() {
    let fault = |changes: &[_]| build(&params(&DESCRIPTOR, "linux", changes), &link(10_000)).err();
    assert_eq!(fault(&[]), None);
    assert_eq!(fault(&[("estimator", Value::Choice("link-rate"))]), Some("estimator"));
    assert_eq!(fault(&[("alpha", Value::Number(0.0))]), Some("alpha"));
    assert_eq!(fault(&[("memory_limit", Value::Amount(Amount::Bytes(1000.0)))]), Some("memory_limit"));
}

proptest! {
    #[test]
    fn limits_hold(packets in 1u32..60, memory in 2_000u32..60_000, perfect: bool, longest: bool, life in mixed_lives()) {
        let changes = [
            limit(Amount::Packets(f64::from(packets))),
            ("memory_limit", Value::Amount(Amount::Bytes(f64::from(memory)))),
            ("perfect", Value::Boolean(perfect)),
        ];
        let preset = if longest { "ns3" } else { "linux" };
        let mut queue = build(&params(&DESCRIPTOR, preset, &changes), &link(10_000)).unwrap();
        lead(&mut queue, &life, |queue| {
            assert!(queue.packets() <= packets as usize && queue.bytes() <= u64::from(memory));
        })?;
    }

    /// Queues that an update leaves out are those that it would not change, whatever the law.
    #[test]
    fn an_update_is_as_of_all(
        preset in prop::sample::select(vec!["default", "linux"]),
        estimator in prop::sample::select(vec!["timestamp", "departure-rate"]),
        life in mixed_lives(),
    ) {
        let params = params(&DESCRIPTOR, preset, &[("estimator", Value::Choice(estimator))]);
        let mut queue = FqPie::new(&params, &link(4_000), sojourn_core::Stream::new(1, "queue")).unwrap();
        let (mut sink, mut now, mut arrived) = (Recorder::default(), Time::ZERO, 0);
        for event in life {
            let (flow, packets, asked, micros) = match event {
                Event::Arrive(flow, ..) => (flow, 1, 0, 0),
                Event::Burst(flow, packets) => (flow, packets, 0, 0),
                Event::Ask => (0, 0, 1, 0),
                Event::Serve(times, micros) => (0, 0, times, micros),
                Event::Wait(micros) => (0, 0, 0, micros),
            };
            for _ in 0..packets {
                queue.enqueue(packet_of(flow, 1500, arrived, Ecn::NotEct), now, &mut sink);
                arrived += 1;
            }
            for _ in 0..asked {
                queue.dequeue(now, &mut sink);
            }
            now += Span::from_micros(u64::from(micros));
            while queue.next_update <= now {
                let mut all = queue.controllers.clone();
                for (bucket, controller) in all.iter_mut().enumerate() {
                    controller.update(&queue.law, backlog(&queue.queues, bucket));
                }
                queue.on_timer(queue.next_update, &mut sink);
                prop_assert_eq!(&queue.controllers, &all);
            }
        }
        while queue.dequeue(now, &mut sink).is_some() {}
        (0..5_000).for_each(|_| queue.on_timer(now, &mut sink));
        queue.unsettled.retain(|bucket| panic!("{bucket} is empty and still not settled"));
    }

    /// With one flow and the same random numbers there is nothing to schedule: FQ-PIE is PIE.
    #[test]
    fn one_flow_is_under_pie(life in mixed_lives(), waits in 1u32..10_000) {
        let one: Vec<Event> = life
            .iter()
            .flat_map(|event| match *event {
                Event::Arrive(_, bytes, ecn) => [Event::Arrive(0, bytes, ecn), Event::Wait(0)],
                Event::Burst(_, packets) => [Event::Burst(0, packets), Event::Serve(3, waits)],
                other => [other, Event::Wait(0)],
            })
            .collect();
        // The classifier draws its seed first.
        let sure = [limit(Amount::Packets(1e6)), ("alpha", Value::Number(100.0)), ("derandomize", Value::Boolean(false))];
        let plain = params(&crate::pie::DESCRIPTOR, "linux", &sure);
        let mut random = sojourn_core::Stream::new(1, "queue");
        random.bits();
        let mut plain = Queue::build(&plain, &link(10_000), random).unwrap();
        prop_assert_eq!(lead(&mut fq_pie(&sure), &one, |_| ())?, lead(&mut plain, &one, |_| ())?);
    }
}
