"""Statistics of values that runs measured: mean, spread, intervals, quantiles, fairness.

A value stands for a run: the unit of replication. One rule for what is missing: where a run gives no value (None), the
statistics are None too, since those of the other runs would mislead; `n` counts the runs that have a value.
"""

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from sojourn.data import metrics

if TYPE_CHECKING:
    from typing import Any

CONFIDENCE = 0.95
QUANTILES = {"p10": 0.1, "p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
"""The quantiles over runs, by name."""
# The same values always have the same bootstrap interval.
_BOOTSTRAP_SEED = 1
# Above so many degrees of freedom the series in their inverse is exact to double precision.
_MANY_DEGREES = 1000.0
_QUARTER = 0.25
_TINY = 1e-300
_EPSILON = 1e-16


_APART = ((10, 3.0), (8, 5.0), (6, 8.0))
"""With so many values or more, a gap must be so many times as wide as what lies on either side of it."""
_LEAST_OF_A_STATE = 3
_MATTERS = 0.1
"""States that lie closer together than this part of their values are one."""


_Z = 1.959963984540054  # of a 95 % interval


class States(NamedTuple):
    """Values that lie in two places with a gap between them, so that their mean describes none of them."""

    low: int
    """How many lie below the gap."""
    low_mean: float
    high: int
    high_mean: float


class Statistic(TypedDict):
    """One metric over several runs, in the metric's own unit."""

    mean: float | None
    sd: float | None
    """Sample standard deviation."""
    ci95: tuple[float, float] | None
    """Student's 95 % confidence interval of the mean."""
    n: int


class Line(TypedDict, total=False):
    """The statistics of one metric over runs, in the metric's own unit; what cannot be given is left out."""

    metric: str
    unit: str
    n: int
    """How many runs have a value."""
    missing: int
    """How many runs have none, where there are any; then there are no statistics."""
    mean: float
    sd: float
    """Sample standard deviation."""
    ci95_low: float
    """Student's 95 % interval of the mean."""
    ci95_high: float
    bootstrap_low: float
    """95 % bootstrap interval of the mean (bias-corrected and accelerated), where one was asked for."""
    bootstrap_high: float
    cov: float
    """Coefficient of variation: standard deviation over mean."""
    jain: float
    """Jain's fairness index of the values."""
    low_n: int
    """Where the runs lie in two places with a gap between them: how many lie below it."""
    low_mean: float
    high_n: int
    high_mean: float
    p10: float
    """A quantile over the runs; given where at least one run lies beyond it, from 10 runs on for this one."""
    p50: float
    p90: float
    p95: float
    p99: float
    p999: float


def summarize(records: "Sequence[Mapping[str, Any]]") -> dict[str, Statistic]:
    """Return the statistics of every metric that occurs in the records of a scenario's runs."""
    rows = [metrics.values(record) for record in records]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: statistic([row.get(name) for row in rows]) for name in names}


