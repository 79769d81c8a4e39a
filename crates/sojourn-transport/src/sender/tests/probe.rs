//! RFC 8985 section 7: tail loss probes, with the timeouts of preset `linux`.

use super::network::{Network, assert_table, first, network_with, preset, these};
use sojourn_core::registry::{Params, Value};

fn linux(window: u64, changes: &[(&str, Value)]) -> Network {
    preset("linux", &[&[("initial_window", Value::Integer(window))], changes].concat())
}

/// When the first timer goes off, in ms.
fn first_timer(path: &Network) -> u64 {
    let line = path.log.iter().find(|line| line.contains("time")).expect("a timer goes off");
    line.trim().split(' ').next().unwrap().parse().unwrap()
}

/// Section 7.2 (TLP_calc_PTO): two round trips after the last acknowledgement, and 2 ms in Linux.
#[test]
fn a_probe_waits_two_round_trips() {
    let mut path = linux(4, &[]);
    path.drops = first(&[2, 3]);
    path.send_segments(4).run(100_000);
    assert_eq!(first_timer(&path), 102 + 2 * 101 + 2, "{}", path.table());
    path.assert_complete(4);
    assert_eq!(path.sender.counts.timeouts, 0);
}

/// The same where one segment is out, whose acknowledgement may be delayed (WCDelAckT: 200 ms in Linux). The round trip of
/// 401 ms makes the timeout longer than that.
#[test]
fn a_probe_of_one_segment_waits_for_a_delayed_acknowledgement() {
    let mut path = linux(1, &[]);
    path.holds = Box::new(|number, _| if number == 0 { 300 } else { 0 });
    path.drops = first(&[1]);
    path.send_segments(1).run(1000);
    path.send_segments(2).run(100_000);
    assert_eq!(first_timer(&path), 1000 + 2 * 401 + 200, "{}", path.table());
    path.assert_complete(2);
    assert_eq!(path.sender.counts.timeouts, 0);
}

/// The same without a round-trip sample: a second, the timeout of RFC 6298.
#[test]
fn a_probe_without_a_sample_waits_a_second() {
    let mut path = linux(2, &[]);
    path.drops = first(&[0, 1]);
    path.send_segments(2).run(100_000);
    assert_eq!(first_timer(&path), 1000, "{}", path.table());
    path.assert_complete(2);
}

/// Section 7.3: new data goes before what was sent, whatever the window says; the retransmission timer starts anew with it.
#[test]
fn a_probe_is_new_data_where_there_is_some() {
    let mut path = linux(4, &[("handshake", Value::Choice("true"))]);
    path.drops = first(&[0, 1, 2, 3]);
    path.send_segments(12).run(100_000);
    assert_table(
        &path.table(),
        "
        0 start: syn | 4.00
        100 accepted: 0-lost 1-lost 2-lost 3-lost | 4.00
        302 timer: 4 | 4.00
        403 ack 0 4-4: 0again | 1.00 recovery
        504 ack 1 4-4: 1again 2again | 2.00 recovery
        605 ack 2 4-4: 3again | 2.00 recovery
        606 ack 3 4-4: 5 | 2.00 recovery
        706 ack 5: 6 | 2.90
        707 ack 6: 7 8 | 3.24
        807 ack 7: 9 | 3.55
        808 ack 8: 10 | 3.83
        809 ack 9: 11 | 4.10
        908 ack 10: | 4.34
        909 ack 11: | 4.57
        910 ack 12: | 4.79
    ",
    );
    path.assert_complete(12);
}

/// Section 7.4.2: the probe repaired the last segment, so one was lost. What is acknowledged beyond it lowers the window, once.
#[test]
fn a_probe_that_repairs_is_a_loss() {
    let mut path = linux(8, &[]);
    path.drops = first(&[7]);
    path.send_segments(8).run(1000);
    path.send_segments(14).run(100_000);
    assert_table(
        &path.table(),
        "
        0 start: 0 1 2 3 4 5 6 7-lost | 8.00
        101 ack 1: | 9.00
        102 ack 2: | 10.00
        103 ack 3: | 11.00
        104 ack 4: | 12.00
        105 ack 5: | 13.00
        106 ack 6: | 14.00
        107 ack 7: | 15.00
        412 timer: 7again | 15.00
        513 ack 8: | 16.00
        1000 start: 8 9 10 11 12 13 | 8.00
        1101 ack 9: | 2.50
        1102 ack 10: | 2.50
        1103 ack 11: | 2.50
        1104 ack 12: | 2.50
        1105 ack 13: | 2.50
        1106 ack 14: | 2.50
    ",
    );
    path.assert_complete(14);
}

