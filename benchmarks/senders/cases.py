"""What is compared: a control, what its application writes, and what happens on the path."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.senders.packets import PAYLOAD_BYTES

RATE_BIT_PER_S = 8_000_000
RTT_MS = 40
DEEP, SHALLOW = 2000, 30
"""Packets that may wait: more than any window, and a bandwidth-delay product."""


@dataclass(frozen=True)
class Workload:
    """What the application writes, and what happens on the path."""

    text: str
    writes: Sequence[Mapping[str, int]]
    duration_ms: int
    path: Mapping[str, Any] = field(default_factory=dict)
    ecn: bool = False

    def plan(self, name: str, *, ecn: bool) -> dict[str, Any]:
        """Return what the recorder reads."""
        path = {"rate_bit_per_s": RATE_BIT_PER_S, "rtt_us": RTT_MS * 1000, "buffer_packets": DEEP, **self.path}
        return {
            "name": name,
            "ecn": ecn or self.ecn,
            "path": path,
            "writes": [dict(write) for write in self.writes],
            "duration_ms": self.duration_ms,
        }


def _bulk(segments: int) -> list[dict[str, int]]:
    return [{"segments": segments, "at_ms": 0}]


def _on_off(segments: int, every_ms: int, times: int) -> list[dict[str, int]]:
    return [{"segments": segments, "at_ms": number * every_ms} for number in range(times)]


def _requests(segments: int, think_ms: Sequence[int]) -> list[dict[str, int]]:
    return [{"segments": segments, "at_ms": 0}, *({"segments": segments, "after_ms": think} for think in think_ms)]


_SINGLE = [[150, 0], [800, 0], [1400, 0], [2000, 0], [2003, 0]]
_BURSTS = [
    *([number, 0] for number in range(300, 306)),
    *([number, 0] for number in range(900, 930, 2)),
    # A retransmission that is lost as well.
    [900, 1],
    *([number, 0] for number in range(1800, 1840)),
]

WORKLOADS: dict[str, Workload] = {
    "bulk": Workload("2500 segments over a queue that holds all", _bulk(2500), 20_000),
    "bulk-queue": Workload("4000 segments over a queue of 30", _bulk(4000), 20_000, {"buffer_packets": SHALLOW}),
    "bulk-losses": Workload("2500 segments, five of them lost one at a time", _bulk(2500), 20_000, {"lose": _SINGLE}),
    "bulk-bursts": Workload(
        "2500 segments, of which 6 in a row, every second of 30 with one retransmission, and 40 in a row are lost",
        _bulk(2500),
        30_000,
        {"lose": _BURSTS},
    ),
    "bulk-reordered": Workload(
        "2500 segments, of which some arrive 3, 10 and 70 ms late",
        _bulk(2500),
        20_000,
        {"hold": [[200, 0, 3000], [500, 0, 3000], [900, 0, 10_000], [1300, 0, 70_000], [1700, 0, 10_000]]},
    ),
    "bulk-repeated": Workload(
        "2500 segments, some of whose acknowledgements come three times",
        _bulk(2500),
        20_000,
        {"repeat": [60, 61, 200, 400, 401, 402, 800]},
    ),
    "bulk-marks": Workload(
        "2500 segments with ECN, marked where 20 wait", _bulk(2500), 20_000, {"mark_at": 20}, ecn=True
    ),
    "bulk-marks-losses": Workload(
        "2500 segments with ECN, marked where 20 wait, seven of them lost",
        _bulk(2500),
        20_000,
        {"mark_at": 20, "lose": [*_SINGLE, [400, 0], [401, 0]]},
        ecn=True,
    ),
    "bulk-steps": Workload(
        "3000 segments; the round trip is 60 ms longer from 1.5 s to 3 s, and 30 ms from 4 s on",
        _bulk(3000),
        20_000,
        {"steps": [[1_500_000, 60_000], [3_000_000, 0], [4_000_000, 30_000]], "buffer_packets": 60},
    ),
    "bulk-spike": Workload(
        "1500 segments; at 1 s the round trip is 600 ms longer for 200 ms, so that a timeout is needless",
        _bulk(1500),
        20_000,
        {"steps": [[1_000_000, 600_000], [1_200_000, 0]], "buffer_packets": 60},
    ),
    "bulk-silent": Workload(
        "1500 segments; nothing crosses from 1 s to 3.5 s",
        _bulk(1500),
        20_000,
        {"silent": [[1_000_000, 3_500_000]], "buffer_packets": 60},
    ),
    "short": Workload("40 segments", _bulk(40), 5000),
    "short-tail": Workload("40 segments, the last two lost", _bulk(40), 5000, {"lose": [[38, 0], [39, 0]]}),
    "on-off": Workload("250 segments every 2 s, six times", _on_off(250, 2000, 6), 20_000),
    "on-off-queue": Workload(
        "300 segments every 1.5 s, eight times, over a queue of 30",
        _on_off(300, 1500, 8),
        20_000,
        {"buffer_packets": SHALLOW},
    ),
    "requests": Workload(
        "24 segments each 20 to 2000 ms after the last were acknowledged, 12 times, three of them with a loss",
        _requests(24, [20, 50, 100, 150, 300, 500, 1000, 2000, 50, 100, 100]),
        20_000,
        {"lose": [[60, 0], [119, 0], [190, 0], [191, 0]]},
    ),
    "thin": Workload("2 segments every 15 ms, far below the rate", _on_off(2, 15, 200), 20_000, {"lose": [[101, 0]]}),
}


@dataclass(frozen=True)
class Sender:
    """A control as the kernel calls it, and the same as a scenario says it."""

    name: str
    control: Mapping[str, Any]
    ecn: bool = False
    """Whether it cannot do without marks."""
    wanted: float = 0.99
    """What share of segments has to be the same."""
    module: str = ""
    """The control as the kernel calls it, where that is not the name."""
    bursts: bool = False
    """Whether the host hands bursts to its network card."""

    def scenario(self, workload: Workload) -> dict[str, Any]:
        """Return a scenario whose only group has this sender."""
        ecn = self.ecn or workload.ecn
        transport = {
            "preset": "linux",
            "payload": f"{PAYLOAD_BYTES} B",
            "timer_tick": "10 ms",
            **({"ecn": "accurate" if self.ecn else True} if ecn else {}),
        }
        queue = {"kind": "red", "preset": "linux", "ecn": True} if ecn else {"kind": "droptail", "limit": "30 packets"}
        group = {
            "name": self.name,
            "control": dict(self.control),
            "transport": transport,
            "traffic": {"kind": "bulk"},
            "rtt": f"{RTT_MS} ms",
            **({"access_rate": "100 Gbit/s", "host": {"kind": "linux", "burst": 45}} if self.bursts else {}),
        }
        bottleneck = {"rate": f"{RATE_BIT_PER_S} bit/s", "queue": queue}
        return {"name": self.name, "duration": "1 s", "bottleneck": bottleneck, "group": [group]}


def _linux(kind: str) -> dict[str, Any]:
    return {"kind": kind, "preset": "linux"}


SENDERS: dict[str, Sender] = {
    sender.name: sender
    for sender in (
        Sender("reno", _linux("newreno"), wanted=0.999),
        # The kernel's tick is the clock of some.
        Sender("cubic", {**_linux("cubic"), "tick": "10 ms"}, wanted=0.999),
        Sender("vegas", _linux("vegas")),
        Sender("westwood", {**_linux("westwood"), "tick": "10 ms"}),
        Sender("veno", _linux("veno")),
        Sender("illinois", _linux("illinois")),
        Sender("lp", _linux("tcp_lp")),
        Sender("cdg", _linux("cdg")),
        Sender("dctcp", _linux("dctcp"), ecn=True),
        Sender("bbr", {**_linux("bbr"), "tick": "10 ms"}),
        Sender("reno-bursts", _linux("newreno"), module="reno", bursts=True),
        Sender("cubic-bursts", {**_linux("cubic"), "tick": "10 ms"}, module="cubic", bursts=True),
    )
}
