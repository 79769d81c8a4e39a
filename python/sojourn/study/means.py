"""The means of a study: what its sweeps measured, reduced to a number for each point, group and metric.

Claims and figures know nothing else, so that a study's verdicts can be had again from a few small files.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.data.metrics import find
from sojourn.data.rows import ERROR, GROUP, GROUPS, POINT, RUNS, SEED
from sojourn.parquet import read_parquet
from sojourn.reading import input_error, unknown_name
from sojourn.store import folder_inside, whole_file
from sojourn.study.numbers import Number
from sojourn.study.units import Unit, unit_of

if TYPE_CHECKING:
    from sojourn.api import Scenario
    from sojourn.data.dataset import Dataset
    from sojourn.sweeps.plan import Plan

NO_GROUP = ""
"""The group of what belongs to a link or to a whole run."""
_VALUES = "values"
_NEEDED = ("group", "metric", "n", "mean", "sd")
_KEY = (*_NEEDED, _VALUES)

At = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """A number and where it was measured."""

    at: At
    """The value of each axis."""
    number: Number


@dataclass
class Reduced:
    """The means of one sweep."""

    axes: tuple[str, ...]
    cells: dict[tuple[str, str], list[Cell]] = field(default_factory=dict)
    """By metric and group, in the order of the plan."""

    def add(self, at: At, group: str, metric: str, number: Number) -> None:
        """Add a number."""
        self.cells.setdefault((metric, group), []).append(Cell(at, number))

    def rows(self) -> Iterator[tuple[At, str, str, Number]]:
        """Yield coordinates, group, metric and number."""
        for (metric, group), cells in self.cells.items():
            for cell in cells:
                yield cell.at, group, metric, cell.number


class Means:
    """The means of all sweeps of a study, in the units in which they are shown."""

    def __init__(
        self,
        sweeps: dict[str, Reduced] | None = None,
        units: Mapping[str, Unit] | None = None,
        scenario: "Callable[..., Scenario] | None" = None,
    ) -> None:
        self.sweeps = {} if sweeps is None else sweeps
        self.units = dict(units or {})
        self._scenario = scenario

    def scenario(self, sweep: str, **at: Any) -> "Scenario":
        """Return the scenario at a point of a sweep, for a figure of one run."""
        if self._scenario is None:
            raise ValueError("these means belong to no study")
        return self._scenario(sweep, **at)

    def unit(self, metric: str) -> Unit:
        """Return what a metric is shown in."""
        return self.units.get(metric) or unit_of(metric)

    def cells(self, sweep: str, metric: str, group: str | None = None, **where: Any) -> list[Cell]:
        """Return the numbers of a metric at the points where axes have certain values, or one of a list of them.

        Without a group, the one that has the metric. Raises InputError where there is no such sweep or metric.
        """
        reduced = self._reduced(sweep)
        chosen = reduced.cells.get((metric, self.group(sweep, metric, group)))
        if chosen is None:
            raise unknown_name(f"the sweep {sweep!r} keeps no metric of that group called", metric, _metrics(reduced))
        for axis in where:
            if axis not in reduced.axes:
                raise unknown_name(f"the sweep {sweep!r} has no axis", axis, reduced.axes)
        scale = self.unit(metric).scale
        return [
            Cell(cell.at, cell.number.times(scale))
            for cell in chosen
            if all(is_in(cell.at[axis], wanted) for axis, wanted in where.items())
        ]

    def number(self, sweep: str, metric: str, group: str | None = None, **where: Any) -> Number:
        """Return the number at one point; raises InputError where there is none or more than one."""
        found = self.cells(sweep, metric, group, **where)
        if len(found) != 1:
            place = ", ".join(f"{axis} = {value!r}" for axis, value in where.items()) or "all points"
            raise input_error(f"{sweep}: {len(found)} points with {place}; allowed: one")
        return found[0].number

    def axes(self, sweep: str) -> tuple[str, ...]:
        """Return the names of a sweep's axes; raises InputError where there is no such sweep."""
        return self._reduced(sweep).axes

    def _reduced(self, sweep: str) -> Reduced:
        if sweep not in self.sweeps:
            raise unknown_name("the study has no means of a sweep", sweep, list(self.sweeps))
        return self.sweeps[sweep]

    def group(self, sweep: str, metric: str, group: str | None) -> str:
        """Return the group that has a metric: none for one of a link, else the group asked for or the first."""
        there = [one for name, one in self._reduced(sweep).cells if name == metric]
        if NO_GROUP in there:
            return NO_GROUP
        return group if group is not None else next(iter(there), NO_GROUP)


def is_in(value: Any, wanted: Any) -> bool:
    """Return whether a coordinate is what is wanted: a value, one of a list, or all but those of `{"not": [...]}`.

    >>> is_in("RED", ["RED", "SFQ"]), is_in("RED", {"not": ["RED"]}), is_in(4.0, {"min": 1, "max": 4})
    (True, False, True)
    """
    if isinstance(wanted, Mapping):
        low, high = wanted.get("min", -math.inf), wanted.get("max", math.inf)
        is_number = isinstance(value, int | float)
        return value not in wanted.get("not", []) and (not is_number or low <= value <= high)
    return value in wanted if isinstance(wanted, list) else bool(value == wanted)


