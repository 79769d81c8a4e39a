"""`python -m benchmarks.scavengers_at_home [--controls NAMES]`: unmarked background downloads on lines of homes.

One best-effort download (CUBIC) beside one of the background, with what each home does besides: what best effort keeps
of what it has alone, and what the background uses alone of what best effort does. Lines are the sample that
`compare --lines home` takes, up to 300 Mbit/s, in the direction to the home. Half of them, by a hash of the name, were
not looked at while scout was made. Eight minutes on two processors.
"""

import argparse
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from benchmarks.detector.tables import table
from sojourn import api
from sojourn.detect.population import crossed, is_held_out
from sojourn.lines import chosen

FASTEST_MBPS = 300.0
KEPT, USED = 0.9, 0.8
WORST = 10
QUEUES: dict[str, tuple[float, str | dict[str, Any] | None]] = {
    "modem alone": (0.0, None),
    "FQ-CoDel at 90 %": (0.9, {"kind": "fq_codel", "preset": "linux"}),
    "CAKE at 90 %": (0.9, None),
    "CoDel at 90 %": (0.9, {"kind": "codel", "preset": "linux"}),
    "PIE at 90 %": (0.9, {"kind": "pie", "preset": "linux"}),
    "DualPI2 at 90 %": (0.9, {"kind": "dualpi2", "preset": "linux"}),
}
"""The gateway's part of the line's rate, and its queue where that is not CAKE."""


@dataclass(frozen=True)
class Met:
    """What happened on a line."""

    line: str
    weight: float
    queue: str
    kept: float
    """What best effort has beside the background over what it has alone."""
    used: float
    """What the background has alone over what best effort has alone."""

    @property
    def lack(self) -> float:
        """How much is missing at what it is worst at, in parts of what is asked for; below zero of none."""
        return 1 - min(self.kept / KEPT, self.used / USED)


def met(case: tuple[str, float, str], control: str) -> Met:
    """Return what happened on a line behind a queue."""
    line, weight, queue = case
    alone = _goodputs(line, queue, {"besteffort": "cubic"})["besteffort"]
    both = _goodputs(line, queue, {"besteffort": "cubic", "background": control})["besteffort"]
    background = _goodputs(line, queue, {"background": control})["background"]
    return Met(line, weight, queue, both / alone, background / alone)


def _goodputs(line: str, queue: str, controls: Mapping[str, str]) -> dict[str, float]:
    gateway, table = QUEUES[queue]
    own = {} if table is None else {"bottleneck": {"queue": table}, "reverse": {"queue": table}}
    start = {"uniform": ["0 s", "1 s"]}
    groups = [
        {"name": name, "control": control, "transport": "linux", "rtt": "20 ms", "start": start}
        for name, control in controls.items()
    ]
    access = {"line": line, "bottleneck": "down", "gateway": gateway}
    tables = {"duration": "60 s", "warmup": "20 s", "access": access, **own, "group": groups}
    result = api.scenario(tables).run(runs=2, series=False, jobs=1)
    return {name: sum(run.groups[name].goodput_mbps for run in result.runs) / 2 for name in controls}


def rows(control: str, found: Sequence[Met]) -> list[list[str]]:
    """Return the rows of the table of a control: for each queue the lines it was made with and those held out."""
    made = []
    for queue in QUEUES:
        for half, held in (("developing", False), ("held out", True)):
            own = [one for one in found if one.queue == queue and is_held_out(one.line) == held]
            if not own:
                continue
            least, total = min(own, key=lambda one: one.kept), sum(one.weight for one in own)
            keeps = sum(one.weight for one in own if one.kept >= KEPT) / total
            uses = sum(one.weight for one in own if one.used >= USED) / total
            typical = median(one.used for one in own)
            cells = [f"{keeps:.0%}", f"{least.kept:.0%} ({least.line})", f"{uses:.0%}", f"{typical:.0%}"]
            made.append([control, queue, half, str(len(own)), *cells])
    return made


def worst(control: str, found: Sequence[Met]) -> list[list[str]]:
    """Return the lines and queues where most is missing, the worst first."""
    made = []
    for one in sorted(found, key=lambda one: -one.lack)[:WORST]:
        half = "held out" if is_held_out(one.line) else "developing"
        made.append([control, one.line, one.queue, half, f"{one.kept:.0%}", f"{one.used:.0%}"])
    return made


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--controls", default="scout,ledbatpp", metavar="NAME[,NAME]")
    parser.add_argument("--lines", default="home", metavar="LINES", help="as `compare --lines` has them")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    lines = [one for one in chosen(given.lines) if crossed(one["name"], "down").rate_mbps <= FASTEST_MBPS]
    cases = [(line["name"], line["weight"], queue) for line in lines for queue in QUEUES]
    made, least = [], []
    with ProcessPoolExecutor(given.jobs) as pool:
        for control in given.controls.split(","):
            found = list(pool.map(partial(met, control=control), cases))
            made += rows(control, found)
            least += worst(control, found)
    heads = (
        "background",
        "queue",
        "half",
        "lines",
        "best effort keeps 90 %",
        "least kept",
        "uses 80 % alone",
        "median use alone",
    )
    print(table(heads, made))
    print(table(("background", "line", "queue", "half", "best effort keeps", "uses alone"), least))


if __name__ == "__main__":
    main()
