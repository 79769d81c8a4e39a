"""What tables will not do of RITE's report: settings that depend on several axes, and measures of single runs."""

import itertools
import math
import os
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn.data.dataset import Dataset
from sojourn.data.rows import GROUP, GROUPS, POINT, RUNS, SEED
from sojourn.study import Means, Number, Outcome, changes, claim, measure
from sojourn.study.synchrony import Synchrony
from sojourn.sweeps.plan import Plan

Changes = dict[str, Any]
Asked = Changes | None

TARGET_MS = 100.0
WARMUP_S = 60
TRANSFERS, PAGES, FEW_PAGES = (6, 61.37), (16, 17.37), (4, 17.37)
"""So many in a run, so far apart in seconds: a number that no sender's rhythm divides."""
SEGMENT_BYTES, SEGMENT_BYTES_NS2 = 1448, 1460


@changes("drift")
def jitter(sender: str, jitter_targets: float) -> Asked:
    """Return jitter at the sender, or behind the bottleneck, which delays packets and keeps their order."""
    few = {"RFC 6817": (0.0, 0.5, 1.0, 2.0), "jitter on the path": (0.5, 1.0, 2.0), "libutp": (0.0,)}
    if jitter_targets not in few.get(sender, (jitter_targets,)):
        return None
    key = "bottleneck.jitter" if sender == "jitter on the path" else "group.background.transport.send_jitter"
    return {key: f"{jitter_targets * TARGET_MS:g} ms"}


def one_by_one(count: int, apart_s: float) -> Changes:
    """Return flows that begin one after the other, and a run that has time for all of them."""
    return {
        "duration": f"{WARMUP_S + 1 + count * apart_s:g} s",
        "group.tcp.flows": count,
        "group.tcp.start": [f"{WARMUP_S + 1 + apart_s * number:.2f} s" for number in range(count)],
    }


@changes("short", "short-queues")
def transfers(segments: int, payload_bytes: int = SEGMENT_BYTES) -> Changes:
    """Return transfers of a size, one after the other; none is one of a byte in the last tenth of a second."""
    found = one_by_one(*TRANSFERS)
    if segments == 0:
        count, apart_s = TRANSFERS
        late = {"group.tcp.flows": 1, "group.tcp.start": f"{WARMUP_S + 0.9 + count * apart_s:g} s"}
        return found | late | {"group.tcp.traffic": {"kind": "bulk", "size": "1 B"}}
    return found | {"group.tcp.traffic": {"kind": "bulk", "size": f"{segments * payload_bytes} B"}}


@changes("short-ns2")
def transfers_of_ns2(segments: int) -> Changes:
    """Return the same with ns-2's segments."""
    return transfers(segments, SEGMENT_BYTES_NS2)


@changes("web")
def pages() -> Changes:
    """Return pages, one after the other, each of a flow of its own."""
    return one_by_one(*PAGES)


@changes("web-objects")
def few_pages() -> Changes:
    """Return some pages in the same way."""
    return one_by_one(*FEW_PAGES)


@changes("cdg-loss")
def loss(loss_percent: float) -> Changes:
    """Return losses by chance."""
    return {"bottleneck.loss": loss_percent / 100}


FOLDER_VARIABLE = "SOJOURN_CELLULAR"
_RECORDED = {
    "EVDO (3G)": "Verizon-EVDO-driving.down",
    "UMTS (3.5G)": "TMobile-UMTS-driving.down",
    "LTE (4G)": "Verizon-LTE-short.down",
}


@changes("cellular", "cellular-queues", "cellular-buffers")
def on_a_link(source: str, cell: str, background: str, downloads: int, made: Mapping[str, Any]) -> Asked:
    """Return downloads beside a page, on a recorded link where SOJOURN_CELLULAR names a folder that has all."""
    if (background == "none") != (downloads == 0):
        return None
    if downloads == 0:
        # A group has at least one flow: this one begins in the last second.
        found: Changes = {"group.background.start": f"{int(made['duration'].split()[0]) - 1} s"}
    else:
        found = {"group.background.flows": downloads}
    if source == "recorded":
        folder = Path(os.environ.get(FOLDER_VARIABLE, "/nowhere"))
        if not all((folder / file).is_file() for file in _RECORDED.values()):
            return None
        found["bottleneck.trace"] = str((folder / _RECORDED[cell]).resolve())
    return found


