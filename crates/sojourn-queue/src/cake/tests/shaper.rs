//! The shaper and what it takes a packet for.

use super::*;
use crate::cake::descriptor::framing;
use proptest::prelude::*;

fn on_wire(changes: &[(&str, Value)], bytes: u32) -> u32 {
    framing(&params(&DESCRIPTOR, "linux", changes)).bytes(bytes)
}

/// The words of tc and the sizes that they mean for packets of 1500, 52 and 40 B.
#[test]
fn framings_are_tc_s() {
    let cells = |cells: u32| cells * 53;
    for (name, expected) in [
        ("raw", [1500, 52, 40]),
        ("conservative", [cells(33), cells(3), cells(2)]),
        ("ethernet", [1538, 90, 84]),
        ("docsis", [1518, 70, 64]),
        // 1530 B and 24 more, 82 and 2, 70 and 2.
        ("pppoe-ptm", [1554, 84, 72]),
        ("bridged-ptm", [1522 + 24, 74 + 2, 62 + 1]),
        // 1508 B in 32 cells, 60 in 2, 48 in 1.
        ("ipoa-vcmux", [cells(32), cells(2), cells(1)]),
        ("ipoa-llcsnap", [cells(32), cells(2), cells(2)]),
        ("bridged-vcmux", [cells(32), cells(2), cells(2)]),
        ("bridged-llcsnap", [cells(32), cells(2), cells(2)]),
        ("pppoa-vcmux", [cells(32), cells(2), cells(2)]),
        ("pppoa-llc", [cells(32), cells(2), cells(2)]),
        ("pppoe-vcmux", [cells(32), cells(2), cells(2)]),
        ("pppoe-llcsnap", [cells(33), cells(2), cells(2)]),
    ] {
        assert_eq!([1500, 52, 40].map(|bytes| on_wire(&[word("link_layer", name)], bytes)), expected, "{name}");
    }
    let overheads = [
        ("bridged-vcmux", 24),
        ("bridged-llcsnap", 32),
        ("pppoa-vcmux", 10),
        ("pppoa-llc", 14),
        ("pppoe-vcmux", 32),
        ("pppoe-llcsnap", 40),
        ("ipoa-llcsnap", 16),
    ];
    for (name, overhead) in overheads {
        // The largest packet that still fits into ten cells.
        let fits = 480 - overhead;
        assert_eq!(on_wire(&[word("link_layer", name)], fits), cells(10), "{name}");
        assert_eq!(on_wire(&[word("link_layer", name)], fits + 1), cells(11), "{name}");
    }
}

#[test]
fn single_values_override_the_word() {
    let integer = |name, value| (name, Value::Integer(value));
    assert_eq!(on_wire(&[word("link_layer", "ethernet"), integer("overhead", 42)], 1500), 1542);
    assert_eq!(on_wire(&[word("link_layer", "ethernet"), integer("mpu", 0)], 40), 78);
    assert_eq!(on_wire(&[integer("mpu", 200), word("cells", "atm")], 40), 265);
    assert_eq!(on_wire(&[word("link_layer", "conservative"), word("cells", "none")], 100), 148);
    assert_eq!(on_wire(&[word("cells", "ptm")], 64), 65);
    assert_eq!(on_wire(&[word("cells", "ptm")], 65), 67);
}

/// The kilobits per second of packets that left, as their senders see them, while there is always one more.
fn rate_of(changes: &[(&str, Value)], bytes: u32) -> f64 {
    let mut queue = cake_on(&link(100_000), &[&[bandwidth(10_000)], changes].concat());
    let mut sink = Recorder::default();
    let (mut now, mut sent) = (Time::ZERO, 0);
    let end = Time::ZERO + Span::from_secs(20);
    while now < end {
        while queue.packets() < 3 {
            queue.enqueue(of_flow(0, bytes, 0), now, &mut sink);
        }
        match queue.dequeue(now, &mut sink) {
            Some(_) => sent += 1,
            None => now = queue.ready_at(now).filter(|&ready| ready > now).expect("something waits, and not for now"),
        }
    }
    f64::from(sent) * f64::from(bytes) * 8.0 / 20.0 / 1000.0
}

#[test]
fn the_rate_is_kept_on_the_wire() {
    for (changes, bytes, expected) in [
        (vec![], 1500, 10_000.0),
        (vec![], 333, 10_000.0),
        (vec![word("link_layer", "ethernet")], 1500, 10_000.0 * 1500.0 / 1538.0),
        (vec![word("link_layer", "pppoa-vcmux")], 1500, 10_000.0 * 1500.0 / 1696.0),
        (vec![word("link_layer", "pppoe-ptm")], 1500, 10_000.0 * 1500.0 / 1554.0),
        (vec![word("link_layer", "conservative")], 40, 10_000.0 * 40.0 / 106.0),
        (vec![word("link_layer", "docsis")], 40, 10_000.0 * 40.0 / 64.0),
    ] {
        let found = rate_of(&changes, bytes);
        assert!((found / expected - 1.0).abs() < 2e-4, "{changes:?}: {found} for {expected}");
    }
}

