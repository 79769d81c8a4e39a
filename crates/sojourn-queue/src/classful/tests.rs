//! Classes: which packets, what is refused, and the laws with queues in queues.

use super::{ClassScheduler, ClassSet, Classful, MAX_CLASSES};
use crate::laws::{lead, mixed_lives};
use crate::testing::{Recorder, build, class, dscp, held, limit, link, packet_with, probe};
use crate::{Discipline, DropReason, Packet, Queue, Sink};
use proptest::prelude::*;
use sojourn_core::registry::{FlowGroup, Members, Params, Value};
use sojourn_core::{Amount, Span, Stream, Time};

const SCHEDULERS: [&str; 4] = ["prio", "wrr", "dwrr", "wfq"];

fn precedence(numbers: &[u8]) -> Members {
    Members { precedence: numbers.to_vec(), ..Members::default() }
}

fn flows(name: &str, flows: std::ops::Range<u32>) -> Members {
    Members { groups: vec![FlowGroup { name: name.to_owned(), flows }], ..Members::default() }
}

fn rest() -> Members {
    Members::default()
}

fn droptail(packets: f64) -> Params {
    held("droptail", &[limit(Amount::Packets(packets))])
}

/// The discipline `name` with these classes.
fn with(name: &str, classes: Vec<(&str, Members, Params)>, changes: &[(&str, Value)]) -> Params {
    let mut params = held(name, changes);
    let descriptor = params.descriptor();
    let class = |(name, members, queue): (&str, Members, Params)| class(descriptor, name, members, &[], queue);
    params.classes = classes.into_iter().map(class).collect();
    params
}

fn queue(params: &Params) -> Queue<u32> {
    build(params, &link(10_000)).unwrap()
}

#[test]
fn a_packet_belongs_to_the_first_class_that_takes_it() {
    let classes = vec![
        ("voice", dscp(&[46]), droptail(10.0)),
        ("tcp", flows("tcp", 2..4), droptail(10.0)),
        ("rest", rest(), droptail(10.0)),
        ("control", precedence(&[6, 7]), droptail(10.0)),
        ("both", Members { precedence: vec![1], ..dscp(&[8, 0]) }, droptail(10.0)),
    ];
    let mut queue = queue(&with("prio", classes, &[]));
    let mut class_of = |dscp: u8, flow: u32| {
        let mut sink = Recorder::default();
        queue.enqueue(Packet { flow, class: 99, ..packet_with(dscp, 100, 0) }, Time::ZERO, &mut sink);
        queue.dequeue(Time::ZERO, &mut sink).map(|packet| packet.class).unwrap()
    };
    assert_eq!([class_of(46, 0), class_of(45, 0), class_of(47, 0)], [0, 2, 2]);
    assert_eq!([class_of(48, 0), class_of(63, 9), class_of(40, 0)], [3, 3, 2]);
    assert_eq!([class_of(1, 1), class_of(1, 2), class_of(1, 3), class_of(1, 4)], [2, 1, 1, 2]);
    assert_eq!([class_of(46, 2), class_of(48, 2)], [0, 1], "whatever speaks for the first");
    assert_eq!([class_of(0, 0), class_of(8, 0), class_of(15, 0), class_of(16, 0)], [4, 4, 4, 2]);
    assert_eq!(queue.classes(), ["voice", "tcp", "rest", "control", "both"]);
}

/// What is said of classes that do not fit together.
fn refusal(params: &Params) -> String {
    match Queue::<u32>::build(params, &link(10_000), Stream::new(1, "queue")) {
        Ok(_) => "fine".to_owned(),
        Err(error) => {
            let class = error.class.map_or(String::new(), |index| format!("{index}."));
            format!("{class}{}: {}", error.parameter, error.rule)
        }
    }
}

