"""The ideal strip: short delay, best effort first, and a link that low priority can fill when nobody else does.

Gong et al. (2014) ask for a short queue and for best effort's priority at the same time. A control that never sends
has both, so a fourth condition is needed here: what low priority reaches when it is alone.

Three runs of one scenario are compared: with both classes, with best effort alone and with low priority alone. A
record of a run is what `Run.record()` gives, read as a dictionary.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from sojourn.data import metrics
from sojourn.data.statistics import Statistic, statistic

DELAY, SHARE, UTILIZATION, ALONE = "delay_ms", "share", "utilization", "alone"
CONDITIONS = (DELAY, SHARE, UTILIZATION, ALONE)


@dataclass(frozen=True)
class Bounds:
    """What the four conditions ask for."""

    delay_ms: float = 20.0
    """The mean queueing delay of the sparse flow stays below."""
    share: float = 0.90
    """Best effort's part of the goodput of both classes lies above."""
    utilization: float = 0.95
    """The link's utilization lies above this part of what best effort alone reaches."""
    alone: float = 0.90
    """The link's utilization with low priority alone lies above."""


BOUNDS = Bounds()


@dataclass(frozen=True)
class Classes:
    """The names of the groups that play the three parts."""

    best_effort: str = "tcp"
    low_priority: str = "background"
    sparse: str = "sparse"


CLASSES = Classes()


@dataclass(frozen=True)
class Place:
    """Where a remedy stands in one run. What was not measured is None."""

    delay_ms: float | None
    """Mean queueing delay of the sparse flow."""
    delay_ms_p99: float | None
    """Its 99th percentile: shown, not judged."""
    share: float | None
    """Best effort's part of the goodput of both classes; None where neither got anything."""
    utilization: float | None
    """With both classes, over that with best effort alone; None where best effort alone sends nothing."""
    alone: float | None
    """With low priority alone."""


def place(
    both: Mapping[str, Any],
    best_effort: Mapping[str, Any],
    low_priority: Mapping[str, Any],
    classes: Classes = CLASSES,
) -> Place:
    """Return the place that three runs give: with both classes, best effort alone and low priority alone.

    Raises KeyError where the run with both classes lacks one of the two; the sparse flow may be missing.

    >>> def run(utilization, **groups):
    ...     return {"bottleneck": {"utilization": utilization}, "groups": groups}
    >>> tcp, background = {"goodput_mbps": 3.6}, {"goodput_mbps": 0.2}
    >>> sparse = {"queue_ms": {"mean": 4.0, "p99": 11.0}}
    >>> place(run(0.97, tcp=tcp, background=background, sparse=sparse), run(0.97), run(0.93))
    Place(delay_ms=4.0, delay_ms_p99=11.0, share=0.9473684210526315, utilization=1.0, alone=0.93)
    """
    groups = both["groups"]
    sparse = dict(metrics.leaves(groups.get(classes.sparse, {})))
    return Place(
        delay_ms=sparse.get("queue_ms_mean"),
        delay_ms_p99=sparse.get("queue_ms_p99"),
        share=share(*(groups[name]["goodput_mbps"] for name in (classes.best_effort, classes.low_priority))),
        utilization=part(_utilization(both), _utilization(best_effort)),
        alone=_utilization(low_priority),
    )


def share(best_effort: float | None, low_priority: float | None) -> float | None:
    """Return best effort's part of what both got; None where nobody got anything, or one was not measured.

    >>> share(3.0, 1.0), share(0.0, 0.0), share(None, 1.0)
    (0.75, None, None)
    """
    if best_effort is None or low_priority is None:
        return None
    return part(best_effort, best_effort + low_priority)


def part(some: float | None, whole: float | None) -> float | None:
    """Return a part of a whole; None where there is no whole.

    >>> part(1.0, 2.0), part(1.0, 0.0), part(None, 2.0)
    (0.5, None, None)
    """
    return some / whole if some is not None and whole else None


