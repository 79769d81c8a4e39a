//! Decisions read from bytes.

/// Bytes that decisions are read from; past the end they are zero.
pub(crate) struct Tape<'a>(pub(crate) &'a [u8]);

impl Tape<'_> {
    pub(crate) fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    pub(crate) fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    pub(crate) fn long(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// Below `count`, which is not zero.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        let drawn = if count > 256 { usize::from(self.word()) } else { usize::from(self.byte()) };
        drawn % count
    }

    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// From 0 to 1, ends included.
    pub(crate) fn share(&mut self) -> f64 {
        f64::from(self.word()) / f64::from(u16::MAX)
    }
}
