"""What one's own download shows of the queue that it crossed: numbers, each with the reason why it says something.

Nothing is sent for it, so it is less than a probe shows: one greedy flow that answers to drops, and perhaps another
flow beside it. Waits are delays above the least that the flow had.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sojourn.detect.log import FlowLog, Times
from sojourn.detect.plan import FULL_BYTES
from sojourn.detect.streams import Stream
from sojourn.detect.waits import (
    FEW,
    NOTHING,
    lag_correlation,
    last_waits,
    log10,
    mean,
    quantile,
    ranks,
    ratio,
    slope_after,
    waiting,
)

REASONS: dict[str, str] = {
    "rate_log": "the logarithm of the rate; buffers and quanta have other effects at other rates",
    "rate_fall": "the rate at the end over that of the begin: a bucket that has run empty",
    "rtt_log": "the logarithm of the base RTT, where it is known: how fast the flow answers to a drop",
    "wait_ms": "the delay that the queue lets a greedy flow build: AQM holds it near a target",
    "wait_packets": "the same in packets, as buffers are often limited",
    "wait_p90_ms": "the tenth that waits longest",
    "wait_max_ms": "the deepest queue: a plain buffer's size, or the overshoot of an AQM",
    "wait_max_packets": "the same in packets",
    "wait_spread": "how far the delay swings: a sawtooth in a plain buffer, little under PIE",
    "wait_standing": "the queue that never empties, over the deepest",
    "wait_early_to_late": "the first delay over the later one: CoDel and PIE let the first burst in",
    "wait_empty": "how often the queue is empty: a small buffer, or an AQM with a low target",
    "loss": "how often the queue drops",
    "marks": "how often it marks",
    "ect": "whether it could mark",
    "loss_episode": "losses at a time: bursts at a full buffer, single ones by a clock or at random",
    "loss_rank": "the delay around a loss among all: highest at tail drop, any with a clock",
    "loss_wait": "the delay around a loss over the deepest: nothing at a policer",
    "loss_wait_spread": "whether losses come at one depth, as at a full buffer, or at many",
    "first_loss_wait": "the delay at the first loss over the deepest",
    "loss_gap_variation": "variation of the gaps between episodes: 1 is at random, less is a clock or a sawtooth",
    "loss_gap_correlation": "whether a long gap follows a long one: a clock that speeds up",
    "loss_per_s": "episodes in a second",
    "loss_slope": "how the delay moves after a loss: head drop shortens the wait of those behind",
    "mark_rank": "the delay around a mark among all delays: marks by a clock, at random, or above a threshold",
    "beside_slope": "how another flow's wait follows the greedy one's: as one in a shared queue, not at all in its own",
    "beside_rest": "how far the two waits differ at the same time: hardly in a shared queue",
    "beside_wait": "the wait of the other flow over the greedy one's",
}
"""Every number and why it says something."""

NAMES = tuple(REASONS)

_WINDOW = 30
_EPISODE_PACKETS = 20
_MIN_BESIDE = 20
# A wait of less counts as none, beside the resolution of the stamps.
_EMPTY_S = 5e-4
# The other flow must be able to follow: the greedy one's wait has to swing by so many times the resolution.
_MIN_SWINGS = 4
_MIN_SWING_S = 2e-3


@dataclass(frozen=True)
class Beside:
    """How another flow of the same direction waited while the greedy one did."""

    name: str
    slope: float
    """By how much its wait changed where the greedy one's changed by one."""
    rest: float
    """How far the difference of both waits swung, over the swing of the greedy one's."""
    wait: float
    """Its median wait over the greedy one's."""
    packets: int


@dataclass(frozen=True)
class Episodes:
    """Losses, those with few packets between them counted as one episode."""

    count: int
    packets: int
    wait_ms: float
    """The median wait of the packets around them."""
    low_ms: float
    high_ms: float
    """Bounds that hold four of five of these waits."""
    gap_ms: float
    """The median time between two of them."""


def episodes(log: FlowLog) -> Episodes:
    """Return when a flow lost packets, and how deep the queue was then; NaN where there was none."""
    first = _episodes(log)
    at_loss = last_waits(waiting(log))[log.lost] * 1e3
    wait_ms, low_ms, high_ms = (quantile(at_loss, fraction) for fraction in (0.5, 0.1, 0.9))
    return Episodes(
        len(first), int(log.lost.sum()), wait_ms, low_ms, high_ms, quantile(np.diff(log.sent_s[first]) * 1e3, 0.5)
    )


def rate_bps(streams: Sequence[Stream]) -> float:
    """Return the rate of the busiest tenth of windows of some packets, of all streams together; NaN for too few."""
    arrived_s = np.concatenate([one.arrived_s for one in streams])
    order = np.argsort(arrived_s, kind="stable")
    arrived_s = arrived_s[order]
    sizes = np.concatenate([one.size_bytes for one in streams])[order]
    if len(sizes) <= 2 * _WINDOW:
        return NOTHING
    total = np.cumsum(sizes)
    seconds = arrived_s[_WINDOW:] - arrived_s[:-_WINDOW]
    known = seconds > 0
    rates = (total[_WINDOW:] - total[:-_WINDOW])[known] * 8 / seconds[known]
    return float(np.quantile(rates, 0.8)) if len(rates) else NOTHING


