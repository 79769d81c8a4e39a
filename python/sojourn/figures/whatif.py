"""What each remedy does to a line, with what is not known of the line as bars."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from sojourn.figures.style import drawn, family, tip

_ROW_IN, _MARGIN_IN = 0.32, 0.7


def remedies(spans: Mapping[str, tuple[float, float, float]]) -> Figure:
    """Draw a median with a bar from the low to the high end for each remedy, the first one on top."""
    names = list(spans)
    with drawn(_MARGIN_IN + _ROW_IN * len(names)) as figure:
        axes = figure.subplots()
        for place, name in enumerate(names):
            middle, low, high = spans[name]
            colour = family(0 if place else 2)
            (bar,) = axes.plot(
                [low, high], [place, place], color=colour, linewidth=3, solid_capstyle="round", alpha=0.45
            )
            bar.set_gid(tip(f"{name}: {middle:.4g} ms ({low:.4g} to {high:.4g})"))
            axes.plot([middle], [place], "o", color=colour, markersize=5)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set_xlabel("one-way delay [ms]")
    return figure
