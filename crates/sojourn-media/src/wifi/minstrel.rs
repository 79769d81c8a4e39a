//! Minstrel-HT: which rate a sender uses, by the acknowledgements that it gets.
//!
//! Linux's net/mac80211/rc80211_minstrel_ht.c since 5.13, with its constants, in its whole arithmetic. Every 50 ms
//! the share of frames that were answered is folded into an average for each rate, and the rates are put into order: four by
//! throughput, one by its probability. An exchange is tried at the best, the second best and the surest rate in turn. Every
//! 20 ms one frame samples another rate: the next faster one of a group, a random faster one, or a slower one. A group is the
//! rates with the same number of spatial streams; width and guard interval are the network's, and not selected.

mod orders;
#[cfg(test)]
mod tests;

use orders::{COLUMNS, ROWS, table};
use sojourn_core::{Span, Stream, Time};
use std::ops::Range;

/// How often rates are put into order.
const UPDATE_INTERVAL: Span = Span::from_millis(50);
/// How often another rate is sampled (MINSTREL_SAMPLE_INTERVAL).
const SAMPLE_INTERVAL: Span = Span::from_millis(20);
/// One, in fractions of whole numbers (MINSTREL_SCALE).
const ONE: i64 = 4_096;
/// Coefficients of the average with its noise filter of period 16: a = exp(-pi sqrt(2)/16), 2 a cos(2 pi sqrt(2)/16) and
/// -a^2; the first is what is missing to one.
const COEFFICIENT_2: i64 = 0x1499;
const COEFFICIENT_3: i64 = -0x92e;
const COEFFICIENT_1: i64 = ONE - COEFFICIENT_2 - COEFFICIENT_3;
/// Weight of the old in the average length of aggregates (EWMA_LEVEL of EWMA_DIV).
const LENGTH_WEIGHT: (i64, i64) = (96, 128);
/// Rates kept by throughput (MAX_THR_RATES).
const BEST: usize = 4;
/// Rates that wait to be sampled for each reason (MINSTREL_SAMPLE_RATES).
const SAMPLES: usize = 5;
/// Time for all tries at one rate, in us, and how many they are at most.
const SEGMENT_MICROS: i64 = 6_000;
const MAX_TRIES: u8 = 7;
/// Tries of an exchange at a rate that hardly ever works.
const FEW_TRIES: u8 = 2;
/// Contention windows and slot by which the tries are reckoned.
const WINDOWS: (i64, i64) = (15, 1_023);
const SLOT_MICROS: i64 = 9;
/// What is reckoned beside a frame's data in us: preamble and acknowledgement with aggregates, the acknowledgement without
/// them, and two control frames for RTS and CTS.
const OVERHEAD_MICROS: i64 = 48 + 60;
const PLAIN_OVERHEAD_MICROS: i64 = 60;
const RESERVATION_MICROS: i64 = 2 * 60;
/// Frames after which a rate that works in less than a quarter of the cases is given up at once.
const SUDDEN_FRAMES: u32 = 30;
/// Bytes of the frame by which rates are compared (AVG_PKT_SIZE).
pub(super) const AVERAGE_BYTES: u32 = 1_200;

/// Parts of [`ONE`].
const fn percent(parts: i64) -> i64 {
    ONE * parts / 100
}

/// Why a rate is sampled.
#[derive(Clone, Copy, Debug)]
enum Reason {
    /// It is the first of its group that is faster than the best.
    Next = 0,
    /// It is any that is faster.
    Jump = 1,
    /// It is slower than the fastest and faster than the slowest of those in use.
    Slow = 2,
}

/// Reasons in turn.
const TURNS: [Reason; 6] = [Reason::Next, Reason::Jump, Reason::Next, Reason::Jump, Reason::Next, Reason::Slow];

/// A rate to choose from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub streams: u32,
    /// Air time of the data of a frame of [`AVERAGE_BYTES`], in ns.
    pub nanos: u64,
}

#[derive(Clone, Debug)]
struct Rate {
    offer: Offer,
    group: usize,
    /// Frames since the last update, and those of them that were answered.
    attempts: u32,
    successes: u32,
    is_tried: bool,
    /// The average of the part that was answered, and the one before it, in parts of [`ONE`].
    probability: i64,
    probability_before: i64,
}

/// The rates at which an exchange is tried, one after the other, and how often each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Series {
    pub rates: [u8; 3],
    tries: [u8; 3],
    /// Whether the first one is a sample, which is not aggregated.
    pub samples: bool,
    /// Tries so far.
    sent: u8,
}

impl Series {
    fn place(&self) -> usize {
        let [first, second, _] = self.tries;
        usize::from(self.sent >= first) + usize::from(self.sent >= first + second)
    }

