"""Captures of packets: pcap and pcapng files, read within bounds and up to the first damage.

Formats: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng. Only what is in front of a packet's payload is looked at.
"""

import itertools
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sojourn.detect.headers import LINKS, PACKED, ROW, Connection, Decoder
from sojourn.faults import input_error
from sojourn.reading import read_bytes

MAX_BYTES = 1 << 29
MAX_PACKETS = 4_000_000
"""A minute or less of reading; a download of 20 s at 1 Gbit/s has 2.5 million with its acknowledgements."""
SUFFIXES = (".pcap", ".pcapng", ".cap")
MAGICS = tuple(bytes.fromhex(one) for one in ("d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a"))
"""How pcap and pcapng files begin."""
_WHAT = "a capture"
_ALLOWED = "a pcap or pcapng file, as tcpdump, dumpcap and Wireshark write"
# The largest that one packet may be, as tcpdump has it.
_MAX_PACKET_BYTES = 1 << 18
_MAX_NS = 1 << 62
_NS_PER_S = 1_000_000_000
_MICRO, _NANO = 0xA1B2C3D4, 0xA1B23C4D
_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE, _PACKET = 0x0A0D0D0A, 1, 2, 3, 6
_BYTE_ORDER = 0x1A2B3C4D
_TSRESOL, _TSOFFSET = 9, 14
_MIN_BLOCK = 12
_OTHERS = {
    b"\x1f\x8b": "is compressed; unpack it with gunzip",
    b"\x28\xb5\x2f\xfd": "is compressed; unpack it with unzstd",
    b"PK": "is a ZIP archive; unpack it",
}

Packet = tuple[int, int, int, int, int]
"""Time in ns, link type, where the packet begins and ends in the file, and its length on the wire."""


class _Damaged(Exception):  # noqa: N818 (it ends the reading, and is no error of the caller)
    """From here on the file cannot be read."""


@dataclass(frozen=True)
class Capture:
    """The TCP and UDP packets of a capture in the order of their times."""

    rows: NDArray[np.void]
    """One row of type `ROW` for each."""
    connections: Mapping[int, Connection]
    """The ends of each connection by its number, without those that were forgotten because there are too many."""
    other: int
    """Packets that are neither TCP nor UDP over IP, or of which too little was captured."""
    damage: str | None
    """Why the reading ended before the end of the file, where it did."""

    @property
    def total(self) -> int:
        """How many connections were seen."""
        return int(self.rows["flow"].max()) + 1


def read_capture(path: Path) -> Capture:
    """Read a capture.

    A file that ends in the middle of a packet, or is damaged, is read up to there, and one with more than `MAX_PACKETS`
    up to these.

    Raises
    ------
    InputError
        The file is no capture, is larger than `MAX_BYTES`, or has no packet that can be used.
    """
    data = read_bytes(path, _WHAT, MAX_BYTES)
    packets = _first(_packets(data, str(path)))
    decoder = Decoder(data)
    rows, damage, number, links = bytearray(), None, 0, set()
    try:
        for time_ns, link, begin, end, wire_bytes in packets:
            number += 1
            links.add(link)
            found = decoder.decode(link, begin, end, wire_bytes)
            if found is not None:
                rows += PACKED.pack(time_ns, *found)
                if decoder.is_full:
                    decoder.forget(np.bincount(np.frombuffer(rows, ROW)["flow"]).tolist())
    except _Damaged as error:
        damage = f"{error}, after {number} packet{'s' * (number != 1)}"
    if not rows:
        raise _nothing(str(path), number, links, damage)
    table = np.frombuffer(rows, dtype=ROW)
    if (np.diff(table["time_ns"]) < 0).any():
        table = table[np.argsort(table["time_ns"], kind="stable")]
    return Capture(table, decoder.connections, number - len(table), damage)


def _first(packets: Iterator[Packet]) -> Iterator[Packet]:
    """Return the packets up to `MAX_PACKETS`."""
    yield from itertools.islice(packets, MAX_PACKETS)
    if next(packets, None) is not None:
        raise _Damaged("it has more packets than are read")


def _nothing(file: str, number: int, links: set[int], damage: str | None) -> Exception:
    if damage is not None and number == 0:
        return input_error(f"holds no packet that can be read: {damage}", file=file, allowed=_ALLOWED)
    if number == 0:
        return input_error("holds no packets", file=file, found="0 packets", allowed="a capture with packets")
    unknown = sorted(links - LINKS.keys())
    if unknown and not links & LINKS.keys():
        found = ", ".join(str(link) for link in unknown)
        allowed = ", ".join(f"{link} ({name})" for link, name in LINKS.items())
        message = f"found the link type {found}, which is not read; allowed: {allowed}"
        return input_error(message, file=file, found=found, allowed=allowed)
    message = f"none of its {number} packets is TCP or UDP over IP with all its headers"
    return input_error(message, file=file, allowed="a capture with at least 96 bytes of each packet")


def _packets(data: bytes, file: str) -> Iterator[Packet]:
    """Return what reads the packets of a file whose first bytes say which format it has."""
    if not data:
        raise input_error(f"the file is empty; allowed: {_ALLOWED}", file=file, found="0 bytes", allowed=_ALLOWED)
    (little,), (big,) = (struct.unpack(f"{order}I", data[:4].ljust(4, b"\0")) for order in "<>")
    for order, magic in (("<", little), (">", big)):
        if magic in (_MICRO, _NANO):
            return _pcap(data, order, 1000 if magic == _MICRO else 1)
    if little == _SECTION:
        return _pcapng(data)
    for begin, complaint in _OTHERS.items():
        if data.startswith(begin):
            raise input_error(f"{complaint}; allowed: {_ALLOWED}", file=file, allowed=_ALLOWED)
    found = data[:4].hex(" ")
    raise input_error(f"begins with {found}; allowed: {_ALLOWED}", file=file, found=found, allowed=_ALLOWED)


