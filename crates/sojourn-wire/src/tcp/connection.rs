//! A connection as its sender has it: what is still to be written, and what the kernel says of it.

use super::account::{Account, Allowance};
use super::{ENDLESS, LENGTH_BYTES};
use crate::sys::{self, TcpInfo};
use socket2::Socket;
use sojourn_core::Time;
use std::io::IoSlice;

/// Bytes that one system call may give.
const WRITE_BYTES: usize = 256 << 10;
static ZEROS: [u8; WRITE_BYTES] = [0; WRITE_BYTES];

/// A connection of a flow, from before it is asked for until it is over.
pub(super) struct Connection {
    pub(super) socket: Socket,
    /// Whether the other side was asked for it: the budget may not have had room for that yet.
    pub(super) requested: bool,
    pub(super) connected: bool,
    pub(super) account: Account,
    /// When the budget has room again for what it lacked room for.
    pub(super) waits_until: Option<Time>,
    /// When it is next compared with what the kernel has sent.
    pub(super) settles_at: Time,
    /// What is still to be written of the token and of a message's length: the first bytes of the message.
    head: Vec<u8>,
    /// Bytes of the message behind its head that are still to be written.
    pub(super) left_bytes: u64,
    pub(super) paused: bool,
    /// What was read of an answer.
    pub(super) answer: Vec<u8>,
    /// Bytes of all its messages, by their own lengths.
    pub(super) total_bytes: u64,
    /// Whether all of them were received.
    pub(super) is_whole: bool,
    timeouts: Timeouts,
    /// The last that was known.
    pub(super) info: Option<TcpInfo>,
}

/// Timeouts seen by one who looks now and then, where the kernel does not count them.
#[derive(Default)]
struct Timeouts {
    seen: u64,
    last: (bool, u8),
}

impl Timeouts {
    pub(super) fn look(&mut self, info: &TcpInfo) {
        let (was_in_loss, before) = self.last;
        let more = u64::from(info.consecutive_timeouts.saturating_sub(before));
        let entered = u64::from(info.in_loss && !was_in_loss);
        self.seen += more.max(entered);
        self.last = (info.in_loss, info.consecutive_timeouts);
    }
}

impl Connection {
    /// A connection over `socket` that nobody was asked for yet, and that begins with `token`.
    pub(super) fn new(socket: Socket, account: Account, token: Option<u64>, now: Time) -> Connection {
        Connection {
            socket,
            requested: false,
            connected: false,
            account,
            waits_until: None,
            settles_at: now,
            head: token.map_or(Vec::new(), |token| token.to_le_bytes().to_vec()),
            left_bytes: 0,
            paused: false,
            answer: Vec::new(),
            total_bytes: 0,
            is_whole: false,
            timeouts: Timeouts::default(),
            info: None,
        }
    }

    pub(super) fn wants_to_write(&self) -> bool {
        self.waits_until.is_none() && (!self.connected || self.has_more())
    }

    fn has_more(&self) -> bool {
        !self.head.is_empty() || self.body_bytes() > 0
    }

    /// Bytes behind the head that may be written now.
    fn body_bytes(&self) -> u64 {
        if self.paused { 0 } else { self.left_bytes }
    }

    /// Begins a message of `bytes`, token and length among them.
    pub(super) fn supply(&mut self, bytes: u64) {
        // The token of a fresh connection, or nothing.
        let token_bytes = self.head.len() as u64;
        let least = LENGTH_BYTES as u64;
        let length = if bytes == ENDLESS { ENDLESS } else { bytes.saturating_sub(token_bytes).max(least) };
        self.head.extend(length.to_le_bytes());
        self.left_bytes = if length == ENDLESS { ENDLESS } else { length - least };
        self.total_bytes = self.total_bytes.saturating_add(length);
        self.is_whole = false;
    }

    /// Timeouts so far: the kernel's count, or of those that were seen.
    pub(super) fn timeouts(&self, info: &TcpInfo) -> u64 {
        info.timeouts.map_or(self.timeouts.seen, u64::from)
    }

    /// Looks at what the kernel knows, and pays for what it has sent.
    pub(super) fn look(&mut self, now: Time) {
        if let Ok(info) = sys::tcp_info(&self.socket) {
            self.timeouts.look(&info);
            self.info = Some(info);
            if self.requested {
                self.account.settle(&info, now);
            }
        }
    }

