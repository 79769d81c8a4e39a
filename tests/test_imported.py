"""`sojourn import`: a line from measurements and from a router's settings."""

import gzip
import itertools
import json
import math
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.captures import MSS, pcap, tcp
from tests.conftest import Command

import sojourn
from sojourn import InputError
from sojourn.exported.queues import queues
from sojourn.imported import Imported, read, registry, tc
from sojourn.imported import twins as twins_module
from sojourn.imported.twins import RATE, RECORDED, beside, fit, nearest, twins

ROUTER = """\
qdisc noqueue 0: dev lo root refcnt 2
qdisc cake 8001: dev wan root refcnt 2 bandwidth 9Mbit diffserv3 triple-isolate nonat nowash no-ack-filter \
split-gso rtt 100ms raw overhead 0
 Sent 1234 bytes 12 pkt (dropped 0, overlimits 0 requeues 0)
qdisc cake 8002: dev ifb4wan root refcnt 2 bandwidth 45Mbit diffserv3 dual-dsthost nat nowash ingress \
no-ack-filter split-gso rtt 50ms noatm overhead 22
"""
SQM = """\
config queue 'eth1'
\toption interface 'eth1'
\toption download '45000'
\toption upload '9000'
\toption qdisc 'cake'
\toption script 'piece_of_cake.qos'
\toption linklayer 'ethernet'
\toption overhead '44'
"""
IPERF3: dict[str, Any] = {
    "start": {"test_start": {"protocol": "TCP", "num_streams": 1, "duration": 30, "reverse": 0}},
    "end": {
        "streams": [{"sender": {"min_rtt": 30500, "mean_rtt": 98000, "max_rtt": 130000}}],
        "sum_received": {"seconds": 30.0, "bits_per_second": 9.65e6},
        "sender_tcp_congestion": "bbr",
    },
}
NDT7 = {
    "ServerFQDN": "ndt.example",
    "Download": {"Throughput": {"Value": 48.0, "Unit": "Mbit/s"}, "Latency": {"Value": 21.0, "Unit": "ms"}},
    "Upload": {"Throughput": {"Value": 9.5, "Unit": "Mbit/s"}, "Latency": {"Value": 24.0, "Unit": "ms"}},
}
FLENT = {
    "version": 4,
    "metadata": {"NAME": "tcp_upload"},
    "x_values": [0.2 * place for place in range(100)],
    "results": {
        "Ping (ms) ICMP": [20.0 if place < 20 else 220.0 for place in range(100)],
        "TCP upload::1": [None] * 100,
        "TCP upload": [None if place < 20 else 9.4 for place in range(100)],
    },
}


def log(rows: int = 60, rate: Any = lambda place: 20_000 if place % 30 < 15 else 8_000) -> str:
    """A log of cake-autorate with one line a second."""
    names = (
        "LOG_DATETIME; LOG_TIMESTAMP; DL_ACHIEVED_RATE_KBPS; UL_ACHIEVED_RATE_KBPS; DL_OWD_BASELINE; DL_OWD_DELTA_US; "
        "UL_OWD_BASELINE; CAKE_DL_RATE_KBPS; CAKE_UL_RATE_KBPS"
    )
    cells = [
        f"DATA; x; {1000 + place}; {0.9 * rate(place)}; 10; 12000; 40000; 13000; {rate(place)}; 5000"
        for place in range(rows)
    ]
    return "\n".join([f"DATA_HEADER; {names}", *cells]) + "\n"


