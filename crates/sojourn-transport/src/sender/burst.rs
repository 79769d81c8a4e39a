//! Bursts: how much a host hands to its network card at once, which cuts it into segments (TSO, GSO).
//!
//! As in Linux 6.1 (`tcp_write_xmit`): where new data may go, a burst is as long as what is sent in about a millisecond
//! (`tcp_tso_autosize`), half of the window at most (`tcp_cwnd_test`). A shorter one may wait for the acknowledgement that is
//! just about to come (`tcp_tso_should_defer`). Pacing counts once for a burst. Retransmissions go one by one.

use super::Sender;
use super::recovery::State;
use sojourn_congestion::Control;
use sojourn_core::{Span, Time};

/// `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`: windows per smoothed round trip at which a connection is paced, below half
/// of the slow-start threshold and above.
const PACED_WINDOWS: [f64; 2] = [2.0, 1.2];
/// `tcp_tso_win_divisor`: a burst of this part of a window does not wait for more.
const ENOUGH_OF_WINDOW: u32 = 3;
/// A burst waits only where something was sent this short a time ago, and the next acknowledgement is so near.
const PATIENCE: Span = Span::from_millis(1);
/// `tcp_tso_rtt_log`: with each so many doublings of 1 us of the least round trip a burst has half as much more.
const RTT_DOUBLINGS: u32 = 9;
/// `bbr_min_tso_rate`: below it the smallest burst of a control with a rate of its own is one segment.
const SLOW_BITS_PER_SECOND: u64 = 1_200_000;

/// The receive window that a peer can announce before the first acknowledgement: its SYN has no scale yet (RFC 7323 section 2.2).
const FIRST_WINDOW_BYTES: u32 = 65_535;

/// How long bursts may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BurstLimits {
    /// Segments of the longest (`gso_max_size`), and of what an application's data is cut into.
    pub most: u32,
    /// Segments of the shortest, where window and data allow (`tcp_min_tso_segs`).
    pub least: u32,
    /// What is sent in this time at the rate of pacing may go at once (`sk_pacing_shift`).
    pub time: Span,
    /// Whether the host paces every connection (qdisc `fq`), not only those whose control asks for it.
    pub paced: bool,
}

/// The burst under way.
#[derive(Debug)]
pub(super) struct Bursts {
    limits: BurstLimits,
    /// When it began.
    at: Time,
    /// Segments of it that were sent, and that are still to go.
    sent: u32,
    left: u32,
    /// When something was last sent, or the end of the gap after it (`tcp_wstamp_ns`).
    written: Option<Time>,
    /// The application's data is in pieces of `piece` segments from segment `cut_from` on (`tcp_xmit_size_goal`).
    cut_from: u32,
    piece: u32,
}

impl Sender {
    /// The same with segments that leave in bursts.
    #[must_use]
    pub fn with_bursts(mut self, limits: BurstLimits) -> Sender {
        let (at, piece) = (Time::ZERO, limits.most);
        self.bursts = Some(Box::new(Bursts { limits, at, sent: 0, left: 0, written: None, cut_from: 0, piece }));
        self.has_fast_path = false;
        self
    }

    /// The application gives data after all that it gave before was sent. It is cut into pieces for the network card, of half
    /// of the largest receive window at most (`tcp_bound_to_half_wnd`).
    #[inline(never)]
    pub(super) fn cut_supply(&mut self) {
        let window =
            if self.board.first() == 0 { FIRST_WINDOW_BYTES / self.payload_bytes } else { self.receive_window };
        let from = self.board.next();
        let Some(bursts) = &mut self.bursts else { return };
        (bursts.cut_from, bursts.piece) = (from, (window / 2).clamp(1, bursts.limits.most));
    }

    /// Whether a burst has begun of which segments are still to go, at this same time.
    #[inline]
    pub fn is_in_burst(&self) -> bool {
        self.bursts.as_ref().is_some_and(|bursts| bursts.left > 0)
    }

    /// Segments of the longest burst at the present rate (`tcp_tso_autosize`); one where there are no bursts.
    pub fn burst_segments(&self) -> u32 {
        let Some(bursts) = &self.bursts else { return 1 };
        let BurstLimits { most, least, time, .. } = bursts.limits;
        let slow = self.control.pacing_rate().is_some_and(|rate| rate.bits_per_second() < SLOW_BITS_PER_SECOND);
        let least = if slow { 1 } else { least.min(most) };
        let Some(rate) = self.paced_segments_per_second() else { return most };
        let near = (self.rtt.min().as_nanos() / 1000) >> RTT_DOUBLINGS;
        let more = if near < 32 { f64::from(most) / f64::from(1 << near as u32) } else { 0.0 };
        ((rate * time.as_secs_f64() + more) as u32).clamp(least, most)
    }

