"""`python -m benchmarks.shapers`: a gateway's shapers on lines whose rate varies.

A call each way, two CUBIC uploads and four CUBIC downloads behind a gateway with CAKE, on satellite, LTE, UMTS, cable
and fixed 4G lines: with shapers at 85 % of the line's mean rate, at 95 % of its least rate, and with controllers.
Recordings have no least rate above 0; there it is the tenth percentile of the rates of single seconds. Three runs of
120 s each, of which 100 s are measured. With `--recorded` the lines are those of a folder, which holds NAME.down and
NAME.up as Mahimahi has them. A minute on two processors.
"""

import argparse
import functools
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, quantiles
from typing import Any

from benchmarks.common import ROOT
from benchmarks.detector.tables import table
from sojourn import api, plugins

RUNS = 3
DURATION_S, WARMUP_S = 120, 20
OF_MEAN, OF_LEAST = 0.85, 0.95
FIXED = {"kind": "autorate", "min": 1, "max": 1}
CONTROLLERS: dict[str, dict[str, Any]] = {
    "autorate": {"kind": "autorate"},
    "autorate, one-way": {"kind": "autorate", "delays": "one-way"},
}
HEADS = (
    *("line", "shaper", "downloads [Mbit/s]", "uploads [Mbit/s]"),
    *("call down, p99 [ms]", "call up, p99 [ms]", "call down, MOS", "call up, MOS"),
)
_MBIT = 1e6
_OPPORTUNITY_BITS = 1500 * 8
_PERCENTILES = 10


@dataclass(frozen=True)
class Line:
    """A line whose rate varies."""

    name: str
    down: Sequence[float] | Path
    """Rates in Mbit/s, each for `every_s`, one after the other and again; or a recording."""
    up: Sequence[float] | Path
    every_s: int = 15
    extra_ms: Sequence[float] = (0.0,)
    """What the delay of each direction is longer, beside each rate."""
    rtt_ms: int = 30
    buffer: tuple[str, str] = ("2 MB", "500 kB")
    """Of the way down and of the way up."""
    loss: float = 0.0


_TRACES = ROOT / "scenarios" / "traces"
LINES = (
    Line("LEO 200/20", (200, 140), (20, 14), extra_ms=(0, 6), rtt_ms=28),
    Line("LTE, synthetic", _TRACES / "synthetic-lte", (10,), rtt_ms=40, buffer=("1 MB", "500 kB")),
    Line(
        "cable 100/10, busy",
        (100, 80, 50, 65, 90),
        (10, 10, 8, 8, 10),
        every_s=10,
        rtt_ms=20,
        buffer=("1 MB", "250 kB"),
    ),
)
"""Those that controllers of the project may have been designed on."""
HELD_OUT = (
    Line("LEO 100/10, lossy", (100, 70, 85), (10, 7, 9), extra_ms=(0, 9, 3), rtt_ms=34, loss=0.002),
    Line("UMTS, synthetic", _TRACES / "synthetic-umts", (1,), rtt_ms=60, buffer=("500 kB", "100 kB")),
    Line("fixed 4G 50/10", (30, 60, 40, 70, 50), (6, 12, 8, 14, 10), every_s=5, rtt_ms=40, buffer=("3 MB", "1 MB")),
)
"""Those that none was."""


