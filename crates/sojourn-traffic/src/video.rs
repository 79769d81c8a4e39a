//! Adaptive streaming.
//!
//! The player asks for a segment when the one before has arrived and its buffer has room for it. A request is no
//! packet: it reaches the sender after the way back of the base round-trip time. The rate is chosen as dash.js does
//! with its rules `ThroughputRule` and `InsufficientBufferRule`: the highest of the ladder that is neither above a share
//! of the mean throughput of the last segments, nor above a share of that throughput times the segments in the buffer.
//! A segment fills whole packets.

use super::{Action, Activity, Answer, Arrived};
use sojourn_core::{Span, Time};
use sojourn_scenario::Video as Spec;
use std::collections::VecDeque;

/// Sender's application and player of a stream.
#[derive(Debug)]
pub struct Video {
    spec: Spec,
    payload_bytes: u64,
    /// How long a request takes.
    request: Span,
    start: Time,
    /// When the latest segment was or will be asked for, and its place on the ladder.
    asked: Time,
    rung: usize,
    segment_bytes: u64,
    supplied_bytes: u64,
    /// Bits per second of the last segments.
    throughputs: VecDeque<f64>,
    player: Player,
    tally: Tally,
}

/// What plays.
#[derive(Clone, Copy, Debug)]
struct Player {
    state: State,
    /// Play time in the buffer at `now`.
    buffered: Span,
    now: Time,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Starting,
    Playing,
    Stalled,
    Ended,
}

/// What was measured of a stream or of several.
#[derive(Clone, Copy, Default, Debug)]
pub struct Tally {
    /// Segments that arrived.
    pub segments: u64,
    /// Sum of their rates in bit/s.
    pub rates: u64,
    /// Those with another rate than the one before.
    pub switches: u64,
    /// Times at which the buffer ran out.
    pub stalls: u64,
    /// Time without play after the start.
    pub stalled: Span,
    /// Streams that began to play.
    pub started: u64,
    /// Sum of their times from start to play.
    pub startup: Span,
}

impl Tally {
    /// Both together.
    pub fn plus(&self, other: &Tally) -> Tally {
        Tally {
            segments: self.segments + other.segments,
            rates: self.rates + other.rates,
            switches: self.switches + other.switches,
            stalls: self.stalls + other.stalls,
            stalled: self.stalled + other.stalled,
            started: self.started + other.started,
            startup: self.startup + other.startup,
        }
    }
}

impl Player {
    /// Plays until `now`.
    fn advance(&mut self, now: Time, tally: &mut Tally) {
        let elapsed = now.since(self.now);
        match self.state {
            State::Playing if elapsed > self.buffered => {
                self.state = State::Stalled;
                tally.stalls += 1;
                tally.stalled += elapsed - self.buffered;
                self.buffered = Span::ZERO;
            }
            State::Playing => self.buffered -= elapsed,
            State::Stalled => tally.stalled += elapsed,
            State::Starting | State::Ended => {}
        }
        self.now = now;
    }
}

impl Video {
    /// A stream as in `spec`, in packets of `payload_bytes`; a request takes `request` to the sender.
    pub fn new(spec: Spec, payload_bytes: u32, request: Span) -> Video {
        Video {
            throughputs: VecDeque::with_capacity(spec.samples),
            spec,
            payload_bytes: u64::from(payload_bytes),
            request,
            start: Time::ZERO,
            asked: Time::ZERO,
            rung: 0,
            segment_bytes: 0,
            supplied_bytes: 0,
            player: Player { state: State::Starting, buffered: Span::ZERO, now: Time::ZERO },
            tally: Tally::default(),
        }
    }

    /// What was measured up to `now`.
    pub fn tally(&self, now: Time) -> Tally {
        let mut tally = self.tally;
        let mut player = self.player;
        player.advance(now, &mut tally);
        tally
    }

    /// Measures from `now` on.
    pub fn begin_measuring(&mut self, now: Time) {
        self.player.advance(now, &mut self.tally);
        self.tally = Tally::default();
    }

    /// Asks for a segment at `at`.
    fn ask(&mut self, at: Time) -> Answer {
        self.asked = at;
        Answer::new(Action::Nothing, at + self.request)
    }

    /// The place on the ladder for a segment that is asked for with `buffered` in the buffer.
    fn choose(&self, buffered: Span) -> usize {
        if self.throughputs.is_empty() {
            return 0;
        }
        let mean = self.throughputs.iter().sum::<f64>() / self.throughputs.len() as f64;
        let segments = buffered.as_secs_f64() / self.spec.segment.as_secs_f64();
        let most = mean * self.spec.safety.min(self.spec.low_buffer_safety * segments);
        self.spec.ladder.iter().rposition(|rate| rate.bits_per_second() as f64 <= most).unwrap_or(0)
    }
}

impl Activity for Video {
    fn start(&mut self, now: Time) -> Answer {
        self.start = now;
        self.player.now = now;
        self.ask(now)
    }

    /// The request has reached the sender.
    fn on_time(&mut self, _now: Time) -> Answer {
        // The choice was made when it was sent.
        let mut player = self.player;
        player.advance(self.asked, &mut Tally::default());
        let rung = self.choose(player.buffered);
        self.tally.switches += u64::from(self.supplied_bytes > 0 && rung != self.rung);
        self.rung = rung;
        let bytes = self.spec.ladder[rung].bytes_in(self.spec.segment) as u64;
        self.segment_bytes = bytes.max(1).next_multiple_of(self.payload_bytes);
        self.supplied_bytes += self.segment_bytes;
        Answer::new(Action::Supply { bytes: self.supplied_bytes }, Time::NEVER)
    }