def _utilization(record: Mapping[str, Any]) -> float | None:
    found: float | None = record[metrics.BOTTLENECK]["utilization"]
    return found


@dataclass(frozen=True)
class Verdict:
    """What a remedy's runs say together. A condition that a run did not measure is not met."""

    places: Mapping[str, Statistic]
    """Every number of `Place` over the runs: mean, spread, 95 % interval of the mean."""
    bounds: Bounds

    def margin(self, condition: str) -> float | None:
        """Return by how much the mean meets a condition, in its own unit; below zero where it fails.

        None where a run has no value.
        """
        mean = self.places[condition]["mean"]
        bound: float = getattr(self.bounds, condition)
        if mean is None:
            return None
        return bound - mean if condition == DELAY else mean - bound

    @property
    def failed(self) -> list[str]:
        """The conditions that the means do not meet."""
        return [name for name in CONDITIONS if (self.margin(name) or 0.0) <= 0.0]

    @property
    def inside(self) -> bool:
        """Whether the means meet all four conditions."""
        return not self.failed

    @property
    def surely(self) -> bool | None:
        """Whether the 95 % intervals decide it: inside for all, or outside for one. None where they do not."""
        sides = [self._side(name) for name in CONDITIONS]
        if False in sides:
            return False
        return None if None in sides else True

    def _side(self, condition: str) -> bool | None:
        """Return on which side of a bound the whole interval lies."""
        margin, interval = self.margin(condition), self.places[condition]["ci95"]
        if margin is None:
            return False
        mean = self.places[condition]["mean"]
        half = math.inf if interval is None or mean is None else interval[1] - mean
        return None if abs(margin) <= half else margin > 0.0


def judge(runs: Iterable[Place], bounds: Bounds = BOUNDS) -> Verdict:
    """Return what the runs of a remedy say together; raises ValueError where there is none.

    >>> good = Place(4.0, 11.0, 0.95, 0.99, 0.93)
    >>> judge([good, good]).inside, judge([good, Place(4.0, 11.0, 1.0, 0.99, 0.0)]).failed
    (True, ['alone'])
    """
    listed = list(runs)
    if not listed:
        raise ValueError("no runs to judge")
    places = {field.name: statistic([getattr(one, field.name) for one in listed]) for field in fields(Place)}
    return Verdict(places, bounds)


@dataclass(frozen=True)
class Delivered:
    """What a class got in consecutive bins of equal length, in bytes, all its flows together."""

    bin_s: float
    payload_bytes: Sequence[float]

    def between(self, start_s: float, end_s: float) -> float:
        """Return the bytes of the bins that lie wholly between two times."""
        first, last = round(start_s / self.bin_s), round(end_s / self.bin_s)
        return math.fsum(self.payload_bytes[max(first, 0) : max(last, 0)])


def newcomer_share(newcomer: Delivered, other: Delivered, arrives_s: float, seconds: float) -> float | None:
    """Return a newcomer's part of the goodput of both classes in its first seconds.

    None where nothing was delivered.

    >>> newcomer_share(Delivered(1.0, [0, 0, 60, 90]), Delivered(1.0, [90, 90, 40, 10]), 2.0, 2.0)
    0.75
    """
    ends_s = arrives_s + seconds
    return share(newcomer.between(arrives_s, ends_s), other.between(arrives_s, ends_s))


def reclaim_s(low_priority: Delivered, leaves_s: float, rate_mbps: float, wanted: float = 0.8) -> float | None:
    """Return how long after the others leave low priority has `wanted` of the link, to the end of the first such bin.

    `rate_mbps` is the link's rate as payload. None where it never has.

    >>> reclaim_s(Delivered(0.5, [0, 0, 10_000, 60_000, 62_500]), 1.0, 1.0)
    1.0
    """
    enough = wanted * rate_mbps * 1e6 / 8 * low_priority.bin_s
    first = round(leaves_s / low_priority.bin_s)
    for place_after, got in enumerate(low_priority.payload_bytes[first:], 1):
        if got >= enough:
            return place_after * low_priority.bin_s
    return None
