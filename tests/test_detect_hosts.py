"""The detector between two hosts: over loopback, and over a router with a queue that is set up at random."""

import json
import secrets
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import PATIENCE_S, free_port
from tests.test_hosts import FEW, SECRET, needs_ping, serving
from tests.test_hosts_namespaces import AGENT, hosts, secret, started, why_not  # noqa: F401 (fixtures)

from sojourn.detect.hosts import Between
from sojourn.detect.plan import FULL, find
from sojourn.worlds.hosts.agent import Settings

pytestmark = pytest.mark.real_time


@needs_ping
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_trains_cross_the_path_in_either_direction(
    direction: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "secret"
    file.write_bytes(SECRET)
    file.chmod(0o600)
    port = free_port()
    with serving(Settings(SECRET, FEW), port):
        path = Between(f"127.0.0.1:{port}", file, direction)
        log = path.send(find())
    full = log[FULL]
    assert set(full.size_bytes) == {1500}
    # A busy machine skips what it could not send in time; what it sent arrives, since nothing is lost on loopback.
    assert 0 < len(full.sent_s) <= 24
    assert not full.lost.any()
    assert not full.marked.any()
    assert path.base_ms is not None
    assert 0 < path.base_ms < 100


# Each with the parameters in which it can be told from a FIFO; kernels have the others or not.
QUEUES = {
    "droptail": ("pfifo", "limit", "100"),
    "codel": ("codel",),
    "pie": ("pie",),
    "fq_codel": ("fq_codel",),
    "sfq": ("sfq",),
}


def tc(router: str, *words: str) -> bool:
    done = subprocess.run(("ip", "netns", "exec", router, "tc", "qdisc", *words), capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.testbed
@pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
def test_a_queue_between_two_hosts_is_among_the_names(hosts: dict[str, str], secret: Path) -> None:  # noqa: F811
    """In real time, on a machine that may be busy: an answer that names another queue is asked for again."""
    rate_mbps = 4 + secrets.randbelow(9)
    shaper = ("tbf", "rate", f"{rate_mbps}mbit", "burst", "3000", "limit", "3000000")
    assert tc(hosts["rtr"], "replace", "dev", "r2", "root", "handle", "1:", *shaper)
    names = list(QUEUES)
    while True:
        name = names.pop(secrets.randbelow(len(names)))
        if tc(hosts["rtr"], "add", "dev", "r2", "parent", "1:1", "handle", "10:", *QUEUES[name]):
            break
    asked = [probed(hosts, secret, name)]
    while name not in asked[-1]["sets"].get("99 %", []) and len(asked) < 3:
        asked.append(probed(hosts, secret, name))
    found = asked[-1]
    assert name in found["sets"]["99 %"], (name, rate_mbps, [one["verdict"] for one in asked])
    assert found["carried_mbps"] == pytest.approx(rate_mbps, rel=0.15)
    assert found["base_ms"] < 50
    assert len(found["remedy"]["sentences"]) == 3
    assert found["remedy"]["variants"]


def probed(hosts: dict[str, str], secret: Path, name: str) -> Any:  # noqa: F811
    """Return what the command says; the agent is there for one probe."""
    agent = started(hosts["agt"], "agent", "--listen", AGENT, "--secret-file", secret)
    try:
        assert agent.stderr is not None
        agent.stderr.readline()
        asking = started(hosts["ask"], "detect", AGENT, "--secret-file", secret, "--json")
        out, told = asking.communicate(timeout=PATIENCE_S)
        assert asking.returncode == 0, (name, told)
        return json.loads(out)
    finally:
        agent.terminate()
        agent.communicate(timeout=PATIENCE_S)
