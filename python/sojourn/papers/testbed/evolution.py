"""Fig. 11: who has the link from second to second, at two rates and behind two kinds of bottleneck."""

import statistics
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.data.rows import POINT, SEED
from sojourn.figures.style import PAGE_WIDTH_IN, Drawing, family, styled
from sojourn.papers.measures import BACKGROUND, TCP, Key, Results, check, measure
from sojourn.papers.testbed.world import (
    CONTROLS,
    FIFO,
    FIVE,
    FLOWS,
    KERNEL,
    LEDBAT,
    QUEUES,
    RED,
    RUNS,
    SFQ,
    base,
    case,
    cell,
)
from sojourn.study.lab import Lab
from sojourn.study.model import Findings, Item, Table
from sojourn.sweep.plan import CASE

_BIN_S = 1.0
_DISCIPLINES = (FIFO, RED, SFQ)
# Behind `device` a packet arrives when its transmission ends, as behind a wire of that rate.
SLOW, FAST, WIRE = "500 kbit/s, HTB", "10 Mbit/s, HTB", "10 Mbit/s, device"
_PLACES: dict[str, tuple[str, str]] = {
    SLOW: ("500 kbit/s", "htb"),
    FAST: ("10 Mbit/s", "htb"),
    WIRE: ("10 Mbit/s", "device"),
}
_MBPS = {SLOW: 0.5, FAST: 10.0, WIRE: 10.0}
# How much of the axis is shown, in parts of the link's rate.
_SHOWN = 1.2


def runs(lab: Lab) -> dict[str, Results]:
    """Run each place; return what was measured there."""
    found = {}
    for number, (place, (rate, shaper)) in enumerate(_PLACES.items()):
        cases: dict[Key, Any] = {
            (name,): case(QUEUES[name], CONTROLS[LEDBAT], FLOWS[FIVE]) | {"bottleneck.rate": rate}
            for name in _DISCIPLINES
        }
        kept = {"keep": ["series"], "bin": f"{_BIN_S:g} s", "backend": "linux", "shaper": shaper}
        found[place] = measure(lab, f"fig11-{number}", base(KERNEL), cases, seeds=RUNS, **kept)
    return found


Series = dict[tuple[str, str], tuple[Any, Any]]
"""By case and group, the times of the bins in s and what the group's flows delivered in Mbit/s."""


def rates(results: Results) -> list[Series]:
    """Return each run's."""
    import pyarrow.compute as pc

    cases = dict(zip(results.column(POINT), results.column(CASE), strict=True))
    flows = results.dataset.table("flows")
    found: list[Series] = []
    for seed in sorted(set(results.column(SEED))):
        run = flows.filter(pc.equal(flows[SEED], seed))
        series: Series = {}
        for point, name in cases.items():
            for group in (TCP, BACKGROUND):
                own = run.filter(pc.and_(pc.equal(run[POINT], point), pc.equal(run["group"], group)))
                bins = own.group_by("time_s").aggregate([("delivered_bytes", "sum")]).sort_by("time_s")
                mbps = bins["delivered_bytes_sum"].to_numpy() * 8e-6 / _BIN_S
                series[name, group] = (bins["time_s"].to_numpy(), mbps)
        found.append(series)
    return found


