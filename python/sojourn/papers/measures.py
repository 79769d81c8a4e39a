"""Numbers of a paper's figures from a dataset: means over runs, with their spread."""

import functools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.papers.lab import Lab
from sojourn.papers.study import Check
from sojourn.summary import CONFIDENCE, student_quantile
from sojourn.sweep.dataset import Dataset
from sojourn.sweep.plan import CASE
from sojourn.sweep.rows import ERROR, GROUP, POINT, SEED

# Runs of a case, where a study does not want another number.
SEEDS = 10
TCP, BACKGROUND = "tcp", "background"
UTILIZATION = "bottleneck_utilization"
QUEUE_PACKETS = "bottleneck_queue_packets_mean"
QUEUE_MS = "bottleneck_queue_ms_mean"
LINK_DROP_RATE = "bottleneck_drop_rate"
SHARE = "share"
DROP_RATE = "drop_rate"
JAIN, JAIN_ALL = "jain", "jain_all"

Key = tuple[str | float, ...]


@dataclass(frozen=True)
class Number:
    """A mean over runs, their standard deviation, and how many there were."""

    mean: float
    sd: float
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Number":
        """Return the number of some runs; without any it is not a number."""
        if not values:
            return cls(math.nan, 0.0, 0)
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0, len(values))

    def text(self, digits: int = 1, scale: float = 1.0) -> str:
        """Return mean and standard deviation.

        >>> Number(0.4321, 0.01, 10).text(1, 100)
        '43.2 ± 1.0'
        """
        return f"{scale * self.mean:.{digits}f} ± {scale * self.sd:.{digits}f}"

    def above(self, other: "Number") -> bool:
        """Return whether it is larger by more than chance: by two standard errors of the difference.

        >>> Number(2.0, 0.1, 10).above(Number(1.0, 0.1, 10)), Number(2.0, 3.0, 10).above(Number(1.0, 3.0, 10))
        (True, False)
        """
        return self.mean - other.mean > 2 * self.error(other)

    def not_below(self, other: "Number") -> bool:
        """Return whether it is larger, or as large up to chance."""
        return not other.above(self)

    def interval(self) -> tuple[float, float]:
        """Return Student's 95 % interval of the mean; where nothing varied, or there is one run, it has no width.

        >>> tuple(round(end, 2) for end in Number(2.0, 0.1, 5).interval())
        (1.88, 2.12)
        """
        return self.minus(Number(0.0, 0.0, 1))

    @property
    def half(self) -> float:
        """Return half of that interval.

        >>> round(Number(2.0, 1.0, 30).half, 3)
        0.373
        """
        low, high = self.interval()
        return (high - low) / 2

    def minus(self, other: "Number") -> tuple[float, float]:
        """Return Welch's 95 % interval of the difference of means.

        >>> tuple(round(end, 2) for end in Number(2.0, 0.1, 5).minus(Number(1.0, 0.2, 5)))
        (0.75, 1.25)
        """
        squares = [(one.sd**2 / max(one.runs, 1), max(one.runs - 1, 1)) for one in (self, other)]
        error = self.error(other)
        if error == 0.0:
            return self.mean - other.mean, self.mean - other.mean
        freedom = error**4 / sum(square**2 / degrees for square, degrees in squares)
        half = _student(0.5 + CONFIDENCE / 2, freedom) * error
        return self.mean - other.mean - half, self.mean - other.mean + half

    def surely_above(self, other: "Number") -> bool:
        """Return whether the whole 95 % interval of the difference lies above zero.

        >>> Number(2.0, 0.1, 3).surely_above(Number(1.0, 0.1, 3)), Number(2.0, 0.5, 3).surely_above(Number(1.0, 0.5, 3))
        (True, False)
        """
        return self.minus(other)[0] > 0.0

    def error(self, other: "Number") -> float:
        """Return the standard error of the difference."""
        return math.sqrt(self.sd**2 / max(self.runs, 1) + other.sd**2 / max(other.runs, 1))


Trace = tuple[list[float], list[float]]
"""Times in seconds, and a value at each."""


