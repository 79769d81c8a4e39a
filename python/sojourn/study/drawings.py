"""Figures as data: lines, bars or points of a study's numbers, in panels, with their 95 % intervals."""

import itertools
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sojourn.reading import input_error, unknown_name
from sojourn.study.claims import place
from sojourn.study.ellipse import Ellipse
from sojourn.study.kinds import FIGURE, check_known
from sojourn.study.means import Cell, Means
from sojourn.study.panel import Panel
from sojourn.study.relations import lines
from sojourn.study.select import Selection, matching

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_WIDTH = 0.8
_MAX_LETTERS = 85
"""On axes of names side by side, with two for each gap; where there are more, the names are turned."""
_MAX_DECADES = 2.5
"""Of a logarithmic axis that has numbers at 2 and 5 too."""
_MAX_ROWS = 12
"""Of a table whose columns have their names below alone."""
_HEAT_ALPHA = 0.7
"""How much of its colour a cell of a table shows."""
_GAMMA = 2.2
_MIDDLE_LUMINANCE = 0.245
"""Where white and dark letters are as easy to read (WCAG 2.2, relative luminance)."""
_WHISKER = ("whislo", "q1", "med", "q3", "whishi")


def draw(tables: Mapping[str, Any], means: Means, axes: Mapping[str, Mapping[str, Any]]) -> "Figure":
    """Draw a figure of a study; raises InputError where it names what there is not."""
    from sojourn.study.panels import panels

    check_known(tables, FIGURE, f"{tables.get('name', 'a figure')}: no key of a figure is called")
    kind = tables.get("kind", "line")
    if kind not in _KINDS:
        raise unknown_name(f"{tables['name']}: no kind of figure is called", kind, list(_KINDS))
    shown = list(_panels(tables, means, axes))

    def fill(index: int, one: "Axes") -> None:
        _KINDS[kind](shown[index], one)
        _finish(shown[index], one)

    titles = [str(panel.tables.get("title", "")) for panel in shown]
    return panels(titles, fill, height_in=tables.get("height_in", 2.9), columns=tables.get("columns"))


def _panels(tables: Mapping[str, Any], means: Means, axes: Mapping[str, Mapping[str, Any]]) -> Iterator[Panel]:
    """Yield a panel for each entry of `panels`, and of those one for each value of the axes `each`."""
    for given in tables.get("panels", [{}]):
        whole = {**tables, **given}
        each = [whole["each"]] if isinstance(whole.get("each"), str) else whole.get("each", [])
        if not each:
            yield Panel(whole, axes, means)
            continue
        there = [[cell.at[axis] for axis in each] for cell in Selection.of({**whole, "steps": []}).cells(means)]
        for values in itertools.product(*map(dict.fromkeys, zip(*there, strict=True))):
            if list(values) in there:
                at = dict(zip(each, values, strict=True))
                title = ", ".join(filter(None, [whole.get("title"), place(at, each, axes)]))
                yield Panel({**whole, "where": {**whole.get("where", {}), **at}, "title": title}, axes, means)


def _line(panel: Panel, axes: "Axes") -> None:
    x = _x(panel)
    cells = panel.selection().cells(panel.means)
    for turn, (name, line) in enumerate(panel.by(cells).items()):
        axes.errorbar(
            [cell.at[x] for cell in line],
            [cell.number.mean for cell in line],
            yerr=[cell.number.half for cell in line],
            label=name,
            elinewidth=0.6,
            **panel.look(name, turn),
        )
    axes.set_xlabel(_axis_title(panel, x))


def _bars(panel: Panel, axes: "Axes") -> None:
    if panel.tables.get("log"):
        # The length of a bar says nothing on a logarithmic axis.
        _dots(panel, axes)
        return
    from sojourn.figures.style import INK, family

    lying = bool(panel.tables.get("horizontal"))
    names, parts = _along(panel)
    width = _WIDTH / len(parts)
    for turn, (name, line) in enumerate(parts.items()):
        error: dict[str, Any] = {"xerr" if lying else "yerr": [cell.number.half for cell in line.values()]}
        (axes.barh if lying else axes.bar)(
            [names.index(one) + (turn - (len(parts) - 1) / 2) * width for one in line],
            [cell.number.mean for cell in line.values()],
            width,
            **error,
            color=family(turn),
            label=name,
            error_kw={"elinewidth": 0.6, "ecolor": INK},
        )
    _papers_numbers(panel, axes, names, list(parts), lying=lying)
    _tell_places(axes, names, lying=lying)


