"""The fluid model of TCP and LEDBAT under RED, beside the packets of the study's sweeps."""

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq

from sojourn.study import Means, Number, changes, figure, measure
from sojourn.worlds.fluid.equilibrium import Equilibrium, equilibrium
from sojourn.worlds.fluid.model import Class, Model, Red
from sojourn.worlds.fluid.stability import rightmost_root
from sojourn.worlds.fluid.trajectory import trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn.study.means import Cell

PACKETS_PER_S, BASE_RTT_S = 100.0, 0.05
MIN_PACKETS, MAX_PACKETS, MAX_P, WEIGHT = 10.0, 100.0, 0.1, 0.002
SHARE, QUEUE = "share", "bottleneck_queue_packets_mean"
FLOWS, TARGETS, UPPER = (1, 5), (12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 140, 200), (20, 30, 50, 70, 100, 140, 200)
WINDOWS = (1, 3, 10)
_DRAWN = 40
_LINES = ((1, 40), (5, 40), (5, 100))
_RTTS_S = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)
_SIDES = (0.5, 2.0)
_DURATION_S, _LATE_S, _STEP_S = 120.0, 60.0, 0.02

Line = tuple[str, dict[str, Any], dict[float, "Place"]]
"""A curve of a figure: its title, its points in the sweep, and where the model is drawn."""
Row = tuple[dict[str, Any], str, str, Number]


@dataclass(frozen=True)
class Place:
    """What a figure varies."""

    flows: int = 5
    """TCP flows, and as many LEDBAT flows."""
    target_packets: float = 40.0
    thresholds: tuple[float, float] = (MIN_PACKETS, MAX_PACKETS)

    @property
    def limit(self) -> float:
        """The paper's buffer of 100 packets, or one that holds the upper threshold where that is higher."""
        return max(self.thresholds[1], MAX_PACKETS)

    def model(self, windows: int = 1, base_rtt_s: float = BASE_RTT_S, **other: float) -> Model:
        """Return the model, with windows so many times as large; `other` are of Model."""
        low, high = (windows * end for end in self.thresholds)
        red = Red(low, high, MAX_P / windows**2, WEIGHT / windows)
        target_s = self.target_packets / PACKETS_PER_S
        classes = (
            Class("tcp", "newreno", self.flows, base_rtt_s),
            Class("background", "ledbat", self.flows, base_rtt_s, target_s=target_s),
        )
        return Model(windows * PACKETS_PER_S, windows * self.limit, red, classes, **other)

    def rest(self, windows: int = 1, base_rtt_s: float = BASE_RTT_S, **other: float) -> Equilibrium | None:
        """Return where the model comes to rest."""
        return equilibrium(self.model(windows, base_rtt_s, **other))

    def counted(self) -> Equilibrium | None:
        """Return the same for a RED that counts: gaps uniform from 1 to 1/p make about twice the loss of p."""
        one = self.model()
        return equilibrium(replace(one, red=replace(one.red, max_p=2 * MAX_P)))


PLACES = {
    "1+1, target 15": Place(1, 15),
    "1+1, target 20": Place(1, 20),
    "1+1, target 40": Place(1, 40),
    "5+5, target 30": Place(5, 30),
    "5+5, target 40": Place(5, 40),
    "5+5, target 100": Place(5, 100),
    "5+5, target 40, max 30": Place(5, 40, (10, 30)),
    "5+5, target 40, max 140": Place(5, 40, (10, 140)),
}
WORKED = tuple(PLACES)[1:3] + tuple(PLACES)[4:6]


def lower(rule: str, max_packets: float) -> float:
    """Return RED's lower threshold."""
    return MIN_PACKETS if rule == "min 10" else max_packets / 10


@changes("targets", "thresholds")
def settings(target_packets: float = 40, rule: str = "min 10", max_packets: float = MAX_PACKETS) -> dict[str, Any]:
    """Return LEDBAT's target in time, RED's thresholds and the buffer."""
    return _settings(Place(5, target_packets, (lower(rule, max_packets), max_packets)))


@changes("steps", "scale")
def at_place(place: str, windows: int = 1) -> dict[str, Any]:
    """Return a place by its name, with windows so many times as large."""
    one = PLACES[place]
    flows = {"group.tcp.flows": one.flows, "group.background.flows": one.flows}
    return flows | _settings(one, windows)


def _settings(place: Place, windows: int = 1) -> dict[str, Any]:
    low, high = place.thresholds
    return {
        "bottleneck.rate": f"{windows} Mbit/s",
        "bottleneck.queue.limit": f"{windows * place.limit:.0f} packets",
        "bottleneck.queue.min": f"{windows * low:g} packets",
        "bottleneck.queue.max": f"{windows * high:g} packets",
        "bottleneck.queue.max_p": MAX_P / windows**2,
        "bottleneck.queue.weight": WEIGHT / windows,
        "group.background.control.target": f"{place.target_packets / PACKETS_PER_S * 1e3:g} ms",
    }


