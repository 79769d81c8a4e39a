//! scout: a scavenger that asks whether anybody else has a backlog, and sends while nobody has.
//!
//! docs/controls/scout.md is its specification, with the reason of each constant. A train of packets answers the question in a
//! single queue, where it waits, and in a fair queue, where it disperses. At rest a knock (one small segment) keeps time
//! for the next probe: a train of small segments, which shows base delay, queueing delay and capacity, and then one of
//! full segments at that rate, whose last packets are late where somebody else is served between them. After two clean
//! trains of full segments a turn begins.

mod base;
mod descriptor;
mod path;
mod singles;
#[cfg(test)]
mod tests;
mod train;
mod turn;

use alloc::boxed::Box;
pub use descriptor::DESCRIPTOR;
use descriptor::Parameters;

use crate::control::{Ack, Congestion, Control, Path, Recovered, Signal, Start};
use path::{MILLISECOND, PathKnowledge, SECOND};
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Rate, Span, Stream};
use train::{Purpose, Train};
use turn::{Outcome, Turn};

/// The first pause, unless four round trips are longer.
const FIRST_PAUSE: f64 = 250.0 * MILLISECOND;
/// A train of full segments lasts so long, or so many times the noise.
const TRAIN: f64 = MILLISECOND;
/// The longest pause is so many times as long as a train of full segments that noise has lengthened.
const PAUSE_PER_TRAIN: f64 = 200.0;
/// The first train of full segments doubles so often at most.
const DOUBLINGS: u32 = 10;
/// Acknowledgements of a train of full segments that are more than enough.
const ENOUGH: usize = 8;
/// The part of its own time by which the end of a train may be later than its beginning.
const GROWTH: f64 = 0.3;
/// RFC 6928.
const INITIAL_WINDOW: f64 = 10.0;

/// The state of scout.
#[derive(Clone, Debug)]
pub struct Scout {
    window: f64,
    threshold: f64,
    pacing: Option<f64>,
    small: bool,
    now: u64,
    path: PathKnowledge,
    state: State,
    /// The last pause, which the next one doubles.
    pause: f64,
    /// Whether the last train of full segments was clean.
    clean: bool,
    /// What follows the knock.
    next: Next,
    /// How often the first train of full segments has doubled its rate.
    doubled: u32,
    /// How often trains of full segments have doubled their length, so that they give two acknowledgements.
    lengthened: u32,
    /// Whether the rate of full segments is to be measured anew.
    anew: bool,
    /// The queueing delay at the head of the last small train.
    head: f64,
    random: Stream,
    settings: Settings,
}

#[derive(Clone, Debug)]
enum State {
    /// A train is under way.
    Train(Train),
    /// Nothing is sent until all is acknowledged; then a knock.
    Drain,
    /// A knock is on its way, and a pause has begun.
    Knock,
    /// Losses are repaired; then a drain.
    Repair,
    /// It sends.
    Turn(Box<Turn>),
}

/// What follows a knock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// A small train.
    Small,
    /// What is missing where small trains do not tell the capacity; the knock is one of the segments that are alone.
    Unclear,
    /// The second train of full segments.
    Full,
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    initial_window: f64,
    longest_pause: f64,
    turn: f64,
}

impl Scout {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// None: all combinations work.
    pub fn new(params: &Params, path: &Path, random: Stream) -> Result<Scout, ParameterError> {
        let declared = Parameters::of(params);
        let nanos = |span: Span| span.as_nanos() as f64;
        let mut scout = Scout {
            window: 0.0,
            threshold: f64::INFINITY,
            pacing: None,
            small: true,
            now: 0,
            path: PathKnowledge::new(nanos(declared.target), path),
            state: State::Drain,
            pause: 0.0,
            clean: false,
            next: Next::Small,
            doubled: 0,
            lengthened: 0,
            anew: false,
            head: 0.0,
            random,
            settings: Settings {
                initial_window: path.initial_window.clamp(1.0, INITIAL_WINDOW),
                longest_pause: nanos(declared.pause),
                turn: nanos(declared.turn),
            },
        };
        scout.send_train(Purpose::Small, scout.path.small_train());
        Ok(scout)
    }

    fn send_train(&mut self, purpose: Purpose, packets: u32) {
        self.window = f64::from(packets);
        self.small = purpose == Purpose::Small;
        self.pacing = (purpose == Purpose::Full).then(|| self.path.payload_rate(self.path.capacity));
        self.state = State::Train(Train::new(purpose, packets));
    }

    fn send_full_train(&mut self) {
        let longest = self.settings.longest_pause / PAUSE_PER_TRAIN;
        let length = TRAIN.max((train::NOISES * self.path.noise()).min(longest));
        let packets = self.path.packets_in(length, f64::from(train::LONGEST));
        let packets = (packets - packets % 2).max(train::SHORTEST) << self.lengthened;
        let packets = packets * if self.clean { 2 } else { 1 };
        self.send_train(Purpose::Full, packets.min(train::LONGEST));
    }

