"""Figures 7, 8 and 9: flows that are not always on."""

import itertools
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes

from sojourn.papers.gong.drawing import curves, half, panels, scatter
from sojourn.papers.gong.grid import (
    CYCLE_S,
    DUTY,
    DUTY_PERCENT,
    READINGS,
    SETTING,
    SHORT_CYCLES_S,
    SHOWN,
    by,
    grid,
    on_off,
)
from sojourn.papers.gong.world import AQMS, QUEUES, base, both, queue
from sojourn.papers.measures import (
    BACKGROUND,
    DROP_RATE,
    SHARE,
    TCP,
    UTILIZATION,
    Key,
    Number,
    Results,
    check,
    measure,
    shown,
    span,
)
from sojourn.study.lab import Lab
from sojourn.study.model import Findings, Item, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNDERLOADED, _OVERLOADED = 0.9, 0.97
_FAIR_POINTS = 0.1
_HALF = 0.5
_DUTY_TEXT = "flows are on and off for exponential times, together 10 s in the mean, which the paper does not print"

Points = dict[str, dict[float, Number]]


def _panels(lab: Lab, metric: str, group: str = TCP) -> dict[str, Points]:
    return {reading: by(grid(lab, reading), DUTY, metric, group, DUTY_PERCENT) for reading in READINGS}


def _drawn(found: Findings, name: str, measured: dict[str, Points], what: str) -> None:
    def draw(index: int, axes: Axes) -> None:
        curves(axes, list(measured.values())[index], scale=100)
        axes.set_xlabel("part of the time that a flow is on [%]")
        axes.set_ylabel(what)
        axes.set_ylim(0, 102)
        if name == "fig8":
            half(axes)

    found.show(
        name,
        panels([f"RTT {reading}" for reading in measured], draw),
        f"{what.split(' [', maxsplit=1)[0].capitalize()} over duty cycle",
    )
    rows = tuple(
        (reading, discipline, percent, 100 * number.mean, 100 * number.sd)
        for reading, points in measured.items()
        for discipline, line in points.items()
        for percent, number in line.items()
    )
    found.tables.append(
        Table(name, f"{what} at every duty cycle", ("reading", "discipline", "duty_percent", "mean", "sd"), rows)
    )


def fig7(lab: Lab) -> Findings:
    """Utilization over duty cycle."""
    measured = _panels(lab, UTILIZATION)
    found = Findings()
    _drawn(found, "fig7", measured, "utilization [%]")
    for reading, points in measured.items():
        low = {name: line[DUTY_PERCENT[0]] for name, line in points.items()}
        high = {name: line[DUTY_PERCENT[-1]] for name, line in points.items()}
        rising = all(
            line[b].not_below(line[a]) for line in points.values() for a, b in itertools.pairwise(DUTY_PERCENT)
        )
        lacking = [name for name in high if high[name].mean < _OVERLOADED]
        found.checks += [
            check(
                f"{reading}: there is an underload and an overload regime",
                "two regimes",
                f"{span([n.mean for n in low.values()], 0, 100)} % at 10 %, "
                f"{span([n.mean for n in high.values()], 0, 100)} % at 100 %",
                agrees=max(n.mean for n in low.values()) < _UNDERLOADED and not lacking,
                why=f"{', '.join(lacking)} does not fill the link even when all flows are always on.",
            ),
            check(
                f"{reading}: utilization never falls as flows are on for longer",
                "rises",
                "rises under every discipline" if rising else "falls somewhere beyond chance",
                agrees=rising,
            ),
        ]
    found.verdict = "Utilization has the two regimes."
    if not all(one.agrees for one in found.checks):
        found.verdict = "Utilization has the two regimes, with exceptions: " + _exceptions(found) + "."
    return found


def _exceptions(found: Findings) -> str:
    return "; ".join(one.claim for one in found.checks if one.agrees is False)


def fig8(lab: Lab) -> Findings:
    """TCP's share over duty cycle."""
    measured = _panels(lab, SHARE)
    found = Findings()
    _drawn(found, "fig8", measured, "TCP's share [%]")
    for reading, points in measured.items():
        off = [
            f"{name} at {percent:g} % ({100 * number.mean:.0f} %)"
            for name in AQMS
            for percent, number in points[name].items()
            if abs(number.mean - _HALF) > _FAIR_POINTS
        ]
        shares = [number.mean for name in AQMS for number in points[name].values()]
        means = {name: sum(number.mean for number in points[name].values()) / len(DUTY_PERCENT) for name in AQMS}
        ranked = sorted(means, key=lambda name: -means[name])
        found.checks += [
            check(
                f"{reading}: under AQM both classes share fairly at every duty cycle",
                "fair",
                f"{span(shares, 0, 100)} %",
                agrees=not off,
                why=f"Over 10 points from half: {', '.join(off[:SHOWN])}{' ...' if len(off) > SHOWN else ''}. Flows "
                "that are seldom on mostly start: NewReno doubles its window, LEDBAT adds a packet a round trip.",
            ),
            check(
                f"{reading}: CoDel leaves TCP the largest, SFQ the smallest share",
                "CoDel, SFQ",
                " > ".join(f"{name} ({100 * means[name]:.1f})" for name in ranked),
                agrees=ranked[0] == "CoDel" and ranked[-1] == "SFQ",
                why="Without CHOKe, whose settings are guesses: "
                + " > ".join(name for name in ranked if name != "CHOKe")
                + ". The others differ by less than the runs of one case do.",
            ),
        ]
    short = short_cycles(lab)
    spans = {CYCLE_S: [measured["50 ms"][name][percent].mean for name in AQMS for percent in DUTY_PERCENT[:-1]]}
    for cycle_s in SHORT_CYCLES_S:
        spans[cycle_s] = [
            short.number((name, percent, cycle_s), SHARE).mean for name in AQMS for percent in DUTY_PERCENT[:-1]
        ]
    found.checks.append(
        shown(
            "share under AQMs at 50 ms by the time that an on and an off time take together",
            "not printed",
            "; ".join(f"{cycle_s:g} s: {span(shares, 0, 100)} %" for cycle_s, shares in spans.items()),
            "The shorter the on times, the more of them is the start, which is slower under LEDBAT.",
        )
    )
    rows = tuple(
        (cycle_s, name, percent, 100 * share.mean, 100 * share.sd)
        for cycle_s in SHORT_CYCLES_S
        for name in QUEUES
        for percent in DUTY_PERCENT[:-1]
        for share in (short.number((name, percent, cycle_s), SHARE),)
    )
    columns = ("cycle_s", "discipline", "duty_percent", "share_percent", "sd")
    found.tables.append(Table("short-cycles", "Shorter cycles, RTT 50 ms", columns, rows))
    found.verdict = (
        "TCP's share under AQMs at all duty cycles: "
        + "; ".join(
            f"{span([n.mean for name in AQMS for n in points[name].values()], 0, 100)} % at {reading}"
            for reading, points in measured.items()
        )
        + "."
    )
    return found


