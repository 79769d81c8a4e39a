"""Numbers of the paper's figures from a dataset: means over runs, with their spread."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn.sweep.stats import line

if TYPE_CHECKING:
    import pyarrow as pa

TCP, BACKGROUND = "tcp", "background"
UTILIZATION = "bottleneck_utilization"
QUEUE_PACKETS = "bottleneck_queue_packets_mean"
QUEUE_MS = "bottleneck_queue_ms_mean"
SHARE = "share"
DROP_RATE = "drop_rate"


@dataclass(frozen=True)
class Number:
    """A mean over runs, their standard deviation, and how many there were."""

    mean: float
    sd: float
    runs: int

    def text(self, digits: int = 1, scale: float = 1.0) -> str:
        """Return mean and standard deviation.

        >>> Number(0.4321, 0.01, 10).text(1, 100)
        '43.2 ± 1.0'
        """
        return f"{scale * self.mean:.{digits}f} ± {scale * self.sd:.{digits}f}"


@dataclass(frozen=True)
class Rows:
    """Some rows of a dataset."""

    table: "pa.Table"

    def where(self, **values: Any) -> "Rows":
        """Return the rows with these values; a dot in a column's name is written as two underscores."""
        import pyarrow.compute as pc

        chosen = self.table
        for name, value in values.items():
            column = name.replace("__", ".")
            chosen = chosen.filter(pc.equal(chosen[column], value))
        return Rows(chosen)

    def number(self, metric: str) -> Number:
        """Return a metric over these rows; there is at least one."""
        found = line(metric, self.table[metric].to_pylist())
        return Number(found["mean"] or 0.0, found.get("sd") or 0.0, found["n"])

    def values(self, column: str) -> list[Any]:
        """Return the distinct values of a column, in order."""
        distinct: list[Any] = self.table[column].unique().to_pylist()
        return distinct

    def numbers(self, metrics: Sequence[str]) -> list[Number]:
        """Return several metrics."""
        return [self.number(metric) for metric in metrics]