    /// The rate of the next try.
    pub fn rate(&self) -> usize {
        usize::from(self.rates[self.place()])
    }

    /// Whether the first rate has failed: such tries are preceded by RTS and CTS.
    pub fn falls_back(&self) -> bool {
        self.place() > 0
    }
}

/// What a sender knows of its rates to one receiver.
#[derive(Clone, Debug)]
pub(super) struct Minstrel {
    rates: Vec<Rate>,
    groups: Vec<Range<usize>>,
    /// Whether frames are aggregated.
    aggregates: bool,
    /// By throughput, and the one with the highest probability.
    best: [usize; BEST],
    surest: usize,
    best_of_group: Vec<[usize; BEST]>,
    surest_of_group: Vec<usize>,
    series: Series,
    /// Mean length of aggregates in frames, in parts of [`ONE`]; aggregates and their frames since the last update.
    length: i64,
    bursts: i64,
    frames: i64,
    next_update: Time,
    next_sample: Time,
    turn: usize,
    /// Rates that wait to be sampled for each reason, and the group of the last one.
    samples: [Vec<usize>; 3],
    sampled_group: [usize; 3],
    table: [[u8; ROWS]; COLUMNS],
    /// Where each group is in the table: column and row.
    places: Vec<(usize, usize)>,
}

impl Minstrel {
    /// Nothing is known yet of these rates, which come in order: the groups by their streams, in a group from the slowest.
    pub fn new(offers: &[Offer], aggregates: bool, random: &mut Stream) -> Minstrel {
        let mut rates: Vec<Rate> = Vec::new();
        let mut groups: Vec<Range<usize>> = Vec::new();
        for (index, &offer) in offers.iter().enumerate() {
            match groups.last_mut() {
                Some(group) if rates[group.start].offer.streams == offer.streams => group.end = index + 1,
                _ => groups.push(index..index + 1),
            }
            rates.push(Rate {
                offer,
                group: groups.len() - 1,
                attempts: 0,
                successes: 0,
                is_tried: false,
                probability: 0,
                probability_before: 0,
            });
        }
        let count = groups.len();
        let mut one = Minstrel {
            rates,
            groups,
            aggregates,
            best: [0; BEST],
            surest: 0,
            best_of_group: vec![[0; BEST]; count],
            surest_of_group: vec![0; count],
            series: Series { rates: [0; 3], tries: [FEW_TRIES; 3], samples: false, sent: 0 },
            length: ONE,
            bursts: 0,
            frames: 0,
            next_update: Time::ZERO,
            next_sample: Time::ZERO,
            turn: 0,
            samples: Default::default(),
            sampled_group: [0; 3],
            table: table(random),
            places: vec![(0, 0); count],
        };
        one.update(Time::ZERO);
        one
    }

    /// The rate with the highest throughput.
    pub fn best(&self) -> usize {
        self.best[0]
    }

    /// How the next exchange is tried.
    pub fn choose(&mut self, now: Time) -> Series {
        if now < self.next_sample {
            return self.series;
        }
        self.next_sample = now + SAMPLE_INTERVAL;
        let reason = TURNS[self.turn] as usize;
        self.turn = (self.turn + 1) % TURNS.len();
        if self.samples[reason].is_empty() {
            return self.series;
        }
        let rate = self.samples[reason].remove(0);
        let Series { rates: [_, second, third], tries: [_, many, more], .. } = self.series;
        Series { rates: [rate as u8, second, third], tries: [1, many, more], samples: true, sent: 0 }
    }

    /// A try of an exchange of `frames`, of which `answered` were. It `ends` the exchange where some were, or nothing is left.
    pub fn tried(&mut self, series: &mut Series, frames: u32, answered: u32, ends: bool, now: Time) {
        let rate = &mut self.rates[series.rate()];
        rate.attempts += frames;
        rate.successes += answered;
        series.sent = series.sent.saturating_add(1);
        if !ends {
            return;
        }
        self.bursts += 1;
        self.frames += i64::from(frames);
        // Where several streams have suddenly come to nothing, fewer are used at once.
        let failing = [0, 1].map(|place| self.fails(self.best[place]));
        for (place, _) in failing.iter().enumerate().filter(|(_, fails)| **fails) {
            if let Some(fewer) = self.rates[self.best[place]].group.checked_sub(1) {
                self.best[place] = self.best_of_group[fewer][place];
            }
        }
        if now > self.next_update {
            self.update(now);
        } else if failing.contains(&true) {
            self.series = self.series_of_best();
        }
    }

    fn fails(&self, rate: usize) -> bool {
        let Rate { attempts, successes, .. } = self.rates[rate];
        attempts > SUDDEN_FRAMES && successes < attempts / 4
    }

