"""What the study's figures have in common: panels that each have a legend of their own below."""

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.figures.style import FAMILIES, PAGE_WIDTH_IN, Drawing, family, styled

_STYLES = ("-", "--", ":")
_MARKERS = "osD^vPX*"


def panels(
    titles: Sequence[str],
    draw: Callable[[int, Axes], None],
    *,
    height_in: float = 3.1,
    rows: int = 1,
    drop: float = 0.2,
    ncols: int = 2,
) -> Figure:
    """Return panels in rows, each with its legend below, by `drop` of a panel's height, in so many columns."""
    columns = -(-len(titles) // rows)
    with styled():
        figure = Drawing(figsize=(PAGE_WIDTH_IN, height_in), layout="constrained")
        for index, axes in enumerate(figure.subplots(rows, columns, squeeze=False).flat):
            if index >= len(titles):
                axes.set_axis_off()
                continue
            draw(index, axes)
            axes.set_title(titles[index])
            if axes.get_legend_handles_labels()[1]:
                axes.legend(loc="upper center", bbox_to_anchor=(0.5, -drop), ncols=ncols if columns > 1 else 4)
    return figure


def line(position: int) -> dict[str, Any]:
    """Return colour and style of a line by its place in a legend."""
    return {"color": family(position), "linestyle": _STYLES[position // len(FAMILIES) % len(_STYLES)]}


def points(position: int) -> dict[str, Any]:
    """Return the same with a marker."""
    return line(position) | {"marker": _MARKERS[position % len(_MARKERS)], "markersize": 3.5}


def seconds(axes: Axes, ticks: Sequence[float] = (0.5, 1, 2, 5, 10)) -> None:
    """Give a logarithmic axis of times plain numbers."""
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
