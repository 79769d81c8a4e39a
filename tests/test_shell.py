"""Programs behind a path: what is made of a scenario, and what packets meet in namespaces."""

import functools
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks import programs, stacks
from benchmarks.common import DOCS, load
from tests.conftest import Echo

import sojourn
from sojourn.cli import run_command_line
from sojourn.worlds import WorldError
from sojourn.worlds.shell import WORLD, ShellOptions, inside, running
from sojourn.worlds.shell.ends import RECEIVER, TIMINGS, Ends
from sojourn.worlds.shell.path import behind, ended

PATH = """
duration = "30 s"
bottleneck = { rate = "8 Mbit/s", queue = { kind = "droptail", limit = "20 packets" } }
reverse = { rate = "8 Mbit/s" }
[[group]]
name = "tcp"
control = "newreno"
rtt = "40 ms"
"""


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> str:
    file = tmp_path / "path.toml"
    file.write_text(PATH, encoding="utf-8")
    return str(file)


def groups(*arguments: Any, **settings: Any) -> dict[str, dict[str, Any]]:
    tables = json.loads(behind(*arguments, **settings).resolve().to_json())
    return {group["name"]: group for group in tables["group"]}


def test_a_scenario_gets_groups_for_a_program(path: str) -> None:
    found = groups(path, [])
    assert list(found) == ["sent", "received", "tcp"]
    assert (found["sent"]["rtt"], found["received"]["direction"]) == ("40 ms", "reverse")
    turned = groups(path, [], at=RECEIVER, rtt="10 ms", alone=True)
    assert list(turned) == ["sent", "received"]
    assert (turned["sent"]["direction"], turned["sent"]["rtt"]) == ("reverse", "10 ms")


def test_a_line_alone_is_a_path() -> None:
    assert set(groups(None, ["access.line=cable-100-10-film"])) == {"sent", "received", "line-film"}
    assert set(groups(None, ["access.line=cable-100-10-film"], alone=True)) == {"sent", "received"}
    with pytest.raises(sojourn.InputError, match="no path is named; give a scenario's file or name, or --line NAME"):
        behind(None, [])


def test_a_run_lasts_as_long_as_its_program_but_for_what_simulated_flows_may_send(path: str) -> None:
    assert behind(path, []).resolve().duration_s == 86_400
    assert behind(path, ["bottleneck.rate=10 Gbit/s"]).resolve().duration_s < 86_400
    assert behind(path, [], duration="5 s").resolve().duration_s == 5
    assert behind(path, ["warmup=3 s"]).resolve().warmup_s == 0


def test_a_scenario_keeps_its_own_groups_for_programs(tmp_path: Path) -> None:
    own = '[[group]]\nname = "game"\ntraffic = { kind = "program", port = 5000 }\nrtt = "10 ms"\n'
    file = tmp_path / "own.toml"
    file.write_text(PATH + own, encoding="utf-8")
    assert list(groups(str(file), [])) == ["game", "tcp"]
    for names in ("port = 5000", "address = '192.0.2.0/24'", "dscp = 'le'"):
        file.write_text(PATH + own.replace("port = 5000", names), encoding="utf-8")
        with pytest.raises(
            sojourn.InputError, match='needs a group with traffic = "program" and direction = "forward"'
        ):
            sojourn.Scenario.load(file).fit("shell")


def test_what_had_not_begun_is_no_part_of_a_run_that_ended(tmp_path: Path) -> None:
    late = '[[group]]\nname = "late"\ncontrol = "cubic"\nrtt = "10 ms"\nstart = "20 s"\n'
    changes = '[[change]]\nat = "10 s"\nbottleneck.rate = "1 Mbit/s"\n'
    file = tmp_path / "late.toml"
    file.write_text(PATH + late + changes, encoding="utf-8")
    source = behind(str(file), [])
    whole, early = (json.loads(ended(source, length_s).resolve().to_json()) for length_s in (25, 0.05))
    assert [group["name"] for group in whole["group"]] == ["sent", "received", "tcp", "late"]
    assert [group["name"] for group in early["group"]] == ["sent", "received", "tcp"]
    assert (len(whole["change"]), early.get("change", [])) == (1, [])


