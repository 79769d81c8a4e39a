"""What each control does on its own, beside its like, beside best effort, and under loss.

Every scenario is a plan of `sojourn.sweeps`; `benchmarks.behaviour_claims` holds the results against what sources say.
"""

import math
import statistics
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sojourn
from benchmarks.behaviour_claims import checks
from benchmarks.common import say
from sojourn.data.rows import POINT, SEED
from sojourn.processors import usable_processors
from sojourn.study.lab import Lab
from sojourn.sweeps import Dataset
from sojourn.sweeps.plan import BIN_S

SEEDS = 3
# For the motivating paper's setting, and for two flows of unequal paths: in a full buffer chance decides for minutes.
MANY_SEEDS = 10
PACKET_BITS = 12_000
PAYLOAD_PART = 1448 / 1500

CAPACITIES_MBPS = (1.0, 4.0, 10.0, 50.0, 100.0)
RTTS_MS = (10.0, 25.0, 50.0, 100.0, 200.0)
MIDDLE_MBPS, MIDDLE_MS = 10.0, 50.0
BUFFER_BDP, MIN_BUFFER = 4, 50

# Seconds since both flows are there.
WINDOWS_S = ((0, 10), (30, 60), (60, 120))
LATE_S = 20
# 300 ms: room for two of LEDBAT's targets, one upon the other.
PAIR_BUFFER = 250

LOW_PRIORITY = ("ledbat", "libutp", "fledbat", "ledbatpp", "tcp_lp", "nice", "cdg")
BEST_EFFORT = ("newreno", "cubic")
TRANSPORTS = ("ns2", "linux")
# Variants without which a row of the table of yielding could not be read.
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "nice, whole windows": {"kind": "nice", "min_window": 1},
    "cdg, scavenger": {"kind": "cdg", "preset": "scavenger"},
}

ARRIVES_S, LEAVES_S, RECOVERY_S = 20, 40, 120
BACK_AT = 0.9
BACK_FOR_S = 1.0

SHORT_MS, LONG_MS = 20.0, 100.0
UNFAIR_BDP = 2

LOSS_MBPS, LOSS_MS = 20.0, 40.0
LOSSES = (0.0, 0.0001, 0.001, 0.01, 0.02)

# These answer to marks, and need a queue that marks: what they get in place of DropTail.
MARKED: Mapping[str, Mapping[str, Any]] = {
    "dctcp": {"kind": "codel", "ecn": True},
    "prague": {"kind": "dualpi2"},
}
MARKED_TRANSPORT = {"preset": "rfc", "ecn": "accurate"}
EARLY = {"uniform": ["0 s", "0.1 s"]}

Table = list[dict[str, Any]]


def measure() -> dict[str, Table]:
    """Return the rows of all tables, and the checks of what sources claim about them."""
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(Path(folder), usable_processors())
        rows: dict[str, Table] = {}
        for name, run in TABLES.items():
            say(f"behaviour: {name}")
            rows[name] = run(lab)
    return {**rows, "checks": checks(rows)}


def alone(lab: Lab) -> Table:
    """One flow alone, from slow to fast links and from short to long paths."""
    paths = sorted({*((rate, MIDDLE_MS) for rate in CAPACITIES_MBPS), *((MIDDLE_MBPS, rtt) for rtt in RTTS_MS)})
    tables = {
        "base": _base([_group("flow")], duration_s=60, warmup_s=20),
        "seeds": SEEDS,
        "zip": {
            "bottleneck.rate": [_mbps(rate) for rate, _ in paths],
            "group.flow.rtt": [_ms(rtt) for _, rtt in paths],
            "bottleneck.queue.limit": [_packets(_buffer(rate, rtt)) for rate, rtt in paths],
        },
        "cases": _cases(["flow"]),
    }
    names = {"bottleneck.rate_mbps": "rate_mbps", "group.flow.rtt_ms": "rtt_ms", "case": "control"}
    return _means(lab.sweep("alone", tables), names, (*QUEUE, "bottleneck_queue_packets_mean"))


def together(lab: Lab) -> Table:
    """Two flows that start together: Jain's index over time."""
    groups = [_group("first"), _group("second")]
    return _pair(lab, "together", groups, 0)


def latecomer(lab: Lab) -> Table:
    """A second flow that starts later: its share since then."""
    groups = [_group("first"), {**_group("second"), "start": f"{LATE_S} s"}]
    return _pair(lab, "latecomer", groups, LATE_S)