#[test]
fn classes_that_contradict_each_other_are_refused() {
    let refused = |classes| refusal(&with("dwrr", classes, &[]));
    let ten = || droptail(10.0);
    assert_eq!(
        refused(vec![]),
        "class: at least one class; exactly one has neither dscp, precedence nor groups and takes what no other takes"
    );
    assert_eq!(refused(vec![("rest", rest(), ten())]), "fine");
    assert_eq!(
        refused(vec![("voice", dscp(&[46]), ten())]),
        "class: one class with neither dscp, precedence nor groups, for the packets that no other class takes"
    );
    assert_eq!(
        refused(vec![("one", rest(), ten()), ("two", rest(), ten())]),
        "1.name: a class with dscp, precedence or groups: \"one\" takes the rest already"
    );
    assert_eq!(
        refused(vec![("a", dscp(&[0, 46]), ten()), ("b", dscp(&[8, 46]), ten()), ("rest", rest(), ten())]),
        "1.dscp: code points that no other class takes; ef (46) belongs to \"a\" already"
    );
    assert_eq!(
        refused(vec![("a", dscp(&[47]), ten()), ("b", precedence(&[5]), ten()), ("rest", rest(), ten())]),
        "1.precedence: code points that no other class takes; 47 belongs to \"a\" already"
    );
    assert_eq!(
        refused(vec![("a", flows("x", 0..3), ten()), ("b", flows("y", 2..5), ten()), ("rest", rest(), ten())]),
        "1.groups: groups that no other class takes; \"y\" belongs to \"a\" already"
    );
    let many = |count: u8| {
        let mut classes: Vec<_> = (1..count).map(|number| ("c", dscp(&[number]), ten())).collect();
        classes.push(("rest", rest(), ten()));
        refused(classes)
    };
    assert_eq!(many(MAX_CLASSES as u8), "fine");
    assert_eq!(many(MAX_CLASSES as u8 + 1), "class: at most 16 classes");
}

#[test]
fn queues_that_do_not_fit_are_refused() {
    let one = |queue, changes: &[(&str, Value)]| refusal(&with("prio", vec![("rest", rest(), queue)], changes));
    let bytes = |bytes| held("droptail", &[limit(Amount::Bytes(bytes))]);
    let most = [limit(Amount::Packets(100.0))];
    assert_eq!(
        one(droptail(101.0), &most),
        "0.queue: a limit of at most the 100 packets that all classes together may hold"
    );
    assert_eq!(one(droptail(100.0), &most), "fine");
    assert_eq!(one(bytes(1e9), &most), "fine", "packets and bytes cannot be compared");
    assert_eq!(one(bytes(2000.0), &[limit(Amount::Bytes(1999.0))]).split(':').next(), Some("0.queue"));
    assert_eq!(
        one(bytes(1499.0), &[]),
        "0.queue: as limit, room for at least one full-size packet (1500 B), or every one is dropped"
    );
    assert_eq!(one(droptail(1.0), &[limit(Amount::Bytes(1499.0))]).split(':').next(), Some("limit"));
    let nested = |depth| (1..depth).fold(droptail(1.0), |queue, _| with("wrr", vec![("rest", rest(), queue)], &[]));
    assert_eq!(refusal(&nested(4)), "fine");
    assert_eq!(
        refusal(&nested(5)),
        "class: at most 4 disciplines one inside the other, of which this is the outermost"
    );
}

#[test]
fn all_classes_together_have_a_limit() {
    let classes = vec![("voice", dscp(&[46]), droptail(3.0)), ("rest", rest(), droptail(3.0))];
    let mut queue = queue(&with("prio", classes, &[limit(Amount::Packets(4.0))]));
    let mut sink = Recorder::default();
    for (number, dscp) in (0..).zip([0, 0, 0, 0, 46, 46, 46]) {
        queue.enqueue(packet_with(dscp, 100, number), Time::ZERO, &mut sink);
    }
    // The fourth by the class's own limit, the last two by that of all.
    assert_eq!(sink.drops, [3, 5, 6].map(|number| (number, DropReason::Overflow)));
    assert_eq!((queue.packets(), queue.bytes()), (4, 400));
    assert_eq!((probe(&queue, "voice.packets"), probe(&queue, "rest.packets")), (1.0, 3.0));
}

/// Remembers the class of everything it is told of.
#[derive(Default)]
struct Classes(Vec<u8>);

impl Sink<u32> for Classes {
    fn dropped(&mut self, packet: &Packet<u32>, _reason: DropReason) {
        self.0.push(packet.class);
    }
    fn marked(&mut self, packet: &Packet<u32>) {
        self.0.push(packet.class);
    }
}

