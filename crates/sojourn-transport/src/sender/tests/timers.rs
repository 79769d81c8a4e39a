//! RFC 6298: the retransmission timer.

use super::network::{Network, SYN, SYN_ACK, assert_table, network, network_of, these};
use sojourn_core::registry::Value;
use sojourn_core::{Span, Time};

fn timeouts(path: &Network) -> Vec<u64> {
    let millis = |line: &String| line.trim().split(' ').next().unwrap().parse().unwrap();
    path.log.iter().filter(|line| line.contains("timeout")).map(millis).collect()
}

/// Rules 5.5 and 5.6: doubled each time, from 1 s without a sample, up to the ceiling.
#[test]
fn back_off() {
    let mut path = network(&[("max_rto", Value::Span(Span::from_secs(5)))], &[]);
    path.drops = Box::new(|_, nth| nth < 5);
    path.send_segments(1).run(100_000);
    assert_eq!(timeouts(&path), [1000, 3000, 7000, 12_000, 17_000]);
    path.assert_complete(1);
}

/// RFC 5681 equation 4: the threshold is halved for the first timeout of a segment only.
#[test]
fn a_repeated_timeout_keeps_the_threshold() {
    let mut path = network(&[("initial_window", Value::Integer(16))], &[]);
    path.drops = Box::new(|_, nth| nth < 3);
    path.send_segments(16).run(7050);
    assert_eq!((path.window(), path.threshold()), (1.0, 8.0), "{}", path.table());
}

/// Rule 5.3: every acknowledgement of new data starts the timer anew.
#[test]
fn progress_restarts_the_timer() {
    let mut path = network(&[("initial_window", Value::Integer(4))], &[]);
    path.drops = these(&[(3, 0)]);
    // Only segment 3 is missing: two duplicates are too few for anything but the timer.
    path.send_segments(4).run(100_000);
    // The last progress was the acknowledgement of 2, at 3 + 50 + 50 ms.
    assert_eq!(timeouts(&path), [1103]);
    path.assert_complete(4);
}

/// Karn's algorithm: without timestamps a segment that was sent twice gives no sample, and the back-off
/// lasts until one that was not is acknowledged.
#[test]
fn karn() {
    let mut path = network(&[("timestamps", Value::Boolean(false)), ("initial_window", Value::Integer(1))], &[]);
    path.drops = these(&[(0, 0)]);
    path.send_segments(3).run(1000 + 101);
    assert_eq!(timeouts(&path), [1000]);
    assert_eq!(path.rtts, Vec::<f64>::new());
    assert_eq!(path.sender.rtt.timeout(), Span::from_secs(2), "still backed off");
    path.run(100_000);
    assert_eq!(path.sender.rtt.timeout(), Span::from_secs(1));
    assert_eq!(path.sender.rtt.smoothed(), Span::from_millis(101), "of segment 1; one is timed at a time");
    path.assert_complete(3);
}

/// RFC 7323: with timestamps the retransmission gives a sample, which ends the back-off.
#[test]
fn timestamps_lift_karn() {
    let mut path = network(&[("initial_window", Value::Integer(1))], &[]);
    path.drops = these(&[(0, 0)]);
    path.send_segments(1).run(100_000);
    assert_eq!(path.rtts, [101.0]);
    assert_eq!(path.sender.rtt.timeout(), Span::from_secs(1));
}

/// Linux puts the floor on the variance term: 101 ms + 200 ms.
#[test]
fn the_floor_of_linux() {
    let floor = [
        ("min_rto", Value::Span(Span::from_millis(200))),
        ("timers", Value::Choice("linux-2.6")),
        ("initial_window", Value::Integer(1)),
    ];
    let mut path = network(&floor, &[]);
    path.send_segments(1).run(1000);
    assert_eq!(path.sender.rtt.timeout(), Span::from_millis(101) + Span::from_millis(202), "4 x half the sample");
    let mut path = network(&floor, &[]);
    path.send_segments(2000).run(20_000);
    // What is above the floor goes by a quarter per round trip.
    let term = path.sender.rtt.timeout() - path.sender.rtt.smoothed();
    assert!(Span::from_millis(200) <= term && term < Span::from_millis(201), "{term}");
}

