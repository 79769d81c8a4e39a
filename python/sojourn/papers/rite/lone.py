"""One flow alone in a large buffer for hours: the setting of Figs. 3.3 and 3.4, and what is measured of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.papers.measures import BACKGROUND, QUEUE_MS, UTILIZATION, Key, Results, Trace, label, measure
from sojourn.study.lab import Lab
from sojourn.study.numbers import Number

RATE_MBPS = 2.0
BUFFER_MS = 1000.0
TARGET_MS = 100.0
HISTORY_MIN = 10.0
SEEDS = 3
BIN_S = 20.0
# What counts as a full buffer.
FULL = 0.9 * BUFFER_MS
# The flow has found its first target; a climb is measured from here on.
SETTLED_S = 120.0
WORDS = f"{RATE_MBPS:g} Mbit/s, base RTT 50 ms, DropTail of {BUFFER_MS:g} ms, {SEEDS} runs"

Changes = Mapping[str, Any]


def base(hours: float) -> dict[str, Any]:
    """Return one flow of LEDBAT alone on a link of the report's time with a large buffer."""
    return {
        "name": "rite-alone",
        "duration": f"{3600 * hours:g} s",
        "bottleneck": {"rate": f"{RATE_MBPS:g} Mbit/s", "queue": {"kind": "droptail", "limit": f"{BUFFER_MS:g} ms"}},
        "group": [
            {"name": BACKGROUND, "control": "ledbat", "rtt": "50 ms", "start": {"uniform": ["0 s", "1 s"]}},
        ],
    }


def control(kind: str = "ledbat", **changes: Any) -> dict[str, Any]:
    """Return the change of the flow's control."""
    return {f"group.{BACKGROUND}.control": {"kind": kind, **changes}}


@dataclass(frozen=True)
class Hours:
    """What flows alone did."""

    results: Results
    delays: dict[tuple[str, int], Trace]
    """Mean queueing delay of each bin in ms."""
    bases: dict[tuple[str, int], Trace]
    """Base delay that the sender believes, in ms."""

    @classmethod
    def of(cls, lab: Lab, name: str, hours: float, cases: Mapping[Key, Changes]) -> "Hours":
        """Run cases, unless the folder holds them already."""
        kept = {"keep": ["series", "probes"], "bin": f"{BIN_S:g} s"}
        results = measure(lab, name, base(hours), cases, seeds=SEEDS, **kept)
        delays = results.traces("queue", "queue_ms")
        return cls(results, delays, results.traces("flow_probes", "value", name="base_delay_ms"))

    def climb(self, key: Key) -> Number:
        """Return the climb of the queueing delay in ms per minute."""
        return Number.of([climb_ms_per_min(*trace) for trace in self._of(self.delays, key)])

    def full_min(self, key: Key) -> list[float | None]:
        """Return, for each run, after how many minutes the buffer was full; None where it never was."""
        return [full_min(*trace) for trace in self._of(self.delays, key)]

    def last_hour(self, key: Key) -> Number:
        """Return the mean queueing delay of the last hour in ms."""
        return Number.of([_mean_of_last(trace, 3600.0) for trace in self._of(self.delays, key)])

    def trace(self, key: Key) -> Trace:
        """Return the queueing delay over time of the first run."""
        return self._of(self.delays, key)[0]

    def base(self, key: Key) -> Trace:
        """Return the base delay over time of the first run."""
        return self._of(self.bases, key)[0]

    def utilization(self, key: Key) -> Number:
        """Return how much of the link the flow used."""
        return self.results.number(key, UTILIZATION, BACKGROUND)

    def queue(self, key: Key) -> Number:
        """Return the mean queueing delay in ms."""
        return self.results.number(key, QUEUE_MS, BACKGROUND)

    def _of(self, traces: dict[tuple[str, int], Trace], key: Key) -> list[Trace]:
        return [trace for (case, _), trace in traces.items() if case == label(key)]


def climb_ms_per_min(times_s: Sequence[float], delays_ms: Sequence[float]) -> float:
    """Return by how much the delay climbs in a minute, by least squares, from the first target to the full buffer.

    >>> round(climb_ms_per_min([120.0, 180.0, 240.0, 300.0], [100.0, 110.0, 120.0, 950.0]), 6)
    10.0
    """
    import numpy as np

    end = until_full(delays_ms)
    begin = next((place for place, time in enumerate(times_s) if time >= SETTLED_S), len(times_s))
    minutes = np.asarray(times_s[begin:end]) / 60.0
    if len(set(minutes)) <= 1:
        return float("nan")
    slope, _ = np.polyfit(minutes, delays_ms[begin:end], 1)
    return float(slope)


def until_full(delays_ms: Sequence[float]) -> int:
    """Return how many bins there are before the buffer is full for the first time.

    >>> until_full([100.0, 990.0, 500.0])
    1
    """
    return next((place for place, delay in enumerate(delays_ms) if delay > FULL), len(delays_ms))


def full_min(times_s: Sequence[float], delays_ms: Sequence[float]) -> float | None:
    """Return after how many minutes the buffer was full.

    >>> full_min([60.0, 120.0], [100.0, 990.0])
    2.0
    """
    end = until_full(delays_ms)
    return times_s[end] / 60.0 if end < len(times_s) else None


def _mean_of_last(trace: Trace, seconds: float) -> float:
    times, values = trace
    last = [value for time, value in zip(times, values, strict=True) if time >= times[-1] - seconds]
    return sum(last) / len(last)
