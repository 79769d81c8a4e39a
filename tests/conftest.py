"""What the tests share: a small scenario, and the command line in this process and in one of its own."""

import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import HealthCheck, settings
from tests.lab_page import address, browser, errors, motivating, page  # noqa: F401 (fixtures)

import sojourn
from sojourn import plugins
from sojourn.cli import run_command_line
from sojourn.registry import origins

if TYPE_CHECKING:
    from sojourn.study.load import StudyFolder
    from sojourn.sweeps.plan import Point

# How fast a machine is, busy or not, is no matter of the laws that are tested.
settings.register_profile("patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# Whoever starts the tests in the background has them ignore these, and so all commands that are to end by them.
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)

PATIENCE_S = 120.0
"""For how long a process may keep a test waiting; on a busy machine all takes many times as long."""

# An agent lets runs be asked for a minute ahead.
MAX_LEAD_S = 50.0

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


@pytest.fixture(autouse=True)
def _no_plug_in_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take away what a test added, and the permission that it gave: tests do not depend on their order."""
    before = set(origins())
    monkeypatch.setattr(plugins, "_PERMISSION", set())
    yield
    if added := set(origins()) - before:
        plugins.unload(*added)


@pytest.fixture
def drawn() -> random.Random:
    """Give what a test draws by: anew each time, and again as before with SOJOURN_DRAW=N, which a failure prints."""
    seed = int(os.environ.get("SOJOURN_DRAW", secrets.randbelow(1 << 32)))
    sys.stdout.write(f"drawn anew; the same again: SOJOURN_DRAW={seed}\n")
    return random.Random(seed)


@dataclass
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Outcome]
Start = Callable[..., "subprocess.Popen[str]"]


def wait_for(condition: Callable[[], bool]) -> bool:
    """Wait until something is so; tell whether it is."""
    until = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


def free_port() -> int:
    """Return a port with free ones above it, for TCP and UDP, below those that the system hands out."""
    for port in range(20_000 + os.getpid() % 997 * 10, 32_000, 10):
        with suppress(OSError):
            for number in range(port, port + 5):
                for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                    with socket.socket(socket.AF_INET, kind) as probe:
                        probe.bind(("127.0.0.1", number))
            return port
    raise AssertionError("no ports are free")


@pytest.fixture(scope="session")
def lead_s() -> float:
    """How much ahead a run is to be planned, so that its processes have started by then, however busy the machine."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import sojourn.worlds.linux.endpoint"], check=True, timeout=PATIENCE_S)
    return min(5 * (time.monotonic() - began), MAX_LEAD_S)


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


def abandoned(folder: Path) -> Path:
    """Make a folder as a killed kernel run leaves it."""
    folder.mkdir(0o700)
    lock = folder / "lock"
    lock.touch(0o600)
    lock.write_bytes(b"sojourn work folder 1\n")
    return folder


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


def points_of(study: "StudyFolder", sweep: str) -> "list[Point]":
    """Return the points of one of a study's sweeps."""
    plan = study.checked(sweep)
    return [plan.point(index) for index in range(plan.points)]


@pytest.fixture
def kernelless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a machine without any kernel for the world `linux`."""
    from sojourn.worlds.linux.errors import Missing, NotInstalledError

    def refuse(_name: str) -> NoReturn:
        raise NotInstalledError("the kernel uml", [Missing("linux.uml (user-mode Linux)", "user-mode-linux")])

    monkeypatch.setattr("sojourn.worlds.linux.world.choose", refuse)
    monkeypatch.setattr("sojourn.worlds.linux.world._check_programs", lambda _planned: None)


@dataclass
class Echo:
    """Who answers datagrams on loopback, and how many it has answered."""

    port: int
    answered: int = 0

    def asked(self) -> int:
        """Ask it something; return how many it has answered then, in the order in which they came."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.settimeout(PATIENCE_S)
            asking.sendto(b"?", ("127.0.0.1", self.port))
            asking.recv(100)
        return self.answered


@pytest.fixture
def echo() -> Iterator[Echo]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        service = Echo(server.getsockname()[1])

        def answer() -> None:
            while True:
                data, peer = server.recvfrom(100)
                if not data:
                    return
                # Counted first: who has its answer finds it counted.
                service.answered += 1
                server.sendto(data, peer)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield service
        server.sendto(b"", server.getsockname())
        thread.join()
