"""A congested return path: how many acknowledgements are lost, and what is left for an upload."""

import functools
from collections.abc import Mapping
from typing import Any

from benchmarks.answers.case import Case, Topic, record

_DOWN_MBPS = 20.0
_PACKET_BYTES, _PAYLOAD_BYTES, _ACK_BYTES = 1500, 1448, 52
_SECONDS = 20
_ACKS_PER_S = _DOWN_MBPS * 1e6 / 8 / _PACKET_BYTES / 2
"""One for two segments."""
_ACKS_KBPS = _ACKS_PER_S * _ACK_BYTES * 8 / 1e3

_NARROW_KBPS = 100
_ALL = [
    "droptail",
    "red",
    "ared",
    "choke",
    "blue",
    "codel",
    "cobalt",
    "pie",
    "pi2",
    "dualpi2",
    "sfq",
    "drr",
    "sqf",
    "fq_codel",
    "fq_pie",
    "fq_yield",
    "cake",
    "sfb",
    "hhf",
]
_FAIR = ("sfq", "drr", "fq_codel", "fq_pie", "cake")


def _download() -> dict[str, Any]:
    """A download whose window is bounded by its receiver, so that it fills the link and loses nothing."""
    transport = {"preset": "rfc", "receive_window": "1500 packets"}
    return {"name": "down", "control": "newreno", "rtt": "40 ms", "transport": transport}


def _queue(kind: str, packets: int) -> dict[str, Any]:
    return {"kind": kind, "memlimit" if kind == "cake" else "limit": f"{packets} packets"}


def _scenario(kind: str, return_kbps: float, *groups: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "duration": f"{5 + _SECONDS} s",
        "warmup": "5 s",
        "bottleneck": {"rate": f"{_DOWN_MBPS} Mbit/s", "queue": {"kind": "droptail", "limit": "3000 packets"}},
        "reverse": {"rate": f"{return_kbps} kbit/s", "queue": _queue(kind, 50)},
        "group": [_download(), *groups],
    }


@functools.cache
def _alone(kind: str) -> Mapping[str, Any]:
    return record(_scenario(kind, _NARROW_KBPS, *()))


def _lost(kind: str) -> float:
    """What does not fit: the return link carries what its utilization says."""
    return 1 - float(_alone(kind)["reverse"]["utilization"]) * _NARROW_KBPS / _ACKS_KBPS


LOST = Topic(
    "Acknowledgements lost on a narrow return path",
    f"A download fills {_DOWN_MBPS:g} Mbit/s: {_ACKS_PER_S:.1f} acknowledgements/s of {_ACK_BYTES} B, which are "
    f"{_ACKS_KBPS:.1f} kbit/s, want to return over {_NARROW_KBPS} kbit/s. What the return link does not carry is "
    "lost, whatever the discipline, and the download does not slow down for it: its window is bounded by the "
    "receiver. The answer takes the return link's utilization from the record, as some disciplines leave a few "
    "percent of it idle. The tolerance is what a queue of 50 packets may hold more or less at the end.",
    tuple(
        Case(
            f"{kind}, share of acknowledgements lost",
            functools.partial(_lost, kind),
            lambda kind=kind: float(_alone(kind)["groups"]["down"]["ack_drop_rate"]),  # type: ignore[misc]
            0.003,
            absolute=True,
        )
        for kind in _ALL
    )
    + tuple(
        Case(
            f"{kind}, utilization of the download's link",
            lambda: 1.0,
            lambda kind=kind: float(_alone(kind)["bottleneck"]["utilization"]),  # type: ignore[misc]
            0.01,
        )
        for kind in _ALL
    ),
)

_FAST = 10
"""So many times as fast, so that a packet of 1,500 B takes 1.2 ms, well below every AQM's target."""
_WIDE_KBPS = 10_000


@functools.cache
def _beside_upload(kind: str) -> Mapping[str, Any]:
    upload = {"name": "up", "control": "cubic", "direction": "reverse", "rtt": "10 ms"}
    tables = _scenario(kind, _WIDE_KBPS, upload)
    tables["bottleneck"]["rate"] = f"{_FAST * _DOWN_MBPS} Mbit/s"
    tables["reverse"]["queue"] = _queue(kind, 500)
    # As much as fills the path, so that the upload's acknowledgements do not wait behind it.
    tables["group"][0] |= {"rtt": "10 ms", "transport": {"preset": "rfc", "receive_window": "250 packets"}}
    return record(tables)


SHARED = Topic(
    "A fair return path: acknowledgements beside an upload",
    f"The same download at {_FAST * _DOWN_MBPS:g} Mbit/s; an upload shares a return link of {_WIDE_KBPS / 1e3:g} "
    f"Mbit/s. The acknowledgements want {_FAST * _ACKS_KBPS / _WIDE_KBPS:.0%}, less than a fair half, so fair "
    "queueing loses none, and the upload has what they leave. The tolerance allows the upload 3 % for its losses "
    "and its start.",
    tuple(
        Case(
            f"{kind}, goodput of the upload",
            lambda: (_WIDE_KBPS - _FAST * _ACKS_KBPS) / 1e3 * _PAYLOAD_BYTES / _PACKET_BYTES,
            lambda kind=kind: float(_beside_upload(kind)["groups"]["up"]["goodput_mbps"]),  # type: ignore[misc]
            0.03,
            "Mbit/s",
        )
        for kind in _FAIR
    )
    + tuple(
        Case(
            f"{kind}, share of acknowledgements lost",
            lambda: 0.0,
            lambda kind=kind: float(_beside_upload(kind)["groups"]["down"]["ack_drop_rate"]),  # type: ignore[misc]
            0.001,
            absolute=True,
        )
        for kind in _FAIR
    ),
)

TOPICS = (LOST, SHARED)
