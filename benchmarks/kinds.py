"""The benchmark's scenario with each discipline and with each control, in alternation in one process.

python -m benchmarks.kinds ROUNDS prints JSON; `measure` runs that in a process of its own.
"""

import json
import sys
import time
import tomllib
from statistics import median
from typing import Any

import sojourn
from benchmarks import child
from benchmarks.common import SCENARIO, say
from benchmarks.peers.points import BENCH
from sojourn.registry import Entry

# All disciplines get the buffer of the benchmark.
LIMIT = f"{BENCH.limit_packets} packets"
PLAIN_QUEUE, PLAIN_CONTROL = "droptail", "newreno"
# Times DropTail's: with one queue, and with one for each flow. Times NewReno's: plain, and paced.
SINGLE_AIM, FAIR_AIM = 1.5, 2.0
CONTROL_AIM, PACED_AIM = 1.3, 2.0
# Controls that set a pacing rate, for which a sender has a timer for each packet.
PACED = frozenset({"bbr", "bbr3", "prague"})
# What disciplines hold that hold others: each of the scenario's groups in a class of its own.
_PLAIN = {"kind": "droptail", "limit": LIMIT}
_HELD: dict[str | None, dict[str, Any]] = {
    "child": {"child": _PLAIN},
    "class": {"class": [{"name": "one", "groups": ["one"], "queue": _PLAIN}, {"name": "two", "queue": _PLAIN}]},
}


def measure(rounds: int) -> dict[str, Any]:
    """Return for disciplines and for controls one row each."""
    say("the scenario with each discipline and each control")
    costs: dict[str, Any] = json.loads(child.run([sys.executable, "-m", "benchmarks.kinds", str(rounds)]).text)
    return costs


def main() -> None:
    """Measure and print."""
    rounds = int(sys.argv[1])
    catalogue = sojourn.catalogue()
    queues = {entry["name"]: _with_queue(entry) for entry in catalogue["queues"]}
    controls = {entry["name"]: _with_control(entry["name"]) for entry in catalogue["controls"]}
    fair = {entry["name"] for entry in catalogue["queues"] if _has(entry, "perfect")}
    aims = {name: FAIR_AIM if name in fair else SINGLE_AIM for name in queues}
    control_aims = {name: PACED_AIM if name in PACED else CONTROL_AIM for name in controls}
    costs = {
        "rounds": rounds,
        "disciplines": _alternate(queues, PLAIN_QUEUE, aims, rounds),
        "controls": _alternate(controls, PLAIN_CONTROL, control_aims, rounds),
    }
    json.dump(costs, sys.stdout)


def _has(entry: Entry, parameter: str) -> bool:
    return any(known["name"] == parameter for known in entry["parameters"])


def _scenario() -> dict[str, Any]:
    """Return the benchmark's scenario, measured from the start: all packets that cost time are counted."""
    times = {"duration": f"{BENCH.duration_s:g} s", "warmup": "0 s"}
    return {**tomllib.loads(SCENARIO.read_text(encoding="utf-8")), **times}


def _with_queue(entry: Entry) -> dict[str, Any]:
    scenario = _scenario()
    queue: dict[str, Any] = {"kind": entry["name"], **({"limit": LIMIT} if _has(entry, "limit") else {})}
    queue |= _HELD.get(entry["holds"], {})
    return {**scenario, "bottleneck": {**scenario["bottleneck"], "queue": queue}}


def _with_control(name: str) -> dict[str, Any]:
    scenario = _scenario()
    return {**scenario, "group": [{**group, "control": name} for group in scenario["group"]]}


def _alternate(
    scenarios: dict[str, dict[str, Any]], plain: str, aims: dict[str, float], rounds: int
) -> list[dict[str, Any]]:
    """Time the scenarios in turns, so that a disturbance hits all alike; ratios are those within a round."""
    checked = {}
    refused = {}
    for name, scenario in scenarios.items():
        try:
            checked[name] = sojourn.scenario(scenario)
        except sojourn.InputError as error:
            refused[name] = str(error)
    taken: dict[str, list[dict[str, float]]] = {name: [] for name in checked}
    for seed in range(1, rounds + 1):
        for name, ready in checked.items():
            begun = time.process_time()
            run = ready.run(seed=seed, runs=1, jobs=1, series=False).runs[0]
            cpu_s, link = time.process_time() - begun, run["bottleneck"]
            packets = link["departures"]
            cost = {"cpu_s": cpu_s, "packet_ns": 1e9 * cpu_s / packets, "packets": packets, "drops": link["drops"]}
            taken[name].append({**cost, "utilization": link["utilization"]})
    rows = []
    for name, costs in taken.items():
        ratios = {
            of: [mine[of] / theirs[of] for mine, theirs in zip(costs, taken[plain], strict=True)]
            for of in ("cpu_s", "packet_ns")
        }
        rows.append(
            {
                "name": name,
                **{of: median(cost[of] for cost in costs) for of in costs[0]},
                "time_ratio": median(ratios["cpu_s"]),
                "packet_ratio": median(ratios["packet_ns"]),
                "packet_ratio_least": min(ratios["packet_ns"]),
                "packet_ratio_most": max(ratios["packet_ns"]),
                "aim": aims[name],
            }
        )
    return [*rows, *({"name": name, "refused": why} for name, why in refused.items())]


if __name__ == "__main__":
    main()
