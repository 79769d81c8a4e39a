"""LEDBAT (RFC 6817) as a plug-in: the same decisions as the built-in control's preset `rfc`."""

import math
from collections import deque

import sojourn

MINUTE_NS = 60_000_000_000
BASE_HISTORY = 10
CURRENT_FILTER = 4
INIT_CWND = 2.0
MIN_CWND = 2.0
ALLOWED_INCREASE = 1.0


@sojourn.control("py-ledbat", summary="RFC 6817 in Python", sources=["RFC 6817"])
class Ledbat:
    """Keeps the queueing delay at a target."""

    target = sojourn.time("100 ms", min="100 us", max="10 s", help="queueing delay aimed at (TARGET)")
    gain = sojourn.number(1.0, min=1e-6, max=100.0, help="segments for each round trip without delay (GAIN)")

    def __init__(self, path):
        self.window = min(INIT_CWND, path.initial_window)
        self.ssthresh = math.inf
        self.minima = deque(maxlen=BASE_HISTORY)
        self.minute = None
        self.filter = deque(maxlen=CURRENT_FILTER)
        self.reduced_ns = None

    def on_ack(self, now_ns, newly_acked, flight, window_limited, in_recovery, srtt_ns, one_way_delay_ns):
        queueing = self.queueing_ns(one_way_delay_ns, now_ns, srtt_ns)
        if in_recovery:
            return
        off_target = min(1.0 - queueing / self.target, 1.0)
        step = self.gain * off_target * newly_acked / self.window
        if step <= 0.0 or window_limited:
            self.window += step
        self.window = max(min(self.window, flight + ALLOWED_INCREASE), MIN_CWND)

    def queueing_ns(self, delay_ns, now_ns, srtt_ns):
        minute = now_ns // MINUTE_NS
        if self.minute is None or minute > self.minute:
            self.minima.append(delay_ns)
            self.minute = minute
        self.minima[-1] = min(self.minima[-1], delay_ns)
        self.filter.append((now_ns, delay_ns))
        recent = [delay for taken, delay in self.filter if srtt_ns is None or now_ns - taken <= srtt_ns]
        return min(recent, default=delay_ns) - min(self.minima)

    def on_start(self, start):
        # RFC 5681 section 4.1: where a pause leaves less of the window, that is LEDBAT's own initial window at most.
        if start.window < self.window:
            self.window = min(start.window, INIT_CWND)
        self.ssthresh = start.ssthresh
        self.filter.clear()

    def on_congestion(self, now_ns, signal, repeated, srtt_ns):
        halved = min(self.window, max(self.window / 2, MIN_CWND))
        if signal == "timeout":
            if not repeated:
                self.ssthresh = halved
            self.window = 1.0
        elif self.reduced_ns is None or now_ns - self.reduced_ns >= (srtt_ns or 0):
            self.reduced_ns = now_ns
            self.window = self.ssthresh = halved
