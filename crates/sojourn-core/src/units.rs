//! Time, rates and amounts as integers.

use alloc::format;
use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// An instant: nanoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(u64);

/// A length of time in nanoseconds; never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span(u64);

/// A data rate in bits per second; never zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rate(u64);

/// An amount of waiting data, in the unit its user chose.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Amount {
    /// Packets, whatever their size. Thresholds on averages may be fractional.
    Packets(f64),
    /// Bytes on the wire.
    Bytes(f64),
    /// The time the link needs to send it.
    Time(Span),
}

impl Time {
    /// The start of a run.
    pub const ZERO: Time = Time(0);
    /// Later than every instant of a run: "no event".
    pub const NEVER: Time = Time(u64::MAX);

    /// The instant `nanos` nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for reports only.
    pub fn as_secs_f64(self) -> f64 {
        Span(self.0).as_secs_f64()
    }

    /// Time passed since `earlier`; zero where `earlier` lies in the future.
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// Longer than every run.
    pub const MAX: Span = Span(u64::MAX);

    /// A span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Span {
        Span(nanos)
    }

    /// A span of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Span {
        Span(micros * 1_000)
    }

    /// A span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Span {
        Span(millis * 1_000_000)
    }

    /// A span of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Span {
        Span(secs * NANOS_PER_SECOND)
    }

    /// The span nearest to `secs` seconds; negative and NaN become zero, the rest saturates.
    pub fn from_secs_f64(secs: f64) -> Span {
        // `as` saturates and sends NaN to zero. Adding a half and truncating is rounding for the positive.
        Span((secs * NANOS_PER_SECOND as f64 + 0.5) as u64)
    }

    /// Length in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Length in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }

    /// Length in milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Whether the length is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// This span times a factor, rounded to the nearest nanosecond.
    pub fn mul_f64(self, factor: f64) -> Span {
        Span((self.0 as f64 * factor + 0.5) as u64)
    }

    /// The difference, or zero where `other` is longer.
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }

    /// How often `other` fits into this span, as a fraction.
    pub fn ratio(self, other: Span) -> f64 {
        self.0 as f64 / other.0 as f64
    }
}

impl Rate {
    /// A rate in bits per second, or `None` for zero.
    pub const fn from_bits_per_second(bits: u64) -> Option<Rate> {
        if bits == 0 { None } else { Some(Rate(bits)) }
    }

    /// The rate that sends `bytes` bytes in `time`; at least one bit per second.
    pub fn from_bytes_over(bytes: f64, time: Span) -> Rate {
        Rate(((bytes * 8.0 / time.as_secs_f64()) as u64).max(1))
    }

    /// Bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// Bytes per second.
    pub fn bytes_per_second(self) -> f64 {
        self.0 as f64 / 8.0
    }

    /// Time on the wire for `bytes` bytes, rounded down to a nanosecond.
    #[inline]
    pub const fn transmission(self, bytes: u64) -> Span {
        match bytes.checked_mul(8 * NANOS_PER_SECOND) {
            Some(work) => Span(work / self.0),
            None => Span((bytes as u128 * 8 * NANOS_PER_SECOND as u128 / self.0 as u128) as u64),
        }
    }

    /// Bytes this rate sends in `time`.
    pub fn bytes_in(self, time: Span) -> f64 {
        self.bytes_per_second() * time.as_secs_f64()
    }
}

/// Sends packets one after the other at a rate, without losing the fractions of nanoseconds.
///
/// The remainder of each division is carried to the next packet, so that a saturated link of any
/// rate sends exactly that rate in the long run.
#[derive(Clone, Debug)]
pub struct Serializer {
    rate: Rate,
    carry: u64,
    /// Time and remainder of the latest packet size: links mostly see one or two sizes, and a
    /// division costs as much as the rest of sending.
    latest: (u32, u64, u64),
}

impl Serializer {
    /// A serializer at `rate`.
    pub const fn new(rate: Rate) -> Serializer {
        Serializer { rate, carry: 0, latest: (0, 0, 0) }
    }

    /// The rate.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Time on the wire of the next packet, of `bytes` bytes.
    #[inline]
    pub const fn transmit(&mut self, bytes: u32) -> Span {
        if self.latest.0 != bytes {
            let work = bytes as u64 * (8 * NANOS_PER_SECOND);
            self.latest = (bytes, work / self.rate.0, work % self.rate.0);
        }
        let (_, nanos, remainder) = self.latest;
        self.carry += remainder;
        if self.carry < self.rate.0 {
            return Span(nanos);
        }
        self.carry -= self.rate.0;
        Span(nanos + 1)
    }
}

