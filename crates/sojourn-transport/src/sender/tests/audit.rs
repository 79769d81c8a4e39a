//! Every preset of every control of the registry behind every preset of the transport: idle time, marks and losses of one
//! window, needless timeouts. What controls do on their own, and who says so, is in `audit.rs` of `sojourn-congestion`.

use super::network::{Network, network_with};
use sojourn_congestion::{Control, DESCRIPTORS, Signal};
use sojourn_core::registry::{Params, Value};
use sojourn_core::{Amount, Span, Time};
use std::collections::BTreeSet;

const TRANSPORTS: [&str; 4] = ["rfc", "linux", "linux-2.6", "ns2"];

/// A connection of each control and transport, with `changes` to the latter, which has sent for two seconds.
fn each(changes: &[(&str, Value)], mut check: impl FnMut(&str, &str, &mut Network)) {
    for transport in TRANSPORTS {
        for descriptor in DESCRIPTORS {
            for preset in descriptor.presets {
                let params = Params::new(descriptor, Some(preset));
                let window = ("receive_window", Value::Amount(Amount::Packets(64.0)));
                let mut path = network_with(&params, transport, &[changes, &[window]].concat());
                path.send_forever().run(2000);
                check(descriptor.name, &format!("{} {} over {transport}", descriptor.name, preset.name), &mut path);
            }
        }
    }
}

/// Those of `names` that this build has: some controls are features.
fn built<'a>(names: &[&'a str]) -> Vec<&'a str> {
    names.iter().copied().filter(|name| sojourn_congestion::find(name).is_some()).collect()
}

/// The last that happened.
fn tail(path: &Network) -> String {
    path.log[path.log.len().saturating_sub(30)..].join("\n")
}

fn millis(path: &Network) -> u64 {
    path.now.since(Time::ZERO).as_nanos() / 1_000_000
}

/// What the control is told of within the next 400 ms, if its `marked` and `lost` of the next segments are.
fn told(path: &mut Network, marked: Option<u32>, lost: Option<u32>) -> Vec<(Signal, bool)> {
    let next = path.sender.board.next();
    let nth = |which: Option<u32>| which.map(|offset| next + offset);
    let (marked, lost) = (nth(marked), nth(lost));
    path.marks = Box::new(move |number, _| Some(number) == marked);
    path.drops = Box::new(move |number, nth| Some(number) == lost && nth == 0);
    let before = path.sender.told.len();
    let now = millis(path);
    path.run(now + 400);
    path.sender.told[before..].to_vec()
}

/// B3, RFC 3168 section 6.1.2: a mark and a loss of one window of data, in either order, are one reason to reduce it, for a
/// control that answered the first; the others are told of both.
#[test]
#[ignore = "long: make test-long"]
fn a_mark_and_a_loss_of_a_window() {
    let ecn = [("ecn", Value::Choice("true")), ("initial_window", Value::Integer(16))];
    let [mut checked, mut both] = [BTreeSet::new(), BTreeSet::new()];
    for mark_first in [true, false] {
        each(&ecn, |name, whose, path| {
            if path.sender.in_flight() < 8 {
                // Too little for three duplicate acknowledgements.
                return;
            }
            checked.insert(name.to_owned());
            let told = told(path, Some(if mark_first { 0 } else { 6 }), Some(if mark_first { 2 } else { 0 }));
            let count = |wanted: Signal| told.iter().filter(|(signal, _)| *signal == wanted).count();
            let table = tail(path);
            if !mark_first {
                assert_eq!([count(Signal::Loss), count(Signal::Ecn)], [1, 0], "{whose}: {told:?}\n{table}");
                return;
            }
            let [(Signal::Ecn, answered), ..] = &told[..] else { panic!("{whose}: {told:?}\n{table}") };
            let once = *answered && !path.sender.control.answers_both();
            assert_eq!(
                [count(Signal::Ecn), count(Signal::Loss)],
                [1, usize::from(!once)],
                "{whose}: {told:?}\n{table}"
            );
            if !once {
                both.insert(name.to_owned());
            }
        });
    }
    let names = |set: BTreeSet<String>| set.into_iter().collect::<Vec<_>>().join(" ");
    // DCTCP: but for `rfc`. Prague: its loss credit. BBR and Proteus make nothing of a mark. SCReAM with `l4s` counts marks.
    assert_eq!(names(both), built(&["bbr", "bbr3", "dctcp", "prague", "proteus_s", "scream"]).join(" "));
    let missed: BTreeSet<String> = DESCRIPTORS.iter().map(|descriptor| descriptor.name.to_owned()).collect();
    // These seldom have so much in flight.
    assert_eq!(
        names(missed.difference(&checked).cloned().collect()),
        built(&["nimbus", "scout"]).join(" "),
        "controls that the law was not tried on"
    );
}

