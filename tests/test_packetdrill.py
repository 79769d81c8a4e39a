"""The runner of packetdrill's scripts, and the project's own scripts."""

from pathlib import Path

import pytest
from benchmarks.common import DOCS, load
from benchmarks.packetdrill import pages
from benchmarks.packetdrill.__main__ import OWN, RESULTS, main
from benchmarks.packetdrill.checks import Checks
from benchmarks.packetdrill.run import run
from benchmarks.packetdrill.script import Call, Packet, ScriptError, Shell, parse, sysctls


@pytest.mark.parametrize("path", sorted(OWN.glob("*.pkt")), ids=lambda path: path.stem)
def test_what_the_rfcs_say(path: Path) -> None:
    verdict = run(path.read_text(encoding="utf-8"), "rfc")
    assert (verdict.outcome, verdict.why, verdict.unchecked) == ("passes", "", 0)


SCRIPT = (OWN / "limited-transmit.pkt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (
            "10001:11001(1000) ack 1\n+.002",
            "10001:12001(2000) ack 1\n+.002",
            "expected segment 11 at 0.202 s; sent was segment 0",
        ),
        ("> . 1:1001(1000) ack 1", "> . 12001:13001(1000) ack 1", "sent was segment 0 at 0.204 s"),
        ("   +0 > . 11001", "+.050 > . 11001", "expected segment 11 at 0.252 s; sent was segment 11 at 0.202 s"),
        ("tcpi_snd_cwnd == 10 }", "tcpi_snd_cwnd == 11 }", "tcpi_snd_cwnd == 11: tcpi_snd_cwnd is 10"),
        (
            "write(4, ..., 30000) = 30000",
            "write(4, ..., 10000) = 10000",
            "expected segment 10 at 0.200 s; sent was segment 0",
        ),
    ],
)
def test_a_script_that_does_not_hold_fails(before: str, after: str, why: str) -> None:
    assert before in SCRIPT
    verdict = run(SCRIPT.replace(before, after), "rfc")
    assert verdict.outcome == "fails"
    assert why in verdict.why


def test_what_follows_waits_for_an_expected_packet() -> None:
    script = (OWN / "timeout.pkt").read_text(encoding="utf-8")
    # The repair is expected 2 ms too soon, and acknowledged 1 ms after it.
    early = script.replace("   +1 > . 1:1001", "+.998 > . 1:1001").replace(
        "   +2 > . 1:1001(1000) ack 1\n", "+.001 < . 1:1(0) ack 1001 win 2000\n   +0 > . 1001:3001(2000) ack 1\n"
    )
    verdict = run(early[: early.index("   +0 %{")], "rfc")
    assert (verdict.outcome, verdict.why) == ("passes", "")


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("  +.1 < . 1:1(0) ack 1 win 2000 <sack", "  +.1 < P. 1:101(100) ack 1 win 2000 <sack", "the peer sends data"),
        (
            "write(4, ..., 30000) = 30000",
            "write(4, ..., 500) = 500\n+0 write(4, ..., 500) = 500",
            "not of whole segments",
        ),
        ("write(4, ..., 30000) = 30000", "read(4, ..., 30000) = 30000", "read()"),
        ("tcp_congestion_control=reno", "tcp_congestion_control=yeah", "its congestion control is yeah"),
        ("tcp_congestion_control=reno", "tcp_app_win=3", "it sets tcp_app_win"),
        (
            "+.1 < . 1:1(0) ack 1 win 2000 <sack",
            "+.1 `ip route flush cache`\n+.1 < . 1:1(0) ack 1 win 2000 <sack",
            "shell command",
        ),
        (
            "+.1 < . 1:1(0) ack 1 win 2000 <sack",
            "+.1 < udp (1000)\n+.1 < . 1:1(0) ack 1 win 2000 <sack",
            "not of the subset",
        ),
    ],
)
def test_what_is_not_of_the_subset_is_out_of_scope(before: str, after: str, why: str) -> None:
    assert before in SCRIPT
    verdict = run(SCRIPT.replace(before, after, 1), "rfc")
    assert verdict.outcome == "out of scope"
    assert why in verdict.why


def test_a_script_is_read() -> None:
    script = parse(
        "--tolerance_usecs=20000\n"
        "`sysctl -q net.ipv4.tcp_ecn=1\necho`\n"
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3 // a comment\n"
        "+.1~+.3 > [ect0] P. 1:2001(2000) ack 1 <nop,nop,TS val 7 ecr 9>\n"
        "+.2...0.4 connect(3, ..., ...) = 0\n"
        "/* more\nof it */ .5 < . 1:1(0) ack 2001 win 9 <sack 1:2 5:9,nop>\n"
        "+0 `tc qdisc`\n"
    )
    assert script.tolerance_s == 0.02
    assert list(sysctls(script.setup)) == [("tcp_ecn", "1")]
    data, connect, ack, shell = (event for event in script.events[1:])
    assert (data.line, data.start_s, data.end_s) == (5, 0.1, 0.3)
    assert isinstance(data.what, Packet)
    assert (data.what.payload_bytes, data.what.option("TS val"), data.what.echo()) == (2000, 7, 9)
    assert connect.what == Call("connect", "3, ..., ...")
    assert connect.start_s == pytest.approx(0.3)
    assert isinstance(ack.what, Packet)
    assert (ack.start_s, ack.what.sack(), ack.what.window) == (0.5, [(1, 2), (5, 9)], 9)
    assert shell.what == Shell("tc qdisc")


def test_a_line_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ScriptError, match="line 2: 'bind 3' is no event"):
        parse("0 socket(...) = 3\nbind 3\n")


def test_assertions_are_read_and_not_executed() -> None:
    checks = Checks()
    state = {"tcpi_snd_cwnd": 10}
    assert checks.failing("cwnd = 9\ncwnd += 1\nassert tcpi_snd_cwnd == cwnd, tcpi_snd_cwnd", state) is None
    assert checks.failing("assert 2 * cwnd - 1 < tcpi_snd_cwnd or cwnd > 20", state) == (
        "2 * cwnd - 1 < tcpi_snd_cwnd or cwnd > 20: cwnd is 10, tcpi_snd_cwnd is 10"
    )
    assert checks.unchecked == 0
    assert checks.failing("assert tcpi_lost == 3\nassert __import__('os').getpid() == 1", state) is None
    assert checks.unchecked == 2


def test_a_folder_without_scripts_is_named(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.argv", ["packetdrill", "--scripts", str(tmp_path)])
    assert main() == 2
    assert "holds no scripts (*.pkt)" in capsys.readouterr().err


def test_the_page_is_that_of_the_saved_results() -> None:
    text = "\n\n".join(pages.render(load(RESULTS))).rstrip() + "\n"
    assert (DOCS / "validation" / "packetdrill.md").read_text(encoding="utf-8") == text
