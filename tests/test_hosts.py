"""An agent and those who ask it for runs, over loopback; one of the two is sometimes played by the test."""

import errno
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import PATIENCE_S, free_port, wait_for

import sojourn
from sojourn import plugins
from sojourn.worlds.hosts import agent, asking, journal, protocol, running, world
from sojourn.worlds.hosts.admission import Limits
from sojourn.worlds.hosts.agent import Settings
from sojourn.worlds.hosts.handshake import PEER, Exchange
from sojourn.worlds.hosts.line import GoneError, Line
from sojourn.worlds.hosts.world import Peer
from sojourn.worlds.linux import utp
from sojourn.worlds.linux.errors import TestbedError
from sojourn.worlds.world import Wanted

pytestmark = pytest.mark.real_time

SECRET = b"sixteen bytes or more"
UDP = {"name": "background", "control": "ledbat", "rtt": "20 ms"}
# Beside UDP it needs no privilege; pings do.
TOO_FEW_RIGHTS = os.geteuid() != 0 and "sending echo requests takes root here"
needs_ping = pytest.mark.skipif(bool(TOO_FEW_RIGHTS), reason=str(TOO_FEW_RIGHTS))
SMALL = {"kind": "bulk", "size": "20 kB"}
FEW = Limits(rate_bps=2_000_000, duration_s=20, flows=3)


def scenario(duration: str = "0.6 s", *groups: dict[str, Any], **keys: Any) -> sojourn.Scenario:
    link = {"rate": "1 Mbit/s", "queue": {"kind": "droptail", "limit": "50 packets"}}
    return sojourn.scenario(duration=duration, bottleneck=link, reverse=link, group=[*(groups or [UDP])], **keys)


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch, lead_s: float) -> None:
    """Take less time to start, where the machine is not busy."""
    monkeypatch.setattr(world, "_START_S", max(1.2, lead_s))
    monkeypatch.setattr(world, "BASE_S", 0.3)
    monkeypatch.setattr(asking, "BASE_S", 0.3)
    monkeypatch.setattr(agent, "_PENALTY_S", 0.0)
    monkeypatch.delenv("SOJOURN_SECRET", raising=False)


@contextmanager
def serving(settings: Settings, port: int) -> Iterator[list[str]]:
    """Have an agent in a thread; gives what it tells. It ends with its listener."""
    told: list[str] = []

    def be(listener: socket.socket) -> None:
        with suppress(OSError, ValueError):
            agent.serve(listener, settings, told.append)

    with agent.listening("127.0.0.1", port, settings.secret, settings.limits) as listener:
        thread = threading.Thread(target=be, args=(listener,), daemon=True)
        thread.start()
        try:
            yield told
        finally:
            # select() wakes up for it, and finds the listener closed.
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            thread.join(10)
            assert not thread.is_alive()


def ask(lab: sojourn.Scenario, peer: Peer, **keys: Any) -> Any:
    return world.run(lab._native, [1], Wanted(), keys.get("progress"), peer)[0]


