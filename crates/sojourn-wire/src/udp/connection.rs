//! A connection's sending end: no sockets here.

use super::answering::connection_identifier;
use super::format::{Data, Head, Message};
use sojourn_congestion::{Control, EcnUse};
use sojourn_core::{Span, Time};
use sojourn_queue::Ecn;
use sojourn_transport::{Options, Sender, SenderCounts, Transmit};

/// A one-way delay that differs by more from a connection's first is no delay: an hour.
const LARGEST_CHANGE_NANOS: u64 = 3_600_000_000_000;

/// The sending end of one connection.
pub struct Connection {
    sender: Sender,
    options: Options,
    token: u64,
    number: u32,
    identifier: u32,
    /// When it was made: what answers echo was sent later.
    since: Time,
    /// What the application has supplied; `u64::MAX` without end.
    supplied_bytes: u64,
    /// The highest number that was acknowledged.
    acknowledged: u32,
    ecn: Ecn,
    /// The first one-way delay, which has an unknown offset.
    first_delay_nanos: Option<i64>,
}

/// What an arrival means to the application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AllArrived {
    /// When the last byte arrived, by the receiver's clock.
    pub at: Time,
    /// Bytes that the receiver has got.
    pub bytes: u64,
}

impl Connection {
    /// Connection `number` of a flow.
    pub fn new(sender: Sender, options: &Options, (token, number): (u64, u32), now: Time) -> Connection {
        let ecn = match sender.control().ecn() {
            _ if !options.ecn.is_on() => Ecn::NotEct,
            EcnUse::Optional | EcnUse::Exact => Ecn::Ect0,
            EcnUse::Scalable => Ecn::Ect1,
        };
        Connection {
            sender,
            options: options.clone(),
            token,
            number,
            identifier: connection_identifier(token, number),
            since: now,
            supplied_bytes: 0,
            acknowledged: 0,
            ecn,
            first_delay_nanos: None,
        }
    }

    /// The application has data without end.
    pub fn supply_forever(&mut self) {
        self.supplied_bytes = u64::MAX;
        self.sender.supply_forever();
    }

    /// The application has `bytes` bytes, with those before.
    pub fn supply(&mut self, bytes: u64) {
        self.supplied_bytes = bytes;
        self.sender.supply(bytes);
    }

    /// The application has no more for now.
    pub fn pause(&mut self) {
        self.sender.stop_supply();
    }

    /// The connection ends.
    pub fn close(&mut self, now: Time) {
        self.sender.close(now);
    }

    /// When it wants to send or a timer is due, seen at `now`.
    pub fn deadline(&self, now: Time) -> Time {
        self.sender.deadline(now)
    }

    /// A time that [`deadline`](Connection::deadline) named may have come.
    pub fn on_timer(&mut self, now: Time) {
        self.sender.on_timer(now);
    }

