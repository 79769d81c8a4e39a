"""Statistics of a dataset: one line for each group of rows and each metric."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from sojourn.reading import input_error, unknown_name
from sojourn.summary import student_quantile
from sojourn.sweep.rows import ERROR, GROUP, POINT, SEED

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

METRICS = ("share", "goodput_mbps", "bottleneck_utilization", "bottleneck_queue_ms_mean", "bottleneck_drop_rate")
CONFIDENCE = 0.95
# The same dataset always gives the same bootstrap intervals.
_BOOTSTRAP_SEED = 1
_PLACE = "place in the table"
_QUANTILES = {"p10": 0.1, "p50": 0.5, "p90": 0.9}


class Line(TypedDict, total=False):
    """The statistics of one metric over the rows that share their values of `by`, in the metric's own unit."""

    metric: str
    n: int
    mean: float | None
    sd: float | None
    """Sample standard deviation."""
    ci95_low: float | None
    """Student's 95 % interval of the mean."""
    ci95_high: float | None
    bootstrap_low: float | None
    """95 % bootstrap interval of the mean (bias-corrected and accelerated), where one was asked for."""
    bootstrap_high: float | None
    cov: float | None
    """Coefficient of variation: standard deviation over mean."""
    jain: float | None
    """Jain's fairness index of the values."""
    p10: float | None
    p50: float | None
    p90: float | None


def statistics(
    table: "pa.Table", by: Sequence[str], metrics: Sequence[str] = METRICS, *, resamples: int = 0
) -> list[dict[str, Any]]:
    """Return a line for each combination of the columns `by`, in the table's order, and each metric.

    Failed runs and values that a run does not have are left out; `n` counts the others. `resamples` above zero
    adds bootstrap intervals from so many resamples. Raises InputError where there is no such column.
    """
    import pyarrow as pa

    for name in (*by, *metrics):
        if name not in table.column_names:
            raise unknown_name("the dataset has no column", name, table.column_names)
    for name in metrics:
        if not _is_number(table, name):
            raise input_error(f"the column {name!r} holds no numbers", key=name)
    sound = table.filter(table[ERROR].is_null()) if ERROR in table.column_names else table
    place = pa.array(range(len(sound)), pa.int64())
    grouped = sound.select([*by, *metrics]).append_column(_PLACE, place).group_by(list(by), use_threads=False)
    rows = grouped.aggregate([(_PLACE, "min"), *((name, "list") for name in metrics)]).to_pylist()
    # Arrow promises no order of its groups.
    rows.sort(key=lambda row: row[f"{_PLACE}_min"])
    return [
        {**{name: row[name] for name in by}, **line(metric, row[f"{metric}_list"], resamples=resamples)}
        for row in rows
        for metric in metrics
    ]


def line(metric: str, values: Iterable[float | None], *, resamples: int = 0) -> Line:
    """Return the statistics of some values.

    >>> found = line("share", [0.25, 0.75])
    >>> found["n"], found["mean"], found["jain"]
    (2, 0.5, 0.8)
    """
    import numpy as np

    known = np.array([value for value in values if value is not None], dtype=np.float64)
    n = len(known)
    if n == 0:
        return {"metric": metric, "n": 0}
    mean = float(known.mean())
    found: Line = {"metric": metric, "n": n, "mean": mean, "jain": _jain(known)}
    for name, part in _QUANTILES.items():
        found[name] = float(np.quantile(known, part))  # type: ignore[literal-required]
    if n == 1:
        return found
    sd = float(known.std(ddof=1))
    half = student_quantile(0.5 + CONFIDENCE / 2, n - 1) * sd / math.sqrt(n)
    found |= {"sd": sd, "ci95_low": mean - half, "ci95_high": mean + half, "cov": sd / mean if mean else None}
    if resamples:
        low, high = _bootstrap(known, resamples)
        found |= {"bootstrap_low": low, "bootstrap_high": high}
    return found


def axes_of(table: "pa.Table", names: Sequence[str]) -> list[str]:
    """Return the columns that tell points apart: those of `names` and the group."""
    return [name for name in (*names, GROUP) if name in table.column_names and name not in {POINT, SEED}]


def columns(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of all values in the lines, in order."""
    return list(dict.fromkeys(name for one in lines for name in one))


def _is_number(table: "pa.Table", name: str) -> bool:
    import pyarrow as pa

    kind = table.schema.field(name).type
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def _jain(values: "npt.NDArray[np.float64]") -> float | None:
    squares = float((values**2).sum())
    return float(values.sum()) ** 2 / (len(values) * squares) if squares > 0 else None


def _bootstrap(values: "npt.NDArray[np.float64]", resamples: int) -> tuple[float, float]:
    import numpy as np
    from scipy.stats import bootstrap

    if np.ptp(values) == 0:
        # Without spread there is nothing to correct for.
        return float(values[0]), float(values[0])
    interval = bootstrap(
        (values,), np.mean, n_resamples=resamples, confidence_level=CONFIDENCE, rng=_BOOTSTRAP_SEED
    ).confidence_interval
    return float(interval.low), float(interval.high)
