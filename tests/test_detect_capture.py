"""What a capture of a download says of the queue: against the simulation's truth, and of files that are damaged."""

import json
import struct
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.captures import ETHERNET, MSS, RAW, ip, of_run, pcap, tcp

import sojourn
from sojourn import InputError
from sojourn.detect.capture import read_capture
from sojourn.detect.captured import is_download, read_streams
from sojourn.detect.headers import ends_of
from sojourn.detect.log import of_table
from sojourn.detect.passive import AFTER, BEFORE, ENDS, Passive, passive
from sojourn.detect.remedies import remedy_for_download
from sojourn.detect.stored import load_model
from sojourn.detect.streams import of_capture, of_logs

RATE_MBPS = 10.0
QUEUES: dict[str, dict[str, Any]] = {
    "droptail": {"kind": "droptail", "limit": "100 packets"},
    "codel": {"kind": "codel", "preset": "linux"},
    "pie": {"kind": "pie", "preset": "linux"},
    "fq_codel": {"kind": "fq_codel", "preset": "linux"},
    "cake": {"kind": "cake"},
}
MANAGED = {"codel", "pie", "fq_codel", "cake"}
FAIR = {"fq_codel", "cake"}


def run(name: str, *, ecn: bool = False, seconds: float = 15, others: tuple[dict[str, Any], ...] = ()) -> Any:
    download = {"name": "download", "rtt": "30 ms", "control": "cubic", "transport": {"preset": "linux", "ecn": ecn}}
    scenario = sojourn.scenario(
        {
            "duration": f"{seconds} s",
            "seed": 3,
            "bottleneck": {"rate": f"{RATE_MBPS} Mbit/s", "queue": QUEUES[name]},
            "group": [download, *({**download, **other} for other in others)],
        }
    )
    return scenario.run(series=False, packets=True, jobs=1)


# After the slow start of the first, whose waits would tell of nothing else.
SECOND = {"name": "second", "start": "2.3 s"}


@cache
def captured(name: str, *, ecn: bool = False, two: bool = False) -> tuple[Any, bytes]:
    result = run(name, ecn=ecn, others=(SECOND,) if two else ())
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        result.write_pcaps(Path(folder))
        (file,) = Path(folder).iterdir()
        return result, file.read_bytes()


def told(data: bytes, folder: Path, name: str = "download.pcapng") -> Passive:
    file = folder / name
    file.write_bytes(data)
    streams, notes = read_streams(file)
    return passive(streams, load_model(), notes)


@pytest.mark.parametrize("name", QUEUES)
def test_a_capture_of_the_simulator_shows_the_queue(name: str, tmp_path: Path) -> None:
    result, data = captured(name)
    found = told(data, tmp_path)
    (flow,) = result.runs[0].flows
    assert found.place == BEFORE
    # A packet that was sent again and lost again leaves one hole only.
    assert 0.9 * flow.drops <= found.lost <= flow.drops
    assert found.rate_mbps == pytest.approx(RATE_MBPS, rel=0.03)
    # The connection began by itself, so that its handshake met no queue: the RTT and the time that a SYN takes.
    assert found.rtt_ms == pytest.approx(30, abs=1)
    # Sender's times in ms make each wait uncertain by as much.
    rows = [row for row in result.packets.to_pylist() if row["event"] == "departure" and row["kind"] == "data"]
    waits = np.array([row["sojourn_ns"] for row in rows]) / 1e6
    for key, fraction in (("p5", 0.05), ("median", 0.5), ("p95", 0.95)):
        assert found.wait_ms[key] == pytest.approx(np.quantile(waits, fraction), abs=1.5), key
    assert found.judgement is not None, found.verdict
    assert found.has_aqm is not None
    assert (found.has_aqm > 0.5) == (name in MANAGED), (found.verdict, found.judgement.names)
    assert name in found.judgement.sets["99 %"], found.judgement.names
    assert "isolated" in found.cannot
    assert "no other flow" in found.cannot["isolated"]


@pytest.mark.parametrize("name", QUEUES)
def test_a_second_flow_tells_fair_queueing(name: str, tmp_path: Path) -> None:
    _, data = captured(name, two=True)
    found = told(data, tmp_path)
    assert found.rate_mbps == pytest.approx(RATE_MBPS, rel=0.03)
    # What cannot be told is not said; what is said is right.
    assert found.isolated in (name in FAIR, None), (found.evidence, found.cannot)
    assert (found.isolated is None) == ("isolated" in found.cannot)
    if name == "droptail":
        assert found.isolated is False
        buffer = found.parameters["buffer_packets"]
        assert buffer.value == pytest.approx(100, rel=0.1)


