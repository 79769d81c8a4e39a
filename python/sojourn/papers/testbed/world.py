"""The testbed: 500 kbit/s behind the kernel's shaper, 30 ms, NewReno beside a low-priority control."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.papers.measures import BACKGROUND, TCP, UTILIZATION, Key, Results, label, measure
from sojourn.papers.two_worlds import pie_as_on_the_kernel
from sojourn.study.lab import Lab
from sojourn.study.numbers import Number
from sojourn.testbed.plan.flows import moments

RATE = "500 kbit/s"
RUNS = 3
"""As in the paper."""
SIM_RUNS_EACH = 10
"""Simulated runs cost little, and where flows have a packet or two they spread much: so many for each of the kernel's,
with its start times."""
KERNEL, SIM = "kernel", "sim"
LEDBAT, TCP_LP = "LEDBAT", "TCP-LP"
# The paper's LEDBAT is libutp.
CONTROLS: dict[str, Any] = {LEDBAT: "libutp", TCP_LP: {"kind": "tcp_lp", "preset": "linux"}}
ONE, FIVE = "1+1", "5+5"
FLOWS = {FIVE: 5, ONE: 1}
FIFO, RED, SFQ, RED_STAR = "FIFO", "RED", "SFQ", "RED*"

# The ticks of user-mode Linux, which its TCP's timers wait for.
_TICK = {"timer_tick": "10 ms"}
# Controls that are programs on the kernel, and bring their timers: libutp, and the project's own code over UDP.
_OWN_TIMERS = {"libutp": "libutp", "ledbat": "linux"}


def red(least_bytes: int, most_bytes: int, burst: int, mean_packet: int = 1000, max_p: float = 0.02) -> dict[str, Any]:
    """Return a RED of tc's, with the limit that its manual advises: eight times the upper threshold."""
    return {
        "kind": "red",
        "preset": "linux",
        "limit": f"{8 * most_bytes} B",
        "min": f"{least_bytes} B",
        "max": f"{most_bytes} B",
        "burst": burst,
        "mean_packet": mean_packet,
        "max_p": max_p,
    }


# The paper gives FIFO's size and the lower thresholds of RED and RED*. The rest of RED is what tc's manual advises: an
# upper threshold of three times the lower, a burst of (2 min + max) / (3 avpkt), a probability of 0.02.
QUEUES: dict[str, dict[str, Any]] = {
    FIFO: {"kind": "droptail", "preset": "linux", "limit": "1000 packets"},
    RED: red(1500, 4500, 3),
    SFQ: {"kind": "sfq", "preset": "linux", "perturb": "10 s"},
    RED_STAR: red(16_500, 49_500, 28),
}

_START = {"uniform": ["0 s", "0.1 s"]}

# What ping sends: 56 bytes of data, 8 of ICMP, 20 of IP, five times a second. The kernel's probe is always there.
_PING = {
    "name": "ping",
    "transport": "linux",
    "flows": 1,
    "rtt": "30 ms",
    "traffic": {"kind": "cbr", "rate": "3360 bit/s", "packet": "84 B"},
}


def base(world: str, **changes: Any) -> dict[str, Any]:
    """Return the scenario; in a simulation the ping is one more flow."""
    return {
        "name": "gong-testbed",
        "duration": "60 s",
        "bottleneck": {"rate": RATE, "queue": QUEUES[FIFO]},
        "group": [
            _group(world, TCP, {"kind": "newreno", "preset": "linux"}),
            _group(world, BACKGROUND, CONTROLS[LEDBAT]),
            *([_PING] if world == SIM else []),
        ],
        **changes,
    }


def _group(world: str, name: str, control: Any) -> dict[str, Any]:
    return {
        "name": name,
        "control": control,
        "transport": {"preset": "linux", **_TICK} if world == SIM else "linux",
        "flows": 5,
        "rtt": "30 ms",
        "start": _START,
    }


def case(queue: Mapping[str, Any], control: Any, flows: int) -> dict[str, Any]:
    """Return the changes for a cell of the paper's table."""
    return {
        "bottleneck.queue": dict(queue),
        "group.background.control": control,
        "group.tcp.flows": flows,
        "group.background.flows": flows,
    }


