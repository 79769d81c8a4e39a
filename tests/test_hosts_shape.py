"""A bottleneck on the sender's own interface: what is said of it, and that it goes with the run, however that ends."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import PATIENCE_S, Command, wait_for
from tests.foreign import plant, taken

import sojourn
from sojourn.worlds.hosts import shape, shaping
from sojourn.worlds.linux import utp
from sojourn.worlds.linux.errors import TestbedError
from sojourn.worlds.linux.inside.namespace import CommandError

pytestmark = pytest.mark.real_time

OWN, PEER = "10.8.1.1", "10.8.1.2"
RATE_BPS = 4_000_000
LINK = {"rate": "4 Mbit/s", "queue": {"kind": "droptail", "preset": "linux", "limit": "100 packets"}}
ADDED = [
    "tc qdisc add dev h1 root handle 50f0: stab overhead -14 tbf rate 4000000bit burst 1500 limit 1000000",
    "tc qdisc add dev h1 parent 50f0:1 handle 10: pfifo limit 100",
]
UNDONE = "tc qdisc del dev h1 root"
HOLD = """
import sys, time
import sojourn
from sojourn.worlds.hosts.shape import for_peer, shaped
lab = sojourn.Scenario.load(sys.argv[1])
with shaped(for_peer("h1", "10.8.1.2", lab.to_dict()), lambda line: None):
    print("held", flush=True)
    time.sleep(1000)
