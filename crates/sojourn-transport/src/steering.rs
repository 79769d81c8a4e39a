//! A receiver that steers its sender by the window that it advertises: rLEDBAT (RFC 9840).
//!
//! The sender is any that obeys the receive window. The receiver runs a control of the LEDBAT family on what arrives and
//! grants the smaller of that control's window and its own buffer. In the order of the RFC's section 4:
//! 1. RCV.WND = min(fc.WND, rl.WND) (4.1); a reduction takes back no more than what has just arrived, so that the right edge of the
//!    window never moves to the left (4.1.1); the window travels in units of 2^WS bytes (4.1.2);
//! 2. delays are round-trip times from the receiver and back: an acknowledgement carries TSval, and the first segment that
//!    echoes it gives the sample (4.2); or they are one-way delays, which the control chooses;
//! 3. a segment below the highest one received that was sent after it is a retransmission, and so something was lost (4.3).
//!
//! On the wire here an acknowledgement has the field of the window, 16 bits, and 48 bits of the receiver's clock in ns as TSval.
//! Both stand where acknowledgements otherwise bring the one-way delay, which the sender takes from both stamps then. A data
//! segment has TSecr there.

mod granted;
mod receiving;

pub(crate) use granted::Granted;
pub(crate) use receiving::Steering;

/// Bits of the window field (RFC 9293 section 3.1).
const WINDOW_BITS: u32 = 16;

/// A data segment's [`delay_nanos`](crate::Segment::delay_nanos) where its sender has got no stamp to echo.
const NO_ECHO: i64 = i64::MIN;

/// The clock readings `later` and `earlier`, of which 48 bits travel: how far apart they are, in ns.
fn apart(later: i64, earlier: i64) -> i64 {
    (later.wrapping_sub(earlier) << WINDOW_BITS) >> WINDOW_BITS
}