/// RFC 5681 section 3.1, RFC 6298 rule 5.7: after a lost SYN one segment, and 3 s to wait for it.
#[test]
fn a_lost_syn() {
    let mut path = network(&[("handshake", Value::Choice("true"))], &[]);
    path.drops = these(&[(SYN, 0), (0, 0)]);
    path.send_segments(5).run(100_000);
    assert_table(
        &path.table(),
        "
        0 start: syn lost | 10.00
        1000 timeout: syn | 10.00
        1100 accepted: 0-lost | 1.00
        4100 timeout: 0again | 1.00 loss
        4201 ack 1: 1 2 | 2.00
        4302 ack 2: 3 | 2.50
        4303 ack 3: 4 | 2.90
        4403 ack 4: | 3.24
        4404 ack 5: | 3.24
    ",
    );
    path.assert_complete(5);
}

#[test]
fn a_handshake_gives_the_first_sample() {
    let mut path = network(&[("handshake", Value::Choice("true"))], &[]);
    path.send_segments(3).run(100);
    assert_eq!(path.sender.rtt.smoothed(), Span::from_millis(100));
    path.run(100_000);
    path.assert_complete(3);
    assert_eq!(path.sender.counts.timeouts, 0);
}

/// A late second answer to a SYN changes nothing.
#[test]
fn a_second_syn_ack_is_ignored() {
    let mut path = network(&[("handshake", Value::Choice("true"))], &[]);
    path.send_segments(3).run(100);
    let window = path.window();
    path.sender.on_syn_ack(path.now + Span::from_secs(1), Time::ZERO);
    assert_eq!((path.window(), path.sender.rtt.smoothed()), (window, Span::from_millis(100)));
    assert_eq!(path.sender.deadline(path.now), Time::ZERO + Span::from_millis(1100));
}

const UNDO: (&str, Value) = ("undo", Value::Choice("timestamps"));

/// Sends 40 segments from a window of 16 on a path that does as `treat` says. Window and threshold are given as they were
/// after a second, before any timer.
fn late_or_lost(undo: bool, treat: impl Fn(&mut Network)) -> (Network, (f64, f64)) {
    let changes = [("initial_window", Value::Integer(16)), UNDO];
    let mut path = network(&changes[..1 + usize::from(undo)], &[]);
    treat(&mut path);
    path.send_segments(40).run(1000);
    let before = (path.window(), path.threshold());
    path.run(100_000);
    path.assert_complete(40);
    (path, before)
}

fn sent_again(path: &Network) -> u32 {
    path.times_sent.values().map(|times| times - 1).sum()
}

/// RFC 3522 and RFC 4015: what was late, and sent again in vain once, leaves window and threshold as they were; without
/// the stamp's evidence all of it is sent again, from a window of one segment.
#[test]
fn a_needless_timeout_is_taken_back() {
    let late = |path: &mut Network| {
        path.holds = Box::new(|number, _| if number >= 20 { 2000 } else { 0 });
    };
    let (undone, before) = late_or_lost(true, late);
    assert_eq!(timeouts(&undone).len(), 1, "{}", undone.table());
    assert_eq!(sent_again(&undone), 1);
    assert!(undone.window() >= before.0, "{} after {}", undone.window(), before.0);
    assert_eq!(undone.threshold(), before.1);
    let (plain, before) = late_or_lost(false, late);
    assert!(sent_again(&plain) > 1 && plain.threshold() < before.1, "{}", plain.table());
}

/// What was lost is not taken back, whether the retransmission arrives at once or is lost too.
#[test]
fn a_needed_timeout_is_not_taken_back() {
    for lost in [1, 2] {
        let drops = |path: &mut Network| path.drops = Box::new(move |number, nth| nth < lost && number >= 20);
        let (with, _) = late_or_lost(true, drops);
        let (without, _) = late_or_lost(false, drops);
        assert_eq!(with.table(), without.table(), "{lost}");
    }
}

