"""Claims and figures of RITE's report that no table says."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sojourn.study import Means, Number, Outcome, claim, figure

from .measured import CDF_PARTS
from .settings import SENDERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_REPORT = ("NewReno", "CUBIC", "Westwood+")
_BY_CHANCE = 1 / 20


def _by_chance(pairs: int) -> int:
    """Return how many of some pairs differ by chance alone in 19 of 20 cases, or fewer: a binomial quantile.

    >>> _by_chance(18), _by_chance(1)
    (3, 0)
    """
    below = 0.0
    for count in range(pairs + 1):
        below += math.comb(pairs, count) * _BY_CHANCE**count * (1 - _BY_CHANCE) ** (pairs - count)
        if below >= 1 - _BY_CHANCE:
            return count
    return pairs


@claim(
    "fig3.2",
    "{source}, {cell}: the web flow's own control {matters}",
    paper="matters on 3G, does not on 3.5G",
    tolerance="95 % intervals of the difference exclude zero for more pairs than chance has in 19 of 20 cases",
    why="As in the report, the difference of means is held against the whole spread of the repetitions. Most of that "
    "is the link's: the number in brackets has it removed.",
)
def own_control(means: Means) -> Iterator[Outcome]:
    """Count pairs of the web flow's controls whose page times differ, beside the same downloads."""
    cells = means.cells(
        "cellular", "page_ms_mean", "web", downloads=[1, 5], web=list(_REPORT), background=list(_REPORT)
    )
    by: dict[tuple[str, str], dict[tuple[str, int], list[Number]]] = {}
    for cell in cells:
        place = by.setdefault((cell.at["source"], cell.at["cell"]), {})
        place.setdefault((cell.at["background"], cell.at["downloads"]), []).append(cell.number)
    for (source, link), places in by.items():
        if "4G" in link:
            continue
        pairs = [pair for numbers in places.values() for pair in itertools.combinations(numbers, 2)]
        differ = sum(one.surely_above(other) or other.surely_above(one) for one, other in pairs)
        by_run = (Number.by_run([a - b for a, b in zip(x.values, y.values, strict=True)]) for x, y in pairs)
        same_seed = sum(low > 0 or high < 0 for low, high in (number.interval() for number in by_run))
        slow = "3G" in link
        margin = (differ - _by_chance(len(pairs)) - 0.5) * (1 if slow else -1)
        yield Outcome(
            margin >= 0,
            f"{differ} of {len(pairs)} pairs ({same_seed} where runs with the same seed are compared)",
            margin=margin,
            at={"source": source, "cell": link, "matters": "matters" if slow else "does not matter"},
        )


# A constant counts at a place if halving or doubling it moves the tail of the delay by a fifth or the goodput by a
# fiftieth, beyond chance; it is a parameter if it does so at a third of all places. Said before the first run.
_COUNTS = {"bottleneck_queue_ms_p90": 0.2, "goodput_mbps": 0.02}
_PARAMETER = 1 / 3
_INTERVAL = (
    "The interval is how long CoDel waits before its first drop, and the time between the first two. RFC 8289 takes "
    "about the longest usual round-trip time, which makes it a parameter of the network. Where many flows need many "
    "drops, it decides how soon there are enough."
)


@claim(
    "sensitivity",
    "{discipline} has no parameter beside its target",
    paper="claimed by the authors of the disciplines",
    own=True,
    why=_INTERVAL,
    tolerance="no constant counts at a third of the places or more",
)
def parameterless(means: Means) -> Iterator[Outcome]:
    """Count the places at which a constant other than the target matters."""
    counted: dict[tuple[str, str], dict[tuple[int, str], bool]] = {}
    for metric, least in _COUNTS.items():
        for cell in means.cells("aqm-constants", metric):
            discipline, constant, _, *place = cell.at.values()
            where = {"discipline": discipline, "rtt_ms": place[0], "congestion": place[1]}
            usual = means.number("aqms", metric, **where)
            surely = cell.number.surely_above(usual) or usual.surely_above(cell.number)
            places = counted.setdefault((discipline, constant), {})
            counts = surely and abs(cell.number.mean / usual.mean - 1) > least
            places[tuple(place)] = places.get(tuple(place), False) or counts
    for name in dict.fromkeys(of for of, _ in counted):
        inside = {c: places for (of, c), places in counted.items() if of == name and c != "target"}
        margin = min(_PARAMETER * len(places) - sum(places.values()) for places in inside.values())
        said = "; ".join(
            f"{c} counts at {sum(places.values())} of {len(places)} places" for c, places in inside.items()
        )
        yield Outcome(margin > 0, said, margin=margin, at={"discipline": name})


_HALF = 50


