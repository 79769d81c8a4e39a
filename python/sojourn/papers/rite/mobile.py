"""Cellular links for section 3.2: those that come with Sojourn, and recorded ones where there are any."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

FOLDER_VARIABLE = "SOJOURN_CELLULAR"
# Beside a checkout; anyone else names a folder.
_BESIDE = Path(__file__).parents[5] / "shared" / "data" / "cellular"
# A second of the UMTS link's mean rate, four of the EVDO link's. Chosen after a first run,
# behind twice as much, in which many pages did not end in minutes.
BUFFER = "256 kB"
WEB_BYTES = 100_000
RUNS = 30
LOADS = (1, 5)
# Before the page is asked for; the background has filled the buffer by then.
_SETTLED_S = 20
WEB, BACKGROUND = "web", "background"


@dataclass(frozen=True)
class Link:
    """A cellular downlink with a queue for one user."""

    name: str
    generation: str
    """3G, the slowest; 3.5G; or 4G."""
    trace: str
    """The name of a ready trace, or a file."""
    rtt_ms: int
    """Base round-trip time. The report prints none; the order is that of measured networks."""
    asked_within_s: int
    """The page is asked for at random within so many seconds."""
    patience_s: int
    """Simulated after the last of them, for the page to end."""

    @property
    def duration_s(self) -> int:
        """Return how long a run is."""
        return _SETTLED_S + self.asked_within_s + self.patience_s

    def changes(self) -> dict[str, Any]:
        """Return the changes of the scenario."""
        last = _SETTLED_S + self.asked_within_s
        return {
            "duration": f"{self.duration_s} s",
            "bottleneck.trace": self.trace,
            f"group.{WEB}.rtt": f"{self.rtt_ms} ms",
            f"group.{WEB}.start": {"uniform": [f"{_SETTLED_S} s", f"{last} s"]},
            f"group.{BACKGROUND}.rtt": f"{self.rtt_ms} ms",
        }


SYNTHETIC = (
    Link("EVDO", "3G", "ready:synthetic-evdo", 120, 180, 200),
    Link("UMTS", "3.5G", "ready:synthetic-umts", 100, 120, 80),
    Link("LTE", "4G", "ready:synthetic-lte", 50, 60, 60),
)
_RECORDED = {
    "EVDO": "Verizon-EVDO-driving.down",
    "UMTS": "TMobile-UMTS-driving.down",
    "LTE": "Verizon-LTE-short.down",
}


def recorded() -> tuple[Link, ...]:
    """Return recorded links, where the folder of SOJOURN_CELLULAR, or else the one beside a checkout, has all."""
    folder = Path(os.environ.get(FOLDER_VARIABLE) or _BESIDE)
    files = {name: folder / file for name, file in _RECORDED.items()}
    if not all(file.is_file() for file in files.values()):
        return ()
    return tuple(replace(link, trace=str(files[link.name].resolve())) for link in SYNTHETIC)


def sources() -> dict[str, tuple[Link, ...]]:
    """Return the sets of links that there are."""
    found = recorded()
    return {"synthetic": SYNTHETIC} | ({"recorded": found} if found else {})


CONTROLS: dict[str, Any] = {
    "NewReno": {"kind": "newreno", "preset": "linux"},
    "CUBIC": {"kind": "cubic", "preset": "linux"},
    "Westwood+": {"kind": "westwood", "preset": "linux"},
    "BBR": "bbr",
    "LEDBAT++": "ledbatpp",
}
REPORT = ("NewReno", "CUBIC", "Westwood+")
"""The controls of the report."""


def base() -> dict[str, Any]:
    """Return the scenario that the cases change: one page, and downloads of the same user beside it."""
    page = {
        "kind": "web",
        "objects": 1,
        "size": f"{WEB_BYTES} B",
        # There is one page in a run.
        "think": "1000000 s",
    }
    web = {"name": WEB, "transport": "linux", "rtt": "50 ms", "traffic": page, "control": CONTROLS["CUBIC"]}
    background = {
        "name": BACKGROUND,
        "transport": "linux",
        "rtt": "50 ms",
        "control": CONTROLS["CUBIC"],
        "start": {"uniform": ["0 s", "5 s"]},
    }
    return {
        "name": "rite-cellular",
        "duration": "100 s",
        "warmup": "10 s",
        "bottleneck": {"trace": "ready:synthetic-lte", "queue": {"kind": "droptail", "limit": BUFFER}},
        "group": [web, background],
    }


def alone(link: Link, web: str) -> dict[str, Any]:
    """Return the changes for a page without anything beside it."""
    # A group has at least one flow: this one begins in the last second.
    late = link.duration_s - 1
    return {
        **link.changes(),
        f"group.{WEB}.control": CONTROLS[web],
        f"group.{BACKGROUND}.start": f"{late} s",
    }


def beside(link: Link, web: str, background: str, flows: int) -> dict[str, Any]:
    """Return the changes for a page beside downloads."""
    return {
        **link.changes(),
        f"group.{WEB}.control": CONTROLS[web],
        f"group.{BACKGROUND}.control": CONTROLS[background],
        f"group.{BACKGROUND}.flows": flows,
    }
