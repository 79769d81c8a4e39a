//! Proteus-S: PCC Proteus (Meng et al., SIGCOMM 2020) with the utility function of a scavenger.
//!
//! It sends at a rate, without a window. Time is cut into monitor intervals, each with a rate of its own. When all
//! packets of the intervals under judgement are acknowledged or lost, their utility says where the rate goes next: the
//! deviation of the round-trip time within an interval is the sign that somebody else is there.
//! Constants, order of steps and names of states are those of the authors' code (PCC-Uspace: `PccSender`,
//! `PccVivaceSender`, `PccMonitorIntervalQueue`, `PccUtilityManager`).
//!
//! That code numbers packets as it sends them. Here the number of a transmission follows from what a rate sample tells: all that
//! was delivered or lost before it, and what was in flight with it. An interval begins with the acknowledgement that
//! ends the one before, where the code waits for the next packet.

mod decision;
mod descriptor;
mod interval;
#[cfg(test)]
mod tests;
mod utility;

pub use descriptor::DESCRIPTOR;

use crate::control::{Ack, AppLimited, Congestion, Control, Lost, Path, RateSample, Signal, Start};
use crate::replayable::ReplayableRandom;
use alloc::vec::Vec;
use decision::{Judged, Mode, PROBED, RateControl};
use descriptor::Parameters;
use interval::{Arrival, Arrivals, Interval};
use sojourn_core::registry::{ParameterError, Params};
use sojourn_core::{Rate, Span, Stream, Time};
use utility::Utility;

/// Round-trip time that is assumed for the first rate, and at most counts for it (`kInitialRtt`).
const INITIAL_RTT: f64 = 0.1;
/// Part of an interval's samples that must be reliable, or it is prolonged once (`kMinReliabilityRatio`).
const RELIABLE: f64 = 0.8;
/// STARTING ends where the smoothed round-trip time has grown by so many times itself within an interval
/// (`max_rtt_fluctuation_tolerance_ratio_in_starting`).
const INFLATED: f64 = 1.0 + 100.0;
/// Round trips of the rate in flight at most. The code has no window: this only bounds what a dead path is sent.
const FLIGHT: f64 = 2.0;
/// The same in segments where the rate is low.
const LEAST_FLIGHT: f64 = 10.0;

/// The state of Proteus-S.
#[derive(Clone, Debug)]
pub struct ProteusS {
    window: f64,
    segment_bits: f64,
    control: RateControl,
    utility: Utility,
    arrivals: Arrivals,
    /// The intervals under judgement; the last one may still be sent.
    useful: Vec<Interval>,
    /// Whether packets are sent that belong to no interval under judgement, until all of these are known.
    filling: bool,
    /// The rate of the present interval, in bit/s.
    rate: f64,
    /// How long the present interval lasts at least, in seconds.
    duration: f64,
    /// Transmissions so far, and those of them that were judged lost.
    transmitted: u64,
    lost: u64,
    connected: bool,
}

impl ProteusS {
    /// A control with the given parameters.
    ///
    /// # Errors
    /// None: all combinations work.
    pub fn new(params: &Params, path: &Path, random: Stream) -> Result<ProteusS, ParameterError> {
        let declared = Parameters::of(params);
        let segment_bits = f64::from(path.mss_bytes) * 8.0;
        let first = path.initial_window * segment_bits / INITIAL_RTT;
        let min = declared.min_rate.bits_per_second() as f64;
        Ok(ProteusS {
            window: path.initial_window,
            segment_bits,
            control: RateControl::new(first, min, ReplayableRandom::new(random)),
            utility: Utility::new(&declared),
            arrivals: Arrivals::default(),
            useful: Vec::with_capacity(PROBED),
            filling: false,
            rate: first,
            duration: 0.0,
            transmitted: 0,
            lost: 0,
            connected: false,
        })
    }

    /// The first round-trip time: the initial window is spread over it (`OnCongestionEvent`).
    fn connect(&mut self, rtt: f64) {
        self.connected = true;
        if rtt > 0.0 && rtt < INITIAL_RTT {
            self.control.rate *= INITIAL_RTT / rtt;
            self.rate = self.control.rate;
        }
    }

    /// `CheckForRttInflation`.
    fn inflated(&self) -> bool {
        let began = self.useful.last().map_or(0.0, |interval| interval.rtt_at_start);
        self.control.mode == Mode::Starting
            && began > 0.0
            && self.arrivals.latest > self.arrivals.average
            && self.arrivals.average > INFLATED * began
    }

    /// `PccMonitorIntervalQueue::OnCongestionEvent`: accounts for the acknowledgement before this one, whose reliability is
    /// known with this one.
    fn account(&mut self, arrival: Arrival, orderly: bool) {
        let Some(last) = self.arrivals.exchange(arrival) else { return };
        let interval = self.useful.iter_mut().filter(|interval| !interval.known);
        let mut of_newest = None;
        for interval in interval {
            interval.take(&last);
            if interval.contains(last.newest) {
                of_newest = Some(interval);
            }
        }
        if let Some(interval) = of_newest {
            let reliable = self.arrivals.judge(&last, &arrival);
            interval.sample(&last, reliable);
        }
        let transmitted = self.transmitted;
        for interval in self.useful.iter_mut().filter(|interval| !interval.known) {
            interval.known = interval.is_known(transmitted, last.newest, orderly);
            if interval.known && !interval.is_valid() {
                self.useful.clear();
                return;
            }
        }
        if !self.useful.is_empty() && self.useful.iter().all(|interval| interval.known) {
            self.judge();
        }
    }

