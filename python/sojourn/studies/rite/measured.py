"""What is measured of single runs of RITE's report."""

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sojourn.data.dataset import Dataset
from sojourn.data.rows import GROUP, GROUPS, POINT, RUNS, SEED
from sojourn.study import Number, measure
from sojourn.study.synchrony import Synchrony
from sojourn.sweeps.plan import Plan

from .settings import NOTHING, OBJECTS, SEGMENT_BYTES, SEGMENT_BYTES_NS2, TRANSFERS

Row = tuple[dict[str, Any], str, str, Number]
Trace = tuple[list[float], list[float]]
"""Times in seconds, and a value at each."""

BUFFER_MS, BUFFER_FULL = 1000.0, 0.9
SETTLED_S = 120.0
"""The flow has found its first target; a climb is measured from here on."""
_HOUR_S = 3600.0
_THINNED = 15
"""One of so many bins of 20 s is kept for figures."""


def traces(dataset: Dataset, kept: str, column: str, **where: str) -> dict[tuple[int, int], Trace]:
    """Return, by point and seed, a column of a table of time series; bins without a value are left out."""
    import pyarrow.compute as pc

    table = dataset.table(kept)
    for name, value in where.items():
        table = table.filter(pc.equal(table[name], value))
    found: dict[tuple[int, int], Trace] = {}
    rows = (table[name].to_pylist() for name in (POINT, SEED, "time_s", column))
    for point, seed, time_s, value in sorted(zip(*rows, strict=True), key=lambda row: row[:3]):
        times_s, values = found.setdefault((point, seed), ([], []))
        if value is not None:
            times_s.append(time_s)
            values.append(value)
    return found


def runs(dataset: Dataset, metric: str, group: str | None = None) -> dict[int, list[float]]:
    """Return, by point, a metric in each run, in the order of the seeds."""
    table = dataset.table(RUNS if group is None else GROUPS)
    groups = table[GROUP].to_pylist() if group is not None else [None] * len(table)
    rows = zip(*(table[name].to_pylist() for name in (POINT, SEED, metric)), groups, strict=True)
    found: dict[int, list[float]] = {}
    for point, _, value, of in sorted(rows, key=lambda row: row[:2]):
        if of == group:
            found.setdefault(point, []).append(value)
    return found


def _by_point(values: Mapping[tuple[int, int], float | None]) -> dict[int, Number]:
    found: dict[int, list[float | None]] = {}
    for (point, _), value in values.items():
        found.setdefault(point, []).append(value)
    return {point: Number.of(of) for point, of in found.items()}


