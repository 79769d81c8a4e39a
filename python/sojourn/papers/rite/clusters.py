"""Means with their 95 % intervals, in clusters along an axis."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from sojourn.figures.style import PAGE_WIDTH_IN, Drawing, family, styled
from sojourn.study.numbers import Number

_ROW_IN = 1.9
_ROOM = 0.7
_MARKERS = "osDv^P"

Clusters = Mapping[str, Mapping[str, Number]]
"""Numbers by cluster and by what is compared in it."""


def clusters(rows: Mapping[str, Clusters], *, across: str, up: str, scale: float = 1.0) -> Figure:
    """Return a panel for each row, one below the other, with a logarithmic axis and one legend."""
    names = list(dict.fromkeys(name for places in rows.values() for place in places.values() for name in place))
    with styled():
        figure = Drawing(figsize=(PAGE_WIDTH_IN, 0.7 + _ROW_IN * len(rows)), layout="constrained")
        panels = list(figure.subplots(len(rows), 1, squeeze=False)[:, 0])
        for axes, (title, places) in zip(panels, rows.items(), strict=True):
            for position, name in enumerate(names):
                _series(axes, places, name, position, len(names), scale)
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
            axes.yaxis.set_minor_formatter("{x:g}")
            axes.set_xticks(range(len(places)), list(places))
            axes.set_xlim(-0.5, len(places) - 0.5)
            for border in range(1, len(places)):
                axes.axvline(border - 0.5, color="#DDDDDD", linewidth=0.6, zorder=0)
            axes.set_title(title)
            axes.set_ylabel(up)
        panels[-1].set_xlabel(across)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(names), 6))
    return figure


def _series(axes: Axes, places: Clusters, name: str, position: int, count: int, scale: float) -> None:
    found = [(at, place[name]) for at, place in enumerate(places.values()) if name in place]
    offset = (position - (count - 1) / 2) * _ROOM / count
    axes.errorbar(
        [at + offset for at, _ in found],
        [scale * number.mean for _, number in found],
        yerr=[scale * number.half for _, number in found],
        fmt=_MARKERS[position % len(_MARKERS)],
        markersize=3,
        elinewidth=0.8,
        color=family(position),
        label=name,
    )
