"""Figure 6: capacity and buffer."""

import itertools
import statistics

from matplotlib.axes import Axes

from sojourn.papers.gong.drawing import curves, half, panels
from sojourn.papers.gong.grid import BUFFERS, CAPACITY, RATES_MBPS, READINGS, SETTING, grid
from sojourn.papers.gong.world import AQMS, QUEUES
from sojourn.papers.measures import QUEUE_PACKETS, SHARE, TCP, Number, Results, check, span
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table

# What the paper draws.
_DRAWN = ("RED", "SFQ", "CoDel")
# "Does not depend": largest and smallest mean within a factor of two, and shares within ten points.
_FACTOR = 2.0
_POINTS = 0.10

Means = dict[str, dict[float, Number]]


def fig6(lab: Lab) -> Findings:
    """Queue and share over capacity, means over buffers."""
    found = Findings()
    rows = []
    for reading in READINGS:
        results = grid(lab, reading)
        queues, shares = (_over_buffers(results, metric) for metric in (QUEUE_PACKETS, SHARE))
        spreads = {name: _largest_sd(results, name) for name in QUEUES}
        for name in QUEUES:
            rows += [
                (
                    reading,
                    name,
                    mbps,
                    queues[name][mbps].mean,
                    queues[name][mbps].sd,
                    100 * shares[name][mbps].mean,
                    100 * shares[name][mbps].sd,
                )
                for mbps in RATES_MBPS
            ]
        names = {name: f"{name} (sd {spreads[name][0]:.1f} packets, {100 * spreads[name][1]:.0f} %)" for name in _DRAWN}

        def draw(
            index: int, axes: Axes, means: tuple[Means, Means] = (queues, shares), names: dict[str, str] = names
        ) -> None:
            curves(axes, {name: means[index][name] for name in _DRAWN}, scale=(1, 100)[index], names=names)
            axes.set_xlabel("capacity [Mbit/s]")
            axes.set_ylabel(("mean queue [packets]", "TCP's share [%]")[index])
            axes.set_ylim(bottom=0)
            if index:
                half(axes)
                axes.set_ylim(0, 100)

        figure = panels((f"queue, RTT {reading}", f"share, RTT {reading}"), draw)
        caption = f"Means over buffers, RTT {reading}; error bars and, in the legend, the largest sd across buffers"
        found.show(f"fig6-{reading.replace(' ', '-')}", figure, caption)
        found.checks += _checks(reading, queues, shares, spreads)
    columns = ("reading", "discipline", "mbps", "queue_packets", "sd_across_buffers", "tcp_share_percent", "sd_share")
    found.tables.append(Table("capacity", "Means over buffers", columns, tuple(rows)))
    found.verdict = "From 0.25 to 10 Mbit/s and 100 to 400 packets " + (
        "no AQM keeps TCP's priority."
        if _no_priority(found.checks)
        else "TCP's share under AQMs changes more than the paper has it."
    )
    return found


def _no_priority(checks: list[Check]) -> bool:
    return all(one.agrees for one in checks if "keeps its priority" in one.claim)


def _from_1_mbps(shares: Means) -> str:
    kept = {name: [number.mean for mbps, number in shares[name].items() if mbps >= 1] for name in AQMS}
    return ", ".join(f"{name} {100 * (max(found) - min(found)):.0f}" for name, found in kept.items())


def _over_buffers(results: Results, metric: str) -> Means:
    """Return, for each capacity, the mean over buffers of a metric, with the deviation across buffers."""
    return {
        name: {
            mbps: Number.of([results.number((CAPACITY, name, mbps, packets), metric, TCP).mean for packets in BUFFERS])
            for mbps in RATES_MBPS
        }
        for name in QUEUES
    }


def _largest_sd(results: Results, name: str) -> tuple[float, float]:
    largest = [
        max(
            statistics.stdev(results.number((CAPACITY, name, mbps, packets), metric).mean for packets in BUFFERS)
            for mbps in RATES_MBPS
        )
        for metric in (QUEUE_PACKETS, SHARE)
    ]
    return largest[0], largest[1]


def _checks(reading: str, queues: Means, shares: Means, spreads: dict[str, tuple[float, float]]) -> list[Check]:
    means = {name: [number.mean for number in queues[name].values()] for name in QUEUES}
    flat = {name: max(means[name]) / min(means[name]) for name in AQMS if name != "CoDel"}
    codel = means["CoDel"]
    widths = {
        name: max(n.mean for n in shares[name].values()) - min(n.mean for n in shares[name].values()) for name in AQMS
    }
    under_aqm = [number.mean for name in AQMS for number in shares[name].values()]
    tail = [number.mean for number in shares["DropTail"].values()]
    steep = ", ".join(name for name, factor in flat.items() if factor > _FACTOR)
    return [
        check(
            f"{reading}: under AQMs but CoDel the queue in packets does not depend on capacity",
            "no impact",
            ", ".join(f"{name} {factor:.1f}" for name, factor in flat.items()) + " (largest over smallest)",
            agrees=max(flat.values()) <= _FACTOR,
            why=f"It does under {steep}."
            + (" Its thresholds are guesses: see the item on CHOKe." if steep == "CHOKe" else ""),
        ),
        check(
            f"{reading}: under CoDel the queue in packets grows with capacity",
            "grows",
            f"{codel[0]:.1f} packets at {RATES_MBPS[0]} Mbit/s, {codel[-1]:.1f} at {RATES_MBPS[-1]:g}",
            agrees=codel[-1] > codel[0] and all(b > 0.9 * a for a, b in itertools.pairwise(codel)),
        ),
        check(
            f"{reading}: the buffer's size has little impact on TCP's share under AQM",
            "very low deviation",
            ", ".join(f"{name} {100 * spreads[name][1]:.1f}" for name in AQMS) + " points (largest sd across buffers)",
            agrees=max(spreads[name][1] for name in AQMS) <= _POINTS / 2,
        ),
        check(
            f"{reading}: TCP's share does not depend on capacity under AQM",
            "unaffected",
            ", ".join(f"{name} {100 * width:.0f}" for name, width in widths.items()) + " points (most minus least)",
            agrees=max(widths.values()) <= _POINTS,
            why="Open. At 0.25 and 0.5 Mbit/s a packet takes 48 and 24 ms; ten flows have few packets each. From "
            f"1 Mbit/s on it is {_from_1_mbps(shares)}. No share comes near DropTail's.",
        ),
        check(
            f"{reading}: TCP keeps its priority only under DropTail, at every capacity (means over buffers)",
            "only DropTail",
            f"DropTail {span(tail, 0, 100)} %, AQMs {span(under_aqm, 0, 100)} %",
            agrees=min(tail) > max(under_aqm),
        ),
    ]


ITEMS = (Item("fig6", "Fig. 6: capacity and buffer", SETTING, fig6),)
