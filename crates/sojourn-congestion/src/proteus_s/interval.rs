//! Monitor intervals, and which round-trip times of them are to be relied on.

#[cfg(not(feature = "std"))]
use sojourn_core::Float as _;
use sojourn_core::Time;

/// Fewest reliable samples of an interval (`kMinReliableRtt`).
const ENOUGH: u32 = 4;
/// A gap between acknowledgements that is so many times out of the usual proportion begins a burst.
const BURST: f64 = 50.0;

/// An acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Number of the newest transmission that it covers.
    pub(super) newest: u64,
    /// How many it covers.
    pub(super) segments: u64,
    /// When the newest was sent.
    pub(super) sent: Time,
    /// Its round-trip time in seconds.
    pub(super) rtt: Option<f64>,
    /// The smoothed round-trip time after it.
    pub(super) average: f64,
    /// Seconds since the acknowledgement before it; zero where nothing is known.
    pub(super) gap: f64,
}

/// Round-trip times in seconds, and how regularly acknowledgements come.
#[derive(Clone, Default, Debug)]
pub(super) struct Arrivals {
    pub(super) latest: f64,
    pub(super) average: f64,
    pub(super) least: f64,
    pub(super) gap: f64,
    at: Option<Time>,
    pending: Option<Arrival>,
    /// Moving average of the proportion between successive gaps, at least 1.
    proportion: Option<f64>,
    burst: bool,
}

impl Arrivals {
    /// `UpdateRtt`.
    pub(super) fn on_rtt(&mut self, rtt: f64, now: Time) {
        self.gap = self.at.map_or(0.0, |at| now.since(at).as_secs_f64());
        self.at = Some(now);
        self.latest = rtt;
        self.average = if self.average == 0.0 { rtt } else { self.average * 0.875 + rtt * 0.125 };
        if self.least == 0.0 || rtt < self.least {
            self.least = rtt;
        }
    }

    /// Keeps `arrival` until the next one, and gives the one before.
    pub(super) fn exchange(&mut self, arrival: Arrival) -> Option<Arrival> {
        self.pending.replace(arrival)
    }

    /// Whether the round-trip time of `last` is to be relied on, now that `next` has come. Where either gap is zero nothing
    /// can be said (the authors divide by it, in whole microseconds).
    pub(super) fn judge(&mut self, last: &Arrival, next: &Arrival) -> bool {
        let Some(rtt) = last.rtt else { return false };
        if last.gap <= 0.0 || next.gap <= 0.0 {
            return false;
        }
        let proportion = (last.gap / next.gap).max(next.gap / last.gap);
        let usual = self.proportion.unwrap_or(proportion);
        let mut reliable = false;
        if proportion > BURST * usual {
            self.burst = true;
        } else if self.burst {
            self.burst = !(self.latest > rtt && rtt < last.average);
        } else {
            reliable = true;
        }
        self.proportion = Some(usual * 0.9 + proportion * 0.1);
        reliable
    }
}

/// A straight line through samples by least squares, from sums about the first of them.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Line {
    count: f64,
    origin: (f64, f64),
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Line {
    pub(super) fn add(&mut self, x: f64, y: f64) {
        if self.count == 0.0 {
            self.origin = (x, y);
        }
        let (x, y) = (x - self.origin.0, y - self.origin.1);
        self.count += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
        self.yy += y * y;
    }

    /// Sums of squares and products about the means: of x, of both, of y.
    fn about_means(&self) -> (f64, f64, f64) {
        let count = self.count.max(1.0);
        (
            (self.xx - self.x * self.x / count).max(0.0),
            self.xy - self.x * self.y / count,
            (self.yy - self.y * self.y / count).max(0.0),
        )
    }

    /// The mean of y.
    pub(super) fn mean(&self) -> f64 {
        self.origin.1 + self.y / self.count.max(1.0)
    }

    /// Change of y with x; zero where x does not change.
    pub(super) fn slope(&self) -> f64 {
        let (xx, xy, _) = self.about_means();
        if xx > 0.0 { xy / xx } else { 0.0 }
    }

    /// Standard deviation of y.
    pub(super) fn deviation(&self) -> f64 {
        self.distance(0.0)
    }

    /// Root mean square of the distance in y to the line with this slope through the means.
    pub(super) fn distance(&self, slope: f64) -> f64 {
        let (xx, xy, yy) = self.about_means();
        ((yy - 2.0 * slope * xy + slope * slope * xx).max(0.0) / self.count.max(1.0)).sqrt()
    }
}

/// A monitor interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    /// The rate it is sent at, in bit/s.
    pub(super) rate: f64,
    pub(super) began: Time,
    /// Smoothed round-trip time when it began, in seconds.
    pub(super) rtt_at_start: f64,
    /// Whether it has been prolonged for lack of reliable samples.
    pub(super) prolonged: bool,
    /// Whether all its packets are known to have arrived or to be lost.
    pub(super) known: bool,
    pub(super) lost: u64,
    starting: bool,
    /// Transmissions before it, and with it once it has ended.
    before: u64,
    with: Option<u64>,
    acked: u64,
    /// Number and time of sending of the first and of the last transmission that were acknowledged alone or as newest.
    sent: Option<[(u64, Time); 2]>,
    samples: u32,
    reliable: u32,
    rtts: Line,
}

