//! Functions of floating-point numbers where there is no standard library.

/// The functions of `f64` that only the standard library has as methods, for crates without it:
///
/// ```ignore
/// #[cfg(not(feature = "std"))]
/// use sojourn_core::Float as _;
/// ```
///
/// Each gives the same bits as its namesake there. With the standard library its own methods are called, which are single
/// instructions on many processors.
pub trait Float {
    /// The largest integer that is not above it.
    fn floor(self) -> Self;
    /// The smallest integer that is not below it.
    fn ceil(self) -> Self;
    /// The nearest integer; half-way cases go away from 0.
    fn round(self) -> Self;
    /// Its integer part.
    fn trunc(self) -> Self;
    /// What [`trunc`](Float::trunc) cuts off.
    fn fract(self) -> Self;
    /// Its square root.
    fn sqrt(self) -> Self;
    /// It, raised to an integer power by repeated squaring.
    fn powi(self, power: i32) -> Self;
}

impl Float for f64 {
    fn floor(self) -> f64 {
        libm::floor(self)
    }

    fn ceil(self) -> f64 {
        libm::ceil(self)
    }

    fn round(self) -> f64 {
        libm::round(self)
    }

    fn trunc(self) -> f64 {
        libm::trunc(self)
    }

    fn fract(self) -> f64 {
        self - libm::trunc(self)
    }

    fn sqrt(self) -> f64 {
        libm::sqrt(self)
    }

    fn powi(self, power: i32) -> f64 {
        let (mut result, mut square, mut left) = (1.0, self, power.unsigned_abs());
        while left > 0 {
            if left & 1 == 1 {
                result *= square;
            }
            square *= square;
            left >>= 1;
        }
        if power < 0 { 1.0 / result } else { result }
    }
}

#[cfg(test)]
mod tests {
    use super::Float;
    use crate::Stream;

    /// Compares both on `value`, bit by bit.
    fn same(value: f64) {
        let pairs = [
            (Float::floor(value), f64::floor(value)),
            (Float::ceil(value), f64::ceil(value)),
            (Float::round(value), f64::round(value)),
            (Float::trunc(value), f64::trunc(value)),
            (Float::fract(value), f64::fract(value)),
            (Float::sqrt(value), f64::sqrt(value)),
        ];
        for (at, (ours, std)) in pairs.into_iter().enumerate() {
            assert!(ours.to_bits() == std.to_bits() || ours.is_nan() && std.is_nan(), "{at}: {value:e}: {ours} {std}");
        }
        for power in [-3, -1, 0, 1, 2, 3, 4, 5, 7, 8, 13] {
            let (ours, std) = (Float::powi(value, power), f64::powi(value, std::hint::black_box(power)));
            assert!(
                ours.to_bits() == std.to_bits() || ours.is_nan() && std.is_nan(),
                "{value:e}^{power}: {ours} {std}"
            );
        }
    }

    #[test]
    fn each_gives_the_bits_of_the_standard_library() {
        for value in [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, 0.499_999_999_999_999_94, 4_503_599_627_370_495.5, f64::MAX] {
            same(value);
            same(-value);
        }
        for value in [f64::INFINITY, f64::NAN, f64::MIN_POSITIVE, 5e-324] {
            same(value);
        }
        let mut stream = Stream::new(1, "float");
        for _ in 0..20_000 {
            same(f64::from_bits(stream.bits()));
            same(stream.uniform_between(-1000.0, 1000.0));
        }
    }
}
