//! The sender and the receiver over a network that does anything to packets.

use crate::params::algorithm;
use crate::tape::Tape;
use sojourn_congestion::AnyControl;
use sojourn_core::registry::Params;
use sojourn_core::{Span, Stream, Time};
use sojourn_transport::{
    Block, BurstLimits, Clock, DESCRIPTOR, EcnFlags, MAX_BLOCKS, Options, Receiver, Segment, SegmentKind, Sender,
    Transmit,
};

/// Segments of a transfer, and of what may be under way.
const MAX_SEGMENTS: usize = 300;
/// Rounds in which a transfer over a good network must end: some controls may send a segment in 48 round trips.
const MAX_ROUNDS: usize = 20_000;
const ROUND_TRIP: Span = Span::from_millis(50);

struct Connection {
    sender: Sender,
    receiver: Receiver,
    now: Time,
    /// What is under way to the receiver, and whether it was marked.
    data: Vec<(Segment, bool)>,
    /// What is under way back.
    acks: Vec<Segment>,
    /// Segments that were ever sent: no acknowledgement may make them fewer.
    payload_bytes: u32,
}

impl Connection {
    fn send(&mut self) {
        while self.data.len() < MAX_SEGMENTS {
            let Some(transmit) = self.sender.poll_transmit(self.now) else { break };
            let segment = match transmit {
                Transmit::Syn => Segment::new(SegmentKind::Syn, 0, self.now),
                Transmit::Data { number, cwr, payload_bytes, .. } => {
                    assert!(number < self.sender.end(), "beyond what the application has");
                    assert!(number < self.sender.sent(), "counted as sent");
                    assert!((1..=self.payload_bytes).contains(&payload_bytes));
                    Segment {
                        ecn: EcnFlags::when(cwr, EcnFlags::CWR),
                        ..Segment::new(SegmentKind::Data, number, self.now)
                    }
                }
            };
            self.data.push((segment, false));
        }
    }

    fn deliver(&mut self, index: usize, marked: bool) {
        if self.data.is_empty() {
            return;
        }
        let (segment, was_marked) = self.data.remove(index % self.data.len());
        let before = self.receiver.next();
        if segment.kind == SegmentKind::Syn {
            self.acks.push(self.receiver.on_syn(&segment, self.now));
        } else {
            let arrival = self.receiver.on_data(&segment, marked || was_marked, self.now);
            self.acks.extend(arrival.ack);
        }
        assert!(self.receiver.next() >= before && self.receiver.next() <= self.sender.sent());
    }

    fn return_ack(&mut self, index: usize) {
        if self.acks.is_empty() {
            return;
        }
        let segment = self.acks.remove(index % self.acks.len());
        self.take(&segment);
    }

    fn take(&mut self, segment: &Segment) {
        match segment.kind {
            SegmentKind::SynAck => self.sender.on_syn_ack(self.now, segment.stamp),
            _ => _ = self.sender.on_ack(segment, self.now),
        }
    }

    fn pass(&mut self, span: Span) {
        self.now += span;
        if self.receiver.deadline() <= self.now {
            self.acks.extend(self.receiver.on_timer(self.now));
        }
        if self.sender.deadline(self.now) <= self.now {
            self.sender.on_timer(self.now);
        }
    }

    fn check(&self) {
        let window = self.sender.window();
        assert!(window.is_finite() && window > 0.0, "window {window}");
        assert!(self.sender.sent() <= self.sender.end());
    }

    /// A good network from now on: all arrives.
    fn finish(&mut self) {
        for _ in 0..MAX_ROUNDS {
            if self.receiver.next() == self.sender.end() {
                return;
            }
            self.send();
            self.pass(ROUND_TRIP);
            while !self.data.is_empty() {
                self.deliver(0, false);
            }
            while !self.acks.is_empty() {
                self.return_ack(0);
            }
            let deadline = self.sender.deadline(self.now).min(self.receiver.deadline());
            if self.acks.is_empty() && deadline != Time::NEVER {
                self.pass(deadline.since(self.now));
            }
            self.check();
        }
        panic!("{} of {} segments arrived", self.receiver.next(), self.sender.end());
    }
}

/// An acknowledgement by somebody who has not received what it says.
fn forged(tape: &mut Tape<'_>, near: u32) -> Segment {
    let number = |tape: &mut Tape<'_>| near.saturating_add_signed(i32::from(tape.byte() as i8));
    let mut segment = Segment::new(SegmentKind::Ack, number(tape), Time::from_nanos(tape.long()));
    segment.ecn = EcnFlags::of_ace(u32::from(tape.byte()));
    segment.blocks = tape.byte() % (MAX_BLOCKS as u8 + 1);
    for block in &mut segment.sack {
        *block = Block { start: number(tape), end: number(tape) };
    }
    segment.delay_nanos = tape.long() as i64 >> 20;
    segment
}

/// Packets lost, doubled, swapped, marked and late, acknowledgements too: the sender sends only what it has, its window is
/// sound, and once the network is good all arrives, unless acknowledgements were forged.
pub(crate) fn sender(bytes: &[u8]) {
    let mut tape = Tape(bytes);
    let preset = tape.below(DESCRIPTOR.presets.len());
    let Ok(options) = Options::new(&Params::new(&DESCRIPTOR, Some(&DESCRIPTOR.presets[preset]))) else { return };
    let params = algorithm(&mut tape, sojourn_congestion::DESCRIPTORS);
    let Ok(control) = AnyControl::build(&params, &options.path(), Stream::new(1, "fuzz")) else { return };
    let mut sender = Sender::new(&options, control);
    sender.supply(1 + u64::from(tape.word()) * 5);
    let mut receiver = Receiver::new(&options, Clock::default());
    if tape.flag() {
        let (most, least) = (1 + u32::from(tape.byte()), 1 + u32::from(tape.byte()));
        let time = Span::from_micros(u64::from(tape.word()));
        sender = sender.with_bursts(BurstLimits { most, least, time, paced: tape.flag() });
        receiver = receiver.with_offload(time, most);
    }
    let payload_bytes = options.payload_bytes;
    let now = Time::from_nanos(1_000_000_000);
    let (data, acks) = (Vec::new(), Vec::new());
    let mut connection = Connection { sender, receiver, now, data, acks, payload_bytes };
    let mut honest = true;
    while !tape.is_over() {
        match tape.byte() {
            0..=79 => connection.send(),
            80..=119 => connection.deliver(0, false),
            step @ 120..=139 => connection.deliver(usize::from(tape.byte()), step & 1 == 1),
            140..=149 => drop(connection.data.pop()),
            150..=154 => connection.data.extend_from_within(connection.data.len().saturating_sub(1)..),
            155..=199 => connection.return_ack(0),
            200..=209 => connection.return_ack(usize::from(tape.byte())),
            210..=214 => drop(connection.acks.pop()),
            215..=217 => connection.acks.extend_from_within(connection.acks.len().saturating_sub(1)..),
            218..=222 => {
                honest = false;
                let segment = forged(&mut tape, connection.sender.sent());
                connection.take(&segment);
            }
            step @ 223..=245 => connection.pass(Span::from_micros(u64::from(step) * u64::from(tape.byte()))),
            _ => connection.pass(Span::from_millis(u64::from(tape.word()))),
        }
        connection.check();
    }
    if honest {
        connection.finish();
    }
}
