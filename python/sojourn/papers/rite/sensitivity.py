"""Section 4.1: whether the low-latency AQMs are without parameters, or their constants are parameters in disguise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from sojourn.figures.style import PAGE_WIDTH_IN, Drawing, styled
from sojourn.papers.measures import TCP, Key, Results, check, measure
from sojourn.papers.rite.access import (
    CONSTANTS,
    LEVELS,
    PAIRS,
    QUEUES,
    RTTS_MS,
    SETTING,
    TARGET_MS,
    Constant,
    base,
    place,
)
from sojourn.papers.rite.aqms import QUANTILES, conditions, defaults
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table
from sojourn.study.numbers import Number

RUNS = 4
# The criterion, from before the first run. A constant counts at a place if halving or doubling it moves the tail of
# the delay by a fifth or the goodput by a fiftieth, beyond chance; it is a parameter if it does so at a third of all
# places.
TAIL_PART, GOODPUT_PART = 0.2, 0.02
_LEAST_PLACES = 1 / 3
_TAIL = QUANTILES[-1]
_TARGET = "target"


@dataclass(frozen=True)
class Change:
    """What a change of a constant does at a place, as parts of what is there without it."""

    tail: float
    goodput: float
    counts: bool


@dataclass(frozen=True)
class Sensitivity:
    """What halving and doubling a constant does at each place."""

    discipline: str
    constant: Constant
    changes: Mapping[tuple[float, str], Sequence[Change]]

    @property
    def places(self) -> int:
        """Return at how many places it counts."""
        return sum(any(change.counts for change in found) for found in self.changes.values())

    @property
    def is_parameter(self) -> bool:
        """Return whether that is often enough to call it a parameter."""
        return self.places >= _LEAST_PLACES * len(self.changes)

    @property
    def name(self) -> str:
        """Return what it is called."""
        return f"{self.discipline}: {self.constant.name}"

    def most(self, what: str, at: tuple[float, str]) -> float:
        """Return the larger change of `what` at a place."""
        values: list[float] = [getattr(change, what) for change in self.changes[at]]
        return max(values, key=abs)


def _cases() -> dict[Key, Mapping[str, Any]]:
    return {
        (name, constant.name, how, rtt, level): {
            "bottleneck.queue": {**QUEUES[name](TARGET_MS), **changes},
            **place(rtt, level),
        }
        for name, constants in CONSTANTS.items()
        for constant in constants
        for how, changes in constant.changes.items()
        for rtt, level in conditions()
    }


def change(now: tuple[Number, Number], then: tuple[Number, Number]) -> Change:
    """Compare tail and goodput with and without a change."""
    tail, goodput = (one.mean / other.mean - 1 for one, other in zip(now, then, strict=True))
    beyond = [one.surely_above(other) or other.surely_above(one) for one, other in zip(now, then, strict=True)]
    return Change(tail, goodput, (beyond[0] and abs(tail) > TAIL_PART) or (beyond[1] and abs(goodput) > GOODPUT_PART))


def _two(results: Results, key: Key) -> tuple[Number, Number]:
    return results.number(key, _TAIL), results.number(key, "goodput_mbps", TCP)


def sensitivity(lab: Lab) -> Findings:
    """Halve and double each constant of each discipline."""
    results, usual = measure(lab, "aqm-constants", base(), _cases(), seeds=RUNS), defaults(lab)
    found = Findings()
    all_of_them = [
        Sensitivity(
            name,
            constant,
            {
                at: [
                    change(_two(results, (name, constant.name, how, *at)), _two(usual, (name, *at)))
                    for how in constant.changes
                ]
                for at in conditions()
            },
        )
        for name, constants in CONSTANTS.items()
        for constant in constants
    ]
    found.tables.append(_table(all_of_them))
    found.show(
        "sensitivity",
        _figure(all_of_them),
        "What halving or doubling a constant does to the 90th percentile of delay and to goodput: the larger change",
    )
    found.checks = [_insensitive(name, [one for one in all_of_them if one.discipline == name]) for name in CONSTANTS]
    hidden = [one.name for one in all_of_them if one.is_parameter and one.constant.name != _TARGET]
    found.verdict = f"Parameters in disguise, beside the target: {', '.join(hidden) or 'none'}."
    found.text = (
        f"A constant counts at a place if halving or doubling it moves the 90th percentile of delay by more than "
        f"{100 * TAIL_PART:.0f} % or the goodput by more than {100 * GOODPUT_PART:.0f} %, beyond chance; it "
        f"is called a parameter if it counts at a third or more of the {len(conditions())} places. The target is an "
        "open parameter of all of them, and shown for comparison."
    )
    return found


def _table(found: Sequence[Sensitivity]) -> Table:
    columns = (
        *("discipline", "constant", "default", "places_of_9", "called"),
        *("most_tail_percent", "tail_at", "most_goodput_percent", "goodput_at"),
    )
    rows = []
    for one in found:
        worst = {what: max(one.changes, key=lambda at: abs(one.most(what, at))) for what in ("tail", "goodput")}
        called = "parameter" if one.is_parameter else "insensitive"
        rows.append(
            (
                *(one.discipline, one.constant.name, one.constant.default, one.places, called),
                *(part for what, at in worst.items() for part in (100 * one.most(what, at), f"{at[0]:g} ms, {at[1]}")),
            )
        )
    return Table("sensitivity", "Sensitivity to each constant, halved and doubled", columns, tuple(rows))


def _insensitive(name: str, found: Sequence[Sensitivity]) -> Check:
    inside = [one for one in found if one.constant.name != _TARGET]
    return check(
        f"{name} has no parameter beside its target",
        "claimed by its authors, asked by the report",
        "; ".join(f"{one.constant.name} counts at {one.places} of {len(one.changes)} places" for one in inside),
        agrees=not any(one.is_parameter for one in inside),
        why=_WHY.get(name, ""),
    )


_INTERVAL = (
    "The interval is how long CoDel waits before its first drop, and the time between the first two: by RFC 8289 about "
    "the longest usual round-trip time, which makes it a parameter of the network. Where many flows need many drops, "
    "it decides how soon there are enough."
)
_WHY = {
    "CoDel": _INTERVAL,
    "CAKE": _INTERVAL,
    "FQ-CoDel": f"{_INTERVAL} The quantum decides how often flows take turns.",
}


def _figure(found: Sequence[Sensitivity]) -> Figure:
    import numpy as np

    places = conditions()
    with styled():
        figure = Drawing(figsize=(PAGE_WIDTH_IN, 1.1 + 0.19 * len(found)), layout="constrained")
        panels = figure.subplots(1, 2, sharey=True)
        for axes, what, title, limit in zip(
            panels,
            ("tail", "goodput"),
            ("90th percentile of delay [%]", "goodput [%]"),
            (100, 10),
            strict=True,
        ):
            values = np.array([[100 * one.most(what, at) for at in places] for one in found])
            axes.imshow(values, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
            for row, column in np.ndindex(values.shape):
                value = float(values[row, column])
                ink = "white" if abs(value) > 0.7 * limit else "black"
                axes.text(column, row, f"{round(value):+d}", ha="center", va="center", fontsize=6, color=ink)
            axes.set_title(f"change of {title}")
            axes.set_xticks(range(len(places)), [_tick(*at) for at in places])
            axes.set_xlabel("flows, and base round-trip time")
            for border in range(1, len(RTTS_MS)):
                axes.axvline(border * len(LEVELS) - 0.5, color="black", linewidth=0.8)
            axes.tick_params(length=0)
        panels[0].set_yticks(range(len(found)), [one.name for one in found])
    return figure


def _tick(rtt_ms: float, level: str) -> str:
    """Return the number of flows, and in the middle of three the round-trip time."""
    return f"{PAIRS * LEVELS[level]}" + (f"\n{rtt_ms:g} ms" if level == "moderate" else "")


ITEMS = (
    Item(
        "sensitivity",
        "Section 4.1: parameterless, or parameters in disguise?",
        f"{SETTING}; each constant halved and doubled; {RUNS} runs",
        sensitivity,
    ),
)
