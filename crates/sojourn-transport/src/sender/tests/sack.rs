//! RFC 6675: recovery with SACK.

use super::network::{Network, assert_table, first, network, these};
use crate::segment::{Block, Segment, SegmentKind};
use sojourn_core::registry::Value;
use sojourn_core::{Span, Time};

fn sack(window: u64) -> Network {
    network(&[("initial_window", Value::Integer(window))], &[])
}

/// All holes in one round trip, lowest first, then new data as far as the halved window lets.
#[test]
fn three_losses_in_one_round_trip() {
    let mut path = sack(10);
    path.drops = first(&[2, 4, 6]);
    path.send_segments(20).run(100_000);
    assert_table(
        &path.table(),
        "
        0 start: 0 1 2-lost 3 4-lost 5 6-lost 7 8 9 | 10.00
        101 ack 1: 10 11 | 11.00
        102 ack 2: 12 13 | 12.00
        104 ack 2 3-3: 14 | 12.00
        106 ack 2 5-5 3-3: 15 | 12.00
        108 ack 2 7-7 5-5 3-3: 2again | 6.00 recovery
        109 ack 2 7-8 5-5 3-3: | 6.00 recovery
        110 ack 2 7-9 5-5 3-3: | 6.00 recovery
        202 ack 2 7-10 5-5 3-3: | 6.00 recovery
        203 ack 2 7-11 5-5 3-3: 4again | 6.00 recovery
        204 ack 2 7-12 5-5 3-3: 6again | 6.00 recovery
        205 ack 2 7-13 5-5 3-3: 16 | 6.00 recovery
        206 ack 2 7-14 5-5 3-3: 17 | 6.00 recovery
        207 ack 2 7-15 5-5 3-3: 18 | 6.00 recovery
        209 ack 4 7-15 5-5: 19 | 6.00 recovery
        304 ack 6 7-15: 19again | 6.00 recovery
        305 ack 16: | 6.00
        306 ack 17: | 6.00
        307 ack 18: | 6.00
        308 ack 19: | 6.00
        310 ack 20: | 6.00
        405 ack 20: | 6.00
    ",
    );
    path.assert_complete(20);
}

/// `NextSeg` rule 2: new data goes out when no loss is known, rule 3 when there is none.
#[test]
fn guesses_when_nothing_new_is_left() {
    let mut path = sack(12);
    path.drops = first(&[0, 9]);
    path.send_segments(12).run(100_000);
    assert_table(
        &path.table(),
        "
        0 start: 0-lost 1 2 3 4 5 6 7 8 9-lost 10 11 | 12.00
        102 ack 0 1-1: | 12.00
        103 ack 0 1-2: | 12.00
        104 ack 0 1-3: 0again | 6.00 recovery
        105 ack 0 1-4: | 6.00 recovery
        106 ack 0 1-5: | 6.00 recovery
        107 ack 0 1-6: | 6.00 recovery
        108 ack 0 1-7: 11again | 6.00 recovery
        109 ack 0 1-8: | 6.00 recovery
        111 ack 0 10-10 1-8: 9again | 6.00 recovery
        112 ack 0 10-11 1-8: | 6.00 recovery
        205 ack 9 10-11: | 6.00 recovery
        209 ack 9 10-11: | 6.00 recovery
        212 ack 12: | 6.00
    ",
    );
    path.assert_complete(12);
    assert_eq!(path.sender.counts.timeouts, 0);
}

/// `NextSeg` rule 4: the last segment is lost with nothing behind it.
#[test]
fn a_rescue_repairs_the_tail() {
    let mut path = sack(10);
    path.drops = first(&[0, 9]);
    path.send_segments(10).run(100_000);
    path.assert_complete(10);
    assert_eq!(path.sender.counts.timeouts, 0, "{}", path.table());
    assert_eq!(path.times_sent[&9], 2);
}

/// Section 5 step 2: three SACKed segments prove a loss even where only one acknowledgement got through.
#[test]
fn one_acknowledgement_can_prove_a_loss() {
    let mut path = sack(10);
    path.drops = first(&[0]);
    path.ack_drops = Box::new(|index| index < 8);
    path.send_segments(10).run(100_000);
    path.assert_complete(10);
    assert_eq!(path.sender.counts.timeouts, 0, "{}", path.table());
    assert_eq!(path.threshold(), 5.0);
}

/// A loss that a cumulative acknowledgement shows is answered like any other, not repaired in silence.
#[test]
fn a_loss_shown_by_new_data_is_congestion() {
    let mut path = sack(10);
    path.drops = first(&[3]);
    // Of the acknowledgements of 0 to 9 without 3 only the last two arrive.
    path.ack_drops = Box::new(|index| index < 7);
    path.send_segments(10).run(100_000);
    assert!(path.log[1].ends_with("recovery"), "{}", path.table());
    assert_eq!((path.threshold(), path.times_sent[&3]), (3.5, 2), "half of 3 to 9\n{}", path.table());
    path.assert_complete(10);
}

