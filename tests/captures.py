"""Captures made by hand for tests: frames with headers as they are on a wire, in pcap files."""

import struct
from collections.abc import Iterable
from typing import Any

Frame = tuple[int, bytes, int]
"""Time in ns, the bytes captured, and the length on the wire."""
MSS = 1448
ETHERNET, RAW = 1, 101
SENDER, RECEIVER = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])


def tcp(  # noqa: PLR0913 (one for each field)
    *,
    seq: int = 1,
    ack: int = 1,
    payload: int = 0,
    flags: int = 0x10,
    stamps: tuple[int, int] | None = None,
    sack: tuple[int, int] | None = None,
    back: bool = False,
    tos: int = 0,
    window: int = 65_535,
    shift: int | None = None,
) -> bytes:
    """Return IPv4 and TCP headers; those of the way back have the ports exchanged."""
    options = b"" if shift is None else bytes([1, 3, 3, shift])
    if stamps is not None:
        options += b"\x01\x01\x08\x0a" + struct.pack("!II", *(one % 2**32 for one in stamps))
    if sack is not None:
        options += b"\x01\x01\x05\x0a" + struct.pack("!II", *(one % 2**32 for one in sack))
    ports = (80, 40_000) if not back else (40_000, 80)
    words = 5 + len(options) // 4
    head = struct.pack("!HHIIBBHHH", *ports, seq % 2**32, ack % 2**32, words << 4, flags, window, 0, 0) + options
    return ip(6, head, payload, back=back, tos=tos)


def ip(protocol: int, transport: bytes, payload: int = 0, *, back: bool = False, tos: int = 0) -> bytes:
    """Return an IPv4 header and what follows."""
    ends = (SENDER, RECEIVER) if not back else (RECEIVER, SENDER)
    length = 20 + len(transport) + payload
    return struct.pack("!BBHHHBBH", 0x45, tos, length, 0, 0x4000, 64, protocol, 0) + ends[0] + ends[1] + transport


def pcap(frames: Iterable[Frame], *, link: int = RAW, order: str = "<", nanos: bool = True) -> bytes:
    """Return a pcap file."""
    magic, tick = (0xA1B23C4D, 1) if nanos else (0xA1B2C3D4, 1000)
    parts = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 262_144, link)]
    for time_ns, data, length in frames:
        seconds, rest = divmod(time_ns, 10**9)
        parts += [struct.pack(f"{order}IIII", seconds, rest // tick, len(data), length), data]
    return b"".join(parts)


def of_run(table: Any, group: str, *, at_sender: bool, back_ns: int, first: int = 1, base_ns: int = 0) -> list[Frame]:
    """Return what a capture at one end of a group with one flow would hold, acknowledgements with SACK included."""
    rows = [
        row
        for row in table.to_pylist()
        if row["group"] == group and row["kind"] == "data" and row["event"] in ("send", "receive")
    ]
    sent = {(row["seq"], row["time_ns"]): row for row in rows if row["event"] == "send"}
    frames: list[Frame] = []
    come: set[int] = set()
    next_ = 0
    for row in sorted(rows, key=lambda row: row["time_ns"]):
        number, now = row["seq"], row["time_ns"]
        received = row["event"] == "receive"
        stamp = (now - row["sojourn_ns"] if received else now) // 10**6
        begin = first + number * MSS
        if received != at_sender:
            tos = 3 if row["ecn"] == "ce" else 0
            data = tcp(seq=begin, payload=MSS, stamps=(stamp, 7), tos=tos)
            frames.append((base_ns + now, data, len(data) + MSS))
        if received:
            come.add(number)
            while next_ in come:
                next_ += 1
            sack = (begin, begin + MSS) if number > next_ else None
            ack = tcp(ack=first + next_ * MSS, stamps=(now // 10**6, stamp), sack=sack, back=True)
            frames.append((base_ns + now + (back_ns if at_sender else 0), ack, len(ack)))
    assert sent
    return sorted(frames, key=lambda frame: frame[0])
