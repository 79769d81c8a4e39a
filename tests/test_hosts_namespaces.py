"""Two hosts as network namespaces with a slow router between them: the experiment itself, by the command line."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import PATIENCE_S

# TBF behind a FIFO of half a second.
RATE_BPS = 4_000_000
QUEUE_BYTES = 250_000
ASKING, AGENT, BYSTANDER = "10.9.1.1", "10.9.2.1", "10.9.1.3"
LAB = """
name = "internet"
duration = "16 s"
warmup = "8 s"
[bottleneck]
rate = "1 Gbit/s"
queue = {kind = "droptail", limit = "1000 packets"}
[reverse]
rate = "1 Gbit/s"
queue = {kind = "droptail", limit = "1000 packets"}
[[group]]
name = "tcp"
control = {kind = "newreno", preset = "linux"}
transport = "linux"
rtt = "20 ms"
start = "2 s"
[[group]]
name = "background"
control = "ledbat"
rtt = "20 ms"
"""
BACK = """
[[group]]
name = "back"
control = {kind = "newreno", preset = "linux"}
transport = "linux"
rtt = "20 ms"
direction = "reverse"
"""


def why_not() -> str | None:
    if os.geteuid() != 0:
        return "making network namespaces takes root"
    if any(shutil.which(tool) is None for tool in ("ip", "tc", "ethtool")):
        return "ip, tc or ethtool is missing"
    return None


pytestmark = [
    pytest.mark.real_time,
    pytest.mark.testbed,
    pytest.mark.skipif(why_not() is not None, reason=why_not() or ""),
]


def ip(*words: str, check: bool = True) -> None:
    subprocess.run(("ip", *words), check=check, capture_output=True, text=True)


@pytest.fixture
def hosts() -> Iterator[dict[str, str]]:
    """Make two hosts with a slow router between them; nothing of it stays."""
    names = {role: f"sj{os.getpid()}-{role}" for role in ("ask", "rtr", "agt")}
    try:
        for name in names.values():
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("netns", "exec", names["rtr"], "sysctl", "-qw", "net.ipv4.ip_forward=1")
        # The bottleneck is not in the sender's own host: there TCP keeps its own queue small.
        for net, (role, hosts) in {1: ("ask", (1, 3)), 2: ("agt", (1,))}.items():
            host, device, port = names[role], f"h{net}", f"r{net}"
            ip("link", "add", device, "netns", host, "type", "veth", "peer", "name", port, "netns", names["rtr"])
            for place, link, numbers in ((host, device, hosts), (names["rtr"], port, (2,))):
                for number in numbers:
                    ip("-n", place, "addr", "add", f"10.9.{net}.{number}/24", "dev", link)
                ip("netns", "exec", place, "ethtool", "-K", link, "tso", "off", "gso", "off", "gro", "off")
                ip("-n", place, "link", "set", link, "up")
            ip("-n", host, "route", "add", "default", "via", f"10.9.{net}.2")
            shaper = ("tbf", "rate", f"{RATE_BPS}bit", "burst", "3000", "limit", str(QUEUE_BYTES))
            ip("netns", "exec", names["rtr"], "tc", "qdisc", "add", "dev", port, "root", *shaper)
        yield names
    finally:
        for name in names.values():
            ip("netns", "del", name, check=False)


def started(name: str, *words: object) -> "subprocess.Popen[str]":
    command = ["ip", "netns", "exec", name, sys.executable, "-m", "sojourn", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text("a secret of the two hosts")
    file.chmod(0o600)
    return file


def run(hosts: dict[str, str], folder: Path, secret: Path, lab: str, *more: str) -> tuple[int, Any, str, str]:
    """Return exit code, document, messages of the run and of the agent."""
    (folder / "lab.toml").write_text(lab)
    agent = started(hosts["agt"], "agent", "--listen", AGENT, "--secret-file", secret, "--once", *more)
    assert agent.stderr is not None
    try:
        first = agent.stderr.readline()
        peer = ("--world", "hosts", "--peer", AGENT, "--secret-file", secret, "--json")
        asking = started(hosts["ask"], "run", folder / "lab.toml", *peer)
        out, told = asking.communicate(timeout=PATIENCE_S)
        if asking.returncode:
            agent.terminate()
        return (
            asking.returncode,
            json.loads(out) if out else None,
            told,
            first + agent.communicate(timeout=PATIENCE_S)[1],
        )
    finally:
        with suppress(ProcessLookupError):
            agent.kill()


def test_ledbat_yields_to_tcp_between_two_hosts(hosts: dict[str, str], tmp_path: Path, secret: Path) -> None:
    code, document, told, agents = run(hosts, tmp_path, secret, LAB)
    assert code == 0, told + agents
    [record] = document["runs"]
    groups = record["groups"]
    total = sum(group["goodput_mbps"] for group in groups.values())
    assert 0.8 * RATE_BPS / 1e6 < total < RATE_BPS / 1e6
    # NewReno fills the queue of half a second, far above LEDBAT's target of 100 ms.
    assert groups["tcp"]["share"] > 0.9
    delay = record["bottleneck"]["ping_ms"]
    most_ms = QUEUE_BYTES * 8e3 / RATE_BPS
    assert 0.3 * most_ms < delay["mean"] < delay["max"] < 1.1 * most_ms
    assert delay["base"] < 20
    # What TCP itself sees of the path is what the pings see of it.
    assert groups["tcp"]["rtt_ms"]["mean"] == pytest.approx(delay["mean"] + delay["base"], rel=0.25)
    assert f"{ASKING}: 2 flows for 16 s" in agents
    assert agents.endswith("done\n")


def test_the_agent_sends_what_it_may_and_no_more(hosts: dict[str, str], tmp_path: Path, secret: Path) -> None:
    lab = LAB.replace("16 s", "4 s").replace("8 s", "0 s") + BACK
    goodputs_mbps = []
    for rate in ("100 Mbit/s", "1 Mbit/s"):
        code, document, told, agents = run(hosts, tmp_path, secret, lab, "--max-rate", rate)
        assert code == 0, told + agents
        goodputs_mbps.append(document["runs"][0]["groups"]["back"]["goodput_mbps"])
    free, bounded = goodputs_mbps
    assert free > 0.5 * RATE_BPS / 1e6
    assert 0.5 < bounded < 1.1


def test_only_the_two_addresses_see_the_flows(hosts: dict[str, str], tmp_path: Path, secret: Path) -> None:
    """One who knows the ports, but is not the peer, gets nothing, and the run goes on."""
    (tmp_path / "lab.toml").write_text(LAB.replace("16 s", "4 s").replace("8 s", "0 s"))
    agent = started(hosts["agt"], "agent", "--listen", AGENT, "--secret-file", secret, "--once")
    assert agent.stderr is not None
    agent.stderr.readline()
    peer = ("--world", "hosts", "--peer", AGENT, "--secret-file", secret, "--json")
    asking = started(hosts["ask"], "run", tmp_path / "lab.toml", *peer)
    # Once the flow over TCP has a receiver, the other one has, too.
    stranger = (
        "import socket, time\n"
        "def reach():\n"
        "    while True:\n"
        f"        try: return socket.create_connection(('{AGENT}', 5341), 2, ('{BYSTANDER}', 0))\n"
        "        except ConnectionRefusedError: time.sleep(0.02)\n"
        "tcp = reach()\n"
        f"udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.bind(('{BYSTANDER}', 0)); udp.settimeout(1)\n"
        f"udp.sendto(bytes([0x53, 0x4a, 1, 0]) + bytes(80), ('{AGENT}', 5342))\n"
        "try: print(len(udp.recv(2000)))\n"
        "except TimeoutError: print('nothing')\n"
        "tcp.sendall(bytes(1000))\n"
        "try: print(len(tcp.recv(10)))\n"
        "except ConnectionError: print(0)\n"
    )
    command = ["ip", "netns", "exec", hosts["ask"], sys.executable, "-c", stranger]
    seen = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert seen.stdout.split() == ["nothing", "0"], seen.stderr
    _, told = asking.communicate(timeout=PATIENCE_S)
    agent.communicate(timeout=PATIENCE_S)
    assert asking.returncode == 0, told
