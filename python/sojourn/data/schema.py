"""The columns of a dataset's tables, decided before the first run: every part of a table has the same.

Columns of axes have the type that all values of the axis share, not those of one batch; columns of metrics are those
of the registry, so that datasets of different studies can be put together.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn import _native
from sojourn.data import metrics
from sojourn.data.rows import (
    CLASS,
    CLASSES,
    ERROR,
    GROUP,
    GROUPS,
    LINK,
    LINKS,
    PHASE,
    PHASE_GROUPS,
    PHASE_LINKS,
    POINT,
    RUNS,
    SEED,
    SIZE,
    SIZES,
    Row,
    of_run,
)

if TYPE_CHECKING:
    import pyarrow as pa

RESERVED = (POINT, SEED, GROUP, LINK, CLASS, SIZE, PHASE, ERROR)
"""Names that no axis may have, since they are columns of their own."""
UNIT, MEANING = b"unit", b"meaning"
MOST_WIDE = 64
"""Of more links the table `runs` has the main ones alone: 40,000 columns take longer to read than a run takes."""
# The unit of a column of quantities, and how much of the basic unit it is.
_COLUMN_UNITS = {
    "s": ("ms", 1e-3),
    "bit/s": ("mbps", 1e6),
    "B": ("bytes", 1.0),
    "packets": ("packets", 1.0),
    "packets/s": ("packets_per_s", 1.0),
}


@dataclass(frozen=True)
class AxisColumns:
    """The columns of an axis: its values as given, and as numbers where they are quantities of one dimension."""

    name: str
    kind: str
    """`bool`, `int64`, `double` or `string`."""
    unit: str = ""
    """The suffix of the column of numbers; empty where there is none."""

    @classmethod
    def of(cls, name: str, values: Iterable[Any]) -> "AxisColumns":
        """Decide on the columns of an axis by all its values.

        >>> AxisColumns.of("bottleneck.rate", ["1 Mbit/s", "4 Mbit/s"]).names
        ['bottleneck.rate', 'bottleneck.rate_mbps']
        >>> AxisColumns.of("padding", ["125 packets/s", "250 packets/s"]).names
        ['padding', 'padding_packets_per_s']
        >>> AxisColumns.of("bottleneck.queue.weight", [0.002, "auto"]).kind
        'string'
        """
        given = list(values)
        for kind, types in (("bool", {bool}), ("int64", {int}), ("double", {int, float})):
            if {type(value) for value in given} <= types:
                return cls(name, kind)
        quantities = [_native.quantity(str(value)) for value in given]
        units = {None if quantity is None else quantity[1] for quantity in quantities}
        (unit,) = units if len(units) == 1 else (None,)
        return cls(name, "string", "" if unit is None else _COLUMN_UNITS[unit][0])

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return [self.name, f"{self.name}_{self.unit}"] if self.unit else [self.name]

    def cells(self, value: Any) -> list[Any]:
        """Return what its columns hold for a value.

        >>> AxisColumns("bottleneck.rate", "string", "mbps").cells("4 Mbit/s")
        ['4 Mbit/s', 4.0]
        """
        shown = str(value) if self.kind == "string" else value
        if not self.unit:
            return [shown]
        quantity = _native.quantity(str(value))
        assert quantity is not None, "every value of this axis is a quantity"  # noqa: S101
        return [shown, quantity[0] / dict(_COLUMN_UNITS.values())[self.unit]]


@dataclass(frozen=True)
class Schema:
    """The columns of all tables of a dataset but those of time series."""

    axes: tuple[AxisColumns, ...]
    links: tuple[str, ...]
    """The links of any run, with the names that they have in metrics."""

    @property
    def wide(self) -> tuple[str, ...]:
        """The links whose metrics the table `runs` holds: all, unless there are very many."""
        return (
            self.links if len(self.links) <= MOST_WIDE else tuple(name for name in self.links if name in metrics.MAIN)
        )

    def table(self, name: str, rows: Sequence[Row], coordinates: Mapping[int, Mapping[str, Any]]) -> "pa.Table":
        """Return rows as a table; `coordinates` are those of the points, by index.

        Raises RuntimeError where a row has a metric that is not in the registry.
        """
        import pyarrow as pa

        schema = self.arrow(name)
        held: set[str] = set().union(*rows)
        if name == RUNS:
            held -= {column for column, _ in self._of_links(set(self.links).difference(self.wide))}
        if unknown := held.difference(schema.names):
            raise RuntimeError(f"runs measured what no table has a column for: {', '.join(sorted(unknown))}")
        places = {
            column: {index: axis.cells(at[axis.name])[place] for index, at in coordinates.items()}
            for axis in self.axes
            for place, column in enumerate(axis.names)
        }

        def array(column: str, kind: pa.DataType) -> pa.Array:
            if column in places:
                return pa.array([places[column][row[POINT]] for row in rows], kind)
            # Most scenarios have but a part of what runs can measure.
            return pa.array([row.get(column) for row in rows], kind) if column in held else pa.nulls(len(rows), kind)

        return pa.Table.from_arrays([array(field.name, field.type) for field in schema], schema=schema)

    def arrow(self, name: str) -> "pa.Schema":
        """Return the Arrow schema of a table, with unit and meaning of every metric."""
        import pyarrow as pa

        kinds = {"bool": pa.bool_(), "int64": pa.int64(), "double": pa.float64(), "string": pa.string()}
        fields = [pa.field(POINT, pa.int64()), pa.field(SEED, pa.int64())]
        for axis in self.axes:
            fields.append(pa.field(axis.name, kinds[axis.kind]))
            fields += [pa.field(column, pa.float64()) for column in axis.names[1:]]
        texts, measured = self._columns(name)
        fields += [pa.field(text, pa.string()) for text in texts]
        fields += [
            pa.field(column, pa.float64(), metadata={UNIT: metric.unit, MEANING: metric.meaning})
            for column, metric in measured
        ]
        return pa.schema(fields)

    def _of_links(self, links: Iterable[str]) -> list[tuple[str, metrics.Metric]]:
        """Return the columns of links that have their name in front."""
        measured = metrics.of_links(self.links)
        return [(f"{link}_{metric.name}", metric) for link in links for metric in measured]

    def _columns(self, name: str) -> tuple[list[str], list[tuple[str, metrics.Metric]]]:
        """Return the columns of text, and those of metrics, of a table."""
        if name == RUNS:
            return [ERROR], [*self._of_links(self.wide), *_named(metrics.RUN)]
        own = {
            GROUPS: ([GROUP], metrics.GROUP),
            LINKS: ([LINK], metrics.of_links(self.links)),
            CLASSES: ([LINK, CLASS], metrics.CLASS),
            SIZES: ([GROUP, SIZE], metrics.COMPLETION),
            PHASE_GROUPS: ([PHASE, GROUP], metrics.PHASE_GROUP),
            PHASE_LINKS: ([PHASE, LINK], metrics.PHASE_LINK),
        }
        texts, measured = own[name]
        return texts, _named(measured)


def of_records(name: str, records: Sequence[Mapping[str, Any]]) -> "pa.Table":
    """Return a table of the records of one scenario's runs: what a sweep of a single point has."""
    links = dict.fromkeys(link for record in records for link, _ in metrics.links(record))
    rows = [row for record in records for row in of_run(0, record).get(name, [])]
    return Schema((), tuple(links)).table(name, rows, {0: {}})


def _named(measured: Sequence[metrics.Metric]) -> list[tuple[str, metrics.Metric]]:
    return [(metric.name, metric) for metric in measured]