@measure("drift-climbs", of="drift")
@measure("cures-climbs", of="cures")
@measure("skew-climbs", of="skew")
def climbs(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield how fast the queue of a flow alone climbs, when it is full, and what it is in the last hour."""
    delays = traces(dataset, "queue", "queue_ms")
    measures: dict[str, Callable[[Trace], float | None]] = {
        "climb_ms_per_min": climb_ms_per_min,
        "full_min": full_min,
        "last_hour_ms": lambda trace: statistics.fmean(trace[1][-sum(t >= trace[0][-1] - _HOUR_S for t in trace[0]) :]),
    }
    for metric, function in measures.items():
        for point, number in _by_point({run: function(trace) for run, trace in delays.items()}).items():
            yield plan.point(point).coordinates, "", metric, number


def climb_ms_per_min(trace: Trace) -> float | None:
    """Return by how much the delay climbs in a minute, by least squares, from the first target to the full buffer.

    >>> climb_ms_per_min(([60.0, 120.0, 180.0, 240.0, 300.0], [0.0, 100.0, 110.0, 120.0, 950.0]))
    10.0
    """
    until = itertools.takewhile(lambda bin_: bin_[1] <= BUFFER_FULL * BUFFER_MS, zip(*trace, strict=True))
    climbing = [(time_s / 60, delay) for time_s, delay in until if time_s >= SETTLED_S]
    return statistics.linear_regression(*zip(*climbing, strict=True)).slope if len(climbing) > 1 else None


def full_min(trace: Trace) -> float | None:
    """Return after how many minutes the buffer is full for the first time; None where it never is.

    >>> full_min(([60.0, 120.0], [100.0, 990.0]))
    2.0
    """
    return next((time_s / 60 for time_s, delay in zip(*trace, strict=True) if delay > BUFFER_FULL * BUFFER_MS), None)


@measure("drift-traces", of="drift")
@measure("cures-traces", of="cures")
def first_runs(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield delay and believed base delay of the first run over time."""
    for metric, kept in (
        ("queue_ms", traces(dataset, "queue", "queue_ms")),
        ("base_ms", traces(dataset, "flow_probes", "value", name="base_delay_ms")),
    ):
        for (point, seed), trace in kept.items():
            if seed == plan.first_seed:
                for time_s, value in list(zip(*trace, strict=True))[::_THINNED]:
                    yield plan.point(point).coordinates | {"time_min": time_s / 60}, "", metric, Number(value, 0.0, 1)


@measure("yields", of="short")
@measure("yields-ns2", of="short-ns2")
def yields(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield what a transfer costs the long flow, run by run, against the same run without transfers.

    The part that it yields is what it delivers less, over what it would deliver in the time of the transfer. The cost
    is the same over the size of the transfer.
    """
    count, apart_s = TRANSFERS
    long, fct = runs(dataset, "goodput_mbps", "background"), runs(dataset, "fct_ms_mean", "tcp")
    points = {point: plan.point(point).coordinates for point in long}
    alone = {tuple(at.items())[:1]: point for point, at in points.items() if at["segments"] == 0}
    for point, at in points.items():
        if at["segments"] == 0 or at.get("beside") == "nobody else":
            continue
        rates = long[alone[tuple(at.items())[:1]]]
        costs_mbit = [
            (all_ - left) * (1 + count * apart_s) / count for all_, left in zip(rates, long[point], strict=True)
        ]
        parts = [100 * c / (r * t / 1e3) for c, r, t in zip(costs_mbit, rates, fct[point], strict=True)]
        payload_bytes = SEGMENT_BYTES_NS2 if "rate_mbps" in at else SEGMENT_BYTES
        size_mbit = at["segments"] * payload_bytes * 8 / 1e6
        yield at, "", "yielded_percent", Number.of(parts)
        yield at, "", "kept_percent", Number.of([100 - part for part in parts])
        yield at, "", "cost_sizes", Number.of([cost / size_mbit for cost in costs_mbit])


RISE_RTTS_MS = (10, 20, 50, 100, 200)
RISE_S, SCALE_MS = 20, 3.0


@measure("cdg-backoffs", of="cdg-rise")
def backoffs(_plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield how often a flow backs off while the delay rises; its law is the rise over the scale G."""
    law = Number.of(runs(dataset, "bottleneck_queue_ms_max")[0]).mean / SCALE_MS
    counts = {}
    for rtt_ms in RISE_RTTS_MS:
        counted = traces(dataset, "flow_probes", "value", name="backoffs", group=f"rtt{rtt_ms}")
        counts[rtt_ms] = Number.of([statistics.fmean(values) for _, values in counted.values()])
    middle = statistics.fmean(count.mean for count in counts.values())
    for rtt_ms, count in counts.items():
        rounds = RISE_S * 1e3 / Number.of(runs(dataset, "rtt_ms_mean", f"rtt{rtt_ms}")[0]).mean
        metrics = {"backoffs": 1, "of_mean_percent": 100 / middle, "of_law_percent": 100 / law, "per_round": 1 / rounds}
        for metric, factor in metrics.items():
            yield {"rtt_ms": rtt_ms}, "", metric, count.times(factor)


@measure("goodputs", of="aqms")
@measure("goodputs-down", of="wifi-down")
@measure("goodputs-up", of="wifi-both")
def goodputs(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield percentiles of the goodput of all flows in bins, over all runs; beside uploads that of the uploads."""
    import numpy as np
    import pyarrow.compute as pc

    flows = dataset.table("flows")
    measured = flows.filter(pc.greater_equal(flows["time_s"], _MEASURED_FROM_S[plan.name]))
    if plan.name == "wifi-both":
        measured = measured.filter(pc.equal(measured[GROUP], "up"))
    sums = measured.group_by([POINT, SEED, "time_s"]).aggregate([("delivered_bytes", "sum")])
    values: dict[int, list[float]] = {}
    for point, delivered in zip(sums[POINT].to_pylist(), sums["delivered_bytes_sum"].to_pylist(), strict=True):
        values.setdefault(point, []).append(delivered * 8 / plan.bin_s / 1e6)
    for part in (10, 25, 50, 75, 90):
        for point in sorted(values):
            number = Number(float(np.quantile(values[point], part / 100)), 0.0, plan.seeds)
            yield plan.point(point).coordinates, "", f"goodput_mbps_p{part}", number


_MEASURED_FROM_S = {"aqms": 30.0, "wifi-down": 20.0, "wifi-both": 20.0}


CDF_PARTS = range(0, 101, 2)
"""Percent of the pages, for which a figure has the time that so many do not exceed."""


@measure("page-times", of="web")
def page_times(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield quantiles of the times of all pages of all runs: the objects of a page come one after the other."""
    import numpy as np

    objects = dataset.table("transfers")
    sums = objects.group_by([POINT, SEED, "index"]).aggregate([("completion_ms", "sum"), ("completion_ms", "count")])
    times: dict[int, list[float]] = {}
    columns = (sums[name].to_pylist() for name in (POINT, "completion_ms_sum", "completion_ms_count"))
    for point, time_ms, count in zip(*columns, strict=True):
        if count == OBJECTS:
            times.setdefault(point, []).append(time_ms)
    for point, values in sorted(times.items()):
        for part in CDF_PARTS:
            number = Number(float(np.quantile(values, part / 100)), 0.0, len(values))
            yield plan.point(point).coordinates | {"part_percent": part}, "", "page_ms", number


@measure("target-distances", of="aqm-targets")
def distances(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield how far the median delay is from the target, run by run."""
    for point, medians in runs(dataset, "bottleneck_queue_ms_p50").items():
        at = plan.point(point).coordinates
        away = Number.of([abs(median - at["target_ms"]) for median in medians])
        yield at, "", "distance_ms", away
        yield at, "", "distance_percent", away.times(100 / at["target_ms"])


@measure("exponents", of="mixed-rtts")
def exponents(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield b where rates fall with the base round-trip time to the power of -b, by least squares of logarithms."""
    rates = {rtt_ms: runs(dataset, "goodput_mbps", f"rtt{rtt_ms}") for rtt_ms in _MIXED_MS}
    for point in rates[_MIXED_MS[0]]:
        each = zip(*(rates[rtt_ms][point] for rtt_ms in _MIXED_MS), strict=True)
        yield plan.point(point).coordinates, "", "exponent", Number.of([exponent(run) for run in each])


_MIXED_MS = (10, 30, 100, 300)


def exponent(rates: Sequence[float]) -> float:
    """Return the exponent of rates at the four round-trip times.

    >>> round(exponent([30.0, 10.0, 3.0, 1.0]), 6)
    1.0
    """
    logarithms = ([math.log(value) for value in values] for values in (_MIXED_MS, rates))
    return -statistics.linear_regression(*logarithms).slope


@measure("rates", of="mixed-rtts")
def rates_by_rtt(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield the goodput of each of two flows by base round-trip time."""
    for rtt_ms in _MIXED_MS:
        for point, rates in runs(dataset, "goodput_mbps", f"rtt{rtt_ms}").items():
            yield plan.point(point).coordinates | {"rtt_ms": rtt_ms}, "", "flow_mbps", Number.of([r / 2 for r in rates])


# Section 4.1.2: whether flows lose packets at the same time.

FLOWS = 8
EPOCH_S = 0.2
"""The longest round-trip time there is, that with a full buffer: what answers a loss comes no later."""


@measure("losses", of="synchrony")
def losses_together(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield how far flows lose together."""
    table = dataset.table("packets", columns=(POINT, SEED, "time_ns", "index"), where={"event": "drop"})
    lost: dict[tuple[int, int], list[tuple[float, int]]] = {
        (point, seed): [] for point in range(plan.points) for seed in plan.all_seeds
    }
    for point, seed, time_ns, flow in zip(*(table[name].to_pylist() for name in table.column_names), strict=True):
        lost[point, seed].append((time_ns / 1e9, flow))
    found = {run: Synchrony.of(losses, FLOWS, EPOCH_S, 10, 60) for run, losses in lost.items()}
    parts: dict[str, Callable[[Synchrony], float]] = {
        "lose_together_percent": lambda one: 100 * one.share,
        "by_chance_percent": lambda one: 100 * one.by_chance,
        "above_chance_percent": lambda one: 100 * (one.share - one.by_chance),
        "correlation": lambda one: one.phi,
    }
    for metric, part in parts.items():
        for point, number in _by_point({run: part(one) for run, one in found.items()}).items():
            yield plan.point(point).coordinates, "", metric, number


# Section 4.1.1.2: what an access point drops.


@measure("wifi-ack-drops", of="wifi-drops")
def acknowledgements_dropped(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield the acknowledgements' part of what the access point drops, and the part of them that it drops."""
    table = dataset.table("packets", columns=(POINT, SEED, "event", "kind"))
    count = Counter(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))
    shares: dict[tuple[int, int], float] = {}
    losses: dict[tuple[int, int], float] = {}
    for point, seed in itertools.product(range(plan.points), plan.all_seeds):
        acks = count[point, seed, "drop", "ack"]
        shares[point, seed] = 100 * acks / (acks + count[point, seed, "drop", "data"])
        losses[point, seed] = 100 * acks / count[point, seed, "arrival", "ack"]
    for metric, found in (("acks_percent", shares), ("ack_loss_percent", losses)):
        for point, number in _by_point(found).items():
            yield plan.point(point).coordinates, "", metric, number


# Fig. 5.1: what is gained.


@measure("gained", of="remedies")
def gained(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield how many times shorter a page's time and a call's 99th percentile of delay in the queue are, run by run."""
    found = {"page": runs(dataset, "page_ms_mean", "web"), "call": runs(dataset, "queue_ms_p99", "call")}
    at = [plan.point(point).coordinates for point in range(plan.points)]
    (plain,) = (point for point, place in enumerate(at) if place["remedy"] == NOTHING)
    for what, times in found.items():
        for point, place in enumerate(at):
            if point != plain:
                parts = [other / one for one, other in zip(times[point], times[plain], strict=True)]
                yield place | {"what": what}, "", "gained", Number.of(parts)
