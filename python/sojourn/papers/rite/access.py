"""The wired testbed of section 4.1.1, and the disciplines that are compared there."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

RATE_MBPS = 10.0
PAIRS = 4
LEVELS: dict[str, int] = {"light": 1, "moderate": 4, "heavy": 16}
"""Flows for each pair of hosts."""
RTTS_MS = (5.0, 100.0, 500.0)
TARGET_MS = 5.0
WARMUP_S, DURATION_S = 30, 130
_LIMIT = "1000 packets"
# What tc computes for a target of 5 ms: the largest power of 1/2 that lets a burst of 5 packets of 1000 B pass.
_WEIGHT = 0.25
SETTING = (
    f"{RATE_MBPS:g} Mbit/s, {PAIRS} pairs of hosts with 1, 4 or 16 CUBIC flows each, buffer of {_LIMIT}; target "
    f"{TARGET_MS:g} ms and base round-trip times of 5, 100 and 500 ms where nothing else is said"
)


def base() -> dict[str, Any]:
    """Return the scenario that the cases change.

    The report names neither the senders' control nor their system; this is Linux's default, which is an assumption.
    """
    tcp = {
        "name": "tcp",
        "control": {"kind": "cubic", "preset": "linux"},
        "transport": "linux",
        "flows": PAIRS,
        "hosts": PAIRS,
        "receiver_hosts": PAIRS,
        "rtt": _ms(100),
        "start": {"uniform": ["0 s", "5 s"]},
    }
    return {
        "name": "rite-access",
        "duration": f"{DURATION_S} s",
        "warmup": f"{WARMUP_S} s",
        "bottleneck": {"rate": f"{RATE_MBPS:g} Mbit/s", "queue": "droptail"},
        "group": [tcp],
    }


def place(rtt_ms: float, level: str) -> dict[str, Any]:
    """Return the changes for a base round-trip time and a level of congestion."""
    return {"group.tcp.rtt": _ms(rtt_ms), "group.tcp.flows": PAIRS * LEVELS[level]}


def _ms(value: float) -> str:
    return f"{value:g} ms"


def _ared(target_ms: float) -> dict[str, Any]:
    # Linux has no target; its thresholds are half and three halves of it, as in the paper on Adaptive RED.
    thresholds = {"min": _ms(target_ms / 2), "max": _ms(1.5 * target_ms)}
    # tc computes no weight for a lower threshold below a packet; there it is the one of a target of 5 ms.
    weight = {"weight": _WEIGHT} if target_ms < TARGET_MS else {}
    return {"kind": "ared", "preset": "linux", "limit": _LIMIT, **thresholds, **weight}


def _ared_2001(target_ms: float) -> dict[str, Any]:
    return {"kind": "ared", "preset": "floyd01", "limit": _LIMIT, "target_delay": _ms(target_ms)}


def _linux(kind: str, *, limit: bool = True) -> Callable[[float], dict[str, Any]]:
    def queue(target_ms: float) -> dict[str, Any]:
        return {"kind": kind, "preset": "linux", "target": _ms(target_ms)} | ({"limit": _LIMIT} if limit else {})

    return queue


QUEUES: dict[str, Callable[[float], dict[str, Any]]] = {
    "ARED": _ared,
    "CoDel": _linux("codel"),
    "PIE": _linux("pie"),
    "FQ-CoDel": _linux("fq_codel"),
    "DualPI2": _linux("dualpi2"),
    "CAKE": _linux("cake", limit=False),
    "ARED of 2001": _ared_2001,
}
"""Each discipline for a target in ms."""
REPORT = ("ARED", "CoDel", "PIE")
"""The disciplines of the report's figures."""


@dataclass(frozen=True)
class Constant:
    """A number inside a discipline, and what half and twice of it are in the scenario."""

    name: str
    default: str
    changes: Mapping[str, Mapping[str, Any]]
    """By what is done to it: "halved", "doubled"."""


def _scaled(name: str, default: str, keys: Mapping[str, tuple[float, str]]) -> Constant:
    """Return a constant that stands for keys with their values and units."""

    def times(factor: float) -> dict[str, Any]:
        return {key: f"{factor * value:g} {unit}" if unit else factor * value for key, (value, unit) in keys.items()}

    return Constant(name, default, {"halved": times(0.5), "doubled": times(2.0)})


_TARGET = _scaled("target", f"{TARGET_MS:g} ms", {"target": (TARGET_MS, "ms")})
CONSTANTS: dict[str, tuple[Constant, ...]] = {
    "ARED": (
        _scaled("target", f"{TARGET_MS:g} ms", {"min": (TARGET_MS / 2, "ms"), "max": (1.5 * TARGET_MS, "ms")}),
        _scaled("interval", "500 ms", {"interval": (500, "ms")}),
        # Half a step up, and the square root of a step down; twice, and its square.
        Constant(
            "alpha and beta",
            "0.01, 0.9",
            {"halved": {"alpha": 0.005, "beta": math.sqrt(0.9)}, "doubled": {"alpha": 0.02, "beta": 0.81}},
        ),
        # tc refuses to average over fewer than four packets at these thresholds.
        Constant("burst (averaging)", "5 packets", {"doubled": {"burst": 10}}),
    ),
    "CoDel": (_TARGET, _scaled("interval", "100 ms", {"interval": (100, "ms")})),
    "PIE": (
        _TARGET,
        _scaled("update", "15 ms", {"update": (15, "ms")}),
        _scaled("alpha and beta", "0.125, 1.25", {"alpha": (0.125, ""), "beta": (1.25, "")}),
        _scaled("burst allowance", "150 ms", {"burst": (150, "ms")}),
    ),
    "FQ-CoDel": (
        _TARGET,
        _scaled("interval", "100 ms", {"interval": (100, "ms")}),
        Constant("quantum", "1500 B", {"halved": {"quantum": 750}, "doubled": {"quantum": 3000}}),
    ),
    "DualPI2": (
        _TARGET,
        _scaled("update", "16 ms", {"update": (16, "ms")}),
        _scaled("alpha and beta", "0.16, 3.2", {"alpha": (0.16, ""), "beta": (3.2, "")}),
    ),
    "CAKE": (_TARGET, _scaled("rtt (interval)", "100 ms", {"rtt": (100, "ms")})),
}
"""The numbers that a discipline is made of, beside the target."""