def _pair(lab: Lab, name: str, groups: Sequence[Mapping[str, Any]], start_s: int) -> Table:
    tables = {
        "base": _base(groups, limit=_packets(PAIR_BUFFER)),
        "seeds": SEEDS,
        "zip": {
            "duration": [f"{start_s + end} s" for _, end in WINDOWS_S],
            "warmup": [f"{start_s + begin} s" for begin, _ in WINDOWS_S],
        },
        "cases": _cases(["first", "second"]),
    }
    dataset = lab.sweep(name, tables)
    names = {"case": "control", "warmup_ms": "from_s", "group": "group"}
    rows = _means(dataset, names, ("share", "jain_all"))
    return [{**row, "from_s": row["from_s"] / 1e3 - start_s} for row in rows if row["group"] == "second"]


def yielding(lab: Lab) -> Table:
    """Five low-priority flows beside five of best effort, where the motivating paper looked."""
    low = {**{name: {"kind": name} for name in LOW_PRIORITY}, **VARIANTS}
    groups = [{**_group("best"), "flows": 5}, {**_group("low"), "flows": 5}]
    tables = {
        "base": _base(groups, rate_mbps=4.0, limit="400 packets"),
        "seeds": MANY_SEEDS,
        "axes": {"group.best.control": list(BEST_EFFORT)},
        "zip": {"group.best.transport": list(TRANSPORTS), "group.low.transport": list(TRANSPORTS)},
        "cases": {name: {"group.low.control": control} for name, control in low.items()},
    }
    dataset = lab.sweep("yielding", tables)
    names = {"case": "control", "group.best.control": "best", "group.low.transport": "transport", "group": "group"}
    rows = _means(dataset, names, ("share", "bottleneck_queue_packets_mean"))
    return [row for row in rows if row["group"] == "low"]


def recovery(lab: Lab) -> Table:
    """A low-priority flow alone, with a NewReno flow for a while: how far it yields, and how soon it is back."""
    visitor = {**_group("best"), "start": f"{ARRIVES_S} s", "stop": f"{LEAVES_S} s"}
    tables = {
        "base": _base([_group("low"), visitor], duration_s=RECOVERY_S),
        "seeds": SEEDS,
        "keep": ["series"],
        "cases": {name: {"group.low.control": name} for name in LOW_PRIORITY},
    }
    flows = lab.sweep("recovery", tables).table("flows")
    delivered: dict[tuple[int, int, str], list[int]] = {}
    columns = [flows[name].to_pylist() for name in (POINT, SEED, "group", "delivered_bytes")]
    for point, seed, group, size in zip(*columns, strict=True):
        delivered.setdefault((point, seed, group), []).append(size)
    rows = []
    for point, name in enumerate(LOW_PRIORITY):
        seeds = sorted({seed for index, seed, _ in delivered if index == point})
        runs = [_recovery(delivered[point, seed, "low"], delivered[point, seed, "best"]) for seed in seeds]
        back = [run["back_s"] for run in runs]
        rows.append(
            {
                "control": name,
                **{key: _mean([run[key] for run in runs]) for key in ("before", "share", "after")},
                "back_s": None if None in back else _mean(back),
            }
        )
    return rows


def _recovery(low: Sequence[int], best: Sequence[int]) -> dict[str, Any]:
    """Measure one run: parts of the link as payload, bins of BIN_S."""

    def part(sizes: Sequence[int], begin_s: float, end_s: float) -> float:
        whole = MIDDLE_MBPS * 1e6 * PAYLOAD_PART * (end_s - begin_s) / 8
        return sum(sizes[round(begin_s / BIN_S) : round(end_s / BIN_S)]) / whole

    mine, other = (part(sizes, ARRIVES_S, LEAVES_S) for sizes in (low, best))
    starts = (LEAVES_S + number * BIN_S for number in range(round((RECOVERY_S - LEAVES_S - BACK_FOR_S) / BIN_S)))
    back = next((start for start in starts if part(low, start, start + BACK_FOR_S) >= BACK_AT), None)
    return {
        "before": part(low, ARRIVES_S / 2, ARRIVES_S),
        "share": mine / (mine + other),
        "after": part(low, RECOVERY_S - ARRIVES_S, RECOVERY_S),
        "back_s": None if back is None else back - LEAVES_S,
    }


