"""The gallery: every ready scenario with a thumbnail of one run."""

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import sojourn
from handbook.pages import DOCS
from sojourn import ready
from sojourn.figures.series import BOTTLENECK, Array, Series
from sojourn.figures.style import CAPACITY, Drawing, family, literal, styled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist

    from sojourn.registry import ReadyScenario

PAGE = DOCS / "gallery.md"
IMAGES = DOCS / "images" / "scenarios"
_WIDTH_IN, _HEIGHT_IN = 3.6, 2.5
_DRAWN_BINS = 70
_QUEUE = "#6B6B6B"
_COORDINATE = re.compile(r"(?<![>\d.-])-?\d+\.\d{2,}")
"""A number of a drawing, not of its text."""
_LEGEND_WIDTH = 44
"""Letters that fit into a line of a thumbnail's legend, each entry counted with the place of its colour."""
_ENTRY = 5
_LOADED = 0.1
"""The least part of what is delivered that crosses a bottleneck whose queue is worth a picture."""
_INTRODUCTION = """# Gallery

All {count} ready scenarios, in the groups of `sojourn list scenarios`. Each picture is one run:

- Above is the queueing delay at the bottleneck. Where other links carry more than nine tenths of the data, as upstream
  from stations, the longest queue of all links is shown.
- Below is what each group of flows receives, stacked. Grey is what the link could carry.
- A dashed line is a group whose data takes the return link.

Take the name of a scenario to run it, to write its page, or to change it:

```sh
sojourn run voip-under-load
sojourn run voip-under-load --page call.html
sojourn show voip-under-load > mine.toml
```

A picture leads to its scenario's file.
"""


def renew() -> bool:
    """Write the page, and return whether it changed."""
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    PAGE.write_text(text(), encoding="utf-8")
    return text() != before


def image(name: str) -> Path:
    """Return the file of a scenario's thumbnail."""
    return IMAGES / f"{name}.svg"


def text() -> str:
    """Return the page."""
    groups = ready.grouped()
    parts = [_INTRODUCTION.format(count=sum(map(len, groups.values())))]
    parts += [_group(title, members) for title, members in groups.items()]
    return "\n".join(parts)


def _group(title: str, members: "Sequence[ReadyScenario]") -> str:
    return "\n".join([f"## {title}", "", '<div class="gallery" markdown>', "", *map(_entry, members), "</div>", ""])


def _entry(one: "ReadyScenario") -> str:
    name = one["name"]
    picture = f"![Queueing delay and throughput of {name}](images/scenarios/{name}.svg)"
    return f"- [{picture}](../scenarios/{name}.toml)\n\n    **{name}**\n\n    {one['summary']}\n"


def draw_all() -> list[Path]:
    """Draw all thumbnails, remove those of scenarios that are gone, and return the files."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    names = [one["name"] for members in ready.grouped().values() for one in members]
    for path in set(IMAGES.iterdir()) - {image(name) for name in names}:
        path.unlink()
    for name in names:
        image(name).write_text(drawn(name), encoding="utf-8")
    return [image(name) for name in names]


def drawn(name: str) -> str:
    """Return the thumbnail of a scenario as SVG."""
    return _svg(thumbnail(name))


def thumbnail(name: str) -> Figure:
    """Draw queueing delay above and throughput below, small."""
    result = sojourn.Scenario.load(name).run(runs=1)
    series = Series(result, 0, _DRAWN_BINS)
    with styled():
        figure = Drawing(figsize=(_WIDTH_IN, _HEIGHT_IN), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1, 1.3))
        _delay(above, series)
        handles = _throughput(below, series)
        figure.align_ylabels([above, below])
        figure.legend(
            handles=handles,
            loc="outside lower center",
            ncols=_columns([str(handle.get_label()) for handle in handles]),
            handlelength=1.1,
            handletextpad=0.4,
            columnspacing=1.0,
        )
    return figure


def _delay(axes: Axes, series: Series) -> None:
    links = [BOTTLENECK] if _crossing(series) else series.links
    delays = np.array([series.queue_ms(link) for link in links])
    # Of several queues the longest at each time; where no packet leaves there is no delay to show.
    known = ~np.isnan(delays).all(axis=0)
    _fill(axes, series.times_s[known], np.nanmax(delays[:, known], axis=0), _QUEUE)
    axes.set_ylabel("delay [ms]")
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, series.duration_s)
    axes.locator_params(axis="y", nbins=3)


def _throughput(axes: Axes, series: Series) -> "list[Artist]":
    """Stack the groups that share the bottleneck; the others are lines."""
    crossing = _crossing(series)
    stacked = crossing or series.groups
    if crossing:
        _fill(axes, series.times_s, series.capacity_mbps(), CAPACITY)
    rates = {group: series.delivered_mbps(group).sum(axis=0) for group in series.groups}
    tops = np.cumsum([rates[group] for group in stacked], axis=0)
    # From the top of the stack down: each area is in front of the one above it.
    for group, top in reversed(list(zip(stacked, tops, strict=True))):
        _fill(axes, series.times_s, top, family(series.groups.index(group)))
    handles: list[Artist] = []
    for position, group in enumerate(series.groups):
        colour, title = family(position), literal(series.result.titles[group])
        if group in stacked:
            handles.append(Patch(color=colour, label=title))
        else:
            axes.plot(series.times_s, rates[group], "--", color=colour)
            handles.append(Line2D([], [], linestyle="--", color=colour, label=title))
    axes.set_ylabel("Mbit/s")
    axes.set_xlabel("time [s]")
    axes.set_ylim(bottom=0)
    axes.locator_params(axis="y", nbins=4)
    return handles


def _crossing(series: Series) -> "Sequence[str]":
    """Return the groups that share the bottleneck; none where it carries next to nothing of what is delivered."""
    every, own = (
        sum(float(series.delivered_mbps(group).sum()) for group in groups)
        for groups in (series.groups, series.crossing)
    )
    return series.crossing if own >= _LOADED * every else []


def _fill(axes: Axes, times_s: Array, top: Array, colour: str) -> None:
    """Fill from zero to a line, as a polygon without a point for each value at the bottom."""
    x, y = (np.concatenate(parts) for parts in ((times_s[:1], times_s, times_s[-1:]), ([0], top, [0])))
    axes.fill(x, y, color=colour, linewidth=0)


def _columns(labels: "Sequence[str]") -> int:
    """Return how many columns of a legend fit.

    >>> _columns(["tcp", "ledbat"]), _columns(["a transfer with a long name", "another one as long"])
    (2, 1)
    """
    widest = max(map(len, labels)) + _ENTRY
    return max(1, min(len(labels), _LEGEND_WIDTH // widest))


def _svg(figure: Figure) -> str:
    """Return a figure as SVG of few bytes: what a screen cannot show is left out."""
    buffer = io.StringIO()
    with styled():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    whole = re.sub(r"<metadata>.*?</metadata>\s*", "", buffer.getvalue(), flags=re.DOTALL)
    whole = re.sub(r"<\?xml.*?<svg", "<svg", whole, count=1, flags=re.DOTALL)
    rounded = _COORDINATE.sub(lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), whole)
    # After a point come the next ones: a path needs no letter and no line for each.
    return re.sub(r"\n\s*", "\n", re.sub(r" ?\nL ", " ", rounded))
