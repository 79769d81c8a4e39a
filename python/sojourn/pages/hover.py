"""What a figure says under the pointer: the points of its lines and bars, with their names and places."""

import itertools
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_MAX_POINTS = 400
"""Of a line; of longer ones every second, third ... is told."""
_MIN_OF_A_CURVE = 3
_UNNAMED = "_"
"""What begins the labels that Matplotlib gives to artists without one."""

Points = dict[str, Any]
Values = npt.NDArray[np.float64]


def told(figure: "Figure") -> str:
    """Return the panels of a figure that was drawn, as JSON; empty where there is nothing to tell."""
    panels = [panel for axes in figure.axes if axes.name == "rectilinear" and (panel := _panel(axes))["lines"]]
    return json.dumps(panels, ensure_ascii=False, separators=(",", ":")) if panels else ""


def _panel(axes: "Axes") -> dict[str, Any]:
    box = axes.get_position()
    lines = [*_bars(axes), *_lines(axes)]
    return {
        "box": [round(edge, 4) for edge in (box.x0, 1 - box.y1, box.x1, 1 - box.y0)],
        "title": axes.get_title() or axes.get_title("left"),
        "x": _scale(axes.xaxis, axes.get_xlim()),
        "y": _scale(axes.yaxis, axes.get_ylim()),
        # Curves over the same axis are read side by side; anything else is read point by point.
        "curves": bool(lines) and all(_is_curve(line) for line in lines),
        "lines": lines,
    }


def _scale(axis: "Axis", limits: tuple[float, float]) -> dict[str, Any]:
    from matplotlib.ticker import FixedFormatter, FuncFormatter

    found: dict[str, Any] = {
        "label": axis.get_label_text(),
        "limits": [_short(limit) for limit in limits],
        "log": axis.get_scale() == "log",
    }
    if isinstance(axis.get_major_formatter(), FixedFormatter | FuncFormatter):
        names = {str(_short(float(place))): text for place, text in _names(axis) if not _is_number(text)}
        if names:
            found["names"] = names
    return found


def _names(axis: "Axis") -> list[tuple[float, str]]:
    texts = [label.get_text() for label in axis.get_ticklabels()]
    return [(float(place), text) for place, text in zip(axis.get_majorticklocs(), texts, strict=False) if text]


def _is_number(text: str) -> bool:
    try:
        float(text.replace("\N{MINUS SIGN}", "-"))
    except ValueError:
        return False
    return True


def _lines(axes: "Axes") -> list[Points]:
    from matplotlib.container import ErrorbarContainer

    from sojourn.figures.style import TIP

    bars = [one for one in axes.containers if isinstance(one, ErrorbarContainer) and one.lines[0] is not None]
    named = {id(one.lines[0]): one.get_label() for one in bars}
    # A diagonal or a border is no number of the figure: it is drawn in other coordinates, or below all else.
    own = [line for line in axes.get_lines() if line.get_transform() == axes.transData and line.get_zorder() >= 1]
    found = []
    for line in own:
        alone = len(own) == 1
        gid = line.get_gid() or ""
        label = gid.removeprefix(TIP) if gid.startswith(TIP) else str(named.get(id(line)) or line.get_label())
        points = _points(*(np.asarray(data, dtype=float) for data in line.get_data(orig=False)))
        if points["x"] and (id(line) in named or gid or alone or not label.startswith(_UNNAMED)):
            name = "" if label.startswith(_UNNAMED) else label
            found.append({**points, "label": name, "color": _colour(line.get_color()), "told": gid.startswith(TIP)})
    return found


def _bars(axes: "Axes") -> list[Points]:
    from matplotlib.container import BarContainer

    found = []
    for bars in (one for one in axes.containers if isinstance(one, BarContainer)):
        middle = [(bar.get_x() + bar.get_width() / 2, bar.get_y() + bar.get_height() / 2) for bar in bars.patches]
        ends = [(bar.get_x() + bar.get_width(), bar.get_y() + bar.get_height()) for bar in bars.patches]
        lying = bars.orientation == "horizontal"
        x = [end[0] if lying else at[0] for at, end in zip(middle, ends, strict=True)]
        y = [at[1] if lying else end[1] for at, end in zip(middle, ends, strict=True)]
        label = str(bars.get_label())
        colour = _colour(bars.patches[0].get_facecolor()) if bars.patches else ""
        named = "" if label.startswith(_UNNAMED) else label
        found.append({**_points(x, y), "label": named, "color": colour, "told": False})
    return [one for one in found if one["x"]]


def _points(x: "Sequence[float] | Values", y: "Sequence[float] | Values") -> Points:
    step = math.ceil(len(x) / _MAX_POINTS) or 1
    known = [
        (float(a), float(b))
        for a, b in zip(x[::step], y[::step], strict=True)
        if math.isfinite(float(a)) and math.isfinite(float(b))
    ]
    return {"x": [_short(a) for a, _ in known], "y": [_short(b) for _, b in known]}


def _is_curve(line: Points) -> bool:
    x = line["x"]
    return len(x) >= _MIN_OF_A_CURVE and all(a < b for a, b in itertools.pairwise(x)) and not line["told"]


def _colour(colour: Any) -> str:
    from matplotlib.colors import to_hex

    return to_hex(colour)


def _short(number: float) -> float:
    """Return a number with as many digits as a pointer can tell apart.

    >>> _short(0.123456789), _short(3.0)
    (0.12346, 3)
    """
    short = float(f"{number:.5g}")
    return int(short) if short == int(short) else short
