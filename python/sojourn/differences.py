"""How variants of a scenario differ, seed by seed, so that each difference has an interval of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sojourn import purposes
from sojourn.data import metrics
from sojourn.data.statistics import Statistic, paired
from sojourn.purposes import Column, Purpose
from sojourn.reading import unknown_name
from sojourn.record import Record
from sojourn.result import Result

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

NOTHING: Statistic = {"mean": None, "sd": None, "ci95": None, "n": 0}


@dataclass(frozen=True)
class Differences:
    """What several variants measured with the same seeds."""

    results: Mapping[str, Result]
    """The result of each variant, the reference first."""
    purpose: Purpose | None = None
    """What the variants are compared for: it sorts them. None keeps the order in which they were given."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """Of the results of a real kernel: the variant beside which each stands."""

    @property
    def reference(self) -> str:
        """Name of the variant that the others are compared with."""
        return next(iter(self.results))

    def reference_of(self, variant: str) -> str:
        """Return the name of the reference in the world in which a variant ran."""
        if variant not in self.beside:
            return self.reference
        return next(name for name, of in self.beside.items() if of == self.reference)

    @property
    def order(self) -> list[str]:
        """Names of all results: the best for the purpose first, and beside each what a real kernel measured."""
        own = [name for name in self.results if name not in self.beside]
        if self.purpose is not None:
            purpose, groups = self.purpose, self.purpose.groups(self.scenarios)
            own.sort(key=lambda name: purpose.key(self.results[name], groups))
        return [one for name in own for one in (name, *(other for other, of in self.beside.items() if of == name))]

    def difference(self, variant: str, metric: str) -> Statistic:
        """Return a variant's metric less that of the reference in the same world, seed by seed.

        The statistic has mean, deviation and 95 % interval. Where a run of either has no value, the mean is None.
        """
        own, other = (
            {record["seed"]: _value(record, metric) for record in self.results[name].runs}
            for name in (variant, self.reference_of(variant))
        )
        return paired(own, other)

    def rows(self, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return one row for each variant and metric: its mean, and its difference from the reference.

        What a variant or the reference does not measure is None.
        """
        rows: list[dict[str, Any]] = []
        for variant, result in self.results.items():
            for metric in result.summary if names is None else names:
                known = all(metric in self.results[one].summary for one in (variant, self.reference_of(variant)))
                difference = self.difference(variant, metric) if known else NOTHING
                low, high = difference["ci95"] or (None, None)
                mean = result.summary[metric]["mean"] if metric in result.summary else None
                row = {"variant": variant, "metric": metric, "mean": mean, "difference": difference["mean"]}
                rows.append({**row, "ci95_low": low, "ci95_high": high, "n": difference["n"]})
        return rows

    def table(self, names: Sequence[str] | None = None) -> "pa.Table":
        """Return `rows` as an Arrow table."""
        import pyarrow as pa

        numbers = [(name, pa.float64()) for name in ("mean", "difference", "ci95_low", "ci95_high")]
        texts = [("variant", pa.string()), ("metric", pa.string())]
        return pa.Table.from_pylist(self.rows(names), pa.schema([*texts, *numbers, ("n", pa.int64())]))

    def to_pandas(self, names: Sequence[str] | None = None) -> "pd.DataFrame":
        """Return `table` as a pandas data frame; pandas must be installed."""
        frame: pd.DataFrame = self.table(names).to_pandas()
        return frame

    @property
    def scenarios(self) -> list[Record]:
        """The scenario of each variant, every default written out."""
        return [result.scenario for result in self.results.values()]

    @property
    def columns(self) -> list[Column]:
        """What is worth comparing, by what the reference contains; what the purpose is about comes first."""
        first = [] if self.purpose is None else self.purpose.groups(self.scenarios)
        return purposes.columns(self.results[self.reference].scenario, first)

    def mean(self, variant: str, metric: str) -> float | None:
        """Return the mean of a variant's metric over its runs; None where it has none."""
        found = self.results[variant].summary.get(metric)
        return None if found is None else found["mean"]

    def is_beyond_chance(self, variant: str, metric: str) -> bool:
        """Return whether the 95 % interval of a variant's difference from its reference excludes 0."""
        if any(metric not in self.results[name].summary for name in (variant, self.reference_of(variant))):
            return False
        interval = self.difference(variant, metric)["ci95"]
        return interval is not None and not interval[0] <= 0 <= interval[1]


def _value(record: Mapping[str, Any], metric: str) -> float | None:
    found = metrics.values(record)
    if metric not in found:
        raise unknown_name("no metric of these runs is called", metric, list(found))
    return found[metric]
