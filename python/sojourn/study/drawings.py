"""Figures as data: lines, bars or points of a study's numbers, in panels, with their 95 % intervals."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn.reading import input_error, unknown_name
from sojourn.study.claims import place
from sojourn.study.means import Cell, Means
from sojourn.study.relations import lines
from sojourn.study.select import Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KEYS = (
    *("name", "caption", "kind", "panels", "each", "title", "height_in", "mark", "log", "range", "horizontal", "paper"),
    *("sweep", "metric", "group", "where", "steps", "x", "by", "against"),
)
_MARKERS = "soDv^P*X"
_WIDTH = 0.8
_CROWDED = 40
"""Letters on an axis above which its labels are turned."""


@dataclass(frozen=True)
class Panel:
    """One panel: what is drawn in it."""

    tables: Mapping[str, Any]
    axes: Mapping[str, Mapping[str, Any]]
    means: Means

    def selection(self) -> Selection:
        """Return the numbers that it shows."""
        return Selection.of(self.tables)

    def by(self, cells: Sequence[Cell]) -> dict[str, list[Cell]]:
        """Return the numbers of each value of the axis that colours tell apart, in the order of the study's axis."""
        axis = self.tables.get("by")
        found: dict[str, list[Cell]] = {}
        for cell in cells:
            found.setdefault("" if axis is None else place(cell.at, [axis], self.axes), []).append(cell)
        return found

    def look(self, name: str) -> dict[str, Any]:
        """Return colour and marker of a value, the same in all figures of the study."""
        from sojourn.figures.style import family

        position = self.position(name)
        return {"color": family(position), "marker": _MARKERS[position % len(_MARKERS)], "markersize": 3.5}

    def position(self, name: str) -> int:
        """Return the place of a value on its axis."""
        known = self.axes.get(str(self.tables.get("by")), {})
        values = [*known.get("levels", ()), *(known.get("values", ()) if isinstance(known.get("values"), list) else ())]
        names = [place({"": value}, [""], {"": known}) for value in values]
        return names.index(name) if name in names else len(names)


def draw(tables: Mapping[str, Any], means: Means, axes: Mapping[str, Mapping[str, Any]]) -> "Figure":
    """Draw a figure of a study; raises InputError where it names what there is not."""
    from sojourn.study.panels import panels

    for key in tables:
        if key not in KEYS:
            raise unknown_name(f"{tables.get('name', 'a figure')}: no key of a figure is called", key, KEYS)
    kind = tables.get("kind", "line")
    if kind not in _KINDS:
        raise unknown_name(f"{tables['name']}: no kind of figure is called", kind, list(_KINDS))
    shown = list(_panels(tables, means, axes))

    def fill(index: int, one: "Axes") -> None:
        _KINDS[kind](shown[index], one)
        _finish(shown[index], one)

    return panels([str(panel.tables.get("title", "")) for panel in shown], fill, height_in=tables.get("height_in", 2.9))


def _panels(tables: Mapping[str, Any], means: Means, axes: Mapping[str, Mapping[str, Any]]) -> Iterator[Panel]:
    """Yield a panel for each entry of `panels`, and of those one for each value of the axis `each`."""
    for given in tables.get("panels", [{}]):
        whole = {**tables, **given}
        axis = whole.get("each")
        if not axis:
            yield Panel(whole, axes, means)
            continue
        for value in dict.fromkeys(cell.at[axis] for cell in Selection.of({**whole, "steps": []}).cells(means)):
            named = place({axis: value}, [axis], axes)
            title = f"{whole['title']}, {named}" if whole.get("title") else named
            yield Panel({**whole, "where": {**whole.get("where", {}), axis: value}, "title": title}, axes, means)


def _line(panel: Panel, axes: "Axes") -> None:
    x = _x(panel)
    cells = panel.selection().cells(panel.means)
    for name, line in panel.by(cells).items():
        axes.errorbar(
            [cell.at[x] for cell in line],
            [cell.number.mean for cell in line],
            yerr=[cell.number.half for cell in line],
            label=name,
            elinewidth=0.6,
            **panel.look(name),
        )
    axes.set_xlabel(_axis_title(panel, x))


