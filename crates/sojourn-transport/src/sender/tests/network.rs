//! A deterministic path between one sender and one receiver.

use super::laws::Laws;
use crate::options::{DESCRIPTOR, Options};
use crate::receiver::{Clock, Receiver};
use crate::segment::{EcnFlags, Segment, SegmentKind};
use crate::sender::recovery::State;
use crate::sender::{Sender, Transmit};
use sojourn_congestion::{AnyControl, Control};
use sojourn_core::registry::{Params, Value};
use sojourn_core::{Span, Stream, Time};
use sojourn_queue::Ecn;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

/// What stands for the number of a SYN and of its answer.
pub const SYN: u32 = u32::MAX;
pub const SYN_ACK: u32 = u32::MAX - 1;

/// Which transmissions something happens to: segment number, and how often it had been sent before.
pub type Which = Box<dyn FnMut(u32, u32) -> bool>;

/// What travels.
#[derive(Clone, Copy, Debug)]
enum Packet {
    Data { segment: Segment, marked: bool },
    Other(Segment),
}

/// Both ends and the path between them: 50 ms in each direction, 1 ms between data packets.
pub struct Network {
    pub sender: Sender,
    pub receiver: Receiver,
    pub now: Time,
    /// Transmissions of data that are lost.
    pub drops: Which,
    /// Transmissions of data that are marked.
    pub marks: Which,
    /// Extra delay of a transmission in ms.
    pub holds: Box<dyn FnMut(u32, u32) -> u64>,
    /// Acknowledgements, counted from 0, that are lost.
    pub ack_drops: Box<dyn FnMut(u32) -> bool>,
    /// What happened, a line per input of the sender.
    pub log: Vec<String>,
    /// Segments in the order in which the receiver first got them.
    pub received: Vec<u32>,
    /// Payload bytes of each segment sent for the first time.
    pub payload_bytes: Vec<u32>,
    /// Round-trip samples in ms that acknowledgements gave.
    pub rtts: Vec<f64>,
    /// Transmissions of each segment.
    pub times_sent: HashMap<u32, u32>,
    /// Data packets that carried CWR.
    pub reduced: Vec<u32>,
    /// Data packets that were sent ECN-capable.
    pub capable: Vec<u32>,
    /// The windows that acknowledgements told, in segments.
    pub granted: Vec<f64>,
    laws: Laws,
    /// Up to which byte the receiver has let send, where it steers.
    edge: u64,
    delay: Span,
    spacing: Span,
    free_at: Time,
    under_way: BTreeMap<(Time, u64), Packet>,
    entered: u64,
    acks: u32,
    syns: u32,
}

const MILLISECOND: Span = Span::from_millis(1);

pub fn options(changes: &[(&str, Value)]) -> Options {
    options_of(None, changes)
}

pub fn options_of(preset: Option<&str>, changes: &[(&str, Value)]) -> Options {
    let preset = preset.map(|name| DESCRIPTOR.presets.iter().find(|preset| preset.name == name).unwrap());
    let mut params = Params::new(&DESCRIPTOR, preset);
    params.set("handshake", Value::Choice("false"));
    params.set("ack_every", Value::Integer(1));
    for (name, value) in changes {
        params.set(name, *value);
    }
    Options::new(&params).unwrap()
}

/// NewReno with `changes` to the transport's options and `control` to its own.
pub fn network(changes: &[(&str, Value)], control: &[(&str, Value)]) -> Network {
    network_of("newreno", changes, control)
}

/// Reno with the preset of the transport that is named so, and `changes` to it.
pub fn preset(preset: &str, changes: &[(&str, Value)]) -> Network {
    build("newreno", &options_of(Some(preset), changes), &[])
}

/// The same with the control `name`.
pub fn network_of(name: &str, changes: &[(&str, Value)], control: &[(&str, Value)]) -> Network {
    build(name, &options(changes), control)
}

/// A control with all its parameters, and the preset of the transport that is named so, with `changes` to it.
pub fn network_with(control: &Params, preset: &str, changes: &[(&str, Value)]) -> Network {
    built(control, &options_of(Some(preset), changes))
}