def _papers_numbers(panel: Panel, axes: "Axes", names: Sequence[str], parts: Sequence[str], *, lying: bool) -> None:
    """Draw the paper's numbers as stars: in the middle of a place, or where each of several has its own, beside it."""
    from sojourn.figures.style import INK

    whole = panel.paper()
    known = [(float(index), whole[name]) for index, name in enumerate(names) if name in whole]
    for turn, part in enumerate(parts):
        own = panel.paper(part)
        known += [
            (index + (turn - (len(parts) - 1) / 2) * _WIDTH / len(parts), own[name])
            for index, name in enumerate(names)
            if name in own and name not in whole
        ]
    if known:
        places, numbers = zip(*known, strict=True)
        axes.plot(*((numbers, places) if lying else (places, numbers)), "*", color=INK, markersize=7, label="paper")


def _along(panel: Panel) -> tuple[list[str], dict[str, dict[str, Cell]]]:
    """Return the places on an axis of names, and the numbers there of each value that colours tell apart."""
    cells = panel.selection().cells(panel.means)
    along = panel.tables["x"] if isinstance(panel.tables.get("x"), list) else [_x(panel)]
    for axis in along:
        lines(cells, axis)
    levels = [list(dict.fromkeys(cell.at[axis] for cell in cells)) for axis in along]
    # The first of several axes has the groups of places.
    cells = sorted(cells, key=lambda cell: [of.index(cell.at[axis]) for of, axis in zip(levels, along, strict=True)])
    found = {name: {panel.name(cell): cell for cell in line} for name, line in panel.by(cells).items()}
    return list(dict.fromkeys(map(panel.name, cells))), found


def _tell_places(axes: "Axes", names: Sequence[str], *, lying: bool) -> None:
    if lying:
        axes.set_yticks(range(len(names)), names)
        # Panels beside each other have their rows at the same height.
        axes.set_ylim(len(names) - 0.5, -0.5)
        return
    place_of_axes = axes.get_subplotspec()
    side_by_side = 1 if place_of_axes is None else place_of_axes.get_gridspec().ncols
    if sum(2 + max(map(len, name.split("\n"))) for name in names) > _MAX_LETTERS / side_by_side:
        axes.set_xticks(range(len(names)), names, rotation=35, ha="right", rotation_mode="anchor")
    else:
        axes.set_xticks(range(len(names)), names)


def _dots(panel: Panel, axes: "Axes") -> None:
    """Draw numbers beside one another at places with names."""
    lying = bool(panel.tables.get("horizontal"))
    names, parts = _along(panel)
    for turn, (name, line) in enumerate(parts.items()):
        at = [names.index(one) + (turn - (len(parts) - 1) / 2) * _WIDTH / len(parts) for one in line]
        middle = [cell.number.mean for cell in line.values()]
        error: dict[str, Any] = {"xerr" if lying else "yerr": [cell.number.half for cell in line.values()]}
        look = {**error, **panel.look(name, turn), "linestyle": "none", "elinewidth": 0.8, "label": name}
        axes.errorbar(*((middle, at) if lying else (at, middle)), **look)
    _papers_numbers(panel, axes, names, list(parts), lying=lying)
    _tell_places(axes, names, lying=lying)
    _part_places(axes, len(names), lying=lying)


def _part_places(axes: "Axes", count: int, *, lying: bool) -> None:
    from sojourn.study.panels import GREY

    for border in range(1, count):
        (axes.axhline if lying else axes.axvline)(border - 0.5, color=GREY, linewidth=0.3, zorder=0)


def _whiskers(panel: Panel, axes: "Axes") -> None:
    """Draw percentiles: the five metrics of a whisker's two ends, its box's two sides, and the line between."""
    from sojourn.figures.style import FAMILIES, INK, family

    cells = panel.selection().cells(panel.means)
    names = list(dict.fromkeys(map(panel.name, cells)))
    parts = panel.by(cells)
    step = _WIDTH / len(parts)
    for turn, (name, line) in enumerate(parts.items()):
        found: dict[str, list[float]] = {}
        for cell in line:
            found.setdefault(panel.name(cell), []).append(cell.number.mean)
        color = family(turn) if turn < len(FAMILIES) else "white"
        axes.bxp(
            [dict(zip(_WHISKER, five, strict=True)) for five in found.values()],
            positions=[names.index(one) + (turn - (len(parts) - 1) / 2) * step for one in found],
            widths=0.75 * step,
            patch_artist=True,
            showfliers=False,
            manage_ticks=False,
            boxprops={"linewidth": 0.6, "facecolor": color, "edgecolor": INK},
            medianprops={"color": "black", "linewidth": 1.0},
            whiskerprops={"linewidth": 0.6},
            capprops={"linewidth": 0.6},
        )
        axes.plot([], [], "s", markerfacecolor=color, markeredgecolor=INK, markeredgewidth=0.6, label=name)
    _tell_places(axes, names, lying=False)
    _part_places(axes, len(names), lying=False)