def fig11(lab: Lab) -> Findings:
    """Return who has the link from second to second."""
    measured = runs(lab)
    found = Findings()
    series = {place: rates(results) for place, results in measured.items()}
    found.show("fig11", _figure({place: every[0] for place, every in series.items()}), _CAPTION)
    columns = ("place", "run", "discipline", "group", "time_s", "mbps")
    rows = tuple(
        (place, run, *key, float(time_s), float(mbps))
        for place, every in series.items()
        for run, own in enumerate(every, start=1)
        for key, (times, values) in own.items()
        for time_s, mbps in zip(times, values, strict=True)
    )
    found.tables.append(Table("fig11", "Goodput over time", columns, rows))
    cells = {(place, name): cell(measured[place], (name,)) for place in _PLACES for name in _DISCIPLINES}
    for place in _PLACES:
        shares = {name: cells[place, name].share for name in _DISCIPLINES}
        text = ", ".join(f"{name} {share.text(0, 100)}" for name, share in shares.items())
        found.checks.append(
            check(
                f"{place}: TCP has less under RED and SFQ than under FIFO",
                "less",
                f"{text} %",
                agrees=max(shares[RED].mean, shares[SFQ].mean) < shares[FIFO].mean,
            )
        )
    slow, fast = (_unrest(series[place]) for place in (SLOW, FAST))
    found.checks += [
        check(
            "RED and SFQ: the breakdown is smooth at 10 Mbit/s and not at 500 kbit/s",
            "smooth; not",
            ", ".join(
                f"{name}: TCP's share moves by {100 * fast[name]:.0f} and {100 * slow[name]:.0f} points"
                for name in slow
            )
            + " (standard deviation over seconds)",
            agrees=all(fast[name] < slow[name] for name in slow),
            why="Open.",
        ),
        check(
            "10 Mbit/s: the kind of bottleneck does not matter",
            "HTB as the Ethernet's own rate",
            "; ".join(
                f"{name}: {cells[FAST, name].share.text(0, 100)} and {cells[WIRE, name].share.text(0, 100)} %"
                for name in _DISCIPLINES
            ),
            agrees=all(
                abs(cells[FAST, name].share.mean - cells[WIRE, name].share.mean) < _SAME for name in _DISCIPLINES
            ),
        ),
    ]
    words = (
        f"{place}: {', '.join(f'{name} {cells[place, name].share.text(0, 100).split()[0]} %' for name in _DISCIPLINES)}"
        for place in _PLACES
    )
    found.verdict = f"TCP's share, {'; '.join(words)}."
    return found


_CAPTION = (
    "TCP's and LEDBAT's goodput, stacked, in steps of a second; the first run of each. Data count when they come "
    "in order: what waited for a lost packet comes at once, above the link's rate, where the picture is cut"
)
# Shares that differ by less are called the same.
_SAME = 0.08
_FROM_S = 10.0


def _unrest(every: list[Series]) -> dict[str, float]:
    """Return by how much TCP's share of a second varies once flows have begun.

    It is the standard deviation within a run, the mean of all runs, by discipline.
    """
    return {name: statistics.fmean(_moves(series, name) for series in every) for name in (RED, SFQ)}


def _moves(series: Series, name: str) -> float:
    (times, tcp), (_, low) = series[name, TCP], series[name, BACKGROUND]
    late = (times >= _FROM_S) & (tcp + low > 0)
    return float(np.std(tcp[late] / (tcp + low)[late]))


def _figure(series: dict[str, Series]) -> Figure:
    with styled():
        figure = Drawing(figsize=(PAGE_WIDTH_IN, 4.6), layout="constrained")
        grid = figure.subplots(len(series), len(_DISCIPLINES), sharex=True, sharey="row")
        for row, (place, own) in zip(grid, series.items(), strict=True):
            for axes, name in zip(row, _DISCIPLINES, strict=True):
                _stack(axes, own, name)
                axes.set_ylim(0, _SHOWN * _MBPS[place])
                axes.set_title(f"{name}, {place}")
            row[0].set_ylabel("Mbit/s")
        for axes in grid[-1]:
            axes.set_xlabel("time [s]")
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def _stack(axes: Axes, own: Series, name: str) -> None:
    times, tcp = own[name, TCP]
    axes.stackplot(
        times, tcp, own[name, BACKGROUND][1], colors=(family(0), family(1)), labels=("TCP", LEDBAT), linewidth=0
    )
    axes.set_xlim(0, float(times[-1]))


ITEMS = (
    Item(
        "fig11",
        "Fig. 11: who has the link over time",
        f"5 NewReno and 5 libutp flows on the kernel, 30 ms, 60 s, {RUNS} runs each; FIFO of 1000 packets, RED from "
        "1500 B, SFQ; 500 kbit/s and 10 Mbit/s behind HTB, 10 Mbit/s behind a device of that rate",
        fig11,
    ),
)
