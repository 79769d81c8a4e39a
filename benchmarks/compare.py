"""Differences between two samples of runs, held against a tolerance and against their noise."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

# Beyond so many standard errors a difference is hardly chance.
NOISE = 2.0

Scale = Literal["relative", "absolute", "milliseconds"]


@dataclass(frozen=True)
class Metric:
    """What is compared, and how large a difference may be."""

    name: str
    scale: Scale
    """Whether the tolerance is a part of the peer's mean, or in the metric's own unit: a part, or ms."""
    tolerance: float
    digits: int


QUEUES = (
    Metric("queue_packets_mean", "relative", 0.10, 2),
    Metric("utilization", "absolute", 0.01, 4),
    Metric("drops", "relative", 0.15, 1),
    Metric("marks", "relative", 0.15, 1),
    Metric("share_1", "absolute", 0.03, 3),
)
CONTROLS = (
    Metric("queue_packets_mean", "relative", 0.15, 2),
    Metric("share_1", "absolute", 0.05, 3),
)
# Short times go by the packet, which takes 1.2 ms at the rate of these points.
DELAYS = (
    Metric("queue_ms_p10", "milliseconds", 1.2, 1),
    Metric("queue_ms_p25", "milliseconds", 1.2, 1),
    Metric("queue_ms_p50", "relative", 0.15, 1),
    Metric("queue_ms_p75", "relative", 0.15, 1),
    Metric("queue_ms_p90", "relative", 0.15, 1),
)
# Counts below this in both simulators are nothing to compare.
FEW = 1.0


def sample(values: Sequence[float]) -> dict[str, Any]:
    """Return mean, sample standard deviation and count."""
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return {"mean": mean, "sd": math.sqrt(squares / max(1, len(values) - 1)), "n": len(values)}


def compare(metric: Metric, ours: Sequence[float], theirs: Sequence[float]) -> dict[str, Any]:
    """Return both samples, their difference, and whether they agree.

    `difference` is None where it would be relative to nothing. `errors` is the difference in standard errors of itself
    (None where neither sample varies), `blind` says that the noise is too large for the tolerance: its two-sided 95 %
    range does not fit in.
    """
    mine, other = sample(ours), sample(theirs)
    difference = mine["mean"] - other["mean"]
    error = math.sqrt(mine["sd"] ** 2 / mine["n"] + other["sd"] ** 2 / other["n"])
    relative = metric.scale == "relative"
    allowed = metric.tolerance * (abs(other["mean"]) if relative else 1.0)
    return {
        "metric": metric.name,
        "ours": mine,
        "theirs": other,
        "difference": difference if not relative else difference / other["mean"] if other["mean"] else None,
        "tolerance": metric.tolerance,
        "errors": difference / error if error > 0 else None,
        "agrees": abs(difference) <= allowed,
        "blind": NOISE * error > allowed,
    }