"""


def lab(control: str = "ledbat", queue: dict[str, Any] | None = None) -> sojourn.Scenario:
    group = {"name": "background", "control": control, "rtt": "20 ms"}
    link = {**LINK, "queue": queue or LINK["queue"]}
    return sojourn.scenario(name="shaped", duration="3 s", warmup="1 s", bottleneck=link, group=[group])


def pretend(monkeypatch: pytest.MonkeyPatch, *, root: dict[str, Any] | None = None, way: str = "h1") -> None:
    """Have an interface as a machine would tell of it."""
    told = [{"kind": "noqueue", "handle": "0:", "root": True}] if root is None else [{**root, "root": True}]

    def run(*command: str, lines: object = ()) -> str:
        if command[:2] == ("tc", "-j"):
            return json.dumps(told)
        assert command[:4] == ("ip", "-j", "route", "get")
        if not way:
            raise CommandError("ip: RTNETLINK answers: Network is unreachable")
        return json.dumps([{"dst": command[4], "dev": way}])

    monkeypatch.setattr(shaping, "run", run)
    monkeypatch.setattr(shape, "run", run)


def test_all_steps_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch)
    assert shape.shape("h1", PEER, lab().to_dict()).steps() == [*ADDED, UNDONE]
    own = lab(queue={"kind": "cake", "bandwidth": "4 Mbit/s"})
    first, *rest = shape.shape("h1", PEER, own.to_dict()).steps()
    assert first.startswith("tc qdisc add dev h1 root handle 50f0: cake bandwidth 4000000bit")
    assert rest == [UNDONE]


def test_what_a_killed_run_has_left_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, root={"kind": "tbf", "handle": shaping.HANDLE})
    assert shape.shape("h1", PEER, lab().to_dict()).steps()[-1] == UNDONE


@pytest.mark.parametrize(
    ("interface", "facts", "words"),
    [
        ("h1", {"root": {"kind": "htb", "handle": "1:"}}, r"somebody has set \(htb 1:\).*tc qdisc del dev h1 root"),
        ("h2", {}, "--shape h2: packets to 10.8.1.2 leave by h1"),
        ("h1", {"way": ""}, "--shape h1: there is no route to 10.8.1.2"),
        ("lo", {}, "loopback carries what this machine's programs say"),
    ],
)
def test_an_interface_that_is_not_for_it_is_refused(
    monkeypatch: pytest.MonkeyPatch, interface: str, facts: dict[str, Any], words: str
) -> None:
    pretend(monkeypatch, **facts)
    with pytest.raises(sojourn.InputError, match=words):
        shape.shape(interface, PEER, lab().to_dict())


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        (
            {"kind": "drr", "perfect": True},
            "bottleneck.queue.kind: --shape cannot have drr; allowed: what sorts flows by itself",
        ),
        ({"kind": "red", "preset": "ns2", "limit": "100 packets"}, "bottleneck.queue.gentle: the Linux kernel cannot"),
    ],
)
def test_a_queue_that_linux_cannot_have_is_refused(
    monkeypatch: pytest.MonkeyPatch, queue: dict[str, Any], words: str
) -> None:
    pretend(monkeypatch)
    with pytest.raises(sojourn.InputError, match=words):
        shape.shape("h1", PEER, lab(queue=queue).to_dict())


def test_a_lock_lies_where_nobody_else_can_make_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    system, own = tmp_path / "system", tmp_path / "cache" / "sojourn" / "locks"
    monkeypatch.setattr(shaping, "_LOCKS", system)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert shaping._lock_file("h1").parent == system
    assert system.stat().st_mode & 0o777 == 0o700
    system.chmod(0o777)
    assert shaping._lock_file("h1").parent == own
    elsewhere = tmp_path / "elsewhere"
    own.rename(elsewhere)
    own.symlink_to(elsewhere)
    with pytest.raises(shaping.InUseError, match="is not a folder of this user's alone; to put that right: rm -r"):
        shaping._lock_file("h1")


def test_without_root_nothing_is_begun(monkeypatch: pytest.MonkeyPatch, no_root: None) -> None:
    pretend(monkeypatch)
    said: list[str] = []
    wanted = shape.shape("h1", PEER, lab().to_dict())
    with pytest.raises(TestbedError, match="--shape h1: this takes root"), shape.shaped(wanted, said.append):
        raise AssertionError("it is shaped")
    assert said == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--shape", "h1"], "--shape needs --world hosts"),
        (["--world", "hosts", "--shape", "h1", "--dry-run"], "--world hosts needs --peer ADDRESS"),
        (["--world", "hosts", "--peer", "host.invalid", "--shape", "h1"], "--peer host.invalid has no IPv4 address"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    command: Command, small_file: Path, arguments: list[str], words: str
) -> None:
    outcome = command("run", small_file, *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err


def why_not() -> str | None:
    if os.geteuid() != 0:
        return "making network namespaces takes root"
    return "ip or tc is missing" if any(shutil.which(tool) is None for tool in ("ip", "tc")) else None


needs_namespaces = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")


def ip(*words: str, check: bool = True) -> str:
    return subprocess.run(("ip", *words), check=check, capture_output=True, text=True).stdout


@dataclass
class Hosts:
    """Two hosts side by side, and files of theirs."""

    own: str
    peer: str
    folder: Path

    def start(self, host: str, *words: object) -> "subprocess.Popen[str]":
        command = ["ip", "netns", "exec", host, sys.executable, "-P", *map(str, words)]
        environment = {**os.environ, "TMPDIR": str(self.folder / "tmp")}
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=self.folder
        )

    def end(self, host: str, *words: object, within_s: float = PATIENCE_S) -> tuple[int, str, str]:
        process = self.start(host, *words)
        out, err = process.communicate(timeout=within_s)
        return process.returncode, out, err

    @property
    def roots(self) -> list[str]:
        told = json.loads(ip("netns", "exec", self.own, "tc", "-j", "qdisc", "show", "dev", "h1"))
        return [one["handle"] for one in told if one.get("root")]

    def held(self) -> "subprocess.Popen[str]":
        """Shape it by a process that waits."""
        process = self.start(self.own, "-c", HOLD, "lab.toml")
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        assert self.roots == ["50f0:"]
        return process

    def holders(self, process: "subprocess.Popen[str]") -> list[int]:
        """The keeper of a process that shapes, and the holder."""
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
        own = [Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split() for pid in children]
        return [int(pid) for pid in [*children, *(pid for pids in own for pid in pids)]]


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    found = Hosts(f"sj{os.getpid()}-own", f"sj{os.getpid()}-peer", tmp_path)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "lab.toml").write_text(lab().to_toml())
    (tmp_path / "secret").write_text("a secret of the two hosts")
    (tmp_path / "secret").chmod(0o600)
    try:
        for name in (found.own, found.peer):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("link", "add", "h1", "netns", found.own, "type", "veth", "peer", "name", "h2", "netns", found.peer)
        for name, link, address in ((found.own, "h1", OWN), (found.peer, "h2", PEER)):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", link)
            ip("-n", name, "link", "set", link, "up")
        # What shapes runs as root, and so does what takes it away.
        mark = plant(tmp_path)
        yield found
        assert wait_for(lambda: not list((tmp_path / "tmp").iterdir()))
        assert taken(mark) == []
    finally:
        for name in (found.own, found.peer):
            ip("netns", "del", name, check=False)


def experiment(hosts: Hosts, *agents: str) -> tuple[int, str, str]:
    """Run lab.toml with the shape; what the command says."""
    agent = hosts.start(hosts.peer, "-m", "sojourn", "agent", "--listen", PEER, "--secret-file", "secret", *agents)
    assert agent.stderr is not None
    try:
        agent.stderr.readline()
        to = ("--world", "hosts", "--peer", PEER, "--secret-file", "secret", "--shape", "h1", "--json")
        return hosts.end(hosts.own, "-m", "sojourn", "run", "lab.toml", *to)
    finally:
        agent.terminate()
        agent.communicate(timeout=PATIENCE_S)


@pytest.mark.testbed
@needs_namespaces
def test_a_run_has_the_rate_that_was_asked_for_and_takes_it_away(hosts: Hosts) -> None:
    code, out, err = experiment(hosts)
    assert code == 0, err
    lines = [line for line in err.splitlines() if line.startswith("--shape")]
    assert lines == [*(f"--shape: {line}" for line in ADDED), f"--shape, undone: {UNDONE}"]
    assert hosts.roots == ["0:"]
    [record] = json.loads(out)["runs"]
    # Payload of 1448 of 1500 bytes; a veth alone would carry hundreds of times as much.
    assert 0.5 * RATE_BPS / 1e6 < record["groups"]["background"]["goodput_mbps"] < RATE_BPS / 1e6
    assert "was set on h1 of this host" in err


@pytest.mark.testbed
@needs_namespaces
@pytest.mark.skipif(bool(utp.missing()), reason="libutp is not built: sojourn testbed build-libutp")
def test_libutp_runs_between_two_hosts(hosts: Hosts) -> None:
    back = {"name": "back", "control": "libutp", "rtt": "20 ms", "direction": "reverse"}
    both = {**lab("libutp").to_dict(), "reverse": LINK}
    (hosts.folder / "lab.toml").write_text(sojourn.scenario({**both, "group": [*both["group"], back]}).to_toml())
    code, out, err = experiment(hosts, "--max-rate", "10 Mbit/s")
    assert code == 0, err
    [record] = json.loads(out)["runs"]
    assert 0.5 * RATE_BPS / 1e6 < record["groups"]["background"]["goodput_mbps"] < RATE_BPS / 1e6
    # Forward, the interface has less than the agent allows; back it is the other way round.
    assert 0.5 < record["groups"]["back"]["goodput_mbps"] < 10


@pytest.mark.testbed
@needs_namespaces
def test_a_bottleneck_that_went_away_is_told(hosts: Hosts) -> None:
    program = HOLD.replace("time.sleep(1000)", "sys.stdin.readline()")
    process = subprocess.Popen(
        ["ip", "netns", "exec", hosts.own, sys.executable, "-c", program, str(hosts.folder / "lab.toml")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    _, holder = hosts.holders(process)
    os.kill(holder, signal.SIGTERM)
    assert wait_for(lambda: hosts.roots == ["0:"])
    _, err = process.communicate("\n", timeout=PATIENCE_S)
    assert "h1 lost its bottleneck during the run" in err


@pytest.mark.testbed
@needs_namespaces
def test_a_kernel_without_the_queue_is_told(hosts: Hosts) -> None:
    (hosts.folder / "lab.toml").write_text(lab(queue={"kind": "hhf", "preset": "linux"}).to_toml())
    code, _, err = hosts.end(hosts.own, "-c", HOLD.replace("time.sleep(1000)", "pass"), "lab.toml")
    if code == 0:
        pytest.skip("this kernel has every queue")
    assert "It needs sch_tbf, sch_hhf in this host's kernel" in err
    assert hosts.roots == ["0:"]


@pytest.mark.testbed
@needs_namespaces
def test_a_run_that_fails_takes_it_away(hosts: Hosts) -> None:
    to = ("--world", "hosts", "--peer", PEER, "--secret-file", "secret", "--shape", "h1")
    code, _, err = hosts.end(hosts.own, "-m", "sojourn", "run", "lab.toml", *to)
    assert (code, hosts.roots) == (1, ["0:"])
    assert "there is no agent at 10.8.1.2:5340 (connection refused)" in err


@pytest.mark.testbed
@needs_namespaces
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_killed_takes_it_away(hosts: Hosts, number: signal.Signals) -> None:
    process = hosts.held()
    process.send_signal(number)
    process.communicate(timeout=PATIENCE_S)
    assert wait_for(lambda: hosts.roots == ["0:"])


TOOL, KEEPER, HOLDER = range(3)


@pytest.mark.testbed
@needs_namespaces
@pytest.mark.parametrize(
    "killed", [(HOLDER,), (KEEPER,), (HOLDER, KEEPER), (KEEPER, HOLDER), (TOOL, HOLDER), (HOLDER, TOOL), (TOOL, KEEPER)]
)
def test_whichever_part_lives_takes_it_away(hosts: Hosts, killed: tuple[int, ...]) -> None:
    process = hosts.held()
    parts = (process.pid, *hosts.holders(process))
    for part in killed:
        with suppress(ProcessLookupError):
            os.kill(parts[part], signal.SIGKILL)
    if TOOL not in killed:
        process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    assert wait_for(lambda: hosts.roots == ["0:"])
    # And the next has it.
    after = hosts.held()
    after.send_signal(signal.SIGINT)
    after.communicate(timeout=PATIENCE_S)
    assert hosts.roots == ["0:"]


@pytest.mark.testbed
@needs_namespaces
def test_another_user_keeps_nobody_from_shaping(hosts: Hosts) -> None:
    """Names of abstract sockets are anybody's: none of them may be a lock."""
    name = "import os, socket, time; os.setuid(65534); one = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); "
    name += r"one.bind('\0sojourn.shaping.h1'); print('bound', flush=True); time.sleep(1000)"
    stranger = hosts.start(hosts.own, "-c", name)
    try:
        assert stranger.stdout is not None
        assert stranger.stdout.readline() == "bound\n"
        process = hosts.held()
        process.terminate()
        process.communicate(timeout=PATIENCE_S)
        assert wait_for(lambda: hosts.roots == ["0:"])
    finally:
        stranger.kill()
        stranger.communicate(timeout=PATIENCE_S)


