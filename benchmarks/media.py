"""What a minute of a medium that stations share costs."""

from statistics import median
from typing import Any

from benchmarks import child
from benchmarks.common import say

# A minute may take so long, in seconds.
LIMIT_S = 0.1
_PAIRS = "802.11g, 54 Mbit/s, four stations, an upload and a download of CUBIC each"
_SELECTED = "802.11n, two stations near and one that walks, rates selected, a download of CUBIC each"


def measure(rounds: int) -> list[dict[str, Any]]:
    """Return a row for each network; the engine's own time for a simulated minute."""
    rows = []
    for name, scenario in _networks().items():
        say(f"a minute of {name}")
        costs = [child.engine(scenario) for _ in range(rounds)]
        walls = [cost["wall_s"] for cost in costs]
        rows.append(
            {
                "network": name,
                "wall_s": median(walls),
                "wall_s_least": min(walls),
                "wall_s_most": max(walls),
                "events": costs[0]["events"],
                "event_ns": median(1e9 * cost["wall_s"] / cost["events"] for cost in costs),
            }
        )
    return rows


def _networks() -> dict[str, dict[str, Any]]:
    pair = {"control": "cubic", "flows": 4, "rtt": "100 ms", "station": "s"}
    near, walking = {"snr_db": 30, "streams": 2}, {"snr_db": 20, "streams": 2, "speed_kmh": 4, "shadowing_db": 4}
    return {
        _PAIRS: {
            "duration": "60 s",
            "bottleneck": {
                "medium": {"kind": "wifi", "standard": "802.11g", "scheduler": "fifo", "driver": 20},
                "queue": "codel",
            },
            "station": [
                {"name": "s", "rate": "54 Mbit/s", "count": 4, "queue": {"kind": "droptail", "limit": "30 packets"}}
            ],
            "group": [{"name": "down", **pair}, {"name": "up", "direction": "reverse", **pair}],
        },
        _SELECTED: {
            "duration": "60 s",
            "bottleneck": {"medium": {"kind": "wifi", "guard": "400 ns"}, "queue": "fq_codel"},
            "station": [{"name": "near", "count": 2, **near}, {"name": "walking", **walking}],
            "group": [
                {"name": "down", "control": "cubic", "flows": 3, "rtt": "20 ms", "station": ["near", "walking"]},
            ],
        },
    }
