"""The flows of Braud et al.: uploads, downloads of random sizes, padding, and what axes make of them."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from sojourn import padding as equations
from sojourn.study import changes
from sojourn.study.fit import ANY

UPLOAD, DOWNLOAD, DOWNLOADS, PING = "upload", "download", "downloads", "ping"
RTT_MS, FULL, PAYLOAD = 94.0, 1500, 1448
FREEBSD: dict[str, Any] = {"preset": "rfc", "initial_window": 3, "initial_rto": "3 s", "min_rto": "230 ms"}
# Vegas aims at one to three segments and doubles in every other round trip. CUBIC leaves 0.8 of the window and has no
# HyStart.
CONTROLS: dict[str, dict[str, Any]] = {
    "Vegas": {"kind": "vegas", "alpha": 1, "beta": 3, "slow_start": "every-other"},
    "NewReno": {"kind": "newreno", "halve": "window", "slow_start_limit": 2},
    "CUBIC": {"kind": "cubic", "beta": 0.8, "hystart": "off", "slow_start_limit": 2},
}
# Who delays acknowledgements, upload and download.
_DELAYED = {
    "delayed": (True, True),
    "every segment": (False, False),
    "the upload's alone delayed": (True, False),
    "the download's alone delayed": (False, True),
}
_PADDING: dict[str, dict[str, Any] | None] = {
    "no UDP": None,
    "125 packets/s": {"kind": "padding", "rate": "125 packets/s"},
    "250 packets/s": {"kind": "padding", "rate": "250 packets/s"},
    "bursts": {"kind": "padding", "rate": "250 packets/s", "burst": 100, "every": "1 s"},
    "adaptive padding": {
        "kind": "adaptive-padding",
        "target": "100 ms",
        "most": "500 packets/s",
        "reach": "bottleneck",
    },
    "adaptive, 1500 packets/s": {
        "kind": "adaptive-padding",
        "target": "100 ms",
        "most": "1500 packets/s",
        "reach": "bottleneck",
    },
}
_WAYS = {
    "large buffer": "no UDP",
    "with UDP": "250 packets/s",
    "with UDP bursts": "bursts",
    "right-sized buffer": "no UDP",
}
_BUFFERS = {"400 kbit/s": (60, 10), "800 kbit/s": (120, 20)}
"""Large and right-sized, in packets."""
_TODAY: dict[str, Any] = {"control": {"kind": "cubic", "preset": "linux"}, "transport": "linux"}
_UPLOADS: dict[str, dict[str, Any]] = {
    "NewReno of the paper": {},
    "CUBIC of the paper": {"control": CONTROLS["CUBIC"]},
    "CUBIC of today": _TODAY,
    **{
        name: {"control": kind, "transport": "linux"}
        for name, kind in (
            ("BBR", "bbr"),
            ("BBRv3", "bbr3"),
            ("LEDBAT", "ledbat"),
            ("LEDBAT++", "ledbatpp"),
            ("Vegas", "vegas"),
        )
    },
}
# A packet of 64 bytes now and then, which tells what one of somebody else waits on the way.
_PING = {
    "name": PING,
    "rtt": "94 ms",
    "traffic": {"kind": "voip", "frame": "120 ms", "payload": "24 B", "talk": "150 ms", "pause": "700 ms"},
}


def host(name: str, **own: Any) -> dict[str, Any]:
    """Return a flow between two of the paper's hosts, which starts within a second."""
    flow = {"name": name, "control": CONTROLS["NewReno"], "transport": FREEBSD, "rtt": "94 ms"}
    return flow | {"start": {"uniform": ["0 s", "1 s"]}} | own


def padding(name: str) -> list[dict[str, Any]]:
    """Return the stream of small packets of a name; none where there is none."""
    traffic = _PADDING[name]
    return [] if traffic is None else [{"name": "padding", "rtt": "94 ms", "traffic": traffic}]


def acknowledging(*, delayed: bool) -> dict[str, Any]:
    """Return FreeBSD's transport."""
    return FREEBSD if delayed else FREEBSD | {"ack_every": 1}


@changes("model")
def asked_for(factor: float) -> dict[str, Any]:
    """Return padding at the rate that the equations give for a factor."""
    rate = equations.padding_rate(equations.upload_rate(800e3, FULL), factor)
    stream = {"name": "padding", "rtt": "94 ms", "traffic": {"kind": "padding", "rate": f"{rate:g} packets/s"}}
    return {"group": [host(UPLOAD), *([stream] if rate else [])]}


