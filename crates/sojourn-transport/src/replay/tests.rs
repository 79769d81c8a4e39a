use super::*;
use crate::options::{DESCRIPTOR, Options};
use crate::segment::SegmentKind;
use sojourn_congestion::AnyControl;
use sojourn_core::Stream;
use sojourn_core::registry::{Params, Value};

fn sender() -> Sender {
    let mut params = Params::new(&DESCRIPTOR, None);
    params.set("initial_window", Value::Integer(4));
    let options = Options::new(&params).unwrap();
    let control = Params::new(sojourn_congestion::find("newreno").unwrap(), None);
    Sender::new(&options, AnyControl::build(&control, &options.path(), Stream::new(1, "control")).unwrap())
}

fn at(millis: u64, event: Event) -> Input {
    Input { at: millis_of(millis), event }
}

fn millis_of(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn ack(number: u32, sack: &[(u32, u32)]) -> Event {
    let mut segment = Segment::new(SegmentKind::Ack, number, Time::ZERO);
    for (place, &(start, end)) in segment.sack.iter_mut().zip(sack) {
        *place = Block { start, end };
        segment.blocks += 1;
    }
    Event::Acknowledged(segment)
}

/// Time in ms, number, whether sent again; the number of a SYN is the largest.
fn rows(outcome: &Outcome) -> Vec<(u64, u32, bool)> {
    let row = |sent: &Sent| match sent.transmit {
        Transmit::Syn => (sent.at.as_nanos() / 1_000_000, u32::MAX, false),
        Transmit::Data { number, retransmission, .. } => (sent.at.as_nanos() / 1_000_000, number, retransmission),
    };
    outcome.sent.iter().map(row).collect()
}

const ALL: u64 = 1448 * 100;

#[test]
fn each_input_leads_to_what_the_window_allows_then() {
    let inputs =
        [at(0, Event::Supply { bytes: ALL }), at(50, Event::Accepted), at(100, ack(2, &[])), at(110, Event::Look)];
    let outcome = replay(sender(), &inputs);
    let expected = [
        (0, u32::MAX, false),
        (50, 0, false),
        (50, 1, false),
        (50, 2, false),
        (50, 3, false),
        (100, 4, false),
        (100, 5, false),
        (100, 6, false),
    ];
    assert_eq!(rows(&outcome), expected);
    assert_eq!(outcome.states.iter().map(|state| state.window).collect::<Vec<_>>(), [4.0, 4.0, 5.0, 5.0]);
}

/// After 50 ms of handshake the timeout is at its floor of 1 s.
#[test]
fn timers_go_off_between_inputs() {
    let inputs = [at(0, Event::Supply { bytes: ALL }), at(50, Event::Accepted), at(2000, Event::Look)];
    let outcome = replay(sender(), &inputs);
    assert_eq!(rows(&outcome)[5..], [(1050, 0, true)]);
    assert_eq!(outcome.states[2].window, 1.0);
}

#[test]
fn what_was_not_sent_is_not_acknowledged() {
    let inputs = [
        at(0, Event::Supply { bytes: ALL }),
        at(50, Event::Accepted),
        at(90, ack(0, &[(2, 9), (20, 30)])),
        at(100, ack(50, &[])),
    ];
    let outcome = replay(sender(), &inputs);
    assert_eq!(rows(&outcome)[5], (90, 4, false), "limited transmit answers what was sacked");
    assert!(rows(&outcome)[6..].iter().all(|&(at, number, again)| at == 100 && number >= 5 && !again));
}
