"""Kernels: a sweep in virtual time goes on with the same bytes; a run in real time with a result of the same form."""

import functools
import shutil
from pathlib import Path

from scripts.torture import place
from scripts.torture.killing import FailedError, command, differences, form, kill_one, temporary, usual_s, whole
from scripts.torture.sweep import torture_sweep

from sojourn.worlds.linux.kernels import kernels

# A sweep takes the best kernel that there is, which is the one in virtual time.
_VIRTUAL = "uml-virtual"
_REAL = ("host", "uml")
_SETTINGS = {
    "duration": '"2 s"',
    "bottleneck.queue": '{ kind = "droptail", preset = "linux", limit = "50 packets" }',
    "group.download.control.preset": '"linux"',
    "group.download.transport.preset": '"linux"',
}
SWEEP = f"""
base = "first"
world = "linux"
keep = ["series"]
set = {{ {", ".join(f'"{key}" = {value}' for key, value in _SETTINGS.items())} }}

[axes]
"bottleneck.rate" = ["1 Mbit/s", "2 Mbit/s", "4 Mbit/s"]
"""


def torture_virtual(point: float, folder: Path) -> list[str]:
    """Kill a sweep on a kernel whose time is virtual, and let it go on."""
    return torture_sweep(SWEEP, point, folder) if _there(_VIRTUAL) else []


def torture_real(point: float, folder: Path) -> list[str]:
    """Kill a run on a kernel whose time is real, and run it again."""
    found = _real(folder)
    if found is None:
        return []
    words, took_s = found
    wrong = kill_one([*words, "--out", "killed"], folder, point * took_s, point)
    wrong += place.left(folder / "none")
    killed = folder / "killed"
    if killed.exists():
        wrong += differences(form(folder / "whole"), form(killed))
    wrong += whole([*words, "--out", "killed", "--force"], folder)
    wrong += place.left(temporary(folder))
    wrong += differences(form(folder / "whole"), form(killed))
    shutil.rmtree(killed, ignore_errors=True)
    return wrong


@functools.cache
def _real(folder: Path) -> tuple[list[str], float] | None:
    """Return the run on the first kernel that can do it, and how long it takes."""
    sets = [word for key, value in _SETTINGS.items() for word in ("--set", f"{key}={value}")]
    for kernel in filter(_there, _REAL):
        words = command("run", "first", *sets, "--world", "linux", "--kernel", kernel)
        try:
            return words, usual_s((*words, "--out", "whole"), folder)
        except FailedError as error:
            print(f"kernel {kernel}: left out: {error}")
    return None


@functools.cache
def _there(name: str) -> bool:
    lacks = kernels()[name].missing()
    if lacks:
        print(f"kernel {name}: left out: {', '.join(one.what for one in lacks)} is missing")
    return not lacks