    /// `OnUtilityAvailable`.
    fn judge(&mut self) {
        let mut judged = [Judged::default(); PROBED];
        for (interval, judged) in self.useful.iter().zip(&mut judged) {
            let seen = interval.statistics(self.segment_bits, self.transmitted);
            *judged = Judged { rate: interval.rate, utility: self.utility.of(&seen) };
        }
        self.control.decide(&judged[..self.useful.len()]);
        self.useful.clear();
    }

    /// `CreateNewInterval`.
    fn may_begin(&mut self, now: Time) -> bool {
        let Some(present) = self.useful.last_mut() else { return true };
        if self.filling || !present.has_enough() || now.since(present.began).as_secs_f64() < self.duration {
            return false;
        }
        if present.reliable_part() <= RELIABLE && !present.prolonged {
            present.prolonged = true;
            self.duration *= 2.0;
            return false;
        }
        true
    }

    fn begin(&mut self, now: Time) {
        if let Some(present) = self.useful.last_mut() {
            present.end(self.transmitted);
        }
        self.duration = self.arrivals.least;
        self.filling = self.useful.len() >= self.control.intervals();
        self.rate = self.control.next_rate(self.useful.len());
        if !self.filling {
            let starting = self.control.mode == Mode::Starting;
            self.useful.push(Interval::new(self.rate, starting, now, self.transmitted, self.arrivals.average));
        }
    }

    fn follow(&mut self) {
        let flight = FLIGHT * self.rate * self.arrivals.average / self.segment_bits;
        self.window = flight.max(LEAST_FLIGHT);
    }

    /// The number of the transmission that `sample` is of.
    fn number(&self, prior_delivered: u64, tx_in_flight: u32, lost_since: u64) -> u64 {
        prior_delivered + u64::from(tx_in_flight) + self.lost.saturating_sub(lost_since)
    }

    fn newest(&self, sample: &RateSample) -> u64 {
        self.number(sample.prior_delivered, sample.tx_in_flight, sample.lost)
    }
}

impl Control for ProteusS {
    /// `PccSender::OnCongestionEvent`, then what `OnPacketSent` does with the next packet.
    fn on_ack(&mut self, ack: &Ack) {
        let Some(sample) = &ack.rate else { return };
        self.transmitted = sample.total_delivered + self.lost + u64::from(sample.in_flight);
        if let Some(rtt) = ack.rtt {
            self.arrivals.on_rtt(rtt.as_secs_f64(), ack.now);
            if !self.connected {
                self.connect(rtt.as_secs_f64());
            }
        }
        if self.inflated() {
            self.useful.clear();
            self.filling = false;
            self.control.leave_starting();
        } else {
            let arrival = Arrival {
                newest: self.newest(sample),
                segments: u64::from(sample.newly_delivered),
                sent: ack.sent,
                rtt: ack.rtt.map(Span::as_secs_f64),
                average: self.arrivals.average,
                gap: if ack.rtt.is_some() { self.arrivals.gap } else { 0.0 },
            };
            self.account(arrival, ack.orderly && !ack.in_recovery);
        }
        if self.arrivals.average > 0.0 && self.may_begin(ack.now) {
            self.begin(ack.now);
        }
        self.follow();
    }

    fn on_connected(&mut self, now: Time, rtt: Span) {
        self.arrivals.on_rtt(rtt.as_secs_f64(), now);
        self.connect(rtt.as_secs_f64());
        self.follow();
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.lost += 1;
        let number = self.number(lost.prior_delivered, lost.tx_in_flight, lost.lost);
        if let Some(interval) = self.useful.iter_mut().find(|interval| !interval.known && interval.contains(number)) {
            interval.lost += 1;
        }
    }

    /// Losses count in the utility only, and marks nowhere: the authors' datagrams asked for none. After a timeout nothing
    /// is known to arrive: one segment asks.
    fn on_congestion(&mut self, event: &Congestion) {
        if matches!(event.signal, Signal::Timeout { .. }) {
            self.window = 1.0;
        }
    }

    /// The rate stays.
    fn on_start(&mut self, _start: &Start) {}

    /// The rate stays.
    fn on_app_limited(&mut self, _limited: &AppLimited) {}

    /// Until the next acknowledgement.
    fn set_window(&mut self, window: f64, _threshold: f64) {
        self.window = window;
    }

    #[inline]
    fn window(&self) -> f64 {
        self.window
    }

    #[inline]
    fn slow_start_threshold(&self) -> f64 {
        f64::INFINITY
    }

    fn is_paced(&self) -> bool {
        true
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        Rate::from_bits_per_second(self.rate.max(1.0) as u64)
    }

    fn wants_rate_samples(&self) -> bool {
        true
    }

    fn probe(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("rate_mbps", self.control.rate / 1e6);
        visit("mode", f64::from(self.control.mode as u8));
        visit("utility", self.control.latest().utility);
        visit("rtt_deviation_ms", self.utility.deviation * 1e3);
    }

    fn retune(&mut self, fresh: &ProteusS) {
        self.control.min = fresh.control.min;
        self.utility.retune(&fresh.utility);
    }

    fn fixed() -> Option<&'static [&'static str]> {
        Some(&[])
    }
}
