"""Whether a link sent at its rate while packets waited: in real time a machine may be too slow for that.

A shaper that works never idles beside a waiting packet. A packet that waits does so while those before it are on the
wire, so the time in which any packet waited, times the rate, is at most what was sent. Where it is more, the shaper's
timers came late, and goodput, shares and delays are those of a slower link than the record says.

Tolerated are 3 % and two full packets. HTB and TBF count in nanoseconds and keep their rate far better. Comparisons of
a kernel with the simulation take goodputs within 3 % as alike (tests/test_testbed_world.py), so a link that lost less
cannot make a difference of what is none. The packets are what a shaper may hold ahead, and what was on the wire when
the rate changed.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sojourn.worlds.linux.crossing import Crossing

TOLERATED = 0.03
"""Share of what a link had to send that it need not have sent."""
SLACK_BITS = 2 * 1500 * 8

REMEDY = (
    "the machine was too slow for this rate in real time, as its timers came late. The kernel uml-virtual is exact on "
    "any machine; to have it: sojourn testbed build-kernel"
)
"""What limited a link, and what to do."""

Sendable = Callable[[Any], Any]
"""Bits that a link can send from the start of the run until each of some times in s."""


def sendable(rates: Sequence[tuple[float, float]]) -> Sendable:
    """Return what a link can send that has rates in bit/s, each from a time in s on."""
    starts_s, rates_bps = (np.array(column) for column in zip(*rates, strict=True))
    before_bits = np.concatenate([[0.0], np.cumsum(np.diff(starts_s) * rates_bps[:-1])])

    def bits(at_s: Any) -> Any:
        place = np.maximum(np.searchsorted(starts_s, at_s, side="right") - 1, 0)
        return before_bits[place] + (at_s - starts_s[place]) * rates_bps[place]

    return bits


def owed_bits(at: Crossing, until_bits: Sendable) -> float:
    """Return what a link can send in the time in which any packet waited that has left."""
    passed = ~np.isnan(at.left_s)
    order = np.argsort(at.entered_s[passed], kind="stable")
    entered_s, left_s = at.entered_s[passed][order], at.left_s[passed][order]
    # Until when those before have waited: the union of all waits is the sum of what each adds.
    waited_s = np.maximum.accumulate(left_s)
    begin_s = np.maximum(entered_s, np.r_[-np.inf, waited_s[:-1]]) if len(left_s) else left_s
    return float((until_bits(waited_s) - until_bits(np.minimum(begin_s, waited_s))).sum())


def shortfall(owed: float, sent: float) -> str | None:
    """Say how much less than it had to a link sent, in bits; None where it is within what is tolerated."""
    if owed <= sent * (1 + TOLERATED) + SLACK_BITS:
        return None
    return f"sent only {sent / owed:.0%} of what its rate allows while packets waited in its queue: {REMEDY}"