    /// Puts all rates into order.
    fn update(&mut self, now: Time) {
        if self.bursts > 0 {
            let (weight, parts) = LENGTH_WEIGHT;
            self.length += (parts - weight) * (ONE * self.frames / self.bursts - self.length) / parts;
            (self.bursts, self.frames) = (0, 0);
        }
        self.best = [0; BEST];
        for group in 0..self.groups.len() {
            self.update_group(group);
        }
        self.surest = 0;
        for group in 0..self.groups.len() {
            self.surest_of_group[group] = self.groups[group].start;
            for rate in self.groups[group].clone() {
                self.compare_surest(rate);
            }
        }
        self.reduce_streams();
        self.refill();
        self.series = self.series_of_best();
        self.next_update = now + UPDATE_INTERVAL;
        self.next_sample = now;
    }

    /// The averages of a group's rates, and their order by throughput.
    fn update_group(&mut self, group: usize) {
        let mut faster = 0;
        self.best_of_group[group] = [self.groups[group].start; BEST];
        for index in self.groups[group].clone().rev() {
            let rate = &mut self.rates[index];
            rate.fold();
            // What works at a faster rate works at one that was never tried.
            if rate.is_tried {
                faster = faster.max(rate.probability);
            } else {
                rate.probability = rate.probability.max(faster);
            }
            if self.throughput(index) == 0 {
                continue;
            }
            let mut best = self.best;
            self.insert(index, &mut best);
            self.best = best;
            let mut best = self.best_of_group[group];
            self.insert(index, &mut best);
            self.best_of_group[group] = best;
        }
    }

    /// Puts a rate into its place among the best.
    fn insert(&self, rate: usize, best: &mut [usize; BEST]) {
        let key = |rate: usize| (self.throughput(rate), self.rates[rate].probability);
        let place = best.iter().rposition(|&other| key(rate) <= key(other)).map_or(0, |last| last + 1);
        if place < BEST {
            best[place..].rotate_right(1);
            best[place] = rate;
        }
    }

    /// Whether a rate is surer than the surest of all, or of its group.
    fn compare_surest(&mut self, rate: usize) {
        let (best, one) = (&self.rates[self.best[0]], &self.rates[rate]);
        if best.offer.nanos > one.offer.nanos && one.probability < best.probability {
            return;
        }
        let is_sure = one.probability > percent(75);
        let group = one.group;
        let beats = |other: usize| {
            if is_sure {
                self.throughput(rate) > self.throughput(other)
            } else {
                self.rates[rate].probability > self.rates[other].probability
            }
        };
        let (of_all, of_group) = (beats(self.surest), beats(self.surest_of_group[group]));
        if of_all {
            self.surest = rate;
        }
        if of_group {
            self.surest_of_group[group] = rate;
        }
    }

    /// The surest rate has fewer streams than the best, where there are any.
    fn reduce_streams(&mut self) {
        let streams = self.rates[self.best[0]].offer.streams;
        let mut most = 0;
        for &rate in &self.surest_of_group {
            let throughput = self.throughput(rate);
            if throughput > most && self.rates[rate].offer.streams < streams {
                self.surest = rate;
                most = throughput;
            }
        }
    }

    /// Frames per second times a hundred, were the part that is answered no more than 90 %; none below 10 %.
    fn throughput(&self, rate: usize) -> i64 {
        let rate = &self.rates[rate];
        if rate.probability < percent(10) {
            return 0;
        }
        let nanos = 1_000 * self.overhead() / self.mean_length() + rate.offer.nanos as i64;
        100 * (rate.probability.min(percent(90)) * 1_000_000 / nanos) / ONE
    }

    fn overhead(&self) -> i64 {
        if self.aggregates { OVERHEAD_MICROS } else { PLAIN_OVERHEAD_MICROS }
    }

    /// Whole frames of an aggregate in the mean.
    fn mean_length(&self) -> i64 {
        if self.aggregates { (self.length / ONE).max(1) } else { 1 }
    }

    fn series_of_best(&self) -> Series {
        let rates = [self.best[0], self.best[1], self.surest];
        let tries = [
            self.tries(rates[0], 0),
            self.tries(rates[1], RESERVATION_MICROS),
            self.tries(rates[2], RESERVATION_MICROS),
        ];
        Series { rates: rates.map(|rate| rate as u8), tries, samples: false, sent: 0 }
    }

