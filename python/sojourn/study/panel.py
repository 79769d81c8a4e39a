"""One panel of a figure: which numbers it shows, and how the values of its axes are told apart."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.study.claims import place
from sojourn.study.means import Cell, Means
from sojourn.study.select import Selection

_MARKERS = "soDv^P*X"
_STYLES = ("-", "--", ":")


@dataclass(frozen=True)
class Panel:
    """One panel: what is drawn in it."""

    tables: Mapping[str, Any]
    axes: Mapping[str, Mapping[str, Any]]
    means: Means

    def selection(self) -> Selection:
        """Return the numbers that it shows."""
        return Selection.of(self.tables)

    def paper(self, *also: str) -> Mapping[str, float]:
        """Return the paper's numbers by the values of the axis across: those of the panel's place, where it has one.

        `also` names further values of axes that they may be of.
        """
        found = self.tables.get("paper", {})
        places = {str(value) for value in self.tables.get("where", {}).values()} | set(also)
        return {
            name: number
            for name, given in narrowed(found, places).items()
            for number in [narrowed(given, places)]
            if not isinstance(number, Mapping)
        }

    def by(self, cells: Sequence[Cell]) -> dict[str, list[Cell]]:
        """Return the numbers of each value of the axis that colours tell apart, in the order of the study's axis."""
        given = self.tables.get("by", [])
        axes = [given] if isinstance(given, str) else given
        found: dict[str, list[Cell]] = {}
        for cell in cells:
            found.setdefault(place(cell.at, axes, self.axes), []).append(cell)
        return found

    def name(self, cell: Cell) -> str:
        """Return what a number's place is called on an axis of names; several axes are one below the other."""
        x = self.tables.get("x", "")
        return "\n".join(place(cell.at, [axis], self.axes) for axis in ([x] if isinstance(x, str) else x))

    def look(self, name: str, turn: int = 0) -> dict[str, Any]:
        """Return colour and marker of a value, the same in all figures of the study; a second axis has the lines.

        `turn` is the place in this figure of a value that no axis lists.
        """
        from sojourn.figures.style import FAMILIES, family

        position, *others = self.positions(name, turn)
        style = others[0] if others else position // len(FAMILIES)
        return {
            "color": family(position),
            "linestyle": _STYLES[style % len(_STYLES)],
            "marker": _MARKERS[position % len(_MARKERS)],
            "markersize": 3.5,
        }

    def positions(self, name: str, turn: int = 0) -> tuple[int, ...]:
        """Return the places of values, as `by` names them, on their axes; of others `turn` places after them."""
        given = self.tables.get("by", [])
        axes = [self.axes.get(axis, {}) for axis in ([given] if isinstance(given, str) else given)]
        names = [[place({"": value}, [""], {"": axis}) for value in _values_of(axis)] for axis in axes]
        for places in itertools.product(*(range(len(one)) for one in names)):
            if names and ", ".join(one[place] for one, place in zip(names, places, strict=True)) == name:
                return places
        return (turn + (len(names[0]) if names else 0),)


def _values_of(axis: Mapping[str, Any]) -> list[Any]:
    """Return the values of an axis as far as the study lists them."""
    values = axis.get("values", ())
    return [*axis.get("levels", ()), *(values if isinstance(values, list) else ())]


def narrowed(given: Any, places: Collection[str]) -> Any:
    """Return the part of nested tables that is for some values of axes.

    >>> narrowed({"LEDBAT": {"RED": {"1+1": 2, "5+5": 49}}}, {"LEDBAT", "1+1"})
    {'RED': {'1+1': 2, '5+5': 49}}
    >>> narrowed({"1+1": 2, "5+5": 49}, {"LEDBAT", "1+1"})
    2
    """
    while isinstance(given, Mapping) and (key := next((key for key in given if key in places), None)) is not None:
        given = given[key]
    return given
