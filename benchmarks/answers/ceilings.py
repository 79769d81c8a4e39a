"""HTB's ceilings: the kernel's own rates, and arithmetic where the bucket outlasts the turns of others."""

import functools
from typing import Any, Literal

import numpy as np

from benchmarks.answers.case import Case, Topic, datagrams, record
from benchmarks.kernel import compare, recording
from benchmarks.kernel.cases import EXACT

_NAME = "htb ceilings"
_FROM_NS, _TO_NS = 2_000_000_000, 8_000_000_000


@functools.cache
def _recorded() -> dict[str, Any]:
    """Return what became of each packet in the kernel and in Sojourn's queue, asked at the same moments."""
    (case,) = [case for case in EXACT if case.name == _NAME]
    what = recording.load(_NAME)
    return {"kernel": compare.recorded(what), "sojourn": compare.Replayer(case, what).fates(), "recording": what}


def _rate(where: Literal["kernel", "sojourn"], flow: int) -> float:
    """Return what left of a flow's packets between 2 and 8 s, in Mbit/s."""
    both = _recorded()
    fates, what = both[where], both["recording"]
    since = fates.left_ns - what.arrived_ns[0]
    counted = fates.left & (what.flow == flow) & (since > _FROM_NS) & (since < _TO_NS)
    return float(np.sum(what.bytes[counted])) * 8e3 / (_TO_NS - _FROM_NS)


@functools.cache
def _deep(cburst_bytes: int) -> tuple[float, float]:
    """Return the rates of a class with a ceiling of 2.5 Mbit/s and of another without, both with more to send."""
    leaf = {"kind": "droptail", "limit": "60 packets"}
    classes: list[dict[str, Any]] = [
        {"name": "low", "groups": ["low"], "rate": "1 Mbit/s", "ceil": "2.5 Mbit/s", "cburst": cburst_bytes},
        {"name": "other", "rate": "1 Mbit/s"},
    ]
    queue = {"kind": "htb", "class": [{**one, "queue": leaf} for one in classes]}
    groups = [datagrams("low", "7.1 Mbit/s"), datagrams("other", "11.3 Mbit/s", start="0.7 ms")]
    tables = {"duration": "32 s", "warmup": "2 s", "group": groups}
    found = record({**tables, "bottleneck": {"rate": "10 Mbit/s", "queue": queue}})["groups"]
    low, other = (found[name]["goodput_mbps"] * 1500 / 1472 for name in ("low", "other"))
    return low, other


CEILINGS = Topic(
    "HTB's ceilings",
    "A class that has waited keeps no more than `cburst` bytes of its ceiling. Where another class sends more than "
    "that in a turn, what came meanwhile is lost for good, and the class stays below its ceiling: 0.68 of 1 Mbit/s "
    "in Linux 6.1, whose `sch_htb` was recorded packet by packet (turns of 12,500 B, link of 4 Mbit/s). With a "
    "`cburst` above the other's turn the ceiling is reached (2.5 Mbit/s of 10, turns of 12,500 B). The tolerance is "
    "a packet or two.",
    (
        Case(
            "cburst 1600 B: the class with a ceiling of 1 Mbit/s",
            functools.partial(_rate, "kernel", 0),
            functools.partial(_rate, "sojourn", 0),
            0.001,
            "Mbit/s",
        ),
        Case(
            "cburst 1600 B: the other class",
            functools.partial(_rate, "kernel", 1),
            functools.partial(_rate, "sojourn", 1),
            0.001,
            "Mbit/s",
        ),
        Case("cburst 20 kB: the class with a ceiling", lambda: 2.5, lambda: _deep(20_000)[0], 0.002, "Mbit/s"),
        Case("cburst 20 kB: the other class", lambda: 7.5, lambda: _deep(20_000)[1], 0.002, "Mbit/s"),
    ),
)

TOPICS = (CEILINGS,)
