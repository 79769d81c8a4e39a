//! RFC 9937: proportional rate reduction.

use super::network::{Network, first, network, network_with, preset};
use crate::sender::recovery::State;
use sojourn_congestion::{Control, Signal};
use sojourn_core::Time;
use sojourn_core::registry::{Params, Value};

/// The path of the examples in section 8: 20 segments outstanding at a window of 20, of which a loss leaves 10.
fn proportional(changes: &[(&str, Value)]) -> Network {
    let options = [("initial_window", Value::Integer(20)), ("reduction", Value::Choice("proportional"))];
    network(&[&options[..], changes].concat(), &[])
}

/// The window after each of the acknowledgements from the first one on, and how many segments were sent on it.
fn steps(path: &Network, acks: usize) -> (Vec<f64>, Vec<usize>) {
    let lines = &path.log[1..=acks];
    let window = |line: &String| line.rsplit('|').next().unwrap().split_whitespace().next().unwrap().parse().unwrap();
    let sent = |line: &String| line.split('|').next().unwrap().rsplit(':').next().unwrap().split_whitespace().count();
    (lines.iter().map(window).collect(), lines.iter().map(sent).collect())
}

/// Section 8, example 1: the first of 20 segments is lost. New segments leave evenly, one for every second delivered. The
/// 19th acknowledgement leaves as much in flight as ssthresh, where the rule of section 6.2 (and Linux) lets none go; the
/// example shows a window of 11 there.
#[test]
fn a_single_loss_as_in_the_example_of_the_rfc() {
    let mut path = proportional(&[]);
    path.drops = first(&[0]);
    path.send_forever().run(225);
    let (windows, sent) = steps(&path, 22);
    let expected = [20, 20, 19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 10, 10, 10];
    assert_eq!(windows[..21], expected.map(f64::from), "{}", path.table());
    // The acknowledgement that ends the reduction counts for congestion avoidance as any other (Linux).
    assert!(windows[21] > 10.0 && windows[21] < 10.3, "{}", path.table());
    assert_eq!(sent[..8], [1, 1, 1, 0, 1, 0, 1, 0], "{}", path.table());
    assert_eq!(path.threshold(), 10.0);
    assert!(path.window() < 11.0, "congestion avoidance from there\n{}", path.table());
}

/// Section 8, example 2: 15 in a row are lost. One is repaired for each that is delivered (packet conservation), and one
/// more as soon as a repair is acknowledged and nothing else is found lost (slow start).
#[test]
fn a_burst_of_losses_is_repaired_at_the_rate_of_what_arrives() {
    let mut path = proportional(&[]);
    path.drops = first(&(0..15).collect::<Vec<u32>>());
    path.send_forever().run(1000);
    let (windows, sent) = steps(&path, 8);
    assert_eq!(windows, [20, 20, 5, 5, 5, 5, 5, 6].map(f64::from), "{}", path.table());
    assert_eq!(sent, [1, 1, 1, 1, 1, 1, 1, 2], "{}", path.table());
    assert_eq!((path.sender.counts.timeouts, path.threshold()), (0, 10.0), "{}", path.table());
}

/// Rate halving: the window falls by one with every second acknowledgement, and not below ssthresh; new data leaves with every
/// second one from the first on, where proportional reduction of a half does the same.
#[test]
fn rate_halving_lowers_the_window_with_every_second_acknowledgement() {
    let mut path = proportional(&[("reduction", Value::Choice("halving"))]);
    path.drops = first(&[0]);
    path.send_forever().run(225);
    let (windows, sent) = steps(&path, 22);
    let expected = [20, 20, 19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 11];
    assert_eq!(windows[..19], expected.map(f64::from), "{}", path.table());
    assert_eq!(sent[3..9], [0, 1, 0, 1, 0, 1], "{}", path.table());
    assert_eq!(path.threshold(), 10.0);
}

/// Where many are lost it leaves one more than is in flight, so that a lost burst is repaired at a segment for each
/// acknowledgement, and slow start begins from there (`tcp_complete_cwr`), below ssthresh.
#[test]
fn rate_halving_ends_with_what_was_in_flight() {
    let mut path = proportional(&[("reduction", Value::Choice("halving"))]);
    path.drops = first(&(0..15).collect::<Vec<u32>>());
    path.send_forever().run(1000);
    assert!(path.log[4..20].iter().all(|line| line.ends_with("| 5.00 recovery")), "{}", path.table());
    assert_eq!((path.sender.counts.timeouts, path.threshold()), (0, 10.0), "{}", path.table());
    let ends = path.log.iter().rposition(|line| line.contains("recovery")).unwrap();
    let window: f64 = path.log[ends + 1].rsplit('|').next().unwrap().trim().parse().unwrap();
    assert!(window < 10.0, "{}", path.table());
}

