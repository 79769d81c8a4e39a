//! Packets on their way from a device to one receiver: those that wait for the air, and those that wait for earlier ones.

use sojourn_core::{Span, Time};
use sojourn_queue::Packet;
use std::collections::VecDeque;

/// The most MPDUs that one block acknowledgement tells of, and so the most that may be under way.
pub const WINDOW: usize = 64;

/// A packet that has left its queue.
#[derive(Debug)]
pub struct Frame<B> {
    pub packet: Packet<B>,
    /// When it left its queue.
    pub taken: Time,
    /// The place of it among all that its device has taken.
    pub order: u64,
    /// How often it was sent.
    pub tries: u32,
    pub place: Place,
    /// Air time that airtime queue limits expect of it; none without them.
    pub expected: Span,
}

/// Where a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// It waits to be sent, or sent again.
    Waiting,
    /// It is part of the exchange with this number.
    Prepared(u8),
    /// It was received, and waits there for an earlier one.
    Received,
    /// It was given up.
    Gone,
}

/// The packets for one receiver, in order.
#[derive(Debug)]
pub struct TxQueue<B> {
    pub frames: VecDeque<Frame<B>>,
    /// How many of them wait to be sent.
    pub waiting: u32,
}

impl<B> Default for TxQueue<B> {
    fn default() -> TxQueue<B> {
        TxQueue { frames: VecDeque::new(), waiting: 0 }
    }
}

impl<B> TxQueue<B> {
    /// A packet comes from the queue.
    pub fn push(&mut self, packet: Packet<B>, taken: Time, order: u64, expected: Span) {
        self.frames.push_back(Frame { packet, taken, order, tries: 0, place: Place::Waiting, expected });
        self.waiting += 1;
    }

    /// The order of the first frame that may be sent.
    pub fn first_waiting(&self) -> Option<u64> {
        if self.waiting == 0 {
            return None;
        }
        let waits = |frame: &&Frame<B>| frame.place == Place::Waiting;
        self.frames.iter().take(WINDOW).find(waits).map(|frame| frame.order)
    }

    /// Whether no more frames may be under way.
    pub fn is_full(&self) -> bool {
        self.frames.len() >= WINDOW
    }

    /// The `count` frames that belong to the exchange `number`.
    pub fn of(&mut self, number: u8, count: u32) -> impl Iterator<Item = &mut Frame<B>> {
        let belongs = move |frame: &&mut Frame<B>| frame.place == Place::Prepared(number);
        self.frames.iter_mut().filter(belongs).take(count as usize)
    }

    /// Takes from the front all that need not wait any more; `deliver` gets what was received.
    pub fn release(&mut self, mut deliver: impl FnMut(Packet<B>, Time)) {
        while let Some(Frame { place: Place::Received | Place::Gone, .. }) = self.frames.front() {
            let frame = self.frames.pop_front().expect("there is one");
            if frame.place == Place::Received {
                deliver(frame.packet, frame.taken);
            }
        }
    }
}
