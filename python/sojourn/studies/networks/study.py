"""What tables will not do of the study of networks: parts of a link, and a formula beside them."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sojourn.study import Number, measure
from sojourn.study.means import by_run

if TYPE_CHECKING:
    from sojourn.data.dataset import Dataset
    from sojourn.sweeps.plan import Plan

Row = tuple[dict[str, Any], str, str, Number]


@measure("taken", of=("two", "marked"))
def taken(plan: "Plan", dataset: "Dataset") -> Iterator[Row]:
    """Yield the background flow's part, in %, of what bulk flows deliver over the first link."""
    found: dict[tuple[str, str], list[float]] = {}
    for at, _, groups in by_run(plan, dataset, ("goodput_mbps",)):
        low, first = (groups[group]["goodput_mbps"] or 0.0 for group in ("low", "first"))
        managed = str(at["managed"] if "managed" in at else at["mark"])
        found.setdefault((managed, str(at["low"])), []).append(100 * low / (low + first))
    for (managed, low), parts in found.items():
        yield {"managed": managed, "low": low}, "", "part", Number.of(parts)


@measure("formula", of=("lot",))
def formula(plan: "Plan", dataset: "Dataset") -> Iterator[Row]:
    """Yield what the long flow got, in % of what a rate of 1 / (round-trip time * square root of loss) gives it.

    Each of n links is shared with one flow, and drops alike, so that the long flow meets n times the loss (Floyd 1991):
    over the measured round-trip times R the rates are as 1 / (R_long * sqrt(n)) to 1 / R_one.
    """
    found: dict[tuple[str, ...], list[float]] = {}
    axes = ("bottlenecks", "queue", "control")
    for at, _, groups in by_run(plan, dataset, ("goodput_mbps", "rtt_ms_mean")):
        (long, rtt_long), (one, rtt_one) = (
            [groups[group][metric] or 0.0 for metric in ("goodput_mbps", "rtt_ms_mean")] for group in ("long", "one")
        )
        predicted = (long + one) / (1 + rtt_long / rtt_one * math.sqrt(int(at["bottlenecks"])))
        found.setdefault(tuple(str(at[axis]) for axis in axes), []).append(100 * long / predicted)
    for place, parts in found.items():
        yield dict(zip(axes, place, strict=True)), "", "of_formula", Number.of(parts)