/// Linux (`tcp_process_tlp_ack`, whose state is CWR): DCTCP in its preset leaves 1 - alpha/2 of 16 segments, with an alpha of
/// 1/4 and less by a sixteenth with each window that was not marked. In the preset `rfc` it leaves half of the flight.
#[test]
fn dctcp_answers_what_a_probe_repaired_as_a_mark() {
    let dctcp = sojourn_congestion::find("dctcp").unwrap();
    for (name, threshold) in [("linux", 15.0), ("rfc", 2.5)] {
        let mut control = Params::new(dctcp, dctcp.presets.iter().find(|preset| preset.name == name));
        control.set("initial_alpha", Value::Number(0.25));
        let marks = [("ecn", Value::Choice("accurate"))];
        let mut path =
            network_with(&control, "linux", &[&marks[..], &[("initial_window", Value::Integer(8))]].concat());
        path.drops = first(&[7]);
        path.send_segments(8).run(520);
        path.send_segments(14).run(700);
        assert_eq!(path.threshold(), threshold, "{name}\n{}", path.table());
    }
}

/// The same where the last segment had arrived: the report that the probe came twice, or without such reports a second
/// acknowledgement of the same, shows that nothing was lost.
#[test]
fn a_needless_probe_lowers_nothing() {
    for dsack in [true, false] {
        let mut path = linux(8, &[("sack", Value::Choice(if dsack { "dsack" } else { "true" }))]);
        if dsack {
            path.ack_drops = Box::new(|nth| nth == 7);
        } else {
            path.holds = Box::new(|number, nth| if (number, nth) == (7, 0) { 350 } else { 0 });
        }
        path.send_segments(8).run(1000);
        assert_eq!(path.times_sent[&7], 2, "{}", path.table());
        path.send_segments(14).run(100_000);
        path.assert_complete(14);
        assert!(path.threshold().is_infinite(), "dsack {dsack}\n{}", path.table());
    }
}

/// Section 7.3: one probe, then the retransmission timer.
#[test]
fn a_lost_probe_leaves_the_rest_to_the_timeout() {
    let mut path = linux(4, &[]);
    path.drops = these(&[(3, 0), (3, 1)]);
    path.send_segments(4).run(100_000);
    assert_table(
        &path.table(),
        "
        0 start: 0 1 2 3-lost | 4.00
        101 ack 1: | 5.00
        102 ack 2: | 6.00
        103 ack 3: | 7.00
        406 timer: 3again-lost | 7.00
        709 timeout: 3again | 1.00 loss
        810 ack 4: | 2.00
    ",
    );
    path.assert_complete(4);
}

/// Section 7.2: none while a repair is under way. Its retransmission is lost too, and all acknowledgements after that.
#[test]
fn no_probe_in_a_repair() {
    let mut path = linux(10, &[]);
    path.drops = these(&[(5, 0), (5, 1)]);
    path.send_segments(10).run(100_000);
    assert_table(
        &path.table(),
        "
        0 start: 0 1 2 3 4 5-lost 6 7 8 9 | 10.00
        101 ack 1: | 11.00
        102 ack 2: | 12.00
        103 ack 3: | 13.00
        104 ack 4: | 14.00
        105 ack 5: | 15.00
        107 ack 5 6-6: | 15.00
        108 ack 5 6-7: | 15.00
        109 ack 5 6-8: 5again-lost | 2.00 recovery
        110 ack 5 6-9: | 2.00 recovery
        415 timeout: 5again | 1.00 loss
        516 ack 10: | 2.00
    ",
    );
    path.assert_complete(10);
}

/// RFC 3168 section 6.1.2: new data says that the window was reduced, for this reason, too. Where marks are counted its CWR is a
/// bit of a counter (RFC 9768 section 3.2.2).
#[test]
fn what_a_probe_repaired_is_told_unless_marks_are_counted() {
    for (feedback, told) in [("true", true), ("accecn", false)] {
        let ecn = [("ecn", Value::Choice(feedback))];
        let mut path = linux(8, &ecn);
        path.drops = first(&[7]);
        path.send_segments(8).run(1000);
        path.send_segments(60).run(100_000);
        path.assert_complete(60);
        assert_eq!(path.reduced.len(), usize::from(told), "{feedback}\n{}", path.table());
    }
}
