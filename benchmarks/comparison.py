"""Processor time of the same scenario in Sojourn, ns-2, ns-3 and htsim, and whether it is the same in all."""

import dataclasses
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

import sojourn
from benchmarks import child
from benchmarks.common import SCENARIO, say
from benchmarks.peers.points import BENCH, Point
from benchmarks.peers.runs import run
from benchmarks.peers.timing import VARIANTS
from benchmarks.scaling import AS_NS2, DEFAULT

RUNS_PER_CHILD = 20
STARTUP_REPEATS = 5
SHORT_S = 60.0
# What one flow sent by a 1500-byte packet and its acknowledgement is counted in.
PACKET_BITS = 1500 * 8


@dataclasses.dataclass(frozen=True)
class Variant:
    """One way to run the scenario: `run(seed)` and `idle(seed)` return processor seconds of one run."""

    simulator: str
    name: str
    means: str
    run: Callable[[int], float]
    idle: Callable[[int], float]
    runs: int = 1
    """How many runs share the start-up of a process."""


_DEFAULT = tuple(f"group.{name}.transport=rfc" for name in ("one", "two"))
SIMULATORS = {"ns2": "ns-2", "ns3": "ns-3", "htsim": "htsim"}
"""The peers' names."""
TRAFFIC = ("utilization", "queue_packets_mean", "drop_rate", "goodput_bps", "timeouts")


def _sojourn(name: str, *overrides: str) -> Variant:
    # The shortest run there is: every flow sends one packet.
    idle = ["duration=1 ms", "warmup=0 s", "group.one.start=0 s", "group.two.start=0 s"]

    def cpu_s(seed: int, *settings: str) -> float:
        changes = [part for setting in (*settings, *overrides) for part in ("--set", setting)]
        counts = ["--runs", str(RUNS_PER_CHILD), "--seed", str(1 + RUNS_PER_CHILD * seed), "--jobs", "1"]
        return child.sojourn("run", str(SCENARIO), *counts, *changes, "--json").cpu_s / RUNS_PER_CHILD

    point = BENCH
    return Variant(
        "Sojourn",
        name,
        f"transport {name.partition(', ')[2]}; `sojourn run --runs {RUNS_PER_CHILD} --jobs 1`, time per run",
        lambda seed: cpu_s(seed, f"duration={point.duration_s:g} s", f"warmup={point.warmup_s:g} s"),
        lambda seed: cpu_s(seed, *idle),
        RUNS_PER_CHILD,
    )


def _peer(peer: str, name: str, means: str, point: Point, options: Mapping[str, Any]) -> Variant:
    idle = dataclasses.replace(point, duration_s=0.0, warmup_s=0.0)
    return Variant(
        SIMULATORS[peer],
        name,
        means,
        lambda seed: run(peer, point, seed, **options).cpu_s,
        lambda seed: run(peer, idle, seed, **options).cpu_s,
    )


NS2 = (
    ("ns2 dumbbell", "a node and an access link per flow and side, default scheduler: as it is used"),
    ("ns2 dumbbell, heap", "the same with its faster Heap scheduler"),
    ("ns2 direct", "all agents on the two routers, no RTT or access link per flow: the least it can do"),
)
NS3 = (
    ("ns3 dumbbell", "a node and an access link per flow and side: as it is used"),
    ("ns3 direct", "all sockets on the two routers: the least it can do"),
)
HTSIM = (("htsim", "one queue and a delay each way, nothing else: the least it can do"),)


def _variants(have: set[str]) -> list[Variant]:
    wanted = [row for row in (*NS2, *NS3, *HTSIM) if row[0].split()[0] in have]
    found = [_sojourn(DEFAULT, *_DEFAULT), _sojourn(AS_NS2)]
    for name, means in wanted:
        peer, options = VARIANTS[name]
        found.append(_peer(peer, name, means, BENCH, options))
    return found


def _ledbat_variants(have: set[str]) -> list[Variant]:
    point = dataclasses.replace(BENCH, other="ledbat")
    ns3 = _peer("ns3", "ns3 dumbbell", NS3[0][1], point, {}) if "ns3" in have else None
    return [_sojourn(AS_NS2, "group.two.control=ledbat"), *([ns3] if ns3 else [])]


