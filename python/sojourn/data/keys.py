"""Whether the tables of a dataset belong together: somebody else may have made or changed them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.data.rows import ERROR, GROUP, GROUPS, POINT, RUNS, SEED
from sojourn.faults import input_error, printable

if TYPE_CHECKING:
    import pyarrow as pa

MAX_ROWS_OF_RUN = 10_000
"""Most rows of a run in a table of means, such as one for each group, link or phase."""


def check_runs(runs: "pa.Table", folder: Path, points: int) -> None:
    """Raise InputError where rows of the table of runs name no point of the plan, or a run has several."""
    import pyarrow as pa

    point, seed = _keys(runs, folder / RUNS)
    wrong = np.flatnonzero((point < 0) | (point >= points))
    if len(wrong):
        allowed = f"a point from 0 to {points - 1}"
        raise _wrong(folder / RUNS, POINT, point[wrong[0]], allowed)
    order = np.lexsort((seed, point))
    twice = np.flatnonzero((np.diff(point[order]) == 0) & (np.diff(seed[order]) == 0))
    if len(twice):
        at = order[twice[0]]
        raise _wrong(folder / RUNS, SEED, f"seed {seed[at]} of point {point[at]} twice", "a row for each run")
    kind = runs.schema.field(ERROR).type
    if not (pa.types.is_null(kind) or pa.types.is_string(kind)):
        raise _wrong(folder / RUNS, ERROR, f"values of type {kind}", "texts")


def check_rows(table: "pa.Table", runs: "pa.Table", place: Path, axes: Sequence[str]) -> Any:
    """Return the row in the table of runs that each row of another table belongs to.

    Raises InputError where there is none, or where it says something else of the axes.
    """
    point, seed = _keys(table, place)
    at = _places(point, seed, *_keys(runs, place.parent / RUNS))
    if len(lost := np.flatnonzero(at < 0)):
        found = f"seed {seed[lost[0]]} of point {point[lost[0]]}"
        raise _wrong(place, SEED, found, f"a run that the table {RUNS} has")
    for axis in axes:
        if not _are_equal(runs[axis].take(at), table[axis]):
            raise _wrong(place, axis, "values that are not those of its runs", f"those of the table {RUNS}")
    return at


def check_groups(groups: "pa.Table", runs: "pa.Table", folder: Path, axes: Sequence[str]) -> None:
    """Raise InputError where a group of a run has several rows or no name, or a run that did not fail has no group."""
    import pyarrow as pa

    place, names = folder / GROUPS, groups[GROUP]
    if not pa.types.is_string(names.type) or names.null_count:
        found = "nothing" if names.null_count else f"values of type {names.type}"
        raise _wrong(place, GROUP, found, "a name in each row")
    at = check_rows(groups, runs, place, axes)
    _, name = np.unique(names.to_numpy(zero_copy_only=False).astype(str), return_inverse=True)
    order = np.lexsort((name, at))
    twice = np.flatnonzero((np.diff(at[order]) == 0) & (np.diff(name[order]) == 0))
    if len(twice):
        raise _wrong(place, GROUP, f"{names[int(order[twice[0]])]} twice in a run", "a row for each group of a run")
    succeeded = runs[ERROR].is_null().to_numpy(zero_copy_only=False)
    if len(without := np.setdiff1d(np.flatnonzero(succeeded), at)):
        run = int(without[0])
        raise _wrong(place, SEED, f"no row for seed {runs[SEED][run]} of point {runs[POINT][run]}", "one at least")


def _are_equal(one: Any, other: Any) -> bool:
    """Return whether two columns say the same, also where they say nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        alike = pc.fill_null(pc.equal(one, other), fill_value=False)
    except pa.ArrowException:
        return False
    return bool(pc.all(pc.or_(alike, pc.and_(one.is_null(), other.is_null())), min_count=0).as_py())


def _keys(table: "pa.Table", place: Path) -> tuple[Any, Any]:
    """Return points and seeds as whole numbers, or raise InputError."""
    import pyarrow as pa

    found = []
    for name in (POINT, SEED):
        column = table[name]
        if not pa.types.is_integer(column.type) or column.null_count:
            what = "nothing" if column.null_count else f"values of type {column.type}"
            raise _wrong(place, name, what, "a whole number in each row")
        found.append(column.to_numpy().astype(np.int64, copy=False))
    return found[0], found[1]


def _places(point: Any, seed: Any, run_point: Any, run_seed: Any) -> Any:
    """Return the row of the run of each pair of point and seed, or -1.

    >>> _places(np.array([1, 2]), np.array([7, 8]), np.array([0, 1]), np.array([7, 7])).tolist()
    [1, -1]
    """
    seeds, numbers = np.unique(np.concatenate([run_seed, seed]), return_inverse=True)
    count = max(1, len(seeds))
    known, wanted = numbers[: len(run_seed)] + count * run_point, numbers[len(run_seed) :] + count * point
    order = np.argsort(known, kind="stable")
    if not len(order):
        return np.full(len(wanted), -1)
    near = np.minimum(np.searchsorted(known[order], wanted), len(order) - 1)
    return np.where(known[order][near] == wanted, order[near], -1)


def _wrong(place: Path, key: str, found: object, allowed: str) -> Exception:
    said = printable(str(found))
    return input_error(
        f"{key}: found {said}; allowed: {allowed}", file=str(place), key=key, found=said, allowed=allowed
    )
