"""The page of a probe: which queue it was, how sure that is, and what was seen."""

from typing import TYPE_CHECKING

import numpy as np

from sojourn.detect.answer import Answer
from sojourn.detect.log import EMPTY
from sojourn.detect.plan import GREEDY, THIN
from sojourn.detect.probe import Probed
from sojourn.detect.twin import Twin, waits_ms
from sojourn.pages import Cell, File, Fold, Page, Picture, Table, Tile, picture
from sojourn.registry import catalogue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from sojourn.comparison import Comparison
    from sojourn.detect.remedies import Remedy

_MAX_NAMES = 8
_SHARES = np.linspace(0, 1, 201)


def headline(verdict: str) -> str:
    """Return a verdict as a title: with a capital, unless it begins with the name of a discipline."""
    first = verdict.split(maxsplit=1)[0].strip(",:")
    names = {queue["name"] for queue in catalogue()["queues"]}
    return verdict if first in names else verdict[0].upper() + verdict[1:]


def page(found: Answer, seen: Probed, scenario: str = "", command: str = "", remedy: "Remedy | None" = None) -> Page:
    """Return the page of an answer; `scenario` is the path's file, `command` makes the page again.

    With a `remedy` the page begins with what to do.
    """
    judged = found.judgement
    folds = []
    if judged is not None:
        listed = [[Cell(words), Cell(" or ".join(names))] for words, names in judged.sets.items()]
        words = "A set holds the true name with this probability."
        folds.append(
            Fold("Which names cannot be told apart?", [words], tables=[Table(("probability", "names"), listed)])
        )
    if found.parameters:
        rows = [
            [Cell(name), *map(Cell.of, (read.value, read.low, read.high))] for name, read in found.parameters.items()
        ]
        folds.append(
            Fold("Its parameters", tables=[Table(("parameter", "estimate", "from", "to"), rows, "Parameters")])
        )
    if found.twin is not None:
        folds.append(_twin_fold(found.twin))
    if remedy is not None and remedy.table is not None:
        folds.insert(0, alternatives_fold(remedy.table))
    return Page(
        title=headline(found.verdict),
        kicker=f"Which queue is at the bottleneck? {found.sent_bytes / 1e6:.3g} MB were sent in {found.active_s:.0f} s",
        lead=[
            *([" ".join(remedy.sentences)] if remedy is not None else []),
            *([" ".join(found.evidence)] * bool(found.evidence)),
        ],
        tiles=_tiles(found),
        pictures=[*_pictures(seen), *_twin_pictures(found, seen)],
        heading="How likely is each name?" if judged is not None else "",
        table=None if judged is None else names_table(judged.names),
        notes=["Only what both ends of the probe log is used; nothing of the bottleneck itself."],
        folds=folds,
        command=command,
        files=[File("The path", scenario)] if scenario else [],
    )


def _twin_fold(one: Twin) -> Fold:
    """Return how far each part of a twin is from what was seen."""
    words = [
        (
            f"A link of {one.name} with the rate, the round-trip time and the parameters that were found was simulated "
            f"under the same probe. The mean distance is {one.distance:.2f}, and up to {one.limit:.2f} it fits."
        ),
        "A distance of 1 is what nine of ten twins of the right name do not exceed; none counts for more than 3.",
    ]
    rows = [[Cell(words), Cell.of(far)] for words, far in one.apart.items()]
    title = f"Does {one.name} fit, simulated under the same probe? {'Yes' if one.fits else 'No'}"
    return Fold(title, words, tables=[Table(("what is compared", "distance"), rows, "Distances")])


def alternatives_fold(compared: "Comparison") -> Fold:
    """Return the table of a call beside an upload on this line, with other queues."""
    from sojourn.compared import tabulated

    grid = tabulated(compared).grid
    rows = [[Cell(text) for text in row] for row in grid.rows]
    words = (
        "A call beside an upload on a line of this rate, round-trip time and queue, simulated, and with other queues."
    )
    return Fold("What would another queue change?", [words], tables=[Table(tuple(grid.headers), rows, "Queues")])