@changes("aqm-targets")
def at_target(discipline: str, target_ms: float) -> Changes:
    """Return a discipline's target."""
    if discipline == "ARED of 2001":
        return {"bottleneck.queue.target_delay": f"{target_ms} ms"}
    if discipline != "ARED":
        return {"bottleneck.queue.target": f"{target_ms} ms"}
    thresholds = {"bottleneck.queue.min": f"{target_ms / 2:g} ms", "bottleneck.queue.max": f"{1.5 * target_ms:g} ms"}
    # tc computes no weight for a lower threshold below a packet; there it is the one of a target of 5 ms, the largest
    # power of 1/2 that lets a burst of 5 packets of 1000 B pass.
    return thresholds | ({"bottleneck.queue.weight": 0.25} if target_ms < _TARGET_MS else {})


_TARGET_MS = 5
_CODELS_TARGET = {"target": "5 ms"}
_CONSTANTS: dict[str, dict[str, dict[str, Any]]] = {
    "ARED": {
        "target": {"min": "2.5 ms", "max": "7.5 ms"},
        "interval": {"interval": "500 ms"},
        "gains": {"alpha": 0.01, "beta": 0.9},
        "burst": {"burst": 5},
    },
    "CoDel": {"target": _CODELS_TARGET, "interval": {"interval": "100 ms"}},
    "PIE": {
        "target": _CODELS_TARGET,
        "update": {"update": "15 ms"},
        "gains": {"alpha": 0.125, "beta": 1.25},
        "burst": {"burst": "150 ms"},
    },
    "FQ-CoDel": {"target": _CODELS_TARGET, "interval": {"interval": "100 ms"}, "quantum": {"quantum": 1500}},
    "DualPI2": {"target": _CODELS_TARGET, "update": {"update": "16 ms"}, "gains": {"alpha": 0.16, "beta": 3.2}},
    "CAKE": {"target": _CODELS_TARGET, "interval": {"rtt": "100 ms"}},
}
"""The numbers that a discipline is made of, as they are."""


@changes("aqm-constants")
def other_constant(discipline: str, constant: str, factor: float) -> Asked:
    """Return a constant halved or doubled."""
    known = _CONSTANTS[discipline].get(constant)
    # tc refuses to average over fewer than four packets at these thresholds.
    if known is None or (discipline, constant, factor) == ("ARED", "burst", 0.5):
        return None
    found = {f"bottleneck.queue.{key}": times(value, factor) for key, value in known.items()}
    if (discipline, constant) == ("ARED", "gains"):
        # ARED multiplies by beta: half a step down is the square root.
        found["bottleneck.queue.beta"] = round(known["beta"] ** factor, 12)
    return found


def times(value: str | float, factor: float) -> str | float:
    """Return a number, or a quantity with its unit, times a factor.

    >>> times("2.5 ms", 2.0), times(1500, 0.5)
    ('5 ms', 750)
    """
    if isinstance(value, str):
        number, unit = value.split()
        return f"{float(number) * factor:g} {unit}"
    return type(value)(value * factor)


@changes("simulated")
def timer_as_on_the_kernel(discipline: str) -> Changes:
    """Return PIE with the timer and the frames that user-mode Linux has.

    Its 15 ms are two ticks of 10 ms, and the one more that a kernel's timer waits so as not to be early. PIE leaves
    alone what is less than two of the device's largest frames; here bytes are counted without the 14 of Ethernet.
    """
    return {"bottleneck.queue.update": "30 ms", "bottleneck.queue.mean_packet": 1514} if discipline == "PIE" else {}


_SENDERS = ("no ECN", "ECT(0)", "ECT(1)")


@changes("early")
def pairs(first: str, second: str, router: str) -> Asked:
    """Return each pair of senders once; two new ones also with packets that leave one by one instead of in bursts."""
    if _SENDERS.index(first) > _SENDERS.index(second) or ("paced" in router and first != "ECT(1)"):
        return None
    return {}


@changes("mixed-rtts")
def deep(plain: str) -> Changes:
    """Return the deeper of two buffers."""
    return {"bottleneck.queue.limit": "500 kB"} if "500 kB" in plain else {}


@changes("wifi-down", "wifi-both")
def flows_of_pairs(per_pair: int, sweep: str) -> Changes:
    """Return as many flows for each of the four pairs, in each direction that the sweep has."""
    groups = ("down",) if sweep == "wifi-down" else ("down", "up")
    return {f"group.{name}.flows": 4 * per_pair for name in groups}


