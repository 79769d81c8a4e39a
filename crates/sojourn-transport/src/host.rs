//! What a sending host does between its connections and the network.
//!
//! TCP small queues (`tcp_small_queue_check` of Linux 6.1): a connection has at most two packets waiting in its own host, or what
//! it sends in a millisecond where that is more. So the rest of its window stays where it is, and the queue of the host does not
//! add to round-trip times.

use crate::sender::Sender;
use sojourn_congestion::Control;
use sojourn_core::Span;

/// `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`: windows per smoothed round trip at which a connection would be paced, below
/// half of the slow-start threshold and above.
const PACED_WINDOWS: [f64; 2] = [2.0, 1.2];

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
    /// One in which nothing waits: at most what is sent in `time`, and at least `packets`.
    pub fn new(time: Span, packets: u32) -> SmallQueue {
        SmallQueue { time, packets, queued: 0, throttled: false }
    }

    /// Whether `sender` has to wait. As in Linux it is asked before each packet, and one more than the bound is let in.
    pub fn holds_back(&mut self, sender: &Sender) -> bool {
        self.throttled = self.queued > self.bound(sender);
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
        let smoothed = sender.rtt().smoothed();
        if smoothed.is_zero() {
            return self.packets;
        }
        let (window, threshold) = (sender.window(), sender.control().slow_start_threshold());
        let windows = PACED_WINDOWS[usize::from(window >= threshold / 2.0)];
        let rate = windows * window / smoothed.as_secs_f64();
        self.packets.max((rate * self.time.as_secs_f64()) as u32)
    }
}