    /// The sender paces one segment of the knock's rate: the pause until the next one.
    fn rest(&mut self, pause: f64, state: State) {
        self.window = 0.5;
        self.small = true;
        self.pacing = Some((self.path.payload_bits() * SECOND / pause.max(1.0)).max(1.0));
        self.state = state;
    }

    fn next_pause(&mut self) -> f64 {
        let first = (4.0 * self.path.base()).max(FIRST_PAUSE);
        self.pause = (2.0 * self.pause).max(first).min(self.settings.longest_pause);
        self.pause * self.random.uniform_between(0.5, 1.0)
    }

    fn drain(&mut self) {
        self.clean = false;
        self.next = Next::Small;
        let pause = self.next_pause();
        self.rest(pause, State::Drain);
    }

    fn stay(&mut self) {
        self.clean = false;
        self.next = Next::Small;
        let pause = self.next_pause();
        self.rest(pause, State::Knock);
    }

    fn repair(&mut self) {
        self.clean = false;
        self.small = true;
        self.pacing = None;
        self.state = State::Repair;
    }

    fn judge_train(&mut self, train: &Train) {
        self.path.on_count(train.at_once());
        // A first train is meant to exceed the link.
        if train.samples().is_empty() || (train.lossy && train.purpose != Purpose::First) {
            self.stay();
            return;
        }
        match train.purpose {
            Purpose::Small => self.judge_small(train),
            Purpose::First => self.judge_first(train),
            Purpose::Full => self.judge_full(train),
        }
    }

    fn judge_small(&mut self, train: &Train) {
        self.path.on_small_train(train.samples());
        self.head = match train.samples() {
            [one] => self.path.waited_as_one(train.packets, one.delay),
            _ => self.path.waited(train.head_delay(), 0.0),
        };
        if self.head > self.path.bound() {
            self.stay();
        } else if self.path.is_clear() {
            self.send_full_train();
        } else if self.path.is_open() {
            self.knock_soon(Next::Small);
        } else {
            self.single(true);
        }
    }

    /// One segment alone, after a short pause.
    fn single(&mut self, full: bool) {
        let pause = 0.5 * self.path.base() * self.random.uniform_between(0.0, 1.0);
        self.rest(pause, State::Knock);
        self.next = Next::Unclear;
        self.small = !full;
    }

    fn knock_soon(&mut self, next: Next) {
        let pause = self.path.base() * self.random.uniform_between(0.5, 2.0);
        self.rest(pause, State::Knock);
        self.next = next;
    }

    /// Small trains do not tell the capacity.
    fn go_on_unclear(&mut self) {
        if !self.path.singles.are_enough() {
            self.single(self.small);
        } else if self.anew || !self.path.has_rates() {
            self.send_first_train();
        } else {
            self.send_full_train();
        }
    }

    /// As slow start does, from 10 segments in a round trip on; the first is sent at once.
    fn send_first_train(&mut self) {
        let segments = train::FIRST << self.doubled;
        self.send_train(Purpose::First, segments.min(train::LONGEST));
        if self.doubled > 0 {
            let rate = self.path.rate(f64::from(segments), self.path.base().max(1.0));
            self.pacing = Some(self.path.payload_rate(rate));
        }
    }

    fn judge_first(&mut self, train: &Train) {
        let told = self.path.on_first_train(train.samples(), train.packets == train::LONGEST);
        if told {
            self.anew = false;
        } else if self.doubled < DOUBLINGS && !train.lossy {
            self.doubled += 1;
        } else {
            self.doubled = 0;
            self.stay();
            return;
        }
        self.knock_soon(Next::Unclear);
    }

    fn judge_full(&mut self, train: &Train) {
        match train.samples().len() {
            0..=1 if train.packets < train::LONGEST => {
                self.lengthened += 1;
                self.knock_soon(Next::Full);
                return;
            }
            ENOUGH.. => self.lengthened = self.lengthened.saturating_sub(1),
            _ => {}
        }
        let own = self.path.own();
        let tail = self.path.waited(train.tail_delay(), own);
        let alone = train.samples().len() < 2;
        let head = if alone { self.head } else { self.path.waited(train.head_delay(), own) };
        let length = f64::from(train.packets) * self.path.packet();
        if head > self.path.bound() || tail - head > GROWTH * length {
            self.anew = tail - head > GROWTH * length && self.path.is_by_rate();
            self.stay();
        } else if self.clean {
            self.begin_turn();
        } else {
            self.clean = true;
            self.knock_soon(Next::Full);
        }
    }

    fn begin_turn(&mut self) {
        self.clean = false;
        self.small = false;
        self.window = self.settings.initial_window;
        self.threshold = self.path.full_window();
        self.state = State::Turn(Box::new(Turn::new(self.now, self.settings.turn, &mut self.random)));
        self.pace(self.path.base());
    }

