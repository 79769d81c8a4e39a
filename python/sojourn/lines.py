"""Variants of a scenario on many access lines: where each of them helps, and on which lines it does not."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn import purposes
from sojourn.api import Scenario
from sojourn.campaign import sweep
from sojourn.compared import plain
from sojourn.data.dataset import Dataset
from sojourn.data.metrics import GROUP
from sojourn.data.rows import GROUPS
from sojourn.data.statistics import wilson
from sojourn.purposes import Column, Purpose
from sojourn.reading import input_error, unknown_name
from sojourn.registry import Line, catalogue
from sojourn.report import NO_VALUE, Grid
from sojourn.resolved import titles
from sojourn.worlds.world import Progress, part_of

if TYPE_CHECKING:
    from sojourn.pages.model import Page

HOME, ALL = "home", "all"
SAMPLED = 30
"""Lines of a sample whose number is not given."""
LINE = "access.line"
WORST = 0.1
"""The part of the lines that is the worst tenth."""
_ROW = ("variant", "line", "weight", "metric", "value")
Values = dict[str, dict[str, list[float | None]]]


def of_technology(name: str) -> list[Line]:
    """Return the lines of a technology, or all for "home" and "all"; raises InputError for any other name."""
    lines = catalogue()["lines"]
    known = list(dict.fromkeys(line["technology"] for line in lines))
    if name not in (HOME, ALL, *known):
        raise unknown_name("no lines are called", name, [HOME, ALL, *known, *(line["name"] for line in lines)])
    return [line for line in lines if name in (HOME, ALL, line["technology"])]


def chosen(spec: str, seed: int = 1) -> list[Line]:
    """Return the lines that a text names, each with its weight.

    "home" is a sample of 30 of all lines, "home:100" one of 100, "cable" and the like one of a technology. Samples are
    systematic over the population's weights, so that technologies and plans have their parts; a line that is met twice
    has twice the weight. `seed` moves the sample. "all" is every line with its own weight. Anything else is names of
    lines, separated by commas. Raises InputError.

    >>> len(chosen("home")), {line["technology"] for line in chosen("cable:5")}
    (30, {'cable'})
    >>> [line["weight"] for line in chosen("cable-100-10-film,geo-25-3-wifi")]
    [0.5, 0.5]
    """
    name, colon, number = spec.partition(":")
    names = [one.strip() for one in spec.split(",")]
    lines = {line["name"]: line for line in catalogue()["lines"]}
    if all(one in lines for one in names):
        return _alike([lines[one] for one in names])
    if len(names) > 1:
        raise unknown_name("no line is called", next(one for one in names if one not in lines), list(lines))
    population = of_technology(name)
    if name == ALL and not colon:
        return population
    if colon and not (number.isdecimal() and int(number) > 0):
        raise input_error(f"lines: found {spec!r}; allowed: NAME:COUNT, such as home:100", key="lines", found=spec)
    return _sample(population, int(number) if colon else SAMPLED, seed)


def _alike(lines: Sequence[Line]) -> list[Line]:
    return [_weighted(line, 1 / len(lines)) for line in lines]


def _weighted(line: Line, weight: float) -> Line:
    return {**line, "weight": weight}


def _sample(population: Sequence[Line], count: int, seed: int) -> list[Line]:
    """Return a systematic sample: equal steps through the weights, laid end to end, from a random start."""
    if count >= len(population):
        return list(population)
    step = sum(line["weight"] for line in population) / count
    place = random.Random(seed).random() * step  # noqa: S311 (nothing secret)
    found, end = [], 0.0
    for line in population:
        end += line["weight"]
        taken = math.ceil((end - place) / step) if end > place else 0
        if taken:
            found.append(_weighted(line, taken / count))
        place += taken * step
    return found


@dataclass(frozen=True)
class OnLines:
    """What variants of a scenario measured on each of several lines."""

    lines: tuple[Line, ...]
    values: Mapping[str, Mapping[str, Sequence[float | None]]]
    """Of each variant and metric: the mean over the runs of each line; None where they measure no such thing."""
    columns: tuple[Column, ...]
    """What is worth showing; those that the purpose is about first."""
    purpose: Purpose | None
    groups: tuple[str, ...]
    """The groups that the purpose is about."""
    runs: int
    """Runs of each variant on each line."""

    @property
    def order(self) -> list[str]:
        """Names of the variants: those that are good on most lines first, then those with the better worst tenth."""
        if self.purpose is None:
            return list(self.values)
        sign = -1 if self.purpose.column.best is max else 1
        column = self.columns[0]

        def rank(name: str) -> tuple[float, float]:
            worst = self.worst(name, column)
            return -(self.good(name)[0] or 0.0), math.inf if worst is None else sign * worst

        return sorted(self.values, key=rank)

    def good(self, variant: str) -> tuple[float | None, float, float]:
        """Return the part of the lines on which a variant is good for the purpose, and its 95 % interval (Wilson's).

        A line on which it measures nothing of it is not good. The part is None where the purpose has no bound.
        """
        purpose = self.purpose
        if purpose is None or purpose.bound is None:
            return None, 0.0, 1.0
        weights = [line["weight"] for line in self.lines]
        found = [self.values[variant][f"{purpose.column.shown.metric}.{group}"] for group in self.groups]
        holds = [_holds(purpose, purpose.bound, values) for values in zip(*found, strict=True)]
        part = sum(weight for weight, held in zip(weights, holds, strict=True) if held) / sum(weights)
        # As many lines of equal weight would say as much.
        return part, *wilson(part, sum(weights) ** 2 / sum(weight**2 for weight in weights))

    def quantile(self, variant: str, metric: str, part: float) -> float | None:
        """Return the value that a part of the lines, by weight, does not exceed; of lines that have a value."""
        found = self.values[variant].get(metric) or [None] * len(self.lines)
        known = sorted(
            (value, line["weight"]) for value, line in zip(found, self.lines, strict=True) if value is not None
        )
        rest = part * sum(weight for _, weight in known)
        for value, weight in known:
            rest -= weight
            # Sums of weights have rounding errors.
            if rest <= 1e-12:  # noqa: PLR2004
                return value
        return known[-1][0] if known else None

    def worst(self, variant: str, column: Column) -> float | None:
        """Return the value that a tenth of the lines does not reach; None where neither end of a column is better."""
        if column.best is None:
            return None
        return self.quantile(variant, column.shown.metric, WORST if column.best is max else 1 - WORST)

    def worst_lines(self, variant: str, count: int) -> list[tuple[str, float]]:
        """Return the lines on which a variant does worst in the first column, and its value there."""
        column = self.columns[0]
        found = self.values[variant].get(column.shown.metric, ())
        known = [(line["name"], value) for line, value in zip(self.lines, found, strict=True) if value is not None]
        return sorted(known, key=lambda one: one[1], reverse=column.best is not max)[:count]

    def grid(self) -> Grid:
        """Tabulate one row for each variant: where it is good, then median and worst tenth of each column."""
        good = ["good [% of lines]"] if self.purpose is not None and self.purpose.bound is not None else []
        rows = [
            [name, *([self._good_text(name)] if good else []), *(self._cell(name, one) for one in self.columns)]
            for name in self.order
        ]
        return Grid(["variant", *good, *(column.shown.label for column in self.columns)], rows)

    def _good_text(self, variant: str) -> str:
        part, low, high = self.good(variant)
        return NO_VALUE if part is None else f"{100 * part:.0f} ({100 * low:.0f}-{100 * high:.0f})"

    def _cell(self, variant: str, column: Column) -> str:
        median = self.quantile(variant, column.shown.metric, 0.5)
        if median is None:
            return NO_VALUE
        worst = self.worst(variant, column)
        return column.shown.number(median) + ("" if worst is None else f" / {column.shown.number(worst)}")

    @property
    def answer(self) -> str:
        """The finding in a sentence or two, with the lines on which the best variant does worst."""
        best = self.order[0]
        part, low, high = self.good(best)
        if part is None or self.purpose is None:
            return f"{len(self.lines)} lines, {len(self.values)} variants."
        rest = "; ".join(f"{name} {100 * (self.good(name)[0] or 0):.0f} %" for name in self.order[1:])
        others = f" Others: {rest}." if rest else ""
        worst = ", ".join(
            f"{name} ({self.columns[0].shown.number(value)})" for name, value in self.worst_lines(best, 3)
        )
        most = "Good for {} on most lines is {}: on" if rest else "For {} {} is good on"
        return (
            f"{most.format(self.purpose.name, best)} {100 * part:.0f} % of them "
            f"({100 * low:.0f} to {100 * high:.0f} %).{others} It does worst on {worst}."
        )

    def notes(self) -> list[str]:
        """Return what a reader must know: lines, runs, what is good, how cells are read."""
        weights = {line["weight"] for line in self.lines}
        each = "each stands for as many homes" if len(weights) == 1 else "weighted as in the population"
        found = [f"{len(self.lines)} lines, {each}; {self.runs} run{'s' if self.runs > 1 else ''} each."]
        if self.purpose is not None and self.purpose.bound is not None:
            found.append(f"Good is {self.purpose.bound_text}; in brackets its 95 % interval.")
        return [*found, "Cells are the median over lines, and the value that a tenth of the lines does not reach."]

    def page(self, command: str = "") -> "Page":
        """Return the page, which `sojourn.pages.write` writes; `command` is what makes it again."""
        from sojourn.figures.lines import parts_of_lines
        from sojourn.pages.model import Cell, Fold, Page, Table
        from sojourn.pages.pictures import picture

        metric, label = self.columns[0].shown.metric, self.columns[0].shown.label
        weights = [line["weight"] for line in self.lines]
        known = {
            name: [
                (value, weight)
                for value, weight in zip(self.values[name][metric], weights, strict=True)
                if value is not None
            ]
            for name in self.order
        }
        rows = [[Cell.of(row[name]) for name in _ROW] for row in self.rows()]
        return Page(
            title=self.answer.partition(":")[0]
            if len(self.values) > 1
            else f"{self.order[0]} on {len(self.lines)} lines",
            kicker=f"{len(self.lines)} access lines",
            lead=[self.answer],
            pictures=[
                picture(
                    parts_of_lines(known, label),
                    "How large a part of the lines has at most this value.",
                    f"{len(self.lines)} lines, by their weights.",
                    name="lines",
                )
            ],
            heading="What does each variant do?",
            table=Table.of_grid(self.grid(), "Variants on lines"),
            notes=self.notes(),
            folds=[Fold("Each line", tables=[Table(_ROW, rows, "Lines")])],
            command=command,
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each variant, line and metric that has a value."""
        return [
            {"variant": variant, "line": line["name"], "weight": line["weight"], "metric": metric, "value": value}
            for variant, metrics in self.values.items()
            for metric, values in metrics.items()
            for line, value in zip(self.lines, values, strict=True)
            if value is not None
        ]


def on_lines(
    variants: Mapping[str, Scenario],
    lines: Sequence[Line],
    *,
    runs: int = 1,
    purpose: str | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    metrics: Sequence[str] = (),
) -> OnLines:
    """Run each variant on each line, with the same seeds.

    A line takes the place of the links of a scenario that has no `[access]`; with one, of its line.

    Parameters
    ----------
    variants
        Scenarios by name; `sojourn.variants.variants` makes those of several queues and controls.
    lines
        As `chosen` returns them.
    runs
        Runs on each line.
    purpose
        "calls", "pages" or "background": what decides; None takes the first that the scenarios have groups for.
    jobs, progress
        As for `sojourn.sweep`.
    metrics
        What is shown in place of what the scenario suggests, as METRIC or METRIC.GROUP.

    Raises
    ------
    InputError
        Where there is no variant, one cannot be had on a line, or none of its groups is what the purpose is about.

    Examples
    --------
    >>> import sojourn
    >>> from sojourn.lines import chosen, on_lines
    >>> base = sojourn.Scenario.load("gateway-and-modem", {"duration": "3 s", "warmup": "1 s"})
    >>> variants = {"modem": base.with_({"access.gateway": 0}), "shaped": base}
    >>> found = on_lines(variants, chosen("vdsl-25-5-quiet,cable-25-3-quiet"))
    >>> found.order, [len(values["voip_mos.call"]) for values in found.values.values()]
    (['shaped', 'modem'], [2, 2])
    """
    if not variants:
        raise input_error("found no variant; allowed: at least one scenario by name")
    tables = [one.to_dict() for one in variants.values()]
    sought = purposes.usual(tables) if purpose is None else purposes.find(purpose, tables)
    groups = () if sought is None else tuple(sought.groups(tables))
    columns = _shown(tables[0], sought, groups, metrics)
    names = [line["name"] for line in lines]
    values: Values = {}
    for place, (name, variant) in enumerate(variants.items()):
        found = sweep(variant, {LINE: names}, seeds=runs, jobs=jobs, progress=part_of(progress, place, len(variants)))
        values[name] = _means(found, names, columns)
    return OnLines(tuple(lines), values, columns, sought, groups, runs)


def _holds(purpose: Purpose, bound: float, values: Sequence[float | None]) -> bool:
    """Return whether the values of all groups that a purpose is about are good."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return False
    value = purpose.over_groups(known)
    return value >= bound if purpose.column.best is max else value <= bound


def _shown(
    scenario: Mapping[str, Any], purpose: Purpose | None, groups: Sequence[str], named: Sequence[str]
) -> tuple[Column, ...]:
    """Return what decides, then the metrics that are named; without names what is worth showing."""
    usual = {column.shown.metric: column for column in _columns(scenario, groups)}
    if not named:
        return tuple(usual.values())
    own = [one["name"] for one in scenario["group"] if not purposes.is_of_line(one["name"])]
    of_groups = {metric.name for metric in GROUP}
    wanted = [
        metric for name in named for metric in ([f"{name}.{one}" for one in own] if name in of_groups else [name])
    ]
    decides = [f"{purpose.column.shown.metric}.{group}" for group in groups] if purpose is not None else []
    called = titles(scenario)
    return tuple(usual.get(metric) or plain(metric, called) for metric in dict.fromkeys([*decides, *wanted]))


def _columns(scenario: Mapping[str, Any], groups: Sequence[str]) -> list[Column]:
    """Return what is worth showing: of what the purpose is about, background's share, the queue, and utilization.

    What a line brings along is on some lines only; goodputs in Mbit/s follow the plans.
    """
    own = [one for one in scenario["group"] if not purposes.is_of_line(one["name"])]
    background = [one["name"] for one in own if purposes.is_background(one)]
    found = purposes.columns({**scenario, "hop": [], "group": own}, groups)
    return [
        column
        for column in found
        if column.group == ""
        or (column.group in groups and not column.shown.metric.startswith("goodput"))
        or (column.group in background and column.shown.metric.startswith("share"))
    ]


def runs_by(
    dataset: Dataset, axis: str, places: Sequence[str], metrics: Sequence[str]
) -> dict[str, dict[str, list[float | None]]]:
    """Return by place of a dataset's only axis and by metric the values of the runs; None for what was not measured.

    A metric of a group has the group's name behind a dot, as in the summary of a result. Raises RuntimeError where a
    run failed.
    """
    split = {name: name.partition(".")[::2] for name in metrics}
    of_runs, of_groups = (
        list(dict.fromkeys(metric for metric, group in split.values() if bool(group) == has_group))
        for has_group in (False, True)
    )
    runs = dataset.table(columns=[axis, "error", *of_runs])
    failed = runs["error"].drop_null().to_pylist()
    if failed:
        raise RuntimeError(failed[0])
    rows = runs.to_pylist()
    if of_groups:
        rows += dataset.table(GROUPS, columns=[axis, "group", *of_groups]).to_pylist()
    found: dict[str, dict[str, list[float | None]]] = {place: {name: [] for name in metrics} for place in places}
    for row in rows:
        for name, (metric, group) in split.items():
            if row.get("group", "") == group:
                found[row[axis]][name].append(row[metric])
    return found


def _means(dataset: Dataset, lines: Sequence[str], columns: Sequence[Column]) -> dict[str, list[float | None]]:
    """Return the mean of each column's metric over the runs of each line."""
    metrics = [column.shown.metric for column in columns]
    found = runs_by(dataset, LINE, lines, metrics)
    known = {name: [[one for one in found[line][name] if one is not None] for line in lines] for name in metrics}
    return {name: [sum(some) / len(some) if some else None for some in each] for name, each in known.items()}
