"""Makes the texts of a figure fit: axis labels that are too long, labels said twice, names of points that collide."""

import itertools
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from sojourn.figures.legends import POINTS_PER_INCH
from sojourn.figures.style import INK, lay_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation, Text
    from matplotlib.transforms import Bbox

_NAME = "name of a point"
_OFFSETS = ((4, 2), (-4, 2), (4, -7), (-4, -7), (0, 5), (0, -10), (9, 9), (-9, 9), (9, -14), (-9, -14))
"""Where a name may stand beside its point, in points; the first that is free is taken."""

_MARKER_POINTS = 4.3
"""Diameter of a point."""


def name_points(axes: "Axes", points: Iterable[tuple[float, float, str]]) -> None:
    """Write names beside points; `tidy` moves them where they collide."""
    for x, y, text in points:
        axes.annotate(text, (x, y), (4, 2), textcoords="offset points", fontsize=6, color=INK, gid=_NAME)


def tidy(figure: "Figure", *, below: bool = False) -> None:
    """Make labels fit; `below` says that panels stand below each other, so that each has its own."""
    _say_once(figure, below=below)
    lay_out(figure)
    changed = [
        (
            _turn_names(axes),
            _fit(axes.yaxis.label, axes.get_window_extent().height, upright=True),
            _fit(axes.xaxis.label, axes.get_window_extent().width * 1.15, upright=False),
            _fit(axes.title, axes.get_window_extent().width * 1.15, upright=False),
        )
        for axes in figure.axes
    ]
    if any(map(any, changed)):
        # Labels of another height leave another room for what is in the panels.
        lay_out(figure)
    for axes in figure.axes:
        _part_names(axes, figure.dpi / POINTS_PER_INCH)


def _say_once(figure: "Figure", *, below: bool) -> None:
    """Show the label of a vertical axis, and the names along it, only where the panel to the left has another one."""
    before: tuple[Any, ...] | None = None
    for axes in (one for one in figure.axes if one.axison):
        place = axes.get_subplotspec()
        if place is None:
            continue
        row, label = place.rowspan.start, axes.get_ylabel()
        names = tuple(text.get_text() for text in axes.get_yticklabels()) if _has_names(axes) else ()
        left = before if before is not None and before[0] == row and not below else (row, None, None)
        axes.yaxis.label.set_visible(label != left[1])
        if names:
            axes.tick_params(labelleft=names != left[2])
        before = (row, label, names)


def _has_names(axes: "Axes") -> bool:
    from matplotlib.ticker import FixedFormatter, FuncFormatter

    formatter = axes.yaxis.get_major_formatter()
    return isinstance(formatter, FixedFormatter) or (isinstance(formatter, FuncFormatter) and axes.yaxis_inverted())


def _turn_names(axes: "Axes") -> bool:
    """Turn the names along a horizontal axis upright where they run into each other; return whether they do."""
    from matplotlib.ticker import FixedFormatter, FuncFormatter

    if not isinstance(axes.xaxis.get_major_formatter(), FixedFormatter | FuncFormatter):
        return False
    # Those below: where there are names above as well, they are the same.
    below = [tick.label1 for tick in axes.xaxis.get_major_ticks()]
    names = [name for name in below if name.get_text() and not name.get_rotation()]
    boxes = sorted((name.get_window_extent() for name in names), key=lambda box: box.x0)
    collide = any(left.x1 > right.x0 for left, right in itertools.pairwise(boxes))
    if collide:
        axes.tick_params(axis="x", labelrotation=90)
    return collide


def _fit(label: "Text", room: float, *, upright: bool) -> bool:
    """Break a label into as few lines as fit beside its axis; return whether that makes another text of it."""
    before = label.get_text()
    words = " ".join(label.get_text().split())
    for lines in range(1, 4):
        label.set_text(textwrap.fill(words, max(-(-len(words) // lines) + 3, 1)) if lines > 1 else words)
        box = label.get_window_extent()
        if (box.height if upright else box.width) <= room:
            break
    return label.get_text() != before


def _part_names(axes: "Axes", per_point: float) -> None:
    """Move names of points that overlap each other or another point to where there is room; `per_point` is pixels."""
    from matplotlib.text import Annotation

    names = [one for one in axes.texts if isinstance(one, Annotation) and one.get_gid() == _NAME]
    if not names:
        return
    taken: list[Bbox] = [_around(axes, one, per_point) for one in names]
    for name in names:
        boxes = [(offset, _moved(name, offset)) for offset in _OFFSETS]
        inside = axes.get_window_extent()
        offset, box = min(boxes, key=lambda one: (_overlap(one[1], taken, inside), boxes.index(one)))
        _moved(name, offset)
        taken.append(box)


def _moved(name: "Annotation", offset: tuple[float, float]) -> "Bbox":
    name.set_position(offset)
    name.set_horizontalalignment("center" if offset[0] == 0 else "left" if offset[0] > 0 else "right")
    return name.get_window_extent()


def _around(axes: "Axes", name: "Annotation", per_point: float) -> "Bbox":
    """Return the box of a point's marker."""
    from matplotlib.transforms import Bbox

    x, y = axes.transData.transform(name.xy)
    half = _MARKER_POINTS / 2 * per_point
    return Bbox([[x - half, y - half], [x + half, y + half]])


def _overlap(box: "Bbox", taken: "Iterable[Bbox]", inside: "Bbox") -> float:
    """Return the area that a box has in common with others, and outside of the panel."""
    from matplotlib.transforms import Bbox

    shared = sum(part.width * part.height for one in taken if (part := Bbox.intersection(box, one)) is not None)
    within = Bbox.intersection(box, inside)
    return shared + 5 * (box.width * box.height - (0 if within is None else within.width * within.height))
