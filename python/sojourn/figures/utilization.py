"""Who uses the link: utilization of every flow, stacked over time, one panel for each result."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from sojourn.figures import legends
from sojourn.figures.series import Series
from sojourn.figures.style import drawn, family, literal, shades
from sojourn.report import digits_worth_reading

if TYPE_CHECKING:
    from sojourn.measured import Measured


DRAWN_BINS = 60


def utilization(results: Sequence["Measured"], titles: Sequence[str] | None = None, run: int = 0) -> Figure:
    """Stack the link utilization of all flows over time, one panel for each result.

    Each bin's utilization (bits sent over bits that fit) is divided among the flows in proportion to the
    payload that reached their receivers in it. The panels are annotated with the first group's share, the
    mean queue and the utilization over the measured time.
    """
    with drawn(2.9) as figure:
        panels = np.atleast_1d(figure.subplots(1, len(results), sharex=True, sharey=True))
        for index, (axes, result) in enumerate(zip(panels, results, strict=True)):
            series = Series(result, run, DRAWN_BINS)
            if not series.crossing:
                raise ValueError(f"no data crosses the bottleneck in {result.name}")
            _draw_panel(axes, series)
            title = titles[index] if titles else result.name
            axes.set_title(f"({chr(ord('a') + index)}) {title}", loc="left", fontweight="bold", pad=25)
            _annotate(axes, series.crossing[0], series)
        panels[0].set_ylabel("link utilization [%]")
        _legend(figure, results[0])
    return figure


def _draw_panel(axes: Axes, series: Series) -> None:
    delivered = {group: series.delivered_mbps(group) for group in series.crossing}
    total = np.vstack(list(delivered.values())).sum(axis=0)
    used = 100 * np.divide(
        series.sent_mbps(), series.capacity_mbps(), out=np.zeros_like(total), where=series.capacity_mbps() > 0
    )
    base = np.zeros_like(total)
    for group, rows in delivered.items():
        colours = shades(series.groups.index(group), len(rows))
        for row, colour in zip(rows, colours, strict=True):
            top = base + used * np.divide(row, total, out=np.zeros_like(total), where=total > 0)
            axes.fill_between(series.times_s, base, top, color=colour, linewidth=0)
            base = top
    axes.set_xlim(0, series.duration_s)
    axes.set_ylim(0, 100)
    axes.set_xlabel("time [s]")
    axes.set_yticks([0, 25, 50, 75, 100])


def _annotate(axes: Axes, first: str, series: Series) -> None:
    record = series.record
    queue = record.bottleneck.queue_packets.mean
    text = (
        f"{literal(series.result.titles[first])} share {100 * record.groups[first].share:.1f} %,  "
        f"utilization {100 * record.bottleneck.utilization:.1f} %\n"
        f"mean queue {queue:.{digits_worth_reading(queue)}f} packets"
    )
    note = axes.annotate(
        text, xy=(0, 1), xytext=(0, 4), xycoords="axes fraction", textcoords="offset points", fontsize=6.8
    )
    note.set_in_layout(False)


def _legend(figure: Figure, result: "Measured") -> None:
    handles = [
        Patch(color=family(position), label=f"{flows} {literal(result.titles[name])} flow{'s' if flows > 1 else ''}")
        for position, (name, flows) in enumerate(result.flow_counts.items())
    ]
    legends.below(figure, handles, [str(handle.get_label()) for handle in handles], handlelength=1.2)
