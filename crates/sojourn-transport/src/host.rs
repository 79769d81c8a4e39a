//! What a sending host does between its connections and the network.
//!
//! TCP small queues (`tcp_small_queue_check` of Linux 6.1): a connection has at most two packets or bursts waiting in its own host,
//! or what it sends in a millisecond where that is more. So the rest of its window stays where it is, and the queue of the host does not
//! add to round-trip times.

mod bytes;

pub use bytes::ByteLimit;

use crate::sender::Sender;
use sojourn_core::Span;

/// What waits of a connection in its host.
#[derive(Clone, Debug)]
pub struct SmallQueue {
    time: Span,
    packets: u32,
    /// Packets that wait.
    queued: u32,
    /// Whether the connection has been held back since one last left.
    throttled: bool,
}

impl SmallQueue {
    /// One in which nothing waits: at most what is sent in `time`, and at least `packets`, each of which is a burst where
    /// the connection sends bursts.
    pub fn new(time: Span, packets: u32) -> SmallQueue {
        SmallQueue { time, packets, queued: 0, throttled: false }
    }

    /// Whether `sender` has to wait. As in Linux it is asked before each packet or burst, and one more than the bound is let in.
    pub fn holds_back(&mut self, sender: &Sender) -> bool {
        self.throttled = !sender.is_in_burst() && self.queued > self.bound(sender);
        self.throttled
    }

    /// A packet goes to the access link.
    pub fn on_queued(&mut self) {
        self.queued += 1;
    }

    /// A packet has left on the access link; whether the connection waits for it.
    pub fn on_left(&mut self) -> bool {
        self.queued -= 1;
        std::mem::take(&mut self.throttled)
    }

    fn bound(&self, sender: &Sender) -> u32 {
        let packets = self.packets.saturating_mul(sender.burst_segments());
        let rate = sender.paced_segments_per_second().unwrap_or(0.0);
        packets.max((rate * self.time.as_secs_f64()) as u32)
    }
}