/// Segments sent during a recovery that are lost begin the next one, with its own halving.
#[test]
fn a_loss_beyond_the_recovery_point_halves_again() {
    let mut path = sack(16);
    path.drops = first(&[0, 18]);
    path.send_segments(60).run(100_000);
    path.assert_complete(60);
    assert_eq!(path.sender.counts.timeouts, 0);
    // 16 halved, then 8 (all of them outstanding) halved.
    assert_eq!(path.threshold(), 4.0, "{}", path.table());
}

/// RFC 5681 section 4.3: while a retransmission that was lost itself keeps the repair from ending, losses among what is
/// sent meanwhile lower the window again and again; RFC 6675 alone would not until the timer fires.
#[test]
fn losses_behind_a_stuck_hole_halve_again() {
    let mut path = sack(16);
    path.drops = these(&[(0, 0), (0, 1), (20, 0), (34, 0)]);
    path.send_segments(80).run(100_000);
    path.assert_complete(80);
    let windows: Vec<f64> =
        path.log.iter().filter_map(|line| line.strip_suffix(" recovery")?.rsplit(' ').next()?.parse().ok()).collect();
    let mut halvings = windows;
    halvings.dedup();
    assert!(halvings.len() >= 3 && halvings[..3].windows(2).all(|pair| pair[1] <= pair[0] * 0.75), "{}", path.table());
}

/// Section 5.1: after a timeout no recovery begins before all that was out is acknowledged, and what was
/// SACKed is not sent again.
#[test]
fn after_a_timeout_only_the_holes_are_sent() {
    let mut path = sack(10);
    path.drops = these(&[(0, 0), (0, 1), (5, 0)]);
    path.send_segments(40).run(100_000);
    path.assert_complete(40);
    assert_eq!((path.sender.counts.timeouts, path.times_sent[&0], path.times_sent[&5]), (1, 3, 2));
    assert!((1..39).filter(|number| *number != 5).all(|number| path.times_sent[&number] == 1), "{}", path.table());
}

/// While a retransmission that was lost too waits for the timer, new data flows behind the hole; a timeout
/// halves what is in the network, not all of that.
#[test]
fn what_flows_behind_a_stuck_hole_is_not_halved() {
    let mut path = sack(10);
    path.drops = these(&[(0, 0), (0, 1)]);
    path.send_forever().run(1100);
    assert!(path.sender.board.outstanding() > 40);
    assert_eq!(path.threshold(), 5.0);
    path.run(1110);
    assert_eq!((path.sender.counts.timeouts, path.threshold()), (1, 2.5), "{}", path.table());
}

/// RFC 5681 section 3.1, RFC 3042: duplicates do not open the window; what they reported counts with the
/// acknowledgement that follows.
#[test]
fn reordering_opens_the_window_as_much_as_order() {
    let mut path = sack(10);
    path.holds = Box::new(|number, _| if number == 0 { 3 } else { 0 });
    path.send_forever().run(104);
    assert_table(
        &path.table(),
        "
        0 start: 0 1 2 3 4 5 6 7 8 9 | 10.00
        102 ack 0 1-1: 10 | 10.00
        103 ack 0 1-2: 11 | 10.00
        104 ack 3: 12 13 | 11.00
        104 ack 4: 14 15 | 12.00
    ",
    );
    let threshold = ("initial_threshold", Value::Number(4.0));
    let run = |hold: u64| {
        let mut path = network(&[("initial_window", Value::Integer(8))], &[threshold]);
        path.holds = Box::new(move |number, _| if number % 8 == 3 { hold } else { 0 });
        path.send_segments(8).run(1000);
        path.window()
    };
    assert!((run(0) - run(2)).abs() < 0.05, "{} {}", run(0), run(2));
}

/// Acknowledgements that cannot be are ignored or survived.
#[test]
fn absurd_acknowledgements() {
    let mut path = sack(10);
    path.send_segments(20);
    let ack = |number: u32, blocks: &[(u32, u32)]| {
        let mut ack = Segment::new(SegmentKind::Ack, number, Time::ZERO);
        for (place, &(start, end)) in ack.sack.iter_mut().zip(blocks) {
            *place = Block { start, end };
        }
        ack.blocks = blocks.len() as u8;
        ack
    };
    path.now += Span::from_millis(100);
    for absurd in [
        ack(11, &[]),
        ack(u32::MAX, &[(0, u32::MAX)]),
        ack(0, &[(8, 3), (5, 5)]),
        ack(0, &[(11, 4_000_000_000)]),
        ack(2, &[(0, 1)]),
        ack(1, &[]),
        ack(2, &[(3, 4), (3, 4), (3, 5)]),
    ] {
        path.sender.on_ack(&absurd, path.now);
        path.sender.board.check();
    }
    // In flight: 2 and 3 to 9, of which the last two claims cover 3 and 4, and the third to fifth 5 to 9.
    assert_eq!((path.sender.board.first(), path.sender.board.outstanding()), (2, 8));
}
