//! Recorded acknowledgements, replayed through a sender: what it sends, and its window after each.
//!
//! A recording of a real sender says when its application had data and which acknowledgements came when. Given the same, a
//! sender that follows the same rules sends the same segments at the same times with the same windows. Recorded arrivals,
//! replayed through a receiver: what it acknowledges, and when.

#[cfg(test)]
mod tests;

use crate::receiver::Receiver;
use crate::segment::{Block, MAX_BLOCKS, Segment, SegmentKind};
use crate::sender::{Sender, Transmit};
use sojourn_congestion::Control;
use sojourn_core::{Span, Time};

/// Something that happens to the sender.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// When.
    pub at: Time,
    /// What.
    pub event: Event,
}

/// What happens.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The application has so many bytes to send since the connection began; with none the connection is asked for at
    /// most.
    Supply {
        /// How many.
        bytes: u64,
    },
    /// The connection was accepted.
    Accepted,
    /// An acknowledgement arrived.
    Acknowledged(Segment),
    /// Nothing: the state is looked at.
    Look,
    /// Random numbers of the control are so from now on, as [`AnyControl::fix_random`](sojourn_congestion::AnyControl::fix_random) takes
    /// them.
    Lot {
        /// From 0 to below 1.
        value: f64,
    },
}

/// A segment that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// When.
    pub at: Time,
    /// What.
    pub transmit: Transmit,
}

/// The state after an input and what was sent on it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct State {
    /// Congestion window in segments.
    pub window: f64,
    /// Slow-start threshold in segments; infinite before the first congestion.
    pub threshold: f64,
    /// Smoothed round-trip time; zero before the first sample.
    pub smoothed_rtt: Span,
    /// Retransmission timeout.
    pub timeout: Span,
}

/// What the sender did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    /// What it sent, in order.
    pub sent: Vec<Sent>,
    /// Its state after each input.
    pub states: Vec<State>,
}

/// Leads `sender` through `inputs`, which are in the order of time, and lets its timers go off between them. An input comes
/// before a timer of the same time.
///
/// An acknowledgement of what the sender has not sent, because the recorded one was ahead, acknowledges what it has.
pub fn replay(sender: Sender, inputs: &[Input]) -> Outcome {
    let mut run = Run { sender, now: Time::ZERO, outcome: Outcome::default() };
    for input in inputs {
        run.wait_until(input.at);
        run.take(&input.event);
    }
    run.outcome
}

/// A segment that arrives at a receiver, marked or not.
#[derive(Clone, Copy, Debug)]
pub struct Arriving {
    /// When.
    pub at: Time,
    /// What: a SYN, or data.
    pub segment: Segment,
    /// Whether it carries CE.
    pub marked: bool,
    /// The smoothed round-trip time that the receiver knows with it; zero where it knows none.
    pub rtt: Span,
}

/// What `receiver` acknowledges of `arrivals`, and when; with data where that is sent the other way, at the times `sends`. All
/// are in the order of time. A timer comes before an arrival of the same time, and that before data; those that are due by `until`
/// come as well.
pub fn replay_arrivals(
    mut receiver: Receiver,
    arrivals: &[Arriving],
    sends: &[Time],
    until: Time,
) -> Vec<(Time, Segment)> {
    let mut acks = Vec::new();
    let mut sends = sends.iter().copied().peekable();
    for arrival in arrivals {
        while let Some(at) = sends.next_if(|&at| at < arrival.at) {
            send(&mut receiver, at, &mut acks);
        }
        expire(&mut receiver, arrival.at, &mut acks);
        if arrival.segment.kind == SegmentKind::Syn {
            receiver.on_syn(&arrival.segment, arrival.at);
        } else {
            receiver.set_rtt(arrival.rtt);
            let ack = receiver.on_data(&arrival.segment, arrival.marked, arrival.at).ack;
            acks.extend(ack.map(|ack| (arrival.at, ack)));
        }
    }
    sends.for_each(|at| send(&mut receiver, at, &mut acks));
    expire(&mut receiver, until, &mut acks);
    acks
}

/// Data leaves at `at`.
fn send(receiver: &mut Receiver, at: Time, acks: &mut Vec<(Time, Segment)>) {
    expire(receiver, at, acks);
    acks.push((at, Segment { kind: SegmentKind::DataAck, ..receiver.on_data_sent(at) }));
}

fn expire(receiver: &mut Receiver, until: Time, acks: &mut Vec<(Time, Segment)>) {
    while receiver.deadline() <= until {
        let due = receiver.deadline();
        acks.extend(receiver.on_timer(due).map(|ack| (due, ack)));
    }
}

struct Run {
    sender: Sender,
    now: Time,
    outcome: Outcome,
}

impl Run {
    /// Lets the timers go off that are due before `until`.
    fn wait_until(&mut self, until: Time) {
        loop {
            let due = self.sender.deadline(self.now);
            if due >= until {
                break;
            }
            self.now = self.now.max(due);
            self.sender.on_timer(self.now);
            self.send();
        }
        self.now = until;
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::Supply { bytes: 0 } => self.sender.stop_supply(),
            Event::Supply { bytes } => self.sender.supply(*bytes),
            Event::Accepted => self.sender.on_syn_ack(self.now, self.now),
            Event::Acknowledged(segment) => self.acknowledge(segment),
            Event::Look => {}
            Event::Lot { value } => self.sender.fix_random(*value),
        }
        self.send();
        let (control, rtt) = (self.sender.control(), self.sender.rtt());
        self.outcome.states.push(State {
            window: self.sender.window(),
            threshold: control.slow_start_threshold(),
            smoothed_rtt: rtt.smoothed(),
            timeout: rtt.timeout(),
        });
    }

    fn acknowledge(&mut self, segment: &Segment) {
        let sent = self.sender.sent();
        self.sender.on_ack(&within(segment, sent), self.now);
    }

    fn send(&mut self) {
        while let Some(transmit) = self.sender.poll_transmit(self.now) {
            self.outcome.sent.push(Sent { at: self.now, transmit });
        }
    }
}

/// What `segment` says of the first `sent` segments.
fn within(segment: &Segment, sent: u32) -> Segment {
    let number = segment.number.min(sent);
    let mut known = Segment { number, blocks: 0, sack: [Block::default(); MAX_BLOCKS], ..*segment };
    for block in segment.sack_blocks() {
        let block = Block { start: block.start, end: block.end.min(sent) };
        if block.start < block.end {
            known.sack[usize::from(known.blocks)] = block;
            known.blocks += 1;
        }
    }
    known
}
