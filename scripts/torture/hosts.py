"""Two hosts: kill -9 of the asking side, the agent, or any process of theirs, and the same run once more."""

import shutil
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.torture import place
from scripts.torture.killing import (
    chance,
    command,
    differences,
    form,
    kill,
    start,
    temporary,
    unended,
    usual_s,
    whole,
)

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

LAB = """
name = "torture"
duration = "1 s"
[bottleneck]
rate = "1 Mbit/s"
queue = {kind = "droptail", preset = "linux", limit = "50 packets"}
[reverse]
rate = "1 Mbit/s"
queue = {kind = "droptail", preset = "linux", limit = "50 packets"}
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
_LOOPBACK, _PORT = "127.0.0.1", 21_340
_SECRET = "a secret of the two hosts"  # noqa: S105 (of a test)


def torture(point: float, folder: Path) -> list[str]:
    """Kill one process of a run over loopback, the agent's ones too, and run it again."""
    (folder / "lab.toml").write_text(LAB, encoding="utf-8")
    words = asking(_LOOPBACK)
    with agent(_LOOPBACK, folder):
        took_s = usual_s((*words, "--out", "whole"), folder)
    with agent(_LOOPBACK, folder) as process:
        run = start([*words, "--out", "killed"], folder)
        time.sleep(point * took_s)
        kill([chance(point).choice(sorted(place.processes()))])
        wrong = unended(run)
        # An agent whose peer was killed is there for the next one.
        spare = [process.pid] if process.poll() is None else []
        wrong += place.left(folder / "none", spare=spare)
        if spare:
            wrong += _again(words, folder)
    wrong += place.left(temporary(folder))
    if not spare:
        with agent(_LOOPBACK, folder):
            wrong += _again(words, folder)
        wrong += place.left(temporary(folder))
    return wrong


def _again(words: list[str], folder: Path) -> list[str]:
    """Run it again; what is there of the killed run is replaced."""
    killed = folder / "killed"
    wrong = differences(form(folder / "whole"), form(killed)) if killed.exists() else []
    wrong += whole([*words, "--out", "killed", "--force"], folder)
    wrong += differences(form(folder / "whole"), form(killed)) if killed.exists() else ["there is no result"]
    shutil.rmtree(killed, ignore_errors=True)
    return wrong


def asking(address: str, *more: str, network: str | None = None) -> list[str]:
    """Return the words of a run with the agent at an address."""
    to = ("--world", "hosts", "--peer", f"{address}:{_PORT}", "--secret-file", "secret")
    return command("run", "lab.toml", *to, *more, network=network)


@contextmanager
def agent(address: str, folder: Path, network: str | None = None) -> "Iterator[subprocess.Popen[str]]":
    """Have an agent, unless somebody kills it."""
    secret = folder / "secret"
    secret.write_text(_SECRET, encoding="utf-8")
    secret.chmod(0o600)
    words = ("agent", "--listen", address, "--port", _PORT, "--secret-file", "secret")
    process = start(command(*words, network=network), folder)
    try:
        if process.stderr is None or "listening" not in (said := process.stderr.readline()):
            raise RuntimeError(f"the agent does not start: {said}")
        yield process
    finally:
        process.terminate()
        process.communicate()
