"""Twins of a line: the scenario with values drawn from the ranges of what is not known."""

import dataclasses
import functools
import math
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sojourn import api
from sojourn.api import Scenario
from sojourn.campaign import sweep
from sojourn.imported.line import DOWN, TRACE, TWINS, UP, Imported, Measured
from sojourn.lines import runs_by
from sojourn.reading import input_error
from sojourn.report import Grid
from sojourn.sweeps.axes import CASE
from sojourn.sweeps.axis import AxisError, of_text
from sojourn.sweeps.local import Runner
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
    run: Runner | None = None,
    progress: Progress | None = None,
) -> dict[str, dict[str, list[float | None]]]:
    """Return by case and metric the values of the runs, which have the same seeds in every case.

    A metric of a group has the group's name behind a dot, as in the summary of a result.
    """
    found = sweep(scenario, cases=dict(cases), seeds=runs, jobs=jobs, run=run, progress=progress)
    return runs_by(found, CASE, list(cases), metrics)


RATE, RECORDED = "rate", "recorded"
"""Imported lines: those with a rate, and those whose rate varies, with a recorded link."""
DISTANCES = Path(__file__).parent / "distances.toml"
"""How far imported lines of the population are from their twins, where the queue is the right one."""
# A line that fits worse than this part of right ones is likely another one.
_POOR = 0.1


def is_recorded(scenario: Scenario) -> bool:
    """Return whether a line's rate varies, as that of a recorded link."""
    return "trace" in scenario.to_dict().get("bottleneck", {})


@functools.cache
def _distances() -> dict[str, list[float]]:
    return tomllib.loads(DISTANCES.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Fit:
    """How far a measurement is from its twins, and how many right lines are further from theirs."""

    distance: float
    """The mean of the logarithms of measured over twins: 0.1 is a tenth."""
    further: float
    """The part of right lines that are further away, 0 to 1; uniform for a line whose queue and senders are right."""
    lines: int
    """How many lines were measured for that."""

    @property
    def is_poor(self) -> bool:
        """Whether so few right lines are further away that this is likely another line."""
        return self.further <= _POOR

    def __str__(self) -> str:
        """Say it in two sentences."""
        off = 100 * math.expm1(self.distance)
        said = f"Fit: the twins are {off:.2g} % off in the mean. "
        said += (
            f"{100 * self.further:.0f} % of {self.lines} lines that were imported with the right queue are further off."
        )
        return said + (" So the queue or the senders may be others, or more was on the line." if self.is_poor else "")


def fit(distance: float, kind: str) -> Fit | None:
    """Return what a distance means for a line with a `RATE`, or a `RECORDED` link; None where it is infinite."""
    if not math.isfinite(distance):
        return None
    others = _distances()[kind]
    further = sum(one >= distance for one in others)
    return Fit(distance, (further + 1) / (len(others) + 1), len(others))


@dataclass(frozen=True)
class Beside:
    """A measurement beside its twins."""

    measured: tuple[Measured, ...]
    twins: Mapping[str, tuple[float, float, float]]
    """By metric: the least, the median and the greatest value of the twins."""
    is_recorded: bool = False
    """Whether the line's rate varies, so that it is a recorded link."""

    @property
    def distance(self) -> float:
        """How far the twins in the middle are off: the mean of the logarithms of ratios, 0.1 for a tenth."""
        off = [abs(np.log((one.value + _FLOOR) / (self.twins[one.metric][1] + _FLOOR))) for one in self.measured]
        return float(np.mean(off)) if off else math.inf

    @property
    def fit(self) -> Fit | None:
        """How this line fits beside lines of the population; None where nothing could be set beside the twins."""
        return fit(self.distance, RECORDED if self.is_recorded else RATE)

    @property
    def missed(self) -> list[str]:
        """What no twin shows, with a tenth beyond the ends."""
        return [one.label for one in self.measured if not self._is_among(one)]

    def _is_among(self, one: Measured) -> bool:
        low, _, high = self.twins[one.metric]
        return low - _SLACK * abs(low) <= one.value <= high + _SLACK * abs(high)

    def spans(self, some: Sequence[Measured]) -> dict[str, tuple[float, float, float]]:
        """Return by label the median of the twins, the least and the most."""
        ends = {one.label: self.twins[one.metric] for one in some}
        return {label: (middle, low, high) for label, (low, middle, high) in ends.items()}

    def grid(self) -> Grid:
        """Tabulate one row for each number."""
        rows = []
        for one in self.measured:
            low, middle, high = self.twins[one.metric]
            spread = f"{middle:.4g} ({low:.3g} to {high:.3g})"
            rows.append([f"{one.label} [{one.unit}]", f"{one.value:.4g}", spread, "" if self._is_among(one) else "no"])
        return Grid(["", "measured", "twins", "among them"], rows)

    def document(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"fit": None if self.fit is None else dataclasses.asdict(self.fit), "numbers": self._numbers()}

    def _numbers(self) -> list[dict[str, Any]]:
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
    return Beside(tuple(one for one in named if one.metric in spread), spread, is_recorded(scenario))


def nearest(found: Imported, *, jobs: int | None = None) -> tuple[Imported, Beside | None]:
    """Return a line with that of its possible queues whose twins are nearest to the measurement, and these twins."""
    if not found.measured:
        return found, None
    with tempfile.TemporaryDirectory() as folder:
        return _nearest(found, Path(folder), jobs)


def scenario_of(found: Imported, folder: Path) -> Scenario:
    """Return the scenario of a line, whose recorded link is written to a folder."""
    if found.trace is not None:
        (folder / TRACE).write_text("".join(f"{one}\n" for one in found.trace), encoding="utf-8")
    return api.scenario(found.tables(), base_dir=folder)


def _nearest(found: Imported, folder: Path, jobs: int | None) -> tuple[Imported, Beside]:
    name = min(found.ways, key=(UP, DOWN).index)
    way = found.ways[name]
    best, best_twins = found, beside(scenario_of(found, folder), found.measured, jobs=jobs)
    for table in way.others:
        source = f"{way.queue_source}; the twins of this queue are clearly nearer to the measurement"
        other = dataclasses.replace(way, queue=table, queue_source=source, others=())
        line = dataclasses.replace(found, ways={**found.ways, name: other})
        compared = beside(scenario_of(line, folder), found.measured, jobs=jobs)
        if compared.distance < _NEARER * best_twins.distance:
            best, best_twins = line, compared
    return best, best_twins
