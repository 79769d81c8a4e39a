"""From run records to the rows of the tables of what runs measured: `runs`, `groups`, `links` and those inside them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sojourn.data import metrics

if TYPE_CHECKING:
    from sojourn.tables import TableName

MAX_POINTS = 10**9
POINT, SEED, ERROR = "point", "seed", "error"
GROUP, LINK, CLASS, SIZE, PHASE = "group", "link", "class", "size", "phase"
RUNS = "runs"
GROUPS, LINKS, CLASSES, SIZES = "groups", "links", "classes", "sizes"
PHASE_GROUPS, PHASE_LINKS = "phase_groups", "phase_links"
SERIES, PROBES, PACKETS, TRANSFERS, DELAYS = "series", "probes", "packets", "transfers", "delays"
DECISIONS = "decisions"
KEPT: "dict[str, tuple[TableName, ...]]" = {
    SERIES: ("queue", "flows"),
    PROBES: ("queue_probes", "flow_probes"),
    PACKETS: ("packets",),
    TRANSFERS: ("transfers",),
    DELAYS: (),
}
"""The tables that a sweep keeps on demand, by the words that ask for them; delays are columns of the table `groups`.
Decisions are no table, and no sweep keeps them: they are written as qlog."""

Row = dict[str, Any]
Tables = dict[str, list[Row]]


def of_run(point: int, record: Mapping[str, Any]) -> Tables:
    """Return what a run measured at a point of a plan: a row for the run, and one for each group and link.

    Queues inside a discipline and transfers by size have tables of their own, `classes` and `sizes`, since nobody knows
    before a run which there will be. Phases have two, `phase_groups` and `phase_links`, like those of the run.
    """
    at = {POINT: point, SEED: record["seed"]}
    run: Row = {**at, ERROR: None}
    tables: Tables = {RUNS: [run], GROUPS: [], LINKS: [], CLASSES: [], SIZES: []}
    for name, link in metrics.links(record):
        measured = _leaves_without(link, "classes")
        run.update([(f"{name}_{metric}", value) for metric, value in measured])
        tables[LINKS].append({**at, LINK: name, **dict(measured)})
        tables[CLASSES] += [
            {**at, LINK: name, CLASS: inner, **dict(metrics.leaves(queue))}
            for inner, queue in (link.get("classes") or {}).items()
        ]
    run[metrics.JAIN_ALL] = record[metrics.JAIN_ALL]
    for name, group in record["groups"].items():
        tables[GROUPS].append({**at, GROUP: name, **dict(_leaves_without(group, "fct_by_size_ms"))})
        tables[SIZES] += [
            {**at, GROUP: name, SIZE: size, **dict(metrics.leaves(times, "fct_ms_"))}
            for size, times in (group.get("fct_by_size_ms") or {}).items()
        ]
    for name, phase in (record.get(metrics.PHASES) or {}).items():
        of_phase = {**at, PHASE: name}
        tables.setdefault(PHASE_GROUPS, []).extend(
            {**of_phase, GROUP: group, **dict(metrics.leaves(measured))} for group, measured in phase["groups"].items()
        )
        tables.setdefault(PHASE_LINKS, []).extend(
            {**of_phase, LINK: link, **dict(metrics.leaves(measured))} for link, measured in metrics.links(phase)
        )
    return tables


def of_failure(point: int, seed: int, error: str) -> Tables:
    """Return the row of a run that failed."""
    return {RUNS: [{POINT: point, SEED: seed, ERROR: error}]}


def _leaves_without(tree: Mapping[str, Any], left_out: str) -> list[tuple[str, float | None]]:
    if left_out not in tree:
        return metrics.leaves(tree)
    return metrics.leaves({name: value for name, value in tree.items() if name != left_out})
