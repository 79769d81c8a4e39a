//! A FIFO that drops the oldest packet where it has waited too long.

use sojourn_core::registry::{Descriptor, Kind, Parameter, Params, Value};
use sojourn_core::{Span, Time};
use sojourn_queue::DropReason;
use sojourn_queue::custom::{Decisions, Handle, Plugged, Waiting};
use std::collections::VecDeque;

pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "my-queue",
    summary: "drops the oldest packet where it has waited too long",
    parameters: &[Parameter {
        name: "longest",
        kind: Kind::Span { min: Span::from_millis(1), max: Span::from_millis(10_000) },
        default: Value::Span(Span::from_millis(20)),
        description: "longest time that a packet may wait",
    }],
    ..Descriptor::PLAIN
};

#[derive(Debug)]
pub struct MyQueue {
    waiting: VecDeque<(Handle, Time)>,
    longest: Span,
}

impl MyQueue {
    pub fn new(params: &Params) -> MyQueue {
        MyQueue { waiting: VecDeque::new(), longest: params.span("longest") }
    }
}

impl Plugged for MyQueue {
    fn enqueue(&mut self, packet: &Waiting, now: Time, _decisions: &mut Decisions) {
        self.waiting.push_back((packet.handle, now));
    }

    fn dequeue(&mut self, now: Time, decisions: &mut Decisions) -> Option<Handle> {
        while self.waiting.len() > 1 && self.waiting.front().is_some_and(|(_, since)| now.since(*since) > self.longest)
        {
            let (oldest, _) = self.waiting.pop_front()?;
            decisions.drop(oldest, DropReason::Early);
        }
        self.waiting.pop_front().map(|(handle, _)| handle)
    }
}