    /// The next datagram to send now with its ECN field; call until it returns `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(Message, Ecn)> {
        let head = |number| Head { connection: self.identifier, number, stamp: now };
        Some(match self.sender.poll_transmit(now)? {
            Transmit::Syn => (Message::Syn { head: head(self.number), token: self.token }, Ecn::NotEct),
            Transmit::Data { number, payload_bytes, retransmission, cwr } => {
                let last = number + 1 == self.sender.end();
                let message =
                    Message::Data(Data { head: head(number), payload_bytes: payload_bytes as u16, cwr, last });
                // RFC 3168 section 6.1.5: retransmissions are not ECN-capable.
                (message, if retransmission { Ecn::NotEct } else { self.ecn })
            }
        })
    }

    /// `bytes` arrived. Says so where the receiver now has all that the application supplied.
    pub fn on_datagram(&mut self, bytes: &[u8], now: Time) -> Option<AllArrived> {
        let message = Message::read(bytes)?;
        let (Message::SynAck { head } | Message::Ack { head, .. }) = &message else { return None };
        // Nobody answers what was not sent yet, nor what was sent before there was a connection.
        if head.connection != self.identifier || head.stamp < self.since || head.stamp > now {
            return None;
        }
        if let Message::Ack { delay_nanos, .. } = message {
            let first = *self.first_delay_nanos.get_or_insert(delay_nanos);
            if delay_nanos.abs_diff(first) > LARGEST_CHANGE_NANOS {
                return None;
            }
        }
        let (Some(segment), Message::Ack { arrived, .. }) = (message.as_acknowledgement(), &message) else {
            self.sender.on_syn_ack(now, head.stamp);
            return None;
        };
        self.sender.on_ack(&segment, now);
        // What was never sent cannot be acknowledged; the transport has ignored it, too.
        let is_new = segment.number > self.acknowledged && segment.number <= self.sender.sent();
        if !is_new {
            return None;
        }
        self.acknowledged = segment.number;
        (segment.number == self.sender.end()).then(|| AllArrived { at: *arrived, bytes: self.acknowledged_bytes() })
    }

    /// Payload bytes that the receiver has.
    pub fn acknowledged_bytes(&self) -> u64 {
        let whole = u64::from(self.acknowledged) * u64::from(self.options.payload_bytes);
        (whole - self.sender.acknowledged_shortfall_bytes()).min(self.supplied_bytes)
    }

    /// Smoothed round-trip time; none before the first sample.
    pub fn rtt(&self) -> Option<Span> {
        Some(self.sender.rtt().smoothed()).filter(|rtt| !rtt.is_zero())
    }

    /// The congestion window in segments.
    pub fn window(&self) -> f64 {
        self.sender.window()
    }

    /// Its sender's counters.
    pub fn counts(&self) -> SenderCounts {
        self.sender.counts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sojourn_congestion::{AnyControl, DESCRIPTORS};
    use sojourn_core::Stream;
    use sojourn_core::registry::Params;
    use sojourn_transport::DESCRIPTOR;

    fn connection(control: usize) -> Connection {
        let params = Params::new(&DESCRIPTOR, DESCRIPTOR.preset("linux"));
        let options = Options::new(&params).expect("options");
        let control = Params::new(DESCRIPTORS[control % DESCRIPTORS.len()], None);
        let control = AnyControl::build(&control, &options.path(), Stream::new(1, "control")).expect("a control");
        let mut connection = Connection::new(Sender::new(&options, control), &options, (7, 1), Time::from_nanos(100));
        connection.supply_forever();
        connection
    }

    fn answers() -> impl Strategy<Value = Message> {
        let head = (0u32..60, 0u64..2_000_000_000).prop_map(|(number, nanos)| Head {
            connection: connection_identifier(7, 1),
            number,
            stamp: Time::from_nanos(nanos),
        });
        let ack = (
            head.clone(),
            any::<bool>(),
            any::<i64>(),
            any::<u64>(),
            prop::collection::vec((1u32..40, 1u32..40), 0..=3),
        );
        prop_oneof![
            head.prop_map(|head| Message::SynAck { head }),
            ack.prop_map(|(head, ece, delay_nanos, arrived, blocks)| {
                let blocks =
                    blocks.iter().map(|(from, length)| (head.number + from, head.number + from + length)).collect();
                Message::Ack { head, ece, delay_nanos, arrived: Time::from_nanos(arrived), blocks }
            }),
        ]
    }

    proptest! {
        /// Whatever a receiver answers, the sender neither fails nor counts more than it sent.
        #[test]
        fn no_answer_upsets_a_sender(control in 0usize..40, answers in prop::collection::vec((answers(), 0u64..300), 1..40)) {
            let mut connection = connection(control);
            let mut now = Time::from_nanos(100);
            for (answer, millis) in answers {
                now += Span::from_millis(millis);
                connection.on_datagram(&answer.to_bytes(), now);
                connection.on_timer(now);
                // A bound, as the plan's: a control that was lied to may want to send very much.
                for _ in 0..50 {
                    if connection.poll_transmit(now).is_none() {
                        break;
                    }
                }
                prop_assert!(connection.acknowledged <= connection.sender.sent());
            }
        }
    }
}
