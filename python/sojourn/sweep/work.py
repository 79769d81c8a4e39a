"""What one worker does: run the points of a batch and make tables of them. Nothing here knows who asks."""

from typing import TYPE_CHECKING

from sojourn import _native
from sojourn.record import Record
from sojourn.sweep.plan import Plan, Point
from sojourn.sweep.rows import POINT, Row, row_of_failure, rows_of_run, table
from sojourn.worlds.world import Progress, WorldError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from sojourn.tables import Run

RUNS = "runs"


def run_batch(plan: Plan, points: range, progress: Progress | None = None) -> dict[str, "pa.Table"]:
    """Return the tables of some points, by name: `runs`, and what the plan keeps besides.

    What is simulated depends on the plan alone: not on the machine, the time, or what was run before. A world that
    fails raises WorldError: unlike a simulation it may succeed another time.
    """
    rows: list[Row] = []
    coordinates = {}
    kept: dict[str, list[pa.Table]] = {}
    for done, index in enumerate(points):
        point = plan.point(index)
        coordinates[index] = point.coordinates
        part = _part(progress, done, len(points))
        for found, tables in _runs(plan, point, part):
            rows += found
            for name, one in tables.items():
                kept.setdefault(name, []).append(one)
    return {RUNS: table(rows, coordinates), **{name: _together(tables) for name, tables in kept.items()}}


def _part(progress: Progress | None, done: int, points: int) -> Progress | None:
    if progress is None:
        return None
    return lambda fraction: progress((done + fraction) / points)


def _runs(plan: Plan, point: Point, progress: Progress | None) -> "list[tuple[list[Row], dict[str, pa.Table]]]":
    try:
        scenario = plan.scenario(point)
    except _native.InputError as error:
        return [([row_of_failure(point, None, str(error))], {})]
    seeds = list(range(scenario.seed, scenario.seed + plan.seeds))
    try:
        return [_finished(plan, point, run) for run in _simulate(plan, scenario, seeds, progress)]
    except WorldError:
        raise
    except RuntimeError:
        # A run broke down. One at a time, so that the others' results are kept.
        return [_alone(plan, point, scenario, seed) for seed in seeds]


def _simulate(plan: Plan, scenario: _native.Scenario, seeds: list[int], progress: Progress | None) -> "Sequence[Run]":
    # One at a time: who asks for batches decides how many are run side by side.
    return plan.world.run(scenario, seeds, plan.wanted, jobs=1, progress=progress)


def _alone(plan: Plan, point: Point, scenario: _native.Scenario, seed: int) -> "tuple[list[Row], dict[str, pa.Table]]":
    try:
        (run,) = _simulate(plan, scenario, [seed], None)
    except RuntimeError as error:
        return [row_of_failure(point, seed, str(error))], {}
    return _finished(plan, point, run)


def _finished(plan: Plan, point: Point, run: "Run") -> "tuple[list[Row], dict[str, pa.Table]]":
    from sojourn.tables import arrow_table

    tables: dict[str, pa.Table] = {name: _at(point, arrow_table([run], name)) for name in plan.wanted.tables}
    return list(rows_of_run(point, Record.parse(run.record()))), tables


def _at(point: Point, series: "pa.Table") -> "pa.Table":
    import numpy as np
    import pyarrow as pa

    return series.add_column(0, POINT, pa.array(np.full(len(series), point.index, dtype=np.int64)))


def _together(tables: "list[pa.Table]") -> "pa.Table":
    import pyarrow as pa

    return pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
