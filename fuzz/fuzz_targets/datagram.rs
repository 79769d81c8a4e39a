//! Any datagrams at the receiving end: nothing fails, no answer is larger than what it answers, and none comes before
//! the token was shown. What can be read is written as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_core::Time;
use sojourn_core::registry::Params;
use sojourn_transport::{DESCRIPTOR, Options};
use sojourn_wire::udp::{Answering, Message};
use std::net::{Ipv4Addr, SocketAddrV4};

const TOKEN: u64 = 77;
const PEER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 4000);

// The input is a list of datagrams, each behind a byte that is its length.
fuzz_target!(|bytes: &[u8]| {
    let options = Options::new(&Params::new(&DESCRIPTOR, DESCRIPTOR.preset("linux"))).expect("a preset");
    let mut answering = Answering::new(options, TOKEN);
    let (mut rest, mut open, mut nanos) = (bytes, false, 1_000_000_000);
    while let Some((&length, behind)) = rest.split_first() {
        let (datagram, behind) = behind.split_at(behind.len().min(usize::from(length)));
        if let Some(message) = Message::read(datagram) {
            assert_eq!(Message::read(&message.to_bytes()), Some(message));
        }
        let outcome = answering.on_datagram(datagram, length & 1 == 1, PEER, Time::from_nanos(nanos));
        open |= outcome.opened;
        if let Some(answer) = outcome.answer {
            assert!(open && answer.len() <= datagram.len());
        }
        (rest, nanos) = (behind, nanos + 1_000_000);
    }
});
