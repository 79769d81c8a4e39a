"""What the study's figures have in common."""

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.figures.style import PAGE_WIDTH_IN, Drawing, family, styled


def panels(
    titles: Sequence[str],
    draw: Callable[[int, Axes], None],
    *,
    height_in: float = 2.9,
    share: bool = False,
    columns: int = 5,
) -> Figure:
    """Return panels side by side, with one legend of some columns for all below; `share` gives them the same axes."""
    with styled():
        figure = Drawing(figsize=(PAGE_WIDTH_IN, height_in), layout="constrained")
        every = figure.subplots(1, len(titles), squeeze=False, sharex=share, sharey=share)
        handles: dict[str, Any] = {}
        for index, title in enumerate(titles):
            axes = every.flat[index]
            draw(index, axes)
            axes.set_title(title)
            for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(name, handle)
        figure.legend(
            list(handles.values()), list(handles), loc="outside lower center", ncols=min(len(handles), columns)
        )
    return figure


def line(position: int) -> dict[str, Any]:
    """Return the colour of a line by its place."""
    return {"color": family(position)}