def _pcap(data: bytes, order: str, tick_ns: int) -> Iterator[Packet]:
    header, record = struct.Struct(f"{order}IHHiIII"), struct.Struct(f"{order}IIII")
    if len(data) < header.size:
        raise _Damaged("the file ends in its first header")
    # The upper bits say how frames end.
    link = header.unpack_from(data)[-1] & 0x0FFFFFFF
    at = header.size
    while at < len(data):
        if at + record.size > len(data):
            raise _Damaged("the file ends in the middle of a packet's header")
        seconds, parts, captured, wire_bytes = record.unpack_from(data, at)
        at += record.size
        _check_packet(captured, wire_bytes, len(data) - at)
        if parts * tick_ns >= _NS_PER_S:
            raise _Damaged("a packet's time has more than a second of parts")
        yield seconds * _NS_PER_S + parts * tick_ns, link, at, at + captured, wire_bytes
        at += captured


def _check_packet(captured: int, wire_bytes: int, left: int) -> None:
    if captured > _MAX_PACKET_BYTES or wire_bytes > _MAX_PACKET_BYTES:
        raise _Damaged(f"a packet claims to have {max(captured, wire_bytes)} bytes")
    if captured > left:
        raise _Damaged("the file ends in the middle of a packet")


@dataclass(frozen=True)
class _Interface:
    link: int
    units: int
    """Units of time in a second."""
    offset_s: int

    def time_ns(self, high: int, low: int) -> int:
        """Return the time of a packet."""
        time = (high << 32 | low) * _NS_PER_S // self.units + self.offset_s * _NS_PER_S
        if not 0 <= time < _MAX_NS:
            raise _Damaged("a packet's time is out of range")
        return time


def _pcapng(data: bytes) -> Iterator[Packet]:
    interfaces, untimed = list[_Interface](), 0
    for kind, order, at, end in _blocks(data):
        if kind == _SECTION:
            interfaces = []
        elif kind == _INTERFACE:
            interfaces.append(_interface(data, at, end, order))
        elif kind in (_PACKET, _OLD_PACKET):
            yield _enhanced(data, at, end, order, interfaces, is_old=kind == _OLD_PACKET)
        untimed += kind == _SIMPLE
    if untimed:
        raise _Damaged(f"{untimed} packets have no times")


def _blocks(data: bytes) -> Iterator[tuple[int, str, int, int]]:
    """Return each block's kind, the order of its bytes, and where its body begins and ends."""
    at, order = 0, "<"
    while at < len(data):
        if at + _MIN_BLOCK > len(data):
            raise _Damaged("the file ends in the middle of a block")
        (kind,) = struct.unpack_from(f"{order}I", data, at)
        if kind == _SECTION:
            order = _order(data, at)
        (length,) = struct.unpack_from(f"{order}I", data, at + 4)
        if length < _MIN_BLOCK or length % 4:
            raise _Damaged(f"a block claims to have {length} bytes")
        if at + length > len(data):
            raise _Damaged("the file ends in the middle of a block")
        (again,) = struct.unpack_from(f"{order}I", data, at + length - 4)
        if again != length:
            raise _Damaged(f"a block claims to have {length} bytes at its begin and {again} at its end")
        yield kind, order, at + 8, at + length - 4
        at += length


def _order(data: bytes, at: int) -> str:
    magic = data[at + 8 : at + 12]
    for order in "<>":
        if magic == struct.pack(f"{order}I", _BYTE_ORDER):
            return order
    raise _Damaged(f"a section's byte order is {magic.hex(' ')}")


def _interface(data: bytes, at: int, end: int, order: str) -> _Interface:
    if end - at < 8:  # noqa: PLR2004 (link type, nothing, and the snap length)
        raise _Damaged("an interface has no link type")
    (link,) = struct.unpack_from(f"{order}H", data, at)
    at += 8
    units, offset_s = 1_000_000, 0
    while at + 4 <= end:
        code, length = struct.unpack_from(f"{order}HH", data, at)
        value = data[at + 4 : min(at + 4 + length, end)]
        at += 4 + (length + 3) // 4 * 4
        if code == 0:
            break
        if code == _TSRESOL and len(value) == 1:
            units = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
        elif code == _TSOFFSET and len(value) == 8:  # noqa: PLR2004
            (offset_s,) = struct.unpack(f"{order}q", value)
    return _Interface(link, units, offset_s)


def _enhanced(data: bytes, at: int, end: int, order: str, interfaces: list[_Interface], *, is_old: bool) -> Packet:
    fixed = struct.Struct(f"{order}{'HHIIII' if is_old else 'IIIII'}")
    if end - at < fixed.size:
        raise _Damaged("a packet's block is too short")
    which, *_, high, low, captured, wire_bytes = fixed.unpack_from(data, at)
    if which >= len(interfaces):
        raise _Damaged(f"a packet is of interface {which}, which has not been described")
    at += fixed.size
    _check_packet(captured, wire_bytes, end - at)
    return interfaces[which].time_ns(high, low), interfaces[which].link, at, at + captured, wire_bytes