#[test]
fn the_outermost_classes_are_those_of_the_packet() {
    let inner = with("prio", vec![("ef", dscp(&[46]), droptail(1.0)), ("others", rest(), droptail(1.0))], &[]);
    let mut marking = held("early", &[("threshold", Value::Amount(Amount::Packets(0.0)))]);
    marking.child = Some(Box::new(inner));
    let classes = vec![("a", dscp(&[1]), droptail(1.0)), ("b", dscp(&[2]), droptail(1.0)), ("rest", rest(), marking)];
    let mut queue = queue(&with("wrr", classes, &[]));
    let mut sink = Classes::default();
    for _ in 0..2 {
        for dscp in [46, 0] {
            let packet = Packet { ecn: crate::Ecn::Ect1, ..packet_with(dscp, 100, 0) };
            queue.enqueue(packet, Time::ZERO, &mut sink);
        }
    }
    assert_eq!(sink.0, [2, 2], "two that found no room");
    let sent = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut sink)).map(|packet| packet.class);
    assert_eq!(sent.collect::<Vec<_>>(), [2, 2]);
    assert_eq!(sink.0, [2, 2, 2], "and one that was marked");
    assert_eq!(queue.classes(), ["a", "b", "rest"]);
    let mut names = Vec::new();
    queue.probe(&mut |name, _| names.push(name.to_owned()));
    let own = ["a.packets", "b.packets", "rest.packets"];
    let inside = ["rest.early_marks", "rest.child.ef.packets", "rest.child.others.packets"];
    assert_eq!(names, [own, inside].concat());
}

/// The numbers of the packets that an early-dropping queue of the class `name` drops, beside other classes.
fn early_drops(name: &str, others: &[&str]) -> Vec<u32> {
    let red = || held("red", &[("max_p", Value::Number(0.5)), ("weight", Value::Number(1.0))]);
    let mut classes = vec![(name, dscp(&[46]), red())];
    classes.extend((1..).zip(others).map(|(number, &other)| (other, dscp(&[number]), red())));
    classes.push(("rest", rest(), red()));
    let mut queue = queue(&with("dwrr", classes, &[]));
    let mut sink = Recorder::default();
    for number in 0..30 {
        // What the others do is nothing to it.
        (0..10).for_each(|_| queue.enqueue(packet_with(1, 1500, 1000), Time::ZERO, &mut sink));
        queue.enqueue(packet_with(46, 1500, number), Time::ZERO, &mut sink);
    }
    sink.drops.iter().map(|&(number, _)| number).filter(|&number| number < 1000).collect()
}

#[test]
fn each_class_has_a_random_stream_of_its_own() {
    let alone = early_drops("voice", &[]);
    assert!(alone.len() > 5 && alone.len() < 25, "{alone:?}");
    assert_eq!(early_drops("voice", &["video", "control"]), alone);
    assert_ne!(early_drops("speech", &[]), alone);
}

/// A queue that drops all it has when it is asked after an overflow, like ns-3's COBALT.
fn drops_all() -> Params {
    let changes = [
        limit(Amount::Packets(3.0)),
        ("drop", Value::Choice("head")),
        ("increment", Value::Number(1.0)),
        ("spare_last", Value::Boolean(false)),
    ];
    held("cobalt", &changes)
}

#[test]
fn a_class_that_drops_all_it_has_makes_way() {
    for name in SCHEDULERS {
        let classes = vec![("first", dscp(&[46]), drops_all()), ("rest", rest(), droptail(10.0))];
        let mut queue = queue(&with(name, classes, &[]));
        let mut sink = Recorder::default();
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        for number in 0..5 {
            queue.enqueue(packet_with(46, 1500, number), at(10_000), &mut sink);
        }
        queue.enqueue(packet_with(0, 1500, 5), at(10_000), &mut sink);
        let sent = queue.dequeue(at(10_001), &mut sink).map(|packet| packet.body);
        assert_eq!((sent, sink.drops.len(), queue.packets()), (Some(5), 5, 0), "{name}");
        assert_eq!((queue.dequeue(at(10_002), &mut sink).map(|packet| packet.body), queue.bytes()), (None, 0));
        assert_eq!(queue.ready_at(at(10_002)), None);
        queue.enqueue(packet_with(0, 1500, 6), at(10_003), &mut sink);
        assert_eq!(queue.ready_at(at(10_004)), Some(at(10_004)));
    }
}

/// The first class goes first; writes down what it is told.
#[derive(Debug, Default)]
struct Told(Vec<String>);

impl ClassScheduler for Told {
    fn next(&mut self, candidates: ClassSet) -> usize {
        self.0.push(format!("next of {:?}", candidates.iter().collect::<Vec<_>>()));
        candidates.first()
    }
    fn sent(&mut self, class: usize, bytes: u32) {
        self.0.push(format!("{class} sent {bytes}"));
    }
    fn gave_nothing(&mut self, class: usize) {
        self.0.push(format!("{class} passed"));
    }
    fn backlogged(&mut self, class: usize) {
        self.0.push(format!("{class} joined"));
    }
    fn emptied(&mut self, class: usize) {
        self.0.push(format!("{class} left"));
    }
}