def of(tmp_path: Path, text: str | bytes, kind: str | None = None) -> Imported:
    path = tmp_path / "given"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(str(path), kind)


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        (ROUTER, "tc", {"bottleneck.rate": "9 Mbit/s", "reverse.rate": "45 Mbit/s"}),
        (SQM, "sqm", {"bottleneck.rate": "9 Mbit/s", "reverse.rate": "45 Mbit/s"}),
        (json.dumps(IPERF3), "iperf3", {"bottleneck.rate": "9.997 Mbit/s", "group.upload.control": "bbr"}),
        (json.dumps(NDT7), "ndt7", {"bottleneck.rate": "9.841 Mbit/s", "reverse.rate": "49.72 Mbit/s"}),
        (json.dumps(FLENT), "flent", {"bottleneck.rate": "9.738 Mbit/s", "group.upload.rtt": "20 ms"}),
        (gzip.compress(json.dumps(FLENT).encode(), mtime=0), "flent", {"bottleneck.queue.limit": "200 ms"}),
        (
            log(),
            "autorate",
            {"bottleneck.rate": "5 Mbit/s", "reverse.trace": "line.trace", "group.upload.rtt": "25 ms"},
        ),
        ("".join(f"{one}\n" for one in range(0, 3000, 3)), "mahimahi", {"bottleneck.trace": "line.trace"}),
    ],
)
def test_each_kind_is_found_out_and_read(
    tmp_path: Path, text: str | bytes, kind: str, expected: dict[str, str]
) -> None:
    found = of(tmp_path, text)
    said = {one.key: one.value for one in found.values}
    assert found.kind == kind
    assert {key: said.get(key) for key in expected} == expected
    # What is written is what the tables say, and a scenario that runs.
    if found.trace is not None:
        (tmp_path / "line.trace").write_text("".join(f"{one}\n" for one in found.trace))
    (tmp_path / "line.toml").write_text(found.toml())
    assert tomllib.loads(found.toml()) == found.tables()
    line = sojourn.Scenario.load(str(tmp_path / "line.toml"), {"duration": "1 s", "warmup": "0 s"})
    assert line.run(seed=1).runs
    assert all(line.with_(one).groups for one in twins(line, 3))


def test_every_value_says_where_it_comes_from(tmp_path: Path) -> None:
    found = of(tmp_path, json.dumps(IPERF3))
    silent = {one.key for one in found.values if not one.source}
    assert silent <= {"name", "warmup", "group.upload.transport"}
    assert "# the file names it\ncontrol" in found.toml()


def test_a_router_s_words_come_back_as_they_were() -> None:
    """tc to scenario to tc: what the kernel world would be told has the words that were read."""
    line = sojourn.scenario(registry.kinds()["tc"].read(registry.Source("tc.txt", ROUTER.encode())).tables())
    up, down = queues(line).up, queues(line).down
    assert up is not None
    assert down is not None
    for way, words in ((up, "bandwidth 9000000bit rtt 100000us"), (down, "bandwidth 45000000bit rtt 50000us")):
        assert " ".join(way.queue.words).startswith(words)
    assert {"triple-isolate", "nowash", "no-ack-filter", "egress"} <= set(up.queue.words)
    assert {"dual-dsthost", "ingress", "noatm"} <= set(down.queue.words)


@pytest.mark.parametrize(
    "command",
    [
        "fq_codel limit 10240 flows 1024 quantum 1514 target 5ms interval 100ms noecn",
        "codel limit 1000 target 5ms interval 100ms ecn",
        "pie limit 1000 target 15ms tupdate 15ms alpha 2 beta 20",
        "red limit 90000 min 7500 max 22500 avpkt 1000 burst 13 probability 0.1",
        "sfq limit 127 quantum 1514",
    ],
)
def test_commands_of_other_disciplines_are_read_and_written_again(command: str) -> None:
    name, *words = command.split()
    table, unread = tc.table(name, words, "here")
    assert unread == []
    tables = {
        "duration": "1 s",
        "bottleneck": {"rate": "10 Mbit/s", "queue": table},
        "group": [{"name": "tcp", "control": "newreno", "rtt": "20 ms"}],
    }
    found = queues(sojourn.scenario(tables)).up
    assert found is not None
    assert tc.table(name, found.queue.words, "again")[0].items() >= table.items()


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("tc qdisc add dev eth0 root tbf rate 8mbit burst 5kb latency 50ms", "50000 B"),
        ("qdisc tbf 1: dev eth0 root refcnt 2 rate 8Mbit burst 5Kb limit 64Kb", "65536 B"),
        (
            "tc qdisc add dev eth0 root handle 1: htb\ntc class add dev eth0 parent 1: classid 1:1 htb rate 8mbit",
            "1000 packets",
        ),
    ],
)
def test_a_shaper_without_a_queue_has_a_fifo(tmp_path: Path, text: str, limit: str) -> None:
    said = {one.key: one.value for one in of(tmp_path, text).values}
    assert said["bottleneck.rate"] == "8 Mbit/s"
    assert said["bottleneck.queue"] == {"kind": "droptail", "limit": limit}


