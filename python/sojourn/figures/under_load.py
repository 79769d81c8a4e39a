"""A path under load in both directions, as flent draws it: throughput each way, round-trip times of pings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.figures import legends
from sojourn.figures.series import Array, Series
from sojourn.figures.style import drawn, family, literal
from sojourn.figures.timeline import DRAWN_BINS

if TYPE_CHECKING:
    from sojourn.measured import Measured


def under_load(result: "Measured", run: int = 0) -> Figure:
    """Draw what each group of flows got in both directions, and how long pings took meanwhile, in one run over time."""
    pings = [group.name for group in result.scenario.group if group.traffic.kind == "ping"]
    load = [group for group in result.scenario.group if group.name not in pings]
    ways = {
        "return link [Mbit/s]": [group.name for group in load if group.direction == "reverse"],
        "bottleneck [Mbit/s]": [group.name for group in load if group.direction == "forward"],
    }
    shown = {title: groups for title, groups in ways.items() if groups}
    panels = len(shown) + 1
    with drawn(1.7 * panels) as figure:
        axes = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]
        series = Series(result, run, DRAWN_BINS)
        for panel, (title, groups) in zip(axes, shown.items(), strict=False):
            _draw(panel, series, groups, {name: series.delivered_mbps(name).sum(axis=0) for name in groups}, title)
        _draw(axes[-1], series, pings, {name: _round_trips_ms(series, name) for name in pings}, "ping [ms]")
        axes[-1].set_xlabel("time [s]")
        axes[-1].set_xlim(0, series.duration_s)
        figure.align_ylabels(axes)
    return figure


def _round_trips_ms(series: Series, group: str) -> Array:
    rows = series.rtt_ms(group)
    known = ~np.isnan(rows)
    counts = known.sum(axis=0)
    total = np.where(known, rows, 0.0).sum(axis=0)
    return np.asarray(np.divide(total, counts, out=np.full(len(total), np.nan), where=counts > 0), dtype=np.float64)


def _draw(axes: Axes, series: Series, groups: Sequence[str], values: dict[str, Array], title: str) -> None:
    for position, name in enumerate(groups):
        known = ~np.isnan(values[name])
        label = literal(series.result.titles[name])
        axes.plot(series.times_s[known], values[name][known], color=family(position), label=label, clip_on=False)
    axes.set_ylabel(title)
    axes.set_ylim(bottom=0)
    legends.above(axes)
