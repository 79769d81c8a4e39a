"""What the detector says where the path lets nothing be known: never a name with confidence."""

import socket
import threading
from dataclasses import replace
from pathlib import Path as File
from typing import Any

import numpy as np
import pytest
from tests.conftest import free_port
from tests.test_hosts import SECRET, needs_ping, serving

from sojourn.detect import plan
from sojourn.detect.answer import answer
from sojourn.detect.draw import FAMILIES
from sojourn.detect.log import FlowLog, Log
from sojourn.detect.plan import FULL, GREEDY, Path
from sojourn.detect.probe import Send, over, probe
from sojourn.detect.route import route_change_ms
from sojourn.detect.stored import load_model
from sojourn.detect.training import probed
from sojourn.worlds.hosts.admission import Limits
from sojourn.worlds.hosts.agent import Settings

QUEUES: list[dict[str, Any]] = [
    {"kind": "droptail", "limit": "100 packets"},
    {"kind": "codel", "preset": "linux"},
    {"kind": "pie", "preset": "linux"},
    {"kind": "fq_codel", "preset": "linux"},
    {"kind": "sfq", "preset": "linux"},
    {"kind": "cake"},
]


def sent(queue: Any, rate: str = "10 Mbit/s") -> Send:
    return over(Path({"bottleneck": {"rate": rate, "queue": queue}}, "40 ms"), 1)


def rerouted(send: Send, at_s: float, longer_ms: float) -> Send:
    """Return what sends as `send` does over a path that is longer by so much from a time of the load on."""

    def later(stage: plan.Stage) -> Log:
        log = send(stage)
        if stage.name != "load":
            return log
        return {
            name: replace(flow, received_s=flow.received_s + np.where(flow.sent_s >= at_s, longer_ms / 1e3, 0.0))
            for name, flow in log.items()
        }

    return later


@pytest.mark.parametrize("queue", QUEUES[3:], ids=lambda queue: str(queue["kind"]))
@pytest.mark.parametrize("longer_ms", [60.0, -40.0])
def test_another_route_in_the_middle_is_seen(queue: dict[str, Any], longer_ms: float) -> None:
    """A flow with a queue of its own shows it."""
    found = answer(probe(rerouted(rerouted(sent(queue), 0.0, 100.0), 5.0, longer_ms)), load_model())
    assert found.judgement is None, found.verdict
    assert found.cannot is not None
    _, _, way, _, size, *_ = found.cannot.split()
    assert way == ("rose" if longer_ms > 0 else "fell")
    assert float(size) == pytest.approx(abs(longer_ms), rel=0.35)


@pytest.mark.parametrize("queue", QUEUES, ids=lambda queue: str(queue["kind"]))
@pytest.mark.parametrize("longer_ms", [12.0, 60.0, -40.0])
def test_another_route_leads_to_no_wrong_name(queue: dict[str, Any], longer_ms: float) -> None:
    """Where a shared queue hides it the name is right, or it is not said."""
    send = rerouted(rerouted(sent(queue), 0.0, 100.0), 5.0, longer_ms)
    found = answer(probe(send, rtt_ms=lambda: 40.0), load_model())
    if found.judgement is not None and not found.is_new:
        assert queue["kind"] in found.judgement.sets["99 %"], found.verdict


def test_flows_that_begin_with_the_load_are_no_other_route() -> None:
    """Their first windows fill a queue between two packets, and it does not become empty again (voip-under-load)."""
    seen = probe(rerouted(sent(QUEUES[3]), 0.05, 142.0))
    assert route_change_ms(seen.logs["load"], seen.rate_bps) is None
    assert route_change_ms(probe(rerouted(sent(QUEUES[3]), 5.0, 142.0)).logs["load"], seen.rate_bps) is not None


@pytest.mark.parametrize("name", FAMILIES)
def test_a_path_that_stays_has_no_other_route(name: str) -> None:
    """Other traffic, jitter, drifting clocks and late hosts are none."""
    for number in range(3):
        seen, _ = probed([8, number], name)
        assert route_change_ms(seen.logs.get("load", {}), seen.rate_bps) is None, number


