"""What is compared: a qdisc as tc sets it up, and the same as a queue of a scenario."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.kernel.inside import FIRST_PORT
from benchmarks.kernel.workloads import WORKLOADS, Workload

RATE_BIT_PER_S = 4_000_000
"""Of the link behind the qdisc."""


@dataclass(frozen=True)
class Case:
    """One qdisc under one workload."""

    name: str
    qdisc: str
    """As tc is told."""
    queue: Mapping[str, Any]
    """As a scenario says it."""
    workload: str
    filters: bool = False
    """Whether tc is told which packet belongs to which flow, in place of the kernel's random hash."""
    classes: str = ""
    """Where the qdisc has classes, what tc is told of each; flow 0 belongs to the first."""
    random: bool = False
    """Whether chance decides, so that only distributions can agree."""
    weight: float | None = None
    """For RED: weight of a new sample in its average."""
    facts: Sequence[str] = field(default=())
    """What a reader has to know of the comparison."""

    @property
    def load(self) -> Workload:
        """The workload itself."""
        return WORKLOADS[self.workload]

    def tc(self) -> list[str]:
        """Return the arguments of each call of tc; DEV stands for the device."""
        calls = [f"qdisc add DEV parent 1:1 handle 10: {self.qdisc}"]
        numbers = range(1, len(self.load.flows) + 1)
        if self.classes:
            calls += [f"class add DEV parent 10: classid 10:{number} {self.classes}" for number in numbers]
            calls += [f"qdisc add DEV parent 10:{number} pfifo limit 1000" for number in numbers]
        if self.filters or self.classes:
            calls += [
                f"filter add DEV parent 10: protocol ip prio 1 u32 match ip dport {FIRST_PORT + number - 1} 0xffff "
                f"flowid 10:{number}"
                for number in numbers
            ]
        return calls

    def scenario(self) -> dict[str, Any]:
        """Return a scenario whose bottleneck has the queue; its only group says how large a full packet is."""
        traffic = {"kind": "cbr", "rate": "1 Mbit/s", "packet": "1514 B"}
        return {
            "name": self.name,
            "duration": "1 s",
            "bottleneck": {"rate": f"{RATE_BIT_PER_S} bit/s", "queue": dict(self.queue)},
            "group": [{"name": "packets", "traffic": traffic, "rtt": "10 ms"}],
        }


def _linux(kind: str, **values: Any) -> dict[str, Any]:
    return {"kind": kind, "preset": "linux", **values}


_RED = "limit 150000 min 15000 max 45000 avpkt 1000 burst 25 probability 0.1 bandwidth 4mbit"
_RED_VALUES = {
    "limit": "150000 B",
    "min": "15000 B",
    "max": "45000 B",
    "burst": 25,
    "max_p": 0.1,
    "bandwidth": "4 Mbit/s",
}

EXACT: list[Case] = [
    Case("pfifo", "pfifo limit 50", _linux("droptail", limit="50 packets"), "mixed"),
    Case("bfifo", "bfifo limit 30000", _linux("droptail", limit="30000 B"), "mixed"),
    Case("pfifo_head_drop", "pfifo_head_drop limit 50", _linux("droptail", limit="50 packets", drop="head"), "mixed"),
    Case("codel", "codel", _linux("codel"), "mixed"),
    Case("codel overloaded", "codel", _linux("codel"), "overload"),
    Case("codel ecn", "codel ecn", _linux("codel", ecn=True), "mixed"),
    Case("codel limit", "codel limit 40 ecn", _linux("codel", limit="40 packets", ecn=True), "overload"),
    Case("fq_codel", "fq_codel", _linux("fq_codel", perfect=True), "mixed", filters=True),
    Case("fq_codel overloaded", "fq_codel", _linux("fq_codel", perfect=True), "overload", filters=True),
    Case(
        "fq_codel limit",
        "fq_codel limit 100 quantum 300 noecn",
        _linux("fq_codel", perfect=True, limit="100 packets", quantum=300, ecn=False),
        "overload",
        filters=True,
    ),
    Case("sfq", "sfq", _linux("sfq", perfect=True), "overload", filters=True),
    Case(
        "sfq depth headdrop",
        "sfq limit 100 depth 30 headdrop quantum 500",
        _linux("sfq", perfect=True, limit="100 packets", depth=30, drop="head", quantum=500),
        "mixed",
        filters=True,
    ),
    Case("drr", "drr", {"kind": "drr", "perfect": True, "limit": "4000 packets"}, "mixed", classes="drr quantum 1514"),
    Case("prio", "prio", _linux("prio"), "mixed"),
]

RANDOM: list[Case] = [
    Case("red", f"red {_RED}", _linux("red", **_RED_VALUES), "steady", random=True, weight=1 / 64),
    Case("red ecn", f"red {_RED} ecn", _linux("red", ecn=True, **_RED_VALUES), "steady-ecn", random=True, weight=1 / 64),
    Case(
        "choke",
        "choke limit 200 min 20 max 60 burst 25 probability 0.1 bandwidth 4mbit",
        _linux("choke", limit="200 packets", min="20 packets", max="60 packets", burst=25, max_p=0.1, perfect=True),
        "steady",
        random=True,
    ),
    Case("pie", "pie limit 1000 tupdate 20ms", _linux("pie", limit="1000 packets", update="20 ms"), "steady", random=True),
    Case(
        "pie ecn",
        "pie limit 1000 tupdate 20ms ecn",
        _linux("pie", limit="1000 packets", update="20 ms", ecn=True),
        "steady-ecn",
        random=True,
    ),
]

CASES: list[Case] = [*EXACT, *RANDOM]
