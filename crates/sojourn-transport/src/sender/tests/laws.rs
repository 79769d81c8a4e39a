//! What holds at every step of every test, whatever the path does.

use crate::sender::Sender;
use crate::sender::recovery::State;
use sojourn_congestion::{Control, Signal};

/// What was seen of a sender.
#[derive(Debug, Default)]
pub struct Laws {
    /// Before the acknowledgement that is being taken: of how many signals the control was told, and what was taken back.
    before: (usize, u32),
    /// One past the highest segment sent when the window was last reduced, unless that was taken back or a timeout came.
    reduced: Option<u32>,
    /// The proportional reduction under way, by what had been sent when it began, and what it may send beyond what is
    /// delivered: a segment for each acknowledgement, and what the reordering timer found lost.
    step: Option<(u64, u64)>,
    /// Segments judged lost before the timer that goes off.
    judged: u32,
}

impl Laws {
    pub fn before_ack(&mut self, sender: &Sender) {
        self.before = (sender.told.len(), sender.recovery.taken_back);
    }

    /// RFC 5681 section 4.3, RFC 3168 section 6.1.2, RFC 6675 section 5: losses and marks of one window of data reduce the
    /// window once, unless a segment was lost that was sent after that.
    pub fn after_ack(&mut self, sender: &Sender, table: &str) {
        let (told, taken_back) = self.before;
        let (first, next) = (sender.board.first(), sender.board.next());
        if sender.recovery.taken_back > taken_back {
            self.reduced = None;
        }
        if sender.told[told..].iter().any(|(_, lowered)| *lowered) {
            let again = sender.board.lost_end();
            let once = self.reduced.is_none_or(|end| first >= end || again > end) || sender.control.answers_both();
            assert!(once, "two reductions in a window: {:?}, SND.UNA is {first}\n{table}", self.reduced);
            // A repair by a tail loss probe is over with its reduction: Linux takes the loss of another segment that was out by
            // then for a second indication (`tcp_process_tlp_ack`, `tcp_enter_recovery`).
            let by_probe = sender.recovery.state() == State::Open
                && sender.told[told..].iter().any(|(signal, _)| *signal == Signal::Loss);
            self.reduced = (!by_probe).then_some(next);
        }
        self.step = sender.reduction.get().map(|reduction| match self.step {
            Some((began, more)) if began == reduction.sent_before => (began, more + 1),
            _ => (reduction.sent_before, 1),
        });
    }

    /// RFC 9937 section 6.2: a proportional reduction sends at most what was delivered, one more with each acknowledgement,
    /// and the first retransmission. What the reordering timer finds lost leaves room in the window (Linux).
    pub fn after_sending(&mut self, sender: &Sender, table: &str) {
        let Some(reduction) = sender.reduction.get() else { return };
        let Some((_, more)) = self.step.filter(|(began, _)| *began == reduction.sent_before) else { return };
        let sent = sender.transmissions() - reduction.sent_before;
        let most = u64::from(reduction.delivered) + more + 1;
        assert!(
            sent <= most,
            "{sent} sent in a reduction, of {} delivered and {more} more\n{table}",
            reduction.delivered
        );
    }

    pub fn before_timer(&mut self, sender: &Sender) {
        self.judged = sender.board.judgements();
        self.before.1 = sender.recovery.taken_back;
    }

    pub fn after_timer(&mut self, sender: &Sender, timed_out: bool) {
        if timed_out {
            self.reduced = None;
        }
        if let Some((_, more)) = &mut self.step {
            *more += u64::from(sender.board.judgements() - self.judged);
        }
    }
}
