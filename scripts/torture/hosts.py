"""Kill -9 while two hosts run: the asking side, the agent, or any process of theirs, up to after the end."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

LAB = """
name = "torture"
duration = "1 s"
[bottleneck]
rate = "1 Mbit/s"
queue = {kind = "droptail", limit = "50 packets"}
[reverse]
rate = "1 Mbit/s"
queue = {kind = "droptail", limit = "50 packets"}
[[group]]
name = "background"
control = "ledbat"
rtt = "20 ms"
[[group]]
name = "back"
control = "ledbat"
rtt = "20 ms"
direction = "reverse"
"""
_PORT = 21_340
_LONGEST_S = 8.0
_PATIENCE_S = 60.0


def torture(point: float, folder: Path) -> list[str]:
    """Kill one process of a run at a part of its usual duration; return what is wrong afterwards."""
    place = folder / f"{point:.4f}"
    place.mkdir()
    with ExitStack() as undo:
        problem = _point(place, _LONGEST_S * point, random.Random(point), undo)  # noqa: S311 (which process is no secret)
    return [] if problem is None else [problem]


def _point(folder: Path, after_s: float, chance: random.Random, undo: ExitStack) -> str | None:
    (folder / "tmp").mkdir()
    (folder / "lab.toml").write_text(LAB, encoding="utf-8")
    agent = _start(folder, undo, "agent", "--port", str(_PORT))
    if agent.stderr is None or "listening" not in agent.stderr.readline():
        return "the agent does not start"
    asking = _start(folder, undo, "run", "lab.toml", *_to())
    time.sleep(after_s)
    victims = sorted(_processes(folder))
    if victims:
        with suppress(ProcessLookupError):
            os.kill(chance.choice(victims), signal.SIGKILL)
    # Whichever it was, the run ends by itself, well or not, and the agent is there unless it was the one.
    try:
        asking.communicate(timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        return "the asking side goes on"
    if agent.poll() is None:
        again = _start(folder, undo, "run", "lab.toml", *_to())
        _, told = again.communicate(timeout=_PATIENCE_S)
        if again.returncode:
            return f"the next run fails: {told.strip()}"
        agent.terminate()
    agent.communicate(timeout=_PATIENCE_S)
    until = time.monotonic() + _PATIENCE_S
    while (left := _processes(folder) or list((folder / "tmp").iterdir())) and time.monotonic() < until:
        time.sleep(0.05)
    return f"left: {left}" if left else None


def _to() -> tuple[str, ...]:
    return ("--backend", "hosts", "--peer", f"127.0.0.1:{_PORT}", "--json")


def _start(folder: Path, undo: ExitStack, *words: str) -> "subprocess.Popen[str]":
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    process = subprocess.Popen(
        [sys.executable, "-m", "sojourn", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=folder,
    )
    undo.callback(process.communicate)
    undo.callback(process.kill)
    return process


def _processes(folder: Path) -> list[int]:
    """Return all processes that have this folder for their temporary files."""
    mark, found = f"TMPDIR={folder / 'tmp'}\0".encode(), []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                if mark in (entry / "environ").read_bytes() and (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found
