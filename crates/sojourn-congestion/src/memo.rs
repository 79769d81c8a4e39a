//! Values that mostly stay what they were at the acknowledgement before.

/// A value that follows from numbers which are mostly those of the acknowledgement before. A processor that guesses so need
/// not wait for the arithmetic: most of the time that an acknowledgement takes is a chain of roundings and divisions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memo<const N: usize> {
    numbers: [u64; N],
    value: f64,
}

impl<const N: usize> Memo<N> {
    /// None yet: no number is this one of all NaNs.
    pub(crate) const NOTHING: Memo<N> = Memo { numbers: [u64::MAX; N], value: f64::NAN };

    /// The value that follows from `numbers`, if that is known.
    #[inline]
    pub(crate) fn get(&self, numbers: &[f64; N]) -> Option<f64> {
        let differ = self.numbers.iter().zip(numbers).fold(0, |differ, (one, other)| differ | (one ^ other.to_bits()));
        (differ == 0).then_some(self.value)
    }

    /// From `numbers` follows `value`, which it returns.
    pub(crate) fn keep(&mut self, numbers: &[f64; N], value: f64) -> f64 {
        *self = Memo { numbers: numbers.map(f64::to_bits), value };
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_known_for_its_numbers_alone() {
        let mut memo = Memo::NOTHING;
        assert_eq!(memo.get(&[1.0, f64::NAN]), None);
        assert_eq!(memo.keep(&[1.0, f64::NAN], 7.0), 7.0);
        assert_eq!(memo.get(&[1.0, f64::NAN]), Some(7.0));
        assert_eq!(memo.get(&[1.5, f64::NAN]), None);
        assert_eq!(memo.get(&[1.0, 2.0]), None);
    }
}