fn build(name: &str, options: &Options, control: &[(&str, Value)]) -> Network {
    let mut params = Params::new(sojourn_congestion::find(name).unwrap(), None);
    for (name, value) in control {
        params.set(name, *value);
    }
    built(&params, options)
}

fn built(control: &Params, options: &Options) -> Network {
    let control = AnyControl::build(control, &options.path(), Stream::new(1, "control")).unwrap();
    Network {
        sender: Sender::new(options, control),
        receiver: Receiver::new(options, Clock::default()),
        now: Time::ZERO,
        drops: Box::new(|_, _| false),
        marks: Box::new(|_, _| false),
        holds: Box::new(|_, _| 0),
        ack_drops: Box::new(|_| false),
        log: Vec::new(),
        received: Vec::new(),
        payload_bytes: Vec::new(),
        rtts: Vec::new(),
        times_sent: HashMap::new(),
        reduced: Vec::new(),
        capable: Vec::new(),
        granted: Vec::new(),
        laws: Laws::default(),
        edge: 0,
        delay: Span::from_millis(50),
        spacing: MILLISECOND,
        free_at: Time::ZERO,
        under_way: BTreeMap::new(),
        entered: 0,
        acks: 0,
        syns: 0,
    }
}

/// Every transmission in `list`: number and how often it had been sent before.
pub fn these(list: &[(u32, u32)]) -> Which {
    let list = list.to_vec();
    Box::new(move |number, nth| list.contains(&(number, nth)))
}

/// The first transmission of each of `numbers`.
pub fn first(numbers: &[u32]) -> Which {
    let numbers = numbers.to_vec();
    Box::new(move |number, nth| nth == 0 && numbers.contains(&number))
}

/// NewReno whose receiver steers by the control `name`, in units of 2^`scale` bytes, with `changes` to the transport's options.
pub fn steered(name: &str, scale: u8, changes: &[(&str, Value)]) -> Network {
    network(changes, &[]).steered(name, scale, &options(changes))
}

impl Network {
    /// The same with a receiver that steers.
    pub fn steered(mut self, name: &str, scale: u8, options: &Options) -> Network {
        let params = Params::new(sojourn_congestion::find(name).unwrap(), None);
        let control = AnyControl::build(&params, &options.path(), Stream::new(1, "receiver-control")).unwrap();
        (self.sender, self.receiver) = self.receiver.steering(self.sender, options, control, scale);
        self.check_grant();
        self
    }

    pub fn window(&self) -> f64 {
        self.sender.window()
    }

    pub fn threshold(&self) -> f64 {
        self.sender.control.slow_start_threshold()
    }

    /// What the control shows as `name`.
    pub fn shown(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.sender.control.probe(&mut |key, value| {
            if key == name {
                found = value;
            }
        });
        found
    }

    /// Data and begin.
    pub fn send_segments(&mut self, segments: u64) -> &mut Self {
        self.sender.supply(segments * u64::from(self.sender.payload_bytes));
        self.transmit("start");
        self
    }

    pub fn send_forever(&mut self) -> &mut Self {
        self.sender.supply_forever();
        self.transmit("start");
        self
    }

    /// Runs until nothing is to be done any more, or until `millis`.
    pub fn run(&mut self, millis: u64) -> &mut Self {
        let end = Time::ZERO + Span::from_millis(millis);
        loop {
            let arrival = self.under_way.keys().next().map_or(Time::NEVER, |key| key.0);
            let timer = self.sender.deadline(self.now).min(self.receiver.deadline()).max(self.now);
            let next = arrival.min(timer);
            if next == Time::NEVER || next > end {
                break;
            }
            self.now = next;
            if arrival <= timer { self.arrive() } else { self.on_timers() }
        }
        self.now = self.now.max(end);
        self
    }