@pytest.mark.parametrize("name", ["fq_codel", "cake"])
def test_marks_are_counted(name: str, tmp_path: Path) -> None:
    result, data = captured(name, ecn=True)
    found = told(data, tmp_path)
    assert found.marked == result.packets["event"].to_pylist().count("mark") > 0
    assert found.ect == found.packets
    assert any("marked instead of dropped" in sentence for sentence in found.evidence)


def test_a_result_with_packets_says_the_same(tmp_path: Path) -> None:
    result, data = captured("droptail")
    folder = tmp_path / "result"
    result.save(folder)
    streams, notes = read_streams(folder)
    assert notes == []
    both = passive(streams, load_model())
    one = told(data, tmp_path)
    assert both.place == ENDS
    assert both.lost == one.lost
    assert both.wait_ms["median"] == pytest.approx(one.wait_ms["median"], abs=1.5)
    assert "acknowledgements" in both.cannot["rtt"]
    alone, _ = read_streams(folder / "packets.parquet")
    assert alone[0].name == streams[0].name


@pytest.mark.long
@pytest.mark.parametrize("at_sender", [True, False])
@pytest.mark.parametrize("first", [1, 2**32 - 3_000_000])
def test_either_end_may_capture(at_sender: bool, first: int, tmp_path: Path) -> None:
    """At the sender the way to the acknowledgement shows the queue; sequence numbers may wrap."""
    result, _ = captured("droptail")
    frames = of_run(result.packets, "download", at_sender=at_sender, back_ns=15_000_000, first=first, base_ns=10**18)
    found = told(pcap(frames), tmp_path, "download.pcap")
    (flow,) = result.runs[0].flows
    assert found.place == (AFTER if at_sender else BEFORE)
    assert found.lost == flow.drops
    assert found.wait_ms["deepest"] == pytest.approx(100 * 1.2, rel=0.05)
    if at_sender:
        assert found.rtt_ms is None or found.rtt_ms == pytest.approx(31.2, abs=1.5)


