//! When Linux 6.1 acknowledges (`net/ipv4/tcp_input.c`, `tcp_output.c`, `tcp_timer.c`).
//!
//! A segment is acknowledged at once where two have come since the last time, where the receiver is quick (at the start, while
//! its [`Buffer`] grows, after a first mark, after something that had come before), or where all that was missing has come. Else the acknowledgement
//! waits: in order for a time that follows the distance of the segments (`tcp_send_delayed_ack`), and out of order, after three
//! duplicates, for 1 ms or a twentieth of the round-trip time or 44 segments (`__tcp_ack_snd_check`).

use super::buffer::Buffer;
use crate::options::at_tick;
use crate::scoreboard::DUP_THRESH;
use sojourn_core::{Span, Time};

/// Segments acknowledged at once at the start (`TCP_MAX_QUICKACKS`).
const MOST_QUICK: u32 = 16;
/// The same after a first mark (`__tcp_ecn_check_ce`).
const QUICK_AFTER_MARK: u32 = 2;
/// Longest delay of an acknowledgement (`TCP_DELACK_MAX`).
const LONGEST_DELAY: Span = Span::from_millis(200);
/// Longest wait of duplicates (`tcp_comp_sack_delay_ns`).
const LONGEST_COMPRESSION: Span = Span::from_millis(1);
/// How much later the timer goes off that ends it, as timers of a kernel with nothing else to do (`tcp_comp_sack_slack_ns`).
const COMPRESSION_SLACK: Span = Span::from_micros(100);
/// Most of them that wait (`tcp_comp_sack_nr`).
const MOST_COMPRESSED: u32 = 44;
/// How many blocks a sender is sure to be told (`TCP_SACK_BLOCKS_EXPECTED`).
pub(super) const BLOCKS_EXPECTED: usize = 2;
/// The retransmission timeout before the first round-trip time (`TCP_TIMEOUT_INIT`).
const FIRST_RTO: Span = Span::from_secs(1);
/// The least that its variance term adds (`TCP_RTO_MIN`).
const LEAST_VARIANCE: Span = Span::from_millis(200);

/// What decides when the next acknowledgement goes.
#[derive(Debug)]
pub(super) struct Pace {
    /// Shortest delay (`TCP_ATO_MIN`, `TCP_DELACK_MIN`).
    least_delay: Span,
    /// A kernel's tick; zero is none.
    tick: Span,
    /// Round-trip time of the handshake, where there was one, or of the sender at this end (`srtt_us`).
    rtt: Option<Span>,
    /// Round-trip time of the data (`rcv_rtt_est`), where it is known.
    data_rtt: Option<Span>,
    buffer: Buffer,
    /// When the SYN was answered, until the first segment comes.
    answered_at: Option<Time>,
    /// The delay by the distance of the segments (`icsk_ack.ato`); zero before the first one.
    delay: Span,
    /// How many of the next acknowledgements go at once (`icsk_ack.quick`).
    quick: u32,
    /// Whether the next one is not among them.
    is_extra: bool,
    /// Whether data goes the other way soon after some has come, and takes acknowledgements with it (`pingpong`).
    is_interactive: bool,
    /// When the last segment came in order (`lrcvtime`).
    last_next: Time,
    /// When the delayed acknowledgement goes.
    delayed_until: Time,
    /// When the timer of the last one that was delayed goes off: sending it does not stop the timer.
    timer_at: Time,
    /// Duplicates in a row that were sent at once (`dup_ack_counter`), and what they asked for (`compressed_ack_rcv_nxt`).
    duplicates: u32,
    asked: u32,
    /// Duplicates that wait (`compressed_ack`), and until when.
    compressed: u32,
    compressed_until: Time,
}

impl Pace {
    /// It with acknowledgements delayed by `least_delay` or more, timers that go off at whole multiples of `tick`, and segments
    /// of `payload_bytes`.
    pub(super) fn new(least_delay: Span, tick: Span, payload_bytes: u32) -> Pace {
        Pace {
            least_delay,
            tick,
            rtt: None,
            data_rtt: None,
            buffer: Buffer::new(payload_bytes),
            answered_at: None,
            delay: Span::ZERO,
            quick: 0,
            is_extra: false,
            is_interactive: false,
            last_next: Time::ZERO,
            delayed_until: Time::NEVER,
            timer_at: Time::ZERO,
            duplicates: 0,
            asked: 0,
            compressed: 0,
            compressed_until: Time::NEVER,
        }
    }

