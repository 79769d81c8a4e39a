//! What an endpoint is, and the sockets it waits for.

use crate::error::WireError;
use crate::report::Report;
pub use crate::sys::Interest;
use sojourn_core::Time;
use std::os::fd::{AsRawFd, RawFd};

/// Something with sockets and timers.
pub trait Endpoint {
    /// When it wants to act next, whatever arrives.
    fn next(&self) -> Time;

    /// Names the sockets it waits for.
    fn wait(&self, set: &mut PollSet);

    /// Acts: something is due at `now`, or some of its sockets are ready. `ready` has an entry for each socket that
    /// [`wait`](Endpoint::wait) named, in that order.
    ///
    /// # Errors
    /// What makes the whole run worthless.
    fn act(&mut self, now: Time, ready: &[Interest]) -> Result<(), WireError>;

    /// The run is over.
    fn report(self: Box<Self>, report: &mut Report);
}

/// Sockets of all endpoints.
#[derive(Default)]
pub struct PollSet {
    pub(crate) entries: Vec<Interest>,
}

impl PollSet {
    /// Waits until `socket` can be read (or, for one that listens, accepted from).
    pub fn readable(&mut self, socket: &impl AsRawFd) {
        self.add(socket.as_raw_fd(), libc::POLLIN);
    }

    /// Waits until `socket` can be read or written.
    pub fn both(&mut self, socket: &impl AsRawFd) {
        self.add(socket.as_raw_fd(), libc::POLLIN | libc::POLLOUT);
    }

    fn add(&mut self, fd: RawFd, events: i16) {
        self.entries.push(Interest { fd, events, revents: 0 });
    }
}

/// Whether there is something to read, be it an error.
pub fn can_read(interest: &Interest) -> bool {
    interest.revents & (libc::POLLIN | libc::POLLERR | libc::POLLHUP) != 0
}

/// Whether there is room to write, or an error.
pub fn can_write(interest: &Interest) -> bool {
    interest.revents & (libc::POLLOUT | libc::POLLERR | libc::POLLHUP) != 0
}
