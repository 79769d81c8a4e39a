"""What scout knows of its path: base delay, capacity, noise, and the queueing delay it aims at."""

from collections import deque
from functools import reduce
from operator import add

US = 1_000
S = 1_000_000_000
SMALL_BYTES = 20
ESTIMATES = 5
FEWEST_TRAINS, TRAINS = 3, 8
AGREE = 1.25
MAX_ABOVE_RATE = 10.0
FEWEST_SINGLES, MOST_SINGLES, KEPT_SINGLES = 8, 32, 64
ERRORS = 2
BASE_MINUTES = 10
DRIFT = 2_000


def quantile(values, part, of):
    """Return the value at place part/of of all in order; zero of none."""
    ordered = sorted(values)
    return ordered[len(ordered) * part // of] if ordered else 0.0


def shortest(times_ns):
    """Return the shortest of times that vary, and by how much it is too long at most."""
    ordered = sorted(times_ns)
    return ordered[0], ERRORS * 2 * (ordered[len(ordered) // 2] - ordered[0]) // len(ordered)


class PathKnowledge:
    """A part of scout. `trains` are of small segments: what the span of each had beyond a steady rate, and its gaps."""

    def learn(self, path):
        self.mss = float(path.mss_bytes)
        self.header = float(path.header_bytes)
        self.small = float(min(max(SMALL_BYTES, path.smallest_packet_bytes - path.header_bytes), path.mss_bytes))
        self.wire_bits = 8.0 * (self.mss + self.header)
        self.now = 0
        self.minima = deque(maxlen=BASE_MINUTES)
        self.minute = None
        self.base_ns = None
        self.base_delay_ns = self.apart_ns = self.one_way_at = None
        self.trains = deque(maxlen=TRAINS)
        self.counts = deque(maxlen=TRAINS)
        self.lone = deque(maxlen=KEPT_SINGLES)
        self.rates = deque(maxlen=ESTIMATES)
        self.singles = {True: deque(maxlen=KEPT_SINGLES), False: deque(maxlen=KEPT_SINGLES)}
        self.longer = False
        self.by_trains = self.by_rate = self.capacity = 0.0
        self.noise_ns = 0.0
        self.delay_ns = float(self.target)

    def payload_rate(self, rate):
        return max(rate * self.mss / (self.mss + self.header), 1.0)

    def stamp(self, one_way_delay_ns):
        """Return the one-way delay that stamps of a microsecond show."""
        return None if one_way_delay_ns is None else one_way_delay_ns // US * US

    def delay_of(self, rtt_ns, one_way_ns):
        """Return by how much the way there took longer than at first; the round-trip time where there are no stamps."""
        if not rtt_ns:
            return None
        is_shorter = self.base_ns is None or rtt_ns < self.base_ns
        minute = self.now // (60 * S)
        if self.minute is None or minute > self.minute:
            self.minima.append(rtt_ns)
            self.minute = minute
        self.minima[-1] = min(self.minima[-1], rtt_ns)
        self.base_ns = min(self.minima)
        if one_way_ns is None:
            self.base_delay_ns = self.base_ns
            return rtt_ns
        if self.one_way_at is None:
            self.apart_ns, self.base_delay_ns, self.one_way_at = one_way_ns, 0, self.now
        delay_ns = one_way_ns - self.apart_ns
        # The way there was longer by no more than the way there and back; the rest is the clocks'.
        most_ns = 0 if is_shorter else max(self.now - self.one_way_at, 0) // DRIFT
        drift_ns = min(max(delay_ns - (rtt_ns - self.base_ns) - self.base_delay_ns, 0), most_ns)
        self.apart_ns += drift_ns
        self.one_way_at = self.now
        self.base_delay_ns = min(self.base_delay_ns, delay_ns - drift_ns)
        return delay_ns - drift_ns

    def packet_ns(self):
        return self.wire_bits * S / self.capacity if self.capacity > 0.0 else 0.0

    def longest_delay_ns(self):
        return float(self.target) + self.packet_ns()

    def waited(self, delay_ns, own):
        """Return the queueing delay of a segment, whose own time on the link is longer than a small one's by `own`."""
        return max(float(delay_ns - self.base_delay_ns) - own - self.noise_ns, 0.0)

    def own_ns(self):
        return self.packet_ns() * (self.mss - self.small) / (self.mss + self.header)

    def full_window(self):
        """Return what fills the path, with what noise holds in each direction and what waits for an acknowledgement."""
        on_the_way = self.capacity * (self.base_ns + 2.0 * self.noise_ns) / S / self.wire_bits
        return max(on_the_way, 2.0) + float(max(self.counts))

    def is_clear(self):
        return self.by_trains > 0.0

    def is_open(self):
        return not self.is_clear() and (self.longer or 1 <= len(self.trains) < FEWEST_TRAINS)

    def is_unclear(self):
        return not self.is_clear() and not self.is_open()

    def bound_ns(self):
        return 0.5 * self.delay_ns + self.noise_ns

    def told_by_trains(self):
        """Return the rate on which many gaps agree; zero where they do not."""
        gaps = [gap for _, gaps in self.trains for gap in gaps]
        low, high = quantile(gaps, 1, 8), quantile(gaps, 3, 8)
        bound = max(AGREE * low, low + US)
        if len(self.trains) < FEWEST_TRAINS or low <= 0.0 or high > bound:
            return 0.0
        alike = [gap for gap in gaps if low <= gap <= bound]
        total = reduce(add, alike, 0.0)  # one after the other, as `sum` does not do it from Python 3.12 on
        return 8.0 * (self.small + self.header) * S * float(len(alike)) / total

    def settle(self):
        """Full segments may show more than small ones, whose headers weigh more on some links; but not much more."""
        if self.by_trains > 0.0 and not self.by_trains <= self.by_rate <= 1.5 * self.by_trains:
            self.by_rate = self.by_trains
        was_known = self.capacity > 0.0
        self.capacity = self.by_rate if self.is_clear() else max(self.by_rate, self.least())
        self.delay_ns = min(self.delay_ns, self.longest_delay_ns()) if was_known else self.longest_delay_ns()

    def least(self):
        """Return the least capacity by which full segments that are alone can be as early as they are."""
        small, full = self.singles[False], self.singles[True]
        if len(full) < FEWEST_SINGLES or not small:
            return 0.0
        small_ns, error = shortest(small)
        longer_ns = max(min(full) - small_ns, 0) + error
        found = 8.0 * (self.mss - self.small) * S / longer_ns if longer_ns > 0 else 0.0
        return min(found, MAX_ABOVE_RATE * self.by_rate)

    def are_singles_enough(self):
        small, full = self.singles[False], self.singles[True]
        if not small or not full:
            return False
        (small_ns, small_error), (full_ns, full_error) = shortest(small), shortest(full)
        pairs = min(len(small), len(full))
        exact = 2 * (small_error + full_error) <= max(full_ns - small_ns, 0)
        return pairs >= MOST_SINGLES or (pairs >= FEWEST_SINGLES and exact)