PING_MS, EXACT_MS = "bottleneck_ping_ms_mean", "bottleneck_queue_ms_mean"


@dataclass(frozen=True)
class Cell:
    """What one world found for one case."""

    share: Number
    """TCP's part of what TCP and the background delivered."""
    exact_ms: Number
    """Mean queueing delay of all packets."""
    ping_ms: Number
    """Mean queueing delay of pings."""
    utilization: Number
    shares: tuple[float, ...]
    """TCP's part in each run."""


def cell(results: Results, *keys: Key) -> Cell:
    """Return what one or more cases found together; in a simulation the ping is a flow of the case."""

    def values(metric: str, group: str = TCP) -> list[float]:
        return [value for key in keys for value in results.values(key, metric, group)]

    tcp, background = (values("goodput_mbps", group) for group in (TCP, BACKGROUND))
    is_simulated = (label(keys[0]), "ping") in results.rows
    ping = values("queue_ms_mean", "ping") if is_simulated else values(PING_MS)
    shares = tuple(one / (one + other) for one, other in zip(tcp, background, strict=True) if one + other)
    exact, utilization = values(EXACT_MS), values(UTILIZATION)
    return Cell(Number.of(shares), Number.of(exact), Number.of(ping), Number.of(utilization), shares)


def as_on_the_kernel(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes of a case for a simulation: with what the kernel's side has of itself."""
    told = dict(changes)
    control = told["group.background.control"]
    if isinstance(control, str):
        told["group.background.transport"] = _OWN_TIMERS[control]
    elif "group.background.transport" in told:
        told["group.background.transport"] = told["group.background.transport"] | _TICK
    told["bottleneck.queue"] = _queue_as_on_the_kernel(told["bottleneck.queue"])
    return told


def _queue_as_on_the_kernel(queue: Mapping[str, Any]) -> dict[str, Any]:
    if queue["kind"] == "drr":
        # The kernel's drr has a limit for each flow's class, Sojourn's one for all; sfq has turns of a packet too, and
        # with perfect buckets a limit for each.
        packets = int(queue["limit"].removesuffix(" packets"))
        most = packets * 2 * max(FLOWS.values())
        return {"kind": "sfq", "preset": "linux", "perfect": True, "depth": packets, "limit": f"{most} packets"}
    return pie_as_on_the_kernel(queue)


def simulate(lab: Lab, name: str, cases: Mapping[Key, Mapping[str, Any]], *, each: int = 1) -> dict[Key, Cell]:
    """Run cases in simulation, so many times for each run on the kernel, with the start times that flows have there.

    Which flow begins first decides much where a buffer holds half a run.
    """
    seeds = range(1, RUNS + 1)
    told = {
        (*key, seed): as_on_the_kernel(changes) | starts(changes, seed)
        for key, changes in cases.items()
        for seed in seeds
    }
    results = measure(lab, f"{name}-sim", base(SIM), told, seeds=each)
    return {key: cell(results, *((*key, seed) for seed in seeds)) for key in cases}


def starts(changes: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return the start times of a case's flows in a run on the kernel."""
    found = {}
    for name in (TCP, BACKGROUND):
        group = {"name": name, "flows": changes[f"group.{name}.flows"], "start": _START}
        found[f"group.{name}.start"] = [f"{1e3 * (start_s or 0.0):.6f} ms" for start_s in moments(group, "start", seed)]
    return found


def run_on_kernel(lab: Lab, name: str, cases: Mapping[Key, Mapping[str, Any]]) -> dict[Key, Cell]:
    """Run cases on the kernel."""
    results = measure(lab, f"{name}-kernel", base(KERNEL), cases, seeds=RUNS, backend="linux")
    return {key: cell(results, key) for key in cases}


def both(lab: Lab, name: str, cases: Mapping[Key, Mapping[str, Any]]) -> dict[str, dict[Key, Cell]]:
    """Run cases in both worlds; return what each found."""
    return {KERNEL: run_on_kernel(lab, name, cases), SIM: simulate(lab, name, cases, each=SIM_RUNS_EACH)}
