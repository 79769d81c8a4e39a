"""Panels side by side with one legend: the form of a study's figures."""

from typing import TYPE_CHECKING, Any

from sojourn.figures.style import PAGE_WIDTH_IN, Drawing, styled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREY = "#999999"
_HEIGHT_IN = 2.8
_MOST_IN_A_ROW = 7


def panels(
    titles: "Sequence[str]",
    draw: "Callable[[int, Axes], None]",
    *,
    height_in: float = _HEIGHT_IN,
    columns: int | None = None,
) -> "Figure":
    """Return panels, so many side by side, all of them where nothing is said, with one legend for all below."""
    wide = columns or len(titles)
    with styled():
        figure = Drawing(figsize=(PAGE_WIDTH_IN, height_in), layout="constrained")
        for index, axes in enumerate(figure.subplots(-(-len(titles) // wide), wide, squeeze=False).flat):
            if index >= len(titles):
                axes.remove()
                continue
            draw(index, axes)
            axes.set_title(titles[index])
        handles: dict[str, Any] = {}
        for axes in figure.axes:
            for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(name, handle)
        if len(handles) > 1:
            figure.legend(
                list(handles.values()),
                list(handles),
                loc="outside lower center",
                ncols=min(len(handles), _MOST_IN_A_ROW, int(PAGE_WIDTH_IN / _entry_in(max(map(len, handles))))),
            )
    return figure


def _entry_in(letters: int) -> float:
    """Return about how wide an entry of the legend is."""
    return 0.5 + 0.06 * letters


def half(axes: "Axes") -> None:
    """Mark an equal share."""
    axes.axhline(50, color=GREY, linewidth=0.6, zorder=0)
