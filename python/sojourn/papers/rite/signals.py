"""Section 3.3.2: what CDG makes of losses that are not congestion, and of marks."""

from typing import Any

from matplotlib.axes import Axes

from sojourn.papers.measures import (
    BACKGROUND,
    LINK_DROP_RATE,
    QUEUE_MS,
    SHARE,
    TCP,
    UTILIZATION,
    Key,
    Results,
    check,
    measure,
    shown,
)
from sojourn.papers.rite.cdg import LINUX, PAPER, RATE_MBPS, SEEDS, VARIANTS, WORDS, base, group
from sojourn.papers.rite.drawing import panels, points
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table
from sojourn.study.numbers import Number

GOODPUT = "goodput_mbps"
LOSSES = (0.0, 0.0003, 0.001, 0.003, 0.01, 0.03)
MUCH_LOSS = 0.01
NO_TOLERANCE = "CDG without tolerance"
UNDER_LOSS: dict[str, dict[str, Any]] = {
    PAPER: VARIANTS[PAPER],
    NO_TOLERANCE: VARIANTS[PAPER] | {"tolerance": False},
    LINUX: VARIANTS[LINUX],
    "NewReno": {"kind": "newreno"},
    "CUBIC": {"kind": "cubic"},
    "Westwood+": {"kind": "westwood"},
}
AQMS = {"CoDel": "codel", "PIE": "pie"}


def losses(lab: Lab) -> Findings:
    """Return how CDG stands losses by chance."""
    cases: dict[Key, dict[str, Any]] = {
        (name, loss): {f"group.{BACKGROUND}.control": control, "bottleneck.loss": loss}
        for name, control in UNDER_LOSS.items()
        for loss in LOSSES
    }
    results = measure(lab, "cdg-loss", base([group(BACKGROUND, 1)]), cases, seeds=SEEDS)

    def goodput(name: str, loss: float) -> Number:
        return results.number((name, loss), GOODPUT, BACKGROUND)

    found = Findings()

    def draw(_index: int, axes: Axes) -> None:
        for position, name in enumerate(UNDER_LOSS):
            numbers = [goodput(name, loss) for loss in LOSSES[1:]]
            axes.errorbar(
                [100 * loss for loss in LOSSES[1:]],
                [number.mean for number in numbers],
                yerr=[number.sd for number in numbers],
                label=name,
                **points(position),
            )
        axes.set_xscale("log")
        axes.set_xticks([100 * loss for loss in LOSSES[1:]], [f"{100 * loss:g}" for loss in LOSSES[1:]])
        axes.minorticks_off()
        axes.set_xlabel("packets lost by chance [%]")
        axes.set_ylabel("goodput [Mbit/s]")
        axes.set_ylim(0, RATE_MBPS)

    found.show(
        "losses", panels(["one flow"], draw, height_in=3.3), "Goodput of one flow where packets are lost by chance"
    )
    rows = tuple((*key, goodput(*key).mean, goodput(*key).sd) for key in ((n, p) for n in UNDER_LOSS for p in LOSSES))
    found.tables.append(Table("losses", "Goodput", ("control", "loss", "goodput_mbps", "sd"), rows))
    own = goodput(PAPER, MUCH_LOSS)
    for name in (NO_TOLERANCE, "NewReno"):
        other = goodput(name, MUCH_LOSS)
        found.checks.append(
            check(
                f"at {100 * MUCH_LOSS:g} % of loss CDG gets more than {name}",
                "tolerates losses that are not congestion",
                f"{own.text(2)} to {other.text(2)} Mbit/s",
                agrees=own.surely_above(other),
            )
        )
    found.verdict = (
        f"At {100 * MUCH_LOSS:g} % of loss by chance a CDG flow gets {own.text(1)} Mbit/s of {RATE_MBPS:g}, NewReno "
        f"{goodput('NewReno', MUCH_LOSS).text(1)}."
    )
    return found


