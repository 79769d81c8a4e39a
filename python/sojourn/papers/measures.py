"""Numbers of a paper's figures from a dataset: means over runs, with their spread."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from sojourn.data.dataset import Dataset
from sojourn.data.rows import ERROR, GROUP
from sojourn.study.lab import Lab
from sojourn.study.model import Check
from sojourn.study.numbers import Number
from sojourn.sweep.plan import CASE

# Runs of a case, where a study does not want another number.
SEEDS = 10
TCP, BACKGROUND = "tcp", "background"
UTILIZATION = "bottleneck_utilization"
QUEUE_PACKETS = "bottleneck_queue_packets_mean"
QUEUE_MS = "bottleneck_queue_ms_mean"
LINK_DROP_RATE = "bottleneck_drop_rate"
SHARE = "share"
DROP_RATE = "drop_rate"

Key = tuple[str | float, ...]


class Results:
    """What the cases of a dataset measured."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        runs = dataset.table().select([CASE, ERROR]).to_pylist()
        for run in runs:
            if run[ERROR] is not None:
                raise RuntimeError(f"{run[CASE]}: {run[ERROR]}")
        self.table = dataset.joined()
        self.columns: dict[str, list[Any]] = {}
        self.rows: dict[tuple[str, str], list[int]] = {}
        for row, case in enumerate(zip(self.column(CASE), self.column(GROUP), strict=True)):
            self.rows.setdefault(case, []).append(row)

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

    def numbers(self, key: Key, metrics: Sequence[str], group: str = TCP) -> list[Number]:
        """Return several metrics of a case."""
        return [self.number(key, metric, group) for metric in metrics]


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
