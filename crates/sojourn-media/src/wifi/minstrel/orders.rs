//! In which order the rates of a group are sampled.

use sojourn_core::Stream;

/// Columns and rows of the table with random orders of a group's rates.
pub(super) const COLUMNS: usize = 10;
pub(super) const ROWS: usize = 10;

/// Random orders of the numbers below [`ROWS`].
pub(super) fn table(random: &mut Stream) -> [[u8; ROWS]; COLUMNS] {
    std::array::from_fn(|_| {
        let mut order: [u8; ROWS] = std::array::from_fn(|row| row as u8);
        for row in (1..ROWS).rev() {
            order.swap(row, (((random.bits() >> 32) * (row as u64 + 1)) >> 32) as usize);
        }
        order
    })
}
