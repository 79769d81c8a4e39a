"""Which numbers a claim or a figure speaks of: a metric at some points, reduced and compared step by step."""

import dataclasses
import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn.reading import input_error, unknown_name
from sojourn.study.means import At, Cell, Means
from sojourn.study.numbers import Number
from sojourn.study.units import Unit

SWEEP, METRIC, GROUP = "sweep", "metric", "group"
EVERY = "*"
"""As the value of an axis on the other side of a comparison: each of its values."""


@dataclass(frozen=True)
class Selection:
    """Numbers of a study. A list of sweeps, metrics or groups makes one more axis of that name."""

    sweep: str | list[str]
    metric: str | list[str]
    group: str | list[str] | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    steps: Sequence[Sequence[Any]] = ()
    """What is done to the numbers, in turn; see `STEPS`."""
    loose: bool = False
    """Whether axes of `where` that a sweep does not have are left out: those of another sweep's points."""

    @classmethod
    def of(cls, tables: Mapping[str, Any]) -> "Selection":
        """Take from the tables of a claim or a figure what says which numbers it is about."""
        names = [one.name for one in dataclasses.fields(cls)]
        for name in (SWEEP, METRIC):
            if name not in tables:
                raise input_error(f"{name}: nothing; allowed: the name of a {name}, or a list of names")
        return cls(**{name: tables[name] for name in names if name in tables})

    def elsewhere(self, other: Mapping[str, Any]) -> "Selection":
        """Return the other side of a comparison: axes with these values instead, or another sweep, metric or group."""
        named = {name: other[name] for name in (SWEEP, METRIC, GROUP) if name in other}
        places = {axis: value for axis, value in other.items() if axis not in named}
        where = {axis: value for axis, value in ({**self.where, **places}).items() if value != EVERY}
        return dataclasses.replace(self, where=where, loose=self.loose or SWEEP in named, **named)

    def unit(self, means: Means) -> Unit:
        """Return the unit of the numbers after all steps."""
        unit = means.unit(self.metric if isinstance(self.metric, str) else self.metric[0])
        for name, *_ in self.steps:
            unit = STEPS[name].unit(unit)
        return unit

    def cells(self, means: Means) -> list[Cell]:
        """Return the numbers with the coordinates that are left; raises InputError where there is none."""
        cells = self._chosen(means)
        if not cells:
            raise input_error(f"{self.sweep}, {self.metric}: no point has {dict(self.where)}")
        for place, (name, *what) in enumerate(self.steps):
            if name not in STEPS:
                raise unknown_name("no step is called", name, list(STEPS))
            step = STEPS[name]
            if step.across is not None:
                cells = _reduced(cells, [str(axis) for axis in what], step.across)
            elif step.beside is not None:
                (other,) = what
                before = dataclasses.replace(self, steps=self.steps[:place])
                there = before.elsewhere(other).cells(means)
                cells = [_beside(cell, there, other, step.beside) for cell in cells]
            elif step.each is not None:
                cells = [Cell(cell.at, step.each(cell.number, *what)) for cell in cells]
        return cells

    def _chosen(self, means: Means) -> list[Cell]:
        found = []
        for sweep, metric, group in itertools.product(*map(_list, (self.sweep, self.metric, self.group))):
            where = self.where
            if self.loose:
                where = {axis: value for axis, value in where.items() if axis in means.axes(sweep)}
            cells = means.cells(sweep, metric, group, **where)
            more = {
                name: value
                for name, value, given in (
                    (SWEEP, sweep, self.sweep),
                    (METRIC, metric, self.metric),
                    (GROUP, group, self.group),
                )
                if isinstance(given, list)
            }
            found += [Cell({**more, **cell.at}, cell.number) for cell in cells] if more else cells
        return found


@dataclass(frozen=True)
class Step:
    """Something that is done to numbers; one of the three functions."""

    unit: Callable[[Unit], Unit]
    across: Callable[[Sequence[float]], float] | None = None
    """Makes one number of those along the axes that the step names."""
    beside: Callable[[Number, Number], Number] | None = None
    """Compares each number with the one elsewhere."""
    each: Callable[..., Number] | None = None
    spread: Callable[[float], float] = abs
    """How far a result moves where the numbers that it is made of move by their own size, each by itself."""


def _same(unit: Unit) -> Unit:
    return unit


def _points(unit: Unit) -> Unit:
    return dataclasses.replace(unit, name="points") if unit.name == "%" else unit


def _percent(unit: Unit) -> Unit:
    return dataclasses.replace(unit, name="%", digits=1, label=f"change of {unit.label}")


def _times(unit: Unit) -> Unit:
    return Unit("times", 1.0, 1, unit.label)


def _pure(unit: Unit) -> Unit:
    return Unit("", 1.0, 4, unit.label)


def _of_two(result: float) -> float:
    return math.sqrt(2) * abs(result)


def _of_a_change(percent: float) -> float:
    return math.sqrt(2) * abs(100 + percent)


