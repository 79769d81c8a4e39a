"""The model's line beside the packets' points."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.axes import Axes

from sojourn.figures.style import family
from sojourn.fluid import Equilibrium, equilibrium
from sojourn.papers.fluid.world import MAX_P, MAX_PACKETS, MIN_PACKETS, Point, base, control, model, point, queue
from sojourn.papers.measures import LINK_DROP_RATE, QUEUE_PACKETS, SHARE, Key, Results, check, measure
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Table
from sojourn.study.panels import half, panels

# What counts as agreement of a model of means with packets.
SHARE_POINTS = 10.0
QUEUE_PART = 0.15
PLAIN, ALIKE = "packets", "packets as modelled"
# The model drops each packet by itself, knows the empty queue's delay, and lets LEDBAT have any window.
INDEPENDENT: dict[str, Any] = {"bottleneck.queue.spread": "none"}
KNOWN_BASE: dict[str, Any] = {"group.tcp.start": "10 s"}
FLOOR: dict[str, Any] = {"group.background.control.min_window": 1.0}
ASSUMPTIONS = INDEPENDENT | KNOWN_BASE | FLOOR
KINDS: dict[str, dict[str, Any]] = {PLAIN: {}, ALIKE: ASSUMPTIONS}


@dataclass(frozen=True)
class Place:
    """What a figure varies."""

    flows: int
    """TCP flows, and as many LEDBAT flows."""
    target_packets: float
    thresholds: tuple[float, float] = (MIN_PACKETS, MAX_PACKETS)

    @property
    def key(self) -> Key:
        """Return what names it in a dataset."""
        return (self.flows, self.target_packets, *self.thresholds)

    def changes(self) -> dict[str, Any]:
        """Return the changes of the scenario."""
        return {
            "group.tcp.flows": self.flows,
            "group.background.flows": self.flows,
            "bottleneck.queue": queue(self.thresholds),
            "group.background.control": control(self.target_packets),
        }

    def point(self) -> Point | None:
        """Return where the model comes to rest, and whether it stays there."""
        return point(model(self.flows, self.target_packets, self.thresholds))

    def rest(self, **changes: float) -> Equilibrium | None:
        """Return where the model with changes comes to rest."""
        return equilibrium(model(self.flows, self.target_packets, self.thresholds, **changes))

    def counted(self) -> Equilibrium | None:
        """Return the same for a RED that counts: gaps uniform from 1 to 1/p make about twice the loss of p."""
        one = model(self.flows, self.target_packets, self.thresholds)
        return equilibrium(replace(one, red=replace(one.red, max_p=2 * MAX_P)))


Curve = Mapping[float, Place]


@dataclass(frozen=True)
class Line:
    """A curve of a figure: where packets are simulated, and where the model is drawn between."""

    packets: Curve
    drawn: Curve


def simulate(lab: Lab, name: str, lines: Mapping[str, Line]) -> Results:
    """Run all places of all lines with each kind of packets."""
    cases: dict[Key, Mapping[str, Any]] = {
        (*place.key, kind): place.changes() | changes
        for line in lines.values()
        for place in line.packets.values()
        for kind, changes in KINDS.items()
    }
    return measure(lab, name, base(), cases)


def compare(found: Findings, name: str, caption: str, lines: Mapping[str, Line], results: Results, across: str) -> None:
    """Add figure, table and checks of the model beside packets."""

    def draw(index: int, axes: Axes) -> None:
        line = list(lines.values())[index // 2]
        _draw(axes, line, results, share=index % 2 == 0)
        axes.set_xlabel(across)
        axes.set_ylabel("TCP's share [%]" if index % 2 == 0 else "mean queue [packets]")

    titles = [f"{title}: {what}" for title in lines for what in ("share", "queue")]
    found.show(name, panels(titles, draw), caption)
    rows = tuple(row for title, line in lines.items() for row in _rows(title, line, results))
    columns = (
        "line",
        "x",
        "kind",
        "tcp_share_percent",
        "sd_share",
        "queue_packets",
        "sd_queue",
        "drop_percent",
        "root",
    )
    found.tables.append(Table(name, f"{caption}: data", columns, rows))
    found.checks += [
        one for title, line in lines.items() for kind in KINDS for one in _checks(title, kind, line, results)
    ]


def _draw(axes: Axes, line: Line, results: Results, *, share: bool) -> None:
    def values(points: Sequence[Equilibrium | None]) -> list[float]:
        return [_value(one, share=share) for one in points]

    xs = list(line.drawn)
    axes.plot(xs, values([place.rest() for place in line.drawn.values()]), color=family(0), label="model")
    known = [(x, place.point()) for x, place in line.packets.items()]
    loose = [(x, _value(one.rest, share=share)) for x, one in known if one and not one.stable]
    if loose:
        axes.plot(*zip(*loose, strict=True), "x", color=family(1), label="unstable")
    for label, style, refined in (
        ("decrease 1.5", ":", [place.rest(decrease=1.5) for place in line.drawn.values()]),
        ("RED counts: twice the loss", "--", [place.counted() for place in line.drawn.values()]),
    ):
        axes.plot(xs, values(refined), style, color=family(0), linewidth=0.8, label=label)
    for position, kind in enumerate(KINDS):
        numbers = [
            results.number((*place.key, kind), SHARE if share else QUEUE_PACKETS) for place in line.packets.values()
        ]
        scale = 100 if share else 1
        axes.errorbar(
            list(line.packets),
            [scale * number.mean for number in numbers],
            yerr=[scale * number.sd for number in numbers],
            fmt="os"[position],
            markersize=3,
            elinewidth=0.6,
            color=family(position + 1),
            label=kind,
        )
    axes.set_xscale("log")
    axes.set_xticks([10, 20, 50, 100, 200], ["10", "20", "50", "100", "200"])
    axes.minorticks_off()
    if share:
        half(axes)
        axes.set_ylim(40, 102)
    else:
        axes.set_ylim(bottom=0)


def _value(one: Equilibrium | None, *, share: bool) -> float:
    if one is None:
        return math.nan
    return 100 * one.shares[0] if share else one.queue_packets


def _rows(title: str, line: Line, results: Results) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for x, place in line.packets.items():
        rest = place.point()
        if rest is not None:
            share, packets = (_value(rest.rest, share=which) for which in (True, False))
            drops = 100 * rest.rest.drop_probability
            rows.append((title, x, "model", share, 0.0, packets, 0.0, drops, rest.root.real))
        for kind in KINDS:
            key = (*place.key, kind)
            number, packets_, lost = (results.number(key, metric) for metric in (SHARE, QUEUE_PACKETS, LINK_DROP_RATE))
            rows.append(
                (
                    *(title, x, kind, 100 * number.mean, 100 * number.sd),
                    *(packets_.mean, packets_.sd, 100 * lost.mean, None),
                )
            )
    return rows


def _off(place: Place, rest: Equilibrium, kind: str, results: Results) -> tuple[float, float]:
    """Return by how much packets differ from the model: points of share, and part of the queue."""
    share, packets = (results.number((*place.key, kind), metric) for metric in (SHARE, QUEUE_PACKETS))
    return 100 * (share.mean - rest.shares[0]), packets.mean / rest.queue_packets - 1


def _checks(title: str, kind: str, line: Line, results: Results) -> list[Check]:
    rests = {x: (place, place.rest()) for x, place in line.packets.items()}
    gaps = {x: _off(place, rest, kind, results) for x, (place, rest) in rests.items() if rest is not None}
    without = ", ".join(f"{x:g}" for x, (_, rest) in rests.items() if rest is None)
    none = f"; the model has no equilibrium at {without}" if without else ""
    share_at = max(gaps, key=lambda x: abs(gaps[x][0]))
    queue_at = max(gaps, key=lambda x: abs(gaps[x][1]))
    near = [
        sum(abs(gap[0]) <= SHARE_POINTS for gap in gaps.values()),
        sum(abs(g[1]) <= QUEUE_PART for g in gaps.values()),
    ]
    return [
        check(
            f"{title}: TCP's share in {kind} is the model's",
            f"within {SHARE_POINTS:.0f} points",
            f"at {near[0]} of {len(gaps)} places; at most {gaps[share_at][0]:+.0f} points, at {share_at:g}{none}",
            agrees=near[0] == len(gaps),
            why=WHY_PLAIN if kind == PLAIN else WHY_ALIKE,
        ),
        check(
            f"{title}: the mean queue in {kind} is the model's",
            f"within {100 * QUEUE_PART:.0f} %",
            f"at {near[1]} of {len(gaps)} places; at most {100 * gaps[queue_at][1]:+.0f} %, at {queue_at:g}{none}",
            agrees=near[1] == len(gaps),
            why=WHY_PLAIN if kind == PLAIN else WHY_QUEUE,
        ),
    ]


WHY_PLAIN = (
    "RED spaces its drops by a count, which loses about twice the probability that the model takes, and so rests at a "
    "shorter queue; LEDBAT flows that begin in TCP's first burst take its queue for their base delay."
)
WHY_ALIKE = (
    "Explained: at this rate a flow has a few packets in flight, which the model takes for a continuous window. With "
    "windows ten times as large packets come to the model (see Larger windows). Nearest to the target some is left: "
    "LEDBAT's rate is the root of a small difference there, and the queue swings, which a model of means does not have."
)
WHY_QUEUE = (
    "Explained: at this rate a flow has a few packets in flight, which the model takes for a continuous window; with "
    "windows ten times as large the queue is the model's (see Larger windows). A decrease by 1.5 (dotted), which the "
    "paper names, points the same way."
)
