"""The way from a program behind a path to the Internet: what it takes, what it passes on, and what it does not."""

import os
import shlex
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import internet as host
from tests.test_shell import forbids

import sojourn
from sojourn.cli import run_command_line
from sojourn.worlds import Wanted, WorldError
from sojourn.worlds.shell import internet, outside, running
from sojourn.worlds.shell.ends import Ends
from sojourn.worlds.shell.path import behind

RTT_S, RATE = 0.040, 20e6
PATH = """
duration = "60 s"
bottleneck = { rate = "20 Mbit/s", queue = { kind = "droptail", limit = "100 packets" } }
reverse = { rate = "20 Mbit/s", queue = { kind = "droptail", limit = "100 packets" } }
[[group]]
name = "sent"
traffic = "program"
rtt = "40 ms"
[[group]]
name = "received"
direction = "reverse"
traffic = "program"
rtt = "40 ms"
"""
PLACE = internet.Place("sojourn1", ("10.77.0.1", "fd77::1"), "127.0.0.53")


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::", "224.0.0.1", "ff02::1"]
)
def test_this_machines_loopback_is_not_passed_on_to(address: str) -> None:
    with pytest.raises(PermissionError, match="is not passed on"):
        PLACE.beyond((address, 80))


def test_questions_for_names_go_to_the_resolver_and_all_else_where_it_was_sent() -> None:
    assert PLACE.beyond(("10.77.0.1", 53)) == ("127.0.0.53", 53)
    assert PLACE.beyond(("fd77::1", 53)) == ("127.0.0.53", 53)
    for to in (("192.0.2.1", 443), ("2001:db8::1", 53)):
        assert PLACE.beyond(to) == to


def test_a_server_at_the_other_end_keeps_its_ports() -> None:
    said = internet.rules("sojourn1", ("10.77.0.1", "fd77::1"), {("ip", "tcp"): 1001, ("ip6", "udp"): 1002})
    lines = said.splitlines()
    kept = lines.index("ip daddr 10.77.0.1 tcp dport != 53 accept")
    assert kept < lines.index("meta l4proto tcp tproxy ip to :1001 meta mark set 77 accept")
    assert "meta l4proto udp tproxy ip6 to :1002 meta mark set 77 accept" in lines


@pytest.mark.parametrize(("source", "to"), [("10.77.0.2", host.IPV4), ("fd77::2", host.IPV6)])
def test_who_asks_for_a_connection_is_refused_as_a_kernel_refuses(source: str, to: str) -> None:
    """RST, ACK of the number after the SYN's (RFC 9293 section 3.10.7.1), from who was asked; all sums are right."""
    refusal = internet.Syn(b"", (source, 40_000), (to, 81), 2**32 - 1).refusal()
    six = ":" in to
    at = 40 if six else 20
    addresses = refusal[8:40] if six else refusal[12:20]
    family = socket.AF_INET6 if six else socket.AF_INET
    assert addresses == socket.inet_pton(family, to) + socket.inet_pton(family, source)
    assert struct.unpack_from("!HHIIBB", refusal, at) == (81, 40_000, 0, 0, 5 << 4, 4 | 16)
    assert internet._checksum(addresses + struct.pack("!HH", 6, 20) + refusal[at:]) == 0
    assert six or internet._checksum(refusal[:20]) == 0
    assert internet.Syn.read(refusal) is None, "it asks for nothing"
    asks = refusal[: at + 13] + b"\2" + refusal[at + 14 :]
    assert internet.Syn.read(asks) == internet.Syn(asks, (to, 81), (source, 40_000), 0)
    for count in range(len(asks)):
        assert internet.Syn.read(asks[:count]) is None
    assert internet.Syn.read(bytes(60)) is None


def test_the_door_gives_sockets_for_connections_and_datagrams_and_no_others() -> None:
    with outside.door() as asked:
        door = internet.Door(asked)
        with door.socket(("127.0.0.1", 1), socket.SOCK_DGRAM) as found:
            assert (found.family, found.type) == (socket.AF_INET, socket.SOCK_DGRAM)
        with pytest.raises(OSError, match="no socket of family 17 and kind 3 is given"):
            _ask(asked, struct.pack("ii", socket.AF_PACKET, socket.SOCK_RAW))
        with pytest.raises(OSError, match="no socket of family 0"):
            _ask(asked, b"x")


