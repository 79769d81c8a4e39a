//! Transport stacks without I/O as endpoints of a simulated path: datagrams and time in, datagrams and the next wake-up out.
//!
//! A stack is whatever implements [`Endpoint`] at both ends of a connection. Its datagrams cross the scenario's links with their
//! real bytes as packets of groups with `stack`, beside the simulation's own senders, and are in the same
//! record. Time is virtual: a minute takes what the stacks and the engine compute. With a stack that draws nothing at random,
//! or from a seed, the same seed gives the same record. With this crate as a dev-dependency a stack's own tests have the
//! [laws](mod@laws) that each has to keep; `README.md` shows how.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod carry;
mod command;
pub mod laws;
#[cfg(test)]
mod tests;

pub use carry::{Failure, run};
pub use command::{Asked, Connect, Keep, command, command_of, simulate};
pub use sojourn_core::{Span, Time};
pub use sojourn_queue::Ecn;
pub use sojourn_sim::Wanted;

/// One end of a connection. It does no I/O and reads no clock: whoever carries its datagrams says what time it is.
pub trait Endpoint {
    /// A datagram has arrived.
    fn receive(&mut self, now: Time, ecn: Ecn, datagram: &[u8]);

    /// The application has so many bytes more, to follow what the connection was asked for. Applications that pause do this:
    /// a sender of [`Traffic::Messages`](sojourn_scenario::Traffic::Messages) is asked for the first message.
    ///
    /// # Panics
    /// An end that does not override it cannot have such an application.
    fn write(&mut self, _now: Time, bytes: u64) {
        panic!("its application has {bytes} bytes more, and it takes none: it has no write");
    }

    /// The time has come for which it asked.
    fn wake(&mut self, now: Time);

    /// When it wants to be woken next, whatever arrives; [`Time::NEVER`] where it waits for nothing. The first time is when it
    /// begins.
    fn next_wake(&self) -> Time;

    /// Writes the next datagram that may be sent into `room`, which is empty, and says what its ECN field is; `None` where
    /// nothing may be sent now. It is asked after each call above until it says so.
    fn transmit(&mut self, now: Time, room: &mut Vec<u8>) -> Option<Ecn>;

    /// Bytes that the application at this end has got so far, in order.
    fn delivered_bytes(&self) -> u64;

    /// Bytes of headers that a datagram gets on its way: those of IPv4 and UDP (RFC 791, RFC 768). A stack whose datagrams are
    /// IP packets says 0.
    fn header_bytes(&self) -> u32 {
        28
    }
}

/// Both ends of a connection.
pub struct Connection {
    /// Where data comes from.
    pub sender: Box<dyn Endpoint>,
    /// Where it goes to.
    pub receiver: Box<dyn Endpoint>,
}
