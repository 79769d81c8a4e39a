//! Needless repairs and timeouts: RFC 5682 (F-RTO), RFC 3708 (DSACK), RFC 3522 (Eifel), as Linux takes them back.

use super::network::{Network, assert_table, first, preset, these};
use crate::segment::{Block, Segment, SegmentKind};
use sojourn_core::registry::Value;

fn linux(window: u64, changes: &[(&str, Value)]) -> Network {
    let options = [
        ("initial_window", Value::Integer(window)),
        ("loss_detection", Value::Choice("rack")),
        ("reduction", Value::Choice("at-once")),
    ];
    preset("linux", &[&options[..], changes].concat())
}

/// RFC 3522: what was late is acknowledged with the time of its first copy, before the repair's has arrived. The report that
/// the repair came too opens no window, although reordering is common by then: nothing new has arrived
/// (`FLAG_FORWARD_PROGRESS`).
#[test]
fn an_old_stamp_takes_a_repair_back() {
    let mut path = linux(10, &[]);
    path.holds = Box::new(|number, nth| if nth == 0 && number == 2 { 60 } else { 0 });
    path.send_segments(16).run(100_000);
    assert_table(
        &path.table(),
        "
        0 start: 0 1 2 3 4 5 6 7 8 9 | 10.00
        101 ack 1: 10 11 | 11.00
        102 ack 2: 12 13 | 12.00
        104 ack 2 3-3: 14 | 12.00
        105 ack 2 3-4: 15 | 12.00
        106 ack 2 3-5: 2again | 7.00 recovery
        107 ack 2 3-6: | 7.00 recovery
        108 ack 2 3-7: | 7.00 recovery
        109 ack 2 3-8: | 7.00 recovery
        110 ack 2 3-9: | 7.00 recovery
        163 ack 10: | 12.00
        202 ack 11: | 13.00
        203 ack 12: | 14.00
        204 ack 13: | 15.00
        205 ack 14: | 16.00
        206 ack 15: | 17.00
        207 ack 16: | 18.00
        208 ack 16 2-2: | 18.00
    ",
    );
    path.assert_complete(16);
    assert!(path.threshold() >= 9.0 && path.window() >= 12.0);
}

/// RFC 3708, RFC 2883: the repair arrives before the late segment, and ends as if it had been needed. The report that the
/// segment came twice takes it back; without such reports the window stays low.
#[test]
fn a_report_takes_an_ended_repair_back() {
    let late = |dsack: bool| {
        let mut path = linux(10, &[("sack", Value::Choice(if dsack { "dsack" } else { "true" }))]);
        path.holds = Box::new(|number, nth| if nth == 0 && number == 2 { 150 } else { 0 });
        path.send_segments(10).run(100_000);
        path.assert_complete(10);
        path
    };
    let path = late(true);
    assert_table(
        &path.table(),
        "
        0 start: 0 1 2 3 4 5 6 7 8 9 | 10.00
        101 ack 1: | 11.00
        102 ack 2: | 12.00
        104 ack 2 3-3: | 12.00
        105 ack 2 3-4: | 12.00
        106 ack 2 3-5: 2again | 4.00 recovery
        107 ack 2 3-6: | 4.00 recovery
        108 ack 2 3-7: | 4.00 recovery
        109 ack 2 3-8: | 4.00 recovery
        110 ack 2 3-9: | 4.00 recovery
        207 ack 10: | 4.00
        253 ack 10 2-2: | 12.00
    ",
    );
    assert!(path.threshold() > late(false).threshold());
}

/// The same where only one of two retransmissions was needless.
#[test]
fn one_report_of_two_takes_nothing_back() {
    let mut path = linux(12, &[]);
    path.drops = first(&[4]);
    path.holds = Box::new(|number, nth| if nth == 0 && number == 2 { 150 } else { 0 });
    path.send_segments(12).run(100_000);
    path.assert_complete(12);
    assert_eq!((path.times_sent[&2], path.times_sent[&4]), (2, 2), "{}", path.table());
    assert!(path.table().contains("ack 12 2-2") && path.threshold() < 8.0, "{}", path.table());
}

