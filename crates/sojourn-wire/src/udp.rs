//! The project's own transport and controls over UDP: the state machines of `sojourn-transport` behind sockets.
//!
//! A datagram begins with a head of 24 bytes, all numbers little-endian:
//!
//! | | |
//! |---|---|
//! | 0 | u16: 0x4a53 |
//! | 2 | u8: 1, the version |
//! | 3 | u8: 0 SYN, 1 SYN-ACK, 2 data, 3 acknowledgement |
//! | 4 | u8: bit 0 congestion window reduced (data), bit 1 a mark is echoed (acknowledgement), bit 2 the application has no more for now (data), so that the sender should soon know that all has arrived: acknowledged at once |
//! | 5 | u8: SACK blocks (acknowledgement), at most 3 |
//! | 6 | u16: payload bytes (data) |
//! | 8 | u32: the connection's identifier |
//! | 12 | u32: SYN: the connection's place among the flow's, from 1; data: the segment's number; acknowledgement: the next one expected |
//! | 16 | u64: when it was sent, ns of the sender's clock; answers echo it |
//!
//! Behind it a SYN has the plan's token (u64), data its payload, an acknowledgement the one-way delay (i64, ns) of the
//! segment that caused it, receiver's clock less sender's, when that segment arrived (u64, ns of the receiver's clock),
//! and its SACK blocks (u32 first segment, u32 one past the last).
//!
//! With IP and UDP a head is 52 bytes: what `transport.header` says by default. Datagrams of the sender are filled up to
//! [`MIN_BYTES`], and shorter ones are not answered: no answer is larger than what it answers. A receiver listens to
//! nobody who has not shown the token from the planned address, and then to that address and port and that connection's
//! identifier only, which the token determines.

mod answering;
mod connection;
mod format;
mod receiver;
mod sender;

pub use answering::{Answering, connection_identifier};
pub use connection::Connection;
pub use format::{Data, Head, MIN_BYTES, Message};
pub use receiver::Receiver;
pub use sender::Sender;
