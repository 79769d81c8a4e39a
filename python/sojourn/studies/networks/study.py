"""What tables will not do of the study of networks: the background flow's part of one link."""

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
