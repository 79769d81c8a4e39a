//! The trait that every control implements, and what the transport tells it.

mod events;

pub use events::{
    Ack, AppLimited, Congestion, Lost, Path, RateSample, Recovered, Repair, Signal, Stage, Start, Undo, Unused,
};

use alloc::string::String;
use alloc::vec::Vec;
use sojourn_core::registry::{Advice, Params};
use sojourn_core::{Rate, Span, Time};

/// A congestion control: how much of a flow may be in flight.
///
/// Windows are in segments of the path's MSS and may be fractional; below one segment the transport
/// sends single segments further apart than a round trip.
///
/// Five methods must be written. All others have the answer of a window-based control that knows its window only: a control
/// overrides a group where it does more.
pub trait Control {
    // What every control has: how it answers acknowledgements and congestion, and what it makes of its window.

    /// New data was acknowledged, cumulatively or selectively.
    fn on_ack(&mut self, ack: &Ack);

    /// Congestion was detected: a loss that starts a recovery episode, an ECN echo (at most one per
    /// round trip), or a retransmission timeout.
    fn on_congestion(&mut self, event: &Congestion);

    /// The congestion window (cwnd) in segments.
    fn window(&self) -> f64;

    /// The slow-start threshold (ssthresh) in segments; infinite before the first congestion.
    fn slow_start_threshold(&self) -> f64;

    /// Sets window and slow-start threshold, in segments, where the transport decides on them and not the control, as a
    /// kernel does above its modules. A control whose window follows from a model may ignore either.
    fn set_window(&mut self, window: f64, threshold: f64);

    // Events of the connection.

    /// The connection was accepted, and that gave the first round-trip time.
    fn on_connected(&mut self, _now: Time, _rtt: Span) {}

    /// The first SYN was not answered in time: the initial window is one segment (RFC 5681 section 3.1).
    fn on_syn_lost(&mut self) {
        self.set_window(1.0, self.slow_start_threshold());
    }

    /// The receiver cannot tell how many segments were marked, as the handshake showed: each echo is one congestion event of
    /// a window of data (RFC 3168), or there will be none. Called before anything else.
    fn on_classic_feedback(&mut self) {}

    /// A new segment is about to be sent while nothing is outstanding, so that no acknowledgement has kept time (Linux:
    /// `CA_EVENT_TX_START`). Not called for the first segment of a connection.
    fn on_start(&mut self, start: &Start) {
        start.unused.leave_of(self);
    }

    /// There is less to send than the window allows. Called when sending ends for that reason, and where the transport
    /// validates windows (RFC 2861) after each retransmission timeout of such a time, then with what it leaves.
    fn on_app_limited(&mut self, limited: &AppLimited) {
        limited.unused.leave_of(self);
    }

    /// The connection ends: nothing is called after this.
    fn on_closed(&mut self, _now: Time) {}

    // Events of loss recovery.

    /// A segment was judged lost. Only controls that want rate samples hear of it: before [`on_ack`](Control::on_ack) of
    /// the acknowledgement that decided, or before [`on_congestion`](Control::on_congestion) of a timeout.
    fn on_lost(&mut self, _lost: &Lost) {}

    /// A repair ended, whichever way: see [`Recovered`]. Not called where it was needless: that is
    /// [`on_undo`](Control::on_undo).
    fn on_recovered(&mut self, _recovered: &Recovered) {}

    /// What led to the last [`on_congestion`](Control::on_congestion) turned out to be no loss: the window is to be what
    /// it was before, and what was sent since may have opened it further.
    fn on_undo(&mut self, undo: &Undo) {
        self.set_window(self.window().max(undo.window), self.slow_start_threshold().max(undo.threshold));
    }

    /// Something is about to be sent while data are outstanding and none of them in flight: what was lost is repaired, and
    /// nothing else has been on its way. Linux tells its modules of this as of any other start (`CA_EVENT_TX_START`).
    fn on_restart_of_repair(&mut self, _start: &Start) {}

    // When and how segments go.