def _ask(asked: socket.socket, what: bytes) -> None:
    asked.sendall(what)
    said, files, _, _ = socket.recv_fds(asked, 256, 1)
    assert not files
    raise OSError(said.decode())


def test_what_resolv_conf_says_of_names_stays_but_for_who_knows_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "resolv.conf"
    monkeypatch.setattr(outside, "_RESOLV_CONF", file)
    with pytest.raises(OSError, match=r"a way to the Internet needs .*resolv\.conf"):
        outside.names()
    file.write_text("search home\nnameserver 192.0.2.53\nnameserver 192.0.2.54\noptions ndots:2\n", encoding="ascii")
    assert outside.names() == ("192.0.2.53", "search home\noptions ndots:2\n")
    file.write_text("", encoding="ascii")
    assert outside.names() == ("127.0.0.1", "")


def test_a_tool_that_is_missing_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_INTERNET_TOOLS", (("no-such-nft", "nftables"),))
    source = behind(None, ["access.line=cable-100-10-quiet"])
    message = r"a way to the Internet needs the command no-such-nft \(package nftables\)"
    with pytest.raises(WorldError, match=message):
        running.run(source.resolve(), 1, Wanted(), Ends(("true",), internet=True), None)


def test_it_does_not_go_with_datagrams_to_a_named_address(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["shell", "--line", "cable-100-10-quiet", "--internet", "--udp", "5000:127.0.0.1:6000", "--", "true"]
    assert run_command_line(words) == 2
    assert "--internet does not go with --udp" in capfd.readouterr().err


# What follows makes namespaces, and waits in real time.


@pytest.fixture(autouse=True)
def _possible(request: pytest.FixtureRequest) -> None:
    if not request.node.get_closest_marker("testbed"):
        return
    if forbids():
        pytest.skip(f"no namespaces: {forbids()}")
    lacks = [tool for tool, _ in running._INTERNET_TOOLS if running.shutil.which(tool) is None]
    if lacks:
        pytest.skip(f"not here: {', '.join(lacks)}")


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> str:
    file = tmp_path / "path.toml"
    file.write_text(PATH, encoding="utf-8")
    return str(file)


def words(path: str, *more: str) -> list[str]:
    return [sys.executable, "-m", "sojourn", "shell", path, "--alone", "--internet", *more]


def said(path: str, program: str, *more: str, **settings: object) -> str:
    done = host.reached_by(words(path, *more, "--", sys.executable, "-c", program), **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_bounds_of_the_download_are_those_of_the_arithmetic() -> None:
    assert least_s() == pytest.approx(2.0718, abs=1e-4)


def least_s() -> float:
    """Return how long a page takes on the wire: segments of 1448 bytes in packets of 1500."""
    return host.PAGE_BYTES / 1448 * 1500 * 8 / RATE


@pytest.mark.testbed
@pytest.mark.real_time
def test_a_page_from_outside_takes_as_long_as_the_path_allows(path: str) -> None:
    """Fetch by name. The bounds were chosen before the first run.

    A quarter more than on the wire, for slow start and what is lost, and 6 round trips, of which 3 are for the name,
    the connection and the question.
    """
    fetch = (
        "import time, urllib.request\nbegan = time.monotonic()\n"
        "found = len(urllib.request.urlopen('http://www.example.org/page').read())\n"
        "print(found, time.monotonic() - began)\n"
    )
    count, took_s = said(path, fetch).split()
    assert int(count) == host.PAGE_BYTES
    assert least_s() + 2 * RTT_S < float(took_s) < 1.25 * least_s() + 6 * RTT_S


@pytest.mark.testbed
@pytest.mark.real_time
def test_what_is_sent_arrives_whole_and_the_answer_after_the_last_byte_too(path: str) -> None:
    send = (
        f"import socket\ns = socket.create_connection(('{host.IPV4}', {host.ECHO}))\n"
        "s.sendall(bytes(3_000_000))\ns.shutdown(socket.SHUT_WR)\nprint(s.recv(100).decode())\n"
    )
    assert said(path, send) == "3000000"


@pytest.mark.testbed
@pytest.mark.real_time
@pytest.mark.parametrize("address", [host.IPV4, host.IPV6])
def test_datagrams_go_there_and_back_from_the_address_that_they_were_sent_to(path: str, address: str) -> None:
    ask = (
        "import socket, time\n"
        f"s = socket.socket(socket.{'AF_INET6' if ':' in address else 'AF_INET'}, socket.SOCK_DGRAM)\n"
        f"s.settimeout(5)\ns.connect(('{address}', {host.ECHO}))\nbegan = time.monotonic()\n"
        "for n in range(300): s.send(bytes([n % 256]) * 200)\n"
        "got = [s.recv(300)[0] for n in range(300)]\n"
        "print(got == [n % 256 for n in range(300)], time.monotonic() - began)\n"
    )
    # All of them at once, should this machine be busy, find room.
    room = [word for link in ("bottleneck", "reverse") for word in ("--set", f"{link}.queue.limit='400 packets'")]
    whole, took_s = said(path, ask, *room).split()
    # 300 packets of at least 228 bytes at 20 Mbit/s, and a round trip; what the machine adds is at most another.
    exact = RTT_S + 300 * 228 * 8 / RATE
    assert (whole, exact < float(took_s) < exact + 2 * RTT_S) == ("True", True), took_s


@pytest.mark.testbed
@pytest.mark.real_time
@pytest.mark.parametrize("address", [host.IPV4, host.IPV6])
def test_marks_and_code_points_of_datagrams_go_there_and_back(path: str, address: str) -> None:
    """A queue that marks everything: ECT(0) and LE come as CE and LE outside, and EF comes back."""
    level, tos, asks = (
        ("IPPROTO_IPV6", "IPV6_TCLASS", "IPV6_RECVTCLASS") if ":" in address else ("IPPROTO_IP", "IP_TOS", "IP_RECVTOS")
    )
    ask = (
        f"import socket\ns = socket.socket(socket.{'AF_INET6' if ':' in address else 'AF_INET'}, socket.SOCK_DGRAM)\n"
        f"s.settimeout(5)\ns.setsockopt(socket.{level}, socket.{tos}, 1 << 2 | 2)\n"
        f"s.setsockopt(socket.{level}, socket.{asks}, 1)\n"
        f"for n in range(20): s.sendto(bytes(1000), ('{address}', {host.MARKS}))\n"
        "found = [s.recvmsg(9, 100) for n in range(20)]\n"
        "print(sorted({said[0][2][0] for _, said, _, _ in found}), sorted({data[0] for data, *_ in found}))\n"
    )
    queue = "bottleneck.queue={ kind = 'codel', ecn = true, ce_threshold = '1 ms' }"
    assert said(path, ask, "--set", queue) == f"[{46 << 2}] [6, 7]"


@pytest.mark.testbed
@pytest.mark.real_time
def test_who_is_not_there_refuses_and_loopback_and_pings_are_not_passed_on(path: str) -> None:
    attempt = (
        "import socket, subprocess\n"
        "def ask(to):\n"
        "    try:\n"
        "        with socket.create_connection(to, 2) as s:\n"
        "            s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')\n"
        "            return 'answered' if s.recv(10) else 'ended'\n"
        "    except OSError as error:\n        return type(error).__name__\n"
        f"print(ask(('{host.IPV4}', 81)), ask(('{host.IPV6}', 81)), end=' ')\n"
        f"print(ask(('10.77.0.1', {host.LOCAL})), ask(('127.0.0.1', {host.LOCAL})))\n"
        f"for to in ('{host.IPV4}', '{host.IPV6}', '10.77.0.1', 'fd77::1'):\n"
        "    print(subprocess.run(['ping', '-c', '1', '-W', '1', to], capture_output=True).returncode)\n"
    )
    expected = [" ".join(4 * ["ConnectionRefusedError"]), "1", "1", "0", "0"]
    assert said(path, attempt).splitlines() == expected


@pytest.mark.testbed
@pytest.mark.real_time
def test_a_server_may_stand_at_the_other_end_besides(path: str) -> None:
    server = shlex.join([sys.executable, "-m", "http.server", "8000", "--directory", str(Path(path).parent)])
    fetch = (
        "import urllib.request as r\n"
        "print(len(r.urlopen('http://10.77.0.1:8000/').read()) > 0, len(r.urlopen('http://example.org/page').read()))\n"
    )
    assert said(path, fetch, "--server", server) == f"True {host.PAGE_BYTES}"


@pytest.mark.testbed
@pytest.mark.real_time
def test_without_ipv6_outside_the_program_has_none(path: str) -> None:
    reach = (
        "import socket\ns = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\n"
        f"try:\n    s.connect(('{host.IPV6}', 7))\nexcept OSError as error:\n    print(error.strerror)\n"
    )
    assert said(path, reach, env={**os.environ, "ONLY_IPV4": "1"}) == "Network is unreachable"


@pytest.mark.testbed
@pytest.mark.real_time
def test_a_shell_in_a_shell_goes_on_by_the_outer_one(path: str) -> None:
    inner = [sys.executable, "-m", "sojourn", "shell", path, "--alone", "--", sys.executable, "-c"]
    fetch = "import urllib.request as r; print(len(r.urlopen('http://example.org/resolv.conf').read()))"
    done = host.reached_by(words(path, "--", *inner, fetch))
    assert done.stdout.strip() == str(len(f"search example.net\nnameserver {host.RESOLVER}\n")), done.stderr


@pytest.mark.testbed
@pytest.mark.real_time
def test_without_being_asked_for_there_is_no_way(path: str) -> None:
    attempt = f"import socket; print(socket.socket().connect_ex(('{host.IPV4}', 80)))"
    limited = [word for word in words(path, "--time", "3 s") if word != "--internet"]
    done = host.reached_by([*limited, "--", sys.executable, "-c", attempt])
    assert done.stdout.strip() != "0", done.stderr


@pytest.mark.testbed
@pytest.mark.real_time
def test_it_is_an_option_of_the_world(path: str) -> None:
    fetch = "import urllib.request as r; r.urlopen('http://example.org/resolv.conf')"
    again = ["run", path, "--set", "duration=3 s", "--set", "warmup=0 s", "--world", "shell", "--internet", "--json"]
    done = host.reached_by([sys.executable, "-m", "sojourn", *again, "--", sys.executable, "-c", fetch])
    assert (done.returncode, '"status": 0' in done.stdout) == (0, True), done.stderr


@pytest.mark.testbed
@pytest.mark.real_time
def test_a_tool_that_fails_is_quoted_in_one_sentence(path: str, tmp_path: Path) -> None:
    fake = tmp_path / "nft"
    fake.write_text("#!/bin/sh\necho 'Error: Operation not supported' >&2\necho more >&2\nexit 1\n", encoding="ascii")
    fake.chmod(0o755)
    around = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(words(path, "--", "true"), capture_output=True, text=True, env=around, check=False)
    assert done.stderr.strip() == "error: the run failed: no way to the Internet: nft: Error: Operation not supported"
    assert done.returncode != 0


@pytest.fixture(name="left")
def _left() -> Iterator[None]:
    before = set(Path("/proc").iterdir())
    yield
    time.sleep(1)
    files = [place / "cmdline" for place in set(Path("/proc").iterdir()) - before if place.name.isdecimal()]
    found = [file.read_bytes() for file in files if file.exists()]
    assert [one for one in found if b"worlds/shell" in one or b"78.78" in one] == []


@pytest.mark.testbed
@pytest.mark.real_time
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, None])
@pytest.mark.usefixtures("left")
def test_nothing_is_left_of_it(path: str, number: signal.Signals | None) -> None:
    """Also where the program has ended, at once, with a connection open."""
    program = "sleep 78.78 & exec sleep 78.78" if number else "sleep 78.78 & exit 0"
    before = set(Path(os.environ.get("TMPDIR", "/tmp")).glob("*/resolv.conf"))
    with subprocess.Popen(words(path, "--", "sh", "-c", program), stderr=subprocess.DEVNULL) as process:
        if number:
            time.sleep(2)
            process.send_signal(number)
        process.wait(20)
    assert set(Path(os.environ.get("TMPDIR", "/tmp")).glob("*/resolv.conf")) == before


def test_a_scenario_without_programs_is_refused_as_before(tmp_path: Path) -> None:
    file = tmp_path / "plain.toml"
    file.write_text(
        PATH.split("[[group]]", maxsplit=1)[0] + '[[group]]\nname = "tcp"\ncontrol = "cubic"\nrtt = "40 ms"\n',
        encoding="utf-8",
    )
    with pytest.raises(sojourn.InputError, match='needs a group with traffic = "program"'):
        sojourn.Scenario.load(file).run(world="shell", command="true", internet=True)