@functools.cache
def recorded_mbps(path: Path) -> tuple[float, float]:
    """Return the mean rate of a recording, and the tenth percentile of the rates of its seconds."""
    times = [int(one) for one in path.read_text().split()]
    seconds = times[-1] // 1000
    counts = [0] * seconds
    for at in times:
        if at // 1000 < seconds:
            counts[at // 1000] += 1
    rates = [count * _OPPORTUNITY_BITS / _MBIT for count in counts]
    return mean(rates), max(quantiles(rates, n=_PERCENTILES)[0], 0.05)


def rates_of(way: Sequence[float] | Path) -> tuple[float, float]:
    """Return the mean and the least rate of a direction, in Mbit/s."""
    return recorded_mbps(way) if isinstance(way, Path) else (mean(way), min(way))


def tables(line: Line, base: tuple[float, float], controller: Any) -> dict[str, Any]:
    """Return the scenario of a line behind a gateway with these base rates, down and up, in Mbit/s."""
    rtt = f"{line.rtt_ms} ms"
    call = {"rtt": rtt, "dscp": "ef", "traffic": "voip"}
    bulk = {"rtt": rtt, "control": "cubic", "transport": "linux", "start": {"uniform": ["0 s", "2 s"]}}
    back = {"direction": "reverse"}
    ways = (
        ("isp", line.down, line.buffer[0], {"at": "before", **back}),
        ("modem", line.up, line.buffer[1], {"at": "after"}),
    )
    hops = [
        {
            "name": name,
            **place,
            **({"trace": str(way)} if isinstance(way, Path) else {"rate": f"{way[0]} Mbit/s"}),
            "delay": f"{line.extra_ms[0]} ms",
            "loss": line.loss,
            "queue": {"kind": "droptail", "limit": limit},
        }
        for name, way, limit, place in ways
    ]
    varying = [(name, way) for name, way, *_ in ways if not isinstance(way, Path) and len(way) > 1]
    count = len(varying[0][1]) if varying else 0
    changes = [
        {
            "at": f"{(one or count) * line.every_s} s",
            "every": f"{count * line.every_s} s",
            "hop": [
                {"name": name, "rate": f"{way[one]} Mbit/s", "delay": f"{line.extra_ms[one % len(line.extra_ms)]} ms"}
                for name, way in varying
            ],
        }
        for one in range(count)
    ]
    shapers = [
        {"rate": f"{mbps:.6f} Mbit/s", "queue": {"kind": "cake", "bandwidth": f"{mbps:.6f} Mbit/s"}} for mbps in base
    ]
    pings = {"kind": "ping", "every": "300 ms"}
    return {
        "duration": f"{DURATION_S} s",
        "warmup": f"{WARMUP_S} s",
        "reverse": shapers[0],
        "bottleneck": shapers[1],
        "hop": hops,
        **({"change": changes} if changes else {}),
        "shaper": {"controller": controller, "pings": "reflectors"},
        "group": [
            {
                "name": "reflectors",
                "rtt": rtt,
                "flows": 6,
                "traffic": pings,
                "start": [f"{50 * one} ms" for one in range(6)],
            },
            {"name": "call-up", **call},
            {"name": "call-down", **call, **back},
            {"name": "uploads", **bulk, "flows": 2},
            {"name": "downloads", **bulk, **back, "flows": 4},
        ],
    }


def row(case: tuple[Line, str, tuple[float, float], Any, Path | None]) -> list[str]:
    """Run a line behind a shaper; a row of the table."""
    line, name, base, controller, plugin = case
    if plugin is not None:
        plugins.load(plugin)
    runs = api.scenario(tables(line, base, controller)).run(runs=RUNS, series=False, jobs=1).runs
    goodput = [mean(run.groups[group].goodput_mbps for run in runs) for group in ("downloads", "uploads")]
    calls = [[run.groups[group].voip for run in runs] for group in ("call-down", "call-up")]
    delay = [mean(call.delay_ms.p99 for call in of_runs) for of_runs in calls]
    mos = [mean(call.mos for call in of_runs) for of_runs in calls]
    numbers = (f"{mbps:.3g}" for mbps in goodput), (f"{ms:.0f}" for ms in delay), (f"{one:.2f}" for one in mos)
    return [line.name, name, *(one for some in numbers for one in some)]


def cases(lines: Sequence[Line], own: dict[str, Any], plugin: Path | None) -> list[Any]:
    """Return each line behind each shaper."""
    made = []
    for line in lines:
        (down, least_down), (up, least_up) = rates_of(line.down), rates_of(line.up)
        base = (OF_MEAN * down, OF_MEAN * up)
        made += [
            (line, "85 % of the mean", base, FIXED, plugin),
            (line, "95 % of the least", (OF_LEAST * least_down, OF_LEAST * least_up), FIXED, plugin),
            *((line, name, base, controller, plugin) for name, controller in {**CONTROLLERS, **own}.items()),
        ]
    return made


def recordings(folder: Path) -> list[Line]:
    """Return the lines of a folder of recordings."""
    names = sorted(one.stem for one in folder.glob("*.down"))
    return [
        Line(name, folder / f"{name}.down", folder / f"{name}.up", rtt_ms=40, buffer=("1 MB", "500 kB"))
        for name in names
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recorded", type=Path, metavar="DIR")
    parser.add_argument("--plugin", type=Path, metavar="FILE")
    parser.add_argument("--controller", action="append", default=[], metavar="NAME")
    parser.add_argument("--design", action="store_true", help="only the lines that controllers may be designed on")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    lines = recordings(given.recorded) if given.recorded else LINES if given.design else [*LINES, *HELD_OUT]
    own = {name: {"kind": name} for name in given.controller}
    with ProcessPoolExecutor(given.jobs) as pool:
        print(table(HEADS, list(pool.map(row, cases(lines, own, given.plugin)))))


if __name__ == "__main__":
    main()
