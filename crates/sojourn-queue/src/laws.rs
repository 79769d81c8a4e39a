//! The laws of every discipline, and the mixed traffic under which they are tested.

use crate::testing::{Recorder, build, link, packet, params};
use crate::{DESCRIPTORS, Discipline, Ecn, FlowKey, Packet, Queue};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Span, Time};

/// A packet of flow `flow`, with its 5-tuple.
pub(crate) fn packet_of(flow: u32, bytes: u32, number: u32, ecn: Ecn) -> Packet<u32> {
    let key = FlowKey { source_port: flow as u16, destination_port: 80, ..FlowKey::default() };
    Packet { flow, key, ecn, ..packet(bytes, number) }
}

/// What happens at a queue, with flows and ECN.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A packet arrives: flow, bytes, ECN field.
    Arrive(u32, u32, Ecn),
    /// So many packets of one flow arrive at once.
    Burst(u32, u32),
    /// The link asks.
    Ask,
    /// The link asks every so many microseconds, so many times.
    Serve(u32, u32),
    /// Microseconds pass.
    Wait(u32),
}

/// Arbitrary lives with a few flows, some of them bursty, and phases long enough for a controller to act.
pub(crate) fn mixed_lives() -> impl Strategy<Value = Vec<Event>> {
    let flow = || prop_oneof![3 => 0u32..3, 1 => 0u32..40];
    let size = || prop_oneof![2 => Just(1500u32), 1 => 40u32..1500];
    let ecn = || prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
    let event = prop_oneof![
        6 => (flow(), size(), ecn()).prop_map(|(flow, bytes, ecn)| Event::Arrive(flow, bytes, ecn)),
        1 => (flow(), 1u32..80).prop_map(|(flow, packets)| Event::Burst(flow, packets)),
        4 => Just(Event::Ask),
        1 => (1u32..60, 1u32..3_000).prop_map(|(times, micros)| Event::Serve(times, micros)),
        2 => (0u32..5_000).prop_map(Event::Wait),
        1 => (0u32..1_500_000).prop_map(Event::Wait),
    ];
    prop::collection::vec(event, 1..250)
}

/// What became of a life.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Outcome {
    /// Drops and marks.
    pub(crate) sink: Recorder,
    /// Numbers of packets that left, with the time and their class.
    pub(crate) sent: Vec<(u32, Time, u8)>,
}

/// A queue that is led through a life.
struct Led<'a> {
    queue: &'a mut Queue<u32>,
    now: Time,
    outcome: Outcome,
    arrived: Vec<Packet<u32>>,
    bytes: [u64; 2],
}

impl Led<'_> {
    fn arrive(&mut self, flow: u32, bytes: u32, ecn: Ecn) {
        let packet = packet_of(flow, bytes, self.arrived.len() as u32, ecn);
        self.bytes[0] += u64::from(bytes);
        self.arrived.push(Packet { enqueued: self.now, ..packet });
        self.queue.enqueue(packet, self.now, &mut self.outcome.sink);
    }

    fn ask(&mut self) -> Result<(), TestCaseError> {
        let (waiting, ready) = (self.queue.packets(), self.queue.ready_at(self.now));
        let Some(packet) = self.queue.dequeue(self.now, &mut self.outcome.sink) else {
            // ns-3's COBALT and RFC 9332's DualPI2 may drop all there is; nobody else does.
            let may_drop_all = matches!(self.queue, Queue::Cobalt(_) | Queue::DualPi2(_)) && self.queue.packets() == 0;
            let is_ready = waiting > 0 && ready.is_none_or(|ready| ready <= self.now);
            prop_assert!(!is_ready || may_drop_all, "a queue that is ready must give a packet");
            return Ok(());
        };
        let before = &self.arrived[packet.body as usize];
        let marked = self.outcome.sink.marks.contains(&packet.body);
        let expected = if marked { Ecn::Ce } else { before.ecn };
        prop_assert_eq!(packet.ecn, expected, "CE is set where a mark was reported, and nowhere else");
        prop_assert!(!marked || before.ecn.is_capable(), "only ECN-capable packets are marked");
        prop_assert_eq!(packet.enqueued, before.enqueued, "a packet knows when it came");
        self.bytes[1] += u64::from(packet.bytes);
        self.outcome.sent.push((packet.body, self.now, packet.class));
        Ok(())
    }

    fn wait(&mut self, micros: u32) {
        let until = self.now + Span::from_micros(u64::from(micros));
        while let Some(time) = self.queue.timer().filter(|&time| time <= until) {
            self.queue.on_timer(time, &mut self.outcome.sink);
            assert!(self.queue.timer() > Some(time), "a timer moves on");
        }
        self.now = until;
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let Outcome { sink, sent } = &self.outcome;
        prop_assert_eq!(self.arrived.len(), sent.len() + sink.drops.len() + self.queue.packets(), "packets");
        prop_assert_eq!(self.bytes[0], self.bytes[1] + sink.dropped_bytes + self.queue.bytes(), "bytes");
        Ok(())
    }
}

