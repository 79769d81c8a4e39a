"""Buffers of a bandwidth-delay product, links whose rate changes, phases, lost acknowledgements, the table of all."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sojourn.data.dataset import Dataset
from sojourn.data.rows import GROUP, GROUPS, LINK, PHASE, PHASE_GROUPS, PHASE_LINKS, POINT, RUNS, SEED
from sojourn.registry import catalogue
from sojourn.study import Number, changes, measure
from sojourn.study.synchrony import Synchrony
from sojourn.sweeps.plan import Plan

Changes = dict[str, Any]
Row = tuple[dict[str, Any], str, str, Number]

_QUEUE = "bottleneck.queue"
_RTT_MS, _LONGEST_RTT_MS = 100, 560
_ALWAYS_MARK = {"cake", "dualpi2"}


def parameters(queue: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of a discipline's parameters, and their kinds."""
    entry = next(one for one in catalogue()["queues"] if one["name"] == queue["kind"])
    return {parameter["name"]: parameter["kind"] for parameter in entry["parameters"]}


def buffer(queue: Mapping[str, Any], rtt_ms: int = _RTT_MS, limits: Sequence[str] = ("limit",)) -> Changes:
    """Return a discipline with room for a bandwidth-delay product, where its limit is an amount (section 3.2).

    CAKE's `memlimit` is another thing: memory for all flows, which tc sets to 4 MB or more.
    """
    known = parameters(queue)
    return {**queue, **{name: f"{rtt_ms} ms" for name in limits if known.get(name) == "amount"}}


@changes("senders", "windows", "bursts", "levels", "load", "capacity", "sizes", "mix", "packets")
def with_buffer(made: Mapping[str, Any]) -> Changes:
    """Return the discipline with its buffer."""
    return {_QUEUE: buffer(made[_QUEUE])}


@changes("rtts")
def with_the_longest_buffer(made: Mapping[str, Any], signal: str) -> Changes | None:
    """Return the same for the longest round trip of all; a discipline that cannot mark only drops."""
    queue = buffer(made[_QUEUE], _LONGEST_RTT_MS)
    if signal == "drops":
        return {_QUEUE: queue}
    if "ecn" in parameters(queue):
        return {_QUEUE: {**queue, "ecn": True}}
    return {_QUEUE: queue} if queue["kind"] in _ALWAYS_MARK else None


@changes("hops")
def in_a_row(made: Mapping[str, Any]) -> Changes:
    """Return the same discipline before both links of a row."""
    return {_QUEUE: buffer(made[_QUEUE]), "hop.second.queue": buffer(made[_QUEUE])}


@changes("two-way")
def in_both_directions(made: Mapping[str, Any]) -> Changes:
    """Return the same discipline before both links."""
    return {_QUEUE: buffer(made[_QUEUE]), "reverse.queue": buffer(made[_QUEUE])}


@changes("kernel", "simulated")
def in_packets(made: Mapping[str, Any]) -> Changes:
    """Return the discipline with a bandwidth-delay product in packets, the only limit that all of the kernel's have."""
    return {_QUEUE: {**made[_QUEUE], "limit": "83 packets"}}


@changes("buffers")
def with_its_buffer(made: Mapping[str, Any], buffer_ms: int) -> Changes:
    """Return a discipline that has room for so long, CAKE too."""
    return {_QUEUE: buffer(made[_QUEUE], buffer_ms, ("limit", "memlimit"))}


@changes("targets")
def at_target(made: Mapping[str, Any], target_ms: int) -> Changes:
    """Return a discipline with another target."""
    return {_QUEUE: {**buffer(made[_QUEUE]), "target": f"{target_ms} ms"}}