/// A packet of 1500 B takes 1.2 ms. Nothing waits for the link: one packet leaves at once, and none before its time.
#[test]
fn nothing_leaves_early_and_no_burst_is_saved_up() {
    let mut queue = cake(&[bandwidth(10_000)]);
    let mut sink = Recorder::default();
    assert_eq!(queue.ready_at(at(7)), None);
    for (start, number) in [(1_000_000, 0), (9_000_000, 10)] {
        for number in number..number + 4 {
            queue.enqueue(of_flow(0, 1500, number), at(start), &mut sink);
        }
        for step in 0..4 {
            let ready = at(start + 1200 * step);
            assert_eq!(queue.ready_at(at(start)), Some(ready.max(at(start))));
            assert!(step == 0 || queue.dequeue(Time::from_nanos(ready.as_nanos() - 1), &mut sink).is_none());
            assert_eq!(queue.dequeue(ready, &mut sink).map(|packet| packet.body), Some(number + step as u32));
        }
    }
}

/// A link that came late is given what it missed while packets waited, but not what it missed before.
#[test]
fn a_late_link_catches_up() {
    let mut queue = cake(&[bandwidth(10_000), ("rtt", Value::Span(Span::from_secs(100)))]);
    let mut sink = Recorder::default();
    (0..20).for_each(|number| queue.enqueue(of_flow(0, 1500, number), at(50_000), &mut sink));
    let sent = |queue: &mut Queue<u32>, micros| {
        let mut sink = Recorder::default();
        std::iter::from_fn(|| queue.dequeue(at(micros), &mut sink)).count()
    };
    assert_eq!(sent(&mut queue, 50_000), 1);
    assert_eq!(sent(&mut queue, 62_000), 10);
    assert_eq!(sent(&mut queue, 62_001), 0);
}

/// Where drops count too, the failsafe clock still lets two thirds of the rate through.
#[test]
fn what_is_dropped_counts_in_ingress_mode() {
    let sent = |ingress| {
        let memory = ("memlimit", Value::Amount(Amount::Bytes(15_000.0)));
        let mut queue = cake(&[bandwidth(12_000), memory, ("ingress", Value::Boolean(ingress))]);
        let mut sink = Recorder::default();
        let mut sent = 0;
        for step in 0..10_000 {
            // 24 Mbit/s come.
            queue.enqueue(of_flow(step % 2, 1500, step), at(u64::from(step) * 500), &mut sink);
            sent += u32::from(queue.dequeue(at(u64::from(step) * 500), &mut sink).is_some());
        }
        sent
    };
    // 5 s at 1000 packets a second.
    assert_eq!(sent(false), 5_000);
    assert!((3_300..3_400).contains(&sent(true)), "{}", sent(true));
}

proptest! {
    /// At no time has more left than the rate allows, and one packet.
    #[test]
    fn the_rate_is_never_exceeded(
        arrivals in prop::collection::vec((0u32..5, 40u32..1500, 0u64..3_000), 1..300),
        kilobits in 100u64..20_000,
        polls in 1u64..2_000,
    ) {
        let mut queue = cake(&[bandwidth(kilobits), word("link_layer", "ethernet")]);
        let (mut sink, mut now, mut wire) = (Recorder::default(), 0, 0u64);
        let mut began = None;
        for (flow, bytes, wait) in arrivals {
            if queue.packets() == 0 {
                // The clock may be ahead by the last packet.
                (began, wire) = (None, 0);
            }
            queue.enqueue(of_flow(flow, bytes, 0), at(now), &mut sink);
            let end = now + wait;
            while now < end {
                while let Some(packet) = queue.dequeue(at(now), &mut sink) {
                    let began = *began.get_or_insert(now);
                    let elapsed = Span::from_micros(now - began);
                    let allowed = Rate::from_bits_per_second(kilobits * 1000).unwrap().bytes_in(elapsed);
                    let late = wire as f64 - allowed;
                    prop_assert!(late <= polls.max(wait) as f64 * kilobits as f64 / 8000.0 + 1.0, "{late}");
                    wire += u64::from((packet.bytes + 38).max(84));
                }
                now = (now + polls).min(end);
            }
        }
    }
}
