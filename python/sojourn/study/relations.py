"""What a claim can say of numbers: each relation with its tolerance, and by how much it holds at each point."""

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.reading import input_error, unknown_name
from sojourn.study.means import At, Cell
from sojourn.study.numbers import Number
from sojourn.study.units import Unit

CHANCE_SE = 2.0
_TOLERANCE = re.compile(r"(?:factor\s+)?([0-9.]+)\s*(%|se|sd|points)?")


@dataclass(frozen=True)
class Judged:
    """A comparison at one point."""

    at: At
    margin: float
    """By how much it holds, in the unit of the comparison; below zero where it does not."""

    @property
    def holds(self) -> bool:
        """Return whether it holds; what is not a number does not."""
        return self.margin >= 0.0


@dataclass(frozen=True)
class Asked:
    """What a claim says, beside the numbers that it is about."""

    tables: Mapping[str, Any]
    unit: Unit
    pairs: Sequence[tuple[Cell, Cell]] = ()
    """Each number and one on the other side, where there is one."""

    @property
    def surely(self) -> bool:
        """Return whether it is said of whole 95 % intervals instead of means."""
        return bool(self.tables.get("surely"))

    def __getitem__(self, key: str) -> Any:
        if key not in self.tables:
            raise input_error(f"{key}: nothing; allowed: a value, as {self.tables['relation']!r} needs one", key=key)
        return self.tables[key]


Judge = Callable[[Sequence[Cell], Asked], list[Judged]]
Words = Callable[[Asked], str]


@dataclass(frozen=True)
class Relation:
    """A relation: how it is judged, its tolerance in words, and the keys of a claim that it reads."""

    judge: Judge
    words: Words
    keys: tuple[str, ...] = ()


def _ahead(sign: int, asked: Asked, one: Number, other: Number) -> float:
    """Return by how much more than chance a number is above another, or below it where the sign is negative."""
    return _strict(sign * (one.mean - other.mean) - _chance(asked, one, other))


def _above(sign: int, *, clearly: bool) -> Judge:
    def judge(_cells: Sequence[Cell], asked: Asked) -> list[Judged]:
        return [
            Judged(cell.at, _ahead(sign, asked, cell.number, other.number))
            if clearly
            else Judged(
                cell.at, sign * (cell.number.mean - other.number.mean) + _chance(asked, cell.number, other.number)
            )
            for cell, other in asked.pairs
        ]

    return judge


def _equal(_cells: Sequence[Cell], asked: Asked) -> list[Judged]:
    return [
        Judged(cell.at, _chance(asked, cell.number, other.number) - abs(cell.number.mean - other.number.mean))
        for cell, other in asked.pairs
    ]


def _ends(number: Number, asked: Asked) -> tuple[float, ...]:
    """Return what a claim about a number alone holds for: its mean, or `surely` the ends of its 95 % interval."""
    return number.interval() if asked.surely else (number.mean,)


def _bound(sign: int, *, strictly: bool = False) -> Judge:
    def judge(cells: Sequence[Cell], asked: Asked) -> list[Judged]:
        margins = [
            Judged(cell.at, min(sign * (end - asked["value"]) for end in _ends(cell.number, asked))) for cell in cells
        ]
        return [Judged(one.at, _strict(one.margin)) for one in margins] if strictly else margins

    return judge


def _between(cells: Sequence[Cell], asked: Asked) -> list[Judged]:
    low, high = asked["range"]
    return [Judged(cell.at, min(min(end - low, high - end) for end in _ends(cell.number, asked))) for cell in cells]


def _near(cells: Sequence[Cell], asked: Asked) -> list[Judged]:
    return [Judged(cell.at, closeness(cell.number, asked["paper"], asked["tolerance"])) for cell in cells]


def closeness(number: Number, paper: float, tolerance: float | str | Sequence[float | str]) -> float:
    """Return by how much a number is nearer to the paper's than the tolerance asks.

    >>> closeness(Number(9.5, 0, 1), 10.0, "10 %"), closeness(Number(9, 0, 1), 10.0, 0.5)
    (0.5, -0.5)
    >>> closeness(Number(25, 0, 1), 10.0, "factor 2")
    -0.25
    >>> closeness(Number(14, 0, 1), 10.0, ["25 %", 5])
    1.0
    """
    if isinstance(tolerance, Sequence) and not isinstance(tolerance, str):
        return max(closeness(number, paper, one) for one in tolerance)
    if isinstance(tolerance, str) and tolerance.startswith("factor"):
        factor, _ = _read(tolerance)
        ratio = number.mean / paper if paper else math.inf
        return 1 - max(ratio, 1 / ratio if ratio else math.inf) / factor
    allowed, unit = _read(tolerance)
    return (allowed * abs(paper) / 100 if unit == "%" else allowed) - abs(number.mean - paper)


def _ordered(sign: int, *, clearly: bool) -> Judge:
    def judge(cells: Sequence[Cell], asked: Asked) -> list[Judged]:
        found = []
        for line in lines(cells, asked["along"]).values():
            for before, after in itertools.pairwise(_sorted(line, asked)):
                rise = sign * (after.number.mean - before.number.mean)
                slack = _chance(asked, after.number, before.number)
                found.append(Judged(after.at, _strict(rise - slack) if clearly else rise + slack))
        return found

    return judge


def _sorted(line: Sequence[Cell], asked: Asked) -> list[Cell]:
    along = asked["along"]
    if "order" in asked.tables:
        by = {cell.at[along]: cell for cell in line}
        return [by[value] for value in asked["order"]]
    return list(line)


