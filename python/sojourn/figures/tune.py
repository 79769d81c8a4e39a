"""What settings reach: a quantity against what it costs, and the front."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from sojourn.figures.style import drawn, family

_HEIGHT_IN = 3.0


def front(
    trials: Sequence[tuple[float, float, bool]],
    edge: Sequence[tuple[float, float]],
    bound: float,
    labels: tuple[str, str],
) -> Figure:
    """Draw trials (x, y, whether the goal is kept), the line of those that none beats, and the goal's bound."""
    across, up = labels
    with drawn(_HEIGHT_IN) as figure:
        axes = figure.subplots()
        axes.plot(*zip(*edge, strict=True), "-", color=family(2), linewidth=1.5)
        for is_kept in (True, False):
            own = [(x, y) for x, y, kept in trials if kept is is_kept]
            if own:
                face = family(0) if is_kept else "none"
                x, y = zip(*own, strict=True)
                axes.scatter(x, y, s=22, facecolors=face, edgecolors=family(0))
        axes.axvline(bound, color="0.4", linewidth=0.8, linestyle="--")
        axes.set_xlabel(across)
        axes.set_title(up, loc="left")
    return figure
