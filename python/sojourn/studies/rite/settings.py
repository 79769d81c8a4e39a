"""What axes of RITE's report change where that depends on several of them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn.study import changes

Changes = dict[str, Any]
Asked = Changes | None

TARGET_MS = 100.0
WARMUP_S = 60
TRANSFERS, PAGES, FEW_PAGES = (6, 61.37), (16, 17.37), (4, 17.37)
"""So many in a run, so far apart in seconds: a number that no sender's rhythm divides."""
SEGMENT_BYTES, SEGMENT_BYTES_NS2 = 1448, 1460
OBJECTS = 10
"""Of a page."""
NOTHING = "nothing"


@changes("drift")
def jitter(sender: str, jitter_targets: float) -> Asked:
    """Return jitter at the sender, or behind the bottleneck, which delays packets and keeps their order."""
    few = {"RFC 6817": (0.0, 0.5, 1.0, 2.0), "jitter on the path": (0.5, 1.0, 2.0), "libutp": (0.0,)}
    if jitter_targets not in few.get(sender, (jitter_targets,)):
        return None
    key = "bottleneck.jitter" if sender == "jitter on the path" else "group.background.transport.send_jitter"
    return {key: f"{jitter_targets * TARGET_MS:g} ms"}


def one_by_one(count: int, apart_s: float) -> Changes:
    """Return flows that begin one after the other, and a run that has time for all of them."""
    return {
        "duration": f"{WARMUP_S + 1 + count * apart_s:g} s",
        "group.tcp.flows": count,
        "group.tcp.start": [f"{WARMUP_S + 1 + apart_s * number:.2f} s" for number in range(count)],
    }


@changes("short", "short-queues")
def transfers(segments: int, payload_bytes: int = SEGMENT_BYTES) -> Changes:
    """Return transfers of a size, one after the other; none is one of a byte in the last tenth of a second."""
    found = one_by_one(*TRANSFERS)
    if segments == 0:
        count, apart_s = TRANSFERS
        late = {"group.tcp.flows": 1, "group.tcp.start": f"{WARMUP_S + 0.9 + count * apart_s:g} s"}
        return found | late | {"group.tcp.traffic": {"kind": "bulk", "size": "1 B"}}
    return found | {"group.tcp.traffic": {"kind": "bulk", "size": f"{segments * payload_bytes} B"}}


@changes("short-ns2")
def transfers_of_ns2(segments: int) -> Changes:
    """Return the same with ns-2's segments."""
    return transfers(segments, SEGMENT_BYTES_NS2)


@changes("web")
def pages() -> Changes:
    """Return pages, one after the other, each of a flow of its own."""
    return one_by_one(*PAGES)


@changes("web-objects")
def few_pages() -> Changes:
    """Return some pages in the same way."""
    return one_by_one(*FEW_PAGES)


@changes("cdg-loss")
def loss(loss_percent: float) -> Changes:
    """Return losses by chance."""
    return {"bottleneck.loss": loss_percent / 100}


FOLDER_VARIABLE = "SOJOURN_CELLULAR"
_RECORDED = {
    "EVDO (3G)": "Verizon-EVDO-driving.down",
    "UMTS (3.5G)": "TMobile-UMTS-driving.down",
    "LTE (4G)": "Verizon-LTE-short.down",
}


@changes("cellular", "cellular-queues", "cellular-buffers")
def on_a_link(source: str, cell: str, background: str, downloads: int, made: Mapping[str, Any]) -> Asked:
    """Return downloads beside a page, on a recorded link where SOJOURN_CELLULAR names a folder that has all."""
    if (background == "none") != (downloads == 0):
        return None
    if downloads == 0:
        # A group has at least one flow: this one begins in the last second.
        found: Changes = {"group.background.start": f"{int(made['duration'].split()[0]) - 1} s"}
    else:
        found = {"group.background.flows": downloads}
    if source == "recorded":
        folder = Path(os.environ.get(FOLDER_VARIABLE, "/nowhere"))
        if not all((folder / file).is_file() for file in _RECORDED.values()):
            return None
        found["bottleneck.trace"] = str((folder / _RECORDED[cell]).resolve())
    return found


@changes("aqm-targets")
def at_target(discipline: str, target_ms: float) -> Changes:
    """Return a discipline's target."""
    if discipline == "ARED of 2001":
        return {"bottleneck.queue.target_delay": f"{target_ms} ms"}
    if discipline != "ARED":
        return {"bottleneck.queue.target": f"{target_ms} ms"}
    thresholds = {"bottleneck.queue.min": f"{target_ms / 2:g} ms", "bottleneck.queue.max": f"{1.5 * target_ms:g} ms"}
    # tc computes no weight for a lower threshold below a packet; there it is the one of a target of 5 ms, the largest
    # power of 1/2 that lets a burst of 5 packets of 1000 B pass.
    return thresholds | ({"bottleneck.queue.weight": 0.25} if target_ms < _TARGET_MS else {})


