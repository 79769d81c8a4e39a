"""The network of a scenario: nodes, links with their rates, and after a run how far each was used."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from sojourn import networks
from sojourn.figures.style import INK, PAGE_WIDTH_IN, Drawing, literal, styled

if TYPE_CHECKING:
    from sojourn import _native
    from sojourn.measured import Measured

_COLOURS = "cividis_r"
_ROW_IN, _BAR_IN = 1.35, 0.55
_POINTS_PER_INCH = 72
_GIGABIT_MBPS = 1000
_APART = 1.6
_BEND = 0.14
"""How far a link bends to its side, so that those there and back lie beside each other."""

_PAD = 0.45
"""Between a node's name and its box, in heights of its letters."""

Places = dict[str, tuple[float, float]]


def network(scenario: "_native.Scenario", tables: Mapping[str, Any], result: "Measured | None" = None) -> Figure:
    """Draw the nodes and links of a scenario whose links say where they lie; many alike with numbered names are one."""
    links = networks.drawn(scenario, tables)
    if not links:
        raise ValueError("no link says between which nodes it lies")
    places = _places(links, _forward(scenario, tables, links))
    rows = 1 + max(abs(y) for _, y in places.values()) * 2
    with styled():
        below_in = 0.0 if result is None else _BAR_IN
        height_in = min(7.0, _ROW_IN * rows) + below_in
        figure = Drawing(figsize=(PAGE_WIDTH_IN, height_in))
        # Labels stand beside bent arrows, so that where the axes lie must be known when they are drawn.
        axes = figure.add_axes((0.01, below_in / height_in, 0.98, 1 - below_in / height_in))
        axes.set_axis_off()
        axes.set_xlim(-0.35, max(x for x, _ in places.values()) + 0.35)
        axes.set_ylim(-rows / 2, rows / 2)
        boxes = {name: _draw_node(axes, name, place) for name, place in places.items()}
        alike: dict[tuple[str, str], int] = defaultdict(int)
        for one in links:
            percent = None if result is None else _used(one, result)
            _draw_link(axes, one, places, boxes, alike[one.start, one.end], percent)
            alike[one.start, one.end] += 1
        if result is not None:
            colours = ScalarMappable(Normalize(0, 100), _COLOURS)
            strip = figure.add_axes((0.3, 0.4 / height_in, 0.4, 0.1 / height_in))
            bar = figure.colorbar(colours, cax=strip, orientation="horizontal")
            bar.set_label("utilization of a link, mean of those drawn as one [%]")
    return figure


def _forward(
    scenario: "_native.Scenario", tables: Mapping[str, Any], links: Sequence[networks.Drawn]
) -> list[tuple[networks.Drawn, ...]]:
    """Return the ways of the data of all groups that send forward, each way once."""
    by_key = {(key, one_of): one for one in links for key, one_of in zip(one.keys, one.stations, strict=True)}
    forward = {group["name"] for group in tables["group"] if group["direction"] == "forward"}
    found: dict[tuple[tuple[str, str], ...], tuple[networks.Drawn, ...]] = {}
    for route in (route for group, own in networks.routes(scenario).items() if group in forward for route in own):
        way = tuple(by_key.get((key, None)) or by_key[key, route.station] for key in route.there)
        if way:
            found.setdefault(tuple((one.name, one.end) for one in way), way)
    return list(found.values())


def _places(links: Sequence[networks.Drawn], forward: Sequence[Sequence[networks.Drawn]]) -> Places:
    """Return where nodes stand: data that is sent forward goes from left to right, a column for each link."""
    column: dict[str, int] = {}
    for _ in links:
        for way in forward:
            for one in way:
                column[one.end] = max(column.get(one.end, 0), column.setdefault(one.start, 0) + 1)
    # Where several ways begin, each stands just before the node at which it meets another.
    for one in (way[0] for way in forward):
        if all(other.end != one.start for way in forward for other in way):
            column[one.start] = min(column[way[0].end] for way in forward if way[0].start == one.start) - 1
    for one in links:
        if one.start not in column:
            column[one.start] = max(0, column.get(one.end, 1) - 1)
        column.setdefault(one.end, column[one.start] + 1)
    # Ways that go round in a ring leave columns empty.
    rank = {place: number for number, place in enumerate(sorted(set(column.values())))}
    columns: dict[int, list[str]] = defaultdict(list)
    for name, place in column.items():
        columns[rank[place]].append(name)
    return {
        name: (float(place), _APART * ((len(names) - 1) / 2 - row))
        for place, names in columns.items()
        for row, name in enumerate(names)
    }


