"""Cellular links for section 3.2: those that come with Sojourn, and recorded ones where there are any."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

FOLDER_VARIABLE = "SOJOURN_CELLULAR"
# Beside a checkout; anyone else names a folder.
_BESIDE = Path(__file__).parents[5] / "shared" / "data" / "cellular"
BUFFER = "512 kB"
WEB_BYTES = 100_000
RUNS = 30
LOADS = (1, 5)
# Before the page is asked for; the background has filled the buffer by then.
_SETTLED_S = 20
_WEB, _BACKGROUND = "web", "background"


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

    def changes(self) -> dict[str, Any]:
        """Return the changes of the scenario."""
        last = _SETTLED_S + self.asked_within_s
        return {
            "duration": f"{last + self.patience_s} s",
            "bottleneck.trace": self.trace,
            f"group.{_WEB}.rtt": f"{self.rtt_ms} ms",
            f"group.{_WEB}.start": {"uniform": [f"{_SETTLED_S} s", f"{last} s"]},
            f"group.{_BACKGROUND}.rtt": f"{self.rtt_ms} ms",
        }


SYNTHETIC = (
    Link("EVDO", "3G", "ready:synthetic-evdo", 120, 180, 100),
    Link("UMTS", "3.5G", "ready:synthetic-umts", 100, 120, 60),
    Link("LTE", "4G", "ready:synthetic-lte", 50, 60, 60),
)
_RECORDED = {
    "EVDO": "Verizon-EVDO-driving.down",
    "UMTS": "TMobile-UMTS-driving.down",
    "LTE": "Verizon-LTE-short.down",
}


def recorded() -> tuple[Link, ...]:
    """Return recorded links, where the folder that SOJOURN_CELLULAR names, or the one beside a checkout, has them all."""
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
    web = {"name": _WEB, "transport": "linux", "rtt": "50 ms", "traffic": page, "control": CONTROLS["CUBIC"]}
    background = {
        "name": _BACKGROUND,
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
    # A group has at least one flow: this one begins after the end.
    never = link.asked_within_s + link.patience_s + _SETTLED_S + 1
    return {
        **link.changes(),
        f"group.{_WEB}.control": CONTROLS[web],
        f"group.{_BACKGROUND}.start": f"{never} s",
    }


def beside(link: Link, web: str, background: str, flows: int) -> dict[str, Any]:
    """Return the changes for a page beside downloads."""
    return {
        **link.changes(),
        f"group.{_WEB}.control": CONTROLS[web],
        f"group.{_BACKGROUND}.control": CONTROLS[background],
        f"group.{_BACKGROUND}.flows": flows,
    }
