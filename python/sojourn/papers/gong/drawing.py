"""What the study's figures have in common."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.figures.style import PAGE_WIDTH_IN, Drawing, family, styled
from sojourn.papers.gong.world import QUEUES
from sojourn.papers.measures import Number

Curves = Mapping[str, Mapping[float, Number]]
_MARKERS = dict(zip(QUEUES, "soDv^P", strict=True))


def panels(titles: Sequence[str], draw: Callable[[int, Axes], None], *, height_in: float = 2.8) -> Figure:
    """Return panels side by side, with one legend for all below."""
    with styled():
        figure = Drawing(figsize=(PAGE_WIDTH_IN, height_in), layout="constrained")
        for index, (title, axes) in enumerate(
            zip(titles, figure.subplots(1, len(titles), squeeze=False)[0], strict=True)
        ):
            draw(index, axes)
            axes.set_title(title)
        handles: dict[str, Any] = {}
        for axes in figure.axes:
            for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(name, handle)
        figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=min(len(handles), 7))
    return figure


def look(discipline: str) -> dict[str, Any]:
    """Return colour and marker of a discipline, the same in every figure."""
    position = list(QUEUES).index(discipline) if discipline in QUEUES else 0
    return {"color": family(position), "marker": _MARKERS.get(discipline, "o"), "markersize": 3.5}


def curves(axes: Axes, found: Curves, *, scale: float = 1.0, names: Mapping[str, str] | None = None) -> None:
    """Draw a line for each discipline, with the runs' standard deviation."""
    for discipline, points in found.items():
        axes.errorbar(
            list(points),
            [scale * number.mean for number in points.values()],
            yerr=[scale * number.sd for number in points.values()],
            label=(names or {}).get(discipline, discipline),
            elinewidth=0.6,
            **look(discipline),
        )


def half(axes: Axes) -> None:
    """Mark an equal share."""
    axes.axhline(50, color="#999999", linewidth=0.6, zorder=0)


def scatter(axes: Axes, found: Mapping[str, Sequence[tuple[Number, Number]]]) -> None:
    """Draw drop rates of TCP against those of the low-priority flows, in percent, and the diagonal."""
    most = 0.0
    for discipline, points in found.items():
        across, up = ([100 * number.mean for number in numbers] for numbers in zip(*points, strict=True))
        axes.plot(
            across,
            up,
            linewidth=0.6,
            linestyle="-" if len(points) > 1 else "none",
            label=discipline,
            **look(discipline),
        )
        most = max(most, *across, *up)
    axes.plot([0, 1.05 * most], [0, 1.05 * most], color="#999999", linewidth=0.6, zorder=0)
    axes.set_xlabel("TCP packets dropped [%]")
    axes.set_ylabel("low-priority packets dropped [%]")