def _heat(panel: Panel, axes: "Axes") -> None:
    """Draw a table whose cells have a colour each, from one end of `range` to the other; `against` is a second line."""
    import numpy as np
    from matplotlib.colors import LogNorm, Normalize

    names, parts = _along(panel)
    low, high = panel.tables["range"]
    numbers = [[line[name].number.mean if name in line else math.nan for name in names] for line in parts.values()]
    colours = (LogNorm if panel.tables.get("log") else Normalize)(low, high)
    image = axes.imshow(numbers, cmap="RdBu_r", norm=colours, aspect="auto", alpha=_HEAT_ALPHA)
    fills = image.to_rgba(np.asarray(numbers))
    for row, line in enumerate(parts.values()):
        for column, name in enumerate(names):
            text = "\n".join(_texts(panel, line[name])) if name in line else ""
            color = _readable(fills[row, column])
            axes.text(column, row, text, ha="center", va="center", fontsize=6.5, linespacing=0.95, color=color)
    axes.set_yticks(range(len(parts)), list(parts))
    _tell_places(axes, names, lying=False)
    # Names that are turned would lie across the first row.
    level = not any(label.get_rotation() for label in axes.get_xticklabels())
    axes.tick_params(length=0, labeltop=level and len(parts) > _MAX_ROWS)


def _readable(fill: Sequence[float]) -> str:
    """Return the colour of letters on a fill that the page shines through: the one with more contrast."""
    from sojourn.figures.style import INK

    shown = (1 - _HEAT_ALPHA * (1 - part) for part in fill[:3])
    luminance = sum(weight * part**_GAMMA for weight, part in zip((0.2126, 0.7152, 0.0722), shown, strict=True))
    return "white" if luminance < _MIDDLE_LUMINANCE else INK


def _texts(panel: Panel, cell: Cell) -> Iterator[str]:
    """Yield a number of the table, and the one of `against` that belongs to it."""
    chosen = panel.selection()
    yield f"{cell.number.mean:.{chosen.unit(panel.means).digits}f}"
    if "against" in panel.tables:
        other = chosen.elsewhere(panel.tables["against"])
        (found,) = matching(cell.at, other.cells(panel.means), panel.tables["against"], only=True)
        yield f"{found.number.mean:.{other.unit(panel.means).digits}f}"


def _ellipses(panel: Panel, axes: "Axes") -> None:
    """Draw runs as points, their 1-sigma ellipse, and the median run, from high costs on the left to low ones.

    RFC 7928, section 2.7: the delay falls to the right, so that better is above and right.
    """
    across = panel.selection()
    other = across.elsewhere(panel.tables["against"])
    there = other.cells(panel.means)
    for turn, (name, line) in enumerate(panel.by(across.cells(panel.means)).items()):
        look = panel.look(name, turn) | {"linestyle": "none"}
        for cell in line:
            (up,) = matching(cell.at, there, panel.tables["against"], only=True)
            runs = _runs(cell, up, panel)
            axes.plot(*zip(*runs, strict=True), ".", color=look["color"], markersize=1.5, alpha=0.6)
            around = Ellipse.of(runs)
            if around is not None:
                least = min(x for x, _ in runs) / 2 if panel.tables.get("log") else -math.inf
                contour = [(max(x, least), y) for x, y in around.contour()]
                axes.fill(*zip(*contour, strict=True), facecolor=look["color"], alpha=0.2, linewidth=0)
                axes.plot(*zip(*contour, strict=True), color=look["color"], linewidth=0.8)
            axes.plot(
                *(statistics.median(values) for values in zip(*runs, strict=True)), label=name, fillstyle="none", **look
            )
    axes.invert_xaxis()
    axes.set_xlabel(_label(across, panel.means))
    axes.set_ylabel(_label(other, panel.means))