# What the model gives at the points of the sweeps; nothing where it has no equilibrium.


@measure("targets-model")
def at_targets() -> Iterator[Row]:
    """Yield the model's equilibria over LEDBAT's target."""
    for flows in FLOWS:
        for target in TARGETS:
            yield from _rows({"flows": flows, "target_packets": target}, Place(flows, target).rest())


@measure("thresholds-model")
def at_thresholds() -> Iterator[Row]:
    """Yield the model's equilibria over RED's upper threshold."""
    for rule in ("min 10", "min max/10"):
        for high in UPPER:
            yield from _rows({"rule": rule, "max_packets": high}, Place(thresholds=(lower(rule, high), high)).rest())


@measure("steps-model")
def at_steps() -> Iterator[Row]:
    """Yield the worked equilibria, also with refinements of the model."""
    for name in WORKED:
        place = PLACES[name]
        readings = {
            "model": place.rest(),
            "model, decrease 1.5": place.rest(decrease=1.5),
            "model, LEDBAT's floor 1": place.rest(ledbat_floor_packets=1.0),
            "model, LEDBAT's floor 2": place.rest(ledbat_floor_packets=2.0),
            "model, RED counts": place.counted(),
        }
        for reading, rest in readings.items():
            yield from _rows({"place": name, "reading": reading}, rest)


@measure("scale-model")
def at_scales() -> Iterator[Row]:
    """Yield the model's equilibria with larger windows."""
    for name, place in PLACES.items():
        for windows in WINDOWS:
            yield from _rows({"place": name, "windows": windows}, place.rest(windows=windows))


def _rows(at: dict[str, Any], rest: Equilibrium | None) -> Iterator[Row]:
    if rest is not None:
        yield at, "tcp", SHARE, Number(rest.shares[0], 0.0, 1)
        yield at, "", QUEUE, Number(rest.queue_packets, 0.0, 1)


# Stability.


@functools.cache
def root(flows: int, target: float, base_rtt_s: float) -> float:
    """Return the real part of the rightmost root; not a number where there is no equilibrium."""
    one = Place(flows, target).model(base_rtt_s=base_rtt_s)
    rest = equilibrium(one)
    return math.nan if rest is None else rightmost_root(one, rest).real


@functools.cache
def border(flows: int, target: float) -> float:
    """Return the base round-trip time at which the root crosses zero, between the places where it changes sign."""
    roots = {rtt: root(flows, target, rtt) for rtt in _RTTS_S}
    stable = max(rtt for rtt, value in roots.items() if value < 0)
    unstable = min(rtt for rtt, value in roots.items() if value > 0)
    return float(brentq(lambda rtt: root(flows, target, rtt), stable, unstable, xtol=1e-3))


@measure("roots")
def roots() -> Iterator[Row]:
    """Yield the rightmost root over the base round-trip time."""
    for flows, target in _LINES:
        for rtt in _RTTS_S:
            at = {"flows": flows, "target_packets": target, "base_rtt_s": rtt}
            yield at, "", "root_per_s", Number(root(flows, target, rtt), 0.0, 1)


@measure("borders")
def borders() -> Iterator[Row]:
    """Yield the base round-trip time up to which the equilibrium is stable."""
    for flows, target in _LINES:
        yield {"flows": flows, "target_packets": target}, "", "border_s", Number(border(flows, target), 0.0, 1)


@measure("sides")
def sides() -> Iterator[Row]:
    """Yield the root on both sides of the border, and by how much the queue still moves there after a minute."""
    for side in _SIDES:
        base_rtt_s, path = _path(side)
        rest = Place(*_LINES[0]).rest(base_rtt_s=base_rtt_s)
        if rest is None:
            raise RuntimeError("no equilibrium on one side of the border")
        late = path.queue_packets[path.times_s >= _LATE_S]
        swing = float(late.max() - late.min()) / rest.queue_packets
        yield {"side": side}, "", "root_per_s", Number(root(*_LINES[0], base_rtt_s), 0.0, 1)
        yield {"side": side}, "", "swing_percent", Number(100 * swing, 0.0, 1)


@functools.cache
def _path(side: float) -> tuple[float, Any]:
    base_rtt_s = side * border(*_LINES[0])
    return base_rtt_s, trajectory(Place(*_LINES[0]).model(base_rtt_s=base_rtt_s), _DURATION_S, step_s=_STEP_S)


# Figures.


