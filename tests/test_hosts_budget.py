"""What an agent sends, measured on the wire between two namespaces: the limit and one burst, whoever the peer is."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import PATIENCE_S

from sojourn.worlds.hosts.budget import burst_bytes
from sojourn.worlds.linux.utp import missing

ROOT = Path(__file__).parents[1]
ASKING, AGENT, PORT = "10.7.1.1", "10.7.1.2", 5340
RATE_BPS = 1_000_000
SECONDS = 6
STOPPED_S = 1.5


def why_not() -> str | None:
    if os.geteuid() != 0:
        return "making network namespaces takes root"
    if any(shutil.which(tool) is None for tool in ("ip", "ethtool")):
        return "ip or ethtool is missing"
    return None


pytestmark = [
    pytest.mark.real_time,
    pytest.mark.testbed,
    pytest.mark.skipif(why_not() is not None, reason=why_not() or ""),
]


def ip(*words: str, check: bool = True) -> None:
    subprocess.run(("ip", *words), check=check, capture_output=True, text=True)


def inside(name: str, *words: object, **keys: Any) -> "subprocess.Popen[str]":
    command = ["ip", "netns", "exec", name, sys.executable, "-m", *map(str, words)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, cwd=ROOT, **{**pipes, **keys})


@pytest.fixture
def names() -> Iterator[tuple[str, str]]:
    """Two hosts with a wire between them that bears far more than is allowed."""
    names = (f"sj{os.getpid()}-a", f"sj{os.getpid()}-b")
    try:
        for name in names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("link", "add", "h1", "netns", names[0], "type", "veth", "peer", "name", "h2", "netns", names[1])
        for name, link, address in ((names[0], "h1", ASKING), (names[1], "h2", AGENT)):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", link)
            ip("netns", "exec", name, "ethtool", "-K", link, "tso", "off", "gso", "off", "gro", "off")
            ip("-n", name, "link", "set", link, "up")
        yield names
    finally:
        for name in names:
            ip("netns", "del", name, check=False)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text("a secret of the two hosts")
    file.chmod(0o600)
    return file


@contextmanager
def serving(name: str, secret: Path) -> Iterator[int]:
    """Serve as an agent; its process."""
    agent = inside(
        name,
        *("sojourn", "agent", "--listen", AGENT, "--secret-file", secret, "--max-rate", f"{RATE_BPS} bit/s"),
        stderr=subprocess.PIPE,
    )
    assert agent.stderr is not None
    try:
        assert "listening" in agent.stderr.readline()
        yield agent.pid
    finally:
        with suppress(ProcessLookupError):
            agent.terminate()
        agent.communicate(timeout=PATIENCE_S)


def processes(pid: int) -> list[int]:
    """Return a process and all that it has started."""
    files = list(Path(f"/proc/{pid}/task").glob("*/children"))
    return [pid, *(one for file in files for child in file.read_text().split() for one in processes(int(child)))]


def stopped_meanwhile(pid: int, after_s: float, stopped: list[int]) -> None:
    """Stop a process and its children for a while: all that they do has missed its time then."""
    time.sleep(after_s)
    stopped += processes(pid)
    for number, wait_s in ((signal.SIGSTOP, STOPPED_S), (signal.SIGCONT, 0.0)):
        for one in stopped:
            with suppress(ProcessLookupError):
                os.kill(one, number)
        time.sleep(wait_s)


def measured(name: str, *words: object) -> tuple[dict[str, Any], str]:
    """Run a program in a namespace; what crossed its wire meanwhile from and to the agent, and what it printed."""
    tap = inside(name, "tests.tap", "h1", AGENT)
    assert tap.stdout is not None
    assert tap.stdout.readline() == "listening\n"
    asking = inside(name, *words)
    out, err = asking.communicate(timeout=PATIENCE_S)
    seen = json.loads(tap.communicate(timeout=PATIENCE_S)[0])
    assert asking.returncode == 0, err
    return seen, out


def most_bytes() -> int:
    """Return what may cross within any second."""
    return RATE_BPS // 8 + burst_bytes(RATE_BPS)


WITH_LIBUTP = pytest.param("careless", marks=pytest.mark.skipif(bool(missing()), reason="libutp is not built"))


@pytest.mark.parametrize("kind", ["transfers", "liar", "staller", "small", "flood", "disorder", WITH_LIBUTP])
def test_a_hostile_peer_gets_no_more_than_the_limit_and_one_burst(
    names: tuple[str, str], secret: Path, kind: str
) -> None:
    with serving(names[1], secret):
        seen, out = measured(names[0], "tests.hostile", kind, AGENT, PORT, secret, SECONDS)
    # Else the agent has taken it for nobody.
    assert json.loads(out)["seen_bytes"] > 0
    assert 0 < seen["from"]["most"] <= most_bytes()


LAB = """
name = "mixed"
duration = "6 s"
[bottleneck]
rate = "1 Gbit/s"
queue = {kind = "droptail", limit = "1000 packets"}
[reverse]
rate = "1 Gbit/s"
queue = {kind = "droptail", limit = "1000 packets"}
"""
WEB = '{kind = "transfers", interval = "20 ms", size = {kind = "fixed", size = "14480 B"}}'
GROUPS = [
    ("tcp", 'control = {kind = "newreno", preset = "linux"}\ntransport = "linux"\n'),
    ("web", f'control = {{kind = "newreno", preset = "linux"}}\ntransport = "linux"\ntraffic = {WEB}\n'),
    ("ledbat", 'control = "ledbat"\n'),
    ("steady", 'traffic = {kind = "cbr", rate = "200 kbit/s"}\n'),
    ("call", 'traffic = {kind = "voip"}\n'),
]


def lab() -> str:
    """Every kind of flow, in both directions."""
    both = [(name, keys, way) for way in ("forward", "reverse") for name, keys in GROUPS]
    return LAB + "".join(
        f'[[group]]\nname = "{name}-{way}"\nrtt = "20 ms"\ndirection = "{way}"\n{keys}' for name, keys, way in both
    )


def test_an_unmodified_peer_gets_it_and_no_more_both_ways(names: tuple[str, str], secret: Path, tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(lab())
    peer = ("--world", "hosts", "--peer", AGENT, "--secret-file", secret, "--json")
    with serving(names[1], secret):
        seen, out = measured(names[0], "sojourn", "run", tmp_path / "lab.toml", *peer)
    groups = json.loads(out)["runs"][0]["groups"]
    for way, sent in (("reverse", seen["from"]), ("forward", seen["to"])):
        assert sent["most"] <= most_bytes()
        # Nobody starves: who would send more than there is shares it.
        assert all(groups[f"{name}-{way}"]["goodput_mbps"] > 0.01 for name, _ in GROUPS), groups
        assert sum(groups[f"{name}-{way}"]["goodput_mbps"] for name, _ in GROUPS) > 0.5 * RATE_BPS / 1e6


def test_an_agent_that_was_stopped_sends_nothing_it_has_missed_at_once(
    names: tuple[str, str], secret: Path, tmp_path: Path
) -> None:
    # TCP, transfers and own transports over UDP; datagrams alone are in test_testbed_stopped.py.
    (tmp_path / "lab.toml").write_text(lab())
    peer = ("--world", "hosts", "--peer", AGENT, "--secret-file", secret, "--json")
    stopped: list[int] = []
    with serving(names[1], secret) as pid:
        stopping = threading.Thread(target=stopped_meanwhile, args=(pid, 6.0, stopped))
        stopping.start()
        seen, out = measured(names[0], "sojourn", "run", tmp_path / "lab.toml", *peer)
        stopping.join()
    groups = json.loads(out)["runs"][0]["groups"]
    assert len(stopped) > 1, "the agent had a process that sent"
    # The kernel goes on for a while with what its sockets hold.
    assert seen["from"]["silent_s"] > STOPPED_S / 3, "it was stopped while it sent"
    assert 0 < seen["from"]["most"] <= most_bytes()
    assert all(groups[f"{name}-reverse"]["goodput_mbps"] > 0.01 for name, _ in GROUPS), groups
