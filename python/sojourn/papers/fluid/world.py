"""The setting of the fluid model's paper, as a model and as a scenario of packets."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.fluid import Class, Equilibrium, Model, Red, equilibrium, rightmost_root

# Gong, Rossi, Leonardi, ITC 2013: 1 Mbit/s in packets of 1250 B, 50 ms, RED from 10 to 100 packets with at most 0.1.
PACKET_BYTES = 1250
PACKETS_PER_S = 100.0
BASE_RTT_S = 0.05
MIN_PACKETS, MAX_PACKETS, MAX_P, WEIGHT = 10.0, 100.0, 0.1, 0.002
_HEADER_BYTES = 52
DURATION_S, WARMUP_S = 120, 30
SETTING = (
    "1 Mbit/s in packets of 1250 B, base round-trip time 50 ms, RED with at most 0.1 and weight 0.002; packets: "
    "NewReno and LEDBAT with SACK and delayed acknowledgements, 120 s of which 90 are measured, 10 runs"
)


@dataclass(frozen=True)
class Point:
    """Where the model comes to rest, and whether it stays there."""

    rest: Equilibrium
    root: complex

    @property
    def stable(self) -> bool:
        """Return whether deviations fade."""
        return self.root.real < 0


def model(
    flows: int,
    target_packets: float,
    thresholds: tuple[float, float] = (MIN_PACKETS, MAX_PACKETS),
    *,
    weight: float = WEIGHT,
    base_rtt_s: float = BASE_RTT_S,
    **changes: float,
) -> Model:
    """Return the model of as many TCP as LEDBAT flows; `changes` are of Model."""
    classes = (
        Class("tcp", "newreno", flows, base_rtt_s),
        Class("background", "ledbat", flows, base_rtt_s, target_s=target_packets / PACKETS_PER_S),
    )
    return Model(PACKETS_PER_S, limit(thresholds), Red(*thresholds, MAX_P, weight), classes, **changes)


def limit(thresholds: tuple[float, float]) -> float:
    """Return the paper's buffer of 100 packets, or one that holds the upper threshold where that is higher."""
    return max(thresholds[1], MAX_PACKETS)


@functools.cache
def point(one: Model) -> Point | None:
    """Return a model's equilibrium and its rightmost root; None where it has none."""
    rest = equilibrium(one)
    return None if rest is None else Point(rest, rightmost_root(one, rest))


def base() -> dict[str, Any]:
    """Return the scenario that the cases change."""
    return {
        "name": "fluid",
        "duration": f"{DURATION_S} s",
        "warmup": f"{WARMUP_S} s",
        "bottleneck": {"rate": f"{PACKETS_PER_S * PACKET_BYTES * 8 / 1e6:g} Mbit/s", "queue": queue()},
        "group": [_group("tcp", "newreno"), _group("background", control(40))],
    }


def queue(thresholds: tuple[float, float] = (MIN_PACKETS, MAX_PACKETS), **changes: Any) -> dict[str, Any]:
    """Return RED as in 1993, with these thresholds."""
    low, high = thresholds
    tables = {
        "kind": "red",
        "preset": "floyd93",
        "limit": f"{limit(thresholds):.0f} packets",
        "min": f"{low:g} packets",
        "max": f"{high:g} packets",
        "max_p": MAX_P,
        "weight": WEIGHT,
    }
    return tables | changes


def control(target_packets: float, **changes: Any) -> dict[str, Any]:
    """Return LEDBAT with a target in packets at the link's rate."""
    return {"kind": "ledbat", "target": f"{target_packets / PACKETS_PER_S * 1e3:g} ms"} | changes


def _group(name: str, wanted: str | Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "control": wanted,
        "transport": {"payload": f"{PACKET_BYTES - _HEADER_BYTES} B", "header": f"{_HEADER_BYTES} B"},
        "flows": 5,
        "rtt": f"{BASE_RTT_S * 1e3:g} ms",
        "start": {"uniform": ["0 s", "0.1 s"]},
    }
