"""Variants beside each other: one panel for each metric, one row for each variant, means with their intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator, ScalarFormatter

from sojourn.figures.style import CAPACITY, INK, drawn, family, literal, tip

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.data.statistics import Statistic

_ROW_IN = 0.26
_MARGIN_IN = 0.75
_WIDE_RANGE = 20.0
"""Largest over smallest mean from which on an axis is logarithmic."""
_BEST = family(2)


@dataclass(frozen=True)
class Panel:
    """A metric of all variants."""

    title: str
    statistics: Mapping[str, "Statistic"]
    """By variant, in the unit that the title names; those without a mean are left out."""
    best: Sequence[str] = ()
    """Variants that are drawn as the best."""


def variants(names: Sequence[str], panels: Sequence[Panel]) -> Figure:
    """Draw the means of some metrics, each with its 95 % interval; the first name is on top."""
    height_in = _MARGIN_IN + _ROW_IN * len(names)
    with drawn(height_in) as figure:
        for axes, panel in zip(figure.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels, strict=True):
            _draw(axes, names, panel)
    return figure


def _draw(axes: "Axes", names: Sequence[str], panel: Panel) -> None:
    means = []
    for place, name in enumerate(names):
        found = panel.statistics.get(name)
        if found is None or found["mean"] is None:
            continue
        mean, (low, high) = found["mean"], found["ci95"] or (found["mean"], found["mean"])
        colour = _BEST if name in panel.best else family(0)
        text = f"{name}: {mean:.4g}" + (f" ± {(high - low) / 2:.2g}" if found["ci95"] else "")
        axes.plot([low, high], [place, place], color=colour, linewidth=1.4, solid_capstyle="butt")
        (dot,) = axes.plot([mean], [place], "s" if name in panel.best else "o", color=colour, markersize=4.5)
        dot.set_gid(tip(text))
        means.append(mean)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="y", color=CAPACITY, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_title(literal(panel.title), loc="left")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    _scale(axes, means)


def _scale(axes: "Axes", means: Sequence[float]) -> None:
    """Begin at zero, or take a logarithmic axis with whole decades where the means are far apart."""
    if means and min(means) > 0 and max(means) / min(means) > _WIDE_RANGE:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0), numticks=8))
        axes.xaxis.set_minor_locator(NullLocator())
        plain = ScalarFormatter()
        plain.set_scientific(False)
        axes.xaxis.set_major_formatter(plain)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlim(min(means) / 1.6, max(means) * 1.6)
        axes.set_xlabel("log scale", color=INK)
    elif means and min(means) >= 0:
        axes.set_xlim(0, max(means) * 1.1 or 1.0)