def _used(one: networks.Drawn, result: "Measured") -> float | None:
    """Return the mean utilization of links that are drawn as one, in percent."""
    # A station's part of the medium is in the utilization of that.
    found = [result.summary.get(f"{key}_utilization", {"mean": None})["mean"] for key in one.keys]
    known = [value for value in found if value is not None]
    return 100 * sum(known) / len(known) if known else None


def _draw_node(axes: Axes, name: str, place: tuple[float, float]) -> tuple[float, float]:
    """Draw a node, and return half the width and half the height of its box in points."""
    box = {"boxstyle": f"round,pad={_PAD}", "facecolor": "white", "edgecolor": INK, "linewidth": 0.8}
    text = axes.text(*place, literal(name), ha="center", va="center", zorder=3, bbox=box)
    extent, per_inch = text.get_window_extent(), axes.figure.dpi / _POINTS_PER_INCH
    pad = _PAD * float(text.get_fontsize())
    return extent.width / per_inch / 2 + pad, extent.height / per_inch / 2 + pad


def _draw_link(
    axes: Axes, one: networks.Drawn, places: Places, boxes: Places, earlier: int, percent: float | None
) -> None:
    (x0, y0), (x1, y1) = places[one.start], places[one.end]
    colour = INK if percent is None else mpl.colormaps[_COLOURS](percent / 100)
    bend = _BEND * (1 + earlier)
    (across, up), dpi = (
        axes.transData.transform([(x1, y1)])[0] - axes.transData.transform([(x0, y0)])[0],
        axes.figure.dpi,
    )
    across, up = across * _POINTS_PER_INCH / dpi, up * _POINTS_PER_INCH / dpi
    length = math.hypot(across, up) or 1.0

    def outside(node: str) -> float:
        """Return how far the line to the other node is inside this one's box, and a little more."""
        width, height = boxes[node]
        inside: float = min(width * length / max(abs(across), 1e-9), height * length / max(abs(up), 1e-9))
        return inside + 3

    axes.annotate(
        "",
        xy=(x1, y1),
        xytext=(x0, y0),
        arrowprops={
            "arrowstyle": "-|>",
            "connectionstyle": f"arc3,rad={bend}",
            "shrinkA": outside(one.start),
            "shrinkB": outside(one.end),
            "color": colour,
            "linewidth": 1.0 + (percent or 0.0) / 60,
        },
        zorder=1,
    )
    # A quadratic curve with its control point off the middle passes half as far beside it.
    off = bend * length / 2 + 4
    side = (off * up / length, -off * across / length)
    axes.annotate(
        _label(one, percent),
        xy=((x0 + x1) / 2, (y0 + y1) / 2),
        xytext=side,
        textcoords="offset points",
        ha="center" if abs(side[1]) > 5 * abs(side[0]) else "left" if side[0] > 0 else "right",
        va="top" if side[1] < 0 else "bottom",
        fontsize=7,
        linespacing=1.15,
        zorder=2,
        bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
    )


def _label(one: networks.Drawn, percent: float | None) -> str:
    low, high = min(one.rates_mbps), max(one.rates_mbps)
    unit, per_mbps = ("Gbit/s", 1e-3) if low >= _GIGABIT_MBPS else ("Mbit/s", 1.0)
    rate = f"{low * per_mbps:.4g}" if math.isclose(low, high) else f"{low * per_mbps:.4g} to {high * per_mbps:.4g}"
    name = literal(one.name) if one.count == 1 else f"{one.count} x {literal(one.name)}"
    used = "" if percent is None else f", {percent:.0f} %"
    return f"{name}\n{rate} {unit}{used}"
