"""Which settings that a source does not print explain the numbers that it prints.

A sweep varies the settings and goes through the conditions; a table says what was printed for each condition. Every
setting is judged by all numbers together: a synthetic likelihood (Wood, Nature 466, 2010), normal around the simulated
mean, with the variances of rounding, of the runs on both sides, and of what another implementation may differ in.
"""

import itertools
import math
import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn.data import metrics
from sojourn.reading import input_error, unknown_name
from sojourn.study.marks import Outcome
from sojourn.study.means import At, Cell, Means, Reduced, check_complete, reduce
from sojourn.study.numbers import Number
from sojourn.study.printed import SWEEP, Printed, read_numbers
from sojourn.study.units import Unit

if TYPE_CHECKING:
    from sojourn.data.dataset import Dataset
    from sojourn.sweeps.plan import Plan

MODEL_PERCENT = 2.0
"""How far from a number another implementation of the same may lie, in percent of it."""
ANY = "*"
"""As the value of a setting: what was run there stands for every value."""
_CREDIBLE, _EXCLUDED = 0.95, 0.999
_CHANCE = 0.05
_NAMED = 3
"""Settings that cannot be told apart from the best one and are named."""
_LEAST_RUNS = 2
Place = tuple[tuple[str, Any], ...]
"""A setting by axis and value, as a key."""


@dataclass(frozen=True)
class Setting:
    """One setting of what is not printed, and how well it explains the numbers."""

    at: At
    numbers: tuple[Number, ...]
    """What was simulated for each printed number; `sd` is the standard error of the mean."""
    z: tuple[float, ...]
    """How far each lies from the printed number, in standard deviations of the difference."""
    weight: float
    """Its part of the likelihood of all settings."""

    @property
    def misfit(self) -> float:
        """Return the root mean square of `z`; about 1 where all is explained."""
        return math.sqrt(statistics.fmean(one * one for one in self.z))


@dataclass(frozen=True)
class Fit:
    """How well settings explain printed numbers, the best setting first."""

    printed: tuple[Printed, ...]
    settings: tuple[Setting, ...]
    bound: float
    """How many standard deviations one of so many numbers may be off by chance (5 %, Bonferroni)."""

    @classmethod
    def of(
        cls,
        printed: Sequence[Printed],
        simulated: Mapping[Place, Sequence[Number]],
        model_percent: float = MODEL_PERCENT,
    ) -> "Fit":
        """Judge settings, by axis and value, from what was simulated for each printed number under them."""
        if not printed or not simulated:
            raise input_error("a fit needs a printed number and a setting")
        scored = {
            at: [_deviation(one, number, model_percent) for one, number in zip(printed, numbers, strict=True)]
            for at, numbers in simulated.items()
        }
        # Where nothing explains the numbers, errors are larger than they say: by so much that the best setting would
        # (the Birge ratio), lest a weight near one be read as a good fit.
        least = min(statistics.fmean(z * z for z, _ in found) for found in scored.values())
        scale = max(least, 1.0)
        logs = {
            at: sum(-0.5 * (z * z / scale + math.log(variance)) for z, variance in found)
            for at, found in scored.items()
        }
        most = max(logs.values())
        total = sum(math.exp(one - most) for one in logs.values())
        settings = [
            Setting(dict(at), tuple(simulated[at]), tuple(z for z, _ in scored[at]), math.exp(logs[at] - most) / total)
            for at in simulated
        ]
        bound = statistics.NormalDist().inv_cdf(1 - _CHANCE / (2 * len(printed)))
        return cls(tuple(printed), tuple(sorted(settings, key=lambda one: -one.weight)), bound)

    @property
    def best(self) -> Setting:
        """Return the setting that explains the numbers best."""
        return self.settings[0]

    def until(self, part: float) -> list[Setting]:
        """Return the fewest settings that together have this part of the weight."""
        sums = itertools.accumulate(one.weight for one in self.settings)
        return [one for one, before in zip(self.settings, (0.0, *sums), strict=False) if before < part]

    @property
    def alike(self) -> list[Setting]:
        """Return the settings that cannot be told apart: with 95 % of the weight."""
        return self.until(_CREDIBLE)

    @property
    def excluded(self) -> int:
        """Return how many settings have less than a thousandth of the weight between them."""
        return len(self.settings) - len(self.until(_EXCLUDED))

    def weights(self) -> dict[str, dict[Any, float]]:
        """Return the weight of each value of each axis."""
        found: dict[str, dict[Any, float]] = {}
        for one in self.settings:
            for axis, value in one.at.items():
                of = found.setdefault(axis, {})
                of[value] = of.get(value, 0.0) + one.weight
        return found

    def missed(self, setting: Setting) -> list[int]:
        """Return the places of the numbers that a setting does not explain."""
        return [place for place, z in enumerate(setting.z) if abs(z) > self.bound]

    def nearest(self, place: int) -> Setting:
        """Return the setting that comes nearest to a number."""
        return min(self.settings, key=lambda one: abs(one.z[place]))

    def sentences(self) -> list[str]:
        """Return what the fit says, in words."""
        best, count = self.best, len(self.printed)
        missed = self.missed(best)
        held = f"{count - len(missed)} of {count} numbers" if missed else f"all {count} numbers"
        said = [f"Best: {words(best.at)}. It explains {held}."]
        if len(self.alike) > 1:
            named, rest = self.alike[1 : 1 + _NAMED], self.alike[1 + _NAMED :]
            others = "; ".join(words(one.at) for one in named)
            more = f"; and {len(rest)} more" if rest else ""
            said.append(f"It cannot be told apart from {others}{more} (95 % of the weight).")
        said.append(
            f"{self.excluded} of {len(self.settings)} settings are excluded (together less than 0.1 % of the weight)."
        )
        for place in range(count):
            nearest = self.nearest(place)
            if place in self.missed(nearest):
                number = self.printed[place]
                said.append(
                    f"No setting tried explains {number.name} ({number.value:g}): the nearest, {words(nearest.at)}, "
                    f"has {nearest.numbers[place].mean:.4g}."
                )
        return said