_TARGET_MS = 5
_CODELS_TARGET = {"target": "5 ms"}
_CONSTANTS: dict[str, dict[str, dict[str, Any]]] = {
    "ARED": {
        "target": {"min": "2.5 ms", "max": "7.5 ms"},
        "interval": {"interval": "500 ms"},
        "gains": {"alpha": 0.01, "beta": 0.9},
        "burst": {"burst": 5},
    },
    "CoDel": {"target": _CODELS_TARGET, "interval": {"interval": "100 ms"}},
    "PIE": {
        "target": _CODELS_TARGET,
        "update": {"update": "15 ms"},
        "gains": {"alpha": 0.125, "beta": 1.25},
        "burst": {"burst": "150 ms"},
    },
    "FQ-CoDel": {"target": _CODELS_TARGET, "interval": {"interval": "100 ms"}, "quantum": {"quantum": 1500}},
    "DualPI2": {"target": _CODELS_TARGET, "update": {"update": "16 ms"}, "gains": {"alpha": 0.16, "beta": 3.2}},
    "CAKE": {"target": _CODELS_TARGET, "interval": {"rtt": "100 ms"}},
}
"""The numbers that a discipline is made of, as they are."""


@changes("aqm-constants")
def other_constant(discipline: str, constant: str, factor: float) -> Asked:
    """Return a constant halved or doubled."""
    known = _CONSTANTS[discipline].get(constant)
    # tc refuses to average over fewer than four packets at these thresholds.
    if known is None or (discipline, constant, factor) == ("ARED", "burst", 0.5):
        return None
    found = {f"bottleneck.queue.{key}": times(value, factor) for key, value in known.items()}
    if (discipline, constant) == ("ARED", "gains"):
        # ARED multiplies by beta: half a step down is the square root.
        found["bottleneck.queue.beta"] = round(known["beta"] ** factor, 12)
    return found


def times(value: str | float, factor: float) -> str | float:
    """Return a number, or a quantity with its unit, times a factor.

    >>> times("2.5 ms", 2.0), times(1500, 0.5)
    ('5 ms', 750)
    """
    if isinstance(value, str):
        number, unit = value.split()
        return f"{float(number) * factor:g} {unit}"
    return type(value)(value * factor)


@changes("simulated")
def timer_as_on_the_kernel(discipline: str) -> Changes:
    """Return PIE with the timer and the frames that user-mode Linux has.

    Its 15 ms are two ticks of 10 ms, and the one more that a kernel's timer waits so as not to be early. PIE leaves
    alone what is less than two of the device's largest frames; here bytes are counted without the 14 of Ethernet.
    """
    return {"bottleneck.queue.update": "30 ms", "bottleneck.queue.mean_packet": 1514} if discipline == "PIE" else {}


SENDERS = ("no ECN", "ECT(0)", "ECT(1)")


@changes("early")
def pairs(first: str, second: str, router: str) -> Asked:
    """Return each pair of senders once; two new ones also with packets that leave one by one instead of in bursts."""
    if SENDERS.index(first) > SENDERS.index(second) or ("paced" in router and first != "ECT(1)"):
        return None
    return {}


@changes("mixed-rtts")
def deep(plain: str) -> Changes:
    """Return the deeper of two buffers."""
    return {"bottleneck.queue.limit": "500 kB"} if "500 kB" in plain else {}


@changes("wifi-down", "wifi-both")
def flows_of_pairs(per_pair: int, sweep: str) -> Changes:
    """Return as many flows for each of the four pairs, in each direction that the sweep has."""
    groups = ("down",) if sweep == "wifi-down" else ("down", "up")
    return {f"group.{name}.flows": 4 * per_pair for name in groups}


@changes("wifi-uploading")
def some_upload(uploading: int) -> Changes:
    """Return one upload for each of the first stations; all of them download."""
    return {"group.up.flows": uploading, "group.up.station": [f"pair-{number}" for number in range(uploading)]}


@changes("datacentre")
def a_hundredth(plain: str, constants: str) -> Asked:
    """Return times of a hundredth; further, an interval of one round trip, not ten, and CoDel's target for PIE."""
    if constants != "scaled further":
        return scaled(plain, constants, 0.01)
    if plain == "PIE":
        return {**(scaled(plain, constants, 0.01) or {}), "bottleneck.queue.target": "0.05 ms"}
    # ARED's interval cannot be below 1 ms.
    return None if plain == "ARED" else scaled(plain, constants, 0.001)


@changes("rural")
def seven_times(plain: str, constants: str) -> Asked:
    """Return times seven times as long: the round-trip time over CoDel's usual interval."""
    return scaled(plain, constants, 7)


def scaled(plain: str, constants: str, factor: float) -> Asked:
    """Return constants for round-trip times so many times the usual ones: times in proportion, gains in inverse.

    >>> scaled("CoDel", "scaled", 0.01)
    {'bottleneck.queue.target': '0.05 ms', 'bottleneck.queue.interval': '1 ms'}
    """
    codel = {"target": "5 ms", "interval": "100 ms"}
    usual: dict[str, dict[str, str]] = {
        # Between Linux's thresholds of 5 and 15 packets at 10 Mbit/s, where they are 6 and 18 ms.
        "ARED": {"min": "5 ms", "max": "15 ms", "interval": "500 ms"},
        "CoDel": codel,
        "PIE": {"target": "15 ms", "update": "15 ms", "burst": "150 ms", "boost_above": "250 ms"},
        "FQ-CoDel": codel,
    }
    if constants == "default":
        return {}
    if plain not in usual:
        return None
    gains = {"alpha": 0.125 / factor, "beta": 1.25 / factor} if plain == "PIE" else {}
    found = {key: times(value, factor) for key, value in usual[plain].items()} | gains
    return {f"bottleneck.queue.{key}": value for key, value in found.items()}