/// Preset `linux-2.6`: four segments of which the first three are lost. The SACK of the last alone repairs all of them at
/// once by FACK; the preset `rfc` waits for the timeout, the preset `linux` for a quarter of a round trip.
#[test]
fn linux_of_2009_repairs_by_forward_acknowledgement() {
    let first_repair = |name: &str| {
        let mut path = preset(name, &[("initial_window", Value::Integer(4))]);
        path.drops = first(&[0, 1, 2]);
        path.send_segments(4).run(100_000);
        path.assert_complete(4);
        let line = path.log.iter().find(|line| line.contains("0again")).unwrap();
        line.trim().split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(["linux-2.6", "linux", "rfc"].map(first_repair), [104, 132, 1000]);
}

/// A mark lowers the window in the same way (Linux: `tcp_enter_cwr`), until what was sent after it is acknowledged; no
/// acknowledgement opens it meanwhile.
#[test]
fn a_mark_lowers_the_window_step_by_step() {
    let mut path = proportional(&[("ecn", Value::Choice("true"))]);
    path.marks = Box::new(|number, _| number == 0);
    path.send_forever().run(121);
    let windows = steps(&path, 20).0;
    assert_eq!(windows[..4], [20.0, 19.0, 19.0, 18.0], "{}", path.table());
    assert!(windows.is_sorted_by(|earlier, later| earlier >= later), "{}", path.table());
    assert_eq!((windows[19], path.threshold()), (10.0, 10.0), "{}", path.table());
    path.run(400);
    assert!(path.window() > 10.0, "it opens again\n{}", path.table());
}

/// Linux (`tcp_enter_recovery`): a loss in the middle of a reduction lets it go on. DCTCP alone answers both (`dctcp_state`): it
/// halves what the mark, which leaves 7/8 of 32, has left of the window so far.
#[test]
fn a_loss_halves_what_a_mark_has_left_so_far() {
    let dctcp = sojourn_congestion::find("dctcp").unwrap();
    let mut control = Params::new(dctcp, dctcp.presets.iter().find(|preset| preset.name == "linux"));
    control.set("initial_alpha", Value::Number(0.25));
    let options = [("ecn", Value::Choice("accurate")), ("initial_window", Value::Integer(32))];
    let mut path = network_with(&control, "linux", &options);
    path.marks = Box::new(|number, _| number == 0);
    path.drops = first(&[9]);
    path.send_forever().run(101);
    let begun = path.sender.reduction.get().expect("the mark");
    while path.sender.recovery.state() == State::Open {
        let then = path.now.since(Time::ZERO).as_nanos() / 1_000_000 + 1;
        path.run(then);
    }
    let goes_on = path.sender.reduction.get().expect("goes on");
    assert_eq!((goes_on.before, goes_on.sent_before), (begun.before, begun.sent_before), "{}", path.table());
    assert!(!path.sender.recovery.is_urgent(), "the retransmission goes out with the rest");
    let before: f64 = path.log[path.log.len() - 2].rsplit('|').next().unwrap().trim().parse().unwrap();
    assert!(before > 28.0, "{}", path.table());
    assert_eq!(path.threshold(), (before / 2.0).floor(), "{}", path.table());
}

/// Linux (`tcp_send_loss_probe`): a probe is not counted as sent in a reduction.
#[test]
fn a_probe_does_not_count_in_a_reduction() {
    let newreno = sojourn_congestion::find("newreno").unwrap();
    let control = Params::new(newreno, newreno.presets.iter().find(|preset| preset.name == "linux"));
    let options = [("initial_window", Value::Integer(16)), ("ecn", Value::Choice("true"))];
    let mut path = network_with(&control, "linux", &options);
    path.marks = Box::new(|number, _| number == 10);
    path.drops = first(&[14, 15]);
    path.send_segments(16).run(1000);
    assert_eq!(path.times_sent[&15], 2, "{}", path.table());
    let recovery = path.log.iter().find(|line| line.contains("recovery")).expect("a repair");
    // Delivered since the mark: segments 10 to 13 and the probe.
    assert!(recovery.contains("| 5.00 recovery"), "{}", path.table());
}

/// A control that leaves its window has answered all the same: the window keeps to what is delivered.
#[test]
fn a_window_that_stays_is_kept_by_what_is_delivered() {
    let mut path = proportional(&[]);
    path.send_forever().run(50);
    let window = path.sender.control.window();
    path.sender.start_reduction(Signal::Loss, window);
    assert!(path.sender.reduction.is_some());
}

/// A timeout ends it: the window is one segment.
#[test]
fn a_timeout_ends_it() {
    let mut path = proportional(&[]);
    path.drops = Box::new(|number, nth| number == 0 && nth < 2);
    path.send_segments(20).run(100_000);
    path.assert_complete(20);
    assert!(path.sender.counts.timeouts > 0 && path.table().contains("| 1.00"), "{}", path.table());
}

/// A control that follows a model of the path bounds its window by itself.
#[test]
fn a_model_has_rules_of_its_own() {
    let windows = ["at-once", "proportional"].map(|rule| {
        let options = [("initial_window", Value::Integer(20)), ("reduction", Value::Choice(rule))];
        let mut path = super::network::network_of("bbr", &options, &[]);
        path.drops = first(&[3]);
        path.send_forever().run(400);
        path.table()
    });
    assert_eq!(windows[0], windows[1]);
}

/// A control that follows a model of the path bounds its window in repairs by itself, and so does Prague, whose module of
/// Linux has a `cong_control` too: nothing beside it leads the window.
#[test]
fn a_model_leads_its_own_window() {
    for (control, led) in [("newreno", true), ("dctcp", true), ("bbr", false), ("bbr3", false), ("prague", false)] {
        let params = Params::new(sojourn_congestion::find(control).unwrap(), None);
        let mut path = network_with(&params, "linux", &[]);
        path.send_forever().run(500);
        let before = 2.0 * path.sender.control.window();
        path.sender.start_reduction(Signal::Loss, before);
        assert_eq!(path.sender.reduction.is_some(), led, "{control}");
    }
}