/// What an interval has shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Statistics {
    /// Rate at which it was really sent, in Mbit/s.
    pub(super) rate_mbps: f64,
    /// Part of its packets that were lost.
    pub(super) loss: f64,
    /// Seconds for which it was sent.
    pub(super) duration: f64,
    /// Change of the round-trip time, in seconds per second.
    pub(super) gradient: f64,
    /// What that leaves unexplained, as a part of the mean.
    pub(super) error: f64,
    /// Mean round-trip time and its standard deviation, in seconds.
    pub(super) mean: f64,
    pub(super) deviation: f64,
    /// Whether it was sent in STARTING.
    pub(super) starting: bool,
}

impl Interval {
    pub(super) fn new(rate: f64, starting: bool, began: Time, before: u64, rtt_at_start: f64) -> Interval {
        Interval {
            rate,
            began,
            rtt_at_start,
            prolonged: false,
            known: false,
            lost: 0,
            starting,
            before,
            with: None,
            acked: 0,
            sent: None,
            samples: 0,
            reliable: 0,
            rtts: Line::default(),
        }
    }

    /// The last transmission so far is its last.
    pub(super) fn end(&mut self, transmitted: u64) {
        self.with.get_or_insert(transmitted);
    }

    /// Whether transmission `number` belongs to it.
    pub(super) fn contains(&self, number: u64) -> bool {
        number > self.before && self.with.is_none_or(|with| number <= with)
    }

    /// Counts what `arrival` covers of it.
    pub(super) fn take(&mut self, arrival: &Arrival) {
        let first = arrival.newest.saturating_sub(arrival.segments).max(self.before);
        let last = self.with.map_or(arrival.newest, |with| arrival.newest.min(with));
        self.acked += last.saturating_sub(first);
        if self.contains(arrival.newest) {
            let now = (arrival.newest, arrival.sent);
            let sent = self.sent.get_or_insert([now, now]);
            if now.0 > sent[1].0 {
                sent[1] = now;
            }
        }
    }

    /// Counts the round-trip time of `arrival`, the newest transmission of which belongs to it.
    pub(super) fn sample(&mut self, arrival: &Arrival, reliable: bool) {
        let Some(rtt) = arrival.rtt else { return };
        self.samples += 1;
        if reliable {
            self.reliable += 1;
            self.rtts.add(arrival.newest as f64, rtt);
        }
    }

    pub(super) fn has_enough(&self) -> bool {
        self.reliable >= ENOUGH
    }

    pub(super) fn reliable_part(&self) -> f64 {
        f64::from(self.reliable) / f64::from(self.samples.max(1))
    }

    fn transmissions(&self, transmitted: u64) -> u64 {
        self.with.unwrap_or(transmitted).saturating_sub(self.before)
    }

    /// `IsUtilityAvailable`. Without selective acknowledgements what was lost is not told packet by packet: then it is
    /// over when a later packet has arrived and nothing is missing.
    pub(super) fn is_known(&self, transmitted: u64, newest: u64, orderly: bool) -> bool {
        let over = orderly && self.with.is_some_and(|with| newest > with);
        self.has_enough() && (over || self.acked + self.lost >= self.transmissions(transmitted))
    }

    /// Whether its rate can be told: not all that arrived was sent at once (`HasInvalidUtility`).
    pub(super) fn is_valid(&self) -> bool {
        self.sent.is_some_and(|[first, last]| last.0 > first.0 && last.1 > first.1)
    }

    /// `ComputeSimpleMetrics`, `ComputeRttGradient`, `ComputeRttGradientError` and `ComputeRttDeviation`.
    pub(super) fn statistics(&self, segment_bits: f64, transmitted: u64) -> Statistics {
        let [first, last] = self.sent.unwrap_or([(0, Time::ZERO); 2]);
        let rate = (last.0 - first.0) as f64 * segment_bits / last.1.since(first.1).as_secs_f64();
        let transmissions = self.transmissions(transmitted).max(1) as f64;
        let gradient = self.rtts.slope() * self.rate / segment_bits;
        // The residuals are those of the authors' code: about a line that rises by the gradient, in microseconds per
        // microsecond, with each packet, which is nearly level.
        let error = self.rtts.distance(gradient * 1e-6) / self.rtts.mean();
        Statistics {
            rate_mbps: rate / 1e6,
            loss: (self.lost as f64 / transmissions).min(1.0),
            duration: transmissions * segment_bits / rate,
            gradient,
            error,
            mean: self.rtts.mean(),
            deviation: self.rtts.deviation(),
            starting: self.starting,
        }
    }
}
