"""A run on a kernel that is killed leaves no process and no folder, and the next one has a whole result."""

import functools
import os
import shutil
from pathlib import Path

from scripts.torture.killing import command, duration_s, kill

from sojourn.testbed.errors import TestbedError
from sojourn.testbed.kernels import choose


def _words(folder: Path) -> list[str]:
    settings = ["duration=2 s", "group.download.control.preset=linux", "group.download.transport.preset=linux"]
    sets = [word for one in settings for word in ("--set", one)]
    return command("run", "first", *sets, "--backend", "linux", "--out", folder / "result", "--force")


@functools.cache
def _usual_s(folder: Path) -> float | None:
    """Return how long a run takes; None where there is no kernel to run on."""
    try:
        choose("auto")
    except TestbedError as error:
        print(f"kernel: left out: {error}")
        return None
    os.environ["TMPDIR"] = str(_place(folder))
    return duration_s(_words(folder))


def _place(folder: Path) -> Path:
    place = folder / "temporary"
    place.mkdir(exist_ok=True)
    return place


def torture(point: float, folder: Path) -> list[str]:
    """Kill a run once; its folder of temporary files is empty afterwards, and its result whole or not there."""
    usual_s = _usual_s(folder)
    if usual_s is None:
        return []
    shutil.rmtree(folder / "result", ignore_errors=True)
    wrong = kill(_words(folder), point * usual_s, "kernel", {"TMPDIR": str(_place(folder))})
    wrong += [f"{path.name} is left" for path in _place(folder).iterdir()]
    if (folder / "result").exists() and not (folder / "result" / "record.json").exists():
        wrong.append("the result is half there")
    return wrong