def test_other_worlds_refuse_programs(path: str) -> None:
    source = behind(path, [])
    scenario = sojourn.Scenario(source.resolve(), source)
    with pytest.raises(sojourn.InputError, match="the simulation runs no programs; `sojourn shell` does"):
        scenario.run()
    with pytest.raises(sojourn.InputError, match="cannot have program"):
        scenario.fit("linux")
    with pytest.raises(sojourn.InputError, match="needs command"):
        scenario.run(world="shell")


def test_who_forbids_namespaces_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The words of a message come from the switches of the machine, so these are other ones here."""
    (tmp_path / "off").write_text("0\n", encoding="ascii")
    monkeypatch.setattr(running, "_NAMESPACES", ("false",))
    monkeypatch.setattr(running, "_SWITCHES", ((str(tmp_path / "off"), "0", "sysctl off=1"),))
    source = behind(None, ["access.line=cable-100-10-quiet"])
    with pytest.raises(WorldError, match=r"off is 0, which forbids namespaces .* an administrator can: sysctl off=1"):
        running.run(source.resolve(), 1, sojourn.worlds.Wanted(), Ends(("true",)), None)
    monkeypatch.setattr(running, "_SWITCHES", ())
    with pytest.raises(WorldError, match="this machine lets nobody have namespaces"):
        running.run(source.resolve(), 1, sojourn.worlds.Wanted(), Ends(("true",)), None)


def test_who_may_not_have_real_time_priority_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(running.os, "sched_setscheduler", forbidden)
    asked = running._priority(asked=True)
    message = r"may have no real-time priority of 10: `ulimit -r` is -?\d+; an administrator can raise rtprio"
    with pytest.raises(WorldError, match=message), asked:
        pass
    with running._priority(asked=False):
        pass


def test_real_time_priority_ends_with_the_run() -> None:
    before = os.sched_getscheduler(0), os.sched_getparam(0).sched_priority
    try:
        with running._priority(asked=True):
            assert (os.sched_getscheduler(0), os.sched_getparam(0).sched_priority) == (os.SCHED_FIFO, 10)
    except WorldError as error:
        pytest.skip(str(error))
    assert (os.sched_getscheduler(0), os.sched_getparam(0).sched_priority) == before


def test_a_wrong_call_says_what_is_missing(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["shell", "--", "true"]) == 2
    assert "--line NAME" in capfd.readouterr().err
    assert run_command_line(["shell", "--line", "cable-100-10-quiet", "--pcap", "--", "true"]) == 2
    assert "--pcap needs --out DIR" in capfd.readouterr().err
    assert run_command_line(["shell", "--line", "cable-100-10-quiet", "--server", "'", "--", "true"]) == 2
    assert "--server: No closing quotation" in capfd.readouterr().err


@pytest.mark.parametrize("page", [programs, stacks])
def test_the_pages_show_the_stored_numbers(page: Any) -> None:
    text = "\n\n".join(page.render(load(page.NAME))).rstrip() + "\n"
    assert text == (DOCS / "validation" / f"{page.NAME}.md").read_text(encoding="utf-8")


def test_datagrams_cross_the_path_without_namespaces(path: str, echo: Echo) -> None:
    """To an echo and back: two ways of 20 ms, in real time."""
    ask = (
        "import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.settimeout(5)\n"
        "for n in range(5):\n    began = time.monotonic()\n    s.sendto(bytes(100), ('127.0.0.1', PORT))\n"
        "    s.recv(200)\n    print(round(1000 * (time.monotonic() - began)))\n"
    )
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    client = [sys.executable, "-c", ask.replace("PORT", str(port))]
    done = shell("--alone", "--udp", f"{port}:127.0.0.1:{echo.port}", "--", *client, path=path)
    waited = [int(line) for line in done.stdout.split()]
    assert len(waited) == 5, done.stderr
    assert all(40 <= one < 140 for one in waited), waited
    assert (shell("--udp", "x", path=path).returncode, shell("--udp", "1:2", path=path).returncode) == (2, 2)


def test_marks_and_code_points_of_datagrams_travel_without_namespaces(path: str) -> None:
    """A queue that marks everything: ECT(0) and LE come as CE and LE, and EF that is sent back arrives as EF."""
    ask = (
        "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.settimeout(5)\n"
        "s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 1 << 2 | 2)\n"
        "s.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)\n"
        "for n in range(20): s.sendto(bytes(1000), ('127.0.0.1', PORT))\n"
        "found = [s.recvmsg(9, 100) for n in range(20)]\n"
        "print(sorted({said[0][2][0] for _, said, _, _ in found}), sorted({data[0] for data, *_ in found}))\n"
    )
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free, socket.socket(type=socket.SOCK_DGRAM) as server:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        server.bind(("127.0.0.1", 0))
        server.settimeout(20)
        server.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        server.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 46 << 2)

        def serve() -> None:
            for _ in range(20):
                _, found, _, peer = server.recvmsg(2000, 100)
                server.sendto(found[0][2][:1], peer)

        thread = threading.Thread(target=serve)
        thread.start()
        queue = "bottleneck.queue={ kind = 'codel', ecn = true, ce_threshold = '1 ms' }"
        words = ["--alone", "--set", queue, "--udp", f"{port}:127.0.0.1:{server.getsockname()[1]}"]
        done = shell(*words, "--", sys.executable, "-c", ask.replace("PORT", str(port)), path=path)
        thread.join()
    assert done.stdout.strip() == f"[{46 << 2}] [6, 7]", done.stderr


# What follows makes namespaces, and waits in real time.


@functools.cache
def forbids() -> str:
    """Return what keeps namespaces from being made here; nothing where they can be."""
    tools = [tool for tool in ("unshare", "ip", "ping") if shutil.which(tool) is None]
    if tools or not Path("/dev/net/tun").exists():
        return f"not here: {', '.join(tools) or '/dev/net/tun'}"
    tried = subprocess.run([*running._NAMESPACES, "true"], capture_output=True, text=True, check=False)
    return tried.stderr.strip() if tried.returncode else ""


@pytest.fixture(autouse=True)
def _possible(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("testbed") and forbids():
        pytest.skip(f"no namespaces: {forbids()}")


LINE = ["shell", "--line", "cable-100-10-quiet"]


def shell(*words: str, path: str | None = None, **settings: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sojourn", *([*LINE] if path is None else ["shell", path]), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, **settings)


def record(*words: str, path: str) -> dict[str, Any]:
    done = shell("--json", *words, path=path)
    assert done.returncode == 0, done.stderr
    run: dict[str, Any] = json.loads(done.stdout)["runs"][0]
    return run


def pings_ms(said: str) -> list[float]:
    return [float(line.split("time=")[1].split()[0]) for line in said.splitlines() if "time=" in line]


@pytest.mark.testbed
@pytest.mark.real_time
def test_a_ping_takes_delay_and_serialisation(path: str) -> None:
    for address in inside.addresses(inside.OTHERS, 0):
        done = shell("--alone", "--", "ping", "-i", "0.1", "-c", "20", address, path=path)
        found = sorted(pings_ms(done.stdout))
        assert len(found) == 20
        # 84 or 104 bytes at 8 Mbit/s each way, and 40 ms; the kernels' own time comes on top.
        exact = 40 + 2 * (84 if "." in address else 104) * 8 / 8000
        assert exact <= found[0] < exact + 0.5, found


@pytest.mark.testbed
@pytest.mark.real_time
@pytest.mark.parametrize("timing", TIMINGS)
def test_however_the_path_waits_packets_leave_when_they_are_due(path: str, timing: str) -> None:
    run = record("--alone", "--timing", timing, "--", "ping", "-q", "-i", "0.02", "-c", "50", "10.77.0.1", path=path)
    assert run["shell"]["packets_out"] >= 100
    # The tail is the other programs' of this machine.
    assert run["shell"]["late_ms_median"] < running.LATE_MS


@pytest.mark.testbed
@pytest.mark.real_time
def test_every_packet_is_accounted_for(path: str) -> None:
    send = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    send += "for n in range(2000): s.sendto(bytes(1000), ('10.77.0.1', 9))\n"
    found = record(
        "--alone", "--time", "2 s", "--", sys.executable, "-c", f"{send}import time; time.sleep(1)", path=path
    )
    told = found["shell"]
    assert told["packets_in"] == told["packets_out"] + told["lost"] + told["refused"] + told["under_way"]
    assert (told["packets_in"] >= 2000, told["dropped"]) == (True, 0)
    assert told["lost"] == found["bottleneck"]["drops"] + found["reverse"]["drops"]
    assert told["lost"] >= 1900, "20 packets wait, and 1 s carries 1000"


@pytest.mark.testbed
@pytest.mark.real_time
@pytest.mark.parametrize("place", [0, 1])
def test_what_the_kernel_leaves_together_crosses_as_packets_of_1500_bytes(path: str, place: int) -> None:
    """Of a transfer by TCP every byte arrives, in segments of at most 1448 or 1428 bytes."""
    address, payload = inside.addresses(inside.OTHERS, 0)[place], 1448 - 20 * place
    serve = (
        "import socket\ns = socket.create_server(('::', 9), family=socket.AF_INET6, dualstack_ipv6=True)\n"
        "c, _ = s.accept()\nsent = bytearray()\n"
        "while data := c.recv(65536): sent += data\n"
        "c.sendall(str((len(sent), sum(sent))).encode())\n"
    )
    send = (
        f"import socket\ns = socket.create_connection(('{address}', 9))\ndata = bytes(range(250)) * 4000\n"
        "s.sendall(data)\ns.shutdown(socket.SHUT_WR)\nassert s.recv(99).decode() == str((len(data), sum(data)))\n"
    )
    words = ["--alone", "--server", shlex.join([sys.executable, "-c", serve])]
    run = record(*words, "--", sys.executable, "-c", send, path=path)
    told = run["shell"]
    assert (told["status"], told["unread"], told["dropped"]) == (0, 0, 0)
    assert told["packets_in"] == told["packets_out"] + told["lost"] + told["refused"] + told["under_way"]
    carried = run["groups"]["sent"]["goodput_mbps"] * 1e6 / 8 * run["duration_s"]
    assert 1_000_000 <= carried < 1_200_000
    assert told["packets_in"] >= 1_000_000 / payload


@pytest.mark.testbed
@pytest.mark.real_time
def test_marks_reach_the_other_end_and_code_points_stay(path: str) -> None:
    """A queue that marks everything: what the server sees of a datagram with ECT(0) and LE is CE and LE."""
    serve = (
        "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.bind(('', 9))\n"
        "s.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)\n"
        "while True:\n    _, found, _, peer = s.recvmsg(2000, 100)\n    s.sendto(found[0][2][:1], peer)\n"
    )
    ask = (
        "import socket, sys\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.settimeout(5)\n"
        "s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 1 << 2 | 2)\n"
        "for n in range(20): s.sendto(bytes(1000), ('10.77.0.1', 9))\n"
        "print(sorted({s.recv(9)[0] for n in range(20)}))\n"
    )
    words = ["--alone", "--set", "bottleneck.queue={ kind = 'codel', ecn = true, ce_threshold = '1 ms' }"]
    server = shlex.join([sys.executable, "-c", serve])
    done = shell(*words, "--server", server, "--", sys.executable, "-c", ask, path=path)
    assert done.stdout.strip() == "[6, 7]", done.stderr


@pytest.mark.testbed
@pytest.mark.real_time
def test_the_program_says_how_it_ended_and_has_its_own_words(path: str) -> None:
    assert shell("--", "sh", "-c", "exit 7").returncode == 7
    assert shell("--", "sh", "-c", "kill -9 $$").returncode == 128 + signal.SIGKILL
    assert shell("--", "cat", input="words\n").stdout == "words\n"
    done = shell("--", "no-such-program")
    assert (done.returncode, "no-such-program" in done.stderr) == (2, True)
    done = shell("--server", f"{sys.executable} -c 'raise SystemExit(\"no\")'", "--", "true")
    assert "ended with 1: no" in done.stderr
    assert (done.returncode, record("--", "true", path=path)["shell"]["status"]) == (2, 0)


@pytest.mark.testbed
@pytest.mark.real_time
def test_a_run_leaves_what_other_worlds_leave(path: str, tmp_path: Path) -> None:
    words = ["--alone", "--live", "--pcap", "--out", str(tmp_path / "out"), "--page", str(tmp_path / "page.html")]
    done = shell(*words, "--", "ping", "-i", "0.1", "-c", "15", "10.77.0.1", path=path)
    assert done.returncode == 0, done.stderr
    assert "sent 0.0" in done.stderr
    assert (tmp_path / "out" / "bottleneck.pcapng").stat().st_size > 500
    kept = sojourn.Result.load(tmp_path / "out")
    assert kept.runs[0]["shell"]["packets_in"] >= 30
    assert "10.77.0.1" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.testbed
@pytest.mark.real_time
def test_a_shell_that_was_stopped_goes_on_and_says_that_it_stood_still(path: str) -> None:
    words = [
        sys.executable,
        "-m",
        "sojourn",
        "shell",
        path,
        "--json",
        "--",
        "ping",
        "-i",
        "0.1",
        "-c",
        "30",
        "10.77.0.1",
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        time.sleep(1.5)
        process.send_signal(signal.SIGSTOP)
        time.sleep(1)
        process.send_signal(signal.SIGCONT)
        said, _ = process.communicate(timeout=60)
    run = json.loads(said)["runs"][0]
    told = run["shell"]
    assert (process.returncode, told["dropped"]) == (0, 0)
    assert told["packets_in"] == told["packets_out"] + told["lost"] + told["refused"] + told["under_way"]
    assert run["groups"]["tcp"]["goodput_mbps"] > 1, "simulated flows catch up"
    assert 800 < told["stalled_ms"] < 1500
    assert any("the path stood still for up to" in remark for remark in told["remarks"]), told


def test_a_program_is_in_the_home_of_its_line_whichever_way_is_the_bottleneck() -> None:
    down = groups(None, ["access.line=cable-100-10-quiet", "access.bottleneck=down"])
    up = groups(None, ["access.line=cable-100-10-quiet"])
    assert [found["sent"]["direction"] for found in (up, down)] == ["forward", "reverse"]


def test_what_real_time_cannot_have_is_said(path: str) -> None:
    filtered = behind(path, ["bottleneck.queue={ kind = 'cake', ack_filter = 'normal' }"]).resolve()
    assert WORLD.fit(filtered, ShellOptions()) == ["CAKE's ack_filter sees no acknowledgements in packets of programs"]
    assert WORLD.fit(behind(path, []).resolve(), ShellOptions()) == []


def test_a_scenario_that_takes_one_way_alone_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "one-way.toml"
    file.write_text(f'{PATH}[[group]]\nname = "up"\ntraffic = "program"\nrtt = "10 ms"\n', encoding="utf-8")
    assert run_command_line(["shell", str(file), "--", "true"]) == 2
    assert 'a group with traffic = "program" and direction = "reverse"' in capfd.readouterr().err
    assert run_command_line(["shell", str(file), "--rtt", "5 ms", "--", "true"]) == 2
    assert "--rtt: the scenario has up for programs" in capfd.readouterr().err


@pytest.mark.testbed
@pytest.mark.real_time
def test_shells_lie_in_shells() -> None:
    inner = " ".join([sys.executable, "-m", "sojourn", *LINE, "--rtt", "'30 ms'", "--", "ping -c 3 10.77.0.1"])
    done = shell("--rtt", "50 ms", "--", "sh", "-c", inner)
    found = pings_ms(done.stdout)
    assert len(found) == 3, done.stderr
    # A cable modem asks for each packet on the way up, twice here; one line alone takes less than 70 ms.
    assert 80 < min(found) < 140, found


_SEND = (
    "import socket\nfor to, tos, count in {sends}:\n"
    "    with socket.socket(socket.AF_INET6 if ':' in to else socket.AF_INET, socket.SOCK_DGRAM) as s:\n"
    "        level = socket.IPPROTO_IPV6 if ':' in to else socket.IPPROTO_IP\n"
    "        s.setsockopt(level, socket.IPV6_TCLASS if ':' in to else socket.IP_TOS, tos)\n"
    "        [s.sendto(bytes(500), (to, 9)) for n in range(count)]\n"
    "import time; time.sleep(0.5)\n"
)


@pytest.mark.testbed
@pytest.mark.real_time
def test_groups_are_told_apart_by_address_and_code_point(tmp_path: Path) -> None:
    """A packet is counted in the first group that has all it names, whatever group names nothing."""
    named = {"both": "address = 'fd77::/16', dscp = 'le'", "le": "dscp = 'le'", "six": "address = 'fd77::1'"}
    rest = {"sent": "", "received": ""}
    tables = "".join(
        f"[[group]]\nname = '{name}'\nrtt = '10 ms'\n"
        + ("direction = 'reverse'\n" if name == "received" else "")
        + f"traffic = {{ kind = 'program'{', ' if names else ''}{names} }}\n"
        for name, names in {**named, **rest}.items()
    )
    file = tmp_path / "path.toml"
    room = "queue = { kind = 'droptail', limit = '1000 packets' }"
    file.write_text(
        f"duration = '30 s'\nbottleneck = {{ rate = '20 Mbit/s', {room} }}\n"
        f"reverse = {{ rate = '20 Mbit/s', {room} }}\n{tables}",
        encoding="utf-8",
    )
    le = 1 << 2
    sends = [("fd77::1", le, 10), ("10.77.0.1", le, 20), ("fd77::1", 0, 30), ("10.77.0.1", 0, 40)]
    run = record("--", sys.executable, "-c", _SEND.replace("{sends}", repr(sends)), path=str(file))
    # Nobody listens at the other end, whose kernel says so in the packets of `received`.
    packets_s = {name: run["groups"][name]["goodput_mbps"] * 1e6 / 8 / 500 for name in (*named, "sent")}
    counted = {name: round(rate * run["duration_s"]) for name, rate in packets_s.items()}
    assert counted == {"both": 10, "le": 20, "six": 30, "sent": 40}


@pytest.mark.testbed
@pytest.mark.real_time
def test_a_comparison_of_programs_is_one_of_repetitions(path: str, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["compare", path, "--queue", "droptail,codel", "--runs", "2"]
    ping = ["--world", "shell", "--", "ping", "-i", "0.1", "-c", "5", "10.77.0.1"]
    assert run_command_line([*words, *ping]) == 0
    said = " ".join(capfd.readouterr().out.split())
    assert "the 95 % interval of the difference, repetition by repetition, excludes 0" in said
    assert "nothing in a program, so runs with one seed are repetitions" in said
    assert "seed by seed" not in said
    assert run_command_line([*words, "--set", "duration=2 s"]) == 0
    said = " ".join(capfd.readouterr().out.split())
    assert ("seed by seed" in said, "repetition" in said) == (True, False)


@pytest.fixture(name="left")
def _left() -> Iterator[None]:
    before = set(Path("/proc").iterdir())
    yield
    time.sleep(1)
    files = [place / "cmdline" for place in set(Path("/proc").iterdir()) - before if place.name.isdecimal()]
    said = [file.read_bytes() for file in files if file.exists()]
    assert [words for words in said if b"worlds/shell" in words or b"77.77" in words] == []


@pytest.mark.testbed
@pytest.mark.real_time
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.usefixtures("left")
def test_nothing_is_left_of_a_shell_that_is_ended(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "sojourn", *LINE, "--", "sh", "-c", "sleep 77.77 & sleep 77.77"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        time.sleep(2)
        # Ctrl-C reaches all that a terminal has in front.
        if number == signal.SIGINT:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        process.wait(20)