def words(at: At) -> str:
    """Return a setting in words.

    >>> words({"acks": "each", "gain": 0.5})
    'acks = each, gain = 0.5'
    """
    return ", ".join(
        f"{axis} = {value:g}" if isinstance(value, float) else f"{axis} = {value}" for axis, value in at.items()
    )


def _deviation(printed: Printed, number: Number, model_percent: float) -> tuple[float, float]:
    """Return how many standard deviations a simulated number is off, and the variance of the difference.

    An error of rounding is uniform; the source's runs vary as the simulated ones do.
    """
    model = model_percent / 100 * printed.spread
    variance = printed.error**2 / 3 + model**2 + number.sd**2 * (1 + number.runs / printed.runs)
    if math.isnan(number.mean) or variance == 0:
        found = "no number was simulated" if variance else "nothing varies"
        raise input_error(f"{printed.name}: {found}; allowed: an error above zero")
    return (number.mean - printed.value) / math.sqrt(variance), variance


def of_dataset(
    plan: "Plan", dataset: "Dataset", printed: Sequence[Printed], model_percent: float = MODEL_PERCENT
) -> Fit:
    """Return the fit of a dataset's runs to printed numbers."""
    check_complete(plan, dataset)
    wanted = list(dict.fromkeys(one.metric for one in printed))
    means = Means({SWEEP: reduce(plan, dataset, wanted, by_run=wanted)})
    return Fit.of(printed, simulated(means, SWEEP, printed), model_percent)


def axes_of(plan: "Plan") -> dict[str, list[Any]]:
    """Return the values of each axis of a plan."""
    values: dict[str, dict[Any, None]] = {}
    for axis in plan.axes:
        for row in range(len(axis.rows)):
            for name, value in zip(axis.names, axis.values(row), strict=True):
                values.setdefault(name, {})[value] = None
    return {name: list(found) for name, found in values.items()}


def numbers_for(plan: "Plan", file: str | os.PathLike[str]) -> list[Printed]:
    """Read a table of printed numbers for a plan; raises InputError."""
    printed = read_numbers(file, axes_of(plan), lambda one: one.selection().unit(Means()).name)
    settings_of(plan.names, printed)
    links = (f"{link}_{one.name}" for link in plan.links for one in metrics.LINK)
    known = [*(one.name for one in (*metrics.GROUP, *metrics.RUN)), *links]
    for one in printed:
        if one.metric not in known:
            raise unknown_name(f"{file}: {one.name}: no quantity is called", one.metric, known)
    return printed