/// RFC 5682 section 3.1 step 3b, with SACK: the timer goes off for 8, which is lost, while 9 and all after it are only late.
/// 9 was never sent again, so that its arrival brings back what the timeout lowered. Nothing else is sent twice.
#[test]
fn what_was_sent_once_takes_a_timeout_back() {
    let mut path = linux(8, &[]);
    path.drops = first(&[8]);
    path.holds = Box::new(|number, nth| if nth == 0 && (9..24).contains(&number) { 300 } else { 0 });
    path.send_segments(30).run(100_000);
    assert_table(
        &path.table(),
        "
        0 start: 0 1 2 3 4 5 6 7 | 8.00
        101 ack 1: 8-lost 9 | 9.00
        102 ack 2: 10 11 | 10.00
        103 ack 3: 12 13 | 11.00
        104 ack 4: 14 15 | 12.00
        105 ack 5: 16 17 | 13.00
        106 ack 6: 18 19 | 14.00
        107 ack 7: 20 21 | 15.00
        108 ack 8: 22 23 | 16.00
        413 timeout: 8again | 1.00 loss
        503 ack 8 9-9: | 16.00
        504 ack 8 9-10: 24 | 16.00
        505 ack 8 9-11: 25 | 16.00
        506 ack 8 9-12: 26 | 16.00
        507 ack 8 9-13: 27 | 16.00
        508 ack 8 9-14: 28 | 16.00
        509 ack 8 9-15: 29 | 16.00
        510 ack 8 9-16: | 16.00
        511 ack 8 9-17: | 16.00
        512 ack 8 9-18: | 16.00
        513 ack 8 9-19: | 16.00
        514 ack 21: | 17.00
        515 ack 22: | 18.00
        516 ack 23: | 19.00
        517 ack 24: | 20.00
        605 ack 25: | 21.00
        606 ack 26: | 22.00
        607 ack 27: | 23.00
        608 ack 28: | 24.00
        609 ack 29: | 25.00
        610 ack 30: | 26.00
    ",
    );
    path.assert_complete(30);
    assert_eq!((path.sender.counts.timeouts, path.sender.counts.retransmissions), (1, 1));
}

/// Steps 2b and 3a: all after 7 is lost. The first acknowledgement of the retransmission sends two new segments instead of
/// what is lost; that they arrive without anything else proves the loss, and the rest is sent again.
#[test]
fn new_data_that_arrives_alone_confirms_a_timeout() {
    let mut path = linux(8, &[]);
    path.drops = first(&(8..24).collect::<Vec<u32>>());
    path.send_segments(30).run(100_000);
    assert_table(
        &path.table(),
        "
        0 start: 0 1 2 3 4 5 6 7 | 8.00
        101 ack 1: 8-lost 9-lost | 9.00
        102 ack 2: 10-lost 11-lost | 10.00
        103 ack 3: 12-lost 13-lost | 11.00
        104 ack 4: 14-lost 15-lost | 12.00
        105 ack 5: 16-lost 17-lost | 13.00
        106 ack 6: 18-lost 19-lost | 14.00
        107 ack 7: 20-lost 21-lost | 15.00
        108 ack 8: 22-lost 23-lost | 16.00
        413 timeout: 8again | 1.00 loss
        514 ack 9: 24 25 | 2.00 loss
        615 ack 9 24-24: 9again | 2.00 loss
        616 ack 9 24-25: 10again | 2.00 loss
        716 ack 10 24-25: 11again 12again | 3.00 loss
        717 ack 11 24-25: 13again 14again | 4.00 loss
        817 ack 12 24-25: 15again 16again | 5.00 loss
        818 ack 13 24-25: 17again 18again | 6.00 loss
        819 ack 14 24-25: 19again 20again | 7.00 loss
        820 ack 15 24-25: 21again 22again | 8.00 loss
        918 ack 16 24-25: 23again | 8.12 loss
        919 ack 17 24-25: 26 | 8.25 loss
        920 ack 18 24-25: 27 | 8.37 loss
        921 ack 19 24-25: 28 | 8.49 loss
        922 ack 20 24-25: 29 | 8.61 loss
        923 ack 21 24-25: | 8.72 loss
        924 ack 22 24-25: | 8.84 loss
        925 ack 23 24-25: | 8.95 loss
        1019 ack 26: | 9.06
        1020 ack 27: | 9.17
        1021 ack 28: | 9.28
        1022 ack 29: | 9.39
        1023 ack 30: | 9.50
    ",
    );
    path.assert_complete(30);
}