@figure(
    "targets",
    "targets",
    "Model (lines) and packets (points) meet far from LEDBAT's target. Bars are 95 % intervals. For packets as "
    "modelled RED drops each packet by itself, and LEDBAT knows the delay of the empty queue.",
)
def over_targets(means: Means) -> "Figure":
    """Draw shares and queues over LEDBAT's target."""
    across = list(map(float, np.geomspace(TARGETS[0], TARGETS[-1], _DRAWN)))
    lines = [(f"{flows}+{flows} flows", {"flows": flows}, {x: Place(flows, x) for x in across}) for flows in FLOWS]
    return _beside(means, "targets", "target_packets", lines)


@figure("thresholds", "thresholds", "Higher thresholds give back less priority in packets (points) than in the model")
def over_thresholds(means: Means) -> "Figure":
    """Draw shares and queues over RED's upper threshold."""
    across = list(map(float, np.geomspace(UPPER[0], UPPER[-1], _DRAWN)))
    lines = [
        (rule, {"rule": rule}, {x: Place(thresholds=(lower(rule, x), x)) for x in across})
        for rule in ("min 10", "min max/10")
    ]
    return _beside(means, "thresholds", "max_packets", lines)


def _beside(
    means: Means, sweep: str, x: str, lines: Sequence[tuple[str, dict[str, Any], dict[float, Place]]]
) -> "Figure":
    """Draw the model's lines beside the packets' points: the share and the queue of each line."""
    from sojourn.study.panels import half, panels

    def draw(index: int, axes: "Axes") -> None:
        _, where, drawn = lines[index // 2]
        metric = (SHARE, QUEUE)[index % 2]
        _model_lines(axes, metric, drawn)
        for position, kind in enumerate(("packets", "packets as modelled"), 1):
            _points(axes, means.cells(sweep, metric, "tcp", kind=kind, **where), x, kind, position)
        axes.set_xlabel("target [packets]" if x == "target_packets" else "max [packets]")
        axes.set_ylabel(means.unit(metric).title)
        axes.set_xscale("log")
        axes.set_xticks([10, 20, 50, 100, 200], ["10", "20", "50", "100", "200"])
        axes.minorticks_off()
        if metric == SHARE:
            half(axes)
            axes.set_ylim(40, 102)
        else:
            axes.set_ylim(bottom=0)

    return panels([f"{title}: {what}" for title, *_ in lines for what in ("share", "queue")], draw)


def _model_lines(axes: "Axes", metric: str, drawn: dict[float, Place]) -> None:
    from sojourn.figures.style import family

    for label, style, width, rests in (
        ("model", "-", 1.1, [place.rest() for place in drawn.values()]),
        ("decrease 1.5", ":", 0.8, [place.rest(decrease=1.5) for place in drawn.values()]),
        ("RED counts: twice the loss", "--", 0.8, [place.counted() for place in drawn.values()]),
    ):
        values = [
            math.nan if rest is None else 100 * rest.shares[0] if metric == SHARE else rest.queue_packets
            for rest in rests
        ]
        axes.plot(list(drawn), values, style, color=family(0), linewidth=width, label=label)


def _points(axes: "Axes", cells: "Sequence[Cell]", x: str, label: str, position: int) -> None:
    from sojourn.figures.style import family

    axes.errorbar(
        [cell.at[x] for cell in cells],
        [cell.number.mean for cell in cells],
        yerr=[cell.number.half for cell in cells],
        fmt="_os"[position],
        markersize=3,
        elinewidth=0.6,
        color=family(position),
        label=label,
    )


@figure("stability", "stability", "The model rests where its rightmost root lies below 0, and swings above")
def both_sides(means: Means) -> "Figure":
    """Draw the roots, and the queue on both sides of the border."""
    from sojourn.figures.style import family
    from sojourn.study.panels import GREY, panels

    def draw(index: int, axes: "Axes") -> None:
        if index:
            _, path = _path(_SIDES[index - 1])
            axes.plot(path.times_s, path.queue_packets, color=family(0), label="queue")
            axes.plot(path.times_s, path.average_packets, color=family(1), label="average queue")
            axes.set_xlabel("time [s]")
            axes.set_ylabel("queue [packets]")
            return
        for position, (flows, target) in enumerate(_LINES):
            cells = means.cells("roots", "root_per_s", flows=flows, target_packets=target)
            label = f"{flows}+{flows} flows, target {target}"
            x = [cell.at["base_rtt_s"] for cell in cells]
            axes.plot(x, [cell.number.mean for cell in cells], "o-", markersize=3, color=family(position), label=label)
        axes.axhline(0, color=GREY, linewidth=0.6, zorder=0)
        axes.set_xscale("log")
        axes.set_xlabel("base round-trip time [s]")
        axes.set_ylabel("rightmost root, real part [1/s]")

    return panels(["stable below 0", *(f"base RTT {1e3 * _path(side)[0]:.0f} ms" for side in _SIDES)], draw)