@contextmanager
def playing(script: Callable[[socket.socket], None]) -> Iterator[int]:
    """Be an agent that does what the test says; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def play() -> None:
            with suppress(OSError, GoneError), listener.accept()[0] as link:
                script(link)

        thread = threading.Thread(target=play, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(10)


HELLO = {"type": "hello", "protocol": protocol.PROTOCOL, "software": "9.9", "secret": False}
WANTS = {**HELLO, "secret": True}


def saying(*messages: Any) -> Callable[[socket.socket], None]:
    def script(link: socket.socket) -> None:
        for message in messages:
            link.sendall(message if isinstance(message, bytes) else protocol.encode(message))
            link.recv(4096)

    return script


@needs_ping
def test_flows_run_in_both_directions_and_the_record_has_what_is_known() -> None:
    port, fractions = free_port(), []
    back = {**UDP, "name": "back", "direction": "reverse"}
    tcp = {
        "name": "tcp",
        "control": {"kind": "newreno", "preset": "linux"},
        "transport": "linux",
        "rtt": "20 ms",
        "traffic": {"kind": "bulk", "size": "20 kB"},
    }
    with serving(Settings(SECRET, FEW), port) as told:
        lab = scenario("1 s", UDP, back, tcp)
        run = ask(lab, Peer("127.0.0.1", port, SECRET), progress=fractions.append)
    record = json.loads(run.record())
    groups = record["groups"]
    # Both ways over UDP are bounded by what the agent allows, which is far below what loopback has.
    for name in ("background", "back"):
        assert 0.02 < groups[name]["goodput_mbps"] < 2.2
    # A busy machine may not get through all of it within the second.
    assert 0 < record["flows"][2]["delivered_bytes"] <= 20_000
    assert groups["tcp"]["fct_ms"]["count"] == (record["flows"][2]["delivered_bytes"] == 20_000)
    assert record["kernel"]["name"] == "hosts"
    assert record["bottleneck"]["queue_ms"]["mean"] is None
    assert record["reverse"]["utilization"] is None
    assert record["bottleneck"]["ping_ms"]["mean"] >= 0
    assert record["bottleneck"]["ping_ms"]["base"] > 0
    assert told == ["127.0.0.1: 3 flows for 1 s", "127.0.0.1: done"]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    columns = {name: values for name, _, values, _ in run.table("queue")}
    assert len(columns["queue_ms"]) == 2 * 10 * 8
    assert {name for name, *_ in run.table("flows")} >= {"delivered_bytes", "rtt_ms"}


@needs_ping
def test_the_command_line_prints_and_stores_such_a_run(command: Any, tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "secret").write_bytes(SECRET + b"\n")
    (tmp_path / "secret").chmod(0o600)
    (tmp_path / "lab.toml").write_text(scenario("0.5 s").to_toml())
    where = ("--world", "hosts", "--peer", f"127.0.0.1:{port}", "--secret-file", tmp_path / "secret")
    output = ("--out", tmp_path / "out", "--plot", tmp_path / "delay.png")
    with serving(Settings(SECRET, FEW), port):
        outcome = command("run", tmp_path / "lab.toml", *where, *output)
    assert (outcome.code, "background" in outcome.out) == (0, True), outcome.err
    assert "took the place of what the scenario says of links" in outcome.err
    assert (tmp_path / "delay.png").stat().st_size > 1000
    assert (tmp_path / "out").is_dir()


CONTROL = """
import sojourn


@sojourn.control("over-udp")
class OverUdp:
    def __init__(self, path):
        self.window, self.acknowledgements = 4.0, 0

    def on_ack(self, newly_acked):
        self.acknowledgements += 1
        if self.acknowledgements == {fails_at}:
            raise RuntimeError("enough of it")

    def on_congestion(self, signal):
        self.window = 2.0
