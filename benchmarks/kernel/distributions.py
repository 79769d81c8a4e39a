"""Disciplines that draw lots: is the kernel's run one that Sojourn's queue could have had?

The same arrivals go through Sojourn's queue with many seeds. Each statistic below says how far one run is from what is
usual among the replays; the kernel's run is ranked among them. If both follow the same rules every rank is equally
likely, so a kernel's run further out than nearly all replays is a disagreement.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.kernel.cases import Case
from benchmarks.kernel.compare import Fates, Replayer, recorded
from benchmarks.kernel.recording import Recording

REPLAYS = 499
"""Seeds of Sojourn's side."""

MIN_RANK = 1 / (1 + REPLAYS)
"""The smallest p that a rank among so many replays can have: further out than all of them."""

_BIN_S = 2.0
_AVERAGES = 12
_ENOUGH = 20
"""Packets in a bin of which a share can be told."""
_FEW = 1000
"""Thresholds below are in packets, as CHOKe's."""
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Statistic:
    """A number, a series or a sample of each run, and how two such are laid side by side."""

    name: str
    unit: str
    of: Callable[[Case, Recording, Fates], Numbers]
    is_sample: bool = False


def dropped(_: Case, __: Recording, fates: Fates) -> Numbers:
    """Return the share of packets that were dropped, in per cent."""
    return np.array([100 * np.mean(~fates.left)])


def marked(_: Case, __: Recording, fates: Fates) -> Numbers:
    """Return the share of packets that were marked, in per cent."""
    return np.array([100 * np.mean(fates.marked)])


def delay(_: Case, recording: Recording, fates: Fates) -> Numbers:
    """Return the mean delay of packets that left: ms."""
    return np.array([np.mean(_delays_ms(recording, fates))])


def delay_over_time(_: Case, recording: Recording, fates: Fates) -> Numbers:
    """Return the mean delay by time of arrival, in bins."""
    return _binned(_delays_ms(recording, fates), _bins(recording)[fates.left], _bins(recording).max() + 1)


def signals_over_time(_: Case, recording: Recording, fates: Fates) -> Numbers:
    """Return the share of packets that were dropped or marked by time of arrival, in bins."""
    signalled = (~fates.left | fates.marked).astype(float)
    return _binned(signalled, _bins(recording), _bins(recording).max() + 1)


def gaps(_: Case, __: Recording, fates: Fates) -> Numbers:
    """Return how many packets came from each that was dropped or marked to the next."""
    return np.diff(np.flatnonzero(~fates.left | fates.marked)).astype(float)


def signals_by_average(_: Case, recording: Recording, fates: Fates) -> Numbers:
    """Return the share of packets that were dropped or marked by the average queue that they found.

    The queue that a packet finds is that of packets which came before it and left, or have yet to leave; the average
    has the weight that the kernel reports, and does not know of idle time.
    """
    options = next(qdisc for qdisc in recording.about["qdiscs"] if qdisc.get("handle") == "10:")["options"]
    units = np.ones(recording.packets) if options["max"] < _FEW else recording.bytes.astype(float)
    averages = _averages(recording, fates, units, 2.0 ** -options["ewma"])
    least, most = options["min"], options["max"]
    bins = np.clip((averages - least) / (most - least) * (_AVERAGES - 2) + 1, 0, _AVERAGES - 1).astype(int)
    return _binned((~fates.left | fates.marked).astype(float), bins, _AVERAGES)


def statistics(case: Case) -> list[Statistic]:
    """Return what is compared in `case`."""
    wanted = [
        Statistic("dropped", "%", dropped),
        Statistic("mean delay", "ms", delay),
        Statistic("signals over time", "", signals_over_time),
        Statistic("delay over time", "", delay_over_time),
        Statistic("gaps between signals", "", gaps, is_sample=True),
    ]
    if any(flow.tos & 3 for flow in case.load.flows):
        wanted.append(Statistic("marked", "%", marked))
    if case.averages:
        wanted.append(Statistic("signals by average queue", "", signals_by_average))
    return wanted


