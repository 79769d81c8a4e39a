//! The counters against a count of the records.

use super::record::Mark;
use super::{DUP_THRESH, Delivered, Scoreboard};
use crate::segment::Block;
use proptest::prelude::*;
use sojourn_core::{Span, Time};
use std::collections::BTreeSet;

impl Scoreboard {
    /// Recomputes every counter.
    pub fn check(&self) {
        let count =
            |of: &dyn Fn(&super::Record) -> bool| self.records.iter().filter(|record| of(record)).count() as u32;
        assert_eq!(self.sacked, count(&|record| record.is(Mark::Sacked)));
        assert_eq!(self.lost, count(&|record| record.is(Mark::Lost)));
        assert_eq!(self.retransmitted, count(&|record| record.is(Mark::Retransmitted)));
        assert_eq!(self.due, count(&|record| record.is_due()));
        assert_eq!(
            count(&|record| record.is(Mark::Sacked) && record.is(Mark::Lost)),
            0,
            "what was received is not lost"
        );
        assert_eq!(count(&|record| record.is(Mark::Retransmitted) && !record.is(Mark::Ambiguous)), 0);
        assert!(self.pipe() <= self.outstanding() + self.retransmitted);
        let first_due = self.records.iter().position(|record| record.is_due());
        assert!(first_due.is_none_or(|place| self.first() + place as u32 >= self.retransmit_from));
        let untouched = self.records.iter().position(|record| record.is_untouched());
        assert!(untouched.is_none_or(|place| {
            self.selective.as_ref().is_none_or(|selective| self.first() + place as u32 >= selective.untouched_from)
        }));
    }
}

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn board(segments: u32) -> Scoreboard {
    let mut board = Scoreboard::default();
    (0..segments).for_each(|number| board.send_new(at(u64::from(number))));
    board
}

fn sack(board: &mut Scoreboard, blocks: &[(u32, u32)]) -> u32 {
    let blocks: Vec<Block> = blocks.iter().map(|&(start, end)| Block { start, end }).collect();
    let mut delivered = Delivered::default();
    board.sack(&blocks, &mut delivered);
    board.check();
    delivered.segments
}

fn lost(board: &Scoreboard) -> Vec<u32> {
    (board.first()..board.next()).filter(|number| board.records[*number].is(Mark::Lost)).collect()
}

/// FACK: one that is three beyond is enough, where RFC 6675 waits for three.
#[test]
fn one_far_enough_beyond_proves_a_loss_forward() {
    let mut forward = Scoreboard::default().judging_forward();
    let mut count = board(10);
    (0..10).for_each(|number| forward.send_new(at(number)));
    for board in [&mut forward, &mut count] {
        sack(board, &[(6, 7)]);
    }
    assert_eq!((lost(&forward), lost(&count)), (vec![0, 1, 2, 3], vec![]));
    sack(&mut forward, &[(6, 8)]);
    assert_eq!(lost(&forward), [0, 1, 2, 3, 4]);
}

/// RFC 6675 `IsLost`: three SACKed segments above, contiguous or not.
#[test]
fn three_segments_above_prove_a_loss() {
    let mut board = board(12);
    sack(&mut board, &[(2, 3)]);
    sack(&mut board, &[(2, 4)]);
    assert_eq!(lost(&board), []);
    sack(&mut board, &[(2, 5)]);
    assert_eq!(lost(&board), [0, 1]);
    sack(&mut board, &[(7, 8), (2, 5)]);
    assert_eq!(lost(&board), [0, 1]);
    sack(&mut board, &[(9, 10), (7, 8), (2, 5)]);
    assert_eq!(lost(&board), [0, 1], "5 and 6 have two above");
    sack(&mut board, &[(11, 12), (9, 10), (7, 8)]);
    assert_eq!(lost(&board), [0, 1, 5, 6]);
    assert_eq!(board.pipe(), 12 - 6 - 4);
}

/// RFC 6675 `SetPipe`: a copy counts beside an original that is not known to be lost, until it is.
#[test]
fn a_guess_counts_twice_in_the_pipe_and_is_not_sent_again() {
    let mut board = board(6);
    sack(&mut board, &[(4, 5)]);
    assert_eq!(board.pipe(), 5);
    assert_eq!(board.next_hole(), Some(0));
    board.retransmit(0, at(10));
    assert_eq!(board.pipe(), 6);
    assert_eq!(board.next_hole(), Some(1));
    sack(&mut board, &[(4, 6), (2, 3)]);
    assert_eq!(lost(&board), [0, 1]);
    assert_eq!(board.pipe(), 6 - 3 - 2 + 1);
    assert_eq!(board.next_lost(), Some(1), "0 was sent again already");
}

/// RFC 6675 `NextSeg` rule 4.
#[test]
fn the_rescue_is_the_last_segment_and_changes_no_count() {
    let mut board = board(4);
    assert_eq!(board.next_rescue(), Some(3));
    board.rescue(3, at(9));
    assert_eq!((board.pipe(), board.next_rescue()), (4, None));
    board.check();
}

