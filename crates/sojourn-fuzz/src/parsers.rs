//! What reads files, and datagrams of others.

use crate::tape::Tape;
use sojourn_congestion::AnyControl;
use sojourn_core::registry::Params;
use sojourn_core::{Stream, Time};
use sojourn_scenario::{Base, Scenario, Trace};
use sojourn_transport::{DESCRIPTOR, Options, Sender};
use sojourn_wire::Plan;
use sojourn_wire::udp::{Answering, Connection, Message};
use std::net::{Ipv4Addr, SocketAddrV4};

const TOKEN: u64 = 77;
const PEER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 4000);
const MILLISECOND: u64 = 1_000_000;

/// Any text is refused with messages, or is a scenario that is written and read again unchanged. What follows a line
/// `--set` are overrides, one per line.
pub(crate) fn scenario(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (text, overrides) = text.split_once("\n--set\n").unwrap_or((text, ""));
    let overrides: Vec<_> = overrides.lines().map(str::to_owned).collect();
    let _ = Scenario::parse_json(text, None, &Base::Nowhere, &overrides);
    match Scenario::parse(text, None, &Base::Nowhere, &overrides) {
        Err(problems) => assert!(!problems.to_string().is_empty()),
        Ok(loaded) => {
            let written = loaded.scenario.to_toml();
            let again = Scenario::parse(&written, None, &Base::Nowhere, &[]).expect("what is written is valid");
            assert_eq!(again.scenario.to_toml(), written);
        }
    }
}

/// Any bytes are refused, or are a trace that can be replayed.
pub(crate) fn trace(bytes: &[u8]) {
    if let Ok(trace) = Trace::read("fuzzed", bytes) {
        assert!(trace.opportunities_ms.is_sorted());
        assert!(!trace.period().is_zero());
        assert!(trace.mean_rate().bits_per_second() > 0);
    }
}

/// Any text is refused in words, or is a plan whose run has a beginning before its end.
pub(crate) fn plan(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Plan::read(text) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(plan) => {
            let line = plan.timeline();
            assert!(line.end > line.start && !line.bin.is_zero());
        }
    }
}

/// Datagrams, each behind a byte that is its length.
fn datagrams(mut rest: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (&length, behind) = rest.split_first()?;
        let (datagram, behind) = behind.split_at(behind.len().min(usize::from(length)));
        rest = behind;
        Some((length, datagram))
    })
}

fn options() -> Options {
    Options::new(&Params::new(&DESCRIPTOR, DESCRIPTOR.preset("linux"))).expect("a preset")
}

/// Any datagrams at the receiving end: nothing fails, no answer is larger than what it answers, and none comes before
/// the token was shown. What can be read is written as it was.
pub(crate) fn answering(bytes: &[u8]) {
    let mut answering = Answering::new(options(), TOKEN);
    let (mut open, mut nanos) = (false, 1000 * MILLISECOND);
    for (length, datagram) in datagrams(bytes) {
        if let Some(message) = Message::read(datagram) {
            assert_eq!(Message::read(&message.to_bytes()), Some(message));
        }
        let outcome = answering.on_datagram(datagram, length & 1 == 1, PEER, Time::from_nanos(nanos));
        open |= outcome.opened;
        if let Some(answer) = outcome.answer {
            assert!(open && answer.len() <= datagram.len());
        }
        nanos += MILLISECOND;
    }
}

/// Any datagrams at the sending end, between what it sends itself: nothing fails, and nothing is acknowledged that was
/// not sent. The first byte is the control, the second whether data ends.
pub(crate) fn connection(bytes: &[u8]) {
    let mut tape = Tape(bytes);
    let options = options();
    let descriptor = tape.one_of(sojourn_congestion::DESCRIPTORS);
    let control = AnyControl::build(&Params::new(descriptor, None), &options.path(), Stream::new(1, "fuzz"));
    let mut now = Time::from_nanos(1000 * MILLISECOND);
    let sender = Sender::new(&options, control.expect("defaults work"));
    let mut connection = Connection::new(sender, &options, (TOKEN, 1), now);
    if tape.flag() {
        connection.supply_forever();
    } else {
        connection.supply(100_000);
    }
    let mut sent_bytes = 0;
    for (length, datagram) in datagrams(tape.0) {
        for _ in 0..64 {
            let Some((message, _)) = connection.poll_transmit(now) else { break };
            sent_bytes += message.to_bytes().len() as u64;
        }
        // A message of this very connection, most of the time: its identifier stands where the reader looks for it.
        let mut datagram = datagram.to_vec();
        if length & 1 == 1 {
            let identifier = sojourn_wire::udp::connection_identifier(TOKEN, 1).to_le_bytes();
            datagram.iter_mut().skip(CONNECTION_AT).zip(identifier).for_each(|(byte, own)| *byte = own);
        }
        connection.on_datagram(&datagram, now);
        assert!(connection.acknowledged_bytes() <= sent_bytes, "acknowledged without being sent");
        assert!(connection.window().is_finite() && connection.window() > 0.0);
        now = Time::from_nanos(now.as_nanos() + MILLISECOND * u64::from(length));
        if connection.deadline(now) <= now {
            connection.on_timer(now);
        }
    }
}

/// Where a message has its connection.
const CONNECTION_AT: usize = 8;
