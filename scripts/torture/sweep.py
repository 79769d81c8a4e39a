"""A sweep that is killed goes on with the same command, and has the bytes of one that was not."""

import functools
import shutil
from pathlib import Path

from scripts.torture.killing import command, content, duration_s, kill

SWEEP = """
base = "first"
seeds = 4
keep = ["series"]
set = { duration = "20 s" }

[axes]
"bottleneck.rate" = { from = "2 Mbit/s", to = "20 Mbit/s", count = 8 }
"""


@functools.cache
def _whole(folder: Path) -> tuple[dict[str, bytes], float]:
    (folder / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    took_s = duration_s(command("sweep", folder / "sweep.toml", "--out", folder / "whole"))
    return content(folder / "whole"), took_s


def torture(point: float, folder: Path) -> list[str]:
    """Kill a sweep once, and let it go on."""
    expected, took_s = _whole(folder)
    words = command("sweep", folder / "sweep.toml", "--out", folder / "killed")
    left = kill(words, point * took_s, "sweep")
    duration_s(words)
    found = content(folder / "killed")
    shutil.rmtree(folder / "killed")
    return [
        *left,
        *(f"{name} differs" for name in sorted(expected.keys() | found) if expected.get(name) != found.get(name)),
    ]
