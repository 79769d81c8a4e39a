//! A toy of a stack: stop and wait, with a timer.

use crate::{Asked, Connection, Ecn, Endpoint, Failure, Span, Time, command_of, run, simulate};
use sojourn_scenario::{Base, Scenario};
use sojourn_sim::{Monitor, Record, Session, Wanted};
use std::cell::RefCell;

const PATH: &str = "duration = \"10 s\"\n\
    bottleneck = { rate = \"8 Mbit/s\", queue = { kind = \"droptail\", limit = \"3 packets\" } }\n\
    [[group]]\nname = \"data\"\nstack = \"toy\"\nrtt = \"20 ms\"\n";
const BYTES: usize = 972;
const AGAIN: Span = Span::from_millis(200);

/// Sends its segments one by one, each when the last one was acknowledged, and again after a while.
struct Sender {
    next: u8,
    left: u32,
    due: Time,
    sends: bool,
}

impl Sender {
    fn new(segments: u32) -> Sender {
        Sender { next: 0, left: segments, due: Time::ZERO, sends: false }
    }
}

impl Endpoint for Sender {
    fn receive(&mut self, _: Time, _: Ecn, datagram: &[u8]) {
        if datagram[0] == self.next {
            self.next = self.next.wrapping_add(1);
            self.left -= 1;
            self.sends = self.left > 0;
            self.due = Time::NEVER;
        }
    }

    fn write(&mut self, _: Time, bytes: u64) {
        self.sends |= self.left == 0;
        self.left += bytes.div_ceil(BYTES as u64) as u32;
    }

    fn wake(&mut self, _: Time) {
        self.sends = self.left > 0;
        self.due = Time::NEVER;
    }

    fn next_wake(&self) -> Time {
        self.due
    }

    fn transmit(&mut self, now: Time, room: &mut Vec<u8>) -> Option<Ecn> {
        if !std::mem::take(&mut self.sends) {
            return None;
        }
        self.due = now + AGAIN;
        room.resize(BYTES, self.next);
        Some(Ecn::Ect0)
    }

    fn delivered_bytes(&self) -> u64 {
        0
    }
}

#[derive(Default)]
struct Receiver {
    next: u8,
    answer: Option<u8>,
    bytes: u64,
    finished: Option<Time>,
}

impl Endpoint for Receiver {
    fn receive(&mut self, now: Time, ecn: Ecn, datagram: &[u8]) {
        assert_eq!(ecn, Ecn::Ect0);
        if datagram[0] == self.next {
            self.next = self.next.wrapping_add(1);
            self.bytes += datagram.len() as u64;
            self.finished = Some(now);
        }
        self.answer = Some(datagram[0]);
    }

    fn wake(&mut self, _: Time) {}

    fn next_wake(&self) -> Time {
        Time::NEVER
    }

    fn transmit(&mut self, _: Time, room: &mut Vec<u8>) -> Option<Ecn> {
        room.push(self.answer.take()?);
        Some(Ecn::NotEct)
    }

    fn delivered_bytes(&self) -> u64 {
        self.bytes
    }
}

fn record(text: &str, connections: Vec<Connection>) -> Result<Record, Failure> {
    let scenario = Scenario::parse(text, None, &Base::Nowhere, &[]).expect("a scenario").scenario;
    let mut session = Session::new(scenario, 1, &Wanted::default());
    run(&mut session, connections, &Monitor::default())?;
    Ok(session.finish(&Monitor::default()).expect("no plug-in fails").record)
}

fn pair(sender: impl Endpoint + 'static, receiver: impl Endpoint + 'static) -> Connection {
    Connection { sender: Box::new(sender), receiver: Box::new(receiver) }
}

#[test]
fn a_transfer_takes_what_arithmetic_says() {
    // A round trip of 20 ms, and 1 ms for 1000 bytes: 476 segments in 10 s, one more is under way.
    let found = record(PATH, vec![pair(Sender::new(10_000), Receiver::default())]).expect("it rests");
    assert_eq!(found.flows[0].delivered_bytes, 476 * BYTES as u64);
    let text = format!("{PATH}traffic = {{ kind = \"bulk\", size = \"97200 B\" }}\n");
    let whole = record(&text, vec![pair(Sender::new(100), Receiver::default())]).expect("it rests");
    assert_eq!(whole.flows[0].delivered_bytes, 100 * BYTES as u64);
}

