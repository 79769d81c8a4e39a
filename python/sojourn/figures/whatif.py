"""What each remedy does to a line, or what its twins do, with what is not known of the line as bars."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from sojourn.figures.style import drawn, family, tip

_ROW_IN, _MARGIN_IN = 0.32, 0.7


def intervals(
    spans: Mapping[str, tuple[float, float, float]], label: str, measured: Mapping[str, float] | None = None
) -> Figure:
    """Draw a median with a bar from the low to the high end for each name, the first one on top.

    What was `measured` of some names is a cross.
    """
    names = list(spans)
    with drawn(_MARGIN_IN + _ROW_IN * len(names)) as figure:
        axes = figure.subplots()
        for place, name in enumerate(names):
            middle, low, high = spans[name]
            colour = family(0 if place or measured is not None else 2)
            (bar,) = axes.plot(
                [low, high], [place, place], color=colour, linewidth=3, solid_capstyle="round", alpha=0.45
            )
            bar.set_gid(tip(f"{name}: {middle:.4g} ms ({low:.4g} to {high:.4g})"))
            axes.plot([middle], [place], "o", color=colour, markersize=5)
            if measured is not None and name in measured:
                axes.plot([measured[name]], [place], "x", color=family(2), markersize=8, markeredgewidth=2)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.set_xlabel(label)
    return figure
