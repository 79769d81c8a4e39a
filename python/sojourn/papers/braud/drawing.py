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
    rows: int = 1,
    share: bool = False,
) -> Figure:
    """Return panels in rows, with one legend for all below; `share` gives them the same axes."""
    with styled():
        figure = Drawing(figsize=(PAGE_WIDTH_IN, height_in), layout="constrained")
        columns = -(-len(titles) // rows)
        every = figure.subplots(rows, columns, squeeze=False, sharex=share, sharey=share)
        handles: dict[str, Any] = {}
        for index, title in enumerate(titles):
            axes = every.flat[index]
            draw(index, axes)
            axes.set_title(title)
            for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(name, handle)
        figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=min(len(handles), 5))
    return figure


def line(position: int) -> dict[str, Any]:
    """Return the colour of a line by its place."""
    return {"color": family(position)}
