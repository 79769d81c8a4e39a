"""Twins of a line: the scenario with values drawn from the ranges of what is not known."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn import api
from sojourn.api import Scenario
from sojourn.campaign import sweep
from sojourn.imported.line import DOWN, TWINS, UP, Imported, Measured
from sojourn.lines import runs_by
from sojourn.reading import input_error
from sojourn.report import Grid
from sojourn.sweeps.axes import CASE
from sojourn.sweeps.axis import AxisError, of_text
from sojourn.worlds.world import Progress

# Waits and rates below this are alike, in ms and Mbit/s.
_FLOOR = 0.5
Changes = Mapping[str, Any]


def twins(scenario: Scenario, count: int = TWINS, seed: int = 1) -> list[Changes]:
    """Return what makes a scenario each of several twins: a Latin hypercube over its `unknown`.

    A scenario of which all is known is its only twin. Raises InputError for a range that cannot be read.

    >>> import sojourn
    >>> unknown = ["bottleneck.rate=2..8 Mbit/s"]
    >>> found = twins(sojourn.Scenario.load("first", {"unknown": unknown}), 2)
    >>> [sorted(one) for one in found]
    [['bottleneck.rate'], ['bottleneck.rate']]
    """
    ranges = []
    for text in scenario.to_dict().get("unknown", []):
        try:
            ranges.append(of_text(text))
        except AxisError as error:
            raise input_error(f"unknown: {error}", key="unknown", found=text, allowed=error.allowed) from None
    if not ranges:
        return [{}]
    from scipy.stats import qmc

    drawn = qmc.LatinHypercube(len(ranges), rng=np.random.default_rng(seed)).random(count)
    return [
        {key: span.at(part) for (keys, span), part in zip(ranges, parts, strict=True) for key in keys}
        for parts in drawn
    ]


def measure(
    scenario: Scenario,
    cases: Mapping[str, Changes],
    metrics: Sequence[str],
    *,
    runs: int = 1,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> dict[str, dict[str, list[float | None]]]:
    """Return by case and metric the values of the runs, which have the same seeds in every case.

    A metric of a group has the group's name behind a dot, as in the summary of a result.
    """
    found = sweep(scenario, cases=dict(cases), seeds=runs, jobs=jobs, progress=progress)
    return runs_by(found, CASE, list(cases), metrics)


@dataclass(frozen=True)
class Beside:
    """A measurement beside its twins."""

    measured: tuple[Measured, ...]
    twins: Mapping[str, tuple[float, float, float]]
    """By metric: the least, the median and the greatest value of the twins."""

    @property
    def distance(self) -> float:
        """How far the twins in the middle are off: the mean of the logarithms of ratios, 0.1 for a tenth."""
        off = [abs(np.log((one.value + _FLOOR) / (self.twins[one.metric][1] + _FLOOR))) for one in self.measured]
        return float(np.mean(off)) if off else math.inf

    @property
    def missed(self) -> list[str]:
        """What no twin shows, with a tenth beyond the ends."""
        return [one.label for one in self.measured if not self._is_among(one)]

    def _is_among(self, one: Measured) -> bool:
        low, _, high = self.twins[one.metric]
        return low - _SLACK * abs(low) <= one.value <= high + _SLACK * abs(high)

    def grid(self) -> Grid:
        """Tabulate one row for each number."""
        rows = []
        for one in self.measured:
            low, middle, high = self.twins[one.metric]
            spread = f"{middle:.4g} ({low:.3g} to {high:.3g})"
            rows.append([f"{one.label} [{one.unit}]", f"{one.value:.4g}", spread, "" if self._is_among(one) else "no"])
        return Grid(["", "measured", "twins", "among them"], rows)

    def document(self) -> list[dict[str, Any]]:
        """Return it as plain values."""
        return [
            {
                "metric": one.metric,
                "measured": one.value,
                **dict(zip(("least", "median", "greatest"), self.twins[one.metric], strict=True)),
                "among": self._is_among(one),
            }
            for one in self.measured
        ]


_SLACK = 0.1
# Another queue is taken only where its twins are so much nearer; else the first, which is the most likely.
_NEARER = 0.8


def beside(scenario: Scenario, measured: Sequence[Measured], *, jobs: int | None = None) -> Beside:
    """Run the twins of a line, and set what was measured beside them."""
    group = next(iter(scenario.groups))
    named = [
        one if one.metric.startswith("bottleneck_") else dataclasses.replace(one, metric=f"{one.metric}.{group}")
        for one in measured
    ]
    cases = {f"{place}": one for place, one in enumerate(twins(scenario))}
    found = measure(scenario, cases, [one.metric for one in named], runs=2, jobs=jobs)
    spread = {}
    for one in named:
        known = [value for case in found.values() for value in case[one.metric] if value is not None]
        if known:
            spread[one.metric] = (min(known), float(np.median(known)), max(known))
    return Beside(tuple(one for one in named if one.metric in spread), spread)


def nearest(found: Imported, *, jobs: int | None = None) -> tuple[Imported, Beside | None]:
    """Return a line with that of its possible queues whose twins are nearest to the measurement, and these twins."""
    if not found.measured:
        return found, None
    name = min(found.ways, key=(UP, DOWN).index)
    way = found.ways[name]
    best, best_twins = found, beside(api.scenario(found.tables()), found.measured, jobs=jobs)
    for table in way.others:
        source = f"{way.queue_source}; the twins of this queue are clearly nearer to the measurement"
        other = dataclasses.replace(way, queue=table, queue_source=source, others=())
        line = dataclasses.replace(found, ways={**found.ways, name: other})
        compared = beside(api.scenario(line.tables()), found.measured, jobs=jobs)
        if compared.distance < _NEARER * best_twins.distance:
            best, best_twins = line, compared
    return best, best_twins
