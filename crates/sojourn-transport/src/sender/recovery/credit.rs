//! What the control may count of what is delivered while a loss is only suspected.

/// A suspected loss opens no window.
#[derive(Debug)]
pub(super) struct Credit {
    /// Whether what was selectively acknowledged is not in flight while a loss is only suspected.
    conserves: bool,
    /// Segments known to be received of which the control does not know yet, or of which with `conserves` it never will.
    waiting: u32,
}

impl Credit {
    /// Where nothing was delivered.
    pub(super) fn new(conserves: bool) -> Credit {
        Credit { conserves, waiting: 0 }
    }

    /// Whether packets are conserved in disorder.
    #[inline(always)]
    pub(super) fn conserves(&self) -> bool {
        self.conserves
    }

    /// Segments of which the control does not know.
    #[inline(always)]
    pub(super) fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Of the segments that are acknowledged now, duplicate acknowledgements reported `known` before.
    #[inline]
    pub(super) fn on_known(&mut self, known: u32) {
        if self.conserves {
            self.waiting = known;
        }
    }

    /// What is delivered in disorder waits for the next cumulative acknowledgement (RFC 5681 section 3.1, RFC 3042), unless it
    /// `counts` at once.
    #[inline]
    pub(super) fn take(&mut self, counts: bool, delivered: u32) -> u32 {
        if !counts {
            self.waiting += delivered;
            return 0;
        }
        delivered + std::mem::take(&mut self.waiting)
    }

    /// What is delivered in disorder never counts (Linux, also where duplicate acknowledgements without SACK reported it), unless
    /// reordering is common and something has newly come (`tcp_may_raise_cwnd`), which is `progress`, too.
    #[inline]
    pub(super) fn take_conserving(&mut self, progress: bool, delivered: u32) -> u32 {
        let known = std::mem::take(&mut self.waiting);
        if progress { delivered - known } else { 0 }
    }
}