def unfairness(lab: Lab) -> Table:
    """Two flows of one kind over paths of different length, in one queue and in a queue each."""
    base = _unequal()
    fair = {**base, "bottleneck": {**base["bottleneck"], "queue": {"kind": "fq_codel"}}}
    rows = []
    for queue, scenario in (("shared", base), ("fq_codel", fair)):
        cases = _cases(["short", "long"], marking=queue == "shared")
        dataset = lab.sweep(f"unfairness-{queue}", {"base": scenario, "seeds": MANY_SEEDS, "cases": cases})
        rows += [{"control": name, "queue": queue, **ratio} for name, ratio in _ratios(dataset).items()]
    return rows


def _unequal() -> dict[str, Any]:
    groups = [_group("short", SHORT_MS), _group("long", LONG_MS)]
    limit = _packets(UNFAIR_BDP * _bdp(MIDDLE_MBPS, LONG_MS))
    return _base(groups, limit=limit, duration_s=120, warmup_s=20)


def _ratios(dataset: Dataset) -> dict[str, dict[str, float]]:
    """Return for each case the goodput of the short path over that of the long one, and its standard error."""
    found = _means(dataset, {"case": "case", SEED: "seed", "group": "group"}, ("goodput_mbps",))
    goodputs: dict[str, dict[str, list[float]]] = {}
    for row in found:
        goodputs.setdefault(row["case"], {}).setdefault(row["group"], []).append(row["goodput_mbps"])
    ratios = {
        case: [short / long for short, long in zip(of["short"], of["long"], strict=True)]
        for case, of in goodputs.items()
    }
    return {
        case: {"ratio": _mean(values), "error": statistics.stdev(values) / math.sqrt(len(values))}
        for case, values in ratios.items()
    }


def loss(lab: Lab) -> Table:
    """One flow on a link that loses packets at random."""
    limit = _packets(_buffer(LOSS_MBPS, LOSS_MS))
    tables = {
        "base": _base([_group("flow", LOSS_MS)], rate_mbps=LOSS_MBPS, limit=limit, duration_s=60, warmup_s=10),
        "seeds": SEEDS,
        "axes": {"bottleneck.loss": list(LOSSES)},
        "cases": _cases(["flow"]),
    }
    names = {"case": "control", "bottleneck.loss": "loss"}
    return _means(lab.sweep("loss", tables), names, ("bottleneck_utilization",))


def experiments(lab: Lab) -> Table:
    """What the explanations of failing claims rest on: the same scenarios with something changed."""
    every = {"preset": "rfc", "ack_every": 1}
    short = [("nice", 1.0, 50.0), ("nice", 4.0, 50.0), ("nice", 10.0, 10.0), ("tcp_lp", 10.0, 25.0)]
    single = {
        f"{name}, {rate:g} Mbit/s, {rtt:g} ms: each segment acknowledged": {
            **_path(name, rate, rtt),
            "group.flow.transport": every,
        }
        for name, rate, rtt in short
    }
    for name in ("tcp_lp", "ledbat"):
        single[f"{name}, 10 Mbit/s, 200 ms: 300 s"] = {**_path(name, 10.0, 200.0), "duration": "300 s"}
    times = {"duration": "300 s", "warmup": "280 s"}
    single["vegas, 10 Mbit/s, 200 ms: from 280 to 300 s"] = {**_path("vegas", 10.0, 200.0), **times}
    red = {"kind": "red", "limit": "400 packets", "min": "60 packets", "max": "180 packets", "max_p": 0.02}
    deep = {"kind": "drr", "limit": "167 packets", "perfect": True}
    ramp = {"kind": "dualpi2", "ramp": "10 ms"}
    even = {"kind": "prague", "virtual_rtt": _ms(LONG_MS), "transition": 0}
    pairs: dict[str, dict[str, Any]] = {
        what: {
            "bottleneck.queue": queue,
            **{f"group.{group}.control": control for group in ("short", "long")},
            **({f"group.{group}.transport": transport for group in ("short", "long")} if transport else {}),
        }
        for what, queue, control, transport in (
            *(
                (f"{name}, two paths: RED from 60 to 180 packets, max_p 0.02", red, name, None)
                for name in ("newreno", "cubic")
            ),
            ("prague, two paths: ramp of 10 ms", ramp, "prague", MARKED_TRANSPORT),
            ("prague, two paths: ramp of 10 ms, virtual RTT of 100 ms", ramp, even, MARKED_TRANSPORT),
            ("prague, two paths: CoDel", MARKED["dctcp"], "prague", MARKED_TRANSPORT),
            *(
                (f"{name}, two paths: DRR of 167 packets", deep, name, None)
                for name in ("newreno", "vegas", "ledbat", "cdg", "nice")
            ),
            ("nice, two paths: DRR of 167 packets, each segment acknowledged", deep, "nice", every),
        )
    }
    base = _base([_group("flow")], duration_s=60, warmup_s=20)
    alone_with = lab.sweep("experiments", {"base": base, "seeds": SEEDS, "cases": single})
    pairs_with = lab.sweep("experiments-pairs", {"base": _unequal(), "seeds": MANY_SEEDS, "cases": pairs})
    metrics = ("bottleneck_utilization", "bottleneck_queue_packets_mean")
    rows = _means(alone_with, {"case": "experiment"}, metrics)
    return [*rows, *({"experiment": name, **ratio} for name, ratio in _ratios(pairs_with).items())]


