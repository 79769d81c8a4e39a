"""What is run in the peers: a dumbbell, and the grid of them that Sojourn is compared with.

Units are in the names: ``_bps`` bit/s, ``_s`` seconds, ``_packets`` packets.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

QueueName = Literal["droptail", "red", "sfq", "drr", "ared", "codel", "fq_codel", "pie", "fq_pie", "cobalt", "step"]
PeerName = Literal["ns2", "ns3"]
Senders = Literal["alike", "defaults"]


@dataclass(frozen=True)
class Point:
    """One dumbbell: a bottleneck and two groups of bulk flows that all have the same base RTT.

    Attributes:
        rate_bps: bottleneck rate in bit/s, counted in IP bytes.
        limit_packets: limit of the queue in packets; 0 is the discipline's own. DropTail lets one less wait; RED reads
            it as limit * 500 bytes.
        rtt_s: base round-trip time in seconds, propagation only.
        flows_1: flows of group 1, always NewReno.
        flows_2: flows of group 2.
        queue: ns-2: "droptail", "red", "sfq", "drr" with its defaults. ns-3: "droptail", "red" (ns-2.35's default
            parameters), "ared", "codel", "fq_codel", "pie", "fq_pie", "cobalt" with its defaults, and "step" (RED that
            marks all above MARKED_ABOVE packets, for DCTCP).
        duration_s: simulated seconds; 0 builds everything and runs nothing (start-up cost).
        warmup_s: seconds that are not measured.
        other: congestion control of group 2, in the peer's own name ("newreno", "vegas"; ns-3 also "ledbat", ns-2
            also "linux:lp"); group 1 is always NewReno.
        bottleneck_delay_s: the part of rtt_s / 2 that lies on the bottleneck; ns-2's RED weight depends on it.
        ecn: all flows negotiate ECN and the queue marks; ns-3 only.
        load: 0 for the controls; otherwise UDP streams of constant rates that offer load * rate_bps in all, whatever
            happens, a quarter of it from group 1.
        senders: "alike": as the other peer's, where that can be set; "defaults": with the peer's own settings of TCP;
            ns-3 only.
    """

    rate_bps: float = 4e6
    limit_packets: int = 400
    rtt_s: float = 0.05
    flows_1: int = 5
    flows_2: int = 5
    queue: QueueName = "droptail"
    duration_s: float = 60.0
    warmup_s: float = 10.0
    other: str = "newreno"
    bottleneck_delay_s: float = 0.0
    ecn: bool = False
    load: float = 0.0
    senders: Senders = "alike"


# 5 + 5 flows, 4 Mbit/s, 400 packets, 50 ms, 600 s: long enough that start-up does not matter.
BENCH = Point(duration_s=600.0)

# What the flows of an open-loop point offer: not simple fractions of the rate, so that no stream stays in step with the
# places that become free.
LOADS = (1.13, 1.57)
# Packets above which "step" marks all.
MARKED_ABOVE = 20
# In all peers' programs.
START_WITHIN_S = 0.1
BUCKETS = 16


@dataclass(frozen=True)
class Bottleneck:
    """What the points of the grid have in common: rate in bit/s, limit in packets, base RTT in s, flows per group."""

    rate_bps: float
    limit_packets: int
    rtt_s: float
    flows: int

    def point(self, queue: QueueName, duration_s: float, **changes: Any) -> Point:
        """Return a point of this bottleneck, measured from 10 s on."""
        shape = Point(self.rate_bps, self.limit_packets, self.rtt_s, self.flows, self.flows, queue, duration_s, 10.0)
        return dataclasses.replace(shape, **changes)


SLOW = Bottleneck(1e6, 100, 0.02, 2)
MIDDLE = Bottleneck(4e6, 400, 0.05, 5)
LONG = Bottleneck(6e6, 150, 0.1, 8)
BOTTLENECKS = (SLOW, MIDDLE, LONG)
# Under DRR's own limit the third duplicate acknowledgement and the retransmission timer run a race here.
RACE = Bottleneck(1e6, 0, 0.05, 5)
QUEUES: Mapping[PeerName, Sequence[QueueName]] = {
    "ns2": ("droptail", "red", "sfq", "drr"),
    "ns3": ("droptail", "red", "ared", "codel", "fq_codel", "pie", "fq_pie", "cobalt"),
}
# Disciplines that ignore the link's limit; they are compared with their own limit, too.
OWN_LIMIT: Mapping[PeerName, Sequence[QueueName]] = {"ns2": ("sfq", "drr"), "ns3": ()}
MARKING: Mapping[PeerName, Sequence[QueueName]] = {"ns2": (), "ns3": ("red", "codel", "fq_codel", "pie")}
AGAINST: Mapping[PeerName, Sequence[QueueName]] = {
    "ns2": ("droptail", "red", "sfq"),
    "ns3": ("droptail", "red", "fq_codel"),
}
# One line per control that is compared: to add one, name it here, in ns3_dumbbell.cc, and in benchmarks/equivalents.py.
CONTROLS: Mapping[PeerName, Sequence[str]] = {
    "ns2": ("linux:cubic", "linux:vegas", "linux:westwood", "linux:compound", "linux:lp"),
    "ns3": ("cubic", "vegas", "westwood", "ledbat", "lp", "bbr"),
}


def queue_points(peer: PeerName) -> list[Point]:
    """NewReno against NewReno under every discipline; ns-3 is slow, so that its larger bottlenecks run 60 s."""
    seconds = {bottleneck: 200.0 if peer == "ns2" or bottleneck is SLOW else 60.0 for bottleneck in BOTTLENECKS}
    return [
        *(bottleneck.point(queue, seconds[bottleneck]) for queue in QUEUES[peer] for bottleneck in BOTTLENECKS),
        *(
            bottleneck.point(queue, seconds[bottleneck], limit_packets=0)
            for queue in OWN_LIMIT[peer]
            for bottleneck in BOTTLENECKS
        ),
        *([RACE.point("drr", 200.0)] if peer == "ns2" else []),
    ]


def marking_points(peer: PeerName) -> list[Point]:
    """The same with ECN."""
    return [bottleneck.point(queue, 60.0, ecn=True) for queue in MARKING[peer] for bottleneck in (MIDDLE, LONG)]


def open_loop_points(peer: PeerName) -> list[Point]:
    """Streams that answer to nothing, so that only the discipline decides; the limit is one that matters."""
    return [MIDDLE.point(queue, 60.0, load=load, limit_packets=100) for queue in QUEUES[peer] for load in LOADS]


def control_points(peer: PeerName) -> list[Point]:
    """NewReno against other controls."""
    return [
        bottleneck.point(queue, 200.0 if peer == "ns2" else 60.0, other=control)
        for control in CONTROLS[peer]
        for queue in AGAINST[peer]
        for bottleneck in (MIDDLE, LONG)
    ] + (
        [bottleneck.point("step", 60.0, other="dctcp", ecn=True) for bottleneck in (MIDDLE, LONG)]
        if peer == "ns3"
        else []
    )


def default_points(peer: PeerName) -> list[Point]:
    """The same with ns-3's own settings of TCP."""
    return [dataclasses.replace(point, senders="defaults") for point in control_points(peer)] if peer == "ns3" else []


def delay_points(peer: PeerName) -> list[Point]:
    """How long packets wait under CoDel and PIE: 10 Mbit/s, 1 and 4 flows for each of 4 pairs, three base RTTs."""
    if peer == "ns2":
        return []
    return [
        Bottleneck(10e6, 1000, rtt_s, flows).point(queue, 100.0)
        for queue in ("codel", "pie")
        for rtt_s in (0.005, 0.1, 0.5)
        for flows in (2, 8)
    ]


FAMILIES: Mapping[str, Callable[[PeerName], list[Point]]] = {
    "queues": queue_points,
    "marking": marking_points,
    "open-loop": open_loop_points,
    "controls": control_points,
    "defaults": default_points,
    "delays": delay_points,
}
