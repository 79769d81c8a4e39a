//! The average as a number: real, or in fixed point as Linux has it.

/// The average as a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Number {
    /// A real number.
    Real(f64),
    /// Linux (`red_calc_qavg`): a whole number of units of the weight, which is 2^-`log`. What a sample takes of the
    /// average is cut to whole packets or bytes, so that the average comes out up to one of them too high.
    FixedPoint { scaled: u64, log: u32 },
}

impl Number {
    #[inline]
    pub(super) fn value(self) -> f64 {
        match self {
            Number::Real(value) => value,
            Number::FixedPoint { scaled, log } => scaled as f64 / (1u64 << log) as f64,
        }
    }

    /// The same kind of number, of another value.
    pub(super) fn with(self, value: f64) -> Number {
        match self {
            Number::Real(_) => Number::Real(value),
            Number::FixedPoint { log, .. } => Number::FixedPoint { scaled: (value * (1u64 << log) as f64) as u64, log },
        }
    }

    pub(super) fn times(self, factor: f64) -> Number {
        self.with(self.value() * factor)
    }

    /// Halved so many times.
    pub(super) fn halved(self, times: u32) -> Number {
        match self {
            Number::Real(value) => Number::Real(value / (1u64 << times) as f64),
            Number::FixedPoint { scaled, log } => Number::FixedPoint { scaled: scaled >> times, log },
        }
    }

    /// Less by `parts`/2^`log_of_whole` of itself, but not below one half.
    pub(super) fn less(self, parts: u64, log_of_whole: u32) -> Number {
        match self {
            Number::Real(value) => Number::Real(value * (1.0 - parts as f64 / (1u64 << log_of_whole) as f64).max(0.5)),
            Number::FixedPoint { scaled, log } => {
                let loss = (u128::from(scaled) * u128::from(parts)) >> log_of_whole;
                let half = scaled >> 1;
                let scaled = if loss < u128::from(half) { scaled - loss as u64 } else { half };
                Number::FixedPoint { scaled, log }
            }
        }
    }
}
