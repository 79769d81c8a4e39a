"""Captures that somebody made to do harm: their cost is bounded, and a download among them is seen."""

import struct
import time
from pathlib import Path

import numpy as np
import pytest
from tests.captures import MSS, Frame, pcap, tcp

from sojourn.detect import capture, streams
from sojourn.detect.capture import read_capture
from sojourn.detect.captured import read_streams
from sojourn.detect.streams import Stream, of_capture

# Of what is linear in the file's size this takes a few, of what is quadratic thousands.
PROMPT_S = 60.0
# Connections whose ends the reader remembers (crates/sojourn-capture/src/read/connections.rs).
REMEMBERED = 1 << 16


def download(packets: int = 300) -> list[Frame]:
    return [(n * 10**6, tcp(seq=1 + n * MSS, payload=MSS, stamps=(n, 0)), MSS + 52) for n in range(packets)]


def single(number: int) -> Frame:
    """Return the only packet of a connection."""
    frame = bytearray(tcp(seq=7, payload=20))
    frame[12:16] = struct.pack("!I", 0x0A000000 + number)
    return number * 1000, bytes(frame), len(frame) + 20


def read(frames: list[Frame], folder: Path) -> tuple[list[Stream], list[str]]:
    file = folder / "hostile.pcap"
    file.write_bytes(pcap(sorted(frames)))
    return read_streams(file)


@pytest.mark.long
def test_many_connections_of_one_packet_hide_no_download(tmp_path: Path) -> None:
    """Their number is far above what is remembered, and the download goes on from the first to the last."""
    count = 3 * REMEMBERED
    step = count // 300
    spread = [(n * step * 1000 + 500, data, length) for n, (_, data, length) in enumerate(download())]
    found, notes = read([*spread, *map(single, range(count))], tmp_path)
    (alone,), _ = read(spread, tmp_path)
    assert found[0].name == alone.name == "192.0.2.1:80 > 192.0.2.2:40000, TCP"
    assert len(found[0].arrived_s) == len(alone.arrived_s) == 300
    assert len(found) == streams.MAX_CONNECTIONS
    assert notes == ["Only the 1000 connections with the most bytes were looked at."]
    held = read_capture(tmp_path / "hostile.pcap")
    assert len(held.connections) == 1
    held = read_capture(_written(tmp_path, [single(n) for n in range(count)]))
    assert len(held.connections) <= REMEMBERED


def _written(folder: Path, frames: list[Frame]) -> Path:
    file = folder / "more.pcap"
    file.write_bytes(pcap(sorted(frames)))
    return file


def test_many_holes_and_what_fills_none_cost_no_square(tmp_path: Path) -> None:
    count = 60_000
    holes = [(n, tcp(seq=1 + 2 * n * MSS, payload=MSS), MSS + 40) for n in range(count)]
    # Far above the highest hole's begin in the order of the numbers, below the highest number, and again and again.
    again = [(count + n, tcp(seq=1 + 2 * (count - 2) * MSS, payload=MSS), MSS + 40) for n in range(count)]
    began = time.monotonic()
    (found,), _ = read([*holes, *again], tmp_path)
    assert time.monotonic() - began < PROMPT_S
    assert found.missed > 0
    assert found.lost_after == count


def test_a_gigantic_hole_is_no_list_of_packets(tmp_path: Path) -> None:
    """What 32 bits can leave out between packets of one byte, filled by few that claim to be as long as can be."""
    count, longest = 90_000, 1 << 18
    tiny = [(n * 10**6, tcp(seq=1 + n, payload=1, stamps=(n, 0)), 53) for n in range(count)]
    beyond = (count * 10**6, tcp(seq=2**31 - 10, payload=1, stamps=(count, 0)), 53)
    long = bytearray(tcp(seq=count + 5, stamps=(count + 1, 0)))
    # Without a length in its header a packet is as long as the frame.
    long[2:4] = bytes(2)
    filling = [((count + 1 + n) * 10**6, bytes(long), longest) for n in range(2**31 // longest + 2)]
    began = time.monotonic()
    (found, *_), _ = read([*tiny, beyond, *filling], tmp_path)
    assert time.monotonic() - began < PROMPT_S
    assert found.lost_before > 2**30
    assert found.before is None


def test_the_begin_of_a_long_capture_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "MAX_PACKETS", 250)
    (found,), notes = read(download(), tmp_path)
    assert len(found.arrived_s) == 250
    assert notes == ["Only a part of the capture was read: it has more packets than are read, after 250 packets."]
    (found,), notes = read(download(250), tmp_path)
    assert (len(found.arrived_s), notes) == (250, [])


def test_what_was_forgotten_is_known_again(tmp_path: Path) -> None:
    late = [(10**9 + at, data, length) for at, data, length in download()]
    found = of_capture(read_capture(_written(tmp_path, [*map(single, range(REMEMBERED + 100)), *late])))
    assert found[0].total_bytes == 300 * (MSS + 52)
    assert np.ptp(found[0].arrived_s) == pytest.approx(0.299)