/// B1: after a pause no control begins with more than RW where the transport restarts or halves, nor with more than before, and
/// what it had learnt as threshold stays.
#[test]
#[ignore = "long: make test-long"]
fn sending_again_after_a_pause() {
    let mut free = BTreeSet::new();
    each(&[], |name, whose, path| {
        let next = path.sender.board.next();
        path.drops = super::network::first(&[next]);
        let now = millis(path);
        path.run(now + 1000);
        path.sender.stop_supply();
        path.run(now + 20_000);
        assert_eq!(path.sender.board.outstanding(), 0, "{whose}");
        let (window, threshold) = (path.window(), path.threshold());
        path.sender.supply_forever();
        path.transmit("again");
        let after = path.window();
        assert!(after <= window, "{whose}: {after} after {window}\n{}", tail(path));
        if after > 10.0 {
            free.insert(name.to_owned());
        }
        // Delay-led windows show no threshold above themselves.
        let kept = if threshold <= window { threshold.min(after) } else { threshold };
        assert!(path.threshold() >= kept, "{whose}: threshold {} after {threshold}\n{}", path.threshold(), tail(path));
    });
    // The windows of the first four follow from a model of the path or a rate; scout sends its train of 20 small segments;
    // SCReAM's window stays.
    assert_eq!(free.into_iter().collect::<Vec<_>>(), built(&["bbr", "bbr3", "nimbus", "proteus_s", "scout", "scream"]));
}

/// RFC 3522, RFC 4015: all that is out comes late, and once more after the timer has gone off. The window is what it was, but
/// for the controls that this names.
fn lower_after_a_needless_timeout(timers: &'static str) -> BTreeSet<String> {
    let mut lower = BTreeSet::new();
    let options = [
        ("undo", Value::Choice("timestamps")),
        ("timestamps", Value::Boolean(true)),
        ("timers", Value::Choice(timers)),
    ];
    each(&options, |name, whose, path| {
        let (next, window) = (path.sender.board.next(), path.sender.control.window());
        path.holds = Box::new(move |number, _| if number >= next { 1500 } else { 0 });
        let now = millis(path);
        while path.sender.recovery.taken_back == 0 && millis(path) < now + 5000 {
            let then = millis(path) + 1;
            path.run(then);
        }
        assert!(path.sender.counts.timeouts > 0, "{whose}\n{}", tail(path));
        assert_eq!(path.sender.recovery.taken_back, 1, "{whose}\n{}", tail(path));
        let told = path.sender.rtt().max() >= Span::from_millis(1500);
        assert_eq!(told, timers == "linux", "{whose}\n{}", tail(path));
        let after = path.sender.control.window();
        if after < window.floor() {
            lower.insert(name.to_owned());
        }
    });
    lower
}

#[test]
#[ignore = "long: make test-long"]
fn a_needless_timeout() {
    // A model's window comes back later, and Nimbus rests first; the others answer the delay of what was late with the same acknowledgement.
    let (model, delay) = (built(&["bbr", "bbr3", "nimbus", "proteus_s", "scout"]), ["fledbat", "ledbat", "tcp_lp"]);
    let expected: BTreeSet<String> = model.iter().chain(&delay).map(|name| (*name).to_owned()).collect();
    assert_eq!(lower_after_a_needless_timeout("rfc"), expected);
    // Of what was sent again the timestamp tells the controls a round-trip time (`tcp_ack_update_rtt`): there is more delay to
    // answer.
    let told = lower_after_a_needless_timeout("linux");
    let more: Vec<&str> = told.difference(&expected).map(String::as_str).collect();
    // The bound of Proteus grows with the round-trip time.
    let less: Vec<&str> = expected.difference(&told).map(String::as_str).collect();
    assert_eq!((more, less), (vec!["cdg", "nice"], built(&["proteus_s"])));
}