    #[inline]
    fn pace(&mut self, rtt: f64) {
        let rate = (1.05 * self.path.capacity).min(self.path.rate(1.25 * self.window, rtt.max(1.0)));
        self.pacing = Some(self.path.payload_rate(rate));
    }

    fn leave(&mut self, in_recovery: bool) {
        if in_recovery { self.repair() } else { self.drain() }
    }

    #[inline]
    fn on_turn(&mut self, ack: &Ack, delay: Option<i64>) {
        let State::Turn(turn) = &mut self.state else { return };
        let own = self.path.own();
        let waited = delay.map(|delay| self.path.waited(delay as f64, own));
        if turn.on_ack(ack, waited) {
            let outcome = turn.judge(self.now, &mut self.path, self.window, &mut self.threshold);
            if turn.is_old() {
                self.pause = 0.0;
            }
            if outcome != Outcome::Stays {
                if outcome == Outcome::TurnEnds {
                    self.pause = 2.0 * FIRST_PAUSE;
                }
                self.leave(ack.in_recovery);
                return;
            }
        }
        turn.adjust(ack, &self.path, &mut self.window, &mut self.threshold);
        self.pace(ack.smoothed_rtt.as_nanos() as f64);
    }
}

impl Control for Scout {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.now = ack.now.as_nanos();
        let delay = self.path.delay_of(ack);
        match &mut self.state {
            State::Turn(_) => self.on_turn(ack, delay),
            State::Repair => {
                if self.window < self.threshold {
                    self.window += f64::from(ack.newly_acked);
                }
            }
            State::Drain => {
                if ack.flight - f64::from(ack.newly_acked) < 0.5 {
                    self.state = State::Knock;
                }
            }
            State::Knock if ack.newly_acked > 0 => {
                if let Some(delay) = delay.filter(|_| self.path.is_unclear()) {
                    self.path.on_single(delay, !self.small);
                }
                match self.next {
                    Next::Small => self.send_train(Purpose::Small, self.path.small_train()),
                    Next::Unclear => self.go_on_unclear(),
                    Next::Full => self.send_full_train(),
                }
            }
            State::Knock => {}
            State::Train(train) => {
                train.on_ack(ack, delay);
                self.window = f64::from(train.left()).max(0.5);
                if train.left() == 0 {
                    let State::Train(train) = core::mem::replace(&mut self.state, State::Knock) else { return };
                    self.judge_train(&train);
                }
            }
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.now = event.now.as_nanos();
        let timeout = matches!(event.signal, Signal::Timeout { .. });
        match &mut self.state {
            State::Turn(turn) if !timeout => {
                turn.lose(&mut self.path, &mut self.window, &mut self.threshold);
                self.pace(self.path.base());
            }
            State::Train(train) if !timeout => {
                train.lossy = true;
                self.window = self.window.max(2.0);
            }
            State::Repair if !timeout => {}
            _ => {
                self.threshold = (event.flight / 2.0).max(2.0);
                self.window = if timeout { 1.0 } else { self.threshold };
                self.repair();
            }
        }
    }

    fn on_recovered(&mut self, _recovered: &Recovered) {
        if matches!(self.state, State::Repair) {
            self.drain();
        }
    }

    /// A pause is part of the plan.
    fn on_start(&mut self, _start: &Start) {}

    /// Only a turn has a window that can be given back; a repair that was needless ends.
    fn set_window(&mut self, window: f64, threshold: f64) {
        match self.state {
            State::Turn(_) => self.window = window.max(1.0),
            State::Repair => self.drain(),
            State::Train(_) | State::Drain | State::Knock => {}
        }
        self.threshold = threshold;
    }

    #[inline]
    fn window(&self) -> f64 {
        self.window
    }

    #[inline]
    fn slow_start_threshold(&self) -> f64 {
        self.threshold
    }

    fn is_paced(&self) -> bool {
        true
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing.and_then(|bits| Rate::from_bits_per_second(bits as u64))
    }

    fn sends_short_segments(&self) -> bool {
        true
    }

    #[inline]
    fn segment_bytes(&self) -> Option<u32> {
        self.small.then(|| self.path.small_bytes())
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let turn = if let State::Turn(turn) = &self.state { Some(turn) } else { None };
        visit("capacity_mbps", self.path.capacity / 1e6);
        visit("noise_ms", self.path.noise() / MILLISECOND);
        visit("target_ms", self.path.delay / MILLISECOND);
        visit("going", f64::from(u8::from(turn.is_some())));
        visit("score", turn.map_or(f64::NAN, |turn| turn.score));
    }

    fn retune(&mut self, fresh: &Scout) {
        self.settings = fresh.settings;
        self.path.retune(&fresh.path);
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&[])
    }
}
