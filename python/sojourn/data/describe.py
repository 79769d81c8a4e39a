"""Describes a dataset: which values of a metric belong together, and their statistics.

The unit of replication is the run. Where a line would hold runs of several points, their values are averaged within
each seed first: runs with the same seed share what is drawn at random, and n counts seeds. Groups are never averaged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sojourn.data import statistics
from sojourn.data.rows import ERROR, GROUP, POINT, SEED
from sojourn.reading import input_error, unknown_name
from sojourn.spelling import spelled, spelled_pair

if TYPE_CHECKING:
    import pyarrow as pa

_NOT_OF_DIFFERENCES = ("cov", "jain")
"""What a line has of values and not of their differences."""
METRICS = ("share", "goodput_mbps", "bottleneck_utilization", "bottleneck_queue_ms_mean", "bottleneck_drop_rate")
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Tables:
    """The tables `runs` and `groups` of a dataset, and the names of its axes."""

    runs: "pa.Table"
    groups: "pa.Table"
    axes: Sequence[str]

    @property
    def columns(self) -> list[str]:
        """The names of all columns."""
        return list(dict.fromkeys([*self.runs.column_names, *self.groups.column_names]))

    def is_of_groups(self, *names: str) -> bool:
        """Return whether one of these columns differs from group to group."""
        return any(name in self.groups.column_names and name not in self.runs.column_names for name in names)

    def holding(self, names: Sequence[str], where: Mapping[str, Any]) -> "pa.Table":
        """Return the rows with these values of `where` of the smallest table that has these columns.

        That of groups has the metrics of the run repeated for each group. Failed runs are left out. Raises
        InputError where there is no such column or value.
        """
        for name in (*names, *where):
            if name not in self.columns:
                raise unknown_name("the dataset has no column", name, self.columns)
        table = self.joined() if self.is_of_groups(*names) else self.runs
        if ERROR in table.column_names:
            table = table.filter(table[ERROR].is_null())
        for name, value in where.items():
            # A condition on the group leaves a table of runs as it is.
            if name in table.column_names:
                table = _only(table, name, value)
        return table

    def joined(self) -> "pa.Table":
        """Return the table of groups with the metrics of each group's run beside its own."""
        runs = zip(self.runs[POINT].to_pylist(), self.runs[SEED].to_pylist(), strict=True)
        place = {run: row for row, run in enumerate(runs)}
        of_groups = zip(self.groups[POINT].to_pylist(), self.groups[SEED].to_pylist(), strict=True)
        beside = self.runs.take([place[run] for run in of_groups]) if len(self.groups) else self.runs.slice(0, 0)
        table = self.groups
        for name in beside.column_names:
            if name not in table.column_names:
                table = table.append_column(beside.schema.field(name), beside[name])
        return table


@dataclass
class Description:
    """Lines of statistics, and sentences on how they came about."""

    lines: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def describe(
    tables: Tables,
    by: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    *,
    where: Mapping[str, Any] | None = None,
    against: Mapping[str, Any] | None = None,
    resamples: int = 0,
) -> Description:
    """Return a line for each metric and each combination of the columns `by`, in the order of the plan.

    Without `by` these are all axes and, for metrics of groups, the group. With `against` a line tells by how much the
    metric is larger than where columns have these values, in runs with the same seed. Raises InputError where there is
    no such column, or the lines would mix groups.
    """
    found = Description()
    lines: dict[Key, list[dict[str, Any]]] = {}
    given = None if by is None else list(dict.fromkeys(by))
    for metric in dict.fromkeys(METRICS if metrics is None else metrics):
        chosen = _default_by(tables, metric) if given is None else given
        cells = _lines_of(tables, chosen, metric, where or {}, found.notes)
        if against:
            cells = _differences(tables, cells, chosen, against)
        for key, cell in cells.items():
            one = {**dict(zip(chosen, key, strict=True)), **statistics.line(metric, cell.values, resamples=resamples)}
            if against:
                one = {name: value for name, value in one.items() if name not in _NOT_OF_DIFFERENCES}
            place = tuple(one.get(name) for name in tables.axes) if given is None else key
            lines.setdefault(place, []).append(one)
    if against:
        where_text = ", ".join(f"{name} = {value}" for name, value in against.items())
        found.notes.append(f"differences from {where_text}, of runs with the same seed; n counts seeds")
    apart = sum("low_n" in one for together in lines.values() for one in together)
    if apart:
        found.notes.append(
            f"in {apart} lines the runs lie in two places, low_n near low_mean and high_n near high_mean, with none "
            "between: their mean describes neither"
        )
    found.lines = [one for together in lines.values() for one in together]
    return found


def _differences(
    tables: Tables, cells: "dict[Key, Cell]", by: Sequence[str], against: Mapping[str, Any]
) -> "dict[Key, Cell]":
    """Return by how much each line is above the one beside it where columns have other values, seed by seed."""
    for name in against:
        if name not in by:
            message = f"{spelled('against')} {name}: the lines are not told apart by it; add it to {spelled('by')}"
            raise input_error(message, key=name)
    wanted = {name: typed(tables.holding([name], {}), name, value) for name, value in against.items()}
    found = {}
    for key, cell in cells.items():
        at = dict(zip(by, key, strict=True))
        other = cells.get(tuple({**at, **wanted}.values()))
        if other is not None and other is not cell:
            found[key] = Cell(statistics.differences(cell.by_seed, other.by_seed), cell.varied)
    if not found:
        raise input_error(f"{spelled('against')} no line is beside one with {dict(against)}", key="against")
    return found