@measure("loads", of="load")
def loads(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield delay and goodput in each phase of section 8.2.5."""
    yield from _phases(plan, dataset, {"mild": "mild", "medium": "medium", "heavy": "heavy"})


@measure("rates", of="capacity")
def rates(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield delay and goodput while the link of section 8.2.6 is slow, and while it is fast."""
    yield from _phases(plan, dataset, {"slow": "10 Mbit/s", "fast": "100 Mbit/s"})


_OF_PHASES = {
    "queue_ms_mean": "phase_ms_mean",
    "queue_ms_p95": "phase_ms_p95",
    "queue_ms_p99": "phase_ms_p99",
    "drop_rate": "phase_drop_rate",
}
"""Columns of the bottleneck's phases, and what they are called here."""


def _phases(plan: Plan, dataset: Dataset, titles: Mapping[str, str]) -> Iterator[Row]:
    """Yield what each phase had at each point that has some: the bottleneck's packets, and all groups' goodput."""
    found: dict[tuple[int, str, str], list[float]] = {}
    for row in dataset.table(PHASE_LINKS, where={LINK: "bottleneck"}).to_pylist():
        for column, metric in _OF_PHASES.items():
            found.setdefault((row[POINT], row[PHASE], metric), []).append(row[column])
    goodputs: dict[tuple[int, int, str], float] = {}
    for row in dataset.table(PHASE_GROUPS).to_pylist():
        key = (row[POINT], row[SEED], row[PHASE])
        goodputs[key] = goodputs.get(key, 0.0) + row["goodput_mbps"]
    for (point, _, phase), goodput in goodputs.items():
        found.setdefault((point, phase, "phase_mbps"), []).append(goodput)
    for (point, phase, metric), values in found.items():
        at = {"queue": plan.point(point).coordinates["queue"], "phase": titles[phase]}
        yield at, "", metric, Number.of(values)


@measure("acknowledgements", of="two-way")
def acknowledgements(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield the part of each kind of packet that the uplink's queue drops."""
    import pyarrow.compute as pc

    table = dataset.table("packets").select([POINT, SEED, "kind", "event"])
    counted = table.filter(pc.is_in(table["event"], value_set=_texts("arrival", "drop")))
    found: dict[tuple[int, int, str, str], int] = {}
    rows = counted.group_by([POINT, SEED, "kind", "event"]).aggregate([([], "count_all")])
    for row in rows.to_pylist():
        found[row[POINT], row[SEED], _KINDS.get(row["kind"], "other"), row["event"]] = row["count_all"]
    for point in range(plan.points):
        for name in dict.fromkeys(_KINDS.values()):
            drops, arrivals = (
                [found.get((point, seed, name, event), 0) for seed in plan.all_seeds] for event in ("drop", "arrival")
            )
            rates_of = [dropped / max(came, 1) for dropped, came in zip(drops, arrivals, strict=True)]
            yield plan.point(point).coordinates, name, "lost", Number.of(rates_of)


_PERCENTILES = (10, 25, 50, 75, 90, 99)
_FLOWS = {"8.2.2 mild": 6, "8.2.3 medium": 14, "8.2.4 heavy": 19}
_WARMUP_S, _END_S, _EVENT_S = 20.0, 60.0, 0.2
"""When the sweep `packets` is measured, and how long a loss event lasts."""


@measure("patterns", of="packets")
def patterns(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield how one-way delays vary, and how losses follow each other and hit flows together."""
    import numpy as np

    columns = (POINT, SEED, "time_ns", "index", "seq", "sojourn_ns")
    found: dict[tuple[int, str], list[float]] = {}
    received, lost = (
        {name: column.to_numpy(zero_copy_only=False) for name, column in zip(columns, table.columns, strict=True)}
        for event in ("receive", "drop")
        for table in [dataset.table("packets", columns=columns, where={"event": event, "kind": "data"})]
    )
    for point in range(plan.points):
        count = _FLOWS[plan.point(point).coordinates["level"]]
        for seed in plan.all_seeds:
            delays, drops = (_of_run(rows, point, seed) for rows in (received, lost))
            one_way_ms = delays["sojourn_ns"] / 1e6
            measured = {
                f"pdv_ms_p{percentile}": float(np.percentile(one_way_ms - one_way_ms.min(), percentile))
                for percentile in _PERCENTILES
            }
            times_s, flows = drops["time_ns"] / 1e9, drops["index"].tolist()
            pairs = set(zip(flows, drops["seq"].tolist(), strict=True))
            together = Synchrony.of(list(zip(times_s.tolist(), flows, strict=True)), count, _EVENT_S, _WARMUP_S, _END_S)
            measured |= {"together": 100 * together.share, "phi": together.phi}
            if len(pairs) > 1:
                measured |= {
                    "gap_ms_p50": float(np.median(np.diff(np.sort(times_s)))) * 1e3,
                    "in_row": 100 * sum((flow, seq - 1) in pairs for flow, seq in pairs) / len(pairs),
                }
            for metric, value in measured.items():
                found.setdefault((point, metric), []).append(value)
    for (point, metric), values in found.items():
        yield plan.point(point).coordinates, "", metric, Number.of(values)


def _of_run(rows: Mapping[str, Any], point: int, seed: int) -> dict[str, Any]:
    """Return the measured rows of a run."""
    chosen = (rows[POINT] == point) & (rows[SEED] == seed) & (rows["time_ns"] >= _WARMUP_S * 1e9)
    return {name: column[chosen] for name, column in rows.items()}


_QUANTILES = {"p10": 10, "p25": 25, "p50": 50, "p75": 75, "p90": 90, "p95": 95, "p99": 99, "p999": 99.9}


@measure("distribution", of="levels")
def distribution(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield the packet delay variation (RFC 5481) at each level, as times and the parts that have no more."""
    columns = {f"pdv_ms_{name}": percentile for name, percentile in _QUANTILES.items()}
    found: dict[tuple[int, str], list[float]] = {}
    for row in dataset.table(GROUPS).select([POINT, *columns]).to_pylist():
        for column in columns:
            found.setdefault((row[POINT], column), []).append(row[column])
    for (point, column), values in found.items():
        at = {**plan.point(point).coordinates, "percentile": columns[column]}
        yield at, "", "pdv_ms", Number.of(values)
        yield at, "", "part", Number.of([columns[column] / 100 for _ in values])


_KINDS = {"data": "data", "ack": "acknowledgements", "request": "requests", "syn-ack": "SYN-ACKs"}


def _texts(*values: str) -> Any:
    import pyarrow as pa

    return pa.array(values)


_STARTS = {"windows": "short", "bursts": "pages", "mix": "pages", "two-way": "pages"}
"""The group of a sweep whose connections and requests begin while it is measured."""


@measure("startups", of=tuple(_STARTS))
def startups(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield start-up times (section 2.2), and how many SYNs and SYN-ACKs were dropped, where connections begin."""
    metrics = ("startup_ms_mean", "startup_ms_p95", "syn_drops")
    found: dict[tuple[int, str], list[float]] = {}
    for row in dataset.table(GROUPS, columns=[POINT, *metrics], where={GROUP: _STARTS[plan.name]}).to_pylist():
        for metric in metrics:
            if row[metric] is not None:
                found.setdefault((row[POINT], metric), []).append(row[metric])
    for (point, metric), values in found.items():
        at = plan.point(point).coordinates
        if plan.name == "windows":
            scenario = f"5.1.2 initial window {at['initial_window']}"
        else:
            scenario = at["traffic"] if plan.name == "bursts" else _ALONE[plan.name]
        yield {"queue": at["queue"], "scenario": scenario}, "", metric, Number.of(values)


_CAPACITY_MBPS = {"capacity": 55.0, "two-way": 1.0}
_ROWS = {
    "senders": "senders",
    "levels": "level",
    "bursts": "traffic",
    "capacity": "every",
}
"""Sweeps that have a row of the table for each value of an axis."""
_ALONE = {
    "load": "8.2.5 load varies",
    "sizes": "4.4 packet sizes",
    "mix": "9.1 traffic mix",
    "two-way": "9.2 uplink",
    "hops": "10.2 second of two",
}
_SLOWEST = {"hops": "hops_second"}
"""The link whose delays count, where that is not the bottleneck."""


@measure("table", of=("sizes", "senders", "bursts", "levels", "load", "capacity", "mix", "two-way", "hops"))
def table(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield delay and goodput of every scenario, goodput in parts of the link's rate."""
    goodputs: dict[tuple[int, int], float] = {}
    backwards = {"call-back", "down", "pages"} if plan.name == "two-way" else {"call-back"}
    for row in dataset.table(GROUPS).select([POINT, SEED, GROUP, "goodput_mbps"]).to_pylist():
        if row[GROUP] not in backwards:
            key = (row[POINT], row[SEED])
            goodputs[key] = goodputs.get(key, 0.0) + (row["goodput_mbps"] or 0.0)
    delays: dict[int, list[float]] = {}
    column = f"{_SLOWEST.get(plan.name, 'bottleneck')}_queue_ms_p95"
    for row in dataset.table(RUNS).select([POINT, SEED, column]).to_pylist():
        delays.setdefault(row[POINT], []).append(row[column])
    for point in range(plan.points):
        at = plan.point(point).coordinates
        scenario = at[_ROWS[plan.name]] if plan.name in _ROWS else _ALONE[plan.name]
        parts = [
            value / _CAPACITY_MBPS.get(plan.name, 10.0) for (one, _), value in sorted(goodputs.items()) if one == point
        ]
        where = {"queue": at["queue"], "scenario": scenario}
        yield where, "", "delay_ms_p95", Number.of(delays[point])
        yield where, "", "goodput", Number.of(parts)