def _bars(panel: Panel, axes: "Axes") -> None:
    from sojourn.figures.style import INK, family

    x, lying = _x(panel), bool(panel.tables.get("horizontal"))
    cells = panel.selection().cells(panel.means)
    values = list(dict.fromkeys(cell.at[x] for cell in cells))
    parts = panel.by(cells)
    width = _WIDTH / len(parts)
    for turn, (name, line) in enumerate(parts.items()):
        error: dict[str, Any] = {"xerr" if lying else "yerr": [cell.number.half for cell in line]}
        (axes.barh if lying else axes.bar)(
            [values.index(cell.at[x]) + (turn - (len(parts) - 1) / 2) * width for cell in line],
            [cell.number.mean for cell in line],
            width,
            **error,
            color=family(turn),
            label=name,
            error_kw={"elinewidth": 0.6, "ecolor": INK},
        )
    names = [place({x: value}, [x], panel.axes) for value in values]
    paper = panel.tables.get("paper", {})
    known = [(index, paper[name]) for index, name in enumerate(names) if name in paper]
    if known:
        places, numbers = zip(*known, strict=True)
        axes.plot(
            *((numbers, places) if lying else (places, numbers)), "D", color=family(1), markersize=4, label="paper"
        )
    if lying:
        axes.set_yticks(range(len(values)), names)
        axes.invert_yaxis()
    else:
        crowded = max(map(len, names)) * len(names) > _CROWDED
        axes.set_xticks(range(len(values)), names, rotation=35 if crowded else 0)


def _points(panel: Panel, axes: "Axes") -> None:
    """Draw one group or metric against another, with the diagonal."""
    from sojourn.study.panels import GREY

    across = panel.selection()
    other = across.elsewhere(panel.tables["against"])
    there = {tuple(cell.at.items()): cell for cell in other.cells(panel.means)}
    most = 0.0
    for name, line in panel.by(across.cells(panel.means)).items():
        up = [there[tuple(cell.at.items())].number for cell in line]
        axes.errorbar(
            [cell.number.mean for cell in line],
            [number.mean for number in up],
            xerr=[cell.number.half for cell in line],
            yerr=[number.half for number in up],
            linewidth=0.6,
            linestyle="-" if len(line) > 1 else "none",
            elinewidth=0.6,
            label=name,
            **panel.look(name),
        )
        most = max(most, *(cell.number.mean for cell in line), *(number.mean for number in up))
    axes.plot([0, 1.05 * most], [0, 1.05 * most], color=GREY, linewidth=0.6, zorder=0)
    axes.set_xlabel(_label(across, panel.means))
    axes.set_ylabel(_label(other, panel.means))


_KINDS: dict[str, Callable[[Panel, "Axes"], None]] = {"line": _line, "bars": _bars, "points": _points}


def _finish(panel: Panel, axes: "Axes") -> None:
    from sojourn.study.panels import GREY

    tables = panel.tables
    lying = bool(tables.get("horizontal"))
    if tables.get("kind", "line") != "points":
        label = _label(panel.selection(), panel.means)
        (axes.set_xlabel if lying else axes.set_ylabel)(label)
    if "mark" in tables:
        (axes.axvline if lying else axes.axhline)(tables["mark"], color=GREY, linewidth=0.6, zorder=0)
    if tables.get("log"):
        _logarithmic(axes, lying=lying)
    elif tables.get("kind", "line") == "line":
        axes.set_ylim(bottom=0)
    if "range" in tables:
        axes.set_ylim(*tables["range"])


def _logarithmic(axes: "Axes", *, lying: bool) -> None:
    """Make the axis of the numbers logarithmic, with plain numbers at 1, 2, 5, 10."""
    from matplotlib.ticker import LogLocator, NullFormatter

    (axes.set_xscale if lying else axes.set_yscale)("log")
    axis = axes.xaxis if lying else axes.yaxis
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def _x(panel: Panel) -> str:
    x = panel.tables.get("x")
    if not isinstance(x, str):
        raise input_error(f"{panel.tables.get('name')}: x: {x!r}; allowed: the name of an axis", key="x")
    lines(panel.selection().cells(panel.means), x)
    return x


def _axis_title(panel: Panel, axis: str) -> str:
    return str(panel.axes.get(axis, {}).get("title", axis.replace("_", " ")))


def _label(chosen: Selection, means: Means) -> str:
    """Return what an axis says: the numbers in words, and whose they are where groups have them."""
    title = chosen.unit(means).title
    sweep, metric = (one if isinstance(one, str) else one[0] for one in (chosen.sweep, chosen.metric))
    group = chosen.group
    return f"{group}: {title}" if isinstance(group, str) and means.group(sweep, metric, group) == group else title
