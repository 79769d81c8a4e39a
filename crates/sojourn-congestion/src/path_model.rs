//! What both versions of BBR keep of their path: round trips counted by delivery, the least round-trip time, how
//! bursty acknowledgements are, and the pacing rate.

mod filters;
#[cfg(test)]
pub(crate) mod path;
#[cfg(test)]
mod tests;

pub(crate) use filters::{TwoSlots, WindowedMax};

use sojourn_core::{Rate, Span, Time};

/// Fewest segments for pipelining with a receiver that acknowledges every other one (`bbr_cwnd_min_target`,
/// `BBR.MinPipeCwnd`).
pub(crate) const MIN_PIPE: f64 = 4.0;

/// Round trip assumed for pacing before the first sample.
const NOMINAL_RTT: Span = Span::from_millis(1);

/// Packet-timed round trips of BBR's drafts: one ends when a segment is acknowledged that was sent after all that had been
/// delivered when it began.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct PacketTimedRounds {
    end: u64,
    count: u64,
    starts: bool,
}

impl PacketTimedRounds {
    /// An acknowledgement of a segment that was sent with `prior` segments delivered; now there are `total`.
    #[inline]
    pub(crate) fn on_ack(&mut self, prior: u64, total: u64) {
        self.starts = prior >= self.end;
        if self.starts {
            self.end = total;
            self.count += 1;
        }
    }

    /// An acknowledgement that tells nothing.
    pub(crate) fn pass(&mut self) {
        self.starts = false;
    }

    /// A round begins with `total` segments delivered, which counts as none.
    pub(crate) fn restart(&mut self, total: u64) {
        self.end = total;
    }

    /// Whether the present acknowledgement is the first of a round.
    #[inline]
    pub(crate) fn starts(&self) -> bool {
        self.starts
    }

    /// Rounds so far.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}

/// The least round-trip time of a while.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeastRtt {
    window: Span,
    value: Option<Span>,
    /// The value in seconds.
    seconds: f64,
    stamp: Time,
}

impl LeastRtt {
    /// No value yet; one is trusted for `window`.
    pub(crate) fn new(window: Span) -> LeastRtt {
        LeastRtt { window, value: None, seconds: f64::NAN, stamp: Time::ZERO }
    }

    /// Takes the window of `fresh`.
    pub(crate) fn retune(&mut self, fresh: &LeastRtt) {
        self.window = fresh.window;
    }

    /// The value, once there was a sample.
    #[inline]
    pub(crate) fn get(&self) -> Option<Span> {
        self.value
    }

    /// The same in seconds.
    #[inline]
    pub(crate) fn seconds(&self) -> Option<f64> {
        self.value.map(|_| self.seconds)
    }

    /// When it was obtained.
    pub(crate) fn stamp(&self) -> Time {
        self.stamp
    }

    /// Whether it is older than its window.
    #[inline]
    pub(crate) fn expired(&self, now: Time) -> bool {
        self.value.is_some() && now > self.stamp + self.window
    }

    /// Takes `rtt` of `stamp`.
    #[inline]
    pub(crate) fn set(&mut self, rtt: Span, stamp: Time) {
        self.value = Some(rtt);
        self.seconds = rtt.as_secs_f64();
        self.stamp = stamp;
    }

    /// Trusts the value for another window.
    pub(crate) fn renew(&mut self, now: Time) {
        self.stamp = now;
    }
}

/// How much more was acknowledged at once than the bandwidth explains.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Aggregation {
    since: Time,
    delivered: f64,
}

impl Aggregation {
    /// Counts from `now` on, with nothing delivered.
    pub(crate) fn beginning(now: Time) -> Aggregation {
        Aggregation { since: now, delivered: 0.0 }
    }

    /// `newly` segments were delivered on a path of `bandwidth` segments per second: those in excess of what it explains
    /// since acknowledgements were last as slow as it is.
    #[inline]
    pub(crate) fn excess(&mut self, newly: f64, bandwidth: f64, now: Time) -> f64 {
        let mut expected = bandwidth * now.since(self.since).as_secs_f64();
        if self.delivered <= expected {
            self.delivered = 0.0;
            self.since = now;
            expected = 0.0;
        }
        self.delivered += newly;
        self.delivered - expected
    }

    /// Counts time from `now` on.
    pub(crate) fn restart(&mut self, now: Time) {
        self.since = now;
    }
}

/// Segments whose rate samples do not count because the control itself kept the path empty when they were sent: as if
/// the application had limited them.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Muted {
    from: u64,
    until: u64,
}

impl Muted {
    /// Mutes what is sent before more than the present `in_flight` segments beyond `total` are delivered.
    pub(crate) fn extend(&mut self, total: u64, in_flight: u32) {
        if total > self.until {
            self.from = total;
        }
        self.until = (total + u64::from(in_flight)).max(1);
    }

    /// Whether a segment is muted that was sent with `prior` segments delivered.
    #[inline]
    pub(crate) fn covers(&self, prior: u64) -> bool {
        self.until > 0 && (self.from..=self.until).contains(&prior)
    }
}

/// The pacing rate: before the pipe has been full once it only grows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacing {
    segment_bits: f64,
    /// Segments per second that the rate was set to.
    per_second: f64,
    rate: Rate,
    /// The rate in bytes.
    bytes_per_second: f64,
    measured: bool,
}

impl Pacing {
    /// Paces segments of `mss_bytes` bytes as if `window` of them times `gain` took a round trip of 1 ms.
    pub(crate) fn new(mss_bytes: u32, window: f64, gain: f64) -> Pacing {
        let per_second = gain * window / NOMINAL_RTT.as_secs_f64();
        let segment_bits = f64::from(mss_bytes) * 8.0;
        let mut pacing = Pacing { segment_bits, per_second, rate: SLOWEST, bytes_per_second: 0.0, measured: false };
        pacing.set(per_second);
        pacing
    }

    /// The first round-trip time is `rtt`, the window `window`.
    #[inline]
    pub(crate) fn begin(&mut self, rtt: Span, window: f64, gain: f64) {
        if !self.measured && !rtt.is_zero() {
            self.measured = true;
            self.set(gain * window / rtt.as_secs_f64());
        }
    }

    /// The model asks for `per_second` segments per second; `full` once the pipe was found full.
    #[inline]
    pub(crate) fn follow(&mut self, per_second: f64, full: bool) {
        // Mostly the model asks for what it had asked for before.
        if per_second == self.per_second {
            return;
        }
        if full || per_second * self.segment_bits > self.rate.bits_per_second() as f64 {
            self.set(per_second);
        }
    }

    #[inline]
    fn set(&mut self, per_second: f64) {
        self.per_second = per_second;
        self.rate = Rate::from_bits_per_second((per_second * self.segment_bits) as u64).unwrap_or(SLOWEST);
        self.bytes_per_second = self.rate.bytes_per_second();
    }

    /// The rate.
    #[inline]
    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// Payload bytes per second.
    #[inline]
    pub(crate) fn bytes_per_second(&self) -> f64 {
        self.bytes_per_second
    }
}

const SLOWEST: Rate = Rate::from_bits_per_second(1).unwrap();