    /// A SYN is answered: what comes next tells the round-trip time.
    pub(super) fn on_syn_ack(&mut self, now: Time) {
        self.answered_at = Some(now);
    }

    /// The round-trip time of the data is known, as timestamps tell it (`tcp_rcv_rtt_measure_ts`).
    pub(super) fn set_data_rtt(&mut self, rtt: Span) {
        self.data_rtt = Some(rtt);
    }

    /// Whether [`set_data_rtt`](Pace::set_data_rtt) matters.
    pub(super) fn asks_for_data_rtt(&self) -> bool {
        !self.buffer.is_full_grown()
    }

    /// The sender at this end knows a round-trip time.
    pub(super) fn set_rtt(&mut self, rtt: Span) {
        self.rtt = Some(rtt);
    }

    /// The receive buffer holds so many segments.
    pub(super) fn hold(&mut self, count: u32) {
        self.buffer.hold(count);
    }

    /// All before `next` is read.
    pub(super) fn on_read(&mut self, next: u32, now: Time) {
        if let Some(rtt) = self.data_rtt.or(self.rtt) {
            self.buffer.on_read(next, rtt, now);
        }
    }

    /// Whether the window would be smaller now than it was announced.
    pub(super) fn has_shrunk(&self) -> bool {
        self.buffer.has_shrunk()
    }

    /// A segment comes that had not come before, while the buffer holds so many.
    pub(super) fn on_new(&mut self, held: u32, now: Time) {
        if let Some(answered_at) = self.answered_at.take() {
            self.rtt = Some(now.since(answered_at));
        }
        self.quick |= u32::from(self.buffer.announces(held));
    }

    /// The next segment expected comes (`tcp_event_data_recv`).
    pub(super) fn on_next(&mut self, now: Time) {
        let half = self.least_delay / 2;
        let distance = self.tick_of(now).since(self.tick_of(self.last_next));
        if self.delay.is_zero() {
            self.be_quick(MOST_QUICK);
            self.delay = self.least_delay;
        } else if distance <= half {
            self.delay = self.half_delay() + half;
        } else if distance < self.delay {
            self.delay = (self.half_delay() + distance).min(self.rto());
        } else if distance > self.rto() {
            // The sender has probably restarted its window.
            self.be_quick(MOST_QUICK);
        }
        self.last_next = now;
    }

    /// A segment comes that was received in order before (`tcp_data_queue`); `is_outside` where it ends before what the last
    /// acknowledgement asked for. The one that answers such a segment does not count (`tcp_send_dupack`).
    pub(super) fn on_old(&mut self, is_outside: bool) {
        self.become_quick(MOST_QUICK);
        self.is_extra = is_outside && !self.is_delaying() && self.compressed == 0;
    }

    /// A mark comes, and none is being echoed (`__tcp_ecn_check_ce`).
    pub(super) fn on_first_mark(&mut self) {
        self.become_quick(QUICK_AFTER_MARK);
    }

    /// `tcp_enter_quickack_mode`.
    fn become_quick(&mut self, most: u32) {
        self.be_quick(most);
        self.is_interactive = false;
        self.delay = self.least_delay;
    }

    /// `tcp_incr_quickack`.
    fn be_quick(&mut self, most: u32) {
        self.quick = self.quick.max(most);
    }

    /// Whether segments are acknowledged at once (`tcp_in_quickack_mode`).
    pub(super) fn is_quick(&self) -> bool {
        self.quick > 0 && !self.is_interactive
    }

    /// Whether an acknowledgement is delayed (`ICSK_ACK_TIMER`).
    pub(super) fn is_delaying(&self) -> bool {
        self.delayed_until != Time::NEVER
    }

    /// How many duplicates wait.
    pub(super) fn compressed(&self) -> u32 {
        self.compressed
    }