def short_cycles(lab: Lab) -> Results:
    """Return runs with shorter on and off times, at 50 ms."""
    cases: dict[Key, Mapping[str, Any]] = {
        (name, percent, cycle_s): {"bottleneck.queue": queue(name)} | both("traffic", on_off(percent, cycle_s))
        for name in QUEUES
        for percent in DUTY_PERCENT
        for cycle_s in SHORT_CYCLES_S
    }
    return measure(lab, "short-cycles", base(), cases)


def fig9(lab: Lab) -> Findings:
    """Drop rates of both classes over duty cycle."""
    found = Findings()
    both_classes = {}
    for reading in READINGS:
        tcp, low = (by(grid(lab, reading), DUTY, DROP_RATE, group, DUTY_PERCENT) for group in (TCP, BACKGROUND))
        both_classes[reading] = {name: [(tcp[name][p], low[name][p]) for p in DUTY_PERCENT] for name in QUEUES}

    def draw(index: int, axes: Axes) -> None:
        scatter(axes, list(both_classes.values())[index])

    titles = [f"RTT {reading}" for reading in READINGS]
    found.show("fig9", panels(titles, draw, height_in=3.2), "Drop rates at duty cycles from 10 to 100 %")
    rows = []
    for reading, cases in both_classes.items():
        for name, points in cases.items():
            rows += [
                (reading, name, percent, 100 * t.mean, 100 * t.sd, 100 * b.mean, 100 * b.sd)
                for percent, (t, b) in zip(DUTY_PERCENT, points, strict=True)
            ]
        below = [
            f"{name} at {percent} %"
            for name in AQMS
            for percent, (t, b) in zip(DUTY_PERCENT, cases[name], strict=True)
            if not t.not_below(b)
        ]
        total = len(AQMS) * len(DUTY_PERCENT)
        away = {
            name: sum(t.mean for t, _ in cases[name]) / max(sum(b.mean for _, b in cases[name]), 1e-9) for name in AQMS
        }
        ranked = sorted(away, key=lambda name: away[name])
        distance = {name: abs(away[name] - 1) for name in AQMS}
        found.checks += [
            check(
                f"{reading}: TCP's drop rate is at or above the low-priority flows' at every duty cycle",
                "everywhere",
                f"at {total - len(below)} of {total} points",
                agrees=not below,
                why=f"Below beyond chance: {', '.join(below[:SHOWN])}{' ...' if len(below) > SHOWN else ''}.",
            ),
            check(
                f"{reading}: CoDel is closest to the diagonal, SFQ farthest",
                "CoDel, SFQ",
                ", ".join(f"{name} {away[name]:.2f}" for name in ranked) + " (TCP's drop rate over the others')",
                agrees=min(distance, key=distance.__getitem__) == "CoDel"
                and max(distance, key=distance.__getitem__) == "SFQ",
            ),
        ]
    columns = (
        "reading",
        "discipline",
        "duty_percent",
        "tcp_drop_percent",
        "sd_tcp",
        "background_drop_percent",
        "sd_background",
    )
    found.tables.append(Table("fig9", "Drop rates at every duty cycle", columns, tuple(rows)))
    agree = sum(bool(one.agrees) for one in found.checks[::2])
    found.verdict = (
        "TCP loses at least as much as the low-priority flows at every duty cycle."
        if agree == len(READINGS)
        else "TCP loses at least as much as the low-priority flows at most duty cycles, not at all."
    )
    return found


ITEMS = (
    Item("fig7", "Fig. 7: duty cycle and utilization", f"{SETTING}; {_DUTY_TEXT}", fig7),
    Item("fig8", "Fig. 8: duty cycle and TCP's share", f"{SETTING}; {_DUTY_TEXT}", fig8),
    Item("fig9", "Fig. 9: duty cycle and losses", f"{SETTING}; {_DUTY_TEXT}", fig9),
)
