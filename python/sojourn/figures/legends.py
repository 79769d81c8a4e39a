"""Legends that have as many columns as fit into the width of their figure."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ABOVE = "above"
"""The label of a legend that stands over its panel, and is laid out anew where the figure gets another width."""

POINTS_PER_INCH = 72
_MAX_COLUMNS = 7
_LEFT_OF_AXES_IN = 0.6
"""About what the axis of a panel takes, over which its legend begins."""


def above(axes: "Axes", handles: Sequence[Any] | None = None, labels: Sequence[str] | None = None) -> None:
    """Put a legend over a panel that is as wide as its figure."""
    if handles is None or labels is None:
        handles, labels = axes.get_legend_handles_labels()
    ncols = columns(labels, _width_in(axes.figure) - _LEFT_OF_AXES_IN)
    legend = axes.legend(handles, labels, loc="lower left", bbox_to_anchor=(0, 1), ncols=ncols, borderaxespad=0.2)
    legend.set_label(ABOVE)


def below(figure: "Figure", handles: Sequence[Any], labels: Sequence[str], **options: Any) -> None:
    """Put a legend under all panels of a figure; `options` are those of Matplotlib."""
    ncols = columns(labels, _width_in(figure))
    figure.legend(handles, labels, loc="outside lower center", ncols=ncols, **options)


def columns(labels: Sequence[str], width_in: float) -> int:
    """Return how many columns of a legend fit into a width, in inches: at least one, and no more than its rows need."""
    settings = mpl.rcParams
    font = FontProperties(family=settings["font.family"], size=settings["legend.fontsize"])
    em_in = font.get_size_in_points() / POINTS_PER_INCH
    sample_in = (settings["legend.handlelength"] + settings["legend.handletextpad"]) * em_in
    gap_in = settings["legend.columnspacing"] * em_in
    border_in = 2 * settings["legend.borderpad"] * em_in
    entries_in = [sample_in + _width_of(label, font) / POINTS_PER_INCH for label in labels]

    def fits(count: int) -> bool:
        # The first columns have one entry more where they are not all alike.
        widest = [float(max(column)) for column in np.array_split(np.array(entries_in), count)]
        return bool(border_in + sum(widest) + gap_in * (count - 1) <= width_in)

    most = min(len(labels), _MAX_COLUMNS)
    fitting = next((count for count in range(most, 1, -1) if fits(count)), 1)
    # Fewer columns of as many rows are more alike.
    alike = -(-len(labels) // -(-len(labels) // fitting)) if labels else 1
    return alike if fits(alike) else fitting


def _width_of(label: str, font: FontProperties) -> float:
    """Return how wide a label of several lines is, in points."""
    lines = label.split("\n")
    return max(float(text_to_path.get_text_width_height_descent(line, font, ismath=False)[0]) for line in lines)


def _width_in(figure: Any) -> float:
    return float(figure.get_figwidth())