def test_what_overtakes_is_not_lost(tmp_path: Path) -> None:
    """Every hundredth packet comes 5 ms late, behind those that were sent after it; its timestamp tells."""
    frames = []
    for number in range(4000):
        sent_ns = number * 1_200_000
        data = tcp(seq=1 + number * MSS, payload=MSS, stamps=(sent_ns // 10**6, 0))
        frames.append((sent_ns + (5_000_000 if number % 100 == 50 else 0), data, len(data) + MSS))
    (stream,) = of_capture(read_capture(written(tmp_path, pcap(sorted(frames)))))
    assert (stream.lost_before, stream.lost_after, stream.missed) == (0, 0, 0)


def test_what_was_not_captured_is_said(tmp_path: Path) -> None:
    frames = [
        (n * 1_200_000, tcp(seq=1 + n * MSS, payload=MSS, stamps=(n * 12 // 10, 0)), 1500)
        for n in range(4000)
        if n % 20
    ]
    found = told(pcap(frames), tmp_path, "x.pcap")
    # Those of the last third may have been sent again after the end.
    assert found.verdict.startswith("cannot say, because the capture missed 139 of ")


def written(folder: Path, data: bytes) -> Path:
    file = folder / "x.pcap"
    file.write_bytes(data)
    return file


def ethernet(packet: bytes, kind: int = 0x0800, tags: bytes = b"") -> bytes:
    return bytes(12) + tags + struct.pack("!H", kind) + packet


SEGMENT = tcp(seq=5, payload=3, stamps=(9, 8)) + b"abc"
SIX = (
    struct.pack("!IHBB", 0x6 << 28 | 0x02 << 20, len(SEGMENT) - 20 + 8, 0, 64)
    + bytes(15)
    + b"\x01"
    + bytes(15)
    + b"\x02"
    + bytes([6, 0])
    + bytes(6)
    + SEGMENT[20:]
)


@pytest.mark.parametrize(
    ("link", "frame"),
    [
        (RAW, SEGMENT),
        (ETHERNET, ethernet(SEGMENT)),
        (ETHERNET, ethernet(SEGMENT, tags=b"\x81\x00\x00\x05")),
        (ETHERNET, ethernet(SEGMENT, tags=b"\x88\xa8\x00\x05\x81\x00\x00\x06")),
        (ETHERNET, ethernet(b"\x11\x00\x00\x01\x00\x00\x00\x21" + SEGMENT, kind=0x8864)),
        (ETHERNET, ethernet(SIX, kind=0x86DD)),
        (113, bytes(14) + b"\x08\x00" + SEGMENT),
        (276, b"\x08\x00" + bytes(18) + SEGMENT),
        (0, bytes(4) + SEGMENT),
        (229, SIX),
    ],
)
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanos", [True, False])
def test_headers_of_many_links(link: int, frame: bytes, order: str, nanos: bool, tmp_path: Path) -> None:
    found = read_capture(
        written(tmp_path, pcap([(1_000_002_000, frame, len(frame))], link=link, order=order, nanos=nanos))
    )
    (row,) = found.rows
    assert (row["time_ns"], row["seq"], row["payload_bytes"], row["stamp"], row["echo"]) == (1_000_002_000, 5, 3, 9, 8)
    assert ends_of(found.connections[0]).endswith("TCP")
    assert found.damage is None


ARP = ethernet(bytes(28), kind=0x0806)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "the file is empty"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "begins with 89 50 4e 47; allowed: a pcap or pcapng file"),
        (b"duration = '9 s'\n", "begins with 64 75 72 61"),
        (b"\x1f\x8b\x08\x00" + bytes(50), "is compressed; unpack it with gunzip"),
        (pcap([]), "holds no packets"),
        (pcap([])[:20], "holds no packet that can be read: the file ends in its first header"),
        (pcap([(1, ARP, 42)], link=ETHERNET), "none of its 1 packets is TCP or UDP over IP"),
        (
            pcap([(1, SEGMENT, 43)], link=127),
            "found the link type 127, which is not read; allowed: 0 (BSD loopback), 1",
        ),
        (pcap([(1, SEGMENT[:30], 43)]), "none of its 1 packets is TCP or UDP over IP with all its headers"),
        (pcap([(1, tcp(), 40)]), "none of its packets carries data"),
        (b"\n\r\r\n" + bytes(40), "holds no packet that can be read: a section's byte order is 00 00 00 00"),
    ],
)
def test_what_is_no_capture_is_refused(data: bytes, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        told(data, tmp_path)
    assert complaint in str(refused.value)
    assert str(tmp_path) in str(refused.value)


def test_streams_that_tell_nothing_are_named(tmp_path: Path) -> None:
    datagram = ip(17, struct.pack("!HHHH", 443, 50_000, 1258, 0), 1250)
    found = told(pcap([(n * 10**6, datagram, 1278) for n in range(3000)]), tmp_path)
    assert "does not tell when its packets were sent (a download over QUIC is UDP, too)" in found.verdict
    assert found.rate_mbps == pytest.approx(10.2, rel=0.01)
    silent = [(n * 10**6, tcp(seq=1 + n * MSS, payload=MSS), 1488) for n in range(3000)]
    found = told(pcap(silent), tmp_path)
    assert "no TCP timestamps" in found.verdict
    few = [(n * 10**8, tcp(seq=1 + n * MSS, payload=MSS, stamps=(n * 100, 0)), 1500) for n in range(50)]
    found = told(pcap(few), tmp_path)
    assert "at least 200 in 2 s are needed" in found.verdict


def test_a_path_without_a_queue_has_no_name(tmp_path: Path) -> None:
    calm = [(n * 2_000_000, tcp(seq=1 + n * MSS, payload=MSS, stamps=(n * 2, 0)), 1500) for n in range(3000)]
    found = told(pcap(calm), tmp_path)
    assert "no queue was seen" in found.verdict
    assert found.judgement is None


@pytest.mark.parametrize("part", [0.001, 0.2, 0.5, 0.99])
def test_a_file_that_was_cut_is_read_up_to_there(part: float, tmp_path: Path) -> None:
    _, data = captured("codel")
    cut = data[: int(len(data) * part) // 4 * 4 + 1]
    found = told(cut, tmp_path)
    assert any("the file ends in the middle of a block" in note for note in found.notes)
    (row,) = of_capture(read_capture(written(tmp_path, cut)))
    assert len(row.arrived_s) == found.packets < 20_000


@cache
def small() -> bytes:
    _, data = captured("droptail")
    return data[:20_000]


@pytest.mark.long
@given(st.data())
def test_no_bytes_lead_to_anything_but_an_answer_or_a_refusal(tmp_path_factory: Any, data: st.DataObject) -> None:
    is_pcapng = data.draw(st.booleans())
    changed = bytearray(small() if is_pcapng else pcap([(n * 10**6, SEGMENT, 60) for n in range(30)]))
    for _ in range(data.draw(st.integers(0, 8))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(changed[: data.draw(st.integers(0, len(changed)))])
    folder = tmp_path_factory.mktemp("any")
    # Anything but these two ways to end fails the test.
    with suppress(InputError):
        found = told(cut, folder)
        assert found.packets > 0
        assert found.verdict
        assert json.dumps(found.document(), allow_nan=False)


@pytest.mark.long
@given(st.binary(max_size=300))
def test_headers_of_any_bytes(tmp_path_factory: Any, frame: bytes) -> None:
    folder = tmp_path_factory.mktemp("frames")
    for link in (0, 1, 101, 113, 276):
        with suppress(InputError):
            told(pcap([(1, frame, len(frame)), (2, SEGMENT, 60)], link=link), folder)


def test_the_command_reads_a_capture_by_its_name_or_its_first_bytes(command: Any, tmp_path: Path) -> None:
    result, data = captured("fq_codel", two=True)
    file = tmp_path / "download"
    file.write_bytes(data)
    assert is_download(file)
    done = command("detect", file)
    assert done.code == 0, done.err
    assert "wait in the queue" in done.out
    assert "Mbit/s" in done.out
    assert done.err == ""
    done = command("detect", file, "--json")
    found = json.loads(done.out)
    drops = max(flow.drops for flow in result.runs[0].flows)
    assert 0.9 * drops <= found["lost"] <= drops
    assert found["place"] == BEFORE
    missing = command("detect", tmp_path / "no.pcap")
    assert missing.code == 2
    assert "no such file" in missing.err
    folder = tmp_path / "bare"
    run("codel", seconds=3).save(folder)
    (folder / "packets.parquet").unlink(missing_ok=True)
    refused = command("detect", folder)
    assert refused.code == 2
    assert "holds no packets.parquet" in refused.err


@pytest.mark.long
def test_a_capture_says_what_to_do_and_what_that_would_change(command: Any, tmp_path: Path) -> None:
    _, data = captured("droptail")
    file, page = tmp_path / "download.pcap", tmp_path / "download.html"
    file.write_bytes(data)
    done = command("detect", file, "--page", page)
    assert done.code == 0, done.err
    assert "The line carries 10 Mbit/s, and 95 % of this download's packets waited up to " in done.out
    assert "CAKE on the router behind the line" in done.out
    assert "tc qdisc replace dev DEV root cake bandwidth 9.5mbit ingress" in done.out
    assert "cake at 95 %" in done.out
    text = page.read_text(encoding="utf-8")
    assert "What would another queue change?" in text
    assert "packets waited above the least of them" in text
    advised = json.loads(command("detect", file, "--json").out)["remedy"]
    assert advised["command"].endswith("9.5mbit ingress")
    assert len({row["variant"] for row in advised["variants"]}) == 4


def test_nothing_needs_to_be_done_about_a_queue_that_keeps_flows_apart(tmp_path: Path) -> None:
    _, data = captured("fq_codel", two=True)
    advised = remedy_for_download(told(data, tmp_path))
    assert advised is not None
    assert advised.command is None
    assert advised.sentences[2].startswith("A call does not suffer from it")


def test_a_family_is_not_said_by_what_is_usual(tmp_path: Path) -> None:
    """Alone behind CoDel a download shows an AQM; nothing shows whether flows are kept apart, as most queues do."""
    found = told(captured("codel")[1], tmp_path)
    assert found.isolated is None
    assert not found.verdict.startswith("fair queueing")
    assert found.has_aqm is not None
    assert found.has_aqm > 0.8
    advised = remedy_for_download(found)
    assert advised is not None
    assert advised.sentences[1].startswith("The queue is most like ")


def test_others_that_were_not_captured_leave_no_rate() -> None:
    """What left the queue was less in some quarters than in others."""
    result = run("droptail", others=({"name": "others", "start": "6 s", "stop": "11 s"},))
    logs = of_table(result.packets)
    found = passive(of_logs({"download": logs["download"]}), load_model())
    assert found.line.low_mbps is None
    assert "others were on the line" in found.line.why_not
    whole = passive(of_logs(logs), load_model())
    assert whole.line.low_mbps == pytest.approx(RATE_MBPS, rel=0.03)