@changes("wifi-uploading")
def some_upload(uploading: int) -> Changes:
    """Return one upload for each of the first stations; all of them download."""
    return {"group.up.flows": uploading, "group.up.station": [f"pair-{number}" for number in range(uploading)]}


@changes("datacentre")
def a_hundredth(plain: str, constants: str) -> Asked:
    """Return times of a hundredth."""
    return scaled(plain, constants, 0.01)


@changes("rural")
def seven_times(plain: str, constants: str) -> Asked:
    """Return times seven times as long: the round-trip time over CoDel's usual interval."""
    return scaled(plain, constants, 7)


def scaled(plain: str, constants: str, factor: float) -> Asked:
    """Return constants for round-trip times so many times the usual ones: times in proportion, gains in inverse.

    >>> scaled("CoDel", "scaled", 0.01)
    {'bottleneck.queue.target': '0.05 ms', 'bottleneck.queue.interval': '1 ms'}
    """
    codel = {"target": "5 ms", "interval": "100 ms"}
    usual: dict[str, dict[str, str]] = {
        # Between Linux's thresholds of 5 and 15 packets at 10 Mbit/s, where they are 6 and 18 ms.
        "ARED": {"min": "5 ms", "max": "15 ms", "interval": "500 ms"},
        "CoDel": codel,
        "PIE": {"target": "15 ms", "update": "15 ms", "burst": "150 ms", "boost_above": "250 ms"},
        "FQ-CoDel": codel,
    }
    if constants == "default":
        return {}
    if plain not in usual:
        return None
    gains = {"alpha": 0.125 / factor, "beta": 1.25 / factor} if plain == "PIE" else {}
    found = {key: times(value, factor) for key, value in usual[plain].items()} | gains
    return {f"bottleneck.queue.{key}": value for key, value in found.items()}


