"""Processor time of the peers, in several variants."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.peers.points import BENCH, Point
from benchmarks.peers.runs import run, startup_cpu_s


@dataclass(frozen=True)
class Timing:
    """Processor time of one variant of a peer, seconds.

    Attributes:
        variant: what was run.
        startup_s: median of runs of duration 0.
        net_s: median of cpu_s minus start-up.
        spread_s: largest minus smallest net_s.
        packet_ns: net_s per packet that arrived at the bottleneck in the whole run (with its acknowledgement), ns.
    """

    variant: str
    startup_s: float
    net_s: float
    spread_s: float
    packet_ns: float


VARIANTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "ns2 dumbbell": ("ns2", {}),
    "ns2 dumbbell, heap": ("ns2", {"scheduler": "Heap"}),
    "ns2 direct": ("ns2", {"topology": "direct"}),
    "ns2 direct, no monitor": ("ns2", {"topology": "direct", "monitor": False}),
    "ns3 dumbbell": ("ns3", {}),
    "ns3 direct": ("ns3", {"topology": "direct"}),
    "ns3 direct, device fifo, no monitor": ("ns3", {"topology": "direct", "fifo": "device", "monitor": False}),
    "htsim": ("htsim", {"monitor": False}),
}


def time_peers(point: Point = BENCH, repeats: int = 5, variants: Sequence[str] = tuple(VARIANTS)) -> list[Timing]:
    """Time the variants in alternation (one run of each, then again), so that a disturbance hits all alike.

    Args:
        point: what to run; long enough that start-up is small.
        repeats: runs per variant.
        variants: names from ``VARIANTS``.
    """
    packets = point.rate_bps * point.duration_s / (8 * 1500)
    startup = {name: startup_cpu_s(VARIANTS[name][0], point, repeats, **VARIANTS[name][1]) for name in variants}
    taken: dict[str, list[float]] = {name: [] for name in variants}
    for seed in range(1, repeats + 1):
        for name in variants:
            peer, options = VARIANTS[name]
            taken[name].append(run(peer, point, seed, **options).cpu_s - startup[name])
    return [
        Timing(
            name,
            startup[name],
            statistics.median(taken[name]),
            max(taken[name]) - min(taken[name]),
            1e9 * statistics.median(taken[name]) / packets,
        )
        for name in variants
    ]