@pytest.mark.testbed
@needs_namespaces
@pytest.mark.parametrize("remedy", ["clean", "next"])
def test_what_remains_when_all_are_killed_at_once_is_found_again(
    hosts: Hosts, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # This cleans a cache of its own.
    monkeypatch.setenv("XDG_CACHE_HOME", str(hosts.folder / "cache"))
    process = hosts.held()
    code, out, err = hosts.end(hosts.own, "-m", "sojourn", "testbed", "clean")
    assert (code, err) == (0, "")
    assert "h1" not in out, "it is in use"
    for pid in [*hosts.holders(process)[::-1], process.pid]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE_S)
    assert hosts.roots == ["50f0:"]
    if remedy == "next":
        process = hosts.held()
        process.terminate()
        process.communicate(timeout=PATIENCE_S)
    code, out, err = hosts.end(hosts.own, "-m", "sojourn", "testbed", "clean")
    assert (code, err) == (0, "")
    assert ("the bottleneck that a killed run had left on h1 removed" in out) == (remedy == "clean")
    assert wait_for(lambda: hosts.roots == ["0:"])


@pytest.mark.testbed
@needs_namespaces
def test_one_at_a_time(hosts: Hosts) -> None:
    first = hosts.held()
    code, _, err = hosts.end(hosts.own, "-c", HOLD, "lab.toml")
    assert code == 1
    assert "--shape h1: h1 is being shaped for another run; only one at a time can be" in err
    assert hosts.roots == ["50f0:"]
    first.terminate()
    first.communicate(timeout=PATIENCE_S)
    assert wait_for(lambda: hosts.roots == ["0:"])