@claim("aggressive", "what a mark must leave for half of the link, beside {first}", paper="an open question", own=True)
def needed(means: Means) -> Iterator[Outcome]:
    """Return the part of the window, between those simulated, at which the share first reaches half."""
    for first in SENDERS[:2]:
        lines: dict[str, list[tuple[float, float]]] = {}
        for cell in means.cells("early-factors", "share", "second", first=first):
            lines.setdefault(cell.at["setting"], []).append((cell.at["kept_part"], cell.number.mean))
        said = "; ".join(f"{setting}: {crossing(line)}" for setting, line in lines.items())
        yield Outcome(None, said, at={"first": first})


def crossing(line: Sequence[tuple[float, float]]) -> str:
    """Return where a line first reaches half.

    >>> crossing([(0.8, 20.0), (0.9, 60.0)]), crossing([(0.8, 20.0), (0.9, 30.0)]), crossing([(0.8, 70.0)])
    ('0.88', 'more than 0.90', 'at most 0.80')
    """
    if line[0][1] >= _HALF:
        return f"at most {line[0][0]:.2f}"
    for (low, below), (high, above) in itertools.pairwise(line):
        if above >= _HALF:
            return f"{low + (high - low) * (_HALF - below) / (above - below):.2f}"
    return f"more than {line[-1][0]:.2f}"


# Figures in the report's own form.


@figure(
    "web",
    "as-fig3.6",
    "As the report draws Fig. 3.6: beside LEDBAT nearly all pages take longer, not the long ones alone. Part of the "
    "pages that took no longer, DropTail; the dotted lines are the mean times.",
)
def distribution_of_page_times(means: Means) -> "Figure":
    """Draw the distribution of page times with and without a LEDBAT flow."""
    from sojourn.figures.style import family
    from sojourn.study.panels import panels

    def draw(_: int, axes: "Axes") -> None:
        for turn, (beside, name) in enumerate((("nobody else", "without LEDBAT"), ("LEDBAT", "with LEDBAT"))):
            at = {"queue": "DropTail", "beside": beside}
            times = [means.number("page-times", "page_ms", part_percent=part, **at).mean for part in CDF_PARTS]
            axes.plot(times, CDF_PARTS, color=family(turn), label=name)
            mean = means.number("web", "page_ms_mean", "tcp", **at).mean
            axes.axvline(mean, color=family(turn), linestyle=":")
        axes.set_xlim(left=0)
        axes.set_ylim(0, 100)
        axes.set_xlabel("page time [s]")
        axes.set_ylabel("pages that took no longer [%]")

    return panels([""], draw, height_in=3.2)


_WHO = {
    "a host": ("BBRv3", "LEDBAT++", "CDG", "6 connections"),
    "a box at home": ("home shaper, FQ-CoDel",),
    "the bottleneck": ("42 packets", "ARED", "CoDel", "PIE", "SFQ", "FQ-CoDel"),
    "both ends and\nthe bottleneck": ("CoDel, ECN", "DualPI2, Prague"),
}
"""Who has to change something, the easier first: Braud et al., section I (L3, L2, L1), then RFC 3168 and 9330."""


@figure(
    "fig5.1",
    "as-fig5.1",
    "As the report draws Fig. 5.1: a queue for each flow at the bottleneck gains most for a call; for pages a host's "
    "own control gains as much. How many times shorter latency is than with a plain buffer, by who has to change "
    "something, the easier on the left; bars are 95 % intervals.",
)
def gain_against_deployment(means: Means) -> "Figure":
    """Draw what each remedy gains over who has to deploy it."""
    from sojourn.figures.style import family
    from sojourn.figures.tidy import name_points
    from sojourn.study.panels import GREY, panels

    whose, ticks = ("call", "page"), ((1, 10, 100), (1, 2, 5, 10))

    def draw(index: int, axes: "Axes") -> None:
        for turn, names in enumerate(_WHO.values()):
            found = [means.number("gained", "gained", remedy=name, what=whose[index]) for name in names]
            axes.errorbar(
                [turn] * len(found),
                [one.mean for one in found],
                yerr=[one.half for one in found],
                fmt="o",
                markersize=4,
                elinewidth=0.6,
                color=family(turn),
            )
            name_points(axes, ((turn, one.mean, name) for name, one in zip(names, found, strict=True)))
        axes.set_xticks(range(len(_WHO)), list(_WHO))
        axes.set_xlim(-0.3, len(_WHO) - 0.3)
        axes.axhline(1, color=GREY, linewidth=0.6, zorder=0)
        axes.set_yscale("log")
        axes.set_yticks(ticks[index], [f"{one}" for one in ticks[index]])
        axes.minorticks_off()
        axes.set_xlabel("who has to change something")
        axes.set_ylabel("times less latency")

    titles = ("a call's delay in the queue, 99th percentile", "time of a web page")
    return panels(titles, draw, height_in=5.6, columns=1)
