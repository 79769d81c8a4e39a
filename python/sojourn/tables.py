"""What a run gives, whatever its world: a record, and tables as Arrow has them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from sojourn.data.statistics import Statistic

TableName = Literal["queue", "flows", "queue_probes", "flow_probes", "packets", "transfers"]

MeasuredName = Literal["runs", "groups", "links", "classes", "sizes", "phase_groups", "phase_links"]
"""Tables that every result has, of its records: the same as those of a dataset."""

Column = tuple[str, str, bytes, list[str] | None]
"""Name, type in numpy's notation, values in memory order, and what the values are codes of, if they are."""


class Run(Protocol):
    """What any world gives for one run."""

    @property
    def seed(self) -> int:
        """The seed."""

    def record(self) -> str:
        """Return the run record as JSON."""

    def table(self, name: str) -> list[Column]:
        """Return the columns of a table, as `_native.Run.table` does."""


@dataclass(frozen=True)
class KeptRun:
    """A run of which the record is kept, and no table of its own."""

    seed: int
    text: str

    def record(self) -> str:
        """Return the run record as JSON."""
        return self.text

    def table(self, name: str) -> list[Column]:
        """Raise ValueError: the result has the tables, where there are some."""
        raise ValueError(f"this run keeps no table {name!r} of its own")


def plain(name: str, values: Any) -> Column:
    """Make a column of numbers as worlds other than the engine's give it; NaN is no value."""
    import numpy as np

    return name, "<f8", np.asarray(values, dtype="<f8").tobytes(), None


def coded(name: str, codes: Any, categories: list[str]) -> Column:
    """Make a column of names: the place of each in the list."""
    import numpy as np

    return name, "<u4", np.asarray(codes, dtype="<u4").tobytes(), categories


def arrow_table(runs: "Sequence[Run]", name: str) -> "pa.Table":
    """Return a table of all runs by its name, one run below the other, with a `seed` column."""
    import pyarrow as pa

    return pa.concat_tables([_of_one_run(run, name) for run in runs], promote_options="permissive")


def summary_table(summary: "Mapping[str, Statistic]") -> "pa.Table":
    """Return the statistics of a summary: one row for each metric."""
    import pyarrow as pa

    rows = [
        {
            "metric": name,
            "mean": one["mean"],
            "sd": one["sd"],
            "ci95_low": None if one["ci95"] is None else one["ci95"][0],
            "ci95_high": None if one["ci95"] is None else one["ci95"][1],
            "n": one["n"],
        }
        for name, one in summary.items()
    ]
    numbers = [(name, pa.float64()) for name in ("mean", "sd", "ci95_low", "ci95_high")]
    return pa.Table.from_pylist(rows, pa.schema([("metric", pa.string()), *numbers, ("n", pa.int64())]))


def _of_one_run(run: "Run", name: str) -> "pa.Table":
    import numpy as np
    import pyarrow as pa

    columns = {column: _array(dtype, values, categories) for column, dtype, values, categories in run.table(name)}
    rows = len(next(iter(columns.values())))
    seed = pa.array(np.full(rows, run.seed, dtype=np.uint64))
    return pa.table({"seed": seed, **columns})


def _array(dtype: str, values: bytes, categories: list[str] | None) -> "pa.Array":
    import numpy as np
    import pyarrow as pa

    numbers = np.frombuffer(values, dtype=np.dtype(dtype))
    if categories is not None:
        return pa.DictionaryArray.from_arrays(numbers.astype(np.int32), pa.array(categories, pa.string()))
    # from_pandas: NaN, "no value", becomes null
    return pa.array(numbers, from_pandas=True)
