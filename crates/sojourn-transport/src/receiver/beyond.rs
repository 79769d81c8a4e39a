//! What was received beyond the next segment expected, and the SACK blocks that say so (RFC 2018).

use crate::segment::{Block, MAX_BLOCKS};
use std::collections::VecDeque;

/// How many ranges are remembered in the order of their arrival (`TCP_NUM_SACKS` of Linux).
const MOST_RECENT: usize = MAX_BLOCKS + 1;
/// No segment has this number.
const NOTHING: u32 = u32::MAX;

/// What was received that is not before the next segment expected, or came twice.
#[derive(Debug)]
pub(super) struct Beyond {
    /// Ascending and apart. There may be very many, and the first goes each time that a gap is filled.
    ranges: VecDeque<Block>,
    /// How many segments they hold.
    count: u32,
    /// A segment in each of the ranges that arrived last, most recent first (RFC 2018 section 4).
    recent: [u32; MOST_RECENT],
    /// The last segment that came twice, until an acknowledgement reports it (RFC 2883).
    pub(super) came_twice: Option<u32>,
}

impl Default for Beyond {
    fn default() -> Beyond {
        Beyond { ranges: VecDeque::new(), count: 0, recent: [NOTHING; MOST_RECENT], came_twice: None }
    }
}

impl Beyond {
    /// Stores `number`; whether it was new. Which ranges are recent is noted where they are `told`.
    #[inline]
    pub(super) fn take(&mut self, number: u32, told: bool) -> bool {
        // Most go on where the last range ends.
        let is_new = if let Some(last) = self.ranges.back_mut()
            && last.end == number
        {
            last.end += 1;
            true
        } else {
            self.enter(number)
        };
        self.count += u32::from(is_new);
        if told {
            self.note_recent(number);
        }
        is_new
    }

    /// Whether it holds `number`.
    pub(super) fn has(&self, number: u32) -> bool {
        self.range_of(number).is_some()
    }

    /// Puts `number` into the ranges; whether it was new.
    #[inline(never)]
    fn enter(&mut self, number: u32) -> bool {
        let after = self.ranges.partition_point(|range| range.start <= number);
        let before = after.checked_sub(1);
        if before.is_some_and(|index| number < self.ranges[index].end) {
            return false;
        }
        let extends = before.filter(|&index| self.ranges[index].end == number);
        let meets = self.ranges.get(after).is_some_and(|range| range.start == number + 1);
        match (extends, meets) {
            (Some(index), true) => {
                self.ranges[index].end = self.ranges[after].end;
                self.ranges.remove(after);
            }
            (Some(index), false) => self.ranges[index].end += 1,
            (None, true) => self.ranges[after].start = number,
            (None, false) => self.ranges.insert(after, Block { start: number, end: number + 1 }),
        }
        true
    }

    /// Puts the range of `number` first among the recent ones.
    #[inline(never)]
    fn note_recent(&mut self, number: u32) {
        let Some(own) = self.range_of(number) else { return };
        let mut recent = [NOTHING; MOST_RECENT];
        recent[0] = number;
        let others = self.recent.iter().copied().filter(|&other| !(own.start..own.end).contains(&other));
        let others = others.filter(|&other| self.has(other));
        recent[1..].iter_mut().zip(others).for_each(|(place, other)| *place = other);
        self.recent = recent;
    }

    fn range_of(&self, number: u32) -> Option<Block> {
        let after = self.ranges.partition_point(|range| range.start <= number);
        let range = *self.ranges.get(after.checked_sub(1)?)?;
        (number < range.end).then_some(range)
    }

    /// The next segment expected is `next`: where that is the first of these ranges, its end instead.
    pub(super) fn end_from(&mut self, next: u32) -> Option<u32> {
        self.ranges.front().filter(|range| range.start == next)?;
        let range = self.ranges.pop_front()?;
        self.count -= range.end - range.start;
        Some(range.end)
    }

    /// How many segments it holds.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many blocks are told before the one that `number` belongs to or will begin.
    pub(super) fn place_of(&self, number: u32) -> usize {
        let (blocks, count) = self.blocks();
        let touches = |block: &Block| block.start <= number + 1 && number <= block.end;
        blocks[..usize::from(count)].iter().position(touches).unwrap_or(usize::from(count))
    }

    /// It as SACK blocks, and how many they are.
    pub(super) fn blocks(&self) -> ([Block; MAX_BLOCKS], u8) {
        let (mut blocks, mut count) = ([Block::default(); MAX_BLOCKS], 0);
        let recent = self.recent.iter().filter_map(|&number| self.range_of(number));
        // RFC 2018 section 4: as many as possible, although the recent ones may have grown together.
        for range in recent.chain(self.ranges.iter().rev().copied()) {
            if count == MAX_BLOCKS {
                break;
            }
            if !blocks[..count].contains(&range) {
                blocks[count] = range;
                count += 1;
            }
        }
        (blocks, count as u8)
    }
}