def marks(lab: Lab) -> Findings:
    """Return what marks change for CDG under AQMs."""
    names = (PAPER, NO_TOLERANCE, "NewReno")
    cases: dict[Key, dict[str, Any]] = {
        (name, aqm, ecn): {
            f"group.{BACKGROUND}.control": UNDER_LOSS[name],
            f"group.{BACKGROUND}.transport": {"ecn": ecn},
            "bottleneck.queue": {"kind": AQMS[aqm], "ecn": ecn},
        }
        for name in names
        for aqm in AQMS
        for ecn in (False, True)
    }
    mixed: dict[Key, dict[str, Any]] = {
        (aqm, ecn): {
            f"group.{BACKGROUND}.control": UNDER_LOSS[PAPER],
            f"group.{BACKGROUND}.transport": {"ecn": ecn},
            f"group.{TCP}.transport": {"ecn": ecn},
            "bottleneck.queue": {"kind": AQMS[aqm], "ecn": ecn},
        }
        for aqm in AQMS
        for ecn in (False, True)
    }
    alone = measure(lab, "cdg-marks", base([group(BACKGROUND, 4)]), cases, seeds=SEEDS)
    shared = measure(lab, "cdg-marks-share", base([group(TCP, 2, "newreno"), group(BACKGROUND, 2)]), mixed, seeds=SEEDS)
    found = Findings()
    rows = []
    for key in cases:
        numbers = [alone.number(key, metric, BACKGROUND) for metric in (QUEUE_MS, UTILIZATION, LINK_DROP_RATE)]
        rows.append((*key, *(part for number in numbers for part in (number.mean, number.sd))))
    columns = ("control", "aqm", "ecn", "queue_ms", "sd_queue", "utilization", "sd_utilization", "drop_rate", "sd_drop")
    found.tables.append(Table("marks", "Four flows alone under an AQM", columns, tuple(rows)))

    def draw(index: int, axes: Axes) -> None:
        metric = (QUEUE_MS, LINK_DROP_RATE)[index]
        places = [(aqm, ecn) for aqm in AQMS for ecn in (False, True)]
        for position, name in enumerate(names):
            numbers = [alone.number((name, *place), metric, BACKGROUND) for place in places]
            scale = (1, 100)[index]
            axes.errorbar(
                [place + 0.15 * (position - 1) for place in range(len(places))],
                [scale * number.mean for number in numbers],
                yerr=[scale * number.sd for number in numbers],
                label=name,
                **(points(position) | {"linestyle": "none"}),
            )
        axes.set_xticks(range(len(places)), [f"{aqm}\n{'marks' if ecn else 'drops'}" for aqm, ecn in places])
        axes.set_ylabel(("mean queueing delay [ms]", "packets dropped [%]")[index])
        axes.set_ylim(bottom=0)

    found.show("marks", panels(["delay", "drops"], draw), "Four flows alone under AQMs that drop or mark")
    found.checks += _mark_checks(alone, shared)
    drop, mark = (alone.number((PAPER, "CoDel", ecn), LINK_DROP_RATE, BACKGROUND) for ecn in (False, True))
    found.verdict = (
        f"CoDel drops {drop.text(2, 100)} % of CDG's packets, and {mark.text(2, 100)} % where it may mark them instead."
    )
    found.text = (
        "CDG's tolerance cannot tell the drop of an AQM from one by chance: both come at a queue that is not full. "
        "Marks are congestion for certain, and are always answered."
    )
    return found


def _mark_checks(alone: Results, shared: Results) -> list[Check]:
    checks = []
    for aqm in AQMS:
        drops = {
            name: alone.number((name, aqm, False), LINK_DROP_RATE, BACKGROUND)
            for name in (PAPER, NO_TOLERANCE, "NewReno")
        }
        marked = {name: alone.number((name, aqm, True), QUEUE_MS, BACKGROUND) for name in (PAPER, "NewReno")}
        unmarked = alone.number((PAPER, aqm, False), QUEUE_MS, BACKGROUND)
        shares = [shared.number((aqm, ecn), SHARE, BACKGROUND) for ecn in (False, True)]
        checks += [
            shown(
                f"{aqm}, drops: CDG's part of packets dropped, without tolerance, and NewReno's",
                "-",
                ", ".join(number.text(2, 100) for number in drops.values()) + " %",
            ),
            shown(
                f"{aqm}: CDG's queue with drops and with marks",
                "how to use ECN is left to later work",
                f"{unmarked.text(1)} and {marked[PAPER].text(1)} ms; NewReno with marks {marked['NewReno'].text(1)} ms",
            ),
            shown(
                f"{aqm}: share of two CDG flows beside two NewReno flows, drops and marks",
                "-",
                f"{shares[0].text(0, 100)} and {shares[1].text(0, 100)} %",
            ),
        ]
    return checks


ITEMS = (
    Item("cdg-loss", "CDG and losses by chance", f"one flow, {WORDS}", losses),
    Item("cdg-ecn", "CDG and marks", f"4 flows, or 2 beside 2 of NewReno, {WORDS}, under CoDel and PIE", marks),
)