#[test]
fn a_timeout_makes_everything_due_but_what_was_received() {
    let mut board = board(5);
    sack(&mut board, &[(1, 2)]);
    board.mark_lost(0);
    board.retransmit(0, at(9));
    board.mark_all_lost(Span::ZERO, Time::ZERO);
    board.check();
    assert_eq!((lost(&board), board.pipe()), (vec![0, 2, 3, 4], 0));
    let mut order = vec![];
    while let Some(number) = board.next_lost() {
        board.retransmit(number, at(10));
        order.push(number);
    }
    assert_eq!((order, board.pipe()), (vec![0, 2, 3, 4], 4));
}

/// The newest segment, for round-trip samples, is the one sent last.
#[test]
fn delivered_names_the_segment_sent_last() {
    let mut board = board(5);
    board.mark_lost(0);
    board.retransmit(0, at(50));
    let mut delivered = Delivered::default();
    board.acknowledge(3, &mut delivered);
    assert_eq!((delivered.segments, delivered.newest, delivered.sent), (3, 0, at(50)));
    assert!(!delivered.unambiguous);
    let mut delivered = Delivered::default();
    board.acknowledge(5, &mut delivered);
    assert_eq!((delivered.newest, delivered.sent, delivered.unambiguous), (4, at(4), true));
}

/// The fast path covers several segments, but none that was sent again, and not the last one outstanding.
#[test]
fn several_are_covered_at_once_where_each_was_sent_once() {
    let mut calm = board(5);
    assert_eq!(calm.acknowledge_calm(3), Some(at(2)));
    assert_eq!((calm.first(), calm.outstanding()), (3, 2));
    assert_eq!(calm.acknowledge_calm(5), None);
    assert_eq!((calm.first(), calm.outstanding()), (3, 2));
    let mut again = board(5);
    again.mark_lost(1);
    again.retransmit(1, at(50));
    assert_eq!(again.acknowledge_calm(3), None);
    assert_eq!(again.acknowledge_calm(1), Some(at(0)));
}

#[derive(Clone, Debug)]
enum Step {
    Send(u32),
    Acknowledge(u32),
    Sack(Vec<(u32, u32)>),
    Retransmit,
    Guess,
    Timeout,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (1u32..8).prop_map(Step::Send),
        (0u32..6).prop_map(Step::Acknowledge),
        // Anything: empty, backwards, below the first, beyond the last.
        prop::collection::vec((0u32..60, 0u32..60), 0..=3).prop_map(Step::Sack),
        Just(Step::Retransmit),
        Just(Step::Guess),
        Just(Step::Timeout),
    ];
    prop::collection::vec(step, 1..80)
}

proptest! {
    /// Whatever the receiver claims, the books balance, and agree with a simple model.
    #[test]
    fn books_balance(steps in steps()) {
        let mut board = Scoreboard::default();
        let mut sacked = BTreeSet::new();
        for step in steps {
            match step {
                Step::Send(count) => (0..count).for_each(|_| board.send_new(at(1))),
                Step::Acknowledge(count) => {
                    let to = (board.first() + count).min(board.next());
                    let fresh = (board.first()..to).filter(|number| !sacked.contains(number)).count() as u32;
                    let mut delivered = Delivered::default();
                    board.acknowledge(to, &mut delivered);
                    prop_assert_eq!(delivered.segments, fresh);
                }
                Step::Sack(blocks) => {
                    let (first, next) = (board.first(), board.next());
                    let before = sacked.len();
                    for &(start, end) in &blocks {
                        sacked.extend((start..end).filter(|number| (first..next).contains(number)));
                    }
                    prop_assert_eq!(sack(&mut board, &blocks) as usize, sacked.len() - before);
                    let edge = sacked.iter().rev().nth(DUP_THRESH as usize - 1);
                    for number in first..edge.copied().unwrap_or(0) {
                        let record = &board.records[number];
                        prop_assert!(record.is(Mark::Sacked) || record.is(Mark::Lost), "{}", number);
                    }
                }
                Step::Retransmit => {
                    if let Some(number) = board.next_lost() {
                        let lowest = lost(&board).into_iter()
                            .find(|number| !board.records[*number].is(Mark::Retransmitted));
                        prop_assert_eq!(Some(number), lowest);
                        let pipe = board.pipe();
                        board.retransmit(number, at(2));
                        prop_assert_eq!(board.pipe(), pipe + 1);
                    }
                }
                Step::Guess => {
                    if let Some(number) = board.next_hole() {
                        prop_assert!(!sacked.contains(&number));
                        board.retransmit(number, at(2));
                    }
                }
                Step::Timeout => board.mark_all_lost(Span::ZERO, Time::ZERO),
            }
            board.check();
            let expected = sacked.range(board.first()..).count() as u32;
            prop_assert_eq!(board.sacked, expected);
        }
    }
}

/// Each judgement is told once; a timeout tells of the rest, and again of what was sent again.
#[test]
fn losses_are_told_one_by_one() {
    let mut board = Scoreboard::reporting_losses();
    (0..8).for_each(|number| board.send_new(at(number)));
    let told = |board: &mut Scoreboard| board.take_lost().collect::<Vec<u32>>();
    sack(&mut board, &[(2, 5)]);
    assert_eq!(told(&mut board), [0, 1]);
    board.mark_lost(0);
    assert_eq!(told(&mut board), []);
    board.retransmit(0, at(9));
    board.mark_all_lost(Span::ZERO, Time::ZERO);
    assert_eq!(told(&mut board), [0, 5, 6, 7]);
}
