"""Start a command, kill one of its processes, and compare what it writes."""

import functools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from scripts.torture.place import processes

Part = Callable[[float, Path], list[str]]
"""Kills something at a part, 0 to 1, of its duration, in a folder of its own; returns what is wrong afterwards."""

_OTHERS = 0.5
PATIENCE_S = 120.0
"""So long may a command take that is to end by itself, on a busy machine."""


class FailedError(Exception):
    """A command fails that nobody killed; the text says why."""


def command(*words: object, network: str | None = None) -> list[str]:
    """Return the words of a command of Sojourn, in a network namespace or this network."""
    where = [] if network is None else ["ip", "netns", "exec", network]
    return [*where, sys.executable, "-m", "sojourn", *map(str, words)]


def start(words: Sequence[str], folder: Path) -> "subprocess.Popen[str]":
    """Start a command whose temporary files are to lie in `folder / "tmp"`."""
    return subprocess.Popen(
        words,
        env=_environment(folder),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def temporary(folder: Path) -> Path:
    """Return where commands that are started in a folder have their temporary files."""
    place = folder / "tmp"
    place.mkdir(exist_ok=True)
    return place


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(temporary(folder))}


def chance(point: float) -> random.Random:
    """Return a random stream of a point, the same in every run of the torture."""
    return random.Random(point)  # noqa: S311 (who is killed is no secret)


def kill_one(words: Sequence[str], folder: Path, after_s: float, point: float) -> list[str]:
    """Start a command and kill -9 one of its processes after a while; return what is wrong where it does not end.

    At about every second point it is the command itself, at the others any process that it has started.
    """
    before = processes()
    process = start(words, folder)
    with suppress(subprocess.TimeoutExpired):
        process.wait(after_s)
    drawn = chance(point)
    others = sorted(set(processes()) - set(before) - {process.pid})
    kill([drawn.choice(others) if others and drawn.random() < _OTHERS else process.pid])
    return unended(process)


def kill(pids: Collection[int]) -> None:
    """Kill processes, of which some may have ended."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def unended(process: "subprocess.Popen[str]") -> list[str]:
    """Wait for the end of a command; return what is wrong where it does not come."""
    try:
        process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return ["the command goes on after a process of its run was killed"]
    return []


def whole(words: Sequence[str], folder: Path) -> list[str]:
    """Run a command to its end; return what it says where it fails."""
    process = start(words, folder)
    try:
        _, said = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return ["going on does not end"]
    return [f"going on fails with exit code {process.returncode}: {said.strip()}"] if process.returncode else []


@functools.cache
def usual_s(words: tuple[str, ...], folder: Path) -> float:
    """Return how long a command takes that nobody kills; raises FailedError where it fails."""
    began = time.monotonic()
    problems = whole(words, folder)
    if problems:
        raise FailedError(problems[0].splitlines()[-1])
    return time.monotonic() - began


def content(folder: Path) -> dict[str, bytes]:
    """Return the files in a folder by name, without locks."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def form(folder: Path) -> dict[str, bytes]:
    """Return the same of a result that was measured in real time, with every measured value replaced by its kind.

    Two measurements are never the same bytes. In common they have the scenario, the names of files and columns, and the
    keys of the record.
    """
    import pyarrow.parquet as pq

    found = {}
    for name, data in content(folder).items():
        if name.endswith(".parquet"):
            found[name] = str(pq.read_schema(folder / name).remove_metadata()).encode()
        elif name.endswith(".json"):
            found[name] = json.dumps(_kind(json.loads(data)), indent=1).encode()
        else:
            found[name] = data
    return found


def _kind(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _kind(one) for key, one in value.items()}
    if isinstance(value, list):
        # As many flows as were asked for, but any number of remarks and samples, also none.
        return [_kind(one) for one in value] if value and all(isinstance(one, dict) for one in value) else "list"
    # What could not be measured is null.
    is_number = value is None or (isinstance(value, int | float) and not isinstance(value, bool))
    return "number" if is_number else type(value).__name__


def differences(expected: dict[str, bytes], found: dict[str, bytes]) -> list[str]:
    """Return the files that differ, and where."""
    names = sorted(expected.keys() | found)
    return [f"{name}: {why}" for name in names if (why := _difference(expected.get(name), found.get(name)))]


def _difference(expected: bytes | None, found: bytes | None) -> str:
    if expected is None or found is None:
        return "is missing" if found is None else "is there and should not be"
    if expected == found:
        return ""
    lines = zip(expected.splitlines(), found.splitlines(), strict=False)
    number, pair = next(((number, pair) for number, pair in enumerate(lines, 1) if pair[0] != pair[1]), (0, ()))
    return f"differs in line {number} {[line[:80] for line in pair]}"