#[test]
fn a_stack_shares_the_link_and_repeats_itself() {
    let lossy = PATH.replace("8 Mbit/s\"", "8 Mbit/s\", loss = 0.05");
    let text = format!("{lossy}[[group]]\nname = \"tcp\"\ncontrol = \"cubic\"\nrtt = \"20 ms\"\n");
    let run = || record(&text, vec![pair(Sender::new(10_000), Receiver::default())]).expect("it rests");
    let (one, two) = (run(), run());
    assert_eq!((one.events, one.flows[0].delivered_bytes), (two.events, two.flows[0].delivered_bytes));
    assert!(one.groups["data"].drop_rate > Some(0.0), "one in twenty is lost");
    assert!(one.groups["data"].goodput_mbps > 0.02, "what was lost is sent again");
}

struct Restless(Sender);

impl Endpoint for Restless {
    fn receive(&mut self, _: Time, _: Ecn, _: &[u8]) {
        panic!("no stack for datagrams");
    }

    fn wake(&mut self, _: Time) {}

    fn next_wake(&self) -> Time {
        Time::ZERO
    }

    fn transmit(&mut self, now: Time, room: &mut Vec<u8>) -> Option<Ecn> {
        self.0.transmit(now, room)
    }

    fn delivered_bytes(&self) -> u64 {
        0
    }
}

/// Says that it has one byte less with each datagram.
struct Forgetful(u64);

impl Endpoint for Forgetful {
    fn receive(&mut self, _: Time, _: Ecn, _: &[u8]) {
        self.0 -= 1;
    }

    fn wake(&mut self, _: Time) {}

    fn next_wake(&self) -> Time {
        Time::NEVER
    }

    fn transmit(&mut self, _: Time, _: &mut Vec<u8>) -> Option<Ecn> {
        None
    }

    fn delivered_bytes(&self) -> u64 {
        self.0
    }
}

/// Sends one datagram of a size at once.
struct Burst(usize, bool);

impl Endpoint for Burst {
    fn receive(&mut self, _: Time, _: Ecn, _: &[u8]) {}

    fn wake(&mut self, _: Time) {}

    fn next_wake(&self) -> Time {
        if self.1 { Time::NEVER } else { Time::ZERO }
    }

    fn transmit(&mut self, _: Time, room: &mut Vec<u8>) -> Option<Ecn> {
        room.resize(self.0, 0);
        (!std::mem::replace(&mut self.1, true)).then_some(Ecn::Ect0)
    }

    fn delivered_bytes(&self) -> u64 {
        0
    }
}

#[test]
fn what_no_stack_may_do_is_one_sentence() {
    let said = |connections| record(PATH, connections).expect_err("it is at fault").to_string();
    let restless = said(vec![pair(Restless(Sender::new(1)), Receiver::default())]);
    assert!(restless.contains("connection 0 at 0.000000 s: it does not come to rest"), "{restless}");
    let huge = said(vec![pair(Burst(70_000, false), Receiver::default())]);
    assert!(huge.contains("it sends a datagram of 70000 bytes; allowed: 1 to 65507"), "{huge}");
    let panics = said(vec![pair(Burst(100, false), Restless(Sender::new(0)))]);
    assert!(panics.contains("it does not come to rest") || panics.contains("it panicked: no stack"), "{panics}");
    let forgets = said(vec![pair(Sender::new(10_000), Forgetful(9))]);
    assert!(forgets.contains("delivered_bytes fell from 8 to 7; it only grows"), "{forgets}");
    // Its 100 segments take 21 ms each, the last acknowledgement comes in at 2.1 s.
    let stops = said(vec![pair(Sender::new(100), Receiver::default())]);
    assert!(stops.contains("connection 0 at 2.10"), "{stops}");
    assert!(
        stops.ends_with("both its ends wait for nothing; 97200 bytes of a transfer without end have arrived"),
        "{stops}"
    );
    let never = said(vec![pair(Burst(100, true), Receiver::default())]);
    assert!(never.contains("connection 0 at 0.000000 s: both its ends wait for nothing; 0 bytes"), "{never}");
    let none = said(Vec::new());
    assert!(none.contains("0 connections need as many flows"), "{none}");
}