def compare(have: set[str], rounds: int) -> dict[str, Any]:
    """Time NewReno against NewReno everywhere, and NewReno against LEDBAT where it exists."""
    return {
        "point": dataclasses.asdict(BENCH),
        "rounds": rounds,
        "traffic": _traffic(have, rounds),
        "newreno": _time(_variants(have), rounds),
        "ledbat": _time(_ledbat_variants(have), max(1, rounds // 2)),
        "engine": _in_engine(),
        "short": _short_ns2() if "ns2" in have else None,
    }


def _traffic(have: set[str], rounds: int) -> list[dict[str, Any]]:
    """Return what crosses the bottleneck in each simulator, means over seeds."""
    say("the same traffic?")
    point = BENCH
    peers = {
        name: [dataclasses.asdict(run(peer, point, seed)) for seed in range(1, rounds + 1)]
        for peer, name in SIMULATORS.items()
        if peer in have
    }
    changes = {"duration": f"{point.duration_s:g} s"}
    default = dict(change.split("=") for change in _DEFAULT)
    ours = {
        name: [_measured(one) for one in _runs({**changes, **more}, rounds)]
        for name, more in ((DEFAULT, default), (AS_NS2, {}))
    }
    rows = []
    for name, found in {**ours, **peers}.items():
        for one in found:
            one.setdefault("goodput_bps", one.get("goodput_1_bps", 0.0) + one.get("goodput_2_bps", 0.0))
        rows.append({"simulator": name, **{key: _mean([one[key] for one in found]) for key in TRAFFIC}})
    return rows


def _runs(changes: Mapping[str, str], rounds: int) -> Sequence[Mapping[str, Any]]:
    return sojourn.Scenario.load(SCENARIO).with_(changes).run(runs=rounds, jobs=1, series=False).runs


def _measured(one: Mapping[str, Any]) -> dict[str, Any]:
    link, groups = one["bottleneck"], one["groups"].values()
    return {
        **{name: link[name] for name in ("utilization", "drop_rate")},
        "queue_packets_mean": link["queue_packets"]["mean"],
        "goodput_bps": sum(1e6 * group["goodput_mbps"] for group in groups),
        "timeouts": sum(group["timeouts"] for group in groups),
    }


def _mean(values: list[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return mean(there) if len(there) == len(values) else None


def _time(variants: list[Variant], rounds: int) -> list[dict[str, Any]]:
    """Time variants in alternation, so that a disturbance hits all alike."""
    packets = BENCH.rate_bps * BENCH.duration_s / PACKET_BITS
    startup = {}
    for variant in variants:
        startup[variant.name] = median(variant.idle(seed) for seed in range(1, STARTUP_REPEATS + 1))
    taken: dict[str, list[float]] = {variant.name: [] for variant in variants}
    for seed in range(1, rounds + 1):
        for variant in variants:
            say(f"round {seed} of {rounds}: {variant.name}")
            taken[variant.name].append(variant.run(seed) - startup[variant.name])
    return [
        {
            "simulator": variant.simulator,
            "variant": variant.name,
            "means": variant.means,
            "startup_s": startup[variant.name] * variant.runs,
            "net_s": median(taken[variant.name]),
            "net_s_least": min(taken[variant.name]),
            "net_s_most": max(taken[variant.name]),
            "packet_ns": 1e9 * median(taken[variant.name]) / packets,
        }
        for variant in variants
    ]


def _in_engine() -> dict[str, float]:
    """Return the engine's own wall time of one run: median over seeds."""
    say("the engine's own clock")
    changes = ("--set", f"duration={BENCH.duration_s:g} s", "--runs", str(RUNS_PER_CHILD), "--jobs", "1")
    document = json.loads(child.sojourn("run", str(SCENARIO), *changes, "--json").text)
    walls = [run["wall_s"] for run in document["runs"]]
    events = [run["events"] for run in document["runs"]]
    return {"wall_s": median(walls), "wall_s_least": min(walls), "events": median(events)}


def _short_ns2(repeats: int = 9) -> dict[str, float]:
    """Return what a run of 60 s costs in ns-2, and the parts of it that one may call start-up."""
    say(f"ns-2 over {SHORT_S:g} s")
    point = Point(duration_s=SHORT_S, warmup_s=0.0)
    idle = dataclasses.replace(point, duration_s=0.0)
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.tcl"
        empty.write_text("exit 0\n", encoding="utf-8")
        interpreter = median(child.run(["ns", str(empty)]).cpu_s for _ in range(repeats))
    seeds = range(1, repeats + 1)
    return {
        "duration_s": SHORT_S,
        "total_s": median(run("ns2", point, seed).cpu_s for seed in seeds),
        "interpreter_s": interpreter,
        "built_s": median(run("ns2", idle, seed).cpu_s for seed in seeds),
    }