def test_what_varies_keeps_its_rates_and_what_does_not_is_a_number(tmp_path: Path) -> None:
    found = of(tmp_path, log())
    assert found.trace is not None
    gaps = [second - first for first, second in itertools.pairwise(found.trace)]
    # Nine tenths of the shaper's rate were carried: 18 and 7.2 Mbit/s, and a packet has 12,000 bits.
    assert min(gaps) in (0, 1)
    assert len(found.trace) == pytest.approx(59 * 12.7e6 / 12e3, rel=0.02)
    assert of(tmp_path, log(rate=lambda _: 9000)).trace is None


def test_a_clock_that_jumps_ends_the_log(tmp_path: Path) -> None:
    lines = log().splitlines()
    lines[41] = lines[41].replace("1040;", "9040;")
    found = of(tmp_path, "\n".join([*lines[:40], *lines[41:]]))
    assert any("jumps" in one for one in found.remarks)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("hello there", "none of the kinds that are known"),
        (gzip.compress(b"{}" * 5000, mtime=0)[:-20], "cut short"),
        ('{"test_start": ', "cannot be read as JSON"),
        (json.dumps({"start": {"test_start": {"protocol": "UDP"}}, "end": {}}), "UDP"),
        (json.dumps({"error": "refused", "start": {"test_start": {}}}), "refused"),
        ("config queue 'wan'\n\toption upload '0'\n", "no shaper"),
        ("config queue 'wan'\n\toption upload 'fast'\n", "kbit/s"),
        ("qdisc fq_codel 0: dev eth0 root refcnt 2 limit 10240p", "shapes nothing"),
        ("tc qdisc add dev eth0 root cake bandwidth 9Zbit", "allowed: a number with bit"),
        ("tc qdisc add dev eth0 root tbf rate 9mbit latency 50ms\nqdisc nonesuch 2: dev eth0 parent 1: x", "nonesuch"),
        ("DATA_HEADER; LOG_TIMESTAMP\nDATA; 1\n", "its header has no"),
        (log(3), "at least 20"),
        (log(rate=lambda place: 9e9 if place % 2 else 1e9), "packets of a recorded link"),
        ("1\n2\n3\n2\n5\n", "before the one above it"),
    ],
)
def test_what_says_nothing_of_a_line_is_refused_in_a_sentence(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        of(tmp_path, text)
    assert message in str(caught.value)


def test_no_beginning_of_a_file_is_a_crash(tmp_path: Path) -> None:
    """Cut at any place, a file is read or refused."""
    for text in (ROUTER, SQM, json.dumps(IPERF3), json.dumps(FLENT), json.dumps(NDT7), log(25)):
        for place in range(0, len(text), max(1, len(text) // 40)):
            try:
                of(tmp_path, text[:place])
            except InputError:
                continue


STRANGE = (None, [], {}, "x", "", -1, 0, 1e300, True, [None], {"x": 1})


def changed(value: Any, strange: Any) -> Iterator[Any]:
    """Yield a document with each of its parts replaced, and with each left out."""
    yield strange
    if isinstance(value, dict):
        for key, one in value.items():
            yield {name: other for name, other in value.items() if name != key}
            yield from ({**value, key: part} for part in changed(one, strange))
    elif isinstance(value, list):
        yield value[:-1]
        yield from ([part, *value[1:]] for part in changed(value[0], strange)) if value else ()


@pytest.mark.parametrize("document", [IPERF3, NDT7, FLENT], ids=["iperf3", "ndt7", "flent"])
@pytest.mark.parametrize("strange", STRANGE, ids=repr)
def test_no_part_of_a_document_is_a_crash(tmp_path: Path, document: dict[str, Any], strange: Any) -> None:
    kind = "iperf3" if document is IPERF3 else "ndt7" if document is NDT7 else "flent"
    for one in changed(document, strange):
        try:
            found = of(tmp_path, json.dumps(one), kind)
            json.dumps(found.document(), allow_nan=False)
            assert tomllib.loads(found.toml()) == found.tables()
        except InputError:
            continue


@pytest.mark.parametrize(
    "text", [ROUTER, SQM, log(20, rate=lambda place: 20 if place % 2 else 8)], ids=["tc", "sqm", "autorate"]
)
def test_no_word_of_a_text_is_a_crash(tmp_path: Path, text: str) -> None:
    words = re.split(r"(\s+|;)", text)
    # A log says the same in each line.
    for place, word in enumerate(words[:160]):
        for strange in ("", "1.2.3", "-1", "nan", "1e999", "0", "x" * 50, "\x00"):
            if not word.strip():
                continue
            try:
                found = of(tmp_path, "".join([*words[:place], strange, *words[place + 1 :]]))
                json.dumps(found.document(), allow_nan=False)
                assert tomllib.loads(found.toml()) == found.tables()
            except InputError:
                continue


def test_a_capture_of_an_upload_is_its_line(tmp_path: Path, command: Command) -> None:
    """The line from its own packets, and its twins show what was measured."""
    fifo = {"rate": "8 Mbit/s", "queue": {"kind": "droptail", "limit": "150 ms"}}
    upload = {"name": "upload", "control": "cubic", "transport": "linux", "rtt": "30 ms"}
    base = sojourn.scenario(duration="15 s", bottleneck=fifo, group=[upload])
    base.run(packets=True).save(tmp_path / "run", pcap=True)
    found, compared = nearest(read(str(tmp_path / "run" / "bottleneck.pcapng")))
    (way,) = found.ways.values()
    assert way.rate_mbps is not None
    assert way.buffer_ms is not None
    assert found.rtt_ms is not None
    assert way.rate_mbps.value == pytest.approx(8.0, rel=0.01)
    assert way.buffer_ms.value == pytest.approx(150, rel=0.05)
    assert found.rtt_ms.value == pytest.approx(30, abs=2)
    assert compared is not None
    assert compared.missed == []
    out = tmp_path / "line.toml"
    said = command("import", str(tmp_path / "run" / "bottleneck.pcapng"), "--out", str(out))
    assert "among them" in said.out
    refused = command("import", str(tmp_path / "run" / "bottleneck.pcapng"), "--out", str(out))
    assert "--force" in refused.err


def test_a_capture_of_a_line_whose_rate_varies_is_a_recorded_link(tmp_path: Path, command: Command) -> None:
    """8 and 4 Mbit/s, 5 s each, before a buffer of 100 kB: both rates at their times, and the bytes of the buffer."""
    fifo = {"rate": "8 Mbit/s", "queue": {"kind": "droptail", "limit": "100000 B"}}
    upload = {"name": "upload", "control": "cubic", "transport": "linux", "rtt": "30 ms"}
    change = [{"at": f"{at} s", "bottleneck": {"rate": f"{rate} Mbit/s"}} for at, rate in ((5, 4), (10, 8), (15, 4))]
    base = sojourn.scenario(duration="20 s", bottleneck=fifo, change=change, group=[upload])
    base.run(packets=True).save(tmp_path / "run", pcap=True)
    capture = str(tmp_path / "run" / "bottleneck.pcapng")
    found, compared = nearest(read(capture))
    assert found.trace is not None
    per_s = np.bincount(np.array(found.trace) // 1000) * 12e3 / 1e6
    assert per_s[1:4] == pytest.approx([8.0] * 3, rel=0.03)
    assert per_s[6:9] == pytest.approx([4.0] * 3, rel=0.03)
    (way,) = found.ways.values()
    assert way.buffer_ms is not None
    assert way.buffer_ms.value * len(found.trace) * 1500 / found.trace[-1] == pytest.approx(100_000, rel=0.05)
    assert compared is not None
    assert compared.is_recorded
    assert compared.missed == []
    out = tmp_path / "line.toml"
    command("import", capture, "--out", str(out))
    assert (tmp_path / "line.trace").is_file()
    said = command("whatif", str(out), "--twins", "1").out
    assert "cake at 90 %" in said


def test_a_sender_that_pauses_is_not_a_line_that_varies(tmp_path: Path) -> None:
    """A second without packets, and a queue of 60 ms before and after it, at 4 Mbit/s all the time."""
    frames = []
    for place in range(3000):
        sent_ms = place * 3 + (1000 if place > 1500 else 0)
        frame = tcp(seq=1 + place * MSS, payload=MSS, stamps=(sent_ms + 1, 0))
        frames.append((int((1000 + (sent_ms + min(place, 60)) / 1e3) * 1e9), frame, MSS + 52))
    (way,) = of(tmp_path, pcap(frames)).ways.values()
    assert way.rate_mbps is not None
    assert way.rate_mbps.value == pytest.approx(4.0, rel=0.03)
    assert way.trace is None


def test_a_fit_is_the_part_of_right_lines_that_are_further_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """With this line among them, so that of four others none, or all, are a fifth or all."""
    known = {RATE: [0.1, 0.2, 0.3, 0.4], RECORDED: [1.0]}
    monkeypatch.setattr(twins_module, "_distances", lambda: known)
    found = [fit(one, RATE) for one in (0.0, 0.25, 0.4, 0.5)]
    assert [one.further for one in found if one is not None] == pytest.approx([1.0, 0.6, 0.4, 0.2])
    assert fit(0.5, RECORDED).further == 1.0  # type: ignore[union-attr]
    assert fit(math.inf, RATE) is None


def test_a_fit_of_another_queue_is_poor(tmp_path: Path, command: Command) -> None:
    """The line's own twins are near, and those of a buffer of a tenth are further than nearly all right lines are."""
    fifo = {"rate": "8 Mbit/s", "queue": {"kind": "droptail", "limit": "150 ms"}}
    upload = {"name": "upload", "control": "cubic", "transport": "linux", "rtt": "30 ms"}
    base = sojourn.scenario(duration="15 s", bottleneck=fifo, group=[upload])
    base.run(packets=True).save(tmp_path / "run", pcap=True)
    capture = str(tmp_path / "run" / "bottleneck.pcapng")
    found = read(capture)
    right = beside(sojourn.scenario(found.tables()), found.measured)
    wrong = beside(sojourn.scenario(found.tables()).with_({"bottleneck.queue": {"kind": "codel"}}), found.measured)
    assert right.fit is not None
    assert wrong.fit is not None
    assert right.fit.further > 0.1 >= wrong.fit.further
    assert "may be others" in str(wrong.fit)
    out = str(tmp_path / "line.toml")
    assert str(right.fit).split(".")[0] in command("import", capture, "--out", out).out
    told = json.loads(command("import", capture, "--out", out, "--force", "--json").out)
    assert told["twins"]["fit"]["further"] == right.fit.further
    command("import", capture, "--out", out, "--force", "--page", str(tmp_path / "line.html"))
    page = (tmp_path / "line.html").read_text()
    assert str(right.fit).split(".")[0] in page
    assert "The line fits its measurement" in page


def packets(*, seconds: float = 8.0, jump_s: float = 0.0) -> list[tuple[int, bytes, int]]:
    """Full segments at 4 Mbit/s that wait 1 to 200 ms, as their timestamps show; the clock jumps in the middle."""
    count = int(seconds * 4e6 / 12e3)
    frames = []
    for place in range(count):
        sent_ms = place * 3.0
        wait_ms = 1 + 199 * ((place % 400) / 400)
        frame = tcp(seq=1 + place * MSS, payload=MSS, stamps=(int(sent_ms) + 1, 0))
        time_s = (sent_ms + wait_ms) / 1e3 + (jump_s if place > count // 2 else 0.0)
        frames.append((int((1000 + time_s) * 1e9), frame, MSS + 52))
    return frames


@pytest.mark.parametrize("jump_s", [3600.0, -30.0])
def test_a_clock_of_a_capture_that_jumps_leaves_its_longest_part(tmp_path: Path, jump_s: float) -> None:
    found = of(tmp_path, pcap(packets(jump_s=jump_s)))
    assert any(f"its clock jumps by {jump_s:.3g}" in one for one in found.remarks)
    assert found.seconds == pytest.approx(4, abs=0.5)
    whole = of(tmp_path, pcap(packets()))
    assert whole.seconds == pytest.approx(8, abs=0.5)


def test_a_capture_that_is_too_short_says_how_long_it_must_be(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least 200 packets and 2 s"):
        of(tmp_path, pcap(packets(seconds=1.0)))


def test_packets_that_were_cut_are_said(tmp_path: Path) -> None:
    """By what the file's header says: 60 bytes may cut options off, and 128 hold all."""
    whole = pcap(packets())
    order = "big" if whole[:1] == b"\xa1" else "little"
    for size, is_said in ((60, True), (128, False)):
        data = whole[:16] + size.to_bytes(4, order) + whole[20:]
        assert any("cut to 60 bytes" in one for one in of(tmp_path, data).remarks) is is_said


def test_one_direction_with_no_queue_before_it_is_said_and_the_line_may_be_slower(tmp_path: Path) -> None:
    """Sent at 4 Mbit/s for the first second, and at 2 from then on, without acknowledgements."""
    frames = []
    for place in range(1333):
        sent_ms = 3 * place if place < 333 else 999 + 6 * (place - 333)
        frame = tcp(seq=1 + place * MSS, payload=MSS, stamps=(sent_ms + 1, 0))
        frames.append((int((1000 + (sent_ms + 1) / 1e3) * 1e9), frame, MSS + 52))
    found = of(tmp_path, pcap(frames))
    assert any("only one direction was captured" in one for one in found.remarks)
    (way,) = found.ways.values()
    assert way.rate_mbps is not None
    assert way.rate_mbps.low is not None
    assert way.rate_mbps.low < 2.3
    assert way.rate_mbps.value > 3


def test_a_capture_tells_its_direction_by_its_addresses_or_where_it_was_taken(tmp_path: Path) -> None:
    """Where both ends or none may be at home, what waited before it was captured came down."""
    frames = packets()
    assert list(of(tmp_path, pcap(frames)).ways) == ["down"]
    private = [(time, frame[:12] + bytes([10, 0, 0, 1, 8, 8, 8, 8]) + frame[20:], size) for time, frame, size in frames]
    assert list(of(tmp_path, pcap(private)).ways) == ["up"]
    path = tmp_path / "given"
    assert list(read(str(path), way="down").ways) == ["down"]
    (tmp_path / "both").write_text(ROUTER)
    with pytest.raises(InputError, match="both directions"):
        read(str(tmp_path / "both"), way="up")


def test_a_capture_may_be_packed(tmp_path: Path) -> None:
    data = pcap(packets())
    assert of(tmp_path, gzip.compress(data, mtime=0)).values == of(tmp_path, data).values


def test_a_queue_that_one_flow_cannot_tell_is_taken_as_a_fifo_unless_its_twins_differ(tmp_path: Path) -> None:
    codel = {"rate": "8 Mbit/s", "queue": {"kind": "codel", "preset": "linux"}}
    upload = {"name": "upload", "control": "cubic", "transport": "linux", "rtt": "30 ms"}
    base = sojourn.scenario(duration="20 s", bottleneck=codel, group=[upload])
    base.run(packets=True).save(tmp_path / "run", pcap=True)
    found, compared = nearest(read(str(tmp_path / "run" / "bottleneck.pcapng")))
    queue = found.tables()["bottleneck"]["queue"]
    assert queue["kind"] in ("codel", "fq_codel", "cake")
    assert compared is not None
    assert compared.distance < 0.3


def test_other_packages_may_add_kinds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kinds = dict(registry.kinds())
    own = registry.Kind("mine", "my own log", lambda one: one.sample.startswith("MINE"), kinds["mahimahi"].read)

    class Entry:
        name = "mine"

        def load(self) -> registry.Kind:
            return own

    monkeypatch.setattr(registry, "entry_points", lambda group: [Entry()] if group == registry.GROUP else [])
    registry.kinds.cache_clear()
    try:
        assert list(registry.kinds()) == [*kinds, "mine"]
        with pytest.raises(InputError, match="mine"):
            of(tmp_path, ROUTER, "tk")
    finally:
        monkeypatch.undo()
        registry.kinds.cache_clear()