def beside(greedy: FlowLog, others: Sequence[tuple[str, FlowLog]], resolution_s: float) -> Beside | None:
    """Return how the other flow with most packets waited beside the greedy one; None where that cannot be told."""
    here = ~greedy.lost
    wait = waiting(greedy)
    begin_s, end_s = float(greedy.sent_s[0]), float(greedy.sent_s[-1])
    best: Beside | None = None
    for name, other in others:
        own = ~other.lost & (other.sent_s > begin_s) & (other.sent_s < end_s)
        if own.sum() < max(_MIN_BESIDE, best.packets if best is not None else 0):
            continue
        mine = waiting(other)[own]
        theirs = np.interp(other.sent_s[own], greedy.sent_s[here], wait[here])
        swing = _swing(theirs)
        if swing < max(_MIN_SWINGS * resolution_s, _MIN_SWING_S):
            continue
        slope = float(np.cov(theirs, mine)[0, 1] / np.var(theirs, ddof=1))
        rest = _swing(mine - theirs) / swing
        best = Beside(name, slope, rest, ratio(quantile(mine, 0.5), quantile(theirs, 0.5)), int(own.sum()))
    return best


def _swing(wait: Times) -> float:
    return quantile(wait, 0.9) - quantile(wait, 0.1)


def features(log: FlowLog, rate: float, *, is_ect: bool, rtt_s: float | None, other: Beside | None) -> dict[str, float]:
    """Return all numbers by name; NaN for what could not be seen.

    Parameters
    ----------
    log
        The greedy flow.
    rate
        The rate in bit/s of all flows that share the queue.
    is_ect
        Whether the flow's packets allowed marks.
    rtt_s
        The base RTT in s, where it is known.
    other
        Another flow beside it, where there was one.
    """
    if len(log.sent_s) < FEW or log.lost.all():
        return dict.fromkeys(NAMES, NOTHING)
    packet_s = FULL_BYTES * 8 / rate if rate > 0 else NOTHING
    wait = waiting(log)
    seen = last_waits(wait)
    begin_s, end_s = float(log.sent_s[0]), float(log.sent_s[-1])
    late = log.sent_s >= begin_s + 0.3 * (end_s - begin_s)
    median, deepest = quantile(wait[late], 0.5), quantile(wait, 0.995)
    at_loss = seen[log.lost]
    episodes = _episodes(log)
    gaps = np.diff(log.sent_s[episodes])
    rank = ranks(log, wait)
    values = {
        "rate_log": log10(rate),
        "rate_fall": _fall(log),
        "rtt_log": log10(rtt_s) if rtt_s else NOTHING,
        "wait_ms": log10(median * 1e3),
        "wait_packets": log10(median / packet_s),
        "wait_p90_ms": log10(quantile(wait[late], 0.9) * 1e3),
        "wait_max_ms": log10(deepest * 1e3),
        "wait_max_packets": log10(deepest / packet_s),
        "wait_spread": ratio(quantile(wait[late], 0.9) - quantile(wait[late], 0.1), median),
        "wait_standing": ratio(quantile(wait[late], 0.1), deepest),
        "wait_early_to_late": log10(ratio(quantile(wait[~late], 0.99), median)),
        "wait_empty": mean(wait[~log.lost] < packet_s + _EMPTY_S),
        "loss": log10(mean(log.lost) + 1e-5),
        "marks": log10(mean(log.marked) + 1e-5),
        "ect": float(is_ect),
        "loss_episode": log10(ratio(float(log.lost.sum()), float(len(episodes)))) if len(episodes) else NOTHING,
        "loss_rank": mean(rank[log.lost]),
        "loss_wait": ratio(quantile(at_loss, 0.5), deepest),
        "loss_wait_spread": ratio(quantile(at_loss, 0.9) - quantile(at_loss, 0.1), deepest),
        "first_loss_wait": ratio(float(at_loss[0]), deepest) if len(at_loss) else NOTHING,
        "loss_gap_variation": ratio(float(np.std(gaps)), float(np.mean(gaps))) if len(gaps) >= FEW else NOTHING,
        "loss_gap_correlation": lag_correlation(gaps),
        "loss_per_s": log10(len(episodes) / (end_s - begin_s)),
        "loss_slope": slope_after(wait, log.lost, packet_s),
        "mark_rank": mean(rank[log.marked]),
        "beside_slope": float(np.clip(other.slope, -1, 3)) if other is not None else NOTHING,
        "beside_rest": min(other.rest, 3.0) if other is not None else NOTHING,
        "beside_wait": other.wait if other is not None else NOTHING,
    }
    return {name: float(values[name]) for name in NAMES}


def vector(values: dict[str, float]) -> Times:
    """Return the values in the order of `NAMES`."""
    return np.array([values[name] for name in NAMES], dtype=np.float64)


def _episodes(log: FlowLog) -> NDArray[np.int64]:
    """Return the first loss of each group of losses with few packets between them."""
    places = np.flatnonzero(log.lost)
    return places[np.diff(places, prepend=-_EPISODE_PACKETS - 1) > _EPISODE_PACKETS]


def _fall(log: FlowLog) -> float:
    """Return the logarithm of the rate of the last third over that of the first, the very begin left out."""
    came = ~log.lost
    begin_s, end_s = float(log.sent_s[0]), float(log.sent_s[-1])
    edges = float(np.nanmin(log.delay_s)) + begin_s + (end_s - begin_s) * np.array([0.1, 0.35, 0.65, 1.0])
    sums, _ = np.histogram(log.received_s[came], edges, weights=log.size_bytes[came])
    rates = sums / np.diff(edges)
    return log10(ratio(float(rates[2]), float(rates[0])))