/// Step 2b where there is no new data to tell by: what is lost is sent again at once.
#[test]
fn without_new_data_a_timeout_is_repaired_as_usual() {
    let mut path = linux(8, &[]);
    path.drops = first(&(8..16).collect::<Vec<u32>>());
    path.send_segments(16).run(100_000);
    assert_table(
        &path.table(),
        "
        0 start: 0 1 2 3 4 5 6 7 | 8.00
        101 ack 1: 8-lost 9-lost | 9.00
        102 ack 2: 10-lost 11-lost | 10.00
        103 ack 3: 12-lost 13-lost | 11.00
        104 ack 4: 14-lost 15-lost | 12.00
        105 ack 5: | 13.00
        106 ack 6: | 14.00
        107 ack 7: | 15.00
        108 ack 8: | 16.00
        413 timeout: 8again | 1.00 loss
        514 ack 9: 9again 10again | 2.00 loss
        615 ack 10: 11again 12again | 3.00 loss
        616 ack 11: 13again 14again | 4.00 loss
        716 ack 12: 15again | 4.25 loss
        717 ack 13: | 4.49 loss
        718 ack 14: | 4.71 loss
        719 ack 15: | 4.92 loss
        817 ack 16: | 5.12
    ",
    );
    path.assert_complete(16);
}

/// RFC 3168: a mark in the repair proves congestion, so that the late segment does not bring the threshold back.
#[test]
fn a_mark_keeps_the_reduction() {
    let threshold = |marked: bool| {
        let mut path = linux(10, &[("ecn", Value::Choice("true"))]);
        path.holds = Box::new(|number, nth| if nth == 0 && number == 2 { 60 } else { 0 });
        path.marks = Box::new(move |number, nth| marked && nth == 0 && number == 8);
        path.send_segments(10).run(100_000);
        path.assert_complete(10);
        path.threshold()
    };
    assert!(threshold(true) < threshold(false));
}

/// All after 7 is lost, but for `late`, which comes so many ms later than it would have; in `changes` to the transport, with
/// `segments` to send. How often something was taken back.
fn taken_back_with(late: (u32, u64), segments: u32, changes: &[(&str, Value)]) -> (u32, Network) {
    let mut path = linux(8, changes);
    let lost: Vec<u32> = (8..segments.min(24)).filter(|number| *number != late.0).collect();
    path.drops = first(&lost);
    path.holds = Box::new(move |number, nth| if (number, nth) == (late.0, 0) { late.1 } else { 0 });
    path.send_segments(u64::from(segments)).run(100_000);
    path.assert_complete(segments);
    (path.sender.recovery.taken_back, path)
}

/// Step 3a ends the suspicion: what was sent once and arrives afterwards takes nothing back. The new data of step 2b is
/// reported at 615 ms, 20 at 765 ms, before it would have been sent again.
#[test]
fn a_confirmed_timeout_is_not_taken_back() {
    let (taken_back, path) = taken_back_with((20, 540), 30, &[]);
    assert_eq!((taken_back, path.times_sent[&20]), (0, 1), "{}", path.table());
}

/// Step 2b without new data ends it as well: 14 arrives between the first acknowledgement and its turn.
#[test]
fn a_timeout_without_new_data_is_not_taken_back() {
    let (taken_back, path) = taken_back_with((14, 360), 16, &[]);
    assert_eq!((taken_back, path.times_sent[&14]), (0, 1), "{}", path.table());
}

/// The same where pacing keeps the new data of step 2b back (Linux: `tcp_xmit_recovery`).
#[test]
fn a_timeout_whose_new_data_waits_is_not_taken_back() {
    let (taken_back, path) = taken_back_with((10, 440), 30, &[("pacing", Value::Number(0.5))]);
    assert_eq!((taken_back, path.times_sent[&10]), (0, 1), "{}", path.table());
}

/// Step 1, RFC 5682 section 2.1: a timeout during a repair is not suspected. The retransmission of 2 is lost too, and what was
/// sent behind it comes late.
#[test]
fn a_timeout_during_a_repair_is_not_suspected() {
    let mut path = linux(10, &[]);
    path.drops = these(&[(2, 0), (2, 1)]);
    path.holds = Box::new(|number, nth| if nth == 0 && (10..15).contains(&number) { 250 } else { 0 });
    path.send_segments(15).run(100_000);
    path.assert_complete(15);
    assert!(path.sender.counts.timeouts > 0, "{}", path.table());
    assert_eq!(path.sender.recovery.taken_back, 0, "{}", path.table());
}

