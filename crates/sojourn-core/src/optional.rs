//! A number or none, in four bytes.

use core::fmt;

/// An `Option<u32>` that is no larger than a `u32`: for numbers of which the largest is never used, such as those of
/// segments, links and lines.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Optional(u32);

impl Optional {
    /// No number.
    pub const NONE: Optional = Optional(u32::MAX);

    /// This number, which is not the largest.
    #[inline]
    pub const fn some(number: u32) -> Optional {
        debug_assert!(number != u32::MAX, "the largest number means none");
        Optional(number)
    }

    /// The number, where there is one.
    #[inline]
    pub const fn get(self) -> Option<u32> {
        if self.0 == u32::MAX { None } else { Some(self.0) }
    }

    /// Whether there is none.
    #[inline]
    pub const fn is_none(self) -> bool {
        self.0 == u32::MAX
    }

    /// The number, where there is one; none is left.
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        core::mem::replace(self, Optional::NONE).get()
    }
}

impl From<Option<u32>> for Optional {
    #[inline]
    fn from(number: Option<u32>) -> Optional {
        number.map_or(Optional::NONE, Optional::some)
    }
}

impl fmt::Debug for Optional {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_an_option_in_four_bytes() {
        assert_eq!(size_of::<Optional>(), 4);
        for number in [None, Some(0), Some(7), Some(u32::MAX - 1)] {
            let mut optional = Optional::from(number);
            assert_eq!((optional.get(), optional.is_none()), (number, number.is_none()));
            assert_eq!((optional.take(), optional.get()), (number, None));
        }
    }
}
