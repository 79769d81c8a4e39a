"""Section 3.3.2: the link on which CDG is tried, and its variants."""

import math
from collections.abc import Mapping
from typing import Any

SEEDS = 5
RATE_MBPS = 10.0
RTT_MS = 50.0
# 10 Mbit/s for 50 ms in packets of 1500 B.
BDP_PACKETS = 42

PAPER, LINUX = "CDG", "CDG, Linux"
VARIANTS: dict[str, dict[str, Any]] = {
    PAPER: {"kind": "cdg", "preset": "paper"},
    "CDG, FreeBSD": {"kind": "cdg", "preset": "freebsd"},
    LINUX: {"kind": "cdg", "preset": "linux"},
    "CDG without shadow": {"kind": "cdg", "preset": "paper", "shadow": "off"},
    "CDG that never ignores": {"kind": "cdg", "preset": "paper", "ineffective": "auto", "hold": "auto"},
    "CDG, scavenger": {"kind": "cdg", "preset": "scavenger"},
}


def base(groups: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """Return the scenario of most items, with these groups."""
    tables: dict[str, Any] = {
        "name": "rite-cdg",
        "duration": "60 s",
        "warmup": "10 s",
        "bottleneck": {"rate": f"{RATE_MBPS:g} Mbit/s", "queue": droptail(1.0)},
        "group": groups,
    }
    return tables | changes


def group(name: str, flows: int, control: str | Mapping[str, Any] = "cdg", **changes: Any) -> dict[str, Any]:
    """Return a group of flows without end."""
    start = {"uniform": ["0 s", "1 s"]}
    return {"name": name, "control": control, "flows": flows, "rtt": f"{RTT_MS:g} ms", "start": start} | changes


def droptail(buffer: float) -> dict[str, Any]:
    """Return a buffer of so many bandwidth-delay products."""
    return {"kind": "droptail", "limit": f"{math.ceil(buffer * BDP_PACKETS)} packets"}


WORDS = (
    f"{RATE_MBPS:g} Mbit/s, base RTT {RTT_MS:g} ms, buffer of one bandwidth-delay product, 60 s of which 50 are "
    f"measured, {SEEDS} runs"
)
"""The setting, for an item."""