def names_table(names: "Mapping[str, float]") -> Table:
    """Return the most likely names with their probabilities."""
    likely = sorted(names.items(), key=lambda one: -one[1])[:_MAX_NAMES]
    return Table(
        ("queue", "probability [%]"), [[Cell(name), Cell(f"{100 * part:.1f}", part)] for name, part in likely], "Names"
    )


def _tiles(found: Answer) -> list[Tile]:
    facts = (
        (found.carried_mbps, "Mbit/s", "most that got through"),
        (found.delay_ms, "ms", "delay of a thin flow beside a greedy one, 95th percentile"),
        (found.deepest_ms, "ms", "longest wait of any packet"),
    )
    tiles = [Tile(f"{value:.3g} {unit}", label) for value, unit, label in facts if value is not None]
    if found.fair_queueing is not None:
        tiles.append(Tile("yes" if found.fair_queueing else "no", "flows take turns (fair queueing)"))
    return tiles


def _pictures(seen: Probed) -> list[Picture]:
    load = seen.logs.get("load", {})
    if not len(load.get(GREEDY, EMPTY).sent_s):
        return []
    apart = seen.features["load_thin_to_greedy"]
    finding = (
        f"The thin flow waits {apart:.2g} times as long as the greedy one: both are in one queue."
        if apart >= 0.3  # noqa: PLR2004 (as the evidence says it)
        else "The thin flow hardly waits beside the greedy one: the queue keeps flows apart."
    )
    caption = "How long packets of both flows waited, above the least of each, while the greedy flow loaded the path."
    return [picture(_waits(seen), finding, caption, name="waits")]


# The parts of flows whose waits are drawn.
_DRAWN = ("greedy flow, later", "thin flow beside it", "larger flow of the overload, later")


def _twin_pictures(found: Answer, seen: Probed) -> list[Picture]:
    one = found.twin
    if one is None:
        return []
    finding = f"Simulated under the same probe {one.name} {'fits what was seen' if one.fits else 'does not fit'}."
    caption = "How many of the packets waited for at most so long: as seen (solid), and in the simulation (dashed)."
    return [picture(_twin_waits(one, seen), finding, caption, name="twin")]


def _twin_waits(one: Twin, seen: Probed) -> "Figure":
    """Draw how the waits of packets are distributed, as seen and as simulated."""
    from sojourn.figures import legends
    from sojourn.figures.style import drawn, family

    with drawn(2.8) as figure:
        axes = figure.subplots()
        for position, words in enumerate(_DRAWN):
            for logs, dashes, label in ((seen.logs, "-", words), (one.logs, "--", None)):
                waits = np.quantile(found, _SHARES) if len(found := waits_ms(logs, words)) else found
                axes.plot(waits, 100 * _SHARES[: len(waits)], dashes, color=family(position), label=label)
        axes.set_xlabel("wait in the queue [ms]")
        axes.set_ylabel("packets [%]")
        axes.set_ylim(0, 100)
        axes.set_xlim(left=0)
        legends.below(figure, *axes.get_legend_handles_labels())
    return figure


def _waits(seen: Probed) -> "Figure":
    """Draw each packet's delay above the least of its flow, over time."""
    from sojourn.figures import legends
    from sojourn.figures.style import drawn, family

    with drawn(2.8) as figure:
        axes = figure.subplots()
        for position, (name, label) in enumerate(((GREEDY, "greedy flow"), (THIN, "thin flow"))):
            flow = seen.logs["load"].get(name, EMPTY)
            waits = (flow.delay_s - np.nanmin(flow.delay_s)) * 1e3 if len(flow.sent_s) else flow.delay_s
            known = ~np.isnan(waits)
            axes.plot(flow.sent_s[known], waits[known], color=family(position), linewidth=0.8, label=label)
        axes.set_xlabel("time of sending [s]")
        axes.set_ylabel("wait in the queue [ms]")
        axes.set_ylim(bottom=0)
        legends.below(figure, *axes.get_legend_handles_labels())
    return figure