    /// Something is missing, first of all `next`: whether the duplicate waits with others (`__tcp_ack_snd_check`).
    pub(super) fn compresses(&mut self, next: u32, now: Time) -> bool {
        if self.compressed >= MOST_COMPRESSED {
            return false;
        }
        if self.asked != next {
            (self.asked, self.duplicates) = (next, 0);
        }
        if self.duplicates < DUP_THRESH {
            self.duplicates += 1;
            return false;
        }
        self.compressed += 1;
        if self.compressed_until == Time::NEVER {
            let share = self.rtt.map_or(LONGEST_COMPRESSION, |rtt| rtt / 20);
            self.compressed_until = now + share.min(LONGEST_COMPRESSION) + COMPRESSION_SLACK;
            if self.timer_at > now {
                self.compressed_until = self.compressed_until.min(self.timer_at);
            }
        }
        true
    }

    /// Nothing is missing: whether the acknowledgement is delayed, or goes now since its time is nearly over
    /// (`tcp_send_delayed_ack`).
    pub(super) fn delays(&mut self, now: Time) -> bool {
        let mut delay = self.delay;
        if delay > self.least_delay {
            let rtt = self.rtt.map(|rtt| at_tick(Time::ZERO + rtt, self.tick).since(Time::ZERO));
            let most = rtt.map_or(Span::from_millis(500), |rtt| rtt.max(self.least_delay));
            delay = delay.min(most).min(LONGEST_DELAY);
        }
        if self.delayed_until <= now + delay / 4 {
            return false;
        }
        self.delayed_until = self.delayed_until.min(at_tick(now + delay, self.tick));
        self.timer_at = self.delayed_until;
        true
    }

    /// Another acknowledgement is to follow at once.
    pub(super) fn follow(&mut self, now: Time) {
        self.compressed_until = now;
    }

    /// When [`on_timer`](Pace::on_timer) wants to be called.
    pub(super) fn deadline(&self) -> Time {
        self.delayed_until.min(self.compressed_until)
    }

    /// A time has come; whether an acknowledgement goes (`tcp_delack_timer_handler`, `tcp_compressed_ack_kick`).
    pub(super) fn on_timer(&mut self, now: Time) -> bool {
        if self.delayed_until <= now {
            // It was delayed in vain.
            self.delay = if self.is_interactive { self.least_delay } else { (self.delay * 2).min(self.rto()) };
            self.is_interactive = false;
        }
        self.deadline() <= now
    }

    /// An acknowledgement is sent that asks for `next` (`tcp_event_ack_sent`).
    pub(super) fn on_sent(&mut self, next: u32) {
        self.buffer.on_sent(next);
        if self.buffer.is_crowded() {
            self.quick = 0;
        }
        if !std::mem::take(&mut self.is_extra) && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.delay = self.least_delay;
            }
        }
        (self.compressed, self.compressed_until) = (0, Time::NEVER);
        self.delayed_until = Time::NEVER;
    }

    /// The next acknowledgement goes with data: one that was not due is none of the quick ones (`tcp_dec_quickack_mode`).
    pub(super) fn sends_along(&mut self, is_due: bool) {
        self.is_extra |= !is_due;
    }

    /// Data goes the other way (`tcp_event_data_sent`).
    pub(super) fn on_data_sent(&mut self, now: Time) {
        self.is_interactive |= self.tick_of(now).since(self.tick_of(self.last_next)) < self.delay;
    }

    /// Half of the delay, in whole ticks.
    fn half_delay(&self) -> Span {
        self.tick_of(Time::ZERO + self.delay / 2).since(Time::ZERO)
    }

    /// `icsk_rto` after a round-trip time, the first sample of RFC 6298.
    fn rto(&self) -> Span {
        self.rtt.map_or(FIRST_RTO, |rtt| rtt + (rtt * 2).max(LEAST_VARIANCE))
    }

    /// The tick that began last (`tcp_jiffies32`).
    fn tick_of(&self, now: Time) -> Time {
        match self.tick.as_nanos() {
            0 => now,
            tick => Time::from_nanos(now.as_nanos() / tick * tick),
        }
    }
}
