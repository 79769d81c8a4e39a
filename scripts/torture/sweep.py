"""A sweep that is killed goes on with the same command, and has the bytes of one that was not."""

import shutil
from pathlib import Path

from scripts.torture import place
from scripts.torture.killing import command, content, differences, kill_one, temporary, usual_s, whole

SWEEP = """
base = "first"
seeds = 4
keep = ["series"]
set = { duration = "20 s" }

[axes]
"bottleneck.rate" = { from = "2 Mbit/s", to = "20 Mbit/s", count = 8 }
"""


def torture(point: float, folder: Path) -> list[str]:
    """Kill a sweep in the simulator once, and let it go on."""
    return torture_sweep(SWEEP, point, folder)


def torture_sweep(text: str, point: float, folder: Path) -> list[str]:
    """Kill a sweep once, and let it go on."""
    (folder / "sweep.toml").write_text(text, encoding="utf-8")
    took_s = usual_s(tuple(command("sweep", "sweep.toml", "--out", "whole")), folder)
    words = command("sweep", "sweep.toml", "--out", "killed")
    wrong = kill_one(words, folder, point * took_s, point)
    # A killed kernel's folder is removed by the next kernel run at the latest.
    wrong += place.left(folder / "none")
    wrong += whole(words, folder)
    wrong += place.left(temporary(folder))
    wrong += differences(content(folder / "whole"), content(folder / "killed"))
    shutil.rmtree(folder / "killed", ignore_errors=True)
    return wrong
