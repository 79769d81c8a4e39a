//! A station's data in one direction: packets cut into transport blocks, and put together again in order.

use super::setup::PACKET_HEADER_BYTES;
use sojourn_core::Time;
use sojourn_queue::Packet;
use std::collections::VecDeque;

/// The packets that have left the queue and not arrived.
#[derive(Debug)]
pub(super) struct Bearer<B> {
    /// The packet that has been sent in part.
    head: Option<Head<B>>,
    /// Those that have been sent as a whole, in order.
    sent: VecDeque<Sent<B>>,
    /// Blocks that have not arrived, and those that arrived before them.
    blocks: VecDeque<Block>,
    /// The number of the first of these.
    first: u64,
    /// The newest block that is lost for good.
    lost: Option<u64>,
}

#[derive(Debug)]
struct Head<B> {
    packet: Packet<B>,
    taken: Time,
    first: u64,
    left: u32,
}

#[derive(Debug)]
struct Sent<B> {
    packet: Packet<B>,
    taken: Time,
    /// The numbers of its first and last block.
    first: u64,
    last: u64,
}

/// A transport block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Resource blocks that it takes.
    pub blocks: u32,
    /// How often it has been sent.
    pub tries: u32,
    /// The SNR that it needs, and the sum of those that its transmissions had.
    pub needed: f64,
    pub had: f64,
    fate: Fate,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Open,
    Arrived,
    Lost,
}

/// A packet that leaves the bearer.
pub(super) enum Left<B> {
    /// It has arrived.
    Delivered(Packet<B>, Time),
    /// A part of it is lost.
    GivenUp(Packet<B>),
}

impl<B: Copy> Bearer<B> {
    pub fn new() -> Bearer<B> {
        Bearer { head: None, sent: VecDeque::new(), blocks: VecDeque::new(), first: 0, lost: None }
    }

    /// Packets in it.
    pub fn packets(&self) -> usize {
        self.sent.len() + usize::from(self.head.is_some())
    }

    /// Bytes that are left of the packet that has been sent in part.
    pub fn left_bytes(&self) -> u32 {
        self.head.as_ref().map_or(0, |head| head.left)
    }

    /// Puts as much as there is, up to `room` bytes, into a new block. The bytes, and how many packets end in it.
    pub fn fill(&mut self, room: u32, now: Time, mut take: impl FnMut() -> Option<Packet<B>>) -> (u32, u32) {
        let number = self.first + self.blocks.len() as u64;
        let (mut bytes, mut ended) = (0, 0);
        while bytes < room {
            let next = self.head.take().or_else(|| {
                let packet = take()?;
                Some(Head { packet, taken: now, first: number, left: packet.bytes + PACKET_HEADER_BYTES })
            });
            let Some(mut head) = next else { break };
            let piece = head.left.min(room - bytes);
            bytes += piece;
            head.left -= piece;
            if head.left > 0 {
                self.head = Some(head);
                break;
            }
            ended += 1;
            let Head { packet, taken, first, .. } = head;
            self.sent.push_back(Sent { packet, taken, first, last: number });
        }
        (bytes, ended)
    }

    /// The block that was filled is sent in so many resource blocks and needs this SNR. Its number.
    pub fn open(&mut self, blocks: u32, needed: f64) -> u64 {
        self.blocks.push_back(Block { blocks, tries: 0, needed, had: 0.0, fate: Fate::Open });
        self.first + self.blocks.len() as u64 - 1
    }

    /// A block that has neither arrived nor is lost.
    pub fn block(&mut self, number: u64) -> &mut Block {
        &mut self.blocks[(number - self.first) as usize]
    }

    /// A block has arrived. What leaves, in order.
    pub fn arrived(&mut self, number: u64, leave: impl FnMut(Left<B>)) {
        self.block(number).fate = Fate::Arrived;
        self.release(leave);
    }

    /// A block is lost for good. What leaves, in order.
    pub fn lost(&mut self, number: u64, leave: impl FnMut(Left<B>)) {
        self.block(number).fate = Fate::Lost;
        self.release(leave);
    }

    fn release(&mut self, mut leave: impl FnMut(Left<B>)) {
        while self.blocks.front().is_some_and(|block| block.fate != Fate::Open) {
            let Some(block) = self.blocks.pop_front() else { return };
            let number = self.first;
            self.first += 1;
            if block.fate == Fate::Lost {
                self.lost = Some(number);
            }
            while self.sent.front().is_some_and(|sent| sent.last == number) {
                let Some(Sent { packet, taken, first, .. }) = self.sent.pop_front() else { return };
                let whole = self.lost.is_none_or(|lost| lost < first);
                leave(if whole { Left::Delivered(packet, taken) } else { Left::GivenUp(packet) });
            }
        }
    }
}
