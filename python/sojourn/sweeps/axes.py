"""The axes of a sweep file: keys of a scenario with their values, alone, together, drawn, or as named cases."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sojourn import _native
from sojourn.data.rows import MAX_POINTS
from sojourn.data.schema import RESERVED
from sojourn.reading import MAX_INTEGER, input_error, is_whole, shown, toml_value
from sojourn.sweeps.axis import AxisError, read_range, values

CASE = "case"
MAX_SEEDS = 1_000_000
MAX_VALUES = 2_000_000
"""Values of all axes together, so that they fit into memory."""
_SAMPLE_KEYS = ("count", "method", "seed", "axes")
_LEVELS_KEYS = ("values", "set")
_VALUE = "{}"
# Keys of a scenario that the sweep itself decides on.
_OF_THE_SWEEP = frozenset({"seed", "runs"})
_METHODS = ("latin-hypercube", "random")
_MAX_KEYS = 1000


@dataclass(frozen=True)
class Axis:
    """One or more keys that take their values together."""

    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def changes(self, row: int) -> dict[str, Any]:
        """Return what the scenario's keys become at a row."""
        return dict(zip(self.names, self.rows[row], strict=True))

    def values(self, row: int) -> tuple[Any, ...]:
        """Return the row as columns of a table can hold it."""
        return tuple(toml_value(value) if isinstance(value, Mapping | list) else value for value in self.rows[row])


@dataclass(frozen=True)
class Levels(Axis):
    """Axes whose names are no keys: every row has its values, and then the changes that they stand for."""

    def changes(self, row: int) -> dict[str, Any]:
        """Return what the scenario's keys become at a row."""
        return dict(self.rows[row][-1])

    def values(self, row: int) -> tuple[Any, ...]:
        """Return the values of a row."""
        return self.rows[row][:-1]


@dataclass(frozen=True)
class Tables:
    """The tables of a sweep file, as read."""

    given: Mapping[str, Any]
    file: str | None

    def error(self, key: str, found: str, allowed: str) -> _native.InputError:
        """Return the error of a key: where it is, what was found there and what is allowed."""
        message = f"{key}: {found}; allowed: {allowed}"
        return input_error(message, file=self.file, key=key, found=found, allowed=allowed)

    def table(self, key: str) -> Mapping[str, Any]:
        """Return a table of the file, empty where there is none."""
        table = self.given.get(key, {})
        if not isinstance(table, Mapping):
            raise self.error(key, shown(table), f"a table [{key}]")
        return table

    def count(self, key: str, count: Any, most: int) -> int:
        """Return a whole number from 1 to `most`."""
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= most:
            raise self.error(key, shown(count), f"a whole number from 1 to {most}")
        return count


