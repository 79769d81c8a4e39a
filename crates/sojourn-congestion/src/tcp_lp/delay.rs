//! What TCP-LP makes of timestamps: one-way delay, its extremes and its average.
//!
//! Everything is whole ticks of the timestamp clock. With a tick of 1 ms and 32-bit registers this is the
//! arithmetic of Linux, step by step; with a tick of 1 ns and wide registers it is the paper's.

use sojourn_core::Time;

/// How delays are kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arithmetic {
    /// Nanoseconds of one tick of both timestamp clocks.
    pub(super) tick_nanos: i64,
    /// Ticks by which the receiver's clock is ahead, on top of what the transport says.
    pub(super) offset_ticks: i64,
    /// Whether sums are kept in unsigned registers of 32 bits.
    pub(super) wraps: bool,
    /// The reciprocal of the weight of a new sample.
    pub(super) smoothing: i64,
    /// The threshold in parts of 100 of the range of delays, exact for all sensible settings.
    pub(super) percent: i64,
    /// Whether the maximum is the highest delay but one.
    pub(super) second_highest: bool,
}

impl Arithmetic {
    /// What a register holds after `value` was stored in it.
    #[inline]
    fn store(&self, value: i64) -> i64 {
        if self.wraps { i64::from(value as u32) } else { value }
    }
}

/// The delays of a flow so far.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    arithmetic: Arithmetic,
    remote: Option<RemoteClock>,
    seen: Option<Seen>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The smoothed delay, times `smoothing`.
    smoothed: i64,
    least: i64,
    most: i64,
    /// The highest delay, kept back so that `most` is the one below it.
    reserve: i64,
}

/// How a delay compares with the threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Level {
    Below,
    At,
    Above,
}

impl Delays {
    /// No delay seen; `estimate_clock` as in Linux.
    pub(super) fn new(arithmetic: Arithmetic, estimate_clock: bool) -> Delays {
        Delays { arithmetic, remote: estimate_clock.then(RemoteClock::default), seen: None }
    }

    /// Takes the threshold of `fresh`.
    pub(super) fn retune(&mut self, fresh: &Delays) {
        self.arithmetic.percent = fresh.arithmetic.percent;
    }

    /// A segment sent at `sent` took `delay_nanos`.
    #[inline]
    pub(super) fn sample(&mut self, sent: Time, delay_nanos: i64) {
        let arithmetic = self.arithmetic;
        let sent_nanos = sent.as_nanos() as i64;
        let local = sent_nanos.div_euclid(arithmetic.tick_nanos);
        let remote = (sent_nanos + delay_nanos).div_euclid(arithmetic.tick_nanos) + arithmetic.offset_ticks;
        let delay = match &mut self.remote {
            Some(clock) => match clock.delay(remote as u32, local as u32, arithmetic.tick_nanos) {
                Some(delay) => i64::from(delay),
                None => return,
            },
            None => arithmetic.store(remote - local),
        };
        match &mut self.seen {
            Some(seen) => seen.take(delay, &arithmetic),
            None => {
                let smoothed = arithmetic.store(delay * arithmetic.smoothing);
                self.seen = Some(Seen { smoothed, least: delay, most: delay, reserve: delay });
            }
        }
    }

    /// The smoothed delay against least + part x (most - least); nothing before the first sample.
    #[inline]
    pub(super) fn level(&self) -> Option<Level> {
        let (smoothed, threshold) = (self.smoothed()?, self.threshold()?);
        Some(match smoothed.cmp(&threshold) {
            core::cmp::Ordering::Less => Level::Below,
            core::cmp::Ordering::Equal => Level::At,
            core::cmp::Ordering::Greater => Level::Above,
        })
    }

    /// Linux's answer to an indication: the least delay becomes the smoothed one, the most twice that.
    pub(super) fn restart_extremes(&mut self) {
        let Some(smoothed) = self.smoothed() else { return };
        if let Some(seen) = &mut self.seen {
            let twice = 2 * seen.smoothed / self.arithmetic.smoothing;
            (seen.least, seen.most, seen.reserve) = (smoothed, twice, twice);
        }
    }

    /// The smoothed delay in ticks.
    #[inline]
    pub(super) fn smoothed(&self) -> Option<i64> {
        self.seen.map(|seen| seen.smoothed.div_euclid(self.arithmetic.smoothing))
    }

    /// The threshold in ticks.
    #[inline]
    pub(super) fn threshold(&self) -> Option<i64> {
        let arithmetic = &self.arithmetic;
        self.seen.map(|seen| {
            let range = arithmetic.store(arithmetic.percent * arithmetic.store(seen.most - seen.least));
            arithmetic.store(seen.least + range / 100)
        })
    }

    /// Milliseconds of `ticks`.
    pub(super) fn millis(&self, ticks: i64) -> f64 {
        ticks as f64 * self.arithmetic.tick_nanos as f64 / 1e6
    }
}

impl Seen {
    #[inline]
    fn take(&mut self, delay: i64, arithmetic: &Arithmetic) {
        self.least = self.least.min(delay);
        if delay > self.most {
            // The very highest is held back; what was highest before becomes the maximum.
            let below = if delay > self.reserve { core::mem::replace(&mut self.reserve, delay) } else { delay };
            self.most = if arithmetic.second_highest { below } else { delay };
        }
        let average = self.smoothed.div_euclid(arithmetic.smoothing);
        self.smoothed = arithmetic.store(self.smoothed + delay - average);
    }
}

/// Linux's estimate of how many ticks per second the receiver's timestamps have.
///
/// It is made anew from each pair of acknowledgements, so with ticks as coarse as the gaps between
/// acknowledgements it errs by factors of two; and it enters the delay as a whole quotient.
#[derive(Clone, Default, Debug)]
struct RemoteClock {
    hertz: u32,
    reference: Option<(u32, u32)>,
}

impl RemoteClock {
    /// One-way delay in ticks; nothing before the rate is known or where the delay comes out as zero.
    fn delay(&mut self, remote: u32, local: u32, tick_nanos: i64) -> Option<u32> {
        let resolution = (1_000_000_000 / tick_nanos) as u32;
        if let Some((remote_before, local_before)) = self.reference
            && remote != remote_before
            && local != local_before
        {
            let measured =
                resolution.wrapping_mul(remote.wrapping_sub(remote_before)) / local.wrapping_sub(local_before);
            // 63/64 of the old and 1/64 of the new; what the shift cuts off is lost.
            let scaled = i64::from(self.hertz << 6);
            let scaled =
                if scaled > 0 { scaled + i64::from(measured) - (scaled >> 6) } else { i64::from(measured) << 6 };
            self.hertz = (scaled >> 6) as u32;
        }
        self.reference = Some((remote, local));
        let factor = resolution.checked_div(self.hertz)?;
        let delay = remote.wrapping_mul(factor).wrapping_sub(local);
        (delay > 0).then_some(delay)
    }
}
