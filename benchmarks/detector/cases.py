"""The probes of the test: kernel queues with several parameter sets, on paths drawn at random.

None of this takes part in training or in the choice of features. The seeds are those of the test alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.detect.plan import Path

SEED = 20261122
RATES_MBPS = {"linux": (2.0, 12.0), "sim": (0.6, 150.0)}
"""Rates of the link: a kernel's probe takes minutes at more. In the simulation they go beyond those of the training."""
RTTS_MS = {"linux": (5.0, 150.0), "sim": (2.0, 300.0)}
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
        """What is probed."""
        rtt = f"{self.rtt_ms:.3f} ms"
        link = {"rate": f"{self.rate_mbps * 1e6:.0f} bit/s", "queue": {"kind": self.name, **self.queue}}
        others = []
        if self.others_share:
            rate = f"{self.rate_mbps * 1e6 * self.others_share:.0f} bit/s"
            others = [{"name": "others", "rtt": rtt, "traffic": {"kind": "cbr", "rate": rate, "packet": "1000 B"}}]
        return Path({"bottleneck": link}, rtt, others)


def cases(count: int, world: str) -> Iterator[Case]:
    """Return the first of the cases of a world: each round has every queue once, on a path of its own."""
    random = np.random.default_rng(SEED)
    for number in range(count):
        name, queue = QUEUES[number % len(QUEUES)]
        rate, rtt = (float(np.exp(random.uniform(*np.log(ends)))) for ends in (RATES_MBPS[world], RTTS_MS[world]))
        share = (0.0, 0.1, 0.2, 0.3)[int(random.integers(4))]
        yield Case(number, name, queue, round(rate, 3), round(rtt, 3), share)
