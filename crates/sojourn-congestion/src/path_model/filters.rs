//! Largest values of a while.

use crate::rounding::rounded_up;

#[derive(Clone, Copy, Default, Debug)]
struct Sample {
    time: u64,
    value: f64,
}

/// The largest value of the last `window` units of time, approximately: the best three samples of the window's parts are
/// remembered (Kathleen Nichols; Linux lib/win_minmax.c).
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct WindowedMax {
    best: [Sample; 3],
}

impl WindowedMax {
    /// The largest value.
    #[inline]
    pub(crate) fn get(&self) -> f64 {
        self.best[0].value
    }

    /// A sample at `time`, which never goes back.
    #[inline]
    pub(crate) fn update(&mut self, window: u64, time: u64, value: f64) {
        let sample = Sample { time, value };
        if value >= self.best[0].value || time - self.best[2].time > window {
            self.best = [sample; 3];
            return;
        }
        if value >= self.best[1].value {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if value >= self.best[2].value {
            self.best[2] = sample;
        }
        self.age(window, sample);
    }

    /// Passes the best of a part of the window on when it has grown too old, and starts a new part in time.
    #[inline]
    fn age(&mut self, window: u64, sample: Sample) {
        let age = sample.time - self.best[0].time;
        if age > window {
            self.best = [self.best[1], self.best[2], sample];
            if sample.time - self.best[0].time > window {
                self.best = [self.best[1], self.best[2], sample];
            }
        } else if self.best[1].time == self.best[0].time && age > window / 4 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if self.best[2].time == self.best[1].time && age > window / 2 {
            self.best[2] = sample;
        }
    }
}

/// The largest value of the present and the previous of two spans of time.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct TwoSlots {
    previous: f64,
    present: f64,
}

impl TwoSlots {
    /// The largest value.
    #[inline]
    pub(crate) fn get(&self) -> f64 {
        if self.present > self.previous { self.present } else { self.previous }
    }

    /// A sample.
    #[inline]
    pub(crate) fn update(&mut self, value: f64) {
        // A branch, which is mostly guessed right, and not the larger of both, which would have to be waited for.
        if value > self.present {
            self.present = value;
        }
    }

    /// A sample of `value` rounded up, but of `most` at most.
    #[inline]
    pub(crate) fn update_rounded_up(&mut self, value: f64, most: f64) {
        // Rounding adds less than one.
        if value + 1.0 > self.present {
            self.update(rounded_up(value).min(most));
        }
    }

    /// A new span of time begins.
    pub(crate) fn advance(&mut self) {
        self.previous = self.present;
        self.present = 0.0;
    }
}