/// Step 1 for a timer that goes off again: the retransmission of 8 is lost too, and all behind it is late.
#[test]
fn a_second_timeout_is_suspected() {
    let mut path = linux(8, &[]);
    path.drops = these(&[(8, 0), (8, 1)]);
    path.holds = Box::new(|number, nth| if nth == 0 && (9..24).contains(&number) { 850 } else { 0 });
    path.send_segments(24).run(100_000);
    path.assert_complete(24);
    assert_eq!((path.sender.counts.timeouts, path.sender.recovery.taken_back), (2, 1), "{}", path.table());
    assert_eq!(path.times_sent[&20], 1);
}

/// An acknowledgement up to `number`, now, with `blocks`, which the receiver has not sent.
fn give(path: &mut Network, number: u32, blocks: &[(u32, u32)]) {
    let mut ack = Segment::new(SegmentKind::Ack, number, path.now);
    for (index, &(start, end)) in blocks.iter().enumerate() {
        ack.sack[index] = Block { start, end };
    }
    ack.blocks = blocks.len() as u8;
    path.sender.on_ack(&ack, path.now);
}

/// A repair of those of ten segments that `lost` names, whose retransmissions have just been lost.
fn repairing(lost: &'static [u32]) -> Network {
    let mut path = linux(10, &[("receive_window", Value::Amount(sojourn_core::Amount::Packets(10.0)))]);
    path.drops = Box::new(|number, _| lost.contains(&number));
    path.send_segments(10).run(115);
    assert!(lost.iter().all(|number| path.times_sent[number] == 2), "{}", path.table());
    path
}

/// RFC 3708: reports of all retransmissions take the repair back; RFC 2883 section 4: that of one behind the cumulative
/// acknowledgement lies within the next block. A report of what the repair did not send (`undo_marker`) counts for nothing.
#[test]
fn reports_are_counted_down() {
    for (reports, taken_back) in [
        (&[(2, &[(5, 6), (3, 10)][..]), (10, &[]), (10, &[(2, 3)])][..], 1),
        (&[(2, &[(3, 10)]), (10, &[]), (10, &[(2, 3)])], 0),
        (&[(2, &[(0, 1), (3, 10)]), (10, &[]), (10, &[(2, 3)])], 0),
        (&[(2, &[(1, 2), (3, 10)]), (10, &[]), (10, &[(2, 3)])], 0),
    ] {
        let mut path = repairing(&[2, 5]);
        for (number, blocks) in reports {
            give(&mut path, *number, blocks);
        }
        assert_eq!(path.sender.recovery.taken_back, taken_back, "{reports:?}\n{}", path.table());
    }
}

/// Who reports more than was sent again is not believed (`tcp_dsack_seen`): packets are duplicated on the way.
#[test]
fn more_reports_than_retransmissions_prove_nothing() {
    for (early, taken_back) in [(0, 1), (1, 0)] {
        let mut path = linux(10, &[]);
        path.drops = Box::new(|number, _| number == 2);
        path.send_segments(10).run(102);
        for _ in 0..early {
            give(&mut path, 2, &[(0, 1)]);
        }
        path.run(115);
        give(&mut path, 10, &[]);
        give(&mut path, 10, &[(2, 3)]);
        assert_eq!(path.sender.recovery.taken_back, taken_back, "{}", path.table());
    }
}

/// RFC 3168: a mark after a repair that was needless proves congestion, so that the report that comes later takes nothing back.
#[test]
fn a_mark_after_the_repair_keeps_its_reduction() {
    for (marked, taken_back) in [(false, 1), (true, 0)] {
        let mut path = linux(10, &[("ecn", Value::Choice("true"))]);
        path.holds = Box::new(|number, nth| if (number, nth) == (2, 0) { 260 } else { 0 });
        path.marks = Box::new(move |number, _| marked && number == 16);
        path.send_segments(18).run(100_000);
        path.assert_complete(18);
        assert_eq!(path.sender.recovery.taken_back, taken_back, "{}", path.table());
    }
}