impl Amount {
    /// The amount in bytes at `rate`, with packets of `packet_bytes` bytes.
    pub fn bytes(self, rate: Rate, packet_bytes: f64) -> f64 {
        match self {
            Amount::Packets(packets) => packets * packet_bytes,
            Amount::Bytes(bytes) => bytes,
            Amount::Time(span) => rate.bytes_in(span),
        }
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0 + span.0)
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, span: Span) -> Time {
        Time(self.0 - span.0)
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        self.0 += span.0;
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0 + other.0)
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        self.0 += other.0;
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0 - other.0)
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, other: Span) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, factor: u64) -> Span {
        Span(self.0 * factor)
    }
}

impl Div<u64> for Span {
    type Output = Span;
    fn div(self, divisor: u64) -> Span {
        Span(self.0 / divisor)
    }
}

/// Writes `value` of the smallest unit in the largest unit that needs no exponent and loses nothing.
fn with_unit(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    let (size, unit) =
        units.iter().find(|(size, _)| value >= *size).or(units.last()).expect("a table of units is never empty");
    let (whole, rest) = (value / size, value % size);
    if rest == 0 {
        return write!(f, "{whole} {unit}");
    }
    let digits = size.ilog10() as usize;
    let fraction = format!("{rest:0digits$}");
    write!(f, "{whole}.{} {unit}", fraction.trim_end_matches('0'))
}

/// As a scenario file writes it: `50 ms`, `1.5 s`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0 s");
        }
        with_unit(f, self.0, &[(NANOS_PER_SECOND, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")])
    }
}

/// As a scenario file writes it: `10 Mbit/s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_unit(f, self.0, &[(1_000_000_000, "Gbit/s"), (1_000_000, "Mbit/s"), (1_000, "kbit/s"), (1, "bit/s")])
    }
}

/// As a scenario file writes it: `500 packets`, `3125 B`, `5 ms`.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Packets(packets) => write!(f, "{packets} packets"),
            Amount::Bytes(bytes) => write!(f, "{bytes} B"),
            Amount::Time(span) => write!(f, "{span}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rate(bits: u64) -> Rate {
        Rate::from_bits_per_second(bits).unwrap()
    }

    #[test]
    fn a_full_packet_takes_the_time_of_the_digest() {
        for (kbit, micros) in [(250, 48_000), (500, 24_000), (1_000, 12_000), (4_000, 3_000), (10_000, 1_200)] {
            assert_eq!(rate(kbit * 1000).transmission(1500), Span::from_micros(micros));
        }
    }

    #[test]
    fn text_is_what_a_scenario_file_says() {
        assert_eq!(Span::from_millis(50).to_string(), "50 ms");
        assert_eq!(Span::from_millis(1500).to_string(), "1.5 s");
        assert_eq!(Span::from_nanos(1_000_001).to_string(), "1.000001 ms");
        assert_eq!(Span::ZERO.to_string(), "0 s");
        assert_eq!(rate(10_000_000).to_string(), "10 Mbit/s");
        assert_eq!(rate(854_000).to_string(), "854 kbit/s");
        assert_eq!(Amount::Packets(500.0).to_string(), "500 packets");
        assert_eq!(Amount::Packets(6.25).to_string(), "6.25 packets");
    }

    /// Also of so many bytes that the bits in a billion seconds no longer fit.
    #[test]
    fn any_number_of_bytes_takes_its_time() {
        for bytes in [2_305_843_009, 2_305_843_010, 5_000_000_000] {
            assert_eq!(rate(1_000_000_000).transmission(bytes), Span::from_nanos(bytes * 8));
        }
    }

    proptest! {
        #[test]
        fn a_serializer_loses_no_time(bits in 1_000u64..100_000_000_000, sizes in prop::collection::vec(40u32..9000, 1..200)) {
            let mut serializer = Serializer::new(rate(bits));
            let spent: u64 = sizes.iter().map(|&size| serializer.transmit(size).as_nanos()).sum();
            let total: u64 = sizes.iter().map(|&size| u64::from(size)).sum();
            prop_assert_eq!(spent, rate(bits).transmission(total).as_nanos());
        }
    }
}