def simulated(means: Means, sweep: str, printed: Sequence[Printed]) -> dict[Place, list[Number]]:
    """Return for each setting what was simulated for each printed number, with the standard error of its mean.

    The errors are the jackknife's over runs, which share their seeds: right for ratios and variations, too.
    """
    reduced = means.sweeps[sweep]
    settings = _settings(reduced, settings_of(reduced.axes, printed))
    found: dict[Place, list[Number]] = {tuple(setting.items()): [] for setting in settings}
    for one in printed:
        of = _OfNumber(one, reduced, list(settings[0]), means.units)
        for setting in settings:
            found[tuple(setting.items())].append(of.number(setting))
    return found


class _OfNumber:
    """What was simulated for a printed number, setting by setting; axes that do not matter to it are left out."""

    def __init__(self, printed: Printed, reduced: Reduced, unknown: Sequence[str], units: Mapping[str, Unit]) -> None:
        self.printed = printed
        self.units = units
        self.axes = tuple(axis for axis in reduced.axes if axis not in unknown)
        others = [step[1] for step in printed.steps if len(step) > 1 and isinstance(step[1], Mapping)]
        wanted = {axis: _listed(value) for axis, value in printed.where.items()}
        for axis, value in (pair for other in others for pair in other.items()):
            wanted.setdefault(axis, []).append(value)
        cells = [
            (group, cell)
            for (metric, group), some in reduced.cells.items()
            for cell in some
            if metric == printed.metric and all(cell.at[axis] in values for axis, values in wanted.items())
        ]
        self.matter = [axis for axis in unknown if any(cell.at[axis] != ANY for _, cell in cells)]
        self.places: dict[tuple[Any, ...], list[tuple[str, Cell]]] = {}
        for group, cell in cells:
            self.places.setdefault(tuple(cell.at[axis] for axis in self.matter), []).append((group, cell))
        self.known: dict[tuple[Any, ...], Number] = {}

    def number(self, setting: At) -> Number:
        """Return its mean under a setting, and the standard error of that as `sd`."""
        place = tuple(setting[axis] for axis in self.matter)
        if place not in self.known:
            self.known[place] = self._number(place)
        return self.known[place]

    def _number(self, place: tuple[Any, ...]) -> Number:
        # Every value of an axis may be the one, or stand for it.
        stands = itertools.product(*([wanted, ANY] for wanted in place))
        cells = [one for there in stands for one in self.places.get(there, [])]
        runs = {len(cell.number.values) for _, cell in cells}
        if len(runs) != 1 or min(runs) < _LEAST_RUNS:
            message = "a fit needs two runs or more at each point, the same number at all: seeds = 5"
            raise input_error(f"{self.printed.name}: {message}")
        (count,) = runs
        values = [self._chosen(cells, run) for run in range(count)]
        middle = statistics.fmean(values)
        error = math.sqrt((count - 1) / count * sum((value - middle) ** 2 for value in values))
        return Number(self._chosen(cells, None), error, count)

    def _chosen(self, cells: Sequence[tuple[str, Cell]], without: int | None) -> float:
        """Return the number from all runs, or without one of them."""
        reduced = Reduced(self.axes)
        for group, cell in cells:
            values = [value for run, value in enumerate(cell.number.values) if run != without]
            at = {axis: cell.at[axis] for axis in self.axes}
            reduced.add(at, group, self.printed.metric, Number(statistics.fmean(values), 0.0, 1))
        found = self.printed.selection().cells(Means({SWEEP: reduced}, self.units))
        if len(found) != 1:
            where = dict(self.printed.where)
            raise input_error(f"{self.printed.name}: {len(found)} numbers have {where}; allowed: one")
        return found[0].number.mean


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]


