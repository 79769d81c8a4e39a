"""Downloads of random sizes: which draws carry the load that the paper had, and response times by size."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from sojourn.papers.braud.world import FREEBSD, NEWRENO, RTT_MS, ms
from sojourn.papers.measures import Results, label, measure
from sojourn.study.lab import Lab
from sojourn.study.numbers import Number

DOWNLOADS = "downloads"
EXPONENT = 1.7
SEGMENT, PACKET = 1448, 1500
DRAWS = 300
SECONDS, WARMUP_S = 1000, 20
CONNECTIONS = 300
# Sizes in packets from which on transfers are taken together; the last ones are open.
EDGES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 3000)
SMALL, MIDDLE = (1, 10), (10, 100)
"""What the checks compare: most transfers, and those that are long enough to fill a window."""
FIRST_TIMEOUT_MS = 3000
_MOST_SUMMED = 20_000_000


@functools.cache
def largest(load: float, kbps: float, per_s: float) -> int:
    """Return the largest number of packets for which Zipf's mean makes this load, headers included.

    >>> largest(0.17, 2400.0, 1.0)
    28837
    """
    import numpy as np

    wanted = load * kbps * 1e3 / (8 * PACKET) / per_s
    count = 1024
    while True:
        numbers = np.arange(1, count + 1, dtype=float)
        weights = numbers**-EXPONENT
        means = np.cumsum(numbers * weights) / np.cumsum(weights)
        if means[-1] >= wanted or count > _MOST_SUMMED:
            return int(np.searchsorted(means, wanted)) + 1
        count *= 4


def downloads(most: int, per_s: float, control: str | Mapping[str, Any] = NEWRENO) -> dict[str, Any]:
    """Return transfers that arrive as a Poisson process, each over a connection of its own."""
    return {
        "name": DOWNLOADS,
        "control": control,
        "transport": FREEBSD,
        "rtt": ms(RTT_MS),
        "direction": "reverse",
        "traffic": {
            "kind": "transfers",
            "interval": f"{1e3 / per_s:g} ms",
            "size": {"kind": "zipf", "unit": "1 packet", "most": most, "exponent": EXPONENT},
            "connections": CONNECTIONS,
        },
    }


def draws(
    lab: Lab, name: str, line: Mapping[str, Any], payload_mbps: float, wanted: float, runs: int
) -> list[tuple[int, float]]:
    """Return the seeds whose downloads, alone on the line, carry nearest to the wanted load, and what they carry.

    With this tail the mean is made by transfers that most runs of 1000 s never draw, so that the load of a run is far
    below its expectation. The paper had one draw; here it is the nearest of many.
    """
    results = measure(lab, name, line, {("alone",): {}}, seeds=DRAWS)
    rows = results.rows["alone", DOWNLOADS]
    loads = {results.column("seed")[row]: results.column("goodput_mbps")[row] / payload_mbps for row in rows}
    ranked = sorted(loads, key=lambda seed: (abs(loads[seed] - wanted), seed))
    return [(seed, loads[seed]) for seed in sorted(ranked[:runs])]


class Responses:
    """Response times of the transfers of some cases, each run with several seeds."""

    def __init__(self, results: Results, cases: Mapping[tuple[Any, ...], Sequence[int]]) -> None:
        import numpy as np

        table = results.dataset.table("transfers")
        points = dict(zip(results.column("case"), results.column("point"), strict=True))
        at = np.asarray(table["point"])
        sizes = np.asarray(table["size_bytes"]) / SEGMENT
        times = np.asarray(table["completion_ms"])
        order = np.argsort(at, kind="stable")
        starts = {int(point): slice(*np.searchsorted(at[order], [point, point + 1])) for point in set(points.values())}
        self.cases = cases
        self.runs = {
            key: [
                (sizes[order][where], times[order][where])
                for where in (starts[points[label((*key, seed))]] for seed in seeds)
            ]
            for key, seeds in cases.items()
        }
        self.results = results

    def mean(self, key: tuple[Any, ...], sizes: tuple[int, int]) -> Number:
        """Return the mean response time in ms of transfers from one size to below another, over runs that have any."""
        means = []
        for packets, times in self.runs[key]:
            chosen = times[(packets >= sizes[0]) & (packets < sizes[1])]
            if len(chosen):
                means.append(float(chosen.mean()))
        return Number.of(means)

    def median_and_slow(self, key: tuple[Any, ...], sizes: tuple[int, int]) -> tuple[float, float]:
        """Return the median response time in ms of all runs, and the part that takes a first timeout or more."""
        import numpy as np

        both = (np.concatenate(parts) for parts in zip(*self.runs[key], strict=True))
        packets, times = both
        chosen = times[(packets >= sizes[0]) & (packets < sizes[1])]
        return float(np.median(chosen)), float((chosen >= FIRST_TIMEOUT_MS).mean())

    def curve(self, key: tuple[Any, ...], least: int = 5) -> list[tuple[float, float, int]]:
        """Return mean size, mean response time in ms and count for each class of sizes with enough transfers."""
        import numpy as np

        sizes, times = (np.concatenate(parts) for parts in zip(*self.runs[key], strict=True))
        found = []
        for low, high in zip(EDGES, (*EDGES[1:], float("inf")), strict=True):
            chosen = (sizes >= low) & (sizes < high)
            if chosen.sum() >= least:
                found.append(
                    (float(np.exp(np.log(sizes[chosen]).mean())), float(times[chosen].mean()), int(chosen.sum()))
                )
        return found