    /// Tries at a rate that fit into a segment, with `reservation` us before each.
    fn tries(&self, rate: usize, reservation: i64) -> u8 {
        let rate = &self.rates[rate];
        if rate.probability < percent(20) {
            return FEW_TRIES;
        }
        let data = rate.offer.nanos as i64 * self.mean_length() / 1_000;
        let each = self.overhead() + reservation + data;
        let (mut window, largest) = WINDOWS;
        let mut contention = || {
            let micros = SLOT_MICROS * window / 2;
            window = (2 * window + 1).min(largest);
            micros
        };
        let mut time = contention() + contention() + 2 * each;
        let mut tries = 2;
        while tries < MAX_TRIES {
            time += contention() + each;
            if time >= SEGMENT_MICROS {
                break;
            }
            tries += 1;
        }
        tries
    }

    /// Finds rates to sample.
    fn refill(&mut self) {
        let nanos = [self.best[0], self.best[1], self.surest].map(|rate| self.rates[rate].offer.nanos);
        let (fast, slow) = (nanos.into_iter().min().unwrap_or(0), nanos.into_iter().max().unwrap_or(0));
        let rates = &self.rates;
        let nanos_of = |rate: &usize| rates[*rate].offer.nanos;
        let [next, jump, slower] = &mut self.samples;
        next.retain(|rate| nanos_of(rate) < fast);
        jump.retain(|rate| nanos_of(rate) < fast);
        slower.retain(|rate| nanos_of(rate) > fast && nanos_of(rate) < slow);
        while self.samples[Reason::Next as usize].len() < SAMPLES {
            let Some(rate) = self.next_faster(nanos[0]) else { break };
            self.samples[Reason::Next as usize].push(rate);
        }
        while self.samples[Reason::Jump as usize].len() < SAMPLES {
            let Some(rate) = self.next_jump(fast, slow) else { break };
            self.samples[Reason::Jump as usize].push(rate);
        }
    }

    fn waits(&self, reason: Reason, rate: usize) -> bool {
        self.samples[reason as usize].contains(&rate)
    }

    /// The first rate of a group that takes less than `nanos`.
    fn first_below(&self, group: usize, nanos: u64) -> Option<usize> {
        self.groups[group].clone().find(|&rate| self.rates[rate].offer.nanos < nanos)
    }

    /// The first rate of the next group that has one which is faster, and does not wait yet.
    fn next_faster(&mut self, nanos: u64) -> Option<usize> {
        let count = self.groups.len();
        for _ in 0..count {
            let group = (self.sampled_group[Reason::Next as usize] + 1) % count;
            self.sampled_group[Reason::Next as usize] = group;
            let found = self.first_below(group, nanos);
            if let Some(rate) = found.filter(|&rate| !self.waits(Reason::Next, rate)) {
                return Some(rate);
            }
        }
        None
    }

    /// Any faster rate of the next groups. Slower ones that come up on the way are noted.
    fn next_jump(&mut self, fast: u64, slow: u64) -> Option<usize> {
        let count = self.groups.len();
        for _ in 0..count {
            let group = (self.sampled_group[Reason::Jump as usize] + 1) % count;
            self.sampled_group[Reason::Jump as usize] = group;
            let has_room = self.samples[Reason::Slow as usize].len() < SAMPLES;
            let Some(first) = self.first_below(group, if has_room { slow } else { fast }) else { continue };
            let Some(rate) = self.draw(group, first) else { continue };
            let Rate { offer: Offer { nanos, .. }, probability, .. } = self.rates[rate];
            if nanos < fast {
                if !self.waits(Reason::Jump, rate) {
                    return Some(rate);
                }
            } else if has_room && nanos < slow && probability <= percent(95) && !self.waits(Reason::Slow, rate) {
                self.samples[Reason::Slow as usize].push(rate);
            }
        }
        None
    }

    /// The next rate of a group in random order, from `first` on.
    fn draw(&mut self, group: usize, first: usize) -> Option<usize> {
        let range = self.groups[group].clone();
        for _ in 0..ROWS {
            let (column, row) = self.places[group];
            let rate = range.start + usize::from(self.table[column][row]);
            self.places[group] = if row + 1 < ROWS { (column, row + 1) } else { ((column + 1) % COLUMNS, 0) };
            if (first..range.end).contains(&rate) {
                return Some(rate);
            }
        }
        None
    }
}

impl Rate {
    /// What was tried since the last update goes into the average.
    fn fold(&mut self) {
        let (attempts, successes) = (std::mem::take(&mut self.attempts), std::mem::take(&mut self.successes));
        if attempts == 0 {
            return;
        }
        self.is_tried = true;
        let new = (ONE * i64::from(successes) / i64::from(attempts)).max(1);
        if self.probability == 0 {
            (self.probability, self.probability_before) = (new, new);
            return;
        }
        let before = self.probability;
        let sum = COEFFICIENT_1 * new + COEFFICIENT_2 * before + COEFFICIENT_3 * self.probability_before;
        let average = sum >> 12;
        self.probability = if average < 0 { 1 } else { average.min(ONE) };
        self.probability_before = before;
    }
}