def compare(case: Case, recording: Recording, replays: int = REPLAYS) -> dict[str, Any]:
    """Return for each statistic the kernel's value, that of the replays, and the rank."""
    kernel = recorded(recording)
    replayer = Replayer(case, recording)
    ours = [replayer.fates(seed) for seed in range(1, replays + 1)]
    rows = [_row(statistic, case, recording, kernel, ours) for statistic in statistics(case)]
    return {"packets": recording.packets, "replays": replays, "statistics": rows}


def _row(statistic: Statistic, case: Case, recording: Recording, kernel: Fates, ours: list[Fates]) -> dict[str, Any]:
    value = statistic.of(case, recording, kernel)
    values = [statistic.of(case, recording, fates) for fates in ours]
    distance = _sample_distances(value, values) if statistic.is_sample else _distances(value, np.array(values))
    # The kernel's run is one of the runs that are ranked.
    rank = (1 + int(np.count_nonzero(distance[1:] >= distance[0]))) / (1 + len(ours))
    row: dict[str, Any] = {"name": statistic.name, "unit": statistic.unit, "p": rank}
    if len(value) == 1:
        row |= {"kernel": float(value[0]), "mean": float(np.mean(values)), "sd": float(np.std(values))}
    else:
        row |= {"distance": float(distance[0]), "usual": float(np.median(distance[1:]))}
    return row


def _distances(value: Numbers, values: Numbers) -> Numbers:
    """Return how far the kernel's and each replay's numbers are from the mean: in standard deviations, rms."""
    known = ~np.isnan(values).any(axis=0) & ~np.isnan(value)
    values, value = values[:, known], value[known]
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    all_runs = np.vstack([value[None, :], values])
    scaled = np.where(deviation > 0, (all_runs - mean) / np.where(deviation > 0, deviation, 1), all_runs - mean)
    distances: Numbers = np.sqrt((scaled**2).mean(axis=1))
    return distances


def _sample_distances(value: Numbers, values: list[Numbers]) -> Numbers:
    """Return the largest distance of each run's cumulative distribution from that of all replays together."""
    pooled = np.sort(np.concatenate(values))
    points = np.unique(pooled)
    usual = np.searchsorted(pooled, points, side="right") / len(pooled)

    def distance(sample: Numbers) -> float:
        shares = np.searchsorted(np.sort(sample), points, side="right") / max(1, len(sample))
        return float(np.max(np.abs(shares - usual)))

    return np.array([distance(sample) for sample in [value, *values]])


def _delays_ms(recording: Recording, fates: Fates) -> Numbers:
    delays: Numbers = (fates.left_ns - recording.arrived_ns)[fates.left] / 1e6
    return delays


def _bins(recording: Recording) -> NDArray[np.int64]:
    bins: NDArray[np.int64] = ((recording.arrived_ns - recording.arrived_ns[0]) / (_BIN_S * 1e9)).astype(np.int64)
    return bins


def _binned(values: Numbers, bins: NDArray[np.int64], count: int) -> Numbers:
    """Return the mean of `values` in each bin; NaN where there are few."""
    numbers = np.bincount(bins, minlength=count)
    sums = np.bincount(bins, values, minlength=count)
    return np.where(numbers >= _ENOUGH, sums / np.maximum(numbers, 1), np.nan)


def _averages(recording: Recording, fates: Fates, units: Numbers, weight: float) -> Numbers:
    """Return RED's average of what waited at each arrival, in whatever a packet counts `units` of."""
    counted = np.where(fates.left, units, 0)
    into = np.cumsum(counted) - counted
    order = np.argsort(fates.left_ns[fates.left], kind="stable")
    times = fates.left_ns[fates.left][order]
    out = np.concatenate([[0], np.cumsum(units[fates.left][order])])
    waiting = into - out[np.searchsorted(times, recording.arrived_ns, side="left")]
    averages, average = np.empty(len(waiting)), 0.0
    for index, now in enumerate(waiting.tolist()):
        average += weight * (now - average)
        averages[index] = average
    return averages
