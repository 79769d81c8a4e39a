//! How a connection opens (RFC 5681 section 3.1, RFC 6298 rule 5.7).

use super::Sender;
use super::recovery::State;
use crate::options::Handshake;
use sojourn_congestion::Control;
use sojourn_core::Time;

impl Sender {
    /// It at the end that is connected to: it waits for a SYN, and sends when [`on_syn_ack`](Sender::on_syn_ack) says that its
    /// answer has been acknowledged.
    #[must_use]
    pub fn listening(mut self) -> Sender {
        self.recovery.set_connected(false);
        self.syn_due = false;
        self
    }

    /// When its SYN was first sent, or answered last.
    pub fn first_syn(&self) -> Time {
        self.first_syn
    }

    /// Whether the connection is not yet open.
    pub fn is_connecting(&self) -> bool {
        self.recovery.state() == State::Handshake
    }

    /// A SYN is answered `now`, which ends the connection's handshake when the answer is acknowledged. An answer that is sent
    /// again counts as a lost SYN (RFC 5681 section 3.1).
    pub fn on_syn(&mut self, now: Time) {
        if self.recovery.state() == State::Handshake {
            if self.first_syn != Time::NEVER {
                self.rtt.back_off();
            }
            self.first_syn = now;
        }
    }

    /// The connection was accepted by an answer to the SYN that was sent at `echoed`.
    pub fn on_syn_ack(&mut self, now: Time, echoed: Time) {
        if self.recovery.state() != State::Handshake {
            return;
        }
        self.recovery.set_connected(true);
        self.timer.stop();
        let sent_again = self.rtt.backoffs();
        let in_linux = self.connects_as_linux();
        let sent = match sent_again {
            0 => Some(self.first_syn),
            // Which of several SYNs was answered only the timestamp tells (Karn).
            _ => (in_linux && self.timestamps).then_some(echoed),
        };
        if let Some(sent) = sent {
            let rtt = now.since(sent);
            self.rtt.observe(rtt);
            self.rtt.sample(rtt, 0, 0);
            self.control.on_connected(now, rtt);
        } else {
            self.rtt.forget_lost_syn();
        }
        let begins_with_one = if in_linux {
            // `tcp_init_transfer` and `tcp_try_undo_spurious_syn`.
            sent_again > 1 && !(self.timestamps && echoed == self.first_syn)
        } else {
            sent_again > 0
        };
        if begins_with_one {
            self.control.on_syn_lost();
        }
    }

    /// Whether a SYN that was sent again leaves what it does in Linux.
    pub(super) fn connects_as_linux(&self) -> bool {
        self.rtt.constants().handshake == Handshake::Linux
    }

    /// Whether the connection request goes now.
    #[inline(never)]
    pub(super) fn take_syn(&mut self, now: Time) -> bool {
        if !self.syn_due || self.end == 0 {
            return false;
        }
        self.syn_due = false;
        self.first_syn = self.first_syn.min(now);
        self.restart_timeout(now);
        true
    }
}
