"""Goodput of all downloads, parts of the air time, and the scavenger's part of the goodput."""

from collections.abc import Iterator
from typing import Any

from sojourn.data.dataset import Dataset
from sojourn.data.rows import GROUP, GROUPS, POINT, RUNS, SEED
from sojourn.study import Number, measure
from sojourn.sweeps.plan import Plan

Row = tuple[dict[str, Any], str, str, Number]
Goodputs = dict[tuple[int, str], list[float]]

_STATIONS = ("near-0", "near-1", "far")


def goodputs(dataset: Dataset) -> Goodputs:
    """Return the goodput in Mbit/s of each group at each point, in the order of the seeds."""
    found: Goodputs = {}
    rows = dataset.table(GROUPS).select([POINT, SEED, GROUP, "goodput_mbps"]).to_pylist()
    for row in sorted(rows, key=lambda row: row[SEED]):
        found.setdefault((row[POINT], row[GROUP]), []).append(row["goodput_mbps"] or 0.0)
    return found


@measure("totals", of="design")
def totals(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield the goodput of all downloads together."""
    found = goodputs(dataset)
    for point in range(plan.points):
        runs = zip(found[point, "near"], found[point, "far"], strict=True)
        yield plan.point(point).coordinates, "", "total_mbps", Number.of([sum(run) for run in runs])


@measure("shares", of="airtime")
def shares(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield each station's goodput, and its part in % of the air time that all stations use."""
    found = goodputs(dataset)
    columns = {station: f"stations_{station}_air_down" for station in _STATIONS}
    rows = dataset.table(RUNS).select([POINT, *columns.values()]).to_pylist()
    for point in range(plan.points):
        runs = [{station: row[column] for station, column in columns.items()} for row in rows if row[POINT] == point]
        for station in _STATIONS:
            at = {**plan.point(point).coordinates, "station": station}
            yield at, "", "air", Number.of([100 * run[station] / sum(run.values()) for run in runs])
            yield at, "", "goodput_mbps", Number.of(found[point, station])


@measure("selected-shares", of="selected")
def selected_shares(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield the same where rates are selected."""
    yield from shares(plan, dataset)


@measure("parts", of=("yield", "wired"))
def parts(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield what the scavenger gets, in % of its goodput and TCP's."""
    found = goodputs(dataset)
    wire = {"beside": "wire", "marked": "best effort"}
    for point in range(plan.points):
        at = plan.point(point).coordinates
        runs = zip(found[point, "low"], found[point, "tcp"], strict=True)
        part = Number.of([100 * low / (low + tcp) for low, tcp in runs])
        yield {**at, **wire} if plan.name == "wired" else at, "", "part", part
