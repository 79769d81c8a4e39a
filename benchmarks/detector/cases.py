"""The probes of the test: kernel queues with several parameter sets, on paths drawn at random.

None of this takes part in training or in the choice of features. The seeds are those of the test alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.detector import linux_queues, ns3
from sojourn.detect.plan import Path

SEED = 20261122
RATES_MBPS = {"linux": (2.0, 12.0), "sim": (0.6, 150.0), "tc": (1.0, 25.0), "ns3": (1.0, 25.0)}
"""Rates of the link: a kernel's probe takes minutes at more. In the simulation they go beyond those of the training."""
RTTS_MS = {"linux": (5.0, 150.0), "sim": (2.0, 300.0), "tc": (3.0, 250.0), "ns3": (3.0, 250.0)}
NEW = ("choke", "fq_pie")
"""Disciplines that the classifier has never seen."""

QUEUES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("droptail", {"preset": "linux", "limit": "60 packets"}),
    ("codel", {"preset": "linux"}),
    ("pie", {"preset": "linux"}),
    ("red", {"preset": "linux", "limit": "150000 B", "min": "15000 B", "max": "45000 B", "max_p": 0.05}),
    ("fq_codel", {"preset": "linux"}),
    ("sfq", {"preset": "linux"}),
    ("cake", {}),
    ("choke", {"preset": "linux", "limit": "150 packets", "min": "15 packets", "max": "45 packets"}),
    ("fq_pie", {"preset": "linux"}),
    ("droptail", {"preset": "linux", "limit": "300 packets"}),
    ("codel", {"preset": "linux", "target": "10 ms", "interval": "150 ms"}),
    ("pie", {"preset": "linux", "target": "25 ms"}),
    ("red", {"preset": "linux", "limit": "90000 B", "min": "9000 B", "max": "27000 B", "max_p": 0.1}),
    ("fq_codel", {"preset": "linux", "target": "10 ms", "interval": "150 ms"}),
    ("sfq", {"preset": "linux", "limit": "90 packets"}),
    ("cake", {"diffserv": "besteffort"}),
    ("choke", {"preset": "linux", "limit": "90 packets", "min": "9 packets", "max": "27 packets"}),
    ("fq_pie", {"preset": "linux", "target": "25 ms"}),
)
_LOW = {"name": "low", "dscp": "le"}


def _weighted(weight: int) -> dict[str, Any]:
    return {"class": [{"name": "rest", "weight": weight}, _LOW]}


CLASSED: dict[str, tuple[tuple[str, dict[str, Any], float | None, bool | None], ...]] = {
    "sim": (
        ("prio", {"class": [{"name": "rest"}, _LOW]}, 0.0, None),
        ("dwrr", _weighted(19), 0.05, None),
        ("dwrr", _weighted(4), 0.12, None),
        ("wrr", _weighted(19), 0.05, None),
        ("wfq", _weighted(9), 0.1, None),
        ("cake", {}, 1 / 16, False),
        ("cake", {"diffserv": "besteffort"}, None, False),
        ("dualpi2", {}, None, True),
        ("dualpi2", {"preset": "linux"}, None, True),
        ("droptail", {"preset": "linux", "limit": "100 packets"}, None, None),
        ("pie", {"preset": "linux", "ecn": True}, None, False),
        ("codel", {"preset": "linux", "ecn": True}, None, False),
        ("fq_codel", {"preset": "linux"}, None, False),
        ("sfq", {"preset": "linux"}, None, None),
    ),
    "linux": (
        ("cake", {}, 1 / 16, None),
        ("cake", {"diffserv": "diffserv4"}, 1 / 16, None),
        ("cake", {"diffserv": "besteffort"}, None, None),
        ("droptail", {"preset": "linux", "limit": "100 packets"}, None, None),
        ("codel", {"preset": "linux"}, None, None),
        ("fq_codel", {"preset": "linux"}, None, None),
        ("sfq", {"preset": "linux"}, None, None),
    ),
}
"""Queues with and without classes, by world: name, table, what of the rate LE keeps, and whether ECT(1) has a queue of
its own. No share is as good as no class, and nothing is known of ECT(1) where the queue never marks, or in Linux."""


@dataclass(frozen=True)
class Case:
    """One probe: the queue, and the path around it."""

    number: int
    name: str
    queue: dict[str, Any]
    rate_mbps: float
    rtt_ms: float
    others_share: float
    """Other traffic as a share of the rate."""

    @property
    def path(self) -> Path:
        """What is probed, where a scenario can have it."""
        return self.around({"kind": self.name, **self.queue})

    @property
    def bare(self) -> Path:
        """The path without its queue, for worlds that are told of the queue otherwise."""
        return self.around("droptail")

    def around(self, queue: str | dict[str, Any]) -> Path:
        """Return the path with a queue."""
        rtt = f"{self.rtt_ms:.3f} ms"
        link = {"rate": f"{self.rate_mbps * 1e6:.0f} bit/s", "queue": queue}
        others = []
        if self.others_share:
            rate = f"{self.rate_mbps * 1e6 * self.others_share:.0f} bit/s"
            others = [{"name": "others", "rtt": rtt, "traffic": {"kind": "cbr", "rate": rate, "packet": "1000 B"}}]
        return Path({"bottleneck": link}, rtt, others)


def cases(count: int, world: str) -> Iterator[Case]:
    """Return the first of the cases of a world: each round has every queue once, on a path of its own."""
    return _drawn(count, world, QUEUES, SEED)


def classed_cases(count: int, world: str) -> Iterator[Case]:
    """Return the first of the cases that are asked for classes."""
    return _drawn(count, world, [(name, queue) for name, queue, _, _ in CLASSED[world]], SEED + 1)


def linux_cases(count: int, world: str) -> Iterator[Case]:
    """Return the first of the cases of Linux's own words."""
    return _drawn(count, world, [(one.name, {"tc": one.title}) for one in linux_queues.QUEUES], SEED + 2)


def linux_classed_cases(count: int, world: str) -> Iterator[Case]:
    """Return the first of the cases of Linux's own words that are asked for classes."""
    return _drawn(count, world, [(one.name, {"tc": one.title}) for one in linux_queues.CLASSED], SEED + 3)


def ns3_cases(count: int, world: str) -> Iterator[Case]:
    """Return the first of the cases of ns-3."""
    return _drawn(count, world, [(one.name, {"ns3": one.title}) for one in ns3.QUEUES], SEED + 4)


def _drawn(count: int, world: str, queues: Sequence[tuple[str, dict[str, Any]]], seed: int) -> Iterator[Case]:
    random = np.random.default_rng(seed)
    for number in range(count):
        name, queue = queues[number % len(queues)]
        rate, rtt = (float(np.exp(random.uniform(*np.log(ends)))) for ends in (RATES_MBPS[world], RTTS_MS[world]))
        share = (0.0, 0.1, 0.2, 0.3)[int(random.integers(4))]
        yield Case(number, name, queue, round(rate, 3), round(rtt, 3), share)
