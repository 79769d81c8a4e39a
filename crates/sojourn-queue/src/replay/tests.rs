use super::*;
use crate::testing::{limit, link, params};
use crate::{DESCRIPTORS, cake, codel, droptail, fq_codel, pie, prio, red};
use proptest::prelude::*;
use sojourn_core::registry::{Descriptor, Value};
use sojourn_core::{Amount, Span, Stream};

fn queue(descriptor: &'static Descriptor, changes: &[(&str, Value)]) -> Queue<Number> {
    Queue::build(&params(descriptor, "default", changes), &link(8_000), Stream::new(1, "replay")).unwrap()
}

fn millis(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn arrival(at: Time) -> Arrival {
    Arrival { at, flow: 0, bytes: 1000, ecn: Ecn::NotEct, dscp: Dscp::DEFAULT }
}

fn left(at: Time, place: usize) -> Fate {
    Fate { end: End::Left { at, place }, marked: false }
}

fn overflow(at: Time) -> Fate {
    Fate { end: End::Dropped { at, reason: DropReason::Overflow }, marked: false }
}

/// 8 Mbit/s send 1000 B in a millisecond. All that come at the same time come before the wire is asked, so two of the
/// first four fit; the fifth comes just before the third place is free.
#[test]
fn a_wire_asks_when_the_packet_before_is_sent() {
    let mut two = queue(&droptail::DESCRIPTOR, &[limit(Amount::Packets(2.0))]);
    let arrivals = [0, 0, 0, 0, 1, 7].map(|at| arrival(millis(at)));
    let fates = replay(&mut two, &arrivals, Service::Shaper(link(8_000).rate));
    let (gone, early) = (overflow(millis(0)), left(millis(0), 0));
    assert_eq!(fates, [early, left(millis(1), 1), gone, gone, left(millis(2), 2), left(millis(7), 3)]);
}

/// The recording says what came first at the same time: a place is free for the second packet or not.
#[test]
fn ties_are_broken_as_they_were_recorded() {
    let arrivals = [arrival(millis(0)), arrival(millis(5))];
    for (before, second) in [(1, Fate { end: End::Waits, marked: false }), (2, overflow(millis(5)))] {
        let mut one = queue(&droptail::DESCRIPTOR, &[limit(Amount::Packets(1.0))]);
        let opportunities = [Opportunity { at: millis(5), arrivals: before }];
        let fates = replay(&mut one, &arrivals, Service::Recorded(&opportunities));
        assert_eq!(fates, [left(millis(5), 0), second], "{before} before");
    }
}

/// CoDel's first signal comes when the delay has been above 5 ms for 100 ms; the packet says so and leaves marked.
#[test]
fn marks_belong_to_the_packet() {
    let mut marking = queue(&codel::DESCRIPTOR, &[("ecn", Value::Boolean(true))]);
    let arrivals: Vec<_> = (0..100).map(|_| Arrival { ecn: Ecn::Ect0, ..arrival(millis(0)) }).collect();
    let opportunities: Vec<_> =
        (0..60).map(|place| Opportunity { at: millis(10 + 3 * place), arrivals: 100 }).collect();
    let fates = replay(&mut marking, &arrivals, Service::Recorded(&opportunities));
    let first = fates.iter().position(|fate| fate.marked);
    assert_eq!(first, Some(34), "10 + 3 * 34 is the first at or above 110");
    assert_eq!(fates[34].end, End::Left { at: millis(112), place: 34 });
    assert_eq!(fates[60].end, End::Waits);
}

/// RED's average ages over an idle time that it learns of by being asked in vain: a device asks, a shaper does not.
#[test]
fn only_a_device_asks_in_vain() {
    let average = |service| {
        let mut red = queue(&red::DESCRIPTOR, &[("weight", Value::Number(0.5))]);
        let burst = (0..20).map(|_| arrival(millis(0)));
        let arrivals: Vec<_> = burst.chain([arrival(millis(1000))]).collect();
        replay(&mut red, &arrivals, service);
        let mut average = f64::NAN;
        red.probe(&mut |name, value| average = if name == "average_packets" { value } else { average });
        average
    };
    let (device, shaper) = (average(Service::Device(link(8_000).rate)), average(Service::Shaper(link(8_000).rate)));
    assert!(device < 1e-6, "{device}");
    assert!((shaper - 9.0).abs() < 1.0, "half of the 18 that the last of the burst found on average: {shaper}");
}

/// CAKE at 1 Mbit/s lets 1000 B go every 8 ms, whatever the link could do.
#[test]
fn a_shaper_is_waited_for() {
    let rate = Value::Rate(link(1_000).rate);
    let mut cake = queue(&cake::DESCRIPTOR, &[("bandwidth", rate)]);
    let fates = replay(&mut cake, &[arrival(millis(0)); 3], Service::Shaper(link(8_000).rate));
    assert_eq!(fates, [left(millis(0), 0), left(millis(8), 1), left(millis(16), 2)]);
}

/// FQ-CoDel's quantum is two packets here, so that another flow's packet is the third; by key and by number.
#[test]
fn flows_are_told_apart() {
    let arrivals = [0, 0, 0, 1].map(|flow| Arrival { flow, ..arrival(millis(0)) });
    for perfect in [false, true] {
        let mut fair = queue(&fq_codel::DESCRIPTOR, &[("perfect", Value::Boolean(perfect))]);
        let fates = replay(&mut fair, &arrivals, Service::Shaper(link(8_000).rate));
        assert_eq!(fates[3], left(millis(2), 2), "{perfect}");
    }
}

#[test]
fn code_points_are_told_apart() {
    let expedited = Arrival { dscp: Dscp::from_number(46).unwrap(), ..arrival(millis(0)) };
    let arrivals = [arrival(millis(0)), arrival(millis(0)), expedited];
    let fates = replay(&mut queue(&prio::DESCRIPTOR, &[]), &arrivals, Service::Shaper(link(8_000).rate));
    assert_eq!(fates[2], left(millis(0), 0));
}

/// What became of each packet, and when, by a loop that takes one event after the other.
struct OneByOne(Vec<Option<Time>>, Time);

impl Sink<Number> for OneByOne {
    fn dropped(&mut self, packet: &Packet<Number>, _: DropReason) {
        self.0[packet.body.0] = Some(self.1);
    }

    fn marked(&mut self, _: &Packet<Number>) {}
}

impl OneByOne {
    fn until(&mut self, at: Time, queue: &mut Queue<Number>) {
        while queue.timer().is_some_and(|due| due <= at) {
            let due = queue.timer().unwrap();
            queue.on_timer(due, self);
        }
        self.1 = at;
    }
}

proptest! {
    /// PIE moves its probability by a clock of its own, between arrivals and between departures.
    #[test]
    fn the_queues_own_clock_goes_on((arrivals, opportunities) in recordings()) {
        let fates = replay(&mut queue(&pie::DESCRIPTOR, &[]), &arrivals, Service::Recorded(&opportunities));
        let mut pie = queue(&pie::DESCRIPTOR, &[]);
        let mut expected = OneByOne(vec![None; arrivals.len()], Time::ZERO);
        let mut asks = opportunities.iter().peekable();
        for number in 0..=arrivals.len() {
            while let Some(ask) = asks.next_if(|ask| ask.arrivals == number) {
                expected.until(ask.at, &mut pie);
                if let Some(packet) = pie.dequeue(ask.at, &mut expected) {
                    expected.0[packet.body.0] = Some(ask.at);
                }
            }
            if let Some(arrival) = arrivals.get(number) {
                expected.until(arrival.at, &mut pie);
                pie.enqueue(arrival.packet(number), arrival.at, &mut expected);
            }
        }
        let ended = |fate: &Fate| match fate.end {
            End::Waits => None,
            End::Left { at, .. } | End::Dropped { at, .. } => Some(at),
        };
        prop_assert_eq!(fates.iter().map(ended).collect::<Vec<_>>(), expected.0);
    }
}

fn recordings() -> impl Strategy<Value = (Vec<Arrival>, Vec<Opportunity>)> {
    let arrival = (0u64..3_000, 0u16..5, 64u32..1500, prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1]));
    prop::collection::vec((arrival, prop::option::of(0u64..3_000)), 1..400).prop_map(|steps| {
        let (mut now, mut arrivals, mut opportunities) = (Time::ZERO, Vec::new(), Vec::new());
        for ((gap, flow, bytes, ecn), ask) in steps {
            now += Span::from_micros(gap);
            arrivals.push(Arrival { at: now, flow, bytes, ecn, dscp: Dscp::DEFAULT });
            if let Some(gap) = ask {
                now += Span::from_micros(gap);
                opportunities.push(Opportunity { at: now, arrivals: arrivals.len() });
            }
        }
        (arrivals, opportunities)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Every packet has one fate, places are given once each, nobody leaves before it came, and the queue holds the rest.
    #[test]
    fn packets_are_conserved((arrivals, opportunities) in recordings(), kind in 0usize..3) {
        for descriptor in DESCRIPTORS {
            let mut queue = queue(descriptor, &[]);
            let rate = link(8_000).rate;
            let service = [Service::Recorded(&opportunities), Service::Device(rate), Service::Shaper(rate)][kind];
            let recorded = kind == 0;
            let fates = replay(&mut queue, &arrivals, service);
            prop_assert_eq!(fates.len(), arrivals.len());
            let mut places = Vec::new();
            let mut waiting = 0;
            for (fate, arrival) in fates.iter().zip(&arrivals) {
                match fate.end {
                    End::Waits => waiting += 1,
                    End::Left { at, place } => {
                        prop_assert!(at >= arrival.at, "{}", descriptor.name);
                        places.push((place, at));
                    }
                    End::Dropped { at, .. } => prop_assert!(at >= arrival.at, "{}", descriptor.name),
                }
                prop_assert!(!fate.marked || arrival.ecn.is_capable());
            }
            prop_assert_eq!(waiting, queue.packets(), "{}", descriptor.name);
            prop_assert!(recorded || waiting == 0, "{}: a wire sends all", descriptor.name);
            prop_assert!(!recorded || places.len() <= opportunities.len());
            places.sort_unstable();
            prop_assert!(places.iter().enumerate().all(|(number, &(place, _))| number == place));
            prop_assert!(places.is_sorted_by_key(|&(_, at)| at), "{}", descriptor.name);
        }
    }
}
