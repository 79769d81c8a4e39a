"""How a control sets its congestion window over time, with the queue delay that follows from it."""

from typing import TYPE_CHECKING

import pyarrow.compute as pc
from matplotlib.figure import Figure

from sojourn.figures.series import Series
from sojourn.figures.style import INK, drawn, family, literal
from sojourn.figures.timeline import DRAWN_BINS, draw_delay

if TYPE_CHECKING:
    from sojourn.measured import Measured


def windows(result: "Measured", run: int = 0) -> Figure:
    """Draw each flow's congestion window above, and the queue delay below, of one run over time.

    Needs a run with time series.
    """
    series = Series(result, run, DRAWN_BINS)
    with drawn(4.0) as figure:
        above, below = figure.subplots(2, 1, sharex=True)
        table = result.table("flows")
        table = table.filter(pc.equal(table["seed"], result.runs[run]["seed"]))
        groups = pc.cast(table["group"], "string")
        for position, group in enumerate(groups.unique().to_pylist()):
            of_group = table.filter(pc.equal(groups, group))
            # Before a flow starts its window is what it will start with.
            of_group = of_group.filter(pc.greater(of_group["delivered_bytes"], 0))
            for place, flow in enumerate(of_group["index"].unique().to_pylist()):
                one = of_group.filter(pc.equal(of_group["index"], flow))
                label = {} if place else {"label": literal(result.titles[group])}
                above.plot(one["time_s"], one["cwnd_packets"], color=family(position), linewidth=0.9, **label)
        above.set_ylabel("cwnd [segments]", color=INK)
        above.set_ylim(bottom=0)
        above.legend(loc="upper right")
        draw_delay(below, series)
        below.set_xlabel("time [s]")
    return figure