/// The timer goes off twice before the late segments' acknowledgements come: they still tell of the first time.
#[test]
fn a_needless_timeout_is_taken_back_after_a_second_one() {
    let (path, before) = late_or_lost(true, |path| {
        path.holds = Box::new(|number, _| if number >= 20 { 4000 } else { 0 });
        path.drops = Box::new(|number, nth| number == 20 && nth > 0);
    });
    assert_eq!(timeouts(&path).len(), 2, "{}", path.table());
    assert_eq!(path.threshold(), before.1);
}

/// During a repair something is lost indeed: a timeout then stays.
#[test]
fn a_timeout_of_a_repair_is_not_taken_back() {
    let (path, before) = late_or_lost(true, |path| {
        path.drops = these(&[(5, 0), (5, 1)]);
    });
    assert_eq!(timeouts(&path).len(), 1, "{}", path.table());
    assert!(path.threshold() < before.1.min(16.0));
}

/// The same where the segment was only late, after a recovery has sent it again: the timer went off during a repair.
#[test]
fn what_a_repair_sent_is_no_evidence() {
    let treat = |path: &mut Network| {
        path.drops = these(&[(5, 0)]);
        path.holds = Box::new(|number, nth| if number == 5 && nth == 1 { 3000 } else { 0 });
    };
    let (with, _) = late_or_lost(true, treat);
    let (without, _) = late_or_lost(false, treat);
    assert!(!timeouts(&with).is_empty());
    assert_eq!(with.table(), without.table());
}

/// A segment is lost and those behind it are late, so that acknowledgements with old stamps come before and after that of
/// the retransmission: duplicates, and such of new data that are not the first. Neither takes the timeout back.
#[test]
fn only_the_first_acknowledgement_of_new_data_tells() {
    for late in (1000..2500).step_by(25) {
        let treat = |path: &mut Network| {
            path.drops = these(&[(20, 0)]);
            path.holds = Box::new(move |number, nth| if number > 20 && nth == 0 { late } else { 0 });
        };
        let (with, _) = late_or_lost(true, treat);
        let (without, _) = late_or_lost(false, treat);
        assert!(!timeouts(&with).is_empty(), "{late}");
        assert_eq!(with.table(), without.table(), "{late}");
    }
}

/// What is due between two ticks waits for the second; what is due at a tick does not wait.
#[test]
fn timers_go_off_at_ticks() {
    let tick = ("timer_tick", Value::Span(Span::from_millis(400)));
    let mut path = network(&[tick], &[]);
    path.drops = Box::new(|_, nth| nth < 3);
    path.send_segments(1).run(100_000);
    // Due 1 s after 0, 2 s after 1.2 s and 4 s after 3.2 s.
    assert_eq!(timeouts(&path), [1200, 3200, 7200]);
    path.assert_complete(1);
}

/// With a window of less than a packet libutp is silent from the last acknowledgement until its timer goes off, although
/// nothing is outstanding. Then it begins with one packet, whose acknowledgement ends slow start and shows again that the
/// delay is too long.
#[test]
fn a_control_may_wait_for_the_timer() {
    let tick = ("timer_tick", Value::Span(Span::from_millis(500)));
    let mut path = network_of("libutp", &[tick], &[("filter", Value::Integer(1))]);
    path.holds = Box::new(|number, _| if number >= 1 { 800 } else { 0 });
    path.send_forever().run(9000);
    assert_table(
        &path.table(),
        "0 start: 0 | 1.00
        101 ack 1: 1 2 3 | 3.07
        1002 ack 2: 4 | 3.07
        1003 ack 3: | 0.01
        1004 ack 4: | 0.01
        1903 ack 5: | 0.01
        4500 timer: 5 | 1.00
        5401 ack 6: 6 | 1.00
        6302 ack 7: | 0.01
        9000 timer: 7 | 1.00",
    );
    assert_eq!(path.sender.counts().timeouts, 0, "no segment timed out");
}

