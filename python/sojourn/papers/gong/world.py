"""The paper's world: ns-2.33 with its defaults, as the presets `ns2` have them."""

from collections.abc import Mapping
from typing import Any

SEEDS = 10
PACKETS = 400

# What the paper calls its disciplines, and what ns-2 makes of them. SFQ and DRR have buffers of their own there
# (40 packets; 25,000 bytes), whatever the link's limit says. CHOKe and CoDel were patches that are lost: CHOKe gets
# RED's thresholds, CoDel the values of RFC 8289.
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


def queue(name: str, packets: int = PACKETS) -> dict[str, Any]:
    """Return a discipline of the paper in a buffer of so many packets."""
    own = {} if name in _OWN_BUFFER else {"limit": f"{packets} packets"}
    return QUEUES[name] | own


def base(**changes: Any) -> dict[str, Any]:
    """Return the scenario of section 3.2: 5 NewReno and 5 LEDBAT flows, 4 Mbit/s, 400 packets, 50 ms, 60 s.

    The paper starts all flows at once; here they start within 0.1 s, so that runs differ under DropTail too.
    """
    tables: dict[str, Any] = {
        "name": "gong",
        "duration": "60 s",
        "bottleneck": {"rate": "4 Mbit/s", "queue": queue("DropTail")},
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
