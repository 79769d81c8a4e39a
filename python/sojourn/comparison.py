"""Variants of a scenario side by side, on the same seeds, so that their difference has an interval of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn.api import Scenario
from sojourn.data import metrics
from sojourn.data.statistics import Statistic, paired
from sojourn.reading import input_error, unknown_name
from sojourn.report import Grid, difference_text, grid_html
from sojourn.result import Result

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

METRICS = (
    "bottleneck_utilization",
    "bottleneck_queue_ms_mean",
    "bottleneck_queue_ms_p99",
    "bottleneck_drop_rate",
    "jain_all",
)


@dataclass(frozen=True)
class Comparison:
    """What several variants measured with the same seeds."""

    results: Mapping[str, Result]
    """The result of each variant, the reference first."""

    @property
    def reference(self) -> str:
        """Name of the variant that the others are compared with."""
        return next(iter(self.results))

    def difference(self, variant: str, metric: str) -> Statistic:
        """Return a variant's metric less the reference's, seed by seed: mean, deviation and 95 % interval.

        Where a run of either has no value, the mean is None.
        """
        own, other = (
            {record["seed"]: _value(record, metric) for record in self.results[name].runs}
            for name in (variant, self.reference)
        )
        return paired(own, other)

    def table(self, names: Sequence[str] | None = None) -> "pa.Table":
        """Return one row for each variant and metric: its mean, and its difference from the reference."""
        import pyarrow as pa

        rows = []
        for variant, result in self.results.items():
            for metric in result.summary if names is None else names:
                difference = self.difference(variant, metric)
                low, high = difference["ci95"] or (None, None)
                mean = result.summary[metric]["mean"] if metric in result.summary else None
                row = {"variant": variant, "metric": metric, "mean": mean, "difference": difference["mean"]}
                rows.append({**row, "ci95_low": low, "ci95_high": high, "n": difference["n"]})
        numbers = [(name, pa.float64()) for name in ("mean", "difference", "ci95_low", "ci95_high")]
        texts = [("variant", pa.string()), ("metric", pa.string())]
        return pa.Table.from_pylist(rows, pa.schema([*texts, *numbers, ("n", pa.int64())]))

    def to_pandas(self, names: Sequence[str] | None = None) -> "pd.DataFrame":
        """Return `table` as a pandas data frame; pandas must be installed."""
        frame: pd.DataFrame = self.table(names).to_pandas()
        return frame

    def grid(self) -> Grid:
        """Tabulate the usual metrics: the reference's means, then the others' differences from them."""
        rows = []
        for variant, result in self.results.items():
            shown = [
                difference_text(result.summary.get(metric), None)
                if variant == self.reference
                else difference_text(None, self.difference(variant, metric))
                for metric in METRICS
            ]
            rows.append([variant, *shown])
        return Grid([f"difference from {self.reference}", *METRICS], rows)

    def __repr__(self) -> str:
        others = ", ".join(name for name in self.results if name != self.reference)
        return (
            f"<sojourn.Comparison of {self.reference} with {others}: {len(self.results[self.reference].runs)} run(s)>"
        )

    def _repr_html_(self) -> str:
        return grid_html(self.grid())


def compare(variants: Mapping[str, Scenario], *, runs: int = 10, **options: Any) -> Comparison:
    """Run variants with the same seeds; the first one is the reference.

    `runs` is the number of runs of each; `options` are those of `Scenario.run`. Raises InputError where there are fewer
    than two variants.

    >>> import sojourn
    >>> base = sojourn.Scenario.load("motivating-droptail", {"duration": "2 s"})
    >>> found = sojourn.compare({"droptail": base, "codel": base.with_(queue="codel")}, runs=2)
    >>> found.difference("codel", "bottleneck_queue_ms_mean")["mean"] < 0
    True
    """
    if len(variants) < 2:  # noqa: PLR2004 (one has nothing to differ from)
        raise input_error(f"found {len(variants)} variant(s); allowed: at least two scenarios by name")
    seed = next(iter(variants.values())).seed
    options = {"series": False, "seed": seed, **options}
    return Comparison({name: variant.run(runs=runs, **options) for name, variant in variants.items()})


def _value(record: Mapping[str, Any], metric: str) -> float | None:
    found = metrics.values(record)
    if metric not in found:
        raise unknown_name("no metric of these runs is called", metric, list(found))
    return found[metric]
