"""The paper's world: ns-2.33 with its defaults, as the presets `ns2` have them."""

import math
from collections.abc import Mapping
from typing import Any

PACKETS = 400
RATE_MBPS = 4.0

# What the paper calls its disciplines, and what ns-2 makes of them. SFQ and DRR have buffers of their own there
# (40 packets; 25,000 bytes), whatever the link's limit says. CHOKe and CoDel were patches that are lost: CHOKe gets
# RED's automatic thresholds (`choke`), CoDel the values of RFC 8289.
QUEUES: dict[str, dict[str, Any]] = {
    "DropTail": {"kind": "droptail", "preset": "ns2"},
    "RED": {"kind": "red", "preset": "ns2"},
    "CHOKe": {"kind": "choke", "preset": "paper"},
    "DRR": {"kind": "drr", "preset": "ns2"},
    "SFQ": {"kind": "sfq", "preset": "ns2"},
    "CoDel": {"kind": "codel"},
}
AQMS = tuple(name for name in QUEUES if name != "DropTail")
_OWN_BUFFER = ("DRR", "SFQ")

# ns-2.35 queue/red.cc, initialize_params: what RED computes of the link where nothing is given.
_MEAN_PACKET = 500
_TARGET_DELAY_S = 0.005
_LEAST_MIN_PACKETS = 5
_MAX_P = 0.1


def choke(rate_mbps: float) -> dict[str, Any]:
    """Return CHOKe with the thresholds, weight and probability that ns-2's RED computes for a link."""
    packets_per_s = rate_mbps * 1e6 / (8 * _MEAN_PACKET)
    least = _MEAN_PACKET * max(_LEAST_MIN_PACKETS, _TARGET_DELAY_S * packets_per_s / 2)
    # ns-2 takes 1 - exp(-1/(10 rtt packets_per_s)) with at least 0.1 s for rtt.
    weight = 1 - math.exp(-1 / packets_per_s)
    return {
        "min": f"{least:.0f} B",
        "max": f"{3 * least:.0f} B",
        "weight": weight,
        "max_p": _MAX_P,
        "gentle": True,
        "mean_packet": "auto",
    }


def queue(name: str, packets: int = PACKETS, rate_mbps: float = RATE_MBPS) -> dict[str, Any]:
    """Return a discipline of the paper in a buffer of so many packets."""
    own = {} if name in _OWN_BUFFER else {"limit": f"{packets} packets"}
    return QUEUES[name] | (choke(rate_mbps) if name == "CHOKe" else {}) | own


def base(**changes: Any) -> dict[str, Any]:
    """Return the scenario of section 3.2: 5 NewReno and 5 LEDBAT flows, 4 Mbit/s, 400 packets, 50 ms, 60 s.

    The paper starts all flows at once; here they start within 0.1 s, so that runs differ under DropTail too.
    """
    tables: dict[str, Any] = {
        "name": "gong",
        "duration": "60 s",
        "bottleneck": {"rate": rate(RATE_MBPS), "queue": queue("DropTail")},
        "group": [group("tcp", "newreno"), group("background", "ledbat")],
    }
    return tables | changes


def group(name: str, control: str | Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """Return five flows of a control, as ns-2 has them."""
    tables = {
        "name": name,
        "control": control,
        "transport": "ns2",
        "flows": 5,
        "rtt": "50 ms",
        "start": {"uniform": ["0 s", "0.1 s"]},
    }
    return tables | changes


def rate(mbps: float) -> str:
    """Return a rate as the scenario file has it."""
    return f"{mbps:g} Mbit/s"


def both(key: str, value: Any) -> dict[str, Any]:
    """Return the change of a key in both groups."""
    return {f"group.tcp.{key}": value, f"group.background.{key}": value}
