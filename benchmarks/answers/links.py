"""Links and queues: random tandems, overload, framings, and who is served under equal streams."""

import functools
import random
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from benchmarks.answers import network
from benchmarks.answers.case import Case, Topic, datagrams, record
from benchmarks.answers.network import Link, Source

_END_NS = 20 * network.SECOND_NS
_RATES = (500_000, 1_000_000, 2_000_000, 2_500_000, 4_000_000, 5_000_000)
"""Of flows: at each a byte takes whole nanoseconds. Those of links are odd: no two things happen at one time."""
_TANDEMS = 6


def _tandem(seed: int) -> tuple[list[Link], list[Source]]:
    """Draw three links and four flows that overload at least one of them now and then."""
    lots = random.Random(seed)  # noqa: S311
    links = [
        Link(
            lots.randrange(1_000_001, 9_999_999, 2),
            lots.randint(1, 60),
            lots.randint(0, 20_000_000),
            lots.choice(("tail", "head")),
        )
        for _ in range(3)
    ]
    sources = [Source(lots.choice(_RATES), lots.randint(40, 1500), lots.randint(1, 999_999_999)) for _ in range(4)]
    return links, sources


@functools.cache
def _both(seed: int) -> tuple[Sequence[Link], Mapping[str, Any]]:
    links, sources = _tandem(seed)
    network.run(links, sources, _END_NS)
    return links, record(network.tables(links, sources, _END_NS))


def _tandem_cases(seed: int) -> list[Case]:
    def drops() -> float:
        return sum(sum(link.drops.values()) for link in _both(seed)[0])

    def found_drops() -> float:
        run = _both(seed)[1]
        return float(run["bottleneck"]["drops"] + sum(hop["drops"] for hop in run["hops"].values()))

    def wait() -> float:
        return sum(sum(link.waits_ns) / len(link.waits_ns) / 1e6 for link in _both(seed)[0])

    def found_wait() -> float:
        run = _both(seed)[1]
        return float(sum(link["queue_ms"]["mean"] for link in (*run["hops"].values(), run["bottleneck"])))

    return [
        Case(f"tandem {seed}, packets dropped", drops, found_drops, 0.0, "packets", absolute=True),
        Case(f"tandem {seed}, mean waits of three links together", wait, found_wait, 3e-6, "ms", absolute=True),
    ]


TANDEMS = Topic(
    "Random tandems of queues",
    "An event loop of a hundred lines (`network.py`) sends the same packets through the same three links, which drop "
    "the arrival or the oldest packet. Nothing happens at the same time, so counts are the same and times agree to a "
    "nanosecond.",
    tuple(case for seed in range(1, _TANDEMS + 1) for case in _tandem_cases(seed)),
)


def _equal(mbps: int, queue: Literal["head", "shortest"], starts_ns: Sequence[int]) -> tuple[list[Link], list[Source]]:
    link = Link(9_999_991, 100, queue=queue)
    return [link], [Source(mbps * 1_000_000, 1500, start) for start in starts_ns]


@functools.cache
def _equals(
    mbps: int, queue: Literal["head", "shortest"], starts_ns: tuple[int, ...]
) -> tuple[Link, Mapping[str, Any]]:
    links, sources = _equal(mbps, queue, starts_ns)
    network.run(links, sources, _END_NS)
    return links[0], record(network.tables(links, sources, _END_NS))


_STARTS_NS = (1_000_003, 1_400_017, 2_000_029)


def _equal_cases(mbps: int, queue: Literal["head", "shortest"]) -> list[Case]:
    name = {"head": "hhf", "shortest": "sqf"}[queue]

    def right(flow: int) -> float:
        return _equals(mbps, queue, _STARTS_NS)[0].sent.get(flow, 0) * 12e3 / _END_NS * 1e3

    def found(flow: int) -> float:
        return float(_equals(mbps, queue, _STARTS_NS)[1]["groups"][f"f{flow}"]["goodput_mbps"]) * 1500 / 1472

    return [
        Case(
            f"{name}, three streams of {mbps} Mbit/s, stream {flow + 1}",
            functools.partial(right, flow),
            functools.partial(found, flow),
            0.002,
            "Mbit/s",
            absolute=True,
        )
        for flow in range(3)
    ]


EQUALS = Topic(
    "Three equal streams beyond the link's rate under hhf and sqf",
    "The same event loop, 10 Mbit/s, 100 packets. Shares that look odd are right. No stream reaches hhf's threshold "
    "of 26 Mbit/s, so all share one first-in first-out queue that drops the oldest packet. Streams of one rate keep "
    "their order for ever, so the same stream always finds the queue full. Shortest queue first serves whole streams "
    "as far as the link goes, and the longest queue pays: that is its definition. The tolerance is a packet or two "
    "in 20 s.",
    tuple(
        case
        for mbps, queue in ((4, "head"), (6, "head"), (4, "shortest"), (8, "shortest"))
        for case in _equal_cases(mbps, queue)  # type: ignore[arg-type]
    ),
)


def _weighted(kind: Mapping[str, Any], heavy_mbps: float, light_mbps: float) -> Mapping[str, Any]:
    groups = [
        datagrams("heavy", f"{heavy_mbps} Mbit/s"),
        datagrams("light-1", f"{light_mbps} Mbit/s", start="0.3 ms"),
        datagrams("light-2", f"{light_mbps} Mbit/s", start="0.7 ms"),
    ]
    tables = {"duration": "22 s", "warmup": "2 s", "group": groups}
    return record({**tables, "bottleneck": {"rate": "10 Mbit/s", "queue": dict(kind)}})