    /// A segment is complete.
    fn on_arrived(&mut self, now: Time, _arrived: Arrived) -> Option<Answer> {
        if self.player.state == State::Ended {
            return None;
        }
        self.player.advance(now, &mut self.tally);
        if self.throughputs.len() == self.spec.samples {
            self.throughputs.pop_front();
        }
        self.throughputs.push_back(self.segment_bytes as f64 * 8.0 / now.since(self.asked).as_secs_f64());
        self.tally.segments += 1;
        self.tally.rates += self.spec.ladder[self.rung].bits_per_second();
        if self.player.state == State::Starting {
            self.tally.started += 1;
            self.tally.startup += now.since(self.start);
        }
        self.player.state = State::Playing;
        self.player.buffered += self.spec.segment;
        let wait = (self.player.buffered + self.spec.segment).saturating_sub(self.spec.buffer);
        Some(self.ask(now + wait))
    }

    fn stop(&mut self, now: Time) {
        self.player.advance(now, &mut self.tally);
        self.player.state = State::Ended;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::Rate;

    const SEGMENT: u64 = 4;

    fn video() -> Video {
        let ladder = [1, 2, 4, 8].map(|mbps| Rate::from_bits_per_second(mbps * 1_000_000).unwrap()).to_vec();
        let segment = Span::from_secs(SEGMENT);
        let buffer = Span::from_secs(12);
        let spec = Spec { ladder, segment, buffer, samples: 2, safety: 0.9, low_buffer_safety: 0.7 };
        Video::new(spec, 1000, Span::from_millis(20))
    }

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// The highest rung that is not above 0.9 of the mean throughput, nor above 0.7 of it for each segment in the buffer.
    fn arrived(delivered_bytes: u64) -> Arrived {
        Arrived { connection: 0, delivered_bytes }
    }

    #[test]
    fn the_choice_of_the_rate() {
        let mut video = video();
        assert_eq!(video.choose(Span::from_secs(100)), 0, "nothing is known yet");
        for (throughputs, buffered, rung) in [
            ([4.44e6, 4.44e6], 100, 1),
            ([4.45e6, 4.45e6], 100, 2),
            ([2.0e6, 6.9e6], 100, 2),
            ([5.7e6, 5.7e6], 4, 1),
            ([5.72e6, 5.72e6], 4, 2),
            ([5.7e6, 5.7e6], 5, 2),
            ([11.0e6, 11.0e6], 2, 1),
            ([50.0e6, 50.0e6], 0, 0),
            ([0.1e6, 0.1e6], 12, 0),
        ] {
            video.throughputs = throughputs.into();
            assert_eq!(video.choose(Span::from_secs(buffered)), rung, "{throughputs:?} {buffered} s");
        }
    }

    /// A session by hand: request 20 ms; 500 kB at 1 Mbit/s arrive after 1 s.
    #[test]
    fn a_session_by_hand() {
        let mut video = video();
        assert_eq!(video.start(at(1000)).next, at(1020));
        let answer = video.on_time(at(1020));
        assert_eq!(answer.action, Action::Supply { bytes: 500_000 });
        // 4 Mbit/s: 0.7 of it with one segment there allow 2 Mbit/s. There is room at once.
        assert_eq!(video.on_arrived(at(2000), arrived(500_000)).unwrap().next, at(2020));
        assert_eq!(video.on_time(at(2020)).action, Action::Supply { bytes: 1_500_000 });
        // The buffer ran out at 6 s: 1.5 s of stall. The mean of 4 and 8/5.5 is 2.7 Mbit/s, of which 0.7 allow 1.
        assert_eq!(video.on_arrived(at(7500), arrived(1_500_000)).unwrap().next, at(7520));
        assert_eq!(video.on_time(at(7520)).action, Action::Supply { bytes: 2_000_000 });
        // At once: 7.9 s in the buffer, and 12 have room for 4 more at 7.6 s; the next one fills it.
        assert_eq!(video.on_arrived(at(7600), arrived(2_000_000)).unwrap().next, at(7620));
        video.on_time(at(7620));
        // 11.8 s at 7.7 s: 3.8 s must be played first.
        assert_eq!(video.on_arrived(at(7700), arrived(0)).unwrap().next, at(7700 + 3800 + 20));
        // When it is asked for, two segments are left, and not the three there were.
        video.throughputs = [5.0e6, 5.0e6].into();
        video.spec.safety = 1.0;
        video.spec.low_buffer_safety = 0.35;
        let supplied = video.supplied_bytes;
        assert_eq!(video.on_time(at(11_520)).action, Action::Supply { bytes: supplied + 1_000_000 });
        let tally = video.tally(at(11_520));
        assert_eq!((tally.segments, tally.stalls, tally.stalled), (4, 1, Span::from_millis(1500)));
        assert_eq!((tally.started, tally.startup), (1, Span::from_millis(1000)));
        // 1, 2, 1, then a high one, then 2.
        assert_eq!(tally.switches, 4);
        // The 8 s that are left run out at 19.48 s.
        let later = video.tally(at(20_500));
        assert_eq!((later.stalls, later.stalled), (2, Span::from_millis(1500 + 1000)));
        // The stall that goes on when measuring begins counts from there, and that it began does not.
        video.begin_measuring(at(20_500));
        let rest = video.tally(at(21_500));
        assert_eq!((rest.stalls, rest.stalled, rest.segments), (0, Span::from_secs(1), 0));
        video.stop(at(21_500));
        assert_eq!(video.tally(at(60_000)).stalled, Span::from_secs(1));
        assert!(video.on_arrived(at(60_000), arrived(0)).is_none());
    }
}