/// Linux counts a wait in ticks from the one that began last, and rounds both up (`timers = "linux"`); others round the
/// instant.
#[test]
fn waits_are_counted_in_ticks() {
    let expiry = |timers, now, wait| {
        let path = network(&[("timers", Value::Choice(timers))], &[]);
        let (now, tick) = (Time::ZERO + Span::from_millis(now), Span::from_millis(10));
        let at = path.sender.timers.expiry(now, Span::from_millis(wait), tick);
        at.since(Time::ZERO).as_millis_f64()
    };
    for (now, wait, ticks, instant) in
        [(3, 20, 30.0, 30.0), (3, 21, 40.0, 30.0), (10, 20, 40.0, 30.0), (19, 1, 30.0, 20.0)]
    {
        assert_eq!(expiry("linux-2.6", now, wait), ticks, "{wait} ms from {now} ms");
        assert_eq!(expiry("rfc", now, wait), instant, "{wait} ms from {now} ms");
        assert_eq!(expiry("linux", now, wait), ticks, "{wait} ms from {now} ms");
    }
    // Linux since 4.8: whole 8 ticks from 63 on.
    assert_eq!(["linux-2.6", "linux"].map(|timers| expiry(timers, 100, 630)), [740.0, 800.0]);
}

const LINUX: (&str, Value) = ("handshake", Value::Choice("linux"));

/// Connects over a path of 100 ms on which the first `count` of `lost` are lost. Returns the window, the smoothed round-trip time
/// and the timeout in ms with which data begins.
fn connect(changes: &[(&str, Value)], count: u32, lost: u32) -> (f64, u64, u64) {
    let mut path = network(&[&[("handshake", Value::Choice("true"))], changes].concat(), &[]);
    path.drops = Box::new(move |number, nth| number == lost && nth < count);
    path.send_segments(40).run(1000 * ((1 << count) - 1) + 100);
    let rtt = path.sender.rtt.smoothed();
    (path.window(), rtt.as_nanos() / 1_000_000, path.sender.rtt.timeout().as_nanos() / 1_000_000)
}

/// RFC 5681 section 3.1 and RFC 6298 rule 5.7.
#[test]
fn a_lost_syn_leaves_one_segment_and_three_seconds() {
    assert_eq!(connect(&[], 0, SYN), (10.0, 100, 1000));
    for (count, lost) in [(1, SYN), (2, SYN), (1, SYN_ACK), (2, SYN_ACK)] {
        assert_eq!(connect(&[], count, lost), (1.0, 0, 3000));
    }
}

/// `tcp_init_transfer`, `tcp_ack_update_rtt`: the timestamp that is echoed is that of the SYN that arrived first.
#[test]
fn in_linux_one_lost_syn_leaves_the_window_and_a_sample() {
    assert_eq!(connect(&[LINUX], 0, SYN), (10.0, 100, 1000));
    assert_eq!(connect(&[LINUX], 1, SYN), (10.0, 100, 1000));
    assert_eq!(connect(&[LINUX], 2, SYN), (1.0, 100, 1000));
    // Where the answer was lost, the first SYN was not: sending it again was needless (`tcp_try_undo_spurious_syn`).
    assert_eq!(connect(&[LINUX], 1, SYN_ACK), (10.0, 1100, 3300));
    assert_eq!(connect(&[LINUX], 2, SYN_ACK), (10.0, 3100, 9300));
    // Without timestamps nothing tells which SYN was answered.
    let plain = [LINUX, ("timestamps", Value::Boolean(false))];
    assert_eq!(connect(&plain, 1, SYN), (10.0, 0, 3000));
    assert_eq!(connect(&plain, 2, SYN_ACK), (1.0, 0, 3000));
}

/// `tcp_ecn_clear_syn`: only the first SYN asks for ECN; one that arrived has asked for all.
#[test]
fn in_linux_a_lost_syn_leaves_no_ecn() {
    let uses_ecn = |changes: &[(&str, Value)], lost| {
        let ecn = [("handshake", Value::Choice("true")), ("ecn", Value::Choice("true"))];
        let mut path = network(&[&ecn, changes].concat(), &[]);
        path.drops = these(&[(lost, 0)]);
        path.send_segments(3).run(2000);
        path.sender.uses_ecn()
    };
    assert!(uses_ecn(&[], SYN) && uses_ecn(&[], SYN_ACK));
    assert!(!uses_ecn(&[LINUX], SYN) && uses_ecn(&[LINUX], SYN_ACK));
}
