"""Numbers that a source prints, as a table: quantity, condition, value and how exactly it can be read."""

import csv
import itertools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import _native
from sojourn.reading import input_error, unknown_name
from sojourn.study.select import STEPS, Selection

SWEEP = "sweep"
"""What the sweep is called in which printed numbers are looked up."""
_QUANTITY, _VALUE, _ERROR = "quantity", "value", "error"
_NEEDED = (_QUANTITY, _VALUE, _ERROR)
_OWN = (*_NEEDED, "name", "group", "unit", "steps", "runs")
_MAX_NUMBERS = 10_000


@dataclass(frozen=True)
class Printed:
    """A number that a source prints."""

    name: str
    metric: str
    group: str | None
    where: Mapping[str, Any]
    """The condition: values of the sweep's axes."""
    steps: Sequence[Sequence[Any]]
    value: float
    """In the unit in which studies show the metric, after the steps."""
    error: float
    """How far the true value may lie from the printed one by rounding or reading, to either side."""
    runs: int
    """Of how many runs it is the mean."""

    @property
    def spread(self) -> float:
        """Return how far it moves where the numbers that it is made of move by their own size."""
        spreads = [STEPS[name].spread for name, *_ in self.steps if STEPS[name].spread is not abs]
        return (spreads[0] if spreads else abs)(self.value)

    def selection(self) -> Selection:
        """Return which simulated numbers it is compared with."""
        return Selection(SWEEP, self.metric, self.group, self.where, self.steps)


def read_numbers(
    file: str | os.PathLike[str], axes: Mapping[str, Sequence[Any]], unit: Callable[[Printed], str]
) -> list[Printed]:
    """Read a table of printed numbers (CSV); raises InputError.

    Columns: `quantity` (a metric), `value`, `error`; maybe `name`, `group`, `unit`, `steps`, `runs`; every other one is
    an axis of the sweep, whose values are `axes`; an empty cell says nothing about it. `unit` returns what a number is
    shown in.
    """
    try:
        with Path(file).open(encoding="utf-8-sig", newline="") as opened:
            columns, *rows = itertools.islice(csv.reader(opened), _MAX_NUMBERS + 2)
    except (OSError, UnicodeDecodeError, csv.Error, ValueError) as error:
        raise input_error(f"cannot be read as a table: {error}", file=str(file)) from None
    _check_columns(columns, axes, str(file), is_empty=not rows)
    if len(rows) > _MAX_NUMBERS:
        raise input_error(f"has more than {_MAX_NUMBERS:,} numbers", file=str(file))
    found = []
    for line, row in enumerate(rows, 2):
        if row and len(row) != len(columns):
            raise input_error(f"line {line}: {len(row)} cells; allowed: {len(columns)}", file=str(file))
        if row:
            found.append(_Row(str(file), line, dict(zip(columns, row, strict=True)), axes).printed(unit))
    return found


def _check_columns(columns: Sequence[str], axes: Mapping[str, Sequence[Any]], file: str, *, is_empty: bool) -> None:
    for needed in _NEEDED:
        if needed not in columns or is_empty:
            message = f"has no column {needed!r} or no row; allowed: {', '.join(_OWN)}, and axes of the sweep"
            raise input_error(message, file=file, key=needed)
    for column in columns:
        if column not in _OWN and column not in axes:
            raise unknown_name(f"{file}: neither such a table nor the sweep has a", column, [*_OWN, *axes])
        if columns.count(column) > 1:
            raise input_error(f"has {columns.count(column)} columns {column!r}; allowed: one", file=file, key=column)


@dataclass(frozen=True)
class _Row:
    file: str
    line: int
    cells: Mapping[str, str]
    axes: Mapping[str, Sequence[Any]]

    def printed(self, unit: Callable[[Printed], str]) -> Printed:
        where = {axis: self._coordinates(axis) for axis in self.axes if self._text(axis)}
        steps = [self._step(one) for one in self._text("steps").split(";") if one.strip()]
        metric = self._text(_QUANTITY)
        name = self._text("name") or ", ".join([metric, *map(str, where.values())])
        runs = self._number("runs", default=1.0, least=1.0)
        made = Printed(
            name,
            metric,
            self._text("group") or None,
            where,
            steps,
            self._number(_VALUE),
            self._number(_ERROR, least=0.0),
            round(runs),
        )
        asked, shown_in = self._text("unit"), unit(made)
        if asked and asked != shown_in:
            raise self._error("unit", asked, repr(shown_in) if shown_in else "none: the quantity has no unit")
        return made

    def _text(self, column: str) -> str:
        return (self.cells.get(column) or "").strip()

    def _number(self, column: str, default: float | None = None, least: float = -math.inf) -> float:
        text = self._text(column)
        if not text and default is not None:
            return default
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or number < least:
            raise self._error(column, text, "a number" if least == -math.inf else f"a number, {least:g} or more")
        return number

    def _coordinates(self, axis: str) -> Any:
        """Return a value of an axis, or several with bars between them."""
        values = [self._coordinate(axis, one.strip()) for one in self._text(axis).split("|")]
        return values if len(values) > 1 else values[0]

    def _coordinate(self, axis: str, text: str) -> Any:
        for value in self.axes[axis]:
            if text == str(value) or (isinstance(value, float) and text == f"{value:g}"):
                return value
        raise self._error(axis, text, ", ".join(map(str, self.axes[axis])))

    def _step(self, text: str) -> list[Any]:
        """Return a step as a study has it: `change queue=DropTail`, `mean queue packets`."""
        words = text.split()
        name = next((" ".join(words[:count]) for count in (3, 2, 1) if " ".join(words[:count]) in STEPS), None)
        if name is None:
            raise self._error("steps", text.strip(), ", ".join(STEPS))
        rest = text.strip()[len(name) :].strip()
        if STEPS[name].beside is not None:
            pairs = [one.partition("=") for one in rest.split(",")]
            for axis, _, _ in pairs:
                if axis.strip() not in self.axes:
                    raise self._error(
                        "steps", text.strip(), f"{name} AXIS=VALUE, with an axis of {', '.join(self.axes)}"
                    )
            return [name, {axis.strip(): self._coordinate(axis.strip(), value.strip()) for axis, _, value in pairs}]
        if STEPS[name].across is not None:
            for axis in rest.split():
                if axis not in self.axes:
                    raise self._error("steps", text.strip(), f"{name} AXIS, an axis of {', '.join(self.axes)}")
            return [name, *rest.split()]
        try:
            return [name, *map(float, rest.split())]
        except ValueError:
            raise self._error("steps", text.strip(), f"{name} NUMBER") from None

    def _error(self, key: str, found: str, allowed: str) -> _native.InputError:
        message = f"line {self.line}, {key}: found {found!r}; allowed: {allowed}"
        return input_error(message, file=self.file, key=key, found=found, allowed=allowed)