class Results:
    """What the cases of a dataset measured."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self.table = dataset.table()
        self.columns: dict[str, list[Any]] = {}
        self.rows: dict[tuple[str, str], list[int]] = {}
        for row, case in enumerate(zip(self.column(CASE), self.column(GROUP), self.column(ERROR), strict=True)):
            if case[2] is not None:
                raise RuntimeError(f"{case[0]}: {case[2]}")
            self.rows.setdefault(case[:2], []).append(row)

    def column(self, name: str) -> list[Any]:
        """Return a column."""
        if name not in self.columns:
            self.columns[name] = self.table[name].to_pylist()
        return self.columns[name]

    def values(self, key: Key, metric: str, group: str = TCP) -> list[float]:
        """Return a metric in the runs of a case that have it."""
        column = self.column(metric)
        return [column[row] for row in self.rows[label(key), group] if column[row] is not None]

    def number(self, key: Key, metric: str, group: str = TCP) -> Number:
        """Return a metric of a case over its runs."""
        return Number.of(self.values(key, metric, group))

    def difference(self, key: Key, other: Key, metric: str, group: str = TCP) -> Number:
        """Return by how much a metric is larger in a case than in another, over runs with the same seed.

        Runs with the same seed share what is drawn at random, such as the time of a flow's start, which the comparison
        of means would take for chance.
        """
        values, seeds = self.column(metric), self.column(SEED)
        one, two = ({seeds[row]: values[row] for row in self.rows[label(case), group]} for case in (key, other))
        both = [(one[seed], two[seed]) for seed in one if seed in two]
        return Number.of([here - there for here, there in both if here is not None and there is not None])

    def traces(self, kept: str, column: str, **where: str) -> dict[tuple[str, int], Trace]:
        """Return, by case and seed, a column of a table of time series where other columns have these values.

        Bins without a value are left out.
        """
        import pyarrow.compute as pc

        table = self.dataset.table(kept)
        for name, value in where.items():
            table = table.filter(pc.equal(table[name], value))
        cases = dict(zip(self.column(POINT), self.column(CASE), strict=True))
        found: dict[tuple[str, int], Trace] = {}
        rows = (table[name].to_pylist() for name in (POINT, SEED, "time_s", column))
        for point, seed, time_s, value in zip(*rows, strict=True):
            times, values = found.setdefault((cases[point], seed), ([], []))
            if value is not None:
                times.append(time_s)
                values.append(value)
        return found

    def numbers(self, key: Key, metrics: Sequence[str], group: str = TCP) -> list[Number]:
        """Return several metrics of a case."""
        return [self.number(key, metric, group) for metric in metrics]


@functools.cache
def _student(probability: float, freedom: float) -> float:
    return student_quantile(probability, freedom)


def label(key: Key) -> str:
    """Return what a case is called in its dataset.

    >>> label(("RED", 0.5, 100))
    'RED, 0.5, 100'
    """
    return ", ".join(map(str, key))


def measure(
    lab: Lab,
    name: str,
    base: Mapping[str, Any],
    cases: Mapping[Key, Mapping[str, Any]],
    *,
    seeds: int = SEEDS,
    **kept: Any,
) -> Results:
    """Run cases, unless the folder holds them already; `kept` is what a sweep file says of time series."""
    named = {label(key): dict(changes) for key, changes in cases.items()}
    return Results(lab.sweep(name, {"base": base, "seeds": seeds, "cases": named, **kept}))


def check(claim: str, paper: str, measured: str, *, agrees: bool, why: str = "") -> Check:
    """Return a check that says why it disagrees, if it does."""
    return Check(claim, paper, measured, agrees, "" if agrees else why or "Open.")


def shown(claim: str, paper: str, measured: str, note: str = "") -> Check:
    """Return a comparison that cannot agree or disagree."""
    return Check(claim, paper, measured, None, note)


def variation(values: Sequence[float]) -> float:
    """Return the coefficient of variation as the paper defines it: standard deviation over mean.

    >>> variation([1.0, 1.0]), round(variation([1.0, 3.0]), 3)
    (0.0, 0.707)
    """
    mean = statistics.fmean(values)
    return statistics.stdev(values) / mean if mean else 0.0


def span(values: Sequence[float], digits: int = 0, scale: float = 1.0) -> str:
    """Return least and greatest.

    >>> span([0.52, 0.49], 0, 100)
    '49 to 52'
    """
    return f"{scale * min(values):.{digits}f} to {scale * max(values):.{digits}f}"
