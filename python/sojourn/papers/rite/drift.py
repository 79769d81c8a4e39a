"""Figures 3.3 and 3.4: a LEDBAT flow that takes its own queue for the path's delay."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes

from sojourn import scenario
from sojourn.figures.style import family
from sojourn.papers.gong.drawing import panels
from sojourn.papers.lab import Lab
from sojourn.papers.measures import check
from sojourn.papers.study import Findings, Item, Table

HOURS = 3
BUFFER_MS = 1000
TARGET_MS = 100
HISTORY_MIN = 10
BIN_S = 20.0
# "By about one target in a history": within 15 %, said before any run.
ABOUT = 0.15


def base(**changes: Any) -> dict[str, Any]:
    """Return the scenario: one LEDBAT flow alone, for hours, on a slow link with a large buffer."""
    tables: dict[str, Any] = {
        "name": "rite-drift",
        "duration": f"{HOURS * 3600} s",
        "bottleneck": {"rate": "2 Mbit/s", "queue": {"kind": "droptail", "limit": f"{BUFFER_MS} ms"}},
        "group": [group("ledbat")],
    }
    return tables | changes


def group(control: str | Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """Return one flow that always has data."""
    tables: dict[str, Any] = {"name": "background", "control": control, "rtt": "50 ms"}
    return tables | {"start": {"uniform": ["0 s", "1 s"]}} | changes


def climb_ms_per_min(times_s: list[float], delays_ms: list[float]) -> float:
    """Return how fast the delay climbs until it first reaches nine tenths of the buffer."""
    import numpy as np

    below = next((place for place, ms in enumerate(delays_ms) if ms > 0.9 * BUFFER_MS), len(delays_ms))
    slope, _ = np.polyfit([time / 60 for time in times_s[:below]], delays_ms[:below], 1)
    return float(slope)


def drift(lab: Lab) -> Findings:
    """Return how the queue climbs."""
    found = Findings()
    queue = scenario(base()).run(jobs=lab.jobs, bin_s=BIN_S).queue.to_pydict()
    times, delays = queue["time_s"], queue["queue_ms"]

    def draw(_index: int, axes: Axes) -> None:
        axes.plot([time / 60 for time in times], delays, color=family(0), label="LEDBAT")
        axes.set_xlabel("time [min]")
        axes.set_ylabel("queueing delay [ms]")

    found.show("drift", panels(["one LEDBAT flow alone"], draw), "Queueing delay of one LEDBAT flow alone")
    found.tables.append(
        Table("drift", "Queueing delay", ("time_s", "queue_ms"), tuple(zip(times, delays, strict=True)))
    )
    climb = climb_ms_per_min(times, delays) * HISTORY_MIN
    found.checks.append(
        check(
            "the queue climbs by about one target in a history",
            f"{TARGET_MS} ms in {HISTORY_MIN} min",
            f"{climb:.0f} ms",
            agrees=abs(climb / TARGET_MS - 1) <= ABOUT,
        )
    )
    return found


ITEMS = (
    Item(
        "drift",
        "Figs. 3.3 and 3.4: LEDBAT's base delay drifts",
        f"one LEDBAT flow alone, 2 Mbit/s, {BUFFER_MS} ms of buffer, base RTT 50 ms, {HOURS} h",
        drift,
    ),
)
