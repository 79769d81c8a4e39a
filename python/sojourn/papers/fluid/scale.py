"""The same equilibria with larger windows: what is left of the difference where a packet is a smaller part of one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from matplotlib.axes import Axes

from sojourn.figures.style import family
from sojourn.fluid import Equilibrium, Red, equilibrium
from sojourn.papers.fluid.beside import ASSUMPTIONS, QUEUE_PART, SHARE_POINTS, Place
from sojourn.papers.fluid.world import (
    MAX_P,
    PACKET_BYTES,
    PACKETS_PER_S,
    SETTING,
    WEIGHT,
    base,
    control,
    limit,
    model,
    queue,
)
from sojourn.papers.measures import QUEUE_PACKETS, SHARE, Key, check, measure
from sojourn.study.lab import Lab
from sojourn.study.model import Findings, Item, Table
from sojourn.study.numbers import Number
from sojourn.study.panels import panels

# Times the paper's rate, queue and target in packets. Times are the same, and so is the model's share but for a point
# or two: windows grow with the scale, for which drops have to be rarer by its square, and the average forgets as fast.
SCALES = (1, 3, 10)
# The worked equilibria, and the places where packets and model are furthest apart.
PLACES = (
    Place(1, 15.0),
    Place(1, 20.0),
    Place(1, 40.0),
    Place(5, 30.0),
    Place(5, 40.0),
    Place(5, 100.0),
    Place(5, 40.0, (10.0, 30.0)),
    Place(5, 40.0, (10.0, 140.0)),
)


def changes(place: Place, scale: int) -> dict[str, Any]:
    """Return a place of packets as modelled, with windows so many times as large."""
    low, high = place.thresholds
    red = queue(
        (scale * low, scale * high),
        limit=f"{scale * limit(place.thresholds):.0f} packets",
        max_p=MAX_P / scale**2,
        weight=WEIGHT / scale,
    )
    return {
        "bottleneck.rate": f"{scale * PACKETS_PER_S * PACKET_BYTES * 8 / 1e6:g} Mbit/s",
        "bottleneck.queue": red,
        "group.tcp.flows": place.flows,
        "group.background.flows": place.flows,
        "group.background.control": control(place.target_packets),
        **ASSUMPTIONS,
    }


def rest(place: Place, scale: int) -> Equilibrium:
    """Return where the model of a place with larger windows comes to rest."""
    one = model(place.flows, place.target_packets, place.thresholds)
    low, high = place.thresholds
    found = equilibrium(
        replace(
            one,
            packets_per_s=scale * one.packets_per_s,
            limit_packets=scale * one.limit_packets,
            red=Red(scale * low, scale * high, MAX_P / scale**2, WEIGHT / scale),
        )
    )
    if found is None:
        raise RuntimeError(f"the model has no equilibrium at {_words(place)}")
    return found


def scaled(lab: Lab) -> Findings:
    """Return how far packets as modelled are from the model, by the size of the windows."""
    cases: dict[Key, Mapping[str, Any]] = {
        (*place.key, scale): changes(place, scale) for place in PLACES for scale in SCALES
    }
    results = measure(lab, "scale", base(), cases)
    found = Findings()
    rows: list[tuple[Any, ...]] = []
    gaps: dict[int, list[tuple[float, float]]] = {scale: [] for scale in SCALES}
    for place in PLACES:
        for scale in SCALES:
            still = rest(place, scale)
            still_packets = still.queue_packets / scale
            rows.append((_words(place), scale, "model", 100 * still.shares[0], 0.0, still_packets, 0.0))
            share = results.number((*place.key, scale), SHARE)
            packets = results.number((*place.key, scale), QUEUE_PACKETS)
            part = Number(packets.mean / scale, packets.sd / scale, packets.runs)
            rows.append((_words(place), scale, "packets", 100 * share.mean, 100 * share.sd, part.mean, part.sd))
            gaps[scale].append((100 * (share.mean - still.shares[0]), part.mean / still_packets - 1))
    columns = ("place", "windows", "what", "tcp_share_percent", "sd_share", "queue_packets_over_scale", "sd_queue")
    found.tables.append(Table("scale", "Packets as modelled by the size of windows", columns, tuple(rows)))

    def draw(index: int, axes: Axes) -> None:
        for position, scale in enumerate(SCALES):
            values = [gap[index] * (1, 100)[index] for gap in gaps[scale]]
            label = f"windows {scale} times as large"
            axes.plot(range(len(PLACES)), values, "osD"[position], color=family(position), markersize=4, label=label)
        axes.axhline(0, color="#999999", linewidth=0.6, zorder=0)
        axes.set_xticks(range(len(PLACES)), list(map(_words, PLACES)), rotation=40, ha="right")
        axes.set_ylabel(("TCP's share less the model's [points]", "queue over the model's, less 1 [%]")[index])

    found.show("scale", panels(("share", "queue"), draw, height_in=3.6), "Packets as modelled against the model")
    found.checks = _checks(gaps)
    least, most = (max(abs(gap[0]) for gap in gaps[scale]) for scale in (SCALES[0], SCALES[-1]))
    found.verdict = (
        f"With windows {SCALES[-1]} times as large TCP's share in packets as modelled is at most {most:.0f} points "
        f"from the model's, instead of {least:.0f}: the model is one of large windows."
    )
    found.text = (
        "At 1 Mbit/s ten flows have some four packets each in flight, which the model takes for a continuous window; "
        "which of the things that a small window cannot do costs TCP most is open. Rate, thresholds, buffer and target "
        "are multiplied, RED's probability divided by the square of the scale and its weight by the scale, which "
        "leaves the model's equilibrium nearly where it is."
    )
    return found


def _checks(gaps: Mapping[int, list[tuple[float, float]]]) -> list[Any]:
    worst = {scale: [max(abs(gap[at]) for gap in found) for at in (0, 1)] for scale, found in gaps.items()}
    near = [
        (sum(abs(gap[0]) <= SHARE_POINTS for gap in gaps[SCALES[-1]]), "TCP's share", f"{SHARE_POINTS:.0f} points"),
        (sum(abs(gap[1]) <= QUEUE_PART for gap in gaps[SCALES[-1]]), "the mean queue", f"{100 * QUEUE_PART:.0f} %"),
    ]
    return [
        check(
            f"windows {SCALES[-1]} times as large: {what} in packets as modelled is the model's",
            f"within {allowed}",
            f"at {count} of {len(PLACES)} places; furthest by the size of windows "
            + ", ".join(f"{scale}: {worst[scale][at] * (1, 100)[at]:.0f}" for scale in SCALES)
            + (" points", " %")[at],
            agrees=count == len(PLACES),
            why="Where the queue rests at the target itself, LEDBAT gets what the queue's swings leave below it.",
        )
        for at, (count, what, allowed) in enumerate(near)
    ]


def _words(place: Place) -> str:
    own = "" if place.thresholds == Place(1, 1.0).thresholds else f", max {place.thresholds[1]:g}"
    return f"{place.flows}+{place.flows}, target {place.target_packets:g}{own}"


ITEMS = (
    Item(
        "scale",
        "Larger windows",
        f"{SETTING}; packets as modelled; rate, queue and target times {', '.join(map(str, SCALES))}",
        scaled,
    ),
)