"""


@pytest.mark.parametrize("fails_at", [0, 20])
def test_a_control_of_ones_own_decides_over_udp(tmp_path: Path, fails_at: int) -> None:
    file = tmp_path / "over_udp.py"
    file.write_text(CONTROL.format(fails_at=fails_at), encoding="utf-8")
    plugins.load(file)
    port = free_port()
    lab = scenario("0.6 s", {"name": "mine", "control": "over-udp", "rtt": "20 ms"})
    with serving(Settings(limits=FEW), port):
        if fails_at:
            with pytest.raises(
                (TestbedError, sojourn.PluginError), match=r"over-udp, on_ack, at .* flow 0: .*enough of it"
            ):
                ask(lab, Peer("127.0.0.1", port))
        else:
            record = json.loads(ask(lab, Peer("127.0.0.1", port)).record())
            assert record["groups"]["mine"]["goodput_mbps"] > 0


def test_no_agent_is_said() -> None:
    port = free_port()
    with pytest.raises(TestbedError, match=f"there is no agent at 127.0.0.1:{port} .connection refused.*sojourn agent"):
        ask(scenario(), Peer("127.0.0.1", port))


def test_a_name_that_is_none_is_said() -> None:
    with pytest.raises(TestbedError, match=r"the agent at no-such-host.invalid:5 cannot be reached: \w+"):
        ask(scenario(), Peer("no-such-host.invalid", 5))


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([{**HELLO, "protocol": 1}], r"\(Sojourn 9.9\) speaks protocol 1, this Sojourn .* speaks 3: install the same"),
        ([b"SSH-2.0-OpenSSH\n"], "does not speak as an agent of Sojourn does: a line is not JSON"),
        ([b"x" * 5000], "a line has more than 4096 bytes"),
        ([HELLO], "wants no secret, but one is given here: it may be another's"),
        ([WANTS, {"type": "proof", "share": "zz", "proof": ""}], "share is no element of the exchange"),
        ([WANTS, {"type": "proof", "share": "42" * 33, "proof": ""}], "share is no element of the exchange"),
        ([WANTS, {"type": "report"}], "found 'report' where 'proof' belongs"),
        # A proof that does not depend on the secret is worth nothing, whatever the agent says next.
        ([WANTS, {"type": "welcome", "limits": {"rate_bps": 1}}], "found 'welcome' where 'proof' belongs"),
        ([WANTS], "has closed the connection; nothing of the run is left"),
        ([{"type": "error", "kind": "failed", "message": "it has\x1b another"}], r"it has\? another"),
    ],
)
def test_who_is_no_agent_of_this_version_is_told(messages: list[Any], words: str) -> None:
    with playing(saying(*messages)) as port, pytest.raises(TestbedError, match=words):
        ask(scenario(), Peer("127.0.0.1", port, SECRET))


def test_who_has_no_place_for_now_is_asked_again() -> None:
    busy = {"type": "error", "kind": "busy", "message": "too many ask the agent at once; try again"}
    answers = [[busy], [busy], [{**HELLO, "secret": True}]]
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def play() -> None:
            for messages in answers:
                with suppress(OSError), listener.accept()[0] as link:
                    saying(*messages)(link)

        thread = threading.Thread(target=play, daemon=True)
        thread.start()
        with pytest.raises(sojourn.InputError, match="wants a shared secret"):
            ask(scenario(), Peer("127.0.0.1", listener.getsockname()[1]))
        thread.join(PATIENCE_S)


def test_an_agent_without_the_secret_learns_nothing_of_it() -> None:
    """It has the asking side's share, which says nothing, and never a proof to try secrets against."""
    heard: list[bytes] = []

    def script(link: socket.socket) -> None:
        exchange = Exchange(b"a guess of somebody else", "agent")
        link.sendall(protocol.encode(WANTS))
        heard.append(link.recv(4096))
        key = exchange.finish(json.loads(heard[0])["share"])
        link.sendall(protocol.encode({"type": "proof", "share": exchange.share, "proof": key.proof("agent")}))
        while data := link.recv(4096):
            heard.append(data)

    with playing(script) as port, pytest.raises(sojourn.InputError, match="does not know this secret"):
        ask(scenario(), Peer("127.0.0.1", port, SECRET))
    said = [json.loads(line) for line in b"".join(heard).splitlines()]
    assert [one["type"] for one in said] == ["hello", "error"]
    assert set(said[0]) == {"type", "protocol", "software", "share"}
    assert set(said[1]) == {"type", "kind", "message"}


