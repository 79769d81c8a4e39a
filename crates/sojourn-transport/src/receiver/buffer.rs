//! The receive buffer as Linux 6.1 tunes it (`tcp_rcv_space_adjust`, `tcp_grow_window`), where the application reads at once.
//!
//! It follows what was read in a round-trip time. While the window that it allows has not been announced, each full segment
//! makes that two segments larger, and is acknowledged at once.

use sojourn_core::{Span, Time};

/// `net.ipv4.tcp_rmem`: at the start, and at most.
const FIRST_BYTES: u64 = 131_072;
const MOST_BYTES: u64 = 6_291_456;
/// Of an advertised window: half of the buffer (`tcp_adv_win_scale` = 1).
const fn window_of(buffer_bytes: u64) -> u64 {
    buffer_bytes / 2
}
/// Full segments that are read in the first round-trip time (`TCP_INIT_CWND`).
const FIRST_READ: u64 = 10;
/// What a segment takes up in it besides its payload (`SKB_TRUESIZE`, `MAX_TCP_HEADER`), and the step by which that is made
/// so large that half of it is the payload.
const OVERHEAD_BYTES: u64 = 832;
const STEP_BYTES: u64 = 128;
/// What windows are announced in, as the largest buffer asks for (`rcv_wscale`).
const WINDOW_UNIT: u64 = 128;
/// What a full segment takes up while it is held (`truesize`).
const HELD_BYTES: u64 = 2304;

/// How large it is.
#[derive(Debug)]
pub(super) struct Buffer {
    payload_bytes: u64,
    /// Its size (`sk_rcvbuf`).
    buffer_bytes: u64,
    /// What it allows when it is empty (`window_clamp`).
    allowed_bytes: u64,
    /// What is announced (`rcv_ssthresh`).
    announced_bytes: u64,
    /// What the last acknowledgement announced (`rcv_wnd`), from the segment on that it asked for (`rcv_wup`).
    window_bytes: u64,
    asked: u32,
    /// How many segments it holds.
    held: u32,
    /// What was read in the round-trip time before (`rcvq_space.space`).
    read_bytes: u64,
    /// The first segment of this one (`rcvq_space.seq`), and when it began; none before the first segment.
    first: u32,
    begun_at: Option<Time>,
}

impl Buffer {
    /// As a connection begins with it (`tcp_init_buffer_space`).
    pub(super) fn new(payload_bytes: u32) -> Buffer {
        let payload_bytes = u64::from(payload_bytes);
        let allowed_bytes = window_of(FIRST_BYTES).saturating_sub(payload_bytes).max(2 * payload_bytes);
        Buffer {
            payload_bytes,
            buffer_bytes: FIRST_BYTES,
            allowed_bytes,
            announced_bytes: allowed_bytes,
            window_bytes: allowed_bytes.next_multiple_of(WINDOW_UNIT),
            asked: 0,
            held: 0,
            read_bytes: FIRST_READ * payload_bytes,
            first: 0,
            begun_at: None,
        }
    }

    /// A segment comes, while it holds so many; whether more is announced because of it (`tcp_grow_window`).
    pub(super) fn announces(&mut self, held: u32) -> bool {
        let room = self.free_bytes(held).saturating_sub(self.announced_bytes);
        self.announced_bytes += room.min(2 * self.payload_bytes);
        room > 0
    }

    /// It holds so many segments.
    pub(super) fn hold(&mut self, count: u32) {
        self.held = count;
    }

    /// What it has room for beside so many segments (`tcp_space`).
    fn free_bytes(&self, held: u32) -> u64 {
        let taken = u64::from(held) * HELD_BYTES;
        window_of(self.buffer_bytes.saturating_sub(taken)).min(self.allowed_bytes)
    }

    /// What would be announced now (`__tcp_select_window`).
    fn next_window_bytes(&self) -> u64 {
        self.free_bytes(self.held).min(self.announced_bytes).next_multiple_of(WINDOW_UNIT)
    }

    /// Whether the window that was announced is larger than what would be now.
    pub(super) fn has_shrunk(&self) -> bool {
        self.next_window_bytes() < self.window_bytes
    }

    /// Whether more than half of it is taken.
    pub(super) fn is_crowded(&self) -> bool {
        self.free_bytes(self.held) < window_of(self.buffer_bytes) / 2
    }

    /// An acknowledgement asks for `next`. What was announced is not taken back (`tcp_select_window`).
    pub(super) fn on_sent(&mut self, next: u32) {
        let used_bytes = u64::from(next - self.asked) * self.payload_bytes;
        let left_bytes = self.window_bytes.saturating_sub(used_bytes).next_multiple_of(WINDOW_UNIT);
        (self.window_bytes, self.asked) = (self.next_window_bytes().max(left_bytes), next);
    }

    /// All before `next` has been read, `now`, in a connection with this round-trip time (`tcp_rcv_space_adjust`).
    pub(super) fn on_read(&mut self, next: u32, rtt: Span, now: Time) {
        let begun_at = *self.begun_at.get_or_insert(now);
        if now.since(begun_at) < rtt {
            return;
        }
        let read_bytes = u64::from(next - self.first) * self.payload_bytes;
        if read_bytes > self.read_bytes {
            self.grow(read_bytes);
            self.read_bytes = read_bytes;
        }
        (self.first, self.begun_at) = (next, Some(now));
    }

    /// Room for twice what was read, and for as much more as it was more than before, twice.
    fn grow(&mut self, read_bytes: u64) {
        let twice = 2 * read_bytes + 16 * self.payload_bytes;
        let more = u128::from(twice) * u128::from(read_bytes - self.read_bytes) / u128::from(self.read_bytes);
        let segments = (twice + 2 * more as u64) / self.payload_bytes;
        let taken = self.payload_bytes + OVERHEAD_BYTES;
        let missing = (2 * self.payload_bytes).saturating_sub(taken);
        let buffer_bytes = segments.saturating_mul(taken + missing.next_multiple_of(STEP_BYTES));
        if buffer_bytes > self.buffer_bytes {
            self.buffer_bytes = buffer_bytes.min(MOST_BYTES);
            self.allowed_bytes = window_of(self.buffer_bytes);
        }
    }

    /// Whether it cannot grow any more, but for what the segment that is being read takes up.
    pub(super) fn is_full_grown(&self) -> bool {
        self.announced_bytes >= window_of(MOST_BYTES - HELD_BYTES)
    }
}