    fn arrive(&mut self) {
        match self.under_way.pop_first().expect("something is under way").1 {
            Packet::Data { segment, marked } => {
                if self.receiver.counts_bytes() {
                    self.receiver.on_bytes(if marked { Ecn::Ce } else { Ecn::Ect0 }, self.sender.payload_bytes);
                }
                let arrival = self.receiver.on_data(&segment, marked, self.now);
                if arrival.is_new {
                    self.received.push(segment.number);
                }
                if let Some(ack) = arrival.ack {
                    self.answer(ack);
                }
            }
            Packet::Other(syn) if syn.kind == SegmentKind::Syn => {
                let answer = self.receiver.on_syn(&syn, self.now);
                if !(self.drops)(SYN_ACK, self.syns - 1) {
                    self.enter(Packet::Other(answer), self.now + self.delay);
                }
            }
            Packet::Other(answer) if answer.kind == SegmentKind::SynAck => {
                self.sender.on_answer(answer.ecn);
                self.sender.on_syn_ack(self.now, answer.stamp);
                self.transmit("accepted");
            }
            Packet::Other(ack) => self.give(&ack),
        }
    }

    /// Hands the sender an acknowledgement.
    pub fn give(&mut self, ack: &Segment) {
        self.laws.before_ack(&self.sender);
        let rtt = self.sender.on_ack(ack, self.now);
        self.laws.after_ack(&self.sender, &self.table());
        self.rtts.extend(rtt.map(Span::as_millis_f64));
        let mut line = format!("ack {}", ack.number);
        for block in ack.sack_blocks() {
            write!(line, " {}-{}", block.start, i64::from(block.end) - 1).unwrap();
        }
        line += if ack.ecn.has(EcnFlags::ECE) { " ece" } else { "" };
        self.transmit(&line);
    }

    fn answer(&mut self, ack: Segment) {
        self.acks += 1;
        self.check_grant();
        if !(self.ack_drops)(self.acks - 1) {
            self.enter(Packet::Other(ack), self.now + self.delay);
        }
    }

    fn on_timers(&mut self) {
        if let Some(ack) = self.receiver.on_timer(self.now) {
            self.answer(ack);
            return;
        }
        let timeouts = self.sender.counts.timeouts;
        self.laws.before_timer(&self.sender);
        self.sender.on_timer(self.now);
        let timed_out = self.sender.counts.timeouts > timeouts;
        self.laws.after_timer(&self.sender, timed_out);
        self.transmit(if timed_out { "timeout" } else { "timer" });
    }

    /// Sends all that may be sent, and notes it.
    pub fn transmit(&mut self, input: &str) {
        let mut line = format!("{:>5} {input}:", self.now.since(Time::ZERO).as_nanos() / 1_000_000);
        loop {
            let outside_window = self.sender.recovery.is_beyond_window();
            let Some(transmit) = self.sender.poll_transmit(self.now) else { break };
            match transmit {
                Transmit::Syn => {
                    self.syns += 1;
                    let lost = (self.drops)(SYN, self.syns - 1);
                    line += if lost { " syn lost" } else { " syn" };
                    if !lost {
                        let syn = Segment { ecn: self.sender.asks(), ..Segment::new(SegmentKind::Syn, 0, self.now) };
                        self.enter(Packet::Other(syn), self.now + self.delay);
                    }
                }
                Transmit::Data { number, payload_bytes, retransmission, cwr } => {
                    line += &self.send(number, payload_bytes, retransmission, cwr);
                    self.check_window(outside_window || self.sender.recovery.rescued());
                }
            }
        }
        let state = match self.sender.recovery.state() {
            State::Handshake | State::Open => "",
            State::Recovery => " recovery",
            State::Loss => " loss",
        };
        write!(line, " | {:.2}{state}", self.window()).unwrap();
        self.log.push(line);
        self.laws.after_sending(&self.sender, &self.table());
        self.check();
    }

