"""A packet network of its own, in an event loop of Python: the engine has no part in it.

Flows send packets of one size at a constant rate through links in a row. A link sends one packet at a time; what waits
lies in a queue with a limit in packets, to which the packet on the wire does not count. Times are whole nanoseconds:
flows have such a gap, and a link carries what is left of a division over to its next packet.
"""

import heapq
import itertools
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class Source:
    """A flow: its rate on the wire, bytes of a packet, and when it sends the first."""

    bits_per_s: int
    packet_bytes: int
    start_ns: int

    @property
    def gap_ns(self) -> int:
        """Time from one packet to the next."""
        return exact(self.packet_bytes * 8 * SECOND_NS, self.bits_per_s)


@dataclass
class Link:
    """A link with its queue, and what it counts."""

    bits_per_s: int
    limit: int
    delay_ns: int = 0
    queue: Literal["tail", "head", "shortest"] = "tail"
    """Drop the arrival, drop the oldest, or serve the flow with the fewest bytes and drop of the one with the most."""
    waiting: list[deque[tuple[int, int]]] = field(default_factory=list)
    """For each flow, or for all in one queue: (flow, when it came)."""
    busy: bool = False
    rest: int = 0
    """What is left of the last division of bits by the rate."""
    drops: dict[int, int] = field(default_factory=dict)
    sent: dict[int, int] = field(default_factory=dict)
    waits_ns: list[int] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    """For the shortest queue first: when each flow was served last or began to wait, as a number that grows."""


def exact(above: int, below: int) -> int:
    """Divide without a remainder."""
    quotient, rest = divmod(above, below)
    if rest:
        raise ValueError(f"{above} / {below} is no whole number of nanoseconds")
    return quotient


def run(links: Sequence[Link], sources: Sequence[Source], end_ns: int) -> None:
    """Send packets until `end_ns`; the links keep what they counted."""
    order = itertools.count()
    for link in links:
        link.waiting = [deque() for _ in (sources if link.queue == "shortest" else (0,))]
        link.turns = [0] * len(sources)
    agenda = [(source.start_ns, next(order), "send", 0, flow) for flow, source in enumerate(sources)]
    heapq.heapify(agenda)
    while agenda and agenda[0][0] <= end_ns:
        now, _, what, place, flow = heapq.heappop(agenda)
        link = links[place]
        if what == "free":
            link.busy = False
            if place + 1 < len(links):
                heapq.heappush(agenda, (now + link.delay_ns, next(order), "arrive", place + 1, flow))
        else:
            _put(link, flow, now, sources, next(order))
        if what == "send":
            heapq.heappush(agenda, (now + sources[flow].gap_ns, next(order), "send", 0, flow))
        if not link.busy and (found := _take(link, sources, next(order))) is not None:
            flow, came = found
            link.busy = True
            link.waits_ns.append(now - came)
            link.sent[flow] = link.sent.get(flow, 0) + 1
            took, link.rest = divmod(sources[flow].packet_bytes * 8 * SECOND_NS + link.rest, link.bits_per_s)
            heapq.heappush(agenda, (now + took, next(order), "free", place, flow))


def _put(link: Link, flow: int, now: int, sources: Sequence[Source], order: int) -> None:
    own = link.waiting[flow] if link.queue == "shortest" else link.waiting[0]
    if link.queue == "shortest" and not own:
        link.turns[flow] = order
    # A packet that finds the link free does not wait.
    if link.busy and sum(map(len, link.waiting)) >= link.limit:
        if link.queue == "tail":
            _drop(link, flow)
            return
        if link.queue == "head":
            _drop(link, own.popleft()[0])
            own.append((flow, now))
            return
        own.append((flow, now))
        longest = max(
            (one for one in range(len(sources)) if link.waiting[one]),
            key=lambda one: (len(link.waiting[one]) * sources[one].packet_bytes, -link.turns[one]),
        )
        link.waiting[longest].pop()
        _drop(link, longest)
        return
    own.append((flow, now))


def _take(link: Link, sources: Sequence[Source], order: int) -> tuple[int, int] | None:
    if link.queue != "shortest":
        return link.waiting[0].popleft() if link.waiting[0] else None
    busy = [flow for flow in range(len(sources)) if link.waiting[flow]]
    if not busy:
        return None
    flow = min(busy, key=lambda one: (len(link.waiting[one]) * sources[one].packet_bytes, link.turns[one]))
    link.turns[flow] = order
    return link.waiting[flow].popleft()


def _drop(link: Link, flow: int) -> None:
    link.drops[flow] = link.drops.get(flow, 0) + 1


def tables(links: Sequence[Link], sources: Sequence[Source], end_ns: int) -> dict[str, Any]:
    """Return the scenario of such a network; the last link is the bottleneck."""
    kinds: dict[str, dict[str, Any]] = {
        "tail": {"kind": "droptail"},
        "head": {"kind": "hhf"},
        "shortest": {"kind": "sqf", "perfect": True},
    }
    described: list[dict[str, Any]] = [
        {
            "rate": f"{link.bits_per_s} bit/s",
            "delay": f"{link.delay_ns} ns",
            "queue": {**kinds[link.queue], "limit": f"{link.limit} packets"},
        }
        for link in links
    ]
    hops: list[dict[str, Any]] = [
        {"name": f"h{place}", "at": "before", **link} for place, link in enumerate(described[:-1])
    ]
    groups = [
        {
            "name": f"f{flow}",
            "rtt": "2 ms",
            "start": f"{source.start_ns} ns",
            "traffic": {"kind": "cbr", "rate": f"{source.bits_per_s} bit/s", "packet": f"{source.packet_bytes} B"},
        }
        for flow, source in enumerate(sources)
    ]
    found = {"duration": f"{end_ns} ns", "bottleneck": described[-1], "group": groups}
    return {**found, "hop": hops} if hops else found
