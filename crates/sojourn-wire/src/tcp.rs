//! The kernel's TCP.
//!
//! Where the plan has a token, a connection begins with it, eight bytes, little-endian: a receiver neither counts nor answers
//! anything before, and closes what begins otherwise. What follows are messages, and a message begins with its own length:
//! eight bytes, little-endian, counted in the length; [`ENDLESS`] where it has none. The token is counted in the first
//! message, too, by both ends: so a transfer has as many bytes and segments on the wire as its application supplied. When a
//! message is whole its receiver answers with [`Answer`]: so the
//! sender knows when the last byte was received, and not only when that was acknowledged.
//!
//! After an idle time longer than its retransmission timeout Linux starts with a new window
//! (`net.ipv4.tcp_slow_start_after_idle`, on by default): the initial one, or what halving the old one for each timeout
//! of idle time leaves if that is more (`tcp_cwnd_restart`, RFC 2861). A shorter pause leaves the window as it is.

mod account;
mod connection;
mod receiver;
mod sender;

pub use receiver::Receiver;
pub use sender::Sender;

use sojourn_core::Time;

/// Length of a message without end.
const ENDLESS: u64 = u64::MAX;
/// Bytes of a length, and so of the shortest message.
const LENGTH_BYTES: usize = 8;
/// Bytes of a token.
const TOKEN_BYTES: usize = 8;

/// A message has been received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Answer {
    /// Bytes of all messages of the connection so far.
    total_bytes: u64,
    /// When its last byte was read, by the receiver's clock.
    stamp: Time,
}

impl Answer {
    const BYTES: usize = 16;

    fn to_bytes(self) -> [u8; Answer::BYTES] {
        let mut bytes = [0; Answer::BYTES];
        bytes[..8].copy_from_slice(&self.total_bytes.to_le_bytes());
        bytes[8..].copy_from_slice(&self.stamp.as_nanos().to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; Answer::BYTES]) -> Answer {
        let long = |from: usize| u64::from_le_bytes(std::array::from_fn(|index| bytes[from + index]));
        Answer { total_bytes: long(0), stamp: Time::from_nanos(long(8)) }
    }
}
