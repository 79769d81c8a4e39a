"""Claims as data: which numbers, in which relation, with which tolerance; and what became of them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.reading import input_error, shown, unknown_name
from sojourn.study.kinds import CLAIM, check_known
from sojourn.study.means import At, Cell, Means, is_in
from sojourn.study.model import Check
from sojourn.study.relations import Asked, Judged, relation
from sojourn.study.select import GROUP, METRIC, SWEEP, Selection, matching
from sojourn.study.units import Unit
from sojourn.study.words import fill

OPEN = "Open."
_MAX_NAMED = 6
_MAX_COMPARED = 5
"""Numbers of both sides of a comparison that are said one by one; of more only the spans."""
_FEW = 4
"""Exceptions that are named one by one, even where they have something in common."""
Axes = Mapping[str, Mapping[str, Any]]


def checks(tables: Mapping[str, Any], means: Means, axes: Axes, readings: Sequence[str] = ()) -> Iterator[Check]:
    """Yield what became of a claim: one check, or one for each value of the axes that it has for `each`.

    Those that differ in axes of `readings` alone are readings of one claim.
    """
    check_known(tables, CLAIM, f"{tables.get('name', 'a claim')}: no key of a claim is called")
    for at in _each(tables, means):
        parts = [_Part.of({**tables, **part}, at, means, axes) for part in tables.get("parts", [{}])]
        yield _check(tables, at, parts, axes, readings)


def _each(tables: Mapping[str, Any], means: Means) -> list[At]:
    """Return the places of a claim's verdicts."""
    names = tables.get("each", [])
    axes = [names] if isinstance(names, str) else list(names)
    if not axes:
        return [{}]
    first = {**tables, **tables.get("parts", [{}])[0]}
    plain = Selection.of({**first, "steps": []})
    found: list[At] = []
    for cell in plain.cells(means):
        for axis in axes:
            if axis not in cell.at:
                raise unknown_name(f"each: the numbers of {first['sweep']!r} have no axis", axis, list(cell.at))
        at = {axis: cell.at[axis] for axis in axes}
        if at not in found:
            found.append(at)
    return found


@dataclass(frozen=True)
class _Part:
    """A comparison of a claim at one of its places."""

    cells: list[Cell]
    asked: Asked
    judged: list[Judged]
    tolerance: str

    @classmethod
    def of(cls, tables: Mapping[str, Any], at: At, means: Means, axes: Axes) -> "_Part":
        chosen = Selection.of(_at_place(tables, at))
        cells = chosen.cells(means)
        said = relation(tables.get("relation", "shown"))
        other = tables.get("than")
        pairs: list[tuple[Cell, Cell]] = []
        if "than" in said.keys:
            if not isinstance(other, Mapping):
                raise input_error(f"{tables['text']}: than: {other!r}; allowed: a table of axes and values", key="than")
            there = chosen.elsewhere(other).cells(means)
            pairs = [(cell, found) for cell in cells for found in matching(cell.at, there, other)]
        placed = {key: _for_place(tables.get(key), at) for key in ("paper", "value") if key in tables or key == "paper"}
        asked = Asked({**tables, **placed}, chosen.unit(means), pairs)
        judged, words, often = said.judge(cells, asked), said.words(asked), tables.get("often")
        if often is None:
            return cls(cells, asked, judged, words)
        return cls(cells, asked, _places(judged), f"{words}; at more than {100 * often:g} % of the points")

    @property
    def agrees(self) -> bool:
        """Return whether it holds at all points, or at as many as `often` asks."""
        held = sum(one.holds for one in self.judged)
        often = self.asked.tables.get("often")
        return held == len(self.judged) if often is None else held > often * len(self.judged)

    @property
    def paper(self) -> str:
        """The paper's number, with its unit; nothing where it prints none."""
        paper = self.asked.tables["paper"]
        return "" if paper is None else f"{paper:g} {self.asked.unit.name}".strip()

    def measured(self, axes: Axes) -> str:
        """Return the numbers in words."""
        unit = self.asked.unit
        there = list({id(other): other for _, other in self.asked.pairs}.values())
        is_short = len(self.cells) + len(there) <= (_MAX_COMPARED if there else _MAX_NAMED)
        here, beside = (_words(cells, unit, axes, one_by_one=is_short) for cells in (self.cells, there))
        text = f"{here} against {beside}" if there else here
        return str(self.asked.tables.get("measured", "{}")).replace("{}", f"{text} {unit.name}".strip())


def _at_place(tables: Mapping[str, Any], at: At) -> dict[str, Any]:
    where = dict(tables.get("where", {}))
    found = dict(tables)
    for axis, value in at.items():
        if axis in {METRIC, SWEEP, GROUP}:
            found[axis] = value
        else:
            where[axis] = value
    return {**found, "where": where}


def _for_place(given: Any, at: At) -> Any:
    """Return the value of a table that is for a place; `{RED = 77, SFQ = 14}` has one for each value of an axis."""
    if not isinstance(given, Mapping):
        return given
    names = {str(value) for value in at.values()}
    found = [value for key, value in given.items() if key in names]
    if not found:
        raise input_error(f"no number for {dict(at)}; there is: {', '.join(given)}")
    return _for_place(found[0], at)


