"""Start a command, kill it, and see what it left."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

Part = Callable[[float, Path], list[str]]
"""Kills something at a part, 0 to 1, of its duration, in a folder of its own; returns what is wrong afterwards."""

GONE_S = 30.0
"""So long may what was kept take to end after its owner, on a busy machine."""


def command(*words: object) -> list[str]:
    """Return the words of a command of Sojourn."""
    return [sys.executable, "-m", "sojourn", *map(str, words)]


def kill(words: Sequence[str], after_s: float, mark: str, environment: Mapping[str, str] | None = None) -> list[str]:
    """Start a command, kill it and nothing else after a while; return what processes stay that have `mark` about them.

    The mark is put into the environment of the command, and so into that of all it starts.
    """
    marked = {**os.environ, **(environment or {}), "SOJOURN_TORTURE": mark}
    with subprocess.Popen(
        words, env=marked, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(after_s)
        process.send_signal(signal.SIGKILL)
    until = time.monotonic() + GONE_S
    while (left := _marked(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    return [f"process {pid} is left: {words}" for pid, words in left.items()]


def _marked(mark: str) -> dict[int, str]:
    wanted = f"SOJOURN_TORTURE={mark}".encode()
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found[int(entry.name)] = (
                        (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    )
    return found


def duration_s(words: Sequence[str]) -> float:
    """Run a command to its end; return how long that took."""
    began = time.monotonic()
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - began


def content(folder: Path) -> dict[str, bytes]:
    """Return the files in a folder by name, without locks."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