QUEUE = ("bottleneck_utilization", "bottleneck_queue_ms_mean", "bottleneck_queue_ms_p99")
TABLES: Mapping[str, Callable[[Lab], Table]] = {
    "alone": alone,
    "together": together,
    "latecomer": latecomer,
    "yielding": yielding,
    "recovery": recovery,
    "unfairness": unfairness,
    "loss": loss,
    "experiments": experiments,
}


def _means(dataset: Dataset, names: Mapping[str, str], metrics: Sequence[str]) -> Table:
    """Return a row for each combination of columns, under other names, with the mean over the seeds of each metric."""
    if dataset.failures():
        raise RuntimeError(f"{dataset.description['name']}: {dataset.failures()} runs failed")
    of_runs = set(dataset.table().column_names)
    table = dataset.joined() if "group" in names else dataset.table()
    # Controls in the order of the registry.
    keys = dict.fromkeys(zip(*(table[name].to_pylist() for name in names), strict=True))
    rows = [dict(zip(names, key, strict=True)) for key in keys]
    for metric in metrics:
        # What is one number for a whole run has no groups.
        by = [name for name in names if name != "group" or metric not in of_runs]
        means = {tuple(line[name] for name in by): line["mean"] for line in dataset.stats(by=by, metrics=[metric])}
        for row in rows:
            row[metric] = means[tuple(row[name] for name in by)]
    return [{names.get(name, name): value for name, value in row.items()} for row in rows]


def _path(control: str, rate_mbps: float, rtt_ms: float) -> dict[str, Any]:
    """Return the changes that put a flow alone on a path of `alone`."""
    return {
        "bottleneck.rate": _mbps(rate_mbps),
        "bottleneck.queue.limit": _packets(_buffer(rate_mbps, rtt_ms)),
        "group.flow.rtt": _ms(rtt_ms),
        "group.flow.control": control,
    }


def _cases(groups: Iterable[str], *, marking: bool = True) -> dict[str, dict[str, Any]]:
    """Return a case for each registered control: all groups have it."""
    cases: dict[str, dict[str, Any]] = {}
    for name in (entry["name"] for entry in sojourn.catalogue()["controls"]):
        changes: dict[str, Any] = {f"group.{group}.control": name for group in groups}
        if name in MARKED:
            changes |= {f"group.{group}.transport": MARKED_TRANSPORT for group in groups}
            changes |= {"bottleneck.queue": MARKED[name]} if marking else {}
        cases[name] = changes
    return cases


def _base(
    groups: Sequence[Mapping[str, Any]],
    *,
    rate_mbps: float = MIDDLE_MBPS,
    limit: str | None = None,
    duration_s: float = 60,
    warmup_s: float = 0,
) -> dict[str, Any]:
    queue = {"kind": "droptail", "limit": limit or _packets(_buffer(rate_mbps, MIDDLE_MS))}
    return {
        "duration": f"{duration_s:g} s",
        "warmup": f"{warmup_s:g} s",
        "bottleneck": {"rate": _mbps(rate_mbps), "queue": queue},
        "group": list(groups),
    }


def _group(name: str, rtt_ms: float = MIDDLE_MS) -> dict[str, Any]:
    return {"name": name, "control": "newreno", "rtt": _ms(rtt_ms), "start": EARLY}


def _bdp(rate_mbps: float, rtt_ms: float) -> float:
    """Return packets."""
    return rate_mbps * rtt_ms * 1e3 / PACKET_BITS


def _buffer(rate_mbps: float, rtt_ms: float) -> float:
    return max(MIN_BUFFER, BUFFER_BDP * _bdp(rate_mbps, rtt_ms))


def _packets(number: float) -> str:
    return f"{round(number)} packets"


def _mbps(rate: float) -> str:
    return f"{rate:g} Mbit/s"


def _ms(time: float) -> str:
    return f"{time:g} ms"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
