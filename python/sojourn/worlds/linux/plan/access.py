"""The sending hosts' own links, and the queue discipline before each: lines for `tc -batch`.

As in a simulation each flow has a host and a link of its own. What it sends leaves through a class of HTB, whose leaf
is the host's qdisc. HTB takes a packet from there when its transmission begins. So all that waits is in the qdisc, and
nothing in a card's ring.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sojourn.worlds.linux.plan import shaping
from sojourn.worlds.linux.plan.express import LinkFacts, Refusal, rate_bps, shown
from sojourn.worlds.linux.plan.flows import Flow

# A host without a qdisc has an endless FIFO.
_QDISCS = {"none": "pfifo limit 1000000", "pfifo_fast": "pfifo_fast", "codel": "codel", "fq_codel": "fq_codel"}
# What a kernel always does, and what the devices of namespaces have: offloads are off, and there is no ring whose
# bytes could be limited.
_ALWAYS = {
    "small_queue": "1 ms",
    "small_queue_packets": 2,
    "burst": 1,
    "pacing": "control",
    "receive_offload": "0 s",
    "ring": 1,
    "byte_limits": False,
    "completions": "0 s",
}


def refusals(group: Mapping[str, Any], key: str, *, is_tcp: bool) -> Iterable[Refusal]:
    """Say what of a group's hosts the kernel cannot have."""
    host = group.get("host")
    if "access_rate" in group and is_tcp and host is None:
        yield Refusal(f"{key}.host", "a host without small queues", "linux", hint=f"{key}.host=linux")
    for name, value in (host or {}).items():
        if name in _ALWAYS and value != _ALWAYS[name]:
            yield Refusal(f"{key}.host.{name}", shown(value), shown(_ALWAYS[name]))


def modules(scenario: Mapping[str, Any]) -> set[str]:
    """Return the modules of the hosts' qdiscs."""
    qdiscs = {group.get("host", {}).get("qdisc", "none") for group in scenario["group"]}
    return {f"sch_{qdisc}" for qdisc in qdiscs & {"codel", "fq_codel"}}


def lines(device: str, how: shaping.How, flows: Sequence[Flow], packet_bytes: int, *, far: bool) -> list[str]:
    """Return the lines that give each flow's host behind a device its link; none where no host has one.

    `far` tells whether the senders of this device are at the far end of the path.
    """
    sending = [flow for flow in flows if flow.forward != far and "access_rate" in flow.table]
    made = [shaping.root(device)] if sending else []
    filtered = f"filter add dev {device} parent 1: protocol ip prio 1 u32"
    for number, flow in enumerate(sending, start=1):
        place, link = f"1:{number:x}", LinkFacts(rate_bps(flow.table["access_rate"]), packet_bytes)
        qdisc = _QDISCS[flow.table.get("host", {}).get("qdisc", "none")]
        match = f"match ip src {flow.source}/32 match ip dst {flow.sink}/32 match ip dport {flow.port} 0xffff"
        made += [
            f"class add {shaping.share(f'dev {device} parent 1: classid {place}', how, link)}",
            f"qdisc add dev {device} parent {place} {qdisc}",
            f"{filtered} {match} flowid {place}",
        ]
    return made