def _of_a_variation(coefficient: float) -> float:
    return max(abs(coefficient), 1.0)


def _over(one: float, other: float) -> float:
    return one / other if other else math.nan


def _variation(values: Sequence[float]) -> float:
    return _over(_deviation(values), statistics.fmean(values)) if len(values) > 1 else 0.0


def _deviation(values: Sequence[float]) -> float:
    if any(map(math.isnan, values)):
        return math.nan
    return statistics.stdev(values) if len(values) > 1 else 0.0


def _ratio(one: Number, other: Number) -> Number:
    ratio = _over(one.mean, other.mean)
    parts = [_over(number.sd, number.mean) if number.sd else 0.0 for number in (one, other)]
    return Number(ratio, abs(ratio) * math.hypot(*parts), min(one.runs, other.runs))


def _change(one: Number, other: Number) -> Number:
    ratio = _ratio(one, other)
    return Number(100 * (ratio.mean - 1), 100 * ratio.sd, ratio.runs)


def _difference(one: Number, other: Number) -> Number:
    return Number(one.mean - other.mean, math.hypot(one.sd, other.sd), min(one.runs, other.runs))


def _by_run(compare: Callable[[float, float], float]) -> Callable[[Number, Number], Number]:
    """Return a comparison of runs with the same seed, which share what is drawn at random."""

    def beside(one: Number, other: Number) -> Number:
        if not one.values or len(one.values) != len(other.values):
            raise input_error("a step by run: the sweep keeps no runs of the metric; allowed: metrics of its `runs`")
        return Number.by_run([compare(*pair) for pair in zip(one.values, other.values, strict=True)])

    return beside


STEPS: dict[str, Step] = {
    "mean": Step(_same, across=statistics.fmean),
    "deviation": Step(_points, across=_deviation),
    "variation": Step(_pure, across=_variation, spread=_of_a_variation),
    "max": Step(_same, across=max),
    "min": Step(_same, across=min),
    "most": Step(_same, across=lambda values: max(values, key=abs)),
    "range": Step(_points, across=lambda values: max(values) - min(values)),
    "max/min": Step(_times, across=lambda values: _over(max(values), min(values))),
    "ratio": Step(_times, beside=_ratio, spread=_of_two),
    "times less": Step(_times, beside=lambda one, other: _ratio(other, one), spread=_of_two),
    "change": Step(_percent, beside=_change, spread=_of_a_change),
    "difference": Step(_points, beside=_difference),
    "ratio by run": Step(_times, beside=_by_run(_over)),
    "change by run": Step(_percent, beside=_by_run(lambda one, other: 100 * (_over(one, other) - 1))),
    "difference by run": Step(_points, beside=_by_run(lambda one, other: one - other)),
    "percent of": Step(
        lambda unit: dataclasses.replace(unit, name="%"), each=lambda number, whole: number.times(100 / whole)
    ),
    "plus": Step(_same, each=lambda number, more: Number(number.mean + more, number.sd, number.runs)),
    "distance from": Step(_same, each=lambda number, place: Number(abs(number.mean - place), number.sd, number.runs)),
}
"""What can be done to numbers. Across axes, which the step names: mean, deviation, coefficient of variation, max, min,
the largest in either direction (most), range, the largest over the smallest. Beside the numbers elsewhere: ratio, times
less, change in percent, difference; ratio, change and difference also of runs with the same seed, whose spread is that
of the comparison itself. For each by itself: percent of a number, plus a number, distance from a number."""


def _reduced(cells: Iterable[Cell], axes: Sequence[str], across: Callable[[Sequence[float]], float]) -> list[Cell]:
    lines: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        for axis in axes:
            if axis not in cell.at:
                raise unknown_name("the numbers have no axis", axis, list(cell.at))
        lines.setdefault(tuple(value for axis, value in cell.at.items() if axis not in axes), []).append(cell)
    found = []
    for line in lines.values():
        means = [cell.number.mean for cell in line]
        left = {axis: value for axis, value in line[0].at.items() if axis not in axes}
        found.append(Cell(left, Number(across(means), _deviation(means), len(means))))
    return found


def _beside(cell: Cell, there: Sequence[Cell], other: Mapping[str, Any], compare: Callable[..., Number]) -> Cell:
    (found,) = matching(cell.at, there, other, only=True)
    return Cell(cell.at, compare(cell.number, found.number))


def matching(at: At, there: Sequence[Cell], other: Mapping[str, Any], *, only: bool = False) -> list[Cell]:
    """Return the numbers on the other side that belong to a point: those with its other coordinates.

    Raises InputError where there is none, or with `only` more than one.
    """
    found = [
        cell for cell in there if all(axis in other or axis not in at or cell.at[axis] == at[axis] for axis in cell.at)
    ]
    if not found or (only and len(found) > 1):
        raise input_error(
            f"{len(found)} points beside {dict(at)} with {dict(other)}; allowed: {'one' if only else 'any'}"
        )
    return found


def _list(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [given]