/// Leads `queue` through `life` and drains it; checks what holds of every discipline.
pub(crate) fn lead(
    queue: &mut Queue<u32>,
    life: &[Event],
    mut check: impl FnMut(&Queue<u32>),
) -> Result<Outcome, TestCaseError> {
    let mut led = Led { queue, now: Time::ZERO, outcome: Outcome::default(), arrived: Vec::new(), bytes: [0; 2] };
    for event in life {
        match *event {
            Event::Arrive(flow, bytes, ecn) => led.arrive(flow, bytes, ecn),
            Event::Burst(flow, packets) => {
                for _ in 0..packets {
                    led.arrive(flow, 1500, Ecn::NotEct);
                    check(led.queue);
                }
            }
            Event::Ask => led.ask()?,
            Event::Serve(times, micros) => {
                for _ in 0..times {
                    led.ask()?;
                    led.wait(micros);
                }
            }
            Event::Wait(micros) => led.wait(micros),
        }
        led.check()?;
        check(led.queue);
    }
    while led.queue.packets() > 0 {
        led.ask()?;
        led.check()?;
        led.wait(100);
    }
    // A dual queue keeps the order of a flow only among packets that its ECN field sends to the same queue, as others do
    // among those that they put into the same class.
    let mut last = [[[None; 2]; 3]; 40];
    for (number, _, class) in &led.outcome.sent {
        let packet = &led.arrived[*number as usize];
        let last = &mut last[packet.flow as usize][usize::from(*class)];
        let last = &mut last[usize::from(matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce))];
        prop_assert!(Some(*number) > *last, "packets of a flow leave in the order they came");
        *last = Some(*number);
    }
    for &(number, came) in &led.outcome.sink.came {
        prop_assert_eq!(came, led.arrived[number as usize].enqueued, "so does one that is dropped or marked");
    }
    let mut marks = led.outcome.sink.marks.clone();
    marks.sort_unstable();
    marks.dedup();
    prop_assert_eq!(marks.len(), led.outcome.sink.marks.len(), "no packet is marked twice");
    Ok(led.outcome)
}

/// Every preset of every discipline, without ECN marks and with them where there is a choice.
fn disciplines() -> Vec<(&'static str, &'static str, bool)> {
    let mut all = Vec::new();
    for descriptor in DESCRIPTORS {
        for preset in descriptor.presets.iter().map(|preset| preset.name).chain(["default"]) {
            all.push((descriptor.name, preset, false));
            if descriptor.parameter("ecn").is_some() {
                all.push((descriptor.name, preset, true));
            }
        }
    }
    all
}

proptest! {
    #[test]
    fn hold_of_every_discipline((name, preset, marks) in prop::sample::select(disciplines()), life in mixed_lives()) {
        let run = || {
            let changes = if marks { vec![("ecn", Value::Boolean(true))] } else { vec![] };
            let params = params(crate::find(name).unwrap(), preset, &changes);
            lead(&mut build(&params, &link(4_000)).unwrap(), &life, |_| ())
        };
        prop_assert_eq!(run()?, run()?, "the same stream makes the same decisions");
    }
}
