"""What one worker does: run the points of a batch and make parts of a dataset. Nothing here knows who asks."""

import json
from typing import TYPE_CHECKING

from sojourn import _native
from sojourn.data import rows
from sojourn.data.dataset import Batch, part
from sojourn.data.provenance import Provenance
from sojourn.data.rows import POINT
from sojourn.sweeps.plan import Plan, Point
from sojourn.worlds.world import Progress, WorldError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from sojourn.tables import Run

    _Found = tuple[rows.Tables, dict[str, pa.Table]]


# Tables that every batch has, be they empty.
_ALWAYS = (rows.RUNS, rows.GROUPS, rows.LINKS)


def run_batch(
    plan: Plan, batch: Batch, provenance: Provenance | None, progress: Progress | None = None
) -> dict[str, bytes]:
    """Return the parts of a batch, by the names of their tables: `runs`, and what the plan keeps besides.

    The worker encodes them as Parquet files. The one process that serves all workers then only writes bytes.

    What is simulated depends on the plan alone: not on the machine, the time, or what was run before. A world that
    fails raises WorldError: unlike a simulation it may succeed another time.
    """
    measured: rows.Tables = {}
    coordinates = {}
    kept: dict[str, list[pa.Table]] = {}
    seeds = [plan.all_seeds[place] for place in batch.seeds]
    for done, index in enumerate(batch.points):
        point = plan.point(index)
        coordinates[index] = point.coordinates
        for found, tables in _runs(plan, point, seeds, _share(progress, done, len(batch.points))):
            for name, some in found.items():
                measured.setdefault(name, []).extend(some)
            for name, one in tables.items():
                kept.setdefault(name, []).append(one)
    schema = plan.schema()
    made = {
        **{name: schema.table(name, some, coordinates) for name, some in measured.items() if some or name in _ALWAYS},
        **{name: _together(tables) for name, tables in kept.items()},
    }
    return {name: part(name, table, provenance) for name, table in made.items()}


def _share(progress: Progress | None, done: int, points: int) -> Progress | None:
    if progress is None:
        return None
    return lambda fraction: progress((done + fraction) / points)


def _runs(plan: Plan, point: Point, seeds: list[int], progress: Progress | None) -> "list[_Found]":
    try:
        scenario = plan.scenario(point)
    except _native.InputError as error:
        return [(rows.of_failure(point.index, seed, str(error)), {}) for seed in seeds]
    try:
        return [_finished(plan, point, run) for run in _simulate(plan, scenario, seeds, progress)]
    except WorldError:
        raise
    except RuntimeError:
        # A run broke down. One at a time, so that the others' results are kept.
        return [_alone(plan, point, scenario, seed) for seed in seeds]


def _simulate(plan: Plan, scenario: _native.Scenario, seeds: list[int], progress: Progress | None) -> "Sequence[Run]":
    # One at a time: who asks for batches decides how many are run side by side.
    return plan.chosen.run(scenario, seeds, plan.wanted, jobs=1, progress=progress)


def _alone(plan: Plan, point: Point, scenario: _native.Scenario, seed: int) -> "_Found":
    try:
        (run,) = _simulate(plan, scenario, [seed], None)
    except RuntimeError as error:
        return rows.of_failure(point.index, seed, str(error)), {}
    return _finished(plan, point, run)


def _finished(plan: Plan, point: Point, run: "Run") -> "_Found":
    from sojourn.tables import arrow_table

    tables: dict[str, pa.Table] = {name: _at(point, arrow_table([run], name)) for name in plan.wanted.tables}
    # No table has the rows of flows.
    text = run.measured() if isinstance(run, _native.Run) else run.record()
    return rows.of_run(point.index, json.loads(text)), tables


def _at(point: Point, series: "pa.Table") -> "pa.Table":
    import numpy as np
    import pyarrow as pa

    return series.add_column(0, POINT, pa.array(np.full(len(series), point.index, dtype=np.int64)))


def _together(tables: "list[pa.Table]") -> "pa.Table":
    import pyarrow as pa

    return pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
