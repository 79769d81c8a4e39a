"""What a gateway's shaper brings and costs, over its rate."""

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from sojourn.figures.style import PAGE_WIDTH_IN, Drawing, family, styled, tip

if TYPE_CHECKING:
    from sojourn.shaper import Rates

_HEIGHT_IN = 2.8


def rates(found: "Rates") -> Figure:
    """Draw each direction's longest delay of a call and its goodput over the shaper's rate; squares are knees."""
    from sojourn.shaper import NONE, named

    x = [100 * part for part in found.parts]
    names = [named(part) for part in found.parts]
    with styled():
        figure = Drawing(figsize=(PAGE_WIDTH_IN, _HEIGHT_IN), layout="constrained")
        delay, goodput = figure.subplots(1, 2, sharex=True)
        for direction, colour in (("forward", family(0)), ("reverse", family(2))):
            if direction not in found.judged:
                continue
            title = found.way(direction)
            delays = [found.delay_ms(name, direction) for name in names]
            (line,) = delay.plot(x, delays, "o-", color=colour, markersize=4, label=title)
            line.set_gid(tip(title))
            delay.axhline(found.delay_ms(NONE, direction), color=colour, linewidth=0.8, linestyle="--")
            parts = [found.goodput_mbps(name, direction) for name in names]
            goodput.plot(x, parts, "o-", color=colour, markersize=4, label=title)
            goodput.axhline(found.goodput_mbps(NONE, direction), color=colour, linewidth=0.8, linestyle="--")
            knee = found.knee(direction)
            if knee is not None:
                delay.plot([100 * knee], [found.delay_ms(named(knee), direction)], "s", color=colour, markersize=8)
        delay.set_title("one-way delay of a call, p99 [ms]", loc="left")
        goodput.set_title("goodput [Mbit/s]", loc="left")
        goodput.legend(frameon=False)
        for axes in (delay, goodput):
            axes.set_xlabel("shaper's rate [% of the line's]")
            axes.set_ylim(bottom=0)
    return figure