    /// The rate at which a connection is paced or would be (`tcp_update_pacing_rate`), in segments; none before the first
    /// round-trip sample.
    pub fn paced_segments_per_second(&self) -> Option<f64> {
        if let Some(rate) = self.control.pacing_rate() {
            return Some(rate.bits_per_second() as f64 / 8.0 / f64::from(self.payload_bytes));
        }
        let smoothed = self.rtt.smoothed();
        let (window, threshold) = (self.window(), self.control.slow_start_threshold());
        let windows = PACED_WINDOWS[usize::from(window >= threshold / 2.0)];
        let used = window.max(f64::from(self.board.outstanding()));
        (!smoothed.is_zero()).then(|| windows * used / smoothed.as_secs_f64())
    }

    /// The next segment of the burst under way.
    #[inline(never)]
    pub(super) fn continue_burst(&mut self, now: Time) -> Option<u32> {
        let has_new = self.has_new();
        let bursts = self.bursts.as_mut().filter(|bursts| bursts.left > 0)?;
        if bursts.at < now || !has_new {
            // Cut short: the application has taken its data back.
            bursts.left = 0;
            self.pace_burst(now);
            return None;
        }
        bursts.left -= 1;
        bursts.sent += 1;
        let ends = bursts.left == 0;
        let number = self.board.next();
        self.send_new(number, now);
        if ends {
            self.pace_burst(now);
        }
        Some(number)
    }

    /// The window lets something be sent; whether it waits for more of it.
    #[inline(never)]
    pub(super) fn defers_burst(&mut self, now: Time) -> bool {
        let new = self.has_new() && !(self.recovery.sends_lost() && self.board.next_lost().is_some());
        // A probe is one segment, and so is a retransmission.
        if !new || self.recovery.probes_beyond_window() {
            return false;
        }
        let next = self.board.next();
        let (chunk, most) = (self.chunk(next), self.burst_segments());
        let window = self.window().max(1.0) as u32;
        let room = window.saturating_sub(self.in_flight());
        let accepted = self.receive_window - self.board.outstanding();
        let waits = chunk > 1 && self.defers(window, room.min(accepted), [chunk, most], now);
        // tcp_tso_should_defer: is_cwnd_limited.
        if waits && room < accepted && room <= chunk {
            self.on_window_limited(now);
        }
        waits
    }

    /// Segments from `next` on that the application's data has in one piece.
    fn chunk(&self, next: u32) -> u32 {
        let (from, piece) = self.bursts.as_ref().map_or((0, 1), |bursts| (bursts.cut_from, bursts.piece));
        (self.end - next).min(piece - next.saturating_sub(from) % piece)
    }

    /// `tcp_tso_should_defer`, with its order of questions: what window and receiver let go against the application's next
    /// `chunk` of data and the longest burst.
    fn defers(&self, window: u32, limit: u32, [chunk, most]: [u32; 2], now: Time) -> bool {
        let written = self.bursts.as_ref().and_then(|bursts| bursts.written);
        let recent = written.is_some_and(|written| now.since(written) <= PATIENCE);
        let more_behind = self.end - self.board.next() > chunk;
        if self.recovery.state() != State::Open
            || !recent
            || limit >= most
            || (more_behind && limit >= chunk)
            || limit.saturating_mul(ENOUGH_OF_WINDOW) >= window.min(self.receive_window)
        {
            return false;
        }
        let Some(head) = self.board.first_sent() else { return false };
        let smoothed = self.rtt.smoothed();
        head + smoothed <= now + PATIENCE.min(smoothed / 2)
    }

    /// Something was sent that no burst was under way for: a retransmission, which goes alone, or the first of a burst of
    /// `new` data.
    #[inline(never)]
    pub(super) fn begin_burst(&mut self, new: bool, beyond_window: bool, now: Time) {
        let left = if new && !beyond_window { self.burst_quota() - 1 } else { 0 };
        let Some(bursts) = &mut self.bursts else { return };
        (bursts.at, bursts.sent, bursts.left) = (now, 1, left);
        if left == 0 {
            self.pace_burst(now);
        }
    }

    /// Segments of a burst whose first has just been sent (`tcp_cwnd_test`, `tcp_mss_split_point`).
    fn burst_quota(&self) -> u32 {
        let window = self.window().max(1.0) as u32;
        let room = (window + 1).saturating_sub(self.in_flight());
        let accepted = self.receive_window + 1 - self.board.outstanding();
        let quota = room.min((window / 2).max(1)).min(accepted);
        quota.min(self.burst_segments()).min(self.chunk(self.board.next() - 1)).max(1)
    }

    /// A burst has been sent: sets the earliest time of the next.
    fn pace_burst(&mut self, now: Time) {
        let Some((paced, sent)) = self.bursts.as_ref().map(|bursts| (bursts.limits.paced, bursts.sent)) else { return };
        let linux = paced || self.control.pacing_rate().is_some();
        let gap = match self.paced_segments_per_second().filter(|_| linux) {
            Some(rate) => Some(Span::from_secs_f64(f64::from(sent) / rate)),
            None => self.gap(self.window()).map(|gap| gap * u64::from(sent)),
        };
        if let Some(gap) = gap {
            self.leave_gap(gap, linux, now);
        }
        if let Some(bursts) = &mut self.bursts {
            bursts.written = Some(self.pacing.next_at().max(now));
        }
    }
}
