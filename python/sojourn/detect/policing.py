"""Policers in a download: packets are lost where a token bucket is empty, and nothing waits.

A bucket of rate r and burst b passes a packet where what passed before, drained at r, leaves room for it in b: a queue
that nobody sees. At the policer's own rate, this queue is full at each loss. At another rate it is fuller at some
losses than at others, and where losses are chance, at none. So the rate is the one at which losses find it fullest.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sojourn.detect.bandwidth import ALIKE, Carries
from sojourn.detect.log import FlowLog, Times
from sojourn.detect.plan import FULL_BYTES

Places = NDArray[np.intp]
_MIN_LOSSES, _MIN_MOMENTS, _MOMENT_S = 12, 3, 0.5
"""Of fewer losses, or losses at fewer moments of so long, chance makes such a pattern, too."""
_MIN_BURST_BYTES = 4 * FULL_BYTES
_AS_GOOD = 0.01
"""Rates at which losses find the queue nearly as full may be the policer's as well."""
_FULL, _DROPPED = 0.55, 0.1
"""How full the bucket's queue is at losses in the mean, and which part of what comes is lost where it is as full as at
the median loss, at least. Losses by chance may reach the first, since a sender is fastest just before it has to slow
down; their part of what comes stays near their probability."""
_PAIRED = 24
"""Losses between which rates are taken: between two at which the bucket was empty, its rate passed."""
_LEAST_BETWEEN_BYTES = 20 * FULL_BYTES
_MOST, _COARSE = 10.0, 60
"""Besides, so many rates from the mean one to this multiple of it: a policer lets pass at least what passed."""
_AROUND, _STEPS = 12, (2.5e-3, 2.5e-4, 2.5e-5)
"""Around the best rate so many others are tried on both sides, in these parts of it."""


@dataclass(frozen=True)
class Policer:
    """A token bucket that drops what it has no tokens for."""

    rate_bps: float
    """As IP packets."""
    low_bps: float
    high_bps: float
    """Between which it may be."""
    burst_bytes: float
    fullness: float
    """How full the queue that stands for it is at losses, in the mean; 1 is always."""

    def carries(self) -> Carries:
        """Return what the line carries in the long run."""
        return Carries(self.low_bps / 1e6, self.high_bps / 1e6)

    def table(self) -> dict[str, str]:
        """Return it as a scenario has it."""
        return {"rate": f"{self.rate_bps / 1e6:.4g} Mbit/s", "burst": f"{round(self.burst_bytes)} B"}

    def sentence(self) -> str:
        """Return what it is in words."""
        return f"a policer of {self.rate_bps / 1e6:.3g} Mbit/s that lets {self.burst_bytes / 1e3:.3g} kB pass at once"


def policer(log: FlowLog, *, is_before: bool) -> Policer | None:
    """Return the token bucket that explains the losses of a log; None where none does.

    Parameters
    ----------
    log
        The packets of the stream that carries nearly all of the traffic.
    is_before
        Whether the packets were captured behind the policer, so that the times of those that passed are known there.
    """
    came = ~log.lost
    times = (log.received_s if is_before else log.sent_s)[came]
    sizes = log.size_bytes[came].astype(np.float64)
    last = np.cumsum(came)[log.lost] - 1
    last = last[last >= 0]
    if len(last) < _MIN_LOSSES or len(np.unique(times[last] // _MOMENT_S)) < _MIN_MOMENTS:
        return None
    mean = 8 * float(np.sum(sizes)) / float(np.ptp(times))
    rates = [*_between(times, sizes, last), *np.geomspace(mean, _MOST * mean, _COARSE)]
    tried = [_tried(times, sizes, last, one) for one in rates]
    for step in _STEPS:
        _, rate, _ = max(tried)
        tried += [_tried(times, sizes, last, rate * (1 + step * one)) for one in range(-_AROUND, _AROUND + 1)]
    fullness, rate, burst = max(tried)
    as_good = [one for other, one, _ in tried if other >= fullness - _AS_GOOD]
    low, high = min(as_good), max(as_good)
    queue = _queue(times, sizes, rate)
    level = np.median(queue[last])
    lost, passed = np.sum(queue[last] >= level), np.sum(queue >= level)
    if high > ALIKE * low or fullness < _FULL or lost < _DROPPED * (lost + passed):
        return None
    return Policer(rate, low, high, burst, fullness)


def _between(times_s: Times, sizes: Times, last: Places) -> list[float]:
    """Return the rates in bit/s at which packets passed between any two of some losses."""
    places = np.unique(last[np.linspace(0, len(last) - 1, _PAIRED).astype(np.intp)])
    passed, at_s = np.cumsum(sizes)[places], times_s[places]
    one, other = np.triu_indices(len(places), 1)
    size_bytes, seconds = passed[other] - passed[one], at_s[other] - at_s[one]
    known = (size_bytes >= _LEAST_BETWEEN_BYTES) & (seconds > 0)
    return list(8 * size_bytes[known] / seconds[known])


def _tried(times_s: Times, sizes: Times, last: Places, rate_bps: float) -> tuple[float, float, float]:
    """Return how full a bucket of this rate is at losses, the rate, and the bytes that it lets pass at once."""
    queue = _queue(times_s, sizes, rate_bps)
    burst = float(queue.max())
    return float(np.mean(queue[last])) / burst if burst >= _MIN_BURST_BYTES else 0.0, rate_bps, burst


def _queue(times_s: Times, sizes: Times, rate_bps: float) -> Times:
    """Return the bytes that a queue holds which drains at this rate, just after each packet."""
    drained = np.cumsum(sizes) - rate_bps / 8 * (times_s - times_s[0])
    queue: Times = drained - np.minimum.accumulate(drained - sizes)
    return queue