def _check(tables: Mapping[str, Any], at: At, parts: Sequence[_Part], axes: Axes, readings: Sequence[str]) -> Check:
    judged = [one for part in parts for one in part.judged]
    wrong = [one.at for one in judged if not one.holds]
    agrees = None if not judged else all(part.agrees for part in parts)
    try:
        words = {axis: _shown(value) for axis, value in at.items()}
        text = fill(str(tables["text"]), words)
        of = without_readings(str(tables.get("of", tables["text"])), words, readings)
    except KeyError as error:
        raise unknown_name(f"{shown(tables['text'])}: `each` has no axis", error.args[0], list(at)) from None
    measured = "; ".join(dict.fromkeys(part.measured(axes) for part in parts))
    if len(judged) > 1:
        measured = f"{_held(judged, wrong)}{_exceptions(wrong, [one.at for one in judged], at, axes)}; {measured}"
    papers = dict.fromkeys(part.paper for part in parts if part.paper)
    margins = [one.margin for one in judged]
    margin = min(margins, key=lambda one: -math.inf if math.isnan(one) else one) if margins else math.nan
    source = "; ".join(papers) or str(tables.get("says", ""))
    return Check(
        claim=text,
        paper=source,
        measured=measured,
        agrees=agrees,
        note=_reason(tables, wrong, at) if agrees is False else str(tables.get("note", "")),
        tolerance="; ".join(dict.fromkeys(part.tolerance for part in parts if part.tolerance)),
        name=", ".join([str(tables.get("name", "")), *map(_shown, at.values() if "name" in tables else [])]),
        held=len(judged) - len(wrong),
        points=len(judged),
        margin=float(f"{margin:.6g}") if math.isfinite(margin) else None,
        main=bool(tables.get("main")),
        own=bool(tables.get("own", not source)),
        of=of,
    )


def without_readings(text: str, at: Mapping[str, Any], readings: Sequence[str]) -> str:
    """Return what a claim is called whose readings are counted once: its text without their places.

    >>> without_readings("{queue}, {reading}: the share", {"queue": "RED", "reading": "SACK"}, ["reading"])
    'RED, *: the share'
    """
    return fill(text, {name: "*" if name in readings else value for name, value in at.items()})


def _places(judged: Sequence[Judged]) -> list[Judged]:
    """Return one comparison for each place: the one with the smallest margin."""
    found: dict[tuple[Any, ...], Judged] = {}
    for one in judged:
        key = tuple(one.at.items())
        found[key] = min(found.get(key, one), one, key=lambda some: some.margin)
    return list(found.values())


def _held(judged: Sequence[Judged], wrong: Sequence[At]) -> str:
    if not wrong:
        return f"holds at all {len(judged)} points"
    if len(wrong) == len(judged):
        return f"holds at none of {len(judged)} points"
    return f"holds at {len(judged) - len(wrong)} of {len(judged)} points"


def _reason(tables: Mapping[str, Any], wrong: Sequence[At], at: At) -> str:
    """Return why a claim does not hold, chosen by where it does not."""
    given = tables.get("why", OPEN)
    for reason in [given] if isinstance(given, str) else given:
        if isinstance(reason, str):
            return reason
        where = reason.get("where", {})
        if all(
            axis in place and is_in(place[axis], value)
            for one in wrong
            for place in [{**at, **one}]
            for axis, value in where.items()
        ):
            return str(reason["text"])
    return OPEN


_ALL = "all of them together"
"""Where a claim is about a mean over all axes."""


def _words(cells: Sequence[Cell], unit: Unit, axes: Axes, *, one_by_one: bool) -> str:
    """Return numbers one by one, or their span."""
    if not cells:
        return ""
    if len(cells) == 1:
        return unit.number(cells[0].number)
    varied = _varied([cell.at for cell in cells])
    if one_by_one:
        return ", ".join(f"{place(cell.at, varied, axes)} {unit.number(cell.number)}" for cell in cells)
    means = [cell.number.mean for cell in cells]
    low, high = (f"{end(means):.{unit.digits}f}" for end in (min, max))
    return low if low == high else f"{low} to {high}"


def _exceptions(wrong: Sequence[At], judged: Sequence[At], at: At, axes: Axes) -> str:
    """Return where a claim does not hold, in parentheses: what all exceptions have in common, or the first of them."""
    if not wrong or wrong == judged:
        return ""
    names = [axis for axis in _varied(judged) if axis != SWEEP and axis not in at] or list(wrong[0])
    common = [axis for axis in names if all(one.get(axis) == wrong[0].get(axis) for one in wrong)]
    if len(wrong) == 1 or (common and len(wrong) >= _FEW):
        count = "the exception" if len(wrong) == 1 else f"all {len(wrong)} exceptions"
        return f" ({count} at {place(wrong[0], common, axes) or _ALL})"
    named = list(dict.fromkeys(place(one, names, axes) or _ALL for one in wrong))
    return f" (not at {'; '.join(named[:_MAX_NAMED])}{'; ...' if len(named) > _MAX_NAMED else ''})"


def _varied(places: Sequence[At]) -> list[str]:
    names = dict.fromkeys(axis for one in places for axis in one)
    return [axis for axis in names if any(one.get(axis) != places[0].get(axis) for one in places)]


def place(at: At, names: Sequence[str], axes: Axes) -> str:
    """Return coordinates in words, as the axes' labels have them."""
    return ", ".join(
        str(axes.get(axis, {}).get("label", "{}" if isinstance(at[axis], str) else f"{axis} {{}}")).replace(
            "{}", _shown(at[axis])
        )
        for axis in names
        if axis in at
    )


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