    fn send(&mut self, number: u32, payload_bytes: u32, retransmission: bool, cwr: bool) -> String {
        let nth = self.times_sent.entry(number).or_default();
        let before = *nth;
        *nth += 1;
        assert_eq!(retransmission, before > 0, "segment {number}");
        if !retransmission {
            assert_eq!(number as usize, self.payload_bytes.len(), "new segments go out in order");
            self.payload_bytes.push(payload_bytes);
            if self.sender.ecn.is_on() {
                self.capable.push(number);
            }
        }
        if cwr {
            assert!(!retransmission, "CWR goes with new data");
            self.reduced.push(number);
        }
        let leaves = self.now.max(self.free_at) + self.spacing;
        self.free_at = leaves;
        let lost = (self.drops)(number, before);
        if !lost {
            let marked = self.sender.ecn.is_on() && !retransmission && (self.marks)(number, before);
            let segment = Segment {
                ecn: EcnFlags::when(cwr, EcnFlags::CWR),
                delay_nanos: self.sender.echo_nanos(),
                ..Segment::new(SegmentKind::Data, number, self.now)
            };
            let held = Span::from_millis((self.holds)(number, before));
            self.enter(Packet::Data { segment, marked }, leaves + self.delay + held);
        }
        let again = if retransmission { "again" } else { "" };
        format!(" {number}{again}{}", if lost { "-lost" } else { "" })
    }

    fn enter(&mut self, packet: Packet, time: Time) {
        self.entered += 1;
        self.under_way.insert((time, self.entered), packet);
    }

    /// What just went out fitted into the window, limited transmit and guesses included.
    fn check_window(&self, excused: bool) {
        let sender = &self.sender;
        let flight = f64::from(sender.in_flight());
        assert!(
            excused || flight <= self.window().max(1.0),
            "{flight} in flight with a window of {}\n{}",
            self.window(),
            self.table()
        );
        let outstanding = f64::from(sender.board.outstanding());
        if sender.recovery.state() == State::Open && !sender.recovery.conserves {
            assert!(outstanding <= self.window().max(1.0) + 2.0, "{outstanding} outstanding\n{}", self.table());
        }
    }

    /// What must hold after every input.
    fn check(&self) {
        let sender = &self.sender;
        sender.board.check();
        if sender.recovery.state() != State::Handshake {
            let waits = sender.board.outstanding() > 0 || sender.control.waits_for_timeout();
            assert_eq!(
                sender.timer.at() != Time::NEVER,
                waits,
                "the timer runs while data is out, or the control waits for it\n{}",
                self.table()
            );
        }
        if sender.recovery.state() == State::Open {
            assert!(!sender.board.has_lost(), "a known loss is being repaired\n{}", self.table());
        }
        assert!(self.receiver.next() >= sender.board.first(), "acknowledged but not received");
    }

    /// What the receiver has granted is never taken back, is told in the acknowledgement, and is kept by the sender.
    fn check_grant(&mut self) {
        let Some(steering) = self.receiver.steers() else { return };
        let payload_bytes = u64::from(self.sender.payload_bytes);
        let left = u64::from(self.receiver.next()) * payload_bytes;
        assert!(steering.edge() >= self.edge, "the window shrank\n{}", self.table());
        assert!(steering.edge() >= left + payload_bytes, "no room for a segment\n{}", self.table());
        assert!(u64::from(self.sender.board.next()) * payload_bytes <= steering.edge(), "too much\n{}", self.table());
        self.edge = steering.edge();
        self.granted.push((self.edge - left) as f64 / payload_bytes as f64);
    }

    /// The log in one piece.
    pub fn table(&self) -> String {
        self.log.join("\n")
    }

    /// All `segments` arrived, in order at the application, each once.
    #[track_caller]
    pub fn assert_complete(&self, segments: u32) {
        let mut received = self.received.clone();
        received.sort_unstable();
        assert!(received.iter().copied().eq(0..segments), "received {received:?} of {segments}\n{}", self.table());
        assert_eq!(self.receiver.next(), segments);
        assert_eq!(self.sender.board.first(), segments, "all is acknowledged\n{}", self.table());
        assert_eq!(self.sender.deadline(self.now), Time::NEVER);
    }
}

/// Compares a table with what it should be, each line with its indentation taken off.
#[track_caller]
pub fn assert_table(found: &str, expected: &str) {
    let plain = |text: &str| text.trim().lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>().join("\n");
    let (found, expected) = (plain(found), plain(expected));
    assert!(found == expected, "found:\n{found}\n\nexpected:\n{expected}");
}