def _settings(reduced: Reduced, unknown: Sequence[str]) -> list[At]:
    """Return the settings that were run: all combinations of the axes' values where some stand for any."""
    places = dict.fromkeys(
        tuple(cell.at[axis] for axis in unknown) for cells in reduced.cells.values() for cell in cells
    )
    if not any(ANY in place for place in places):
        return [dict(zip(unknown, place, strict=True)) for place in places]
    values = [[value for value in dict.fromkeys(column) if value != ANY] for column in zip(*places, strict=True)]
    return [dict(zip(unknown, place, strict=True)) for place in itertools.product(*values)]


def settings_of(axes: Sequence[str], printed: Sequence[Printed]) -> list[str]:
    """Return the axes that no printed number names: what is not known."""
    named = {axis for one in printed for axis in one.where}
    named |= {axis for one in printed for step in one.steps for axis in step[1:] if isinstance(axis, str)}
    unknown = [axis for axis in axes if axis not in named]
    if not unknown:
        raise input_error(
            f"the table names every axis of the sweep; allowed: one or more axes without a column ({', '.join(axes)})"
        )
    return unknown


# A fit as an item of a study: its means are small, and its checks come from them.

Row = tuple[dict[str, Any], str, str, Number]
"""Coordinates, group, metric and number, as a measure of a study yields them."""
TOLERANCE = "5 % over all numbers (Bonferroni)"
_PAPER, _AS_PRINTED, _BEST = "paper", "as printed", "best fit"
_BOUND = "bound"


def number_rows(found: Fit, as_printed: At) -> Iterator[Row]:
    """Yield each printed number, and what was simulated for it under a setting and under the best one."""
    known = next(one for one in found.settings if one.at == as_printed)
    for place, printed in enumerate(found.printed):
        yield {"setting": _PAPER, "number": printed.name}, "", "printed", Number(printed.value, printed.error, 1)
        for name, setting in ((_AS_PRINTED, known), (_BEST, found.best)):
            at = {"setting": name, "number": printed.name}
            yield at, "", "printed", setting.numbers[place]
            yield at, "", "off", Number(setting.z[place], 0.0, 1)


def weight_rows(found: Fit) -> Iterator[Row]:
    """Yield the weight of each value of each axis, and the bound of what chance explains."""
    for axis, of in found.weights().items():
        for value, part in of.items():
            yield {"axis": axis, "value": str(value)}, "", "weight", Number(part, 0.0, 1)
    yield {"axis": _BOUND, "value": "standard deviations"}, "", "weight", Number(found.bound, 0.0, 1)


def explained(means: Means, name: str, why: str) -> Iterator[Outcome]:
    """Yield at how many numbers each of the two settings holds; `why` is for those that it misses."""
    bound = means.number(f"{name}-weights", "weight", axis=_BOUND).mean
    for setting in (_AS_PRINTED, _BEST):
        off = {cell.at["number"]: cell.number.mean for cell in means.cells(name, "off", setting=setting)}
        missed = [number for number, z in off.items() if abs(z) > bound]
        held = len(off) - len(missed)
        measured = f"holds at {held} of {len(off)} points" + (f" (not {'; '.join(missed)})" if missed else "")
        margin = bound - max(map(abs, off.values()))
        yield Outcome(not missed, measured, (held, len(off)), margin, why, at={"setting": setting})


def determined(means: Means, name: str) -> Iterator[Outcome]:
    """Yield, without a verdict, the weight of each value of each axis."""
    found: dict[str, list[tuple[float, str]]] = {}
    for cell in means.cells(f"{name}-weights", "weight"):
        found.setdefault(cell.at["axis"], []).append((cell.number.mean, cell.at["value"]))
    for axis, parts in found.items():
        if axis != _BOUND:
            said = ", ".join(f"{value} {100 * part:.0f} %" for part, value in sorted(parts, reverse=True))
            yield Outcome(None, said, at={"axis": axis})


def each_number(means: Means, name: str) -> Iterator[Outcome]:
    """Yield, without a verdict, each number as it was printed and under the two settings."""
    for cell in means.cells(name, "printed", setting=_PAPER):
        number = cell.at["number"]
        said = []
        for setting in (_AS_PRINTED, _BEST):
            of, off = (means.number(name, metric, setting=setting, number=number).mean for metric in ("printed", "off"))
            said.append(f"{setting} {of:.4g} ({off:+.1f})")
        yield Outcome(None, ", ".join(said), paper=f"{cell.number.mean:g}", at={"number": number})