@functools.cache
def _hitters(light_mbps: float) -> float:
    """Rate of the one heavy stream of 12 Mbit/s beside two lighter ones that are not called heavy."""
    queue = {"kind": "hhf", "admit_bytes": 40_000, "perfect": True, "limit": "200 packets"}
    return float(_weighted(queue, 12, light_mbps)["groups"]["heavy"]["goodput_mbps"]) * 1500 / 1472


HITTERS = Topic(
    "The heavy-hitter filter",
    "40 kB in 40 ms are 8 Mbit/s: a stream of 12 Mbit/s is heavy, streams of 2 and 4.5 Mbit/s are not. A full buffer "
    "drops the oldest heavy packet (sch_hhf), so the light streams lose nothing and the heavy one has what they "
    "leave, whatever the weights: 1 Mbit/s beside 9, where the weights of 1 and 2 alone would give it a third.",
    tuple(
        Case(
            f"two light streams of {light:g} Mbit/s: the heavy one has the rest",
            functools.partial(lambda light: 10 - 2 * light, light),
            functools.partial(_hitters, light),
            0.005,
            "Mbit/s",
        )
        for light in (2, 4.5)
    ),
)


def _overload(kind: str) -> float:
    """Packets dropped of a stream of 13.7 Mbit/s on 10 Mbit/s in 60 s."""
    queue = {"kind": kind, "limit": "100 packets"}
    groups = [datagrams("a", "13.7 Mbit/s")]
    run = record({"duration": "60 s", "bottleneck": {"rate": "10 Mbit/s", "queue": queue}, "group": groups})
    return float(run["bottleneck"]["drops"])


def _not_carried() -> float:
    """What comes in 60 s, less what a link of 10 Mbit/s can begin to send, less the 100 packets that wait yet."""
    came = 1 + 60 * 13_700_000 // 12_000
    left = 1 + 60 * 10_000_000 // 12_000
    return came - left - 100


OVERLOAD = Topic(
    "What an overloaded queue drops",
    "Packets that come, less those that the link can send, less those that wait at the end. The tolerance is two "
    "packets: one at each end of the run.",
    tuple(
        Case(f"{kind}, 13.7 on 10 Mbit/s, 60 s", _not_carried, functools.partial(_overload, kind), 2, "packets", True)
        for kind in ("droptail", "hhf", "sqf", "drr", "sfq")
    ),
)

# Bytes of overhead, and what carries them: ATM cells, PTM (64/65) or nothing (tc-cake(8)).
_FRAMINGS: Mapping[str, tuple[int, Literal["atm", "ptm", "none"]]] = {
    "raw": (0, "none"),
    "conservative": (48, "atm"),
    "ethernet": (38, "none"),
    "docsis": (18, "none"),
    "pppoe-ptm": (30, "ptm"),
    "bridged-ptm": (22, "ptm"),
    "ipoa-vcmux": (8, "atm"),
    "ipoa-llcsnap": (16, "atm"),
    "bridged-vcmux": (24, "atm"),
    "bridged-llcsnap": (32, "atm"),
    "pppoa-vcmux": (10, "atm"),
    "pppoa-llc": (14, "atm"),
    "pppoe-vcmux": (32, "atm"),
    "pppoe-llcsnap": (40, "atm"),
}
_SIZES = range(100, 148)
"""One for each place in an ATM cell, so that a byte of overhead more or less is seen."""
_EACH_PER_S = 50


def _wire_bytes(packet_bytes: int, overhead: int, carrier: str) -> int:
    size = packet_bytes + overhead
    if carrier == "atm":
        return -(-size // 48) * 53
    return size + -(-size // 64) if carrier == "ptm" else size


def _busy(overhead: int, carrier: str) -> float:
    return sum(_wire_bytes(size, overhead, carrier) for size in _SIZES) * 8 * _EACH_PER_S / 10e6


def _utilization(framing: str) -> float:
    groups = [datagrams(f"b{size}", f"{size * 8 * _EACH_PER_S} bit/s", size) for size in _SIZES]
    link = {"rate": "10 Mbit/s", "framing": framing, "queue": "droptail"}
    return float(record({"duration": "20 s", "bottleneck": link, "group": groups})["bottleneck"]["utilization"])


FRAMINGS = Topic(
    "What a packet occupies on the wire",
    f"{_EACH_PER_S} packets/s of each size from {_SIZES[0]} to {_SIZES[-1]} B, as IP sees them, on 10 Mbit/s. "
    "Overheads are those of tc-cake(8). ATM carries 48 B in each cell of 53, PTM one byte more for each 64. The "
    "answer is the part of the time in which the link is busy. A byte of overhead changes it by 0.7 %; the "
    "tolerance is a packet of each size in 20 s.",
    tuple(
        Case(framing, functools.partial(_busy, *how), functools.partial(_utilization, framing), 1e-3)
        for framing, how in _FRAMINGS.items()
    ),
)

TOPICS = (TANDEMS, EQUALS, HITTERS, OVERLOAD, FRAMINGS)