    /// Whether the kernel has nothing more to send.
    pub(super) fn is_drained(&self) -> bool {
        self.info.is_some_and(|info| info.unacknowledged == 0 && info.unsent_bytes == 0)
    }

    /// When it wants to be woken, whatever its socket says.
    pub(super) fn next(&self) -> Time {
        let settles_at = if self.account.is_bounded() { self.settles_at } else { Time::NEVER };
        self.waits_until.unwrap_or(Time::NEVER).min(settles_at)
    }

    /// How much of `wanted` bytes may be written; notes until when there is to be waited.
    fn allowed(&mut self, wanted: u64, now: Time) -> u64 {
        if !self.account.is_bounded() {
            return wanted;
        }
        self.look(now);
        let Some(info) = &self.info else { return 0 };
        match self.account.allowance(info, wanted, now) {
            Allowance::Bytes(bytes) => bytes,
            Allowance::Held => 0,
            Allowance::From(time) => {
                self.waits_until = Some(time);
                0
            }
        }
    }

    fn wrote(&mut self, bytes: usize, now: Time) {
        if let Some(info) = self.info.as_ref().filter(|_| self.account.is_bounded()) {
            self.account.write(info, bytes as u64, now);
        }
    }

    /// Writes what the connection has to say, until there is no room, in the socket or in the budget. The head goes in one
    /// call with what follows it: by itself it would be a segment of its own, and a round trip more where it fills the window.
    pub(super) fn write(&mut self, now: Time) -> std::io::Result<()> {
        let had_something = self.has_more();
        while self.has_more() {
            let head_bytes = self.head.len();
            let wanted = (head_bytes as u64).saturating_add(self.body_bytes()).min(ZEROS.len() as u64);
            let most = self.allowed(wanted, now) as usize;
            if most == 0 {
                return Ok(());
            }
            let (head, body) = (head_bytes.min(most), most - head_bytes.min(most));
            let parts = [&self.head[..head], &ZEROS[..body]].map(IoSlice::new);
            let written = self.socket.send_vectored(&parts)?;
            self.head.drain(..written.min(head));
            if self.left_bytes != ENDLESS {
                self.left_bytes -= written.saturating_sub(head) as u64;
            }
            self.wrote(written, now);
            if written < most {
                return Ok(());
            }
        }
        // The last segment of a message goes although it is not full; within it Nagle's rule fills segments.
        if had_something && self.left_bytes == 0 {
            self.socket.set_tcp_nodelay(true)?;
            self.socket.set_tcp_nodelay(false)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use socket2::{Domain, Type};
    use std::io::Read;
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    /// Payload of a full segment: what the sender may send at most, less the time stamps.
    const SEGMENT_BYTES: u64 = 1448;

    /// Segments with data that a message of `bytes` becomes, and the bytes that come.
    fn sent(bytes: u64, token: Option<u64>) -> (u32, u64) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.set_tcp_mss(SEGMENT_BYTES as u32 + 12).expect("an option of TCP");
        socket.connect(&listener.local_addr().expect("an address").into()).expect("somebody listens");
        let (mut receiver, _) = listener.accept().expect("the connection");
        let mut connection =
            Connection::new(socket, Account::new(Budget::open(None).expect("no file"), 1), token, Time::ZERO);
        connection.supply(bytes);
        connection.write(Time::ZERO).expect("there is room");
        receiver.set_read_timeout(Some(Duration::from_secs(1))).expect("an option");
        let mut whole = vec![0; bytes as usize];
        receiver.read_exact(&mut whole).expect("all bytes");
        let begun = Instant::now();
        while !connection.is_drained() && begun.elapsed() < Duration::from_secs(10) {
            connection.look(Time::ZERO);
        }
        let info = connection.info.expect("the kernel tells");
        // Besides the data there was the SYN, and the acknowledgement of the other's.
        (info.segments_out - 2, info.acked_bytes - 1)
    }

    /// Neither the length of a message nor the token costs a segment: ten segments fit Linux's initial window, and an
    /// eleventh takes another round trip.
    #[test]
    fn a_message_has_the_segments_of_its_bytes() {
        for token in [None, Some(7)] {
            for segments in [1, 9, 10, 11] {
                let bytes = u64::from(segments) * SEGMENT_BYTES;
                assert_eq!(sent(bytes, token), (segments, bytes), "{token:?}");
            }
        }
    }
}