def statistic(values: Sequence[float | None]) -> Statistic:
    """Return mean, sample standard deviation and Student's 95 % interval of the mean.

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


def line(metric: str, values: Iterable[float | None], *, resamples: int = 0) -> Line:
    """Return all statistics of a metric's values, one value for each run.

    `resamples` above zero adds a bootstrap interval of the mean from so many resamples.

    >>> found = line("share", [0.25, 0.75])
    >>> found["n"], found["mean"], found["jain"]
    (2, 0.5, 0.8)
    >>> line("rtt_ms_mean", [20.0, None])
    {'metric': 'rtt_ms_mean', 'unit': 'ms', 'n': 1, 'missing': 1}
    """
    given = list(values)
    basic = statistic(given)
    registered = metrics.find(metric)
    found: Line = {"metric": metric, "unit": registered.unit if registered else "", "n": basic["n"]}
    known = [value for value in given if value is not None]
    mean, sd, interval = basic["mean"], basic["sd"], basic["ci95"]
    if mean is None:
        return found if len(known) == len(given) else {**found, "missing": len(given) - len(known)}
    found["mean"] = mean
    if sd is not None and interval is not None:
        found |= {"sd": sd, "ci95_low": interval[0], "ci95_high": interval[1]}
        if mean:
            found["cov"] = sd / mean
        if resamples:
            found["bootstrap_low"], found["bootstrap_high"] = bootstrap(known, resamples)
    fairness = jain(known)
    if fairness is not None:
        found["jain"] = fairness
    apart = states(known)
    if apart is not None:
        found |= {"low_n": apart.low, "low_mean": apart.low_mean, "high_n": apart.high, "high_mean": apart.high_mean}
    found.update(quantiles(known))  # type: ignore[typeddict-item]
    return found


def states(values: Sequence[float]) -> States | None:
    """Return the two states in which the values lie; None where no gap between them is wide enough to say so.

    From 6 values on, three or more on each side of the gap, which must be 8 times as wide as either side (from 8 values
    on 5 times, from 10 on 3 times) and a tenth of the values. Fewer than one in two hundred samples of 6 to 30 values
    of one uniform, normal, exponential or log-normal law has such a gap, and of most laws and sizes one in a thousand.
    What comes in steps, such as counts, is in a state as wide as a step at least.

    >>> states([0.32, 0.41, 3.1, 0.35, 3.6, 3.3, 0.38, 3.4])
    States(low=4, low_mean=0.365, high=4, high_mean=3.35)
    >>> states([0.32, 0.41, 0.35, 0.38, 0.36, 0.33]) is None
    True
    """
    n = len(values)
    factor = next((factor for least, factor in _APART if n >= least), None)
    if factor is None:
        return None
    ordered = sorted(values)
    steps = [above - below for below, above in itertools.pairwise(ordered)]
    step = min((one for one in steps if one > 0), default=0.0) if 0 in steps else 0.0
    for place in range(_LEAST_OF_A_STATE, n - _LEAST_OF_A_STATE + 1):
        low, high = ordered[:place], ordered[place:]
        gap, width = high[0] - low[-1], max(low[-1] - low[0], high[-1] - high[0], step)
        if gap > factor * width and gap > _MATTERS * max(abs(low[0]), abs(high[-1])):
            return States(len(low), _mean(low), len(high), _mean(high))
    return None


def paired(one: Mapping[int, float | None], other: Mapping[int, float | None]) -> Statistic:
    """Return the statistics of the differences, `one` minus `other`, over the seeds that both have.

    Runs with the same seed share what is drawn at random, such as the start of a flow, so that the interval of their
    differences is narrower than that of the difference of two means.

    >>> paired({1: 5.0, 2: 7.0, 3: 9.0}, {1: 4.0, 2: 6.0, 4: 0.0})
    {'mean': 1.0, 'sd': 0.0, 'ci95': (1.0, 1.0), 'n': 2}
    """
    return statistic(list(differences(one, other).values()))


def differences(one: Mapping[int, float | None], other: Mapping[int, float | None]) -> dict[int, float | None]:
    """Return `one` minus `other` for each seed that both have; None where one of them has no value.

    >>> differences({1: 5.0, 2: 7.0, 3: None}, {1: 4.0, 3: 6.0})
    {1: 1.0, 3: None}
    """
    pairs = {seed: (one[seed], other[seed]) for seed in one if seed in other}
    return {seed: None if here is None or there is None else here - there for seed, (here, there) in pairs.items()}


def quantiles(values: Sequence[float]) -> dict[str, float]:
    """Return the quantiles over runs that the values can tell: at least one value is expected beyond each.

    >>> quantiles([1.0, 2.0, 3.0])
    {'p50': 2.0}
    """
    ordered = sorted(values)
    # The tolerance is for parts that binary fractions do not hold exactly: 10 x (1 - 0.9) is below 1.
    return {
        name: _quantile(ordered, part)
        for name, part in QUANTILES.items()
        if len(ordered) * min(part, 1 - part) >= 1 - 1e-9
    }


def wilson(part: float, count: float) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a proportion.

    >>> [round(end, 3) for end in wilson(1.0, 30)]
    [0.886, 1.0]
    """
    middle = (part + _Z**2 / (2 * count)) / (1 + _Z**2 / count)
    half = _Z * math.sqrt(part * (1 - part) / count + _Z**2 / (4 * count**2)) / (1 + _Z**2 / count)
    return max(0.0, middle - half), min(1.0, middle + half)


