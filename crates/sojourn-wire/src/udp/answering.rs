//! Whom a receiver answers, and what: no sockets here.

use super::format::{Data, Head, MIN_BYTES, Message};
use sojourn_core::{Stream, Time};
use sojourn_transport::{Arrival, Clock, EcnFlags, Options, Receiver, Segment, SegmentKind};
use std::net::SocketAddrV4;

/// The identifier of the connection `number` of a flow: nobody can guess it without the token.
pub fn connection_identifier(token: u64, number: u32) -> u32 {
    Stream::new(token, &format!("connection.{number}")).bits() as u32
}

/// The receiving end of a flow.
#[derive(Debug)]
pub struct Answering {
    options: Options,
    token: u64,
    connection: Option<Connection>,
    /// Who opened it, and is answered.
    peer: Option<SocketAddrV4>,
}

#[derive(Debug)]
struct Connection {
    /// Its place among the flow's.
    number: u32,
    identifier: u32,
    receiver: Receiver,
    /// When the last segment arrived.
    arrived: Time,
}

/// What a datagram leads to.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// What to send back.
    pub answer: Option<Vec<u8>>,
    /// New payload bytes.
    pub new_bytes: u64,
    /// Whether it opened a connection.
    pub opened: bool,
    /// The head of a segment of the connection.
    pub segment: Option<Head>,
}

impl Answering {
    /// Answers those who know `token`.
    pub fn new(options: Options, token: u64) -> Answering {
        Answering { options, token, connection: None, peer: None }
    }

    /// Who gets the answers.
    pub fn peer(&self) -> Option<SocketAddrV4> {
        self.peer
    }

    /// When [`on_timer`](Answering::on_timer) wants to be called.
    pub fn deadline(&self) -> Time {
        self.connection.as_ref().map_or(Time::NEVER, |connection| connection.receiver.deadline())
    }

    /// A delayed acknowledgement may be due.
    pub fn on_timer(&mut self, now: Time) -> Option<Vec<u8>> {
        let connection = self.connection.as_mut()?;
        let ack = connection.receiver.on_timer(now)?;
        Some(connection.acknowledge(&ack))
    }

    /// `bytes` arrived from `from`, `marked` if they bear a congestion mark.
    pub fn on_datagram(&mut self, bytes: &[u8], marked: bool, from: SocketAddrV4, now: Time) -> Outcome {
        if bytes.len() < MIN_BYTES {
            return Outcome::default();
        }
        let from_peer = self.peer == Some(from);
        match Message::read(bytes) {
            Some(Message::Syn { head, token }) => self.on_syn(head, token, from, now),
            Some(Message::Data(data)) if from_peer => self.on_data(data, marked, now),
            Some(Message::Data(_) | Message::SynAck { .. } | Message::Ack { .. }) | None => Outcome::default(),
        }
    }

    /// A SYN opens the next connection, or repeats the request for this one.
    fn on_syn(&mut self, head: Head, token: u64, from: SocketAddrV4, now: Time) -> Outcome {
        let identifier = connection_identifier(self.token, head.number);
        let present = self.connection.as_ref().map_or(0, |connection| connection.number);
        if token != self.token || head.connection != identifier || head.number == 0 || head.number < present {
            return Outcome::default();
        }
        let opened = head.number > present;
        if !opened && self.peer != Some(from) {
            return Outcome::default();
        }
        if opened {
            self.peer = Some(from);
            let receiver = Receiver::new(&self.options, Clock::default());
            self.connection = Some(Connection { number: head.number, identifier, receiver, arrived: Time::ZERO });
        }
        if let Some(connection) = &mut self.connection {
            // What comes next tells it the round-trip time.
            connection.receiver.on_syn(&Segment::new(SegmentKind::Syn, 0, head.stamp), now);
        }
        Outcome { answer: Some(Message::SynAck { head }.to_bytes()), new_bytes: 0, opened, segment: None }
    }

