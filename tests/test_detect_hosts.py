"""The detector between two hosts: over loopback, and over a router with a queue that is set up at random."""

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import PATIENCE_S, free_port
from tests.test_hosts import FEW, SECRET, needs_ping, serving
from tests.test_hosts_namespaces import AGENT, hosts, secret, started, why_not  # noqa: F401 (fixtures)

from sojourn.detect.hosts import Between
from sojourn.detect.plan import FULL, find
from sojourn.worlds.hosts.agent import Settings

if TYPE_CHECKING:
    import random

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


# A class for LE, and one for all else.
CLASSED = """\
qdisc replace dev r2 root handle 1: htb default 10
class add dev r2 parent 1: classid 1:1 htb rate {rate}kbit burst 3000 cburst 3000 quantum 1514
class add dev r2 parent 1:1 classid 1:10 htb rate {most}kbit ceil {rate}kbit burst 3000 cburst 3000 quantum 1514 prio 0
class add dev r2 parent 1:1 classid 1:20 htb rate {least}kbit ceil {rate}kbit burst 3000 cburst 3000 quantum 1514 prio 1
qdisc add dev r2 parent 1:10 pfifo limit 60
qdisc add dev r2 parent 1:20 pfifo limit 60
filter add dev r2 parent 1: protocol ip prio 1 u32 match ip dsfield 0x04 0xfc flowid 1:20
"""


def tc(router: str, *words: str) -> bool:
    done = subprocess.run(("ip", "netns", "exec", router, "tc", "qdisc", *words), capture_output=True, check=False)
    return done.returncode == 0


def batch(router: str, lines: str) -> str | None:
    """Have tc do some lines; return what it complained of."""
    done = subprocess.run(
        ("ip", "netns", "exec", router, "tc", "-batch", "-"), input=lines, capture_output=True, text=True, check=False
    )
    return done.stderr if done.returncode else None


@pytest.mark.testbed
@pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
def test_a_queue_between_two_hosts_is_among_the_names(
    hosts: dict[str, str],  # noqa: F811
    secret: Path,  # noqa: F811
    drawn: "random.Random",
) -> None:
    """In real time, on a machine that may be busy: an answer that names another queue is asked for again."""
    rate_mbps = drawn.randint(4, 12)
    shaper = ("tbf", "rate", f"{rate_mbps}mbit", "burst", "3000", "limit", "3000000")
    assert tc(hosts["rtr"], "replace", "dev", "r2", "root", "handle", "1:", *shaper)
    names = list(QUEUES)
    while True:
        name = names.pop(drawn.randrange(len(names)))
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


@pytest.mark.testbed
@pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
@pytest.mark.parametrize("has_classes", [True, False])
def test_classes_between_two_hosts_are_told(
    hosts: dict[str, str],  # noqa: F811
    secret: Path,  # noqa: F811
    drawn: "random.Random",
    has_classes: bool,
) -> None:
    """LE has a class of its own with a tenth of the rate, or its packets wait with all others."""
    rate = 1000 * drawn.randint(4, 10)
    lines = CLASSED.format(rate=rate, most=rate * 9 // 10, least=rate // 10)
    # Without the filter all packets are of the first class.
    wrong = batch(hosts["rtr"], lines if has_classes else lines.rpartition("filter")[0])
    if wrong is not None:
        pytest.skip(f"this machine's kernel cannot have the classes: {wrong.strip()}")
    asked = [probed(hosts, secret, "htb", "--classes")]
    while asked[-1]["classes"] is not has_classes and len(asked) < 3:
        asked.append(probed(hosts, secret, "htb", "--classes"))
    found = asked[-1]
    assert found["classes"] is has_classes, (rate, [one["verdict"] for one in asked])
    if has_classes:
        # Neither nothing, as strict priority leaves, nor the 12 % that LE sent. A busy machine leaves less of a tenth.
        assert 0.03 < found["low_share"] < 0.115
    else:
        assert found["low_share"] is None


def probed(hosts: dict[str, str], secret: Path, name: str, *options: str) -> Any:  # noqa: F811
    """Return what the command says; the agent is there for one probe."""
    agent = started(hosts["agt"], "agent", "--listen", AGENT, "--secret-file", secret)
    try:
        assert agent.stderr is not None
        agent.stderr.readline()
        asking = started(hosts["ask"], "detect", AGENT, "--secret-file", secret, "--json", *options)
        out, told = asking.communicate(timeout=PATIENCE_S)
        assert asking.returncode == 0, (name, told)
        return json.loads(out)
    finally:
        agent.terminate()
        agent.communicate(timeout=PATIENCE_S)