@changes("table1")
def adsl_flows(flows: str, rtt_ms: int, acks: str) -> dict[str, Any]:
    """Return an upload, a download, padding."""
    like = {"rtt": f"{rtt_ms} ms", "transport": acknowledging(delayed=acks == "delayed")}
    groups = [host(UPLOAD, **like)] if UPLOAD in flows else []
    groups += [host(DOWNLOAD, direction="reverse", **like)] if DOWNLOAD in flows else []
    return {"group": groups + (padding("125 packets/s") if "UDP" in flows else [])}


@changes("table2")
def one_upload(rtt_ms: int, acks: str, padding: str) -> dict[str, Any]:
    """Return an upload with and without padding."""
    flow = host(UPLOAD, rtt=f"{rtt_ms} ms", transport=acknowledging(delayed=acks == "delayed"))
    return {"group": [flow, *_streams(padding)]}


_streams = padding


@changes("table3-runs", "table3-printed")
def both_directions(line: str, way: str, acks: str) -> dict[str, Any]:
    """Return a download and an upload in a way, on a line."""
    up, down = ({"transport": acknowledging(delayed=one)} for one in _DELAYED[acks])
    return _beside(line, way, up, down)


@changes("table3-kernel", "table3-sim")
def both_directions_of_linux(line: str, way: str, control: str) -> dict[str, Any]:
    """Return the same with a control of Linux."""
    return _beside(line, way, linux(control), linux(control))


def _beside(line: str, way: str, up: Mapping[str, Any], down: Mapping[str, Any]) -> dict[str, Any]:
    groups = [host(UPLOAD, start={"uniform": ["20 s", "40 s"]}, **up), host(DOWNLOAD, direction="reverse", **down)]
    packets = _BUFFERS[line][way == "right-sized buffer"]
    return {"bottleneck.queue.limit": f"{packets} packets", "group": groups + padding(_WAYS[way])}


def linux(control: str) -> dict[str, Any]:
    """Return what a flow has of Linux."""
    return {"control": {"kind": control.lower(), "preset": "linux"}, "transport": "linux"}


# Table II's large buffer is on the long path, and its small one on the short path as well: that pair is measured here.
BASE_MS = {120: 94, 20: 52}


@changes("table2-kernel", "table2-sim")
def one_upload_of_linux(packets: int, control: str, padding: str) -> dict[str, Any]:
    """Return an upload by a control of Linux; the base round-trip time goes with the buffer."""
    flow = host(UPLOAD, rtt=f"{BASE_MS[packets]} ms", **linux(control))
    return {"group": [flow, *_streams(padding)]}


# The slower of Table III's lines: what the study's axis of lines changes.
_SLOWER = {
    "400 kbit/s": {"bottleneck.rate": "400 kbit/s", "reverse.rate": "2400 kbit/s", "reverse.queue.limit": "60 packets"}
}


@changes("printed-runs")
def printed(place: str, acks: str, base_ms: int, packets: int | str) -> dict[str, Any] | None:
    """Return what Tables II and III print a number of; the buffer of Table II is not that of Table III."""
    table, _, way = place.partition(": ")
    if (table == "Table II") != (packets != ANY):
        return None
    like = {"rtt": f"{base_ms} ms", "transport": acknowledging(delayed=acks == "delayed")}
    if table == "Table II":
        return {"bottleneck.queue.limit": f"{packets} packets", "group": [host(UPLOAD, **like), *_streams(way)]}
    return {"duration": "100 s", **_SLOWER.get(table, {}), **_beside(table, way, like, like)}


@changes("today-runs")
def uploads(load: str, flow: str, padding: str) -> dict[str, Any]:
    """Return an upload of today, a thin stream, and padding."""
    return _of_today(load, _UPLOADS[flow], padding)


@changes("remedies-runs")
def remedies(load: str, remedy: str) -> dict[str, Any]:
    """Return the same where the remedy is another upload or padding."""
    return _of_today(load, _UPLOADS.get(remedy, _TODAY), remedy if remedy in _PADDING else "no UDP")


def _of_today(load: str, upload: Mapping[str, Any], stream: str) -> dict[str, Any]:
    download = [host(DOWNLOAD, **_TODAY, direction="reverse")] if load == "upload and download" else []
    return {"group": [host(UPLOAD, **upload), _PING, *download, *padding(stream)]}


