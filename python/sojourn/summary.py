"""Statistics over the runs of one scenario: mean, standard deviation and 95 % confidence interval.

The metrics are the numbers of the run record under their own names: `utilization`, `queue_ms.p99`, `jain`.
Those of a group carry its name at the end (`share.tcp`, `rtt_ms.mean.tcp`), those of other links in front
(`reverse.drop_rate`, `hops.gateway.utilization`).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

CONFIDENCE = 0.95


class Statistic(TypedDict):
    """One metric over several runs, in the metric's own unit."""

    mean: float | None
    sd: float | None
    ci95: tuple[float, float] | None
    n: int


def metrics(record: Mapping[str, Any]) -> dict[str, float | None]:
    """Return every metric of a run record under its dotted name.

    >>> metrics({"bottleneck": {"utilization": 0.9}, "groups": {"tcp": {"share": 1.0}}, "jain": None})
    {'utilization': 0.9, 'share.tcp': 1.0, 'jain': None}
    """
    found = dict(_leaves(record["bottleneck"], ""))
    if record.get("reverse") is not None:
        found.update(_leaves(record["reverse"], "reverse."))
    for name, hop in (record.get("hops") or {}).items():
        found.update(_leaves(hop, f"hops.{name}."))
    for name, group in record["groups"].items():
        found.update((f"{metric}.{name}", value) for metric, value in _leaves(group, ""))
    found["jain"] = record["jain"]
    return found


def summarize(records: Sequence[Mapping[str, Any]]) -> dict[str, Statistic]:
    """Return the statistics of every metric that occurs in the records of a scenario's runs."""
    rows = [metrics(record) for record in records]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: statistic([row.get(name) for row in rows]) for name in names}


def statistic(values: Sequence[float | None]) -> Statistic:
    """Return mean, sample standard deviation and Student's 95 % interval of the mean.

    Where a run gives no value (None), the mean over the others would mislead: all but their count is None.

    >>> statistic([1.0, 2.0, 3.0])["mean"]
    2.0
    >>> statistic([1.0, None])
    {'mean': None, 'sd': None, 'ci95': None, 'n': 1}
    """
    known = [value for value in values if value is not None]
    n = len(known)
    if n == 0 or n < len(values):
        return {"mean": None, "sd": None, "ci95": None, "n": n}
    mean = _mean(known)
    if n == 1:
        return {"mean": mean, "sd": None, "ci95": None, "n": n}
    sd = _standard_deviation(known, mean)
    half = student_quantile(0.5 + CONFIDENCE / 2, n - 1) * sd / math.sqrt(n)
    return {"mean": mean, "sd": sd, "ci95": (mean - half, mean + half), "n": n}


def student_quantile(probability: float, degrees_of_freedom: float) -> float:
    """Return the quantile of Student's t distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees_of_freedom, probability))


def _mean(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    # The division may round to just outside the values it averages.
    return min(max(mean, min(values)), max(values))


def _standard_deviation(values: Sequence[float], mean: float) -> float:
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def _leaves(tree: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, float | None]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