@pytest.mark.parametrize("rate", ["300 Mbit/s", "1 Gbit/s"])
def test_a_path_faster_than_may_be_sent_has_no_name(rate: str) -> None:
    """A sender that is bounded by 50 Mbit/s meets no queue of it."""

    def bounded(stage: plan.Stage) -> Log:
        # The greedy flow has a link of its own, as the agent's budget is.
        first = {"name": "own", "at": "before", "rate": "50 Mbit/s", "queue": "codel"}
        links = {"bottleneck": {"rate": rate, "queue": "codel"}, "hop": [first]}
        if stage.name == "find":
            return sent("codel", rate)(stage)
        return over(Path(links, "40 ms"), 1)(stage)

    seen = probe(bounded, most_bps=50e6)
    assert "overload" not in seen.logs
    found = answer(seen, load_model())
    assert found.judgement is None, found.verdict
    assert found.cannot is not None
    assert found.cannot.startswith("no bottleneck was met: trains left at")
    assert found.fair_queueing is None


def test_a_bound_above_the_path_changes_nothing() -> None:
    plain, bounded = (probe(sent("codel"), most_bps=most) for most in (float("inf"), 100e6))
    assert bounded.features == plain.features
    assert not bounded.is_bounded


def test_a_shaper_below_the_bound_is_met() -> None:
    """Trains pass at the wire's rate; what lasts is far less than may be sent."""
    link = {
        "rate": "200 Mbit/s",
        "shaper": {"rate": "10 Mbit/s", "burst": "60 kB"},
        "queue": {"kind": "droptail", "limit": "60 packets"},
    }
    seen = probe(over(Path({"bottleneck": link}, "20 ms"), 1), most_bps=100e6)
    assert seen.rate_bps > 150e6
    found = answer(seen, load_model())
    assert not seen.is_bounded
    assert found.cannot is None
    assert found.judgement is not None
    assert "shaper" in found.judgement.sets["99 %"]


@needs_ping
@pytest.mark.real_time
def test_between_hosts_without_a_bottleneck_nothing_is_named(command: Any, tmp_path: File) -> None:
    port, secret = free_port(), tmp_path / "secret"
    secret.write_bytes(SECRET)
    secret.chmod(0o600)
    with serving(Settings(SECRET, Limits(rate_bps=20_000_000, duration_s=20, flows=8)), port):
        done = command("detect", f"127.0.0.1:{port}", "--secret-file", secret, "--max-rate", "10 Mbit/s")
    # A host that is too busy to send trains says that.
    assert done.out.startswith("cannot say, because ") or "held up" in done.err, (done.out, done.err)


@pytest.mark.real_time
def test_another_hosts_agent_is_no_answer(command: Any, tmp_path: File) -> None:
    port, secret = free_port(), tmp_path / "secret"
    secret.write_bytes(b"the secret of another agent")
    secret.chmod(0o600)
    with serving(Settings(SECRET, Limits(rate_bps=20_000_000, duration_s=20, flows=8)), port):
        done = command("detect", f"127.0.0.1:{port}", "--secret-file", secret)
    assert (done.code, done.out) == (2, "")
    assert "does not know this secret" in done.err


@pytest.mark.real_time
@pytest.mark.parametrize("greeting", [b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n", b""])
def test_a_host_without_an_agent_is_no_answer(greeting: bytes, command: Any, tmp_path: File) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET)
    secret.chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as server:
        helper = threading.Thread(target=_greet, args=(server, greeting), daemon=True)
        helper.start()
        done = command("detect", f"127.0.0.1:{server.getsockname()[1]}", "--secret-file", secret)
        helper.join(10)
    assert done.code != 0
    assert done.out == ""
    assert "error: " in done.err


def _greet(server: socket.socket, greeting: bytes) -> None:
    connection, _ = server.accept()
    with connection:
        connection.sendall(greeting)


def test_packets_that_are_not_of_the_probe_change_nothing() -> None:
    """What else is in a log, as a third host's packets, is of no flow of the probe."""
    plain = sent("fq_codel")
    strange = FlowLog(np.arange(0, 9, 0.001), np.arange(0, 9, 0.001) + 0.5, np.full(9000, 1500), np.ones(9000, bool))
    crossed = probe(lambda stage: {**plain(stage), "another": strange})
    assert crossed.features == probe(plain).features
    assert {FULL, GREEDY} <= set(crossed.logs["load"])
    assert "another" not in crossed.logs["load"]