def _metrics(reduced: Reduced) -> list[str]:
    return list(dict.fromkeys(metric for metric, _ in reduced.cells))


def check_complete(plan: "Plan", dataset: "Dataset") -> None:
    """Raise RuntimeError for a run that failed: a study has no numbers without it."""
    runs = dataset.table().select([POINT, ERROR])
    for point, error in zip(*(runs[name].to_pylist() for name in (POINT, ERROR)), strict=True):
        if error is not None:
            raise RuntimeError(f"{plan.name}, {plan.point(point).coordinates}: {error}")


def by_run(
    plan: "Plan", dataset: "Dataset", metrics: Sequence[str]
) -> Iterator[tuple[At, int, dict[str, Mapping[str, Any]]]]:
    """Yield point, seed, and the metrics of each group of every run, in the order of points and seeds."""
    found: dict[tuple[int, int], dict[str, Mapping[str, Any]]] = {}
    for row in dataset.joined().select([POINT, SEED, GROUP, *metrics]).to_pylist():
        found.setdefault((row[POINT], row[SEED]), {})[row[GROUP]] = row
    for (point, seed), groups in sorted(found.items()):
        yield plan.point(point).coordinates, seed, groups


def reduce(plan: "Plan", dataset: "Dataset", metrics: Sequence[str], by_run: Sequence[str] = ()) -> Reduced:
    """Return the means of some metrics of a dataset, of those in `by_run` with what each run gave.

    A group that has a metric at no point is left out. Raises InputError where the dataset lacks a metric.
    """
    reduced = Reduced(tuple(plan.names))
    tables = {name: dataset.table(name) for name in (RUNS, GROUPS)}
    for metric in metrics:
        of = next((table for table in tables.values() if metric in table.column_names), None)
        if of is None:
            known = [name for table in tables.values() for name in table.column_names if find(name) is not None]
            raise unknown_name("the dataset has no metric", metric, known)
        groups = of[GROUP].to_pylist() if GROUP in of.column_names else [NO_GROUP] * len(of)
        found: dict[tuple[int, str], list[tuple[int, float | None]]] = {}
        points, seeds, column = (of[name].to_pylist() for name in (POINT, SEED, metric))
        for point, group, seed, value in zip(points, groups, seeds, column, strict=True):
            found.setdefault((point, group), []).append((seed, value))
        there = {group for (_, group), runs in found.items() if any(value is not None for _, value in runs)}
        for (point, group), runs in sorted(found.items(), key=lambda one: one[0][0]):
            if group in there:
                number = (Number.by_run if metric in by_run else Number.of)(
                    [value for _, value in sorted(runs, key=lambda run: run[0])]
                )
                reduced.add(plan.point(point).coordinates, group, metric, number)
    return reduced


def reduced_rows(rows: Iterable[tuple[At, str, str, Number]]) -> Reduced:
    """Return means that were made by a function, all with the same axes."""
    listed = list(rows)
    reduced = Reduced(tuple(listed[0][0]) if listed else ())
    for row in listed:
        reduced.add(*row)
    return reduced


def write(folder: Path, sweeps: Mapping[str, Reduced]) -> None:
    """Write a Parquet file for each sweep: axes, group, metric, number of runs, mean, deviation, values of runs."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder_inside(folder)
    for name, reduced in sweeps.items():
        rows = list(reduced.rows())
        columns: dict[str, Any] = {axis: [at[axis] for at, *_ in rows] for axis in reduced.axes}
        columns |= {"group": [group for _, group, _, _ in rows], "metric": [metric for _, _, metric, _ in rows]}
        columns |= {part: [getattr(number, of) for *_, number in rows] for part, of in _PARTS.items()}
        if any(number.values for *_, number in rows):
            columns["values"] = [number.values for *_, number in rows]
        with whole_file(folder / f"{name}.parquet") as path:
            pq.write_table(pa.table(columns), path, compression="zstd")


_PARTS = {"n": "runs", "mean": "mean", "sd": "sd"}


def read(folder: Path, names: Iterable[str]) -> dict[str, Reduced]:
    """Return the means of those sweeps that the folder has; raises InputError for a file that holds something else."""
    return {name: _read(path) for name in names if (path := folder / f"{name}.parquet").exists()}


def _read(path: Path) -> Reduced:
    table = read_parquet([path], needs=_NEEDED, lists=[_VALUES])
    axes = tuple(column for column in table.column_names if column not in _KEY)
    reduced = Reduced(axes)
    for row in table.to_pylist():
        number = Number(row["mean"], row["sd"], row["n"], tuple(row.get(_VALUES) or ()))
        texts = (row["group"], row["metric"])
        if not (all(isinstance(one, str) for one in texts) and _is_right(number)):
            raise input_error("holds no means of a study; was it changed by hand?", file=str(path))
        reduced.add({axis: row[axis] for axis in axes}, *texts, number)
    return reduced


def _is_right(number: Number) -> bool:
    numbers = (number.mean, number.sd, *number.values, number.runs)
    return all(isinstance(one, int | float) for one in numbers) and isinstance(number.runs, int) and number.runs >= 0
