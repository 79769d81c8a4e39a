"""Captures on both sides of a queue, and what they say of each packet."""

import numpy as np
import pytest

from sojourn.worlds.linux.captures import HEADER_BYTES, MAGIC, ROW, Capture, CaptureError, match, read_capture

START_NS = 5_000_000_000


def rows(packets):
    """Make rows of dictionaries; what they leave out is zero."""
    table = np.zeros(len(packets), dtype=ROW)
    for row, packet in zip(table, packets, strict=True):
        for name, value in packet.items():
            row[name] = value
    return table


def capture(*packets):
    return Capture(rows(packets), START_NS)


def packet(time_ms, number, **other):
    return {
        "time_ns": START_NS + round(time_ms * 1e6),
        "protocol": 17,
        "ip_id": number,
        "bytes": 1500,
        "ttl": 64,
    } | other


def write(path, table, *, row_bytes=ROW.itemsize):
    header = MAGIC + row_bytes.to_bytes(4, "little") + bytes(4) + START_NS.to_bytes(8, "little") + bytes(8)
    path.write_bytes(header + table.tobytes())
    return path


def test_a_row_has_the_documented_layout():
    assert ROW.itemsize == 48
    places = [0, 8, 12, 16, 20, 22, 24, 26, 27, 28, 29, 30, 31, 32, 36, 40]
    assert [ROW.fields[name][1] for name in ROW.names] == places


def test_reads_what_was_written(tmp_path):
    table = rows([packet(1, 7), packet(2.5, 8, outgoing=1)])
    found = read_capture(write(tmp_path / "x.pkts", table))
    assert (found.rows == table).all()
    assert found.time_s.tolist() == [0.001, 0.0025]
    assert found.only(outgoing=True).rows["ip_id"].tolist() == [8]


def test_a_router_changes_nothing_that_counts():
    before = capture(packet(1, 7, ttl=64, tos=2), packet(2, 8, ttl=64, tos=2), packet(3, 9, tos=2))
    after = capture(packet(5, 7, ttl=63, tos=2), packet(7, 9, ttl=63, tos=3))
    fates = match(before, after)
    assert fates.passed.tolist() == [True, False, True]
    assert fates.delay_s[[0, 2]] == pytest.approx([0.004, 0.004])
    assert np.isnan(fates.delay_s[1])
    assert fates.marked.tolist() == [False, False, True]
    assert fates.dropped().tolist() == [False, True, False]
    assert fates.unknown == 0


def test_marked_before_is_not_marked_here():
    fates = match(capture(packet(1, 7, tos=3)), capture(packet(2, 7, tos=3)))
    assert fates.marked.tolist() == [False]


def test_a_queue_may_change_the_order_and_copies_keep_it():
    before = capture(packet(1, 7), packet(2, 8), packet(3, 7))
    after = capture(packet(4, 8), packet(5, 7), packet(6, 7))
    assert (match(before, after).delay_s * 1e3).tolist() == pytest.approx([4, 2, 3])


def test_what_never_came_is_unknown():
    fates = match(capture(packet(1, 7)), capture(packet(2, 7), packet(3, 99)))
    assert fates.unknown == 1


def test_what_may_still_wait_is_not_dropped():
    fates = match(capture(packet(0, 1), packet(1, 2), packet(99, 3)), capture(packet(100, 1)))
    assert fates.dropped(settled_s=0.01).tolist() == [False, True, False]
    assert fates.dropped().tolist() == [False, True, True]


def test_nothing_is_something():
    fates = match(capture(), capture())
    assert len(fates.arrived) == len(fates.delay_s) == len(fates.dropped()) == 0


@pytest.mark.parametrize("key", ["protocol", "source", "destination", "source_port", "seq", "ack", "payload", "ip_id"])
def test_each_part_of_the_key_tells_packets_apart(key):
    fates = match(capture(packet(1, 7)), capture(packet(2, 7, **{key: 200})))
    assert fates.passed.tolist() == [False]


def test_many_packets_survive_a_shuffle_with_their_delays():
    rng = np.random.default_rng(1)
    arrivals = np.sort(rng.uniform(0, 1e3, 2000))
    waits = rng.uniform(0.01, 50, 2000)
    lost = rng.random(2000) < 0.1
    names = np.arange(2000)
    before = capture(*(packet(time, int(name)) for time, name in zip(arrivals, names, strict=True)))
    left = [
        packet(time + wait, int(name))
        for time, wait, name, gone in zip(arrivals, waits, names, lost, strict=True)
        if not gone
    ]
    fates = match(before, capture(*sorted(left, key=lambda row: row["time_ns"])))
    assert (fates.passed == ~lost).all()
    assert fates.delay_s[~lost] * 1e3 == pytest.approx(waits[~lost], abs=1e-5)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"no" + data[2:], "found no capture"),
        (lambda data: data[: HEADER_BYTES - 1], "found no capture"),
        (lambda data: data[:-1], "the last row is not whole"),
        (lambda data: data[:8] + b"\x07" + data[9:], "rows have 7 bytes; this version reads 48"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, damage, message):
    path = write(tmp_path / "x.pkts", rows([packet(1, 7)]))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(CaptureError, match=message):
        read_capture(path)


def test_captures_the_wrong_way_round_are_refused():
    with pytest.raises(CaptureError, match="left before they came"):
        match(capture(packet(2, 7)), capture(packet(1, 7)))


def test_captures_of_different_runs_are_refused():
    with pytest.raises(CaptureError, match="different runs"):
        match(capture(packet(2, 7)), Capture(rows([packet(3, 7)]), START_NS + 1))