def _runs(cell: Cell, other: Cell, panel: Panel) -> list[tuple[float, float]]:
    """Return both numbers of each run."""
    values = (cell.number.values, other.number.values)
    if not all(values):
        name = panel.tables.get("name")
        message = f"{name}: the sweep keeps no runs of both metrics; allowed: metrics of its `runs`"
        raise input_error(message, key="against")
    return list(zip(*values, strict=True))


def _points(panel: Panel, axes: "Axes") -> None:
    """Draw one group or metric against another, with the diagonal where both have one unit."""
    from sojourn.study.panels import GREY

    across = panel.selection()
    other = across.elsewhere(panel.tables["against"])
    there = other.cells(panel.means)
    most = 0.0
    if "behind" in panel.tables:
        behind = across.elsewhere(panel.tables["behind"])
        up_behind = behind.elsewhere(panel.tables["against"]).cells(panel.means)
        for line in panel.by(behind.cells(panel.means)).values():
            height = [one.number.mean for cell in line for one in matching(cell.at, up_behind, {}, only=True)]
            axes.plot([cell.number.mean for cell in line], height, color=GREY, linewidth=0.6, alpha=0.6, zorder=0)
    for turn, (name, line) in enumerate(panel.by(across.cells(panel.means)).items()):
        joined = len(line) > 1 and panel.tables.get("joined", True)
        up = [one.number for cell in line for one in matching(cell.at, there, panel.tables["against"], only=True)]
        axes.errorbar(
            [cell.number.mean for cell in line],
            [number.mean for number in up],
            xerr=[cell.number.half for cell in line],
            yerr=[number.half for number in up],
            linewidth=0.6,
            elinewidth=0.6,
            label=name,
            **panel.look(name, turn) | ({} if joined else {"linestyle": "none"}),
        )
        most = max(most, *(cell.number.mean for cell in line), *(number.mean for number in up))
    if across.unit(panel.means).name == other.unit(panel.means).name:
        least = 1.0 if panel.tables.get("log") else 0.0
        axes.plot([least, 1.05 * most], [least, 1.05 * most], color=GREY, linewidth=0.6, zorder=0)
    axes.set_xlabel(_label(across, panel.means))
    axes.set_ylabel(_label(other, panel.means))


_KINDS: dict[str, Callable[[Panel, "Axes"], None]] = {
    "line": _line,
    "bars": _bars,
    "dots": _dots,
    "points": _points,
    "whiskers": _whiskers,
    "heat": _heat,
    "ellipses": _ellipses,
}


def _finish(panel: Panel, axes: "Axes") -> None:
    from sojourn.study.panels import GREY

    tables = panel.tables
    if tables.get("kind") == "heat":
        return
    lying = bool(tables.get("horizontal"))
    if tables.get("kind", "line") not in _AGAINST:
        label = tables.get("label") or _label(panel.selection(), panel.means)
        (axes.set_xlabel if lying else axes.set_ylabel)(label)
    if tables.get("logx"):
        axes.set_xscale("log")
        _tell_powers(axes.xaxis)
    if "mark" in tables:
        (axes.axvline if lying else axes.axhline)(tables["mark"], color=GREY, linewidth=0.6, zorder=0)
    if tables.get("log"):
        _logarithmic(axes, lying=lying or tables.get("kind") == "ellipses")
        if tables.get("kind") == "points":
            _logarithmic(axes, lying=True)
    elif tables.get("kind", "line") == "line":
        axes.set_ylim(bottom=0)
    if "range" in tables:
        low, high = tables["range"]
        if not low < high or (tables.get("log") and low <= 0):
            allowed = "two rising numbers above zero" if tables.get("log") else "two rising numbers"
            message = f"{tables['name']}: range: found {low:g} to {high:g}; allowed: {allowed}"
            raise input_error(message, key="range", allowed=allowed)
        (axes.set_xlim if lying else axes.set_ylim)(low, high)


_AGAINST = {"points", "ellipses"}
"""Kinds of figures with a number of each place on both axes."""


def _logarithmic(axes: "Axes", *, lying: bool) -> None:
    """Make the axis of the numbers logarithmic."""
    (axes.set_xscale if lying else axes.set_yscale)("log")
    _tell_powers(axes.xaxis if lying else axes.yaxis)


def _tell_powers(axis: "Axis") -> None:
    """Write plain numbers at 1, 2, 5, 10 of a logarithmic axis, or at 1, 10, 100 of a long one."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < low * 10**_MAX_DECADES else (1.0,)))
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