def test_no_message_of_an_agent_names_a_port(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[dict[str, Any]] = []

    class PlannedError(Exception):
        pass

    def endpoints(plan: dict[str, Any]) -> Any:
        planned.append(plan)
        raise PlannedError

    monkeypatch.setattr(world, "endpoints", endpoints)
    other = dict.fromkeys(["port", "first_port", "listen_port"], 53) | dict.fromkeys(["address", "peer"], "192.0.2.9")

    def script(link: socket.socket) -> None:
        line = Line(link, "127.0.0.1", 1 << 20, PATIENCE_S)
        link.sendall(protocol.encode({**HELLO, **other}))
        line.wait()
        line.send("welcome", limits={"rate_bps": 10**6, **other}, **other)
        while line.wait()["type"] == "time":
            line.send("time", now_s=time.monotonic(), **other)

    with playing(script) as port, pytest.raises(PlannedError):
        ask(scenario("1 s", UDP, {**UDP, "name": "back", "direction": "reverse"}), Peer("127.0.0.1", port))
    found = [(one["local"], one["peer"], one["port"]) for one in planned[0]["flows"]]
    assert found == [("127.0.0.1", "127.0.0.1", port + 1), ("127.0.0.1", "127.0.0.1", port + 2)]
    assert [one["peer"] for one in planned[0]["pings"]] == ["127.0.0.1"]


SLOW = "import sys, time, runpy; time.sleep({}); sys.argv[:1] = []; runpy.run_module(sys.argv[0], run_name='__main__')"


def slowed(monkeypatch: pytest.MonkeyPatch, side: str) -> list[float]:
    """Have the endpoints of a side start late at first; returns when each was to begin, by its own clock."""
    starts: list[float] = []
    # There are times enough until the longest.
    monkeypatch.setattr(world, "_START_S", 0.5)
    place = {"agent": agent, "asking": world}[side]
    kept, real = running.Kept, place.endpoints

    def begun(plan: dict[str, Any]) -> Any:
        starts.append(plan["start_at_s"])
        return real(plan)

    def late(folder: Path, command: tuple[str, ...], *others: Any) -> Any:
        # The agent's sessions have threads of their own.
        is_agent = threading.current_thread() is not threading.main_thread()
        if is_agent is not (side == "agent") or len(starts) > 2:
            return kept(folder, command, *others)
        late_s = max(0.0, starts[-1] - time.monotonic()) + 0.3
        python, _, *rest = command
        return kept(folder, (python, "-c", SLOW.format(late_s), *rest), *others)

    monkeypatch.setattr(running, "Kept", late)
    monkeypatch.setattr(place, "endpoints", begun)
    return starts


@needs_ping
@pytest.mark.parametrize("side", ["agent", "asking"])
def test_a_run_waits_for_processes_that_start_late(side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver that is not there yet is no receiver that is missing: nothing is sent before all listen."""
    port, starts = free_port(), slowed(monkeypatch, side)
    tcp = {"name": "tcp", "control": {"kind": "newreno", "preset": "linux"}, "transport": "linux", "rtt": "20 ms"}
    flows = [{**tcp, "traffic": SMALL}, {**UDP, "direction": "reverse"}]
    with serving(Settings(SECRET, FEW), port) as told:
        record = json.loads(ask(scenario("0.6 s", *flows), Peer("127.0.0.1", port, SECRET)).record())
    assert len(starts) >= 3
    assert all(flow["delivered_bytes"] > 0 for flow in record["flows"])
    assert told[-1] == "127.0.0.1: done"


@needs_ping
def test_a_host_that_is_always_late_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    monkeypatch.setattr(world, "_MAX_START_S", 2 * world._START_S)
    monkeypatch.setattr(running.Running, "are_ready", lambda _self: False)
    with serving(Settings(None, FEW), port), pytest.raises(TestbedError, match=r"not there when the run was to begin"):
        ask(scenario(), Peer("127.0.0.1", port))


def test_one_who_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "_CONNECT_S", 0.3)
    with (
        playing(lambda link: link.recv(10) and None) as port,
        pytest.raises(TestbedError, match="says nothing for too"),
    ):
        ask(scenario(), Peer("127.0.0.1", port))


def test_a_wrong_secret_is_wrong_input(command: Any, tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "lab.toml").write_text(scenario().to_toml())
    (tmp_path / "secret").write_text("another secret than that")
    (tmp_path / "secret").chmod(0o600)
    run = ("run", tmp_path / "lab.toml", "--world", "hosts", "--peer", f"127.0.0.1:{port}")
    with serving(Settings(SECRET), port) as told:
        wrong = command(*run, "--secret-file", tmp_path / "secret")
        none = command(*run)
    words = "does not know this secret: the secret is wrong, or it is another's agent"
    assert (wrong.code, wrong.err) == (2, f"error: the agent at 127.0.0.1:{port} {words}\n")
    assert none.code == 2
    assert "wants a shared secret: --secret-file FILE, or SOJOURN_SECRET" in none.err
    # It is said after the penalty, and by then the second connection may have been closed.
    assert wait_for(lambda: "127.0.0.1: the secret is wrong" in told)


def test_what_goes_beyond_the_agents_limits_is_wrong_input() -> None:
    port = free_port()
    with serving(Settings(SECRET, FEW), port), pytest.raises(sojourn.InputError, match="duration is 30 s; the agent"):
        ask(scenario("30 s"), Peer("127.0.0.1", port, SECRET))


@needs_ping
def test_transfers_that_come_absurdly_often_are_wrong_input() -> None:
    """They wait in memory for their turn, and a thousand a second are more than any path of ours takes."""
    port, size = free_port(), {"kind": "fixed", "size": "1 kB"}
    tcp = {"control": {"kind": "newreno", "preset": "linux"}, "transport": "linux", "rtt": "20 ms"}
    often = {"name": "often", **tcp, "traffic": {"kind": "transfers", "interval": "1 us", "size": size}}
    with serving(Settings(None, FEW), port) as told:
        for way in ("reverse", "forward"):
            with pytest.raises(sojourn.InputError, match=r"transfers every 1 us .*allowed between hosts is 1 ms"):
                ask(scenario("9 s", {**often, "direction": way}), Peer("127.0.0.1", port))
    assert any("transfers every 1 us" in line for line in told)


@needs_ping
def test_a_port_in_use_is_said_whichever_side_has_it() -> None:
    port = free_port()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(("127.0.0.1", port + 1))
        words = f"port {port + 1} of 127.0.0.1 is in use"
        with serving(Settings(None, FEW), port) as told:
            with pytest.raises(TestbedError, match=words):
                ask(scenario("9 s"), Peer("127.0.0.1", port))
            # It was this side's own port this time.
            with pytest.raises(TestbedError, match=words):
                ask(scenario("9 s", {**UDP, "direction": "reverse"}), Peer("127.0.0.1", port))
    assert words in told[1]


@needs_ping
def test_an_agent_serves_one_run_at_a_time_and_others_are_told() -> None:
    port = free_port()
    with serving(Settings(None, FEW), port) as told:
        first = threading.Thread(target=ask, args=(scenario("2 s"), Peer("127.0.0.1", port)))
        first.start()
        assert wait_for(lambda: bool(told))
        with pytest.raises(TestbedError, match="has a run for another peer; it serves one at a time"):
            ask(scenario(), Peer("127.0.0.1", port))
        first.join()


def greeted(link: socket.socket) -> Line:
    """Be an agent up to the welcome."""
    line = Line(link, "127.0.0.1", 1 << 20, PATIENCE_S)
    link.sendall(protocol.encode(HELLO))
    line.wait()
    line.send("welcome", limits={"rate_bps": 10**6})
    return line


def started(link: socket.socket) -> Line:
    """Be an agent up to the start of a run."""
    line = greeted(link)
    while line.wait()["type"] == "time":
        line.send("time", now_s=time.monotonic())
    line.send("ready")
    return line


@needs_ping
@pytest.mark.parametrize(
    ("dies", "words"), [(True, "has closed the connection|is gone"), (False, "is silent since 1 s")]
)
def test_an_agent_that_dies_or_falls_silent_ends_the_run(dies: bool, words: str) -> None:
    def script(link: socket.socket) -> None:
        started(link)
        link.setblocking(True)
        while not dies and link.recv(4096):
            pass

    began = time.monotonic()
    with playing(script) as port, pytest.raises(TestbedError, match=words):
        ask(scenario("1000 s"), Peer("127.0.0.1", port, patience_s=PATIENCE_S if dies else 1.0))
    assert time.monotonic() - began < PATIENCE_S


@needs_ping
def test_a_clock_that_stood_still_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    port, asked = free_port(), []

    def late(session: Any) -> None:
        asked.append(1)
        jump_s = 5.0 if len(asked) > world._READINGS else 0.0
        session._line.send("time", now_s=time.monotonic() - jump_s)

    monkeypatch.setattr(agent._Session, "_tell_time", late)
    with serving(Settings(None, FEW), port), pytest.raises(TestbedError, match=r"moved apart by -[45]\.\d\d s"):
        ask(scenario(), Peer("127.0.0.1", port))


@pytest.mark.parametrize(
    ("report", "words"),
    [
        ({"flows": [{"id": 5}]}, "its flows are not those of the run"),
        ({"flows": [{"id": 0, "delivered_bytes": [-1]}]}, "delivered_bytes is not what an end of a flow reports"),
        ({"flows": 5}, "flows is no list"),
        ([], "report is no object"),
    ],
)
@needs_ping
def test_a_report_of_something_else_is_told(report: Any, words: str) -> None:
    def script(link: socket.socket) -> None:
        line = started(link)
        line.send("report", report=report, kernel="1.0")
        while line.wait()["type"] == "time":
            line.send("time", now_s=time.monotonic())

    # This agent says nothing between the start and its report.
    with playing(script) as port, pytest.raises(TestbedError, match=words):
        ask(scenario(), Peer("127.0.0.1", port, patience_s=PATIENCE_S))


def is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@needs_ping
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_when_the_asking_side_ends_nothing_runs_on(start: Any, tmp_path: Path, number: signal.Signals) -> None:
    port = free_port()
    (tmp_path / "lab.toml").write_text(scenario("20 s").to_toml())
    with serving(Settings(None, FEW), port) as told:
        running = start("run", tmp_path / "lab.toml", "--world", "hosts", "--peer", f"127.0.0.1:{port}")
        assert wait_for(lambda: not is_free(port + 1))
        running.send_signal(number)
        running.communicate(timeout=PATIENCE_S)
        assert running.returncode == {signal.SIGINT: 130, signal.SIGKILL: -9}[number]
        # The receiver of the agent has gone with its peer, and the agent is there for the next.
        assert wait_for(lambda: is_free(port + 1))
        assert wait_for(lambda: len(told) > 1)
        assert "nothing of it runs any more" in told[1]
        ask(scenario(), Peer("127.0.0.1", port))


@needs_ping
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_when_the_agent_ends_nothing_runs_on(start: Any, number: signal.Signals) -> None:
    port = free_port()
    process = start("agent", "--port", port)
    assert wait_for(lambda: _listens(port))

    def end() -> None:
        wait_for(lambda: not is_free(port + 1))
        process.send_signal(number)

    ending = threading.Thread(target=end)
    ending.start()
    try:
        with pytest.raises(TestbedError, match=r"has closed the connection|is gone"):
            ask(scenario("60 s"), Peer("127.0.0.1", port))
    finally:
        ending.join()
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == {signal.SIGTERM: 130, signal.SIGKILL: -9}[number]
    assert f"listening on port {port} of 127.0.0.1; flows take the ports {port + 1} to {port + 16}" in errors
    assert wait_for(lambda: is_free(port + 1))


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


SHARED = protocol.encode({**HELLO, "share": Exchange(b"another secret of theirs", PEER).share})


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "a line is not JSON"),
        (b"x" * 5000, "a line has more than 4096 bytes"),
        (protocol.encode({**HELLO, "protocol": "\x1b["}), "the peer speaks protocol '.x1b\\['"),
        (protocol.encode({"type": "run"}), "found 'run' where 'hello' belongs"),
        (protocol.encode({**HELLO, "share": "\ud800"}), "share is no element of the exchange"),
        (protocol.encode({**HELLO, "share": ""}), "share is no element of the exchange"),
        (protocol.encode({**HELLO, "share": 5}), "share is no text"),
        (SHARED + protocol.encode({"type": "proof", "proof": "\ud800"}), "the secret is wrong"),
        (SHARED + protocol.encode({"type": "proof", "proof": ""}), "the secret is wrong"),
        (SHARED + protocol.encode({"type": "run"}), "found 'run' where 'proof' belongs"),
    ],
)
def test_a_stranger_does_the_agent_no_harm(data: bytes, words: str) -> None:
    port = free_port()
    with serving(Settings(SECRET), port) as told:
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", port)) as link, suppress(ConnectionError):
                link.sendall(data)
                while link.recv(4096):
                    pass
        assert wait_for(lambda: len(told) == 2)
    assert all(re.search(words, line) for line in told), told


@needs_ping
def test_those_who_say_nothing_keep_nobody_waiting() -> None:
    """Far more of them than there are places, from one address and from many, and they come again and again."""
    port, over = free_port(), threading.Event()

    def crowd(address: str) -> None:
        while not over.is_set():
            with ExitStack() as links:
                for _ in range(30):
                    with suppress(OSError):
                        links.enter_context(socket.create_connection(("127.0.0.1", port), 5, (address, 0)))
                    over.wait(0.02)

    with serving(Settings(SECRET, FEW), port) as told:
        crowds = [threading.Thread(target=crowd, args=(f"127.0.0.{number}",), daemon=True) for number in range(1, 9)]
        for one in crowds:
            one.start()
        try:
            assert wait_for(lambda: sum("gave way" in line for line in told) == journal.LINES)
            for _ in range(3):
                ask(scenario(), Peer("127.0.0.1", port, SECRET))
        finally:
            over.set()
            for one in crowds:
                one.join(PATIENCE_S)
    assert sum(line == "127.0.0.1: done" for line in told) == 3
    # However many come, each of these minutes has so many lines, and one for the others.
    assert sum("gave way" in line for line in told) <= journal.LINES * (1 + sum(" more " in line for line in told))
    assert re.search(r"^\d+ more connections of strangers failed within \d+ s, from \d+ addresses, most from", told[-1])


class Full:
    """A listener whose process can open nothing more for a while."""

    def __init__(self, listener: socket.socket, times: int) -> None:
        self.listener = listener
        self.times = times

    def fileno(self) -> int:
        return self.listener.fileno()

    def getsockname(self) -> Any:
        return self.listener.getsockname()

    def accept(self) -> Any:
        if self.times:
            self.times -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return self.listener.accept()


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
from sojourn.__main__ import main
main()
"""


@needs_ping
def test_an_agent_of_few_files_serves_among_those_who_say_nothing(tmp_path: Path) -> None:
    """The system itself refuses the agent's process more files: it goes on, and strangers give way."""
    port, secret = free_port(), tmp_path / "secret"
    secret.write_bytes(SECRET)
    secret.chmod(0o600)
    command = [sys.executable, "-c", LIMITED, "agent", "--port", str(port), "--secret-file", str(secret)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process, ExitStack() as links:
        assert process.stderr is not None
        try:
            assert "listening" in process.stderr.readline()
            for number in range(200):
                address = (f"127.0.0.{1 + number % 100}", 0)
                links.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE_S, address))
            ask(scenario(), Peer("127.0.0.1", port, SECRET))
            assert process.poll() is None
        finally:
            process.terminate()
            told = process.communicate(timeout=PATIENCE_S)[1]
    assert "gave way to others" in told
    assert "Traceback" not in told


@needs_ping
def test_an_agent_that_can_open_nothing_more_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    port, serve = free_port(), agent.serve
    monkeypatch.setattr(agent, "serve", lambda listener, *others: serve(Full(listener, 3), *others))
    with serving(Settings(SECRET, FEW), port) as told:
        ask(scenario(), Peer("127.0.0.1", port, SECRET))
    assert told[-1] == "127.0.0.1: done"


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Change, drop or repeat a few bytes of a message, or put others in."""
    found = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(found))
        match chance.randrange(4):
            case 0:
                found[place] = chance.randrange(256)
            case 1:
                del found[place : place + chance.randint(1, 9)]
            case 2:
                found[place:place] = found[place : place + chance.randint(1, 99)]
            case _:
                found[place:place] = chance.choice([b"{", b"\n", b'"', b"1e999", b"-", b"null", b"[" * 2000])
    return bytes(found)


@needs_ping
def test_no_message_ends_an_agent() -> None:
    """Damaged messages, of one who has greeted or not: the agent is there for the next, and nothing of them runs."""
    port, chance = free_port(), random.Random(5)
    flow = {
        "kind": "udp",
        "direction": "forward",
        "control": {"kind": "ledbat"},
        "transport": {},
        "seed": 1,
        "token": 2,
        "logged_packets": 0,
    }
    flow |= {"traffic": {"kind": "bulk"}, "start_s": 0.0, "stop_s": None, "dscp": 0, "ecn": False}
    with serving(Settings(None, FEW), port):
        threads = threading.active_count()
        for trial in range(60):
            with socket.create_connection(("127.0.0.1", port)) as link, suppress(ConnectionError):
                link.recv(4096)
                hello = protocol.encode({**HELLO, "share": ""})
                wish = {"start_at_s": time.monotonic() + 30, "duration_s": 9, "bin_s": 0.1, "flows": [flow]}
                run = protocol.encode({"type": "run", **wish})
                link.sendall(damaged(hello, chance) if trial % 3 == 0 else hello)
                link.sendall(damaged(run, chance))
        assert wait_for(lambda: threading.active_count() == threads)
        assert is_free(port + 1)
        ask(scenario(), Peer("127.0.0.1", port))


def test_one_who_hangs_up_at_once_does_no_harm() -> None:
    port = free_port()
    with serving(Settings(SECRET), port) as told:
        for _ in range(3):
            socket.create_connection(("127.0.0.1", port)).close()
        assert wait_for(lambda: len(told) == 3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--listen", "0.0.0.0"], "an agent at 0.0.0.0 needs a shared secret: --secret-file FILE, or SOJOURN_SECRET"),
        (["--listen", "localhost"], "--listen is 'localhost'; allowed is an IPv4 address"),
        (["--port", "65530"], "16 flows need as many ports above it"),
        (["--secret-file", "none"], "none: no such file"),
        (["--secret-file", "short"], "the secret has 5 bytes; allowed are 16 and more"),
        (["--secret-file", "open"], "others may read it; to stop that: chmod 600"),
        (["--max-rate", "5 apples"], "--max-rate is '5 apples'; allowed is a rate"),
        (["--max-duration", "5 B"], "--max-duration"),
    ],
)
def test_an_agent_that_would_be_unsafe_does_not_start(
    command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    def start(*_: object, **__: object) -> None:
        raise AssertionError("it serves")

    monkeypatch.setattr(agent, "serve", start)
    monkeypatch.chdir(tmp_path)
    for name, text, mode in (("short", "12345", 0o600), ("open", "1234567890123456", 0o644)):
        Path(name).write_text(text)
        Path(name).chmod(mode)
    outcome = command("agent", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err


def test_an_agents_port_in_use_is_said(command: Any) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        outcome = command("agent", "--port", port)
    assert outcome.code == 1
    assert f"the agent cannot listen on port {port} of 127.0.0.1: Address already in use" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--peer", "127.0.0.1"], "--peer needs --world hosts"),
        (["--secret-file", "x"], "--secret-file needs --world hosts"),
        (["--world", "hosts"], "--world hosts needs --peer ADDRESS"),
        (["--world", "hosts", "--peer", "host:0"], "--peer is ADDRESS or ADDRESS:PORT"),
        (["--world", "hosts", "--peer", ":5"], "--peer is ADDRESS or ADDRESS:PORT"),
        (["--world", "hosts", "--peer", "h", "--shaper", "htb"], "--shaper needs --world linux"),
        (["--world", "hosts", "--peer", "h", "--probes", "--plot", "x.png"], "the world 'hosts' keeps no probes"),
    ],
)
def test_options_that_do_not_fit_are_refused(command: Any, small_file: Path, arguments: list[str], words: str) -> None:
    outcome = command("run", small_file, *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err


@contextmanager
def stranger(port: int) -> Iterator[None]:
    """Be another user at the peer's address, who sends to whatever receives at a port."""
    over = threading.Event()
    programs = []
    if not utp.missing():
        end = {"id": 0, "role": "send", "local": "127.0.0.1", "peer": "127.0.0.1", "port": port}
        plan = {"start_at_s": time.monotonic(), "duration_s": PATIENCE_S}
        programs.append(subprocess.Popen(utp.Flow(end).command(plan), stdout=subprocess.DEVNULL))

    def send() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            while not over.wait(0.005):
                with suppress(OSError):
                    datagrams.sendto(bytes([255]) * 1000, ("127.0.0.1", port))
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as link:
                    link.sendall(b"\xff" * 100_000)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(PATIENCE_S)
        for program in programs:
            program.kill()
            program.wait(PATIENCE_S)


@needs_ping
@pytest.mark.parametrize("kind", ["tcp", "cbr", "udp", "utp"])
def test_another_user_at_the_peers_address_adds_nothing(kind: str) -> None:
    if kind == "utp" and utp.missing():
        pytest.skip("libutp is not built: sojourn testbed build-libutp")
    tcp = {"control": {"kind": "newreno", "preset": "linux"}, "transport": "linux", "traffic": SMALL}
    keys = {
        "tcp": tcp,
        "cbr": {"traffic": {"kind": "cbr", "rate": "80 kbit/s"}},
        "udp": {"control": "ledbat", "traffic": SMALL},
        "utp": {"control": "libutp", "traffic": SMALL},
    }[kind]
    port = free_port()
    with serving(Settings(SECRET, FEW), port), stranger(port + 1):
        group = {"name": "one", "rtt": "20 ms", **keys}
        record = json.loads(ask(scenario("2 s", group), Peer("127.0.0.1", port, SECRET)).record())
    delivered = record["flows"][0]["delivered_bytes"]
    # 80 kbit/s in packets of 1500 B are at most 14 in 2 s, of 1472 B of payload.
    assert delivered == 20_000 if kind != "cbr" else 0 < delivered <= 14 * 1472
