"""What the items of section 4.1.2 have in common: disciplines with their default constants, and who sends."""

from collections.abc import Mapping
from typing import Any

from sojourn.papers.measures import TCP
from sojourn.papers.rite.fluctuating import QUEUES as FLUCTUATING

NO_AQM = "DropTail"
PACKET_BYTES = 1500
DISCIPLINES: dict[str, dict[str, Any]] = {
    NO_AQM: FLUCTUATING["no AQM"],
    "ARED": FLUCTUATING["ARED"],
    "CoDel": FLUCTUATING["CoDel"],
    "PIE": FLUCTUATING["PIE, sojourn"],
    "FQ-CoDel": FLUCTUATING["FQ-CoDel"],
}
"""As on the links whose rate fluctuates: default targets, and thresholds of 5 and 15 packets for ARED."""
SINGLE_QUEUE_AQMS = ("ARED", "CoDel", "PIE")
SFQ: dict[str, Any] = {"kind": "sfq", "depth": "auto", "flows": "auto"}
CONTROLS: dict[str, dict[str, Any]] = {
    "NewReno": {"kind": "newreno", "preset": "linux"},
    "CUBIC": {"kind": "cubic", "preset": "linux"},
}
START: dict[str, list[str]] = {"uniform": ["0 s", "5 s"]}


def bulk(flows: int, rtt: str, *, name: str = TCP, control: str = "CUBIC") -> dict[str, Any]:
    """Return a group of flows that never end."""
    return {
        "name": name,
        "control": CONTROLS[control],
        "transport": "linux",
        "flows": flows,
        "rtt": rtt,
        "start": START,
    }


def link(rate: str, limit: str, queue: Mapping[str, Any] = DISCIPLINES[NO_AQM]) -> dict[str, Any]:
    """Return a bottleneck with so much room."""
    return {"rate": rate, "queue": {**queue, "limit": limit}}
