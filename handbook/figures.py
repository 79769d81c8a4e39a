"""The figures of the pages: every algorithm in the same small experiment."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import sojourn
from handbook.experiments import LIVES, QUEUE_SECONDS, alone, beside_newreno, ten_flows
from sojourn.figures.series import Series
from sojourn.figures.style import INK, PAGE_WIDTH_IN, Drawing, family, shades, styled

if TYPE_CHECKING:
    from handbook.pages import Page
    from sojourn.result import Result

MAX_COLUMNS = 4
DRAWN_BINS = 150
# BBR empties the path for a quarter of a second: wider bins would miss the window of that time.
CONTROL_BINS = 300
DPI = 130
REFERENCE = "#A6A6A6"
MAX_MS = 10_000
BIN_S = 0.1


def draw(page: "Page") -> list[Path]:
    """Draw the figures of a page and return their files."""
    page.images.mkdir(parents=True, exist_ok=True)
    if page.kind == "queue":
        return [_saved(disciplines(page.members), page.images / f"{page.name}.png")]
    return [_saved(control(name), page.images / f"{name}.png") for name in page.members]


def _saved(figure: Figure, path: Path) -> Path:
    with styled():
        figure.savefig(path, dpi=DPI, metadata={})
    return path


def _run(tables: dict[str, Any]) -> "Result":
    return sojourn.scenario(tables).run(bin_s=BIN_S)


def disciplines(names: tuple[str, ...]) -> Figure:
    """Queue delay and who uses the link, for ten flows at each of some disciplines."""
    reference = Series(_run(ten_flows("droptail")), 0, DRAWN_BINS)
    rows = -(-len(names) // MAX_COLUMNS)
    columns = -(-len(names) // rows)
    with styled():
        figure = Drawing(figsize=(PAGE_WIDTH_IN * min(1, columns / 2), 2.7 * rows), layout="constrained")
        grid = figure.subplots(2 * rows, columns, squeeze=False, sharex=True)
        for position in range(rows * columns):
            row, column = divmod(position, columns)
            above, below = grid[2 * row, column], grid[2 * row + 1, column]
            if position >= len(names):
                above.set_axis_off()
                below.set_axis_off()
                continue
            series = Series(_run(ten_flows(names[position])), 0, DRAWN_BINS)
            _delay(above, series, reference if names[position] != "droptail" else None)
            _users(below, series)
            _title(above, names[position], series)
            if column == 0:
                above.set_ylabel("delay [ms]")
                below.set_ylabel("goodput [%]")
            if position + columns >= len(names):
                below.set_xlabel("time [s]")
                below.tick_params(labelbottom=True)
        _legend(figure, compared=names != ("droptail",))
    return figure


def _legend(figure: Figure, *, compared: bool) -> None:
    handles = [Patch(color=family(position), label=label) for position, label in enumerate(("5 NewReno", "5 LEDBAT"))]
    if compared:
        handles.append(Line2D([], [], color=REFERENCE, label="delay with droptail"))  # type: ignore[arg-type]
    figure.legend(handles=handles, loc="outside lower left", ncols=3, handlelength=1.2)


def _title(axes: Axes, name: str, series: Series) -> None:
    record = series.record
    axes.set_title(name, loc="left", fontweight="bold", pad=14)
    text = (
        f"NewReno {100 * record.groups[series.crossing[0]].share:.0f} %, "
        f"{record.bottleneck.queue_ms.mean:.0f} ms, link {100 * record.bottleneck.utilization:.0f} %"
    )
    axes.annotate(text, (0, 1), (0, 3), xycoords="axes fraction", textcoords="offset points", fontsize=6.8)


def _delay(axes: Axes, series: Series, reference: Series | None) -> None:
    if reference is not None:
        axes.plot(reference.times_s, reference.queue_ms(), color=REFERENCE, linewidth=0.8)
    axes.plot(series.times_s, series.queue_ms(), color=INK)
    axes.set_yscale("log")
    axes.set_ylim(1, MAX_MS)
    axes.set_yticks([1, 10, 100, 1000, MAX_MS], labels=["1", "10", "100", "1000", ""])
    axes.minorticks_off()
    axes.set_xlim(0, QUEUE_SECONDS)


def _users(axes: Axes, series: Series) -> None:
    base = np.zeros_like(series.times_s)
    for position, group in enumerate(series.crossing):
        rows = series.delivered_mbps(group)
        for row, colour in zip(rows, shades(position, len(rows)), strict=True):
            top = base + 100 * row / series.capacity_mbps()
            axes.fill_between(series.times_s, base, top, color=colour, linewidth=0)
            base = top
    axes.set_ylim(0, 100)
    axes.set_yticks([0, 50, 100])


def control(name: str) -> Figure:
    """Window, rate and queue of one flow alone, and beside NewReno that comes and goes."""
    with styled():
        figure = Drawing(figsize=(PAGE_WIDTH_IN, 3.9), layout="constrained")
        grid = figure.subplots(3, 2, sharex=True, sharey="row")
        titles = ("alone", "beside NewReno, from 20 s to 40 s")
        for column, (title, tables) in enumerate(zip(titles, (alone(name), beside_newreno(name)), strict=True)):
            series = Series(_run(tables), 0, CONTROL_BINS)
            grid[0, column].set_title(title, loc="left")
            _lives(grid[:, column], series)
        for axes, label in zip(grid[:, 0], ("cwnd [packets]", "rate [Mbit/s]", "delay [ms]"), strict=True):
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
        handles, labels = grid[0, 1].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def _lives(panels: Any, series: Series) -> None:
    window, rate, delay = panels
    for position, group in enumerate(series.groups):
        colour = family(position)
        # Before and after its life a flow has a window, which means nothing.
        start_s, stop_s = LIVES.get(group, (0, series.duration_s))
        alive = (series.times_s >= start_s) & (series.times_s <= stop_s)
        delivered = series.delivered_mbps(group)[0]
        packets = np.where(alive, series.window_packets(group)[0], np.nan)
        window.plot(series.times_s, packets, color=colour, label=group)
        rate.plot(series.times_s, np.where(alive | (delivered > 0), delivered, np.nan), color=colour)
    waits = _waits_apart(series)
    for position, wait in enumerate(waits):
        delay.plot(series.times_s, wait, color=family(position))
    if not waits:
        delay.plot(series.times_s, series.queue_ms(), color=INK)
    delay.set_xlabel("time [s]")
    delay.set_xlim(0, series.duration_s)


def _waits_apart(series: Series) -> list[Any]:
    """How long each flow's data waited, where flows may be in queues of their own, so that a mean says nothing."""
    if len(series.groups) == 1 or "classes" not in series.record.bottleneck:
        return []
    delays = [series.one_way_delay_ms(group)[0] for group in series.groups]
    return [delay - np.nanmin(delays) for delay in delays]
