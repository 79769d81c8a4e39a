//! What the receiver of a call makes of its packets.
//!
//! The playout buffer is that of Ramjee, Kurose, Towsley and Schulzrinne, "Adaptive playout mechanisms for packetized
//! audio applications in wide-area networks" (INFOCOM 1994), algorithm 1: a packet is played a smoothed delay and four
//! smoothed deviations after it was sent, and is lost if it has not arrived by then. Theirs moves with each talk spurt;
//! this one, as buffers that stretch and shrink speech can, with each packet.

use super::e_model;
use sojourn_core::Span;
use sojourn_scenario::{Echo, Voip};

/// Weight of the past in the smoothed delay and deviation (Ramjee et al., section 3: 0.998002).
const PAST: f64 = 0.998_002;
/// Deviations between the smoothed delay and the playout (equation 1 of the same).
const DEVIATIONS: f64 = 4.0;
/// Weight of a difference in the interarrival jitter (RFC 3550 section 6.4.1).
const JITTER_GAIN: f64 = 1.0 / 16.0;

/// The receiving end of one direction of a call. Times are in ms.
#[derive(Debug)]
pub struct Call {
    quality: Option<(f64, f64)>,
    echo: Echo,
    codec_delay: f64,
    /// Smoothed delay and deviation of the packets so far.
    estimate: Option<(f64, f64)>,
    last_delay: f64,
    jitter: f64,
    tally: Tally,
}

/// What was measured of a call or of several.
#[derive(Clone, Copy, Default, Debug)]
pub struct Tally {
    /// Packets that arrived.
    pub arrived: u64,
    /// Those that arrived after they should have been played.
    pub late: u64,
    /// Sum of the interarrival jitters at each arrival, in ms.
    pub jitter: f64,
    /// Sum of the delays from mouth to ear, in ms.
    pub mouth_to_ear: f64,
}

impl Call {
    /// The receiving end of `voip`.
    pub fn new(voip: &Voip) -> Call {
        Call {
            quality: voip.quality,
            echo: voip.echo,
            codec_delay: voip.codec_delay().as_millis_f64(),
            estimate: None,
            last_delay: 0.0,
            jitter: 0.0,
            tally: Tally::default(),
        }
    }

    /// A packet has arrived that took `delay`. How long after it was sent it is played, in ms; one that took longer is not.
    pub fn on_packet(&mut self, delay: Span) -> f64 {
        let delay = delay.as_millis_f64();
        // The first packet alone says nothing of deviations: half its delay, as RFC 6298 has it for round trips.
        let (smoothed, deviation) = self.estimate.unwrap_or((delay, delay / 2.0));
        if self.estimate.is_some() {
            self.jitter += ((delay - self.last_delay).abs() - self.jitter) * JITTER_GAIN;
        }
        let playout = smoothed + DEVIATIONS * deviation;
        self.tally.arrived += 1;
        self.tally.late += u64::from(delay > playout);
        self.tally.jitter += self.jitter;
        self.tally.mouth_to_ear += self.codec_delay + playout;
        self.last_delay = delay;
        let smoothed = smoothed + (1.0 - PAST) * (delay - smoothed);
        self.estimate = Some((smoothed, deviation + (1.0 - PAST) * ((delay - smoothed).abs() - deviation)));
        playout
    }

    /// What was measured.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Measures from now on; the playout buffer stays as it is.
    pub fn begin_measuring(&mut self) {
        self.tally = Tally::default();
    }

    /// R of the E-model where `lost` packets were dropped on the way; none where the codec is unknown to it or nothing
    /// was sent.
    pub fn rating(&self, lost: u64) -> Option<f64> {
        self.tally.rating(self.quality?, self.echo, lost)
    }
}

impl Tally {
    /// `sum` over the packets that arrived.
    pub fn mean(&self, sum: f64) -> Option<f64> {
        (self.arrived > 0).then(|| sum / self.arrived as f64)
    }

    /// `count` over all packets that arrived or were among the `lost`.
    pub fn share(&self, count: u64, lost: u64) -> Option<f64> {
        let all = self.arrived + lost;
        (all > 0).then(|| count as f64 / all as f64)
    }

    /// R of the E-model for a codec with Ie and Bpl as in `quality` where `lost` packets were dropped on the way and
    /// the other direction has the same delay; none where nothing was sent.
    pub fn rating(&self, quality: (f64, f64), echo: Echo, lost: u64) -> Option<f64> {
        let delay = self.mean(self.mouth_to_ear).unwrap_or(0.0);
        let loss = self.share(lost + self.late, lost)?;
        Some(e_model::rating(quality, echo, delay, loss))
    }

    /// Adds another.
    pub fn add(&mut self, other: &Tally) {
        self.arrived += other.arrived;
        self.late += other.late;
        self.jitter += other.jitter;
        self.mouth_to_ear += other.mouth_to_ear;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_scenario::Codec;

    fn call() -> Call {
        Call::new(&Voip {
            codec: Codec::named("g711").unwrap(),
            frame: Voip::FRAME,
            payload_bytes: 160,
            quality: Some((0.0, 25.1)),
            echo: Echo::default(),
            spurts: None,
        })
    }

    fn hear(call: &mut Call, millis: impl IntoIterator<Item = u64>) {
        for delay in millis {
            call.on_packet(Span::from_millis(delay));
        }
    }

    /// Delays 50, 66, 50: |D| = 16 twice, J = 1 and then 1 + 15/16.
    #[test]
    fn jitter_by_hand() {
        let mut call = call();
        hear(&mut call, [50, 66, 50]);
        assert_eq!(call.tally.jitter, 0.0 + 1.0 + 1.9375);
    }

    /// First played at 50 + 4 x 25 ms; then smoothed by 0.001998.
    #[test]
    fn playout_by_hand() {
        let mut call = call();
        hear(&mut call, [50, 60]);
        let (delay, deviation) = (50.0, 25.0 * PAST);
        assert!((call.tally.mouth_to_ear - (20.0 + 150.0 + 20.0 + delay + 4.0 * deviation)).abs() < 1e-9);
        let (smoothed, spread) = call.estimate.unwrap();
        assert!((smoothed - (50.0 + 10.0 * (1.0 - PAST))).abs() < 1e-9);
        assert!((spread - (deviation * PAST + (1.0 - PAST) * (60.0 - smoothed))).abs() < 1e-9);
    }

    /// Constant delays are never late however small the deviation has become; a spike then is, and is lost to the ear.
    #[test]
    fn late_is_lost() {
        let mut call = call();
        hear(&mut call, [50; 20_000]);
        assert_eq!(call.tally.late, 0);
        call.begin_measuring();
        hear(&mut call, [50, 80, 50, 50]);
        assert_eq!((call.tally.arrived, call.tally.late), (4, 1));
        let tally = call.tally;
        assert_eq!((tally.share(1 + tally.late, 1), tally.share(0, 0)), (Some(0.4), Some(0.0)));
        assert!((call.rating(1).unwrap() - e_model::rating((0.0, 25.1), Echo::default(), 70.0, 0.4)).abs() < 0.1);
    }

    #[test]
    fn nothing_heard_is_no_rating() {
        assert_eq!(call().rating(0), None);
        assert!(call().rating(10).unwrap() < 20.0);
        let mut unknown = call();
        unknown.quality = None;
        hear(&mut unknown, [50]);
        assert_eq!(unknown.rating(0), None);
    }
}
