"""What a run did over time: queue delay above, throughput of each group below."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn import networks
from sojourn.figures import legends
from sojourn.figures.series import Series
from sojourn.figures.style import CAPACITY, INK, drawn, family, literal

if TYPE_CHECKING:
    from sojourn.measured import Measured

DRAWN_BINS = 240


def timeline(result: "Measured", run: int = 0) -> Figure:
    """Draw the bottleneck's queue delay and every group's throughput in one run over time.

    Throughput is payload that reached the receivers; the grey area is what the link could have carried.
    """
    with drawn(3.6) as figure:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1, 1.2))
        series = Series(result, run, DRAWN_BINS)
        draw_delay(above, series)
        _draw_throughput(below, series)
        figure.align_ylabels([above, below])
    return figure


def draw_delay(axes: Axes, series: Series) -> None:
    """Draw the bottleneck's queue delay."""
    delay = series.queue_ms()
    # Where no packet leaves there is no delay to show: the line passes over it.
    known = ~np.isnan(delay)
    axes.plot(series.times_s[known], delay[known], color=INK)
    axes.set_ylabel("queue delay [ms]")
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, series.duration_s)


def _draw_throughput(axes: Axes, series: Series) -> None:
    axes.fill_between(series.times_s, series.capacity_mbps(), color=CAPACITY, linewidth=0, label="link capacity")
    for position, group in enumerate(series.groups):
        rate = series.delivered_mbps(group).sum(axis=0)
        title = literal(series.result.titles[group])
        elsewhere = "other links" if networks.is_network(series.result.scenario) else "return link"
        label, dashes = (title, "-") if group in series.crossing else (f"{title} ({elsewhere})", "--")
        axes.plot(series.times_s, rate, dashes, color=family(position), label=label, clip_on=False)
    axes.set_ylabel("throughput [Mbit/s]")
    axes.set_xlabel("time [s]")
    axes.set_ylim(bottom=0)
    legends.above(axes)