def _default_by(tables: Tables, metric: str) -> list[str]:
    return [*tables.axes, *([GROUP] if tables.is_of_groups(metric) else [])]


def _lines_of(
    tables: Tables, by: Sequence[str], metric: str, where: Mapping[str, Any], notes: list[str]
) -> "dict[Key, Cell]":
    """Return the values of a metric, one for each seed, by the values of the columns `by`; add to the notes."""
    table = tables.holding([metric, *by], where)
    refuse_no_number(table, metric)
    if GROUP in by and not tables.is_of_groups(metric):
        message = f"{metric} is one number for each run, not for each group: leave {GROUP} out of {spelled('by')}"
        raise input_error(message, key=metric, found=GROUP)
    refuse_mixed_groups(tables, metric, by, table)
    cells = replicates(table, by, metric)
    pooled = [name for name in tables.axes if name not in by and any(name in cell.varied for cell in cells.values())]
    if pooled:
        note = f"averaged over {', '.join(pooled)} within each seed first; n counts seeds"
        if note not in notes:
            notes.append(note)
    return cells


def refuse_no_number(table: "pa.Table", name: str) -> None:
    """Raise InputError where a column holds no numbers."""
    import pyarrow as pa

    kind = table.schema.field(name).type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        raise input_error(f"the column {name!r} holds no numbers", key=name)


def refuse_mixed_groups(tables: Tables, metric: str, by: Sequence[str], rows: "pa.Table") -> None:
    """Raise InputError where values of a metric of groups would be put together over groups."""
    if GROUP in by or not tables.is_of_groups(metric):
        return
    there = rows[GROUP].unique().to_pylist()
    if len(there) > 1:
        message = (
            f"{metric} differs from group to group, and its mean over groups says nothing: "
            f"add {GROUP} to {spelled('by')}, or choose one with {spelled_pair('where', GROUP, there[0])} "
            f"(there is: {', '.join(there)})"
        )
        raise input_error(message, key=metric, allowed=", ".join(there))


@dataclass
class Cell:
    """The values of a metric that one line describes."""

    by_seed: dict[int, float | None] = field(default_factory=dict)
    varied: frozenset[str] = frozenset()
    """The columns that differ between points averaged here."""

    @property
    def values(self) -> list[float | None]:
        """One for each seed."""
        return list(self.by_seed.values())


def replicates(table: "pa.Table", by: Sequence[str], metric: str) -> dict[Key, Cell]:
    """Return one value for each seed, by the values of the columns `by`.

    Where there are several points in a cell their values are averaged within each seed; a seed that lacks the value of
    a point has none.
    """
    points, seeds, values = (table[name].to_pylist() for name in (POINT, SEED, metric))
    keys = zip(*(table[name].to_pylist() for name in by), strict=True) if by else [()] * len(points)
    found: dict[Key, dict[int, dict[int, float | None]]] = {}
    rows: dict[Key, dict[int, int]] = {}
    for row, (key, point, seed, value) in enumerate(zip(keys, points, seeds, values, strict=True)):
        found.setdefault(key, {}).setdefault(seed, {})[point] = value
        rows.setdefault(key, {}).setdefault(point, row)
    return {
        key: Cell(
            {seed: _average(at_points, len(rows[key])) for seed, at_points in of_seeds.items()},
            _varied(table, rows[key].values()),
        )
        for key, of_seeds in found.items()
    }


def _average(at_points: Mapping[int, float | None], points: int) -> float | None:
    known = [value for value in at_points.values() if value is not None]
    if len(known) < points:
        return None
    return known[0] if points == 1 else sum(known) / points


def _varied(table: "pa.Table", rows: Any) -> frozenset[str]:
    """Return the columns in which the first rows of the points of a cell differ."""
    places = list(rows)
    if len(places) == 1:
        return frozenset()
    some = table.take(places)
    return frozenset(name for name in some.column_names if len(some[name].unique()) > 1)


def alike(runs: "pa.Table") -> int:
    """Return at how many points all of several runs measured exactly the same, so that one would have done."""
    import pyarrow as pa
    import pyarrow.compute as pc

    sound = runs.filter(runs[ERROR].is_null())
    measured = [name for name in sound.column_names if pa.types.is_floating(sound.schema.field(name).type)]
    every = pc.CountOptions(mode="all")
    grouped = sound.group_by(POINT).aggregate(
        [(SEED, "count"), *((name, "count_distinct", every) for name in measured)]
    )
    same = pc.greater(grouped[f"{SEED}_count"], 1)
    for name in measured:
        same = pc.and_(same, pc.equal(grouped[f"{name}_count_distinct"], 1))
    return int(pc.sum(same).as_py() or 0)


def columns(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of all values in the lines: those that tell them apart, then the statistics in their order."""
    statistical = list(statistics.Line.__annotations__)
    names = dict.fromkeys(name for one in lines for name in one)
    return [
        *(name for name in names if name not in statistical),
        *(name for name in statistical if name in names),
    ]


def typed(table: "pa.Table", name: str, value: Any) -> Any:
    """Return a value, which may be written as text, as its column holds it; raises InputError where no row has it."""
    import pyarrow as pa

    known = table[name].unique().to_pylist()
    try:
        found = pa.scalar(value).cast(table.schema.field(name).type).as_py()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        found = None
    if found is None or found not in known:
        there = ", ".join(map(str, known))
        raise input_error(f"no row has {name} = {value}; there is: {there}", key=name, found=str(value), allowed=there)
    return found


def _only(table: "pa.Table", name: str, value: Any) -> "pa.Table":
    import pyarrow.compute as pc

    return table.filter(pc.equal(table[name], typed(table, name, value)))