#[test]
fn a_connection_begins_when_its_flow_starts_and_its_completion_is_recorded() {
    let text = format!("{PATH}start = \"2 s\"\ntraffic = {{ kind = \"bulk\", size = \"9720 B\" }}\n");
    let whole = record(&text, vec![pair(Sender::new(10), Receiver::default())]).expect("it rests");
    let fct = whole.groups["data"].fct_ms.as_ref().expect("its transfer ends");
    // Ten round trips, less the last way back; a packet of 1000 bytes is 1 ms on the wire.
    assert_eq!((fct.count, (fct.mean.expect("one ended") - 200.0).abs() < 0.01), (1, true), "{fct:?}");
}

/// Five messages of ten segments each, two seconds apart: each takes ten round trips, less the last way back.
#[test]
fn an_application_that_pauses_writes_its_messages() {
    let text = format!("{PATH}traffic = {{ kind = \"messages\", size = \"9720 B\", every = \"2 s\" }}\n");
    let whole = record(&text, vec![pair(Sender::new(10), Receiver::default())]).expect("it rests");
    assert_eq!(whole.flows[0].delivered_bytes, 50 * BYTES as u64);
    let fct = whole.groups["data"].fct_ms.as_ref().expect("its messages arrive");
    assert_eq!((fct.count, (fct.mean.expect("some did") - 200.0).abs() < 0.01), (5, true), "{fct:?}");
    let said = record(&text, vec![pair(Burst(100, false), Receiver::default())]).expect_err("it cannot").to_string();
    assert!(said.contains("connection 0 at 2.000000 s: it panicked: its application has 9720 bytes more"), "{said}");
}

#[test]
fn a_control_that_the_stack_has_not_is_refused_with_those_that_it_has() {
    let file = std::env::temp_dir().join(format!("sojourn-controls-{}.toml", std::process::id()));
    let words =
        |more: &[&str]| [&[file.to_str().expect("UTF-8")], more].concat().iter().map(|&word| word.into()).collect();
    let connect = |_: &Asked| Ok(pair(Sender::new(1), Receiver::default()));
    let said = |words: Vec<String>| command_of(&words, &["slow", "fast"], &connect).expect_err("wrong").to_string();
    std::fs::write(&file, format!("{PATH}control = \"quick\"\n")).expect("a folder for it");
    let refused = said(words(&[]));
    assert!(refused.ends_with("group.data.control: found \"quick\"; allowed: slow, fast"), "{refused}");
    let law = said(["--law", "same-seed", "quick"].map(String::from).into());
    assert_eq!(law, "--law: control: found \"quick\"; allowed: slow, fast");
    std::fs::write(&file, PATH).expect("a folder for it");
    let kept = said(words(&["1", "/tmp", "sights"]));
    assert!(kept.contains("found \"sights\"; allowed: series=SECONDS, probes"), "{kept}");
    std::fs::remove_file(&file).expect("it is there");
}

#[test]
fn a_scenario_says_what_its_connections_are_asked_for() {
    let text = format!(
        "seed = 7\n{PATH}control = \"slow\"\nflows = 2\ntraffic = {{ kind = \"bulk\", size = \"1 kB\" }}\n\
         [[group]]\nname = \"more\"\nstack = \"toy\"\nrtt = \"20 ms\"\n"
    );
    let scenario = |text: &str| Scenario::parse(text, None, &Base::Nowhere, &[]).expect("a scenario").scenario;
    let seen = RefCell::new(Vec::new());
    let connect = |asked: &Asked| {
        seen.borrow_mut().push((asked.control.clone(), asked.seed, asked.number, asked.bytes));
        let segments = asked.bytes.map_or(u32::MAX, |bytes| bytes.div_ceil(BYTES as u64) as u32);
        Ok(pair(Sender::new(segments), Receiver::default()))
    };
    simulate(scenario(&text), 3, None, &connect).expect("it rests");
    let slow = || Some("slow".to_owned());
    assert_eq!(seen.take(), [(slow(), 3, 0, Some(1000)), (slow(), 3, 1, Some(1000)), (None, 3, 2, None)]);
    let text = PATH.replace("stack = \"toy\"", "control = \"cubic\"");
    let none = simulate(scenario(&text), 1, None, &connect).expect_err("it has no stack").to_string();
    assert!(none.contains("found no group with the key stack"), "{none}");
}