/// `tcp_try_undo_partial`: 2 to 8 are late, and some of them have been sent again as the first copies arrive. While others of
/// these retransmissions are under way, new data goes and nothing more is sent again.
#[test]
fn late_segments_let_new_data_go_beside_retransmissions() {
    let mut path = linux(20, &[]);
    path.holds = Box::new(|number, nth| if nth == 0 && (2..9).contains(&number) { 20 } else { 0 });
    path.send_segments(40).run(130);
    assert_table(
        &path.table(),
        "
        0 start: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 | 20.00
        101 ack 1: 20 21 | 21.00
        102 ack 2: 22 23 | 22.00
        110 ack 2 9-9: 24 | 22.00
        111 ack 2 9-10: 25 | 22.00
        112 ack 2 9-11: 2again | 12.00 recovery
        113 ack 2 9-12: | 12.00 recovery
        114 ack 2 9-13: | 12.00 recovery
        115 ack 2 9-14: | 12.00 recovery
        116 ack 2 9-15: 3again | 12.00 recovery
        117 ack 2 9-16: 4again | 12.00 recovery
        118 ack 2 9-17: 5again | 12.00 recovery
        119 ack 2 9-18: 6again | 12.00 recovery
        120 ack 2 9-19: 7again | 12.00 recovery
        123 ack 3 9-19: 26 | 12.00 recovery
        124 ack 4 9-19: 27 | 12.00 recovery
        125 ack 5 9-19: 28 | 12.00 recovery
        126 ack 6 9-19: 29 | 12.00 recovery
        127 ack 7 9-19: 30 | 12.00 recovery
        128 ack 8 9-19: 31 32 33 34 35 36 37 38 39 | 22.00
        129 ack 20: | 23.00
    ",
    );
}

/// RFC 3522: a repair that ends with what was only late is taken back by that acknowledgement, without any report.
#[test]
fn a_repair_that_ends_with_an_old_stamp_is_taken_back() {
    let mut path = linux(10, &[("sack", Value::Choice("true"))]);
    path.holds = Box::new(|number, nth| if nth == 0 && number == 2 { 60 } else { 0 });
    path.send_segments(10).run(100_000);
    path.assert_complete(10);
    assert_eq!((path.sender.recovery.taken_back, path.window()), (1, 12.0), "{}", path.table());
}

/// RFC 3168: a mark that is echoed with the acknowledgement that would take the repair back keeps what the loss lowered.
#[test]
fn a_mark_at_the_end_of_a_repair_keeps_its_reduction() {
    for (marked, window) in [(false, 12.0), (true, 4.0)] {
        let mut path = linux(10, &[("ecn", Value::Choice("true"))]);
        path.holds = Box::new(|number, nth| if nth == 0 && number == 2 { 60 } else { 0 });
        path.marks = Box::new(move |number, nth| marked && (number, nth) == (2, 0));
        path.send_segments(10).run(170);
        assert_eq!(path.window(), window, "{}", path.table());
    }
}

/// `tcp_dsack_seen`: a report of more than the receiver ever let be outstanding is nothing that was sent; it does not count
/// against the true one that follows.
#[test]
fn a_report_larger_than_the_receive_window_is_ignored() {
    let mut path = repairing(&[2]);
    give(&mut path, 10, &[]);
    give(&mut path, 10, &[(0, 11)]);
    assert_eq!(path.sender.recovery.taken_back, 0, "{}", path.table());
    give(&mut path, 10, &[(2, 3)]);
    assert_eq!(path.sender.recovery.taken_back, 1, "{}", path.table());
}

/// RFC 8985 section 6.2 step 4: the report of a probe does not widen the reordering window, because the probe's timer found no
/// reordering; that of a repair does, once reordering was seen.
#[test]
fn the_report_of_a_probe_leaves_the_reordering_window() {
    for (late, wider) in [((19, 600), false), ((4, 90), true)] {
        let mut path = linux(10, &[("loss_detection", Value::Choice("rack-tlp"))]);
        path.holds = Box::new(move |number, nth| match (number, nth) {
            (2, 0) => 2,
            (number, 0) if number == late.0 => late.1,
            _ => 0,
        });
        path.send_segments(20).run(100_000);
        path.assert_complete(20);
        assert_eq!(path.sender.counts.retransmissions, 1, "{}", path.table());
        assert_eq!(path.sender.recovery.is_widened(), wider, "{}", path.table());
    }
}