    fn on_data(&mut self, data: Data, marked: bool, now: Time) -> Outcome {
        let window = self.options.receive_window;
        let Data { head, payload_bytes, cwr, last } = data;
        let Some(connection) = self.connection.as_mut().filter(|open| open.identifier == head.connection) else {
            return Outcome::default();
        };
        // What lies beyond the window no sender of ours has sent.
        if head.number >= connection.receiver.next().saturating_add(window).min(u32::MAX - 1) {
            return Outcome::default();
        }
        connection.arrived = now;
        let segment = Segment {
            ecn: EcnFlags::when(cwr, EcnFlags::CWR),
            ..Segment::new(SegmentKind::Data, head.number, head.stamp)
        };
        let Arrival { is_new, ack } = connection.receiver.on_data(&segment, marked, now);
        let ack = match ack {
            None if last => connection.receiver.on_timer(connection.receiver.deadline()),
            ack => ack,
        };
        Outcome {
            answer: ack.map(|ack| connection.acknowledge(&ack)),
            new_bytes: if is_new { u64::from(payload_bytes) } else { 0 },
            opened: false,
            segment: Some(head),
        }
    }
}

impl Connection {
    fn acknowledge(&self, ack: &Segment) -> Vec<u8> {
        Message::acknowledgement(self.identifier, ack, self.arrived).to_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sojourn_core::Span;
    use sojourn_core::registry::{Params, Value};
    use sojourn_transport::DESCRIPTOR;

    const TOKEN: u64 = 77;
    const PEER: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 4000);
    const OTHER: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 4001);

    fn answering() -> Answering {
        let mut params = Params::new(&DESCRIPTOR, DESCRIPTOR.preset("linux"));
        // Else the first 16 are acknowledged at once.
        params.set("ack_policy", Value::Choice("count"));
        Answering::new(Options::new(&params).expect("options"), TOKEN)
    }

    fn head(number: u32, connection: u32) -> Head {
        Head { connection: connection_identifier(TOKEN, connection), number, stamp: Time::from_nanos(1_000) }
    }

    fn syn(number: u32, token: u64) -> Vec<u8> {
        Message::Syn { head: head(number, number), token }.to_bytes()
    }

    fn data(number: u32, connection: u32) -> Vec<u8> {
        Message::Data(Data { head: head(number, connection), payload_bytes: 1000, cwr: false, last: false }).to_bytes()
    }

    fn now() -> Time {
        Time::ZERO + Span::from_secs(1)
    }

    #[test]
    fn only_who_knows_the_token_is_answered() {
        let mut answering = answering();
        assert_eq!(answering.on_datagram(&data(0, 1), false, PEER, now()), Outcome::default(), "no connection yet");
        assert_eq!(answering.on_datagram(&syn(1, TOKEN + 1), false, PEER, now()), Outcome::default(), "a wrong token");
        let outcome = answering.on_datagram(&syn(1, TOKEN), false, PEER, now());
        assert!(outcome.opened && outcome.answer.is_some());
        assert_eq!(answering.on_datagram(&data(0, 2), false, PEER, now()), Outcome::default(), "another connection's");
        assert_eq!(answering.on_datagram(&data(0, 1), false, PEER, now()).new_bytes, 1000);
        assert_eq!(answering.on_datagram(&data(0, 1), false, PEER, now()).new_bytes, 0, "again");
    }

    #[test]
    fn a_later_connection_replaces_and_an_earlier_one_does_not() {
        let mut answering = answering();
        answering.on_datagram(&syn(2, TOKEN), false, PEER, now());
        answering.on_datagram(&data(0, 2), false, PEER, now());
        assert_eq!(answering.on_datagram(&syn(1, TOKEN), false, PEER, now()), Outcome::default(), "late");
        let again = answering.on_datagram(&syn(2, TOKEN), false, PEER, now());
        assert!(!again.opened && again.answer.is_some(), "the answer was lost");
        assert_eq!(answering.on_datagram(&data(0, 2), false, PEER, now()).new_bytes, 0, "it kept what it had");
        assert!(answering.on_datagram(&syn(3, TOKEN), false, PEER, now()).opened);
        assert_eq!(answering.on_datagram(&data(0, 3), false, PEER, now()).new_bytes, 1000);
    }

    /// What another port sends is nothing, unless it shows the token for a new connection.
    #[test]
    fn a_connection_is_its_openers() {
        let mut answering = answering();
        answering.on_datagram(&syn(1, TOKEN), false, PEER, now());
        assert_eq!(answering.on_datagram(&data(0, 1), false, OTHER, now()), Outcome::default());
        assert_eq!(answering.on_datagram(&syn(1, TOKEN), false, OTHER, now()), Outcome::default());
        assert_eq!(answering.on_datagram(&data(0, 1), false, PEER, now()).new_bytes, 1000, "it was not taken before");
        assert!(answering.on_datagram(&syn(2, TOKEN), false, OTHER, now()).opened);
        assert_eq!(answering.peer(), Some(OTHER));
    }

    #[test]
    fn the_last_segment_is_acknowledged_at_once() {
        let mut answering = answering();
        answering.on_datagram(&syn(1, TOKEN), false, PEER, now());
        let data = |last| Data { head: head(0, 1), payload_bytes: 10, cwr: false, last };
        assert_eq!(answering.on_datagram(&Message::Data(data(false)).to_bytes(), false, PEER, now()).answer, None);
        assert!(answering.deadline() > now(), "it waits for a second segment");
        answering.on_datagram(&syn(2, TOKEN), false, PEER, now());
        let last = Data { head: head(0, 2), ..data(true) };
        assert!(answering.on_datagram(&Message::Data(last).to_bytes(), false, PEER, now()).answer.is_some());
        assert_eq!(answering.deadline(), Time::NEVER);
    }

    #[test]
    fn acknowledgements_tell_delay_arrival_and_gaps() {
        let mut answering = answering();
        answering.on_datagram(&syn(1, TOKEN), false, PEER, now());
        let outcome = answering.on_datagram(&data(1, 1), false, PEER, now());
        let answer = Message::read(&outcome.answer.expect("at once, out of order")).expect("a message");
        let Message::Ack { head, delay_nanos, arrived, blocks, .. } = answer else { panic!("{answer:?}") };
        assert_eq!((head.number, delay_nanos, arrived, blocks), (0, 1_000_000_000 - 1_000, now(), vec![(1, 2)]));
    }

    #[test]
    fn what_lies_beyond_the_window_is_not_kept() {
        let mut answering = answering();
        answering.on_datagram(&syn(1, TOKEN), false, PEER, now());
        for number in [u32::MAX, u32::MAX - 1, answering.options.receive_window] {
            assert_eq!(answering.on_datagram(&data(number, 1), false, PEER, now()), Outcome::default(), "{number}");
        }
    }

    fn datagrams() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            (0u32..3, any::<bool>()).prop_map(|(number, knows)| syn(number, if knows { TOKEN } else { 1 })),
            (any::<u32>(), 0u32..3).prop_map(|(number, connection)| data(number, connection)),
            (0u32..20, 0u32..3).prop_map(|(number, connection)| data(number, connection)),
            // Without payload, and cut to any length behind the head: shorter than an answer.
            (0u32..20, 24usize..80).prop_map(|(number, bytes)| {
                let data = Data { head: head(number, 1), payload_bytes: 0, cwr: false, last: false };
                let mut datagram = Message::Data(data).to_bytes();
                datagram.truncate(bytes);
                datagram
            }),
            (0u32..20, 0usize..60, any::<u8>()).prop_map(|(number, at, byte)| {
                let mut bytes = data(number, 1);
                bytes[at] = byte;
                bytes
            }),
        ]
    }

    proptest! {
        /// Whatever comes: one answer at most, no larger than what it answers, and none before the token was shown.
        #[test]
        fn no_answer_amplifies(datagrams in prop::collection::vec((datagrams(), any::<bool>()), 0..60), starts_open: bool) {
            let mut answering = answering();
            // Half of the time a connection is open from the first.
            let mut open = starts_open && answering.on_datagram(&syn(1, TOKEN), false, PEER, now()).opened;
            for (bytes, marked) in datagrams {
                let outcome = answering.on_datagram(&bytes, marked, PEER, now());
                open |= outcome.opened;
                if let Some(answer) = outcome.answer {
                    prop_assert!(answer.len() <= bytes.len(), "{} for {}", answer.len(), bytes.len());
                    prop_assert!(open);
                }
            }
        }
    }
}