def _extreme(sign: int) -> Judge:
    def judge(cells: Sequence[Cell], asked: Asked) -> list[Judged]:
        along, which = asked["along"], asked["which"]
        found = []
        for line in lines(cells, along).values():
            by = {cell.at[along]: cell for cell in line}
            if which not in by:
                raise unknown_name(f"the axis {along!r} has no value", str(which), list(map(str, by)))
            own = by.pop(which)
            found.append(Judged(own.at, min(_ahead(sign, asked, own.number, other.number) for other in by.values())))
        return found

    return judge


def _strict(margin: float) -> float:
    """Return a margin that does not hold at zero."""
    return margin if margin != 0.0 else -math.ulp(0.0)


def lines(cells: Sequence[Cell], along: str) -> dict[tuple[Any, ...], list[Cell]]:
    """Return the numbers along an axis, for each place on the other axes."""
    found: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        if along not in cell.at:
            raise unknown_name("the numbers have no axis", along, list(cell.at))
        found.setdefault(tuple(value for axis, value in cell.at.items() if axis != along), []).append(cell)
    return found


def _chance(asked: Asked, one: Number, other: Number) -> float:
    """Return how far two means may be apart, as the claim's tolerance has it."""
    if asked.surely:
        low, high = one.minus(other)
        return (high - low) / 2
    sizes = {"se": one.error(other), "sd": max(one.sd, other.sd), "%": abs(other.mean) / 100}
    return max(size * sizes.get(unit, 1.0) for size, unit in _tolerances(asked))


def _tolerances(asked: Asked) -> list[tuple[float, str]]:
    """Return the tolerances of a comparison of two means, of which the largest counts."""
    given = asked.tables.get("tolerance", f"{CHANCE_SE:g} se")
    return [_read(one) for one in (given if isinstance(given, list) else [given])]


def _read(tolerance: float | str) -> tuple[float, str]:
    if isinstance(tolerance, int | float):
        return float(tolerance), ""
    found = _TOLERANCE.fullmatch(tolerance.strip())
    if found is None:
        allowed = "a number, '5 %', '2 points', 'factor 2', '2 se' (standard errors) or '2 sd'"
        raise input_error(f"tolerance: {tolerance!r}; allowed: {allowed}", key="tolerance", found=tolerance)
    return float(found[1]), found[2] or ""


def _chance_words(asked: Asked) -> str:
    if asked.surely:
        return "the 95 % interval of the difference"
    names = {"se": "standard errors of the difference", "sd": "standard deviations"}
    known = [
        f"{size:g} {names.get(unit, unit or asked.unit.name)}".strip() for size, unit in _tolerances(asked) if size
    ]
    return " or ".join(known) or "any difference"


def _value_words(words: str) -> Words:
    return lambda asked: f"{words} {asked['value']:g} {asked.unit.name}".strip() + _surely_words(asked)


def _range_words(asked: Asked) -> str:
    low, high = asked["range"]
    return f"{low:g} to {high:g} {asked.unit.name}".strip() + _surely_words(asked)


def _surely_words(asked: Asked) -> str:
    return ", with the whole 95 % interval" if asked.surely else ""


def _near_words(asked: Asked) -> str:
    given = asked["tolerance"]
    return " or ".join(_one_near(one, asked.unit) for one in (given if isinstance(given, list) else [given]))


def _one_near(tolerance: float | str, unit: Unit) -> str:
    if isinstance(tolerance, str):
        return tolerance if tolerance.startswith("factor") else f"± {tolerance}"
    return f"± {tolerance:g} {unit.name}".strip()


_PAIR, _ORDER = ("than", "tolerance"), ("along", "order", "tolerance")
RELATIONS: dict[str, Relation] = {
    "above": Relation(_above(1, clearly=True), _chance_words, _PAIR),
    "below": Relation(_above(-1, clearly=True), _chance_words, _PAIR),
    "not above": Relation(_above(-1, clearly=False), _chance_words, _PAIR),
    "not below": Relation(_above(1, clearly=False), _chance_words, _PAIR),
    "equal": Relation(_equal, _chance_words, _PAIR),
    "at least": Relation(_bound(1), _value_words("at least"), ("value",)),
    "at most": Relation(_bound(-1), _value_words("at most"), ("value",)),
    "more than": Relation(_bound(1, strictly=True), _value_words("more than"), ("value",)),
    "less than": Relation(_bound(-1, strictly=True), _value_words("less than"), ("value",)),
    "between": Relation(_between, _range_words, ("range",)),
    "near": Relation(_near, _near_words, ("tolerance",)),
    "rising": Relation(_ordered(1, clearly=True), _chance_words, _ORDER),
    "falling": Relation(_ordered(-1, clearly=True), _chance_words, _ORDER),
    "not falling": Relation(_ordered(1, clearly=False), _chance_words, _ORDER),
    "not rising": Relation(_ordered(-1, clearly=False), _chance_words, _ORDER),
    "largest": Relation(_extreme(1), _chance_words, ("along", "which", "tolerance")),
    "smallest": Relation(_extreme(-1), _chance_words, ("along", "which", "tolerance")),
    "shown": Relation(lambda _cells, _asked: [], lambda _asked: ""),
}
"""Pairwise: above, below, not above, not below, equal. Bounds: at least, at most, more than, less than, between.
Tolerance: near. Order along an axis: rising, falling, not falling, not rising, largest, smallest. Without a verdict:
shown."""


def relation(name: str) -> Relation:
    """Return a relation by name; raises InputError where there is none."""
    if name not in RELATIONS:
        raise unknown_name("no relation is called", name, list(RELATIONS))
    return RELATIONS[name]
