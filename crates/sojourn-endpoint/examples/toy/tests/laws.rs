//! The toy behind Sojourn's queues: what carries its datagrams, and the laws.

use sojourn_endpoint::laws::Subject;
use sojourn_endpoint::{Asked, Connection, Ecn, Endpoint, Time};
use std::error::Error;
use toy_stack::{Receiver, Sender};

enum End {
    Sends(Sender),
    Receives(Receiver),
}

impl Endpoint for End {
    fn receive(&mut self, now: Time, _: Ecn, datagram: &[u8]) {
        match self {
            End::Sends(sender) => sender.receive(now.as_nanos(), datagram),
            End::Receives(receiver) => receiver.receive(datagram),
        }
    }

    fn write(&mut self, _: Time, bytes: u64) {
        if let End::Sends(sender) = self {
            sender.write(bytes);
        }
    }

    fn wake(&mut self, _: Time) {
        if let End::Sends(sender) = self {
            sender.wake();
        }
    }

    fn next_wake(&self) -> Time {
        match self {
            End::Sends(sender) => Time::from_nanos(sender.due_ns()),
            End::Receives(_) => Time::NEVER,
        }
    }

    fn transmit(&mut self, now: Time, room: &mut Vec<u8>) -> Option<Ecn> {
        *room = match self {
            End::Sends(sender) => sender.transmit(now.as_nanos()),
            End::Receives(receiver) => receiver.transmit(),
        }?;
        Some(Ecn::NotEct)
    }

    fn delivered_bytes(&self) -> u64 {
        match self {
            End::Sends(_) => 0,
            End::Receives(receiver) => receiver.delivered_bytes(),
        }
    }
}

fn connect(asked: &Asked) -> Result<Connection, Box<dyn Error>> {
    Ok(Connection {
        sender: Box::new(End::Sends(Sender::new(asked.bytes))),
        receiver: Box::new(End::Receives(Receiver::default())),
    })
}

sojourn_endpoint::laws!(Subject::new("toy", &connect));