# What is measured of single runs.

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
def goodputs(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield percentiles of the goodput of all flows in bins, over all runs."""
    import numpy as np
    import pyarrow.compute as pc

    flows = dataset.table("flows")
    measured = flows.filter(pc.greater_equal(flows["time_s"], 30.0))
    sums = measured.group_by([POINT, SEED, "time_s"]).aggregate([("delivered_bytes", "sum")])
    values: dict[int, list[float]] = {}
    for point, delivered in zip(sums[POINT].to_pylist(), sums["delivered_bytes_sum"].to_pylist(), strict=True):
        values.setdefault(point, []).append(delivered * 8 / plan.bin_s / 1e6)
    for part in (10, 25, 50, 75, 90):
        for point in sorted(values):
            number = Number(float(np.quantile(values[point], part / 100)), 0.0, plan.seeds)
            yield plan.point(point).coordinates, "", f"goodput_mbps_p{part}", number


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


# Claims that no relation of a table says.

_REPORT = ("NewReno", "CUBIC", "Westwood+")
_BY_CHANCE = 1 / 20


def _by_chance(pairs: int) -> int:
    """Return how many of some pairs differ by chance alone in 19 of 20 cases, or fewer: a binomial quantile.

    >>> _by_chance(18), _by_chance(1)
    (3, 0)
    """
    below = 0.0
    for count in range(pairs + 1):
        below += math.comb(pairs, count) * _BY_CHANCE**count * (1 - _BY_CHANCE) ** (pairs - count)
        if below >= 1 - _BY_CHANCE:
            return count
    return pairs


@claim(
    "fig3.2",
    "{source}, {cell}: the web flow's own control {matters}",
    paper="matters on 3G, does not on 3.5G",
    tolerance="95 % intervals of the difference exclude zero for more pairs than chance has in 19 of 20 cases",
    why="As in the report, the difference of means is held against the whole spread of the repetitions. Most of that "
    "is the link's: the number in brackets has it removed.",
)
def own_control(means: Means) -> Iterator[Outcome]:
    """Count pairs of the web flow's controls whose page times differ, beside the same downloads."""
    cells = means.cells(
        "cellular", "page_ms_mean", "web", downloads=[1, 5], web=list(_REPORT), background=list(_REPORT)
    )
    by: dict[tuple[str, str], dict[tuple[str, int], list[Number]]] = {}
    for cell in cells:
        place = by.setdefault((cell.at["source"], cell.at["cell"]), {})
        place.setdefault((cell.at["background"], cell.at["downloads"]), []).append(cell.number)
    for (source, link), places in by.items():
        if "4G" in link:
            continue
        pairs = [pair for numbers in places.values() for pair in itertools.combinations(numbers, 2)]
        differ = sum(one.surely_above(other) or other.surely_above(one) for one, other in pairs)
        by_run = (Number.by_run([a - b for a, b in zip(x.values, y.values, strict=True)]) for x, y in pairs)
        same_seed = sum(low > 0 or high < 0 for low, high in (number.interval() for number in by_run))
        slow = "3G" in link
        margin = (differ - _by_chance(len(pairs)) - 0.5) * (1 if slow else -1)
        yield Outcome(
            margin >= 0,
            f"{differ} of {len(pairs)} pairs ({same_seed} where runs with the same seed are compared)",
            margin=margin,
            at={"source": source, "cell": link, "matters": "matters" if slow else "does not matter"},
        )


# A constant counts at a place if halving or doubling it moves the tail of the delay by a fifth or the goodput by a
# fiftieth, beyond chance; it is a parameter if it does so at a third of all places. Said before the first run.
_COUNTS = {"bottleneck_queue_ms_p90": 0.2, "goodput_mbps": 0.02}
_PARAMETER = 1 / 3
_INTERVAL = (
    "The interval is how long CoDel waits before its first drop, and the time between the first two. RFC 8289 takes "
    "about the longest usual round-trip time, which makes it a parameter of the network. Where many flows need many "
    "drops, it decides how soon there are enough."
)


@claim(
    "sensitivity",
    "{discipline} has no parameter beside its target",
    paper="claimed by the authors of the disciplines",
    own=True,
    why=_INTERVAL,
    tolerance="no constant counts at a third of the places or more",
)
def parameterless(means: Means) -> Iterator[Outcome]:
    """Count the places at which a constant other than the target matters."""
    counted: dict[tuple[str, str], dict[tuple[int, str], bool]] = {}
    for metric, least in _COUNTS.items():
        for cell in means.cells("aqm-constants", metric):
            discipline, constant, _, *place = cell.at.values()
            where = {"discipline": discipline, "rtt_ms": place[0], "congestion": place[1]}
            usual = means.number("aqms", metric, **where)
            surely = cell.number.surely_above(usual) or usual.surely_above(cell.number)
            places = counted.setdefault((discipline, constant), {})
            counts = surely and abs(cell.number.mean / usual.mean - 1) > least
            places[tuple(place)] = places.get(tuple(place), False) or counts
    for name in dict.fromkeys(of for of, _ in counted):
        inside = {c: places for (of, c), places in counted.items() if of == name and c != "target"}
        margin = min(_PARAMETER * len(places) - sum(places.values()) for places in inside.values())
        said = "; ".join(
            f"{c} counts at {sum(places.values())} of {len(places)} places" for c, places in inside.items()
        )
        yield Outcome(margin > 0, said, margin=margin, at={"discipline": name})


_HALF = 50


@claim("aggressive", "what a mark must leave for half of the link, beside {first}", paper="an open question", own=True)
def needed(means: Means) -> Iterator[Outcome]:
    """Return the part of the window, between those simulated, at which the share first reaches half."""
    for first in _SENDERS[:2]:
        lines: dict[str, list[tuple[float, float]]] = {}
        for cell in means.cells("early-factors", "share", "second", first=first):
            lines.setdefault(cell.at["setting"], []).append((cell.at["kept_part"], cell.number.mean))
        said = "; ".join(f"{setting}: {crossing(line)}" for setting, line in lines.items())
        yield Outcome(None, said, at={"first": first})


def crossing(line: Sequence[tuple[float, float]]) -> str:
    """Return where a line first reaches half.

    >>> crossing([(0.8, 20.0), (0.9, 60.0)]), crossing([(0.8, 20.0), (0.9, 30.0)]), crossing([(0.8, 70.0)])
    ('0.88', 'more than 0.90', 'at most 0.80')
    """
    if line[0][1] >= _HALF:
        return f"at most {line[0][0]:.2f}"
    for (low, below), (high, above) in itertools.pairwise(line):
        if above >= _HALF:
            return f"{low + (high - low) * (_HALF - below) / (above - below):.2f}"
    return f"more than {line[-1][0]:.2f}"
