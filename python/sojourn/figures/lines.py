"""How a quantity is distributed over access lines."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from sojourn.figures.style import drawn, family

_HEIGHT_IN = 3.0


def parts_of_lines(values: Mapping[str, Sequence[tuple[float, float]]], label: str) -> Figure:
    """Draw for each variant the part of the lines that has at most a value, of (value, weight) of each line."""
    with drawn(_HEIGHT_IN) as figure:
        axes = figure.subplots()
        for place, (name, own) in enumerate(values.items()):
            if own:
                found, weights = zip(*own, strict=True)
                axes.ecdf(found, weights=weights, color=family(place), label=name)
        axes.set_ylim(0, 1)
        axes.set_xlabel(label)
        axes.set_title("part of the lines", loc="left")
        axes.legend()
    return figure
