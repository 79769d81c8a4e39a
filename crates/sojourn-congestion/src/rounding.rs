//! Rounding of numbers that are not negative and less than 2^52.

/// The sum with it is rounded to a whole number. That is less work than a conversion to an integer and back, and `f64::ceil` and
/// `f64::floor` are calls where the processor is not known to round.
const WHOLE: f64 = 4_503_599_627_370_496.0;

/// The least whole number that is no less than `number`.
#[inline]
pub(crate) fn rounded_up(number: f64) -> f64 {
    let whole = near(number);
    whole + if whole < number { 1.0 } else { 0.0 }
}

/// The largest whole number that is no more than `number`.
#[inline]
pub(crate) fn rounded_down(number: f64) -> f64 {
    let whole = near(number);
    whole - if whole > number { 1.0 } else { 0.0 }
}

/// One of the two whole numbers beside `number`.
#[inline]
fn near(number: f64) -> f64 {
    debug_assert!(number < WHOLE, "{number} is whole");
    number + WHOLE - WHOLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_those_of_the_standard_library() {
        for number in
            [0.0, 0.25, 0.5, 0.999_999_9, 1.0, 1.5, 2.5, 7.0, 4_294_967_295.5, 1e11 + 0.25, WHOLE - 1.0, WHOLE - 0.5]
        {
            assert_eq!((rounded_down(number), rounded_up(number)), (f64::floor(number), f64::ceil(number)), "{number}");
        }
    }
}