# Downloads of random sizes, each over a connection of its own.

_LINES: dict[str, dict[str, Any]] = {
    # Section IV.D tells the testbed's buffer, 60 packets, and its asymmetry, 6: the slower line of Table III.
    "testbed": {
        "bottleneck": {"rate": "400 kbit/s", "queue": {"kind": "droptail", "limit": "60 packets"}},
        "reverse": {"rate": "2400 kbit/s", "queue": {"kind": "droptail", "limit": "60 packets"}},
    },
    "adsl": {
        "bottleneck": {
            "rate": "352 kbit/s",
            "framing": "pppoa-vcmux",
            "queue": {"kind": "droptail", "limit": "30 packets"},
        },
        "reverse": {
            "rate": "5440 kbit/s",
            "framing": "pppoa-vcmux",
            "queue": {"kind": "droptail", "limit": "60 packets"},
        },
    },
}
# What the lines carry of payload; a full packet is 32 cells of 53 bytes.
PAYLOAD_MBPS = {"testbed": 2.4 * PAYLOAD / FULL, "adsl": 5.44 * PAYLOAD / 1696}
_EXPONENT, _HALF, _MAX_SUMMED = 1.7, 0.5, 20_000_000


@functools.cache
def largest(payload_mbps: float) -> int:
    """Return the largest number of packets for which one download a second of Zipf's mean makes half of a load.

    >>> largest(0.34 * 2.4 * 1448 / 1500)
    28837
    """
    wanted = _HALF * payload_mbps * 1e6 / (8 * PAYLOAD)
    count = 1024
    while True:
        numbers = np.arange(1, count + 1, dtype=float)
        weights = numbers**-_EXPONENT
        means = np.cumsum(numbers * weights) / np.cumsum(weights)
        if means[-1] >= wanted or count > _MAX_SUMMED:
            return int(np.searchsorted(means, wanted)) + 1
        count *= 4


def downloads(line: str, per_s: float, **own: Any) -> dict[str, Any]:
    """Return transfers that arrive as a Poisson process."""
    size = {"kind": "zipf", "unit": "1 packet", "most": largest(PAYLOAD_MBPS[line]), "exponent": _EXPONENT}
    traffic = {"kind": "transfers", "interval": f"{1e3 / per_s:g} ms", "size": size, "connections": 300}
    flow = {"name": DOWNLOADS, "control": CONTROLS["NewReno"], "transport": FREEBSD, "rtt": "94 ms"}
    return flow | {"direction": "reverse", "traffic": traffic} | own


_TIMES = {"duration": "1000 s", "warmup": "20 s"}


def _load(sweep: str) -> tuple[str, float]:
    """Return a sweep's line and how many downloads begin in a second."""
    line, load = sweep.split("-")[:2]
    return line, 6.0 if load == "6" else 1.0


# What else is tried of the downloads' transport, by how a sweep's name ends.
_TRIED: dict[str, dict[str, Any]] = {"sooner": {"initial_rto": "1 s"}, "every": {"ack_every": 1}}


# What the fit of Tables II and III found: every segment acknowledged, and the smaller of the printed delays.
_FITTED = {"transport": FREEBSD | {"ack_every": 1}, "rtt": "52 ms"}


@changes(
    *("testbed-50", "testbed-17", "adsl-1", "adsl-6", "adsl-1-sooner", "adsl-6-sooner"),
    *("testbed-17-every", "testbed-50-more", "testbed-17-more"),
)
def beside_upload(sweep: str, padding: str, up: str, down: str) -> dict[str, Any]:
    """Return downloads beside an upload."""
    line, per_s = _load(sweep)
    transport = FREEBSD | _TRIED.get(sweep.rpartition("-")[2], {})
    both = _FITTED if sweep.endswith("-fit") else {}
    group = downloads(line, per_s, **{"control": CONTROLS[down], "transport": transport, **both})
    return {**_TIMES, **_LINES[line], "group": [group, host(UPLOAD, control=CONTROLS[up], **both), *_streams(padding)]}


@changes("testbed-50-alone", "testbed-17-alone", "adsl-1-alone", "adsl-6-alone")
def alone(sweep: str) -> dict[str, Any]:
    """Return downloads alone on their line."""
    line, per_s = _load(sweep)
    return {**_TIMES, **_LINES[line], "group": [downloads(line, per_s)]}
