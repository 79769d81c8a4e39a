"""What a gateway's shaper brings and costs, over its rate."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from sojourn.figures.style import drawn, family, tip

_HEIGHT_IN = 2.8


@dataclass(frozen=True)
class Curve:
    """A direction of a line: a value for each part of its rate, and the one without a shaper."""

    title: str
    delays_ms: Sequence[float]
    goodputs_mbps: Sequence[float]
    alone_ms: float
    alone_mbps: float
    knee: int | None
    """The place of the best part; None where no shaper is best."""


def rates(parts: Sequence[float], curves: Sequence[Curve]) -> Figure:
    """Draw each direction's longest delay of a call and its goodput over the shaper's rate; squares are knees."""
    x = [100 * part for part in parts]
    with drawn(_HEIGHT_IN) as figure:
        delay, goodput = figure.subplots(1, 2, sharex=True)
        for curve, colour in zip(curves, (family(0), family(2)), strict=False):
            (line,) = delay.plot(x, curve.delays_ms, "o-", color=colour, markersize=4, label=curve.title)
            line.set_gid(tip(curve.title))
            delay.axhline(curve.alone_ms, color=colour, linewidth=0.8, linestyle="--")
            goodput.plot(x, curve.goodputs_mbps, "o-", color=colour, markersize=4, label=curve.title)
            goodput.axhline(curve.alone_mbps, color=colour, linewidth=0.8, linestyle="--")
            if curve.knee is not None:
                delay.plot([x[curve.knee]], [curve.delays_ms[curve.knee]], "s", color=colour, markersize=8)
        delay.set_title("one-way delay of a call, p99 [ms]", loc="left")
        goodput.set_title("goodput [Mbit/s]", loc="left")
        goodput.legend(frameon=False)
        for axes in (delay, goodput):
            axes.set_xlabel("shaper's rate [% of the line's]")
            axes.set_ylim(bottom=0)
    return figure