    /// Whether it may ever want its segments [spaced](Control::pacing_rate); asked once for each connection.
    fn is_paced(&self) -> bool {
        false
    }

    /// The rate at which the control wants its segments spaced, if it wants that and [is paced](Control::is_paced).
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Whether the window is too small for a segment, so that nothing more is sent until the retransmission timer has
    /// gone off, which it does also when nothing is outstanding. Other controls send single segments there.
    fn waits_for_timeout(&self) -> bool {
        false
    }

    /// Whether it ever sends segments with less payload than an MSS: only then is
    /// [`segment_bytes`](Control::segment_bytes) looked at.
    fn sends_short_segments(&self) -> bool {
        false
    }

    /// The most payload bytes of the next new segment; an MSS where there is no such bound. Trains of segments small
    /// enough for one quantum of a fair queue leave it together, whoever waits beside them.
    fn segment_bytes(&self) -> Option<u32> {
        None
    }

    // Marks, and how reductions are made.

    /// What it asks of the path's congestion marks.
    fn ecn(&self) -> EcnUse {
        EcnUse::Optional
    }

    /// Whether a loss counts besides a mark of the same window of data (against RFC 3168 section 6.1.2).
    fn answers_both(&self) -> bool {
        self.ecn() != EcnUse::Optional
    }

    /// Whether the window that its last [`on_ack`](Control::on_ack) lowered is to be reached as after a mark: a transport that
    /// reduces in proportion then leads there, and takes what was out for the window that the reduction is of (Linux:
    /// `tcp_enter_cwr`).
    fn reduced(&self) -> bool {
        false
    }

    /// Whether it leads its window itself while losses are repaired and after marks, as modules of Linux with `cong_control` do:
    /// a transport that reduces in proportion then leaves the window to it. Those that follow a model of the path do.
    fn leads_reductions(&self) -> bool {
        self.wants_rate_samples()
    }

    // What it wants to know, and shows.

    /// Whether [`Ack::rate`] must be filled and [`on_lost`](Control::on_lost) be called; it costs the transport some
    /// work per segment.
    fn wants_rate_samples(&self) -> bool {
        false
    }

    /// Shows internal state, as (name, value) pairs with the unit in the name: the same names every time, NaN for what
    /// is not known.
    fn probe(&self, _visit: &mut dyn FnMut(&'static str, f64)) {}

    /// What went wrong inside since the last call; only plug-ins have code that may fail.
    fn take_error(&mut self) -> Option<String> {
        None
    }

    // Its parameters.

    /// What a careful user would not do with these parameters, although it is legal.
    fn advice(_params: &Params) -> Vec<Advice>
    where
        Self: Sized,
    {
        Vec::new()
    }

    /// Takes the parameters of `fresh`, a control of the same kind that has been told of nothing yet. It keeps its window and
    /// what it has measured, as connections do when the parameter of a kernel's module is written. Nothing happens before the
    /// next acknowledgement or loss.
    fn retune(&mut self, _fresh: &Self)
    where
        Self: Sized,
    {
    }

    /// The parameters that [`retune`](Control::retune) leaves as they are: they matter only at the start of a connection, or give
    /// what it remembers its shape. `None` for all.
    fn fixed() -> Option<&'static [&'static str]>
    where
        Self: Sized,
    {
        None
    }
}

/// What a control asks of congestion marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnUse {
    /// Works without them; where they are, its data is sent ECT(0) (RFC 3168).
    Optional,
    /// Cannot do without them, and needs to know of each; its data is sent ECT(0) (RFC 8257).
    Exact,
    /// The same, and its data is sent ECT(1) (RFC 9331).
    Scalable,
}

impl Unused {
    /// Applies it to `control`. Whether that lowered its window.
    pub(crate) fn leave_of<C: Control + ?Sized>(self, control: &mut C) -> bool {
        let before = (control.window(), control.slow_start_threshold());
        let left = self.left(before.0, before.1);
        if left != before {
            control.set_window(left.0, left.1);
        }
        left.0 < before.0
    }
}
