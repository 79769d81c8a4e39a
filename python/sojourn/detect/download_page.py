"""The page of a capture: which queue a download crossed, how sure that is, what to do, and what was seen."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sojourn.detect.page import alternatives_fold, headline, names_table
from sojourn.detect.passive import Passive, looked_at
from sojourn.detect.remedies import Remedy
from sojourn.detect.streams import Stream
from sojourn.detect.waits import waiting
from sojourn.pages import Cell, Fold, Page, Picture, Table, Tile, picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def download_page(found: Passive, streams: Sequence[Stream], command: str, remedy: Remedy | None) -> Page:
    """Return the page of what a capture tells; `command` makes the page again."""
    judged = found.judgement
    folds = [] if remedy is None or remedy.table is None else [alternatives_fold(remedy.table)]
    if found.parameters:
        rows = [[Cell(name), *map(Cell.of, (one.value, one.low, one.high))] for name, one in found.parameters.items()]
        folds.append(Fold("What the waits tell of the queue", tables=[Table(("what", "value", "from", "to"), rows)]))
    if found.cannot:
        folds.append(Fold("What cannot be said", [f"{key}: {why}." for key, why in found.cannot.items()]))
    return Page(
        title=headline(found.verdict),
        kicker=f"What a capture tells: {found.packets} packets in {found.seconds:.3g} s; nothing was sent",
        lead=[
            *([" ".join(remedy.sentences)] if remedy is not None else []),
            *([" ".join(found.evidence)] if found.evidence else []),
        ],
        tiles=_tiles(found),
        pictures=_pictures(found, streams),
        heading="How likely is each name?" if judged is not None else "",
        table=None if judged is None else names_table(judged.names),
        notes=[f"The stream: {found.stream}.", *found.notes],
        folds=folds,
        command=command,
    )


def _tiles(found: Passive) -> list[Tile]:
    facts = (
        (found.rate_mbps, "Mbit/s", "most that came in a fifth of the time"),
        (found.rtt_ms, "ms", "least round-trip time"),
        (found.wait_ms.get("median"), "ms", "wait in the queue, median"),
        (found.wait_ms.get("p95"), "ms", "wait in the queue, 95th percentile"),
    )
    return [Tile(f"{value:.3g} {unit}", label) for value, unit, label in facts if value is not None]


def _pictures(found: Passive, streams: Sequence[Stream]) -> list[Picture]:
    if not found.wait_ms:
        return []
    lost = "no packet was lost" if not found.lost else f"{found.lost} packets were lost"
    finding = f"Packets waited {found.wait_ms['median']:.3g} ms in the median, and {lost}."
    caption = "How long the download's packets waited above the least of them; marks are losses."
    return [picture(_waits(streams), finding, caption, name="waits")]


def _waits(streams: Sequence[Stream]) -> "Figure":
    from sojourn.figures import legends
    from sojourn.figures.style import drawn, family

    log = looked_at(streams)
    wait_ms, at_s = waiting(log) * 1e3, log.sent_s - log.sent_s[0]
    known = ~np.isnan(wait_ms)
    with drawn(2.8) as figure:
        axes = figure.subplots()
        axes.plot(at_s[known], wait_ms[known], color=family(0), linewidth=0.8, label="packets of the download")
        if log.lost.any():
            lost_s = at_s[log.lost]
            axes.plot(lost_s, np.zeros(len(lost_s)), "|", color=family(1), markersize=9, label="lost")
        axes.set_xlabel("time of sending [s]")
        axes.set_ylabel("wait in the queue [ms]")
        axes.set_ylim(bottom=0)
        legends.below(figure, *axes.get_legend_handles_labels())
    return figure
