"""What the tests share: a small scenario, and the command line in this process and in one of its own."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import sojourn
from sojourn.cli import run_command_line

SMALL = """
name = "small"
duration = "2 s"

[bottleneck]
rate = "10 Mbit/s"
[bottleneck.queue]
kind = "droptail"
limit = "50 packets"

[[group]]
name = "tcp"
control = "newreno"
flows = 2
rtt = "20 ms"

[[group]]
name = "background"
control = "ledbat"
flows = 1
rtt = "20 ms"
"""


@dataclass
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Outcome]
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def small_scenario(tmp_path_factory: pytest.TempPathFactory) -> sojourn.Scenario:
    path = tmp_path_factory.mktemp("scenario") / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return sojourn.Scenario.load(path)


@pytest.fixture(scope="session")
def small_result(small_scenario: sojourn.Scenario) -> sojourn.Result:
    return small_scenario.run(runs=3, packets=True)


@pytest.fixture
def no_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have messages written for a user who is not root."""
    monkeypatch.setattr("os.geteuid", lambda: 1000)


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Command:
    """Run the command line in this process."""

    def run(*arguments: object) -> Outcome:
        capfd.readouterr()
        code = run_command_line([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Outcome(code, out, err)

    return run


@pytest.fixture
def start() -> Start:
    """Start the command line in a process of its own."""

    def run(*arguments: object, cwd: Path | None = None) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "sojourn", *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
        )

    return run


@pytest.fixture
def echo_port() -> Iterator[int]:
    """Answer datagrams on loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        child = os.fork()
        if not child:
            while True:
                data, peer = server.recvfrom(100)
                server.sendto(data, peer)
        yield server.getsockname()[1]
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