def jain(values: Sequence[float]) -> float | None:
    """Return Jain's fairness index, (sum x)^2 / (n sum x^2); None where all values are zero.

    >>> jain([3.0, 3.0]), jain([1.0, 0.0]), jain([0.0, 0.0])
    (1.0, 0.5, None)
    """
    squares = math.fsum(value**2 for value in values)
    return math.fsum(values) ** 2 / (len(values) * squares) if squares > 0 else None


def bootstrap(values: Sequence[float], resamples: int) -> tuple[float, float]:
    """Return the bias-corrected and accelerated 95 % bootstrap interval of the mean; the same values give the same."""
    if min(values) == max(values):
        # Without spread there is nothing to correct for.
        return values[0], values[0]
    import numpy as np
    from scipy.stats import bootstrap as resampled

    interval = resampled(
        (np.asarray(values),), np.mean, n_resamples=resamples, confidence_level=CONFIDENCE, rng=_BOOTSTRAP_SEED
    ).confidence_interval
    return float(interval.low), float(interval.high)


@functools.cache
def student_quantile(probability: float, degrees_of_freedom: float) -> float:
    """Return the quantile of Student's t distribution, to about 12 digits.

    Importing scipy for this one function would take longer than most runs; the tests compare with it.
    """
    if not 0 < probability < 1 or not degrees_of_freedom > 0:
        raise ValueError(f"no quantile at probability {probability} with {degrees_of_freedom} degrees of freedom")
    tail = min(probability, 1 - probability)
    if tail == 0.5:  # noqa: PLR2004
        return 0.0
    sign = 1.0 if probability > tail else -1.0
    if degrees_of_freedom >= _MANY_DEGREES:
        # It takes fractions, decimals and random numbers with it: more than most runs.
        from statistics import NormalDist

        return sign * _quantile_of_many(-NormalDist().inv_cdf(tail), degrees_of_freedom)
    return sign * _solve(tail, degrees_of_freedom)


def _quantile_of_many(z: float, n: float) -> float:
    """Return the quantile with many degrees of freedom, `z` being that of the normal: Abramowitz and Stegun 26.7.5."""
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / n**power for power, term in enumerate(terms, 1))


def _solve(tail: float, n: float) -> float:
    """Return where the upper tail of Student's distribution has this probability, by bisected Newton steps."""
    low, high = 0.0, 1.0
    while _excess(high, tail, n) > 0:
        low, high = high, 2 * high
    at = (low + high) / 2
    scale = math.exp(math.lgamma((n + 1) / 2) - math.lgamma(n / 2)) / math.sqrt(n * math.pi)
    while True:
        excess = _excess(at, tail, n)
        low, high = (at, high) if excess > 0 else (low, at)
        density = scale * (1 + at * at / n) ** (-(n + 1) / 2)
        step = at + excess / density
        best = step if low < step < high else (low + high) / 2
        if abs(best - at) <= 4 * _EPSILON * best or high - low <= 4 * _EPSILON * high:
            return best
        at = best


def _excess(t: float, tail: float, n: float) -> float:
    """Return by how much the upper tail beyond `t` is more probable than `tail`, without cancellation."""
    if tail < _QUARTER:
        return 0.5 * _incomplete_beta(n / (n + t * t), n / 2, 0.5) - tail
    return (0.5 - tail) - 0.5 * _incomplete_beta(t * t / (n + t * t), 0.5, n / 2)


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularized incomplete beta function by its continued fraction (DLMF 8.17.22)."""
    if x in {0.0, 1.0}:
        return x
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    # Lentz's method: c and d are ratios of successive numerators and denominators.
    value = c = 1.0
    d = 0.0
    step = 0
    while True:
        half = step // 2
        if step == 0:
            term = 1.0
        elif step % 2:
            term = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            term = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        d = 1 / _not_zero(1 + term * d)
        c = _not_zero(1 + term / c)
        value *= c * d
        if abs(c * d - 1) < _EPSILON * 10 and step > 0:
            return front * (value - 1)
        step += 1


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def _quantile(ordered: Sequence[float], part: float) -> float:
    """Return a quantile by linear interpolation between order statistics (type 7 of Hyndman and Fan)."""
    place = part * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _mean(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    # The division may round to just outside the values it averages.
    return min(max(mean, min(values)), max(values))


def _standard_deviation(values: Sequence[float], mean: float) -> float:
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