class Axes:
    """Reads the axes of a sweep file."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def _refuse_reserved(self, place: str, name: str) -> None:
        """Refuse axes whose values every run would overwrite, or whose column would hide another one."""
        if name in _OF_THE_SWEEP:
            allowed = "seeds = N for the runs at each point, and seed under [set] for the first of them"
            raise self._tables.error(place, "changed from point to point, but all points have the same seeds", allowed)
        if name in RESERVED:
            raise self._tables.error(
                place, "an axis with the name of a column of every dataset", "sets of changes in [cases]"
            )

    def bounded(self) -> tuple[Axis, ...]:
        """Return the axes; refuse, before memory is full, what has too many keys, values or points."""
        axes: list[Axis] = []
        keys = values = 0
        points = 1
        for axis in self._axes():
            keys, values = keys + len(axis.names), values + len(axis.names) * len(axis.rows)
            points *= len(axis.rows)
            if keys > _MAX_KEYS:
                raise self._tables.error("axes", f"more than {_MAX_KEYS:,} keys", f"at most {_MAX_KEYS:,}")
            self._check_size("axes", values)
            if points > MAX_POINTS:
                raise self._tables.error("axes", f"{points:,} points and more", f"at most {MAX_POINTS:,}")
            axes.append(axis)
        names = [name for axis in axes for name in axis.names]
        for name in names:
            self._refuse_reserved(name, name)
            if names.count(name) > 1:
                raise self._tables.error(name, f"given by {names.count(name)} axes", "one axis for each key")
        return tuple(axes)

    def _check_size(self, key: str, values: int) -> None:
        if values > MAX_VALUES:
            raise self._tables.error(key, f"{values:,} values", f"at most {MAX_VALUES:,} of all axes together")

    def _axes(self) -> Iterator[Axis]:
        for name, given in self._tables.table("axes").items():
            yield self._axis(name, given)
        together = {name: self._values(f"zip.{name}", given) for name, given in self._tables.table("zip").items()}
        if together:
            self._check_size("zip", len(together) * max(map(len, together.values())))
            lengths = {name: len(column) for name, column in together.items()}
            if len(set(lengths.values())) > 1:
                found = ", ".join(f"{count} values of {name}" for name, count in lengths.items())
                raise self._tables.error("zip", found, "equally many values of each key")
            yield Axis(tuple(together), tuple(zip(*together.values(), strict=True)))
        if "sample" in self._tables.given:
            yield self._sample(self._tables.table("sample"))
        cases = self._tables.table("cases")
        for name, changes in cases.items():
            if not isinstance(changes, Mapping):
                raise self._tables.error(f"cases.{name}", shown(changes), "a table of dotted keys and values")
            for key in _OF_THE_SWEEP & set(changes):
                self._refuse_reserved(f"cases.{name}.{key}", key)
        if cases:
            yield Levels((CASE,), tuple((name, dict(changes)) for name, changes in cases.items()))
        yield from self._points()

    def _axis(self, name: str, given: Any) -> Axis:
        """Return an axis: of a key, of named levels, or of values that several keys are made of."""
        key = f"axes.{name}"
        if isinstance(given, Mapping) and given and all(isinstance(level, Mapping) for level in given.values()):
            return Levels((name,), tuple((level, dict(changes)) for level, changes in given.items()))
        if isinstance(given, Mapping) and "values" in given:
            for found in given:
                if found not in _LEVELS_KEYS:
                    raise self._tables.error(f"{key}.{found}", "an unknown key", ", ".join(_LEVELS_KEYS))
            made = given.get("set")
            if not isinstance(made, Mapping):
                raise self._tables.error(
                    f"{key}.set", repr(made), "a table of dotted keys and values, {} for the axis's value"
                )
            listed = self._values(f"{key}.values", given["values"])
            return Levels((name,), tuple((value, filled(made, value)) for value in listed))
        return Axis((name,), tuple((value,) for value in self._values(key, given)))

    def _points(self) -> Iterator[Axis]:
        """Yield the axes of points that are listed one by one, each with its coordinates and its changes."""
        points = self._tables.given.get("points", [])
        if not isinstance(points, list) or not all(isinstance(point, Mapping) for point in points):
            raise self._tables.error("points", repr(points), "a list of tables with 'at' and 'set'")
        if not points:
            return
        names = tuple(points[0].get("at", {}))
        for number, point in enumerate(points, 1):
            if sorted(point) != ["at", "set"] or tuple(point["at"]) != names:
                allowed = f"'at' with {', '.join(names) or 'at least one coordinate'}, and 'set'"
                raise self._tables.error(f"points[{number}]", ", ".join(point), allowed)
        yield Levels(names, tuple((*point["at"].values(), dict(point["set"])) for point in points))

    def _values(self, key: str, given: Any) -> list[Any]:
        try:
            return values(given)
        except AxisError as error:
            raise self._tables.error(key, error.found, error.allowed) from None

    def _sample(self, table: Mapping[str, Any]) -> Axis:
        from scipy.stats import qmc

        for key in table:
            if key not in _SAMPLE_KEYS:
                raise self._tables.error(f"sample.{key}", "an unknown key", ", ".join(_SAMPLE_KEYS))
        count = self._tables.count("sample.count", table.get("count"), MAX_SEEDS)
        method = table.get("method", _METHODS[0])
        if method not in _METHODS:
            raise self._tables.error("sample.method", shown(method), " or ".join(map(repr, _METHODS)))
        axes = table.get("axes")
        if not isinstance(axes, Mapping) or not axes:
            raise self._tables.error("sample.axes", shown(axes), "a table of keys and what they are drawn from")
        self._check_size("sample", count * len(axes))
        pickers = [self._picker(f"sample.axes.{name}", given) for name, given in axes.items()]
        seed = table.get("seed", 1)
        if not is_whole(0, MAX_INTEGER)(seed):
            raise self._tables.error("sample.seed", shown(seed), "a whole number from 0 to 2^63")
        if method == "random":
            import numpy as np

            places = np.random.default_rng(seed).random((count, len(axes)))
        else:
            places = qmc.LatinHypercube(len(axes), rng=seed).random(count)
        rows = (tuple(pick(float(part)) for pick, part in zip(pickers, row, strict=True)) for row in places)
        return Axis(tuple(axes), tuple(rows))

    def _picker(self, key: str, given: Any) -> Any:
        try:
            if isinstance(given, Mapping):
                return read_range(given).at
            listed = values(given)
        except AxisError as error:
            raise self._tables.error(key, error.found, error.allowed) from None
        return lambda part: listed[min(int(part * len(listed)), len(listed) - 1)]


def filled(made: Any, value: Any) -> Any:
    """Return what is made of an axis's value: `{}` is the value, and inside of a text the value as text.

    >>> filled({"group.tcp.flows": "{}", "group.tcp.rtt": "{} ms"}, 5)
    {'group.tcp.flows': 5, 'group.tcp.rtt': '5 ms'}
    """
    if isinstance(made, Mapping):
        return {key: filled(one, value) for key, one in made.items()}
    if isinstance(made, list):
        return [filled(one, value) for one in made]
    if made == _VALUE:
        return value
    return (
        made.replace(_VALUE, format(value, "g") if isinstance(value, float) else str(value))
        if isinstance(made, str)
        else made
    )
