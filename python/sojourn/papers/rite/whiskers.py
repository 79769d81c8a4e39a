"""Whisker plots as RITE's: 10th, 25th, 50th, 75th and 90th percentile."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from sojourn.figures.style import FAMILIES, PAGE_WIDTH_IN, Drawing, family, styled

PARTS = (0.1, 0.25, 0.5, 0.75, 0.9)
_ROOM = 0.8
_ROW_IN = 1.75


class Five(NamedTuple):
    """The percentiles that a whisker shows."""

    p10: float
    p25: float
    p50: float
    p75: float
    p90: float

    @property
    def width(self) -> float:
        """Return how far the whisker reaches from end to end."""
        return self.p90 - self.p10

    @classmethod
    def of(cls, values: Sequence[float]) -> "Five":
        """Return the percentiles of some values.

        >>> Five.of([0.0, 10.0]).p25
        2.5
        """
        import numpy as np

        return cls(*(float(part) for part in np.quantile(values, PARTS)))


Places = Mapping[str, Mapping[str, Five]]
"""Whiskers by place on the axis and by what is compared there."""


def whiskers(
    rows: Mapping[str, Places], *, across: str, up: str, bottom: float = 0.0, top: float | None = None
) -> Figure:
    """Return a panel for each row, one below the other, with one legend; values from `bottom` to `top`."""
    names = list(dict.fromkeys(name for places in rows.values() for place in places.values() for name in place))
    with styled():
        figure = Drawing(figsize=(PAGE_WIDTH_IN, 0.6 + _ROW_IN * len(rows)), layout="constrained")
        panels = figure.subplots(len(rows), 1, squeeze=False)[:, 0]
        for axes, (title, places) in zip(panels, rows.items(), strict=True):
            _row(axes, places, names)
            axes.set_ylim(bottom, top)
            axes.set_title(title)
            axes.set_ylabel(up)
        panels[-1].set_xlabel(across)
        handles = [Patch(label=name, **_look(position)) for position, name in enumerate(names)]
        figure.legend(handles=handles, loc="outside lower center", ncols=min(len(names), 7))
    return figure


def _row(axes: Axes, places: Places, names: Sequence[str]) -> None:
    step = _ROOM / len(names)
    for position, name in enumerate(names):
        found = [(at, place[name]) for at, place in enumerate(places.values()) if name in place]
        offset = (position - (len(names) - 1) / 2) * step
        axes.bxp(
            [_box(five) for _, five in found],
            positions=[at + offset for at, _ in found],
            widths=0.75 * step,
            patch_artist=True,
            showfliers=False,
            manage_ticks=False,
            boxprops={"linewidth": 0.6, **_look(position)},
            medianprops={"color": "black", "linewidth": 1.0},
            whiskerprops={"linewidth": 0.6},
            capprops={"linewidth": 0.6},
        )
    axes.set_xticks(range(len(places)), list(places))
    axes.set_xlim(-0.5, len(places) - 0.5)
    for border in range(1, len(places)):
        axes.axvline(border - 0.5, color="#DDDDDD", linewidth=0.6, zorder=0)


def _box(five: Five) -> dict[str, Any]:
    return {"whislo": five.p10, "q1": five.p25, "med": five.p50, "q3": five.p75, "whishi": five.p90}


def _look(position: int) -> dict[str, Any]:
    # One more than there are colours: the last is white.
    return {"facecolor": family(position) if position < len(FAMILIES) else "white", "edgecolor": "#333333"}
