"""Panels side by side with one legend: the form of a study's figures."""

import itertools
from typing import TYPE_CHECKING, Any

from sojourn.figures import legends
from sojourn.figures.style import drawn
from sojourn.figures.tidy import tidy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREY = "#999999"
_HEIGHT_IN = 2.8
_BELOW = (0.5, -0.22)
"""Where the legend of a panel stands, in parts of the panel."""


def panels(
    titles: "Sequence[str]",
    draw: "Callable[[int, Axes], None]",
    *,
    height_in: float = _HEIGHT_IN,
    columns: int | None = None,
) -> "Figure":
    """Return panels, so many side by side, all of them where nothing is said, with one legend for all below."""
    wide = columns or len(titles)
    with drawn(height_in) as figure:
        for index, axes in enumerate(figure.subplots(-(-len(titles) // wide), wide, squeeze=False).flat):
            if index >= len(titles):
                axes.remove()
                continue
            draw(index, axes)
            axes.set_title(titles[index])
        handles = [dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True)) for axes in figure.axes]
        if _mean_two_things(handles):
            for axes, own in zip(figure.axes, handles, strict=True):
                if own:
                    axes.legend(list(own.values()), list(own), loc="upper center", bbox_to_anchor=_BELOW, ncols=2)
        else:
            _legend(figure, {name: handle for own in reversed(handles) for name, handle in own.items()})
        tidy(figure)
    return figure


def _legend(figure: "Figure", handles: "Mapping[str, Any]") -> None:
    if len(handles) > 1:
        legends.below(figure, list(handles.values()), list(handles))


def _mean_two_things(panels: "Sequence[Mapping[str, Any]]") -> bool:
    """Return whether two panels use one colour for names that the other panel does not have."""
    looks = [{_look(handle): name for name, handle in panel.items()} for panel in panels]
    return any(
        one[look] != other[look] and one[look] not in there and other[look] not in here
        for (one, here), (other, there) in itertools.combinations(zip(looks, panels, strict=True), 2)
        for look in one.keys() & other.keys()
    )


def _look(handle: Any) -> str:
    """Return the colour of what stands in a legend."""
    from matplotlib.colors import to_hex
    from matplotlib.lines import Line2D

    line = handle if isinstance(handle, Line2D) else getattr(handle, "lines", [None])[0]
    return str(to_hex(line.get_color())) if isinstance(line, Line2D) else repr(handle)


def half(axes: "Axes") -> None:
    """Mark an equal share."""
    axes.axhline(50, color=GREY, linewidth=0.6, zorder=0)
