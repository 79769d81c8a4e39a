//! RFC 3168: congestion marks.

use super::network::{Network, assert_table, network};
use sojourn_core::registry::Value;

fn ecn(window: u64) -> Network {
    let options =
        [("ecn", Value::Choice("true")), ("initial_window", Value::Integer(window)), ("ack_every", Value::Integer(2))];
    network(&options, &[("initial_threshold", Value::Number(4.0))])
}

/// Section 6.1.2: one reduction for all marks of a window, told with CWR in the first new segment; the
/// receiver echoes until it sees that (section 6.1.3).
#[test]
fn one_reduction_per_window() {
    let mut path = ecn(10);
    path.marks = Box::new(|number, _| number < 6);
    path.send_forever().run(310);
    assert_table(
        &path.table(),
        "
        0 start: 0 1 2 3 4 5 6 7 8 9 | 10.00
        102 ack 2 ece: | 5.00
        104 ack 4 ece: | 5.00
        106 ack 6 ece: 10 | 5.00
        108 ack 8 ece: 11 12 | 5.00
        110 ack 10 ece: 13 14 | 5.00
        209 ack 12: 15 16 | 5.40
        211 ack 14: 17 18 | 5.77
        310 ack 16: 19 20 21 | 6.12
    ",
    );
    assert_eq!(path.reduced.len(), 1, "{}", path.table());
}

/// A mark in the next window halves again.
#[test]
fn marks_in_every_window_halve_each_time() {
    let mut path = ecn(16);
    path.marks = Box::new(|number, _| number % 7 == 0);
    path.send_forever().run(2000);
    let windows = path.reduced.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
    assert!(path.reduced.len() > 5 && windows >= 2, "{:?}", path.reduced);
}

/// Section 6.1.2: a reduction for another reason is told too, so that the echo of a mark in the same window
/// does not cause a second one.
#[test]
fn a_loss_and_a_mark_in_one_window_are_one_reduction() {
    let mut path = ecn(16);
    path.drops = Box::new(|number, nth| (number, nth) == (2, 0));
    path.marks = Box::new(|number, _| number == 5);
    path.send_forever().run(420);
    assert_eq!(path.threshold(), 8.0, "{}", path.table());
    assert_eq!(path.reduced, [20], "{}", path.table());
    assert!(path.window() >= 8.0);
}

/// Section 6.1.5: what is sent again is not ECN-capable; without negotiation nothing is.
#[test]
fn who_is_capable() {
    let mut path = ecn(10);
    path.drops = Box::new(|number, nth| (number, nth) == (2, 0));
    path.send_segments(20).run(100_000);
    assert_eq!(path.capable, (0..20).collect::<Vec<u32>>());
    assert_eq!(path.times_sent[&2], 2);
    path.assert_complete(20);
}

/// Without ECN the sender takes no notice.
#[test]
fn no_answer_without_negotiation() {
    let mut path = network(&[("initial_window", Value::Integer(10))], &[]);
    path.marks = Box::new(|_, _| true);
    path.send_segments(20).run(100_000);
    assert!(!path.table().contains("ece"));
    assert!(path.threshold().is_infinite());
}

/// Section 6.1.2: a mark and then a loss among the segments of one window are one reason to reduce it: the loss of 8, sent
/// with the marked 0 to 3, is repaired at the window that the marks left. That of 15, which was sent after the reduction,
/// is a second reason.
#[test]
fn a_mark_and_then_a_loss_in_one_window_are_one_reduction() {
    for (lost, window) in [(8, 8.0), (20, 4.0)] {
        let mut path = ecn(16);
        path.marks = Box::new(|number, _| number < 4);
        path.drops = super::network::first(&[lost]);
        path.send_segments(60).run(5000);
        path.assert_complete(60);
        assert_eq!(path.sender.counts.timeouts, 0, "{}", path.table());
        assert_eq!(path.threshold(), window, "{}", path.table());
    }
}

/// RFC 8257 section 3.5: once per window of data across all signals. Linux answers the loss besides. Alpha of 1/2 leaves 12 of
/// 16 segments.
#[test]
fn a_mark_and_a_loss_of_a_window_of_dctcp() {
    for (loss, threshold) in [("once", 12.0), ("halves", 6.0)] {
        let options = [("ecn", Value::Choice("accurate")), ("initial_window", Value::Integer(16))];
        let control = [
            ("initial_alpha", Value::Number(0.5)),
            ("gain", Value::Number(1.0 / 1024.0)),
            ("halve", Value::Choice("window")),
            ("loss", Value::Choice(loss)),
        ];
        let mut path = super::network::network_of("dctcp", &options, &control);
        path.marks = Box::new(|number, _| number == 0);
        path.drops = super::network::first(&[8]);
        path.send_segments(30).run(5000);
        path.assert_complete(30);
        assert!((path.threshold() - threshold).abs() < 0.3, "{}\n{}", path.threshold(), path.table());
    }
}

fn counting(control: &str, more: &[(&str, Value)]) -> Network {
    let options =
        [("ecn", Value::Choice("accecn")), ("initial_window", Value::Integer(20)), ("ack_every", Value::Integer(2))];
    super::network::network_of(control, &[&options, more].concat(), &[("gain", Value::Number(0.125))])
}

/// RFC 9768: each mark counts once, also where three of four acknowledgements that would tell of it are lost. An echo speaks for
/// all that its acknowledgement covers, and so for too many or too few.
#[test]
fn counts_outlive_lost_acknowledgements() {
    let error = |feedback: &'static str, lossy: bool| {
        let mut path = counting("prague", &[("ecn", Value::Choice(feedback))]);
        path.marks = Box::new(|number, _| number % 16 == 0);
        if lossy {
            path.ack_drops = Box::new(|number| number % 4 != 3);
        }
        path.send_forever().run(6000);
        (path.shown("alpha") - 1.0 / 16.0).abs()
    };
    let errors = [error("accecn", false), error("accecn", true), error("accurate", true)];
    assert!(errors[0] < 0.02 && errors[1] < 0.02 && errors[2] > 0.02, "{errors:?}");
}

/// The SYN/ACK of a receiver that only echoes marks: Prague halves the 24 segments that the first four have made of 20, once, and
/// CWR ends the echo. One that knows no
/// ECN: marks are not answered.
#[test]
fn less_able_receivers_are_found_out() {
    let halved = |feedback: &'static str| {
        let more = [("ecn", Value::Choice(feedback)), ("handshake", Value::Choice("true"))];
        let mut path = counting("prague", &more);
        path.marks = Box::new(|number, _| number == 4);
        path.send_forever().run(320);
        (path.threshold(), path.reduced.len())
    };
    assert_eq!(halved("accecn-to-classic"), (12.0, 1));
    assert_eq!(halved("accecn-to-none"), (f64::INFINITY, 0));
    let (threshold, told) = halved("accecn");
    assert!(threshold < f64::INFINITY && told == 0, "{threshold} {told}");
}