#[test]
fn whose_turn_it_is_is_told_of_all_that_happens() {
    let params = with("prio", vec![("first", dscp(&[46]), drops_all()), ("rest", rest(), droptail(10.0))], &[]);
    let mut queue =
        Classful::new(&params, &params.classes, Told::default(), &link(10_000), Stream::new(1, "queue")).unwrap();
    let (mut sink, at) = (Recorder::default(), |millis| Time::ZERO + Span::from_millis(millis));
    (0..5).for_each(|number| queue.enqueue(packet_with(46, 1500, number), at(10_000), &mut sink));
    queue.enqueue(packet_with(0, 700, 5), at(10_000), &mut sink);
    queue.dequeue(at(10_001), &mut sink);
    queue.dequeue(at(10_002), &mut sink);
    let told = ["0 joined", "1 joined", "next of [0, 1]", "0 passed", "0 left", "next of [1]", "1 sent 700", "1 left"];
    assert_eq!(queue.scheduler.0, told);
}

#[test]
fn the_clocks_of_all_classes_run() {
    let pie = |millis| held("pie", &[("update", Value::Span(Span::from_millis(millis)))]);
    let classes = vec![("slow", dscp(&[46]), pie(50)), ("rest", rest(), pie(20))];
    let mut queue = queue(&with("wfq", classes, &[]));
    let mut calls = Vec::new();
    while let Some(time) = queue.timer().filter(|&time| time <= Time::ZERO + Span::from_millis(100)) {
        queue.on_timer(time, &mut Recorder::default());
        calls.push(time.since(Time::ZERO).as_secs_f64() * 1000.0);
    }
    assert_eq!(calls, [20.0, 40.0, 50.0, 60.0, 80.0, 100.0]);
}

/// A scheduler in a scheduler, classes by flow, with two AQMs.
fn nested(outer: &str, inner: &str, aqm: &str) -> Params {
    let inner = with(inner, vec![("c", flows("c", 1..2), held(aqm, &[])), ("d", rest(), droptail(20.0))], &[]);
    let mut early = held("early", &[]);
    early.child = Some(Box::new(held(aqm, &[])));
    with(
        outer,
        vec![("a", flows("a", 0..1), early), ("b", flows("b", 1..20), inner), ("r", rest(), droptail(5.0))],
        &[],
    )
}

proptest! {
    /// Conservation, work conservation, order within a flow, honest marks and determinism, two deep.
    #[test]
    fn the_laws_hold_in_queues_in_queues(
        outer in prop::sample::select(SCHEDULERS.to_vec()),
        inner in prop::sample::select(SCHEDULERS.to_vec()),
        aqm in prop::sample::select(vec!["codel", "red", "pie", "sfq", "fq_codel"]),
        life in mixed_lives(),
    ) {
        let run = || {
            let most = |queue: &Queue<u32>| assert!(probe(queue, "r.packets") <= 5.0 && probe(queue, "b.d.packets") <= 20.0);
            lead(&mut queue(&nested(outer, inner, aqm)), &life, most)
        };
        prop_assert_eq!(run()?, run()?);
    }

    /// Whatever is sent, no class above it could have sent something.
    #[test]
    fn strict_priority_holds_with_any_queue_inside(
        aqm in prop::sample::select(vec!["codel", "red", "sfq", "cobalt"]),
        steps in prop::collection::vec((0u8..3, 0u32..40, any::<bool>()), 1..300),
    ) {
        let classes = vec![("first", dscp(&[1]), held(aqm, &[])), ("second", dscp(&[2]), held(aqm, &[])), ("rest", rest(), held(aqm, &[]))];
        let mut queue = queue(&with("prio", classes, &[]));
        let (mut sink, mut now) = (Recorder::default(), Time::ZERO);
        for (number, (dscp, millis, ask)) in (0u32..).zip(steps) {
            now += Span::from_millis(u64::from(millis));
            queue.enqueue(packet_with(dscp, 1000, number), now, &mut sink);
            if ask {
                let sent = queue.dequeue(now, &mut sink).map(|packet| usize::from(packet.class));
                let waits = |class: usize| probe(&queue, ["first.packets", "second.packets", "rest.packets"][class]) > 0.0;
                prop_assert!((0..sent.unwrap_or(3)).all(|class| !waits(class)));
            }
        }
    }
}
