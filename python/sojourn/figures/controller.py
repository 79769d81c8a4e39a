"""How a queue discipline worked: queue delay above, each of its probes below."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from sojourn.figures.series import Series
from sojourn.figures.style import INK, drawn, family
from sojourn.figures.timeline import DRAWN_BINS, draw_delay

if TYPE_CHECKING:
    from sojourn.measured import Measured

PANEL_IN = 1.1


def controller(result: "Measured", run: int = 0) -> Figure:
    """Draw the bottleneck's queue delay, and below it what its discipline showed of itself in one run over time.

    Needs a run with probes. A discipline without any, such as DropTail, leaves the queue delay alone.
    """
    series = Series(result, run, DRAWN_BINS)
    probes = series.queue_probes()
    panels = 1 + len(probes)
    with drawn(PANEL_IN * (panels + 0.6)) as figure:
        axes = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]
        draw_delay(axes[0], series)
        for position, (panel, (name, values)) in enumerate(zip(axes[1:], probes.items(), strict=True)):
            known = ~np.isnan(values)
            panel.plot(series.edges_s[1:][known], values[known], color=family(position))
            panel.set_title(name, loc="left", color=INK)
        axes[-1].set_xlabel("time [s]")
    return figure
