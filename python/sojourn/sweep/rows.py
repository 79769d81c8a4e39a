"""From run records to the columns of the dataset: one row for each run and group."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sojourn import _native
from sojourn.sweep.plan import Point

if TYPE_CHECKING:
    import pyarrow as pa

POINT, SEED, GROUP, ERROR = "point", "seed", "group", "error"
# The unit of a column of quantities, and how much of the basic unit it is.
_COLUMN_UNITS = {"s": ("ms", 1e-3), "bit/s": ("mbps", 1e6), "B": ("bytes", 1.0), "packets": ("packets", 1.0)}

Row = dict[str, Any]


def rows_of_run(point: Point, record: Mapping[str, Any]) -> Iterator[Row]:
    """Yield a row for each group of a run: where it lies in the plan, the group's metrics, those of the links."""
    common: Row = {}
    for link in ("bottleneck", "reverse"):
        if record.get(link) is not None:
            common.update(leaves(record[link], f"{link}_"))
    for name, hop in (record.get("hops") or {}).items():
        common.update(leaves(hop, f"hop_{name}_"))
    common["jain_all"] = record["jain"]
    for name, group in record["groups"].items():
        yield {POINT: point.index, SEED: record["seed"], GROUP: name, ERROR: None, **dict(leaves(group, "")), **common}


def row_of_failure(point: Point, seed: int | None, error: str) -> Row:
    """Return the row of a run that failed."""
    return {POINT: point.index, SEED: seed, GROUP: None, ERROR: error}


def leaves(tree: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, float | None]]:
    """Yield the numbers of a tree under names joined by underscores.

    >>> dict(leaves({"queue_ms": {"mean": 4.5}, "drops": 3}, "bottleneck_"))
    {'bottleneck_queue_ms_mean': 4.5, 'bottleneck_drops': 3}
    """
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{name}_")
        else:
            yield prefix + name, value


def table(rows: Sequence[Row], coordinates: Mapping[int, Mapping[str, Any]]) -> "pa.Table":
    """Return rows as a table; `coordinates` are those of the points, by index."""
    import pyarrow as pa

    columns: dict[str, pa.Array] = {
        POINT: pa.array([row[POINT] for row in rows], pa.int64()),
        SEED: pa.array([row[SEED] for row in rows], pa.int64()),
    }
    for name in next(iter(coordinates.values()), {}):
        columns.update(coordinate_columns(name, [coordinates[row[POINT]][name] for row in rows]))
    for name in (GROUP, ERROR):
        columns[name] = pa.array([row[name] for row in rows], pa.string())
    metrics = dict.fromkeys(name for row in rows for name in row if name not in columns)
    for name in metrics:
        columns[name] = pa.array([row.get(name) for row in rows], pa.float64())
    return pa.table(columns)


def coordinate_columns(name: str, given: Sequence[Any]) -> dict[str, "pa.Array"]:
    """Return the columns of an axis: its values as given, and as numbers where they are quantities of one dimension.

    >>> list(coordinate_columns("bottleneck.rate", ["1 Mbit/s", "4 Mbit/s"]))
    ['bottleneck.rate', 'bottleneck.rate_mbps']
    """
    import pyarrow as pa

    if all(isinstance(value, bool) for value in given):
        return {name: pa.array(given, pa.bool_())}
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in given):
        return {name: pa.array(given, pa.float64())}
    texts = [str(value) for value in given]
    quantities = [_native.quantity(text) for text in texts]
    known = [quantity for quantity in quantities if quantity is not None]
    units = {unit for _, unit in known}
    columns = {name: pa.array(texts, pa.string())}
    if len(known) == len(given) and len(units) == 1:
        suffix, size = _COLUMN_UNITS[units.pop()]
        columns[f"{name}_{suffix}"] = pa.array([number / size for number, _ in known], pa.float64())
    return columns
