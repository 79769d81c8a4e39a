"""What a command writes that is killed is there whole or not at all; the next run writes the same bytes.

A study goes on where it was killed; a page and a trained model begin anew.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from scripts.torture import place
from scripts.torture.killing import command, content, differences, kill_one, temporary, usual_s, whole

_STUDY = "mine"


def torture_study(point: float, folder: Path) -> list[str]:
    """Kill a study with its page once, and let it go on."""
    if not (folder / _STUDY).exists():
        usual_s(tuple(command("study", "new", _STUDY)), folder)
    return _torture(["study", "run", _STUDY, "--out"], "results", point, folder)


def torture_page(point: float, folder: Path) -> list[str]:
    """Kill runs with a page once, and write it anew."""
    words = ["run", "first", "--runs", "8", "--set", "duration=60 s", "--page"]
    return _torture(words, "page.html", point, folder)


def torture_training(point: float, folder: Path) -> list[str]:
    """Kill the training of a detector once, and train it anew."""
    return _torture(["detect", "train", "--probes", "110", "--downloads", "110", "--out"], "model.npz", point, folder)


def _torture(words: Sequence[str], name: str, point: float, folder: Path) -> list[str]:
    again, result, expected = command(*words, name), folder / name, folder / "whole"
    took_s = usual_s(tuple(again), folder)
    if not expected.exists():
        expected.mkdir()
        result.rename(expected / name)
    wrong = kill_one(again, folder, point * took_s, point)
    wrong += place.left(folder / "none")
    if result.is_file() and result.read_bytes() != (expected / name).read_bytes():
        wrong.append(f"{name} is half written")
    wrong += whole(again, folder)
    wrong += place.left(temporary(folder))
    (folder / "killed").mkdir()
    result.rename(folder / "killed" / name)
    wrong += differences(content(expected), content(folder / "killed"))
    shutil.rmtree(folder / "killed")
    return wrong
