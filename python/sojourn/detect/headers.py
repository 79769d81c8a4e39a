"""What the headers of a captured packet say: link layer, IPv4 and IPv6, TCP and UDP."""

import ipaddress
import struct
from collections.abc import Mapping, Sequence

import numpy as np

ROW = np.dtype(
    [
        ("time_ns", "<i8"),
        ("flow", "<u4"),
        ("forth", "u1"),
        ("tos", "u1"),
        ("protocol", "u1"),
        ("flags", "u1"),
        ("size_bytes", "<u4"),
        ("payload_bytes", "<u4"),
        ("seq", "<u4"),
        ("ack", "<u4"),
        ("stamp", "<u4"),
        ("echo", "<u4"),
        ("sack", "<u4"),
        ("options", "u1"),
    ]
)
"""A packet: `forth` is 1 in one of the two directions of its connection; `stamp`, `echo` and `sack` (the end of the
first block) are the options of TCP that `options` says are there."""
PACKED = struct.Struct("<qIBBBBIIIIIIIB")
HAS_STAMPS, HAS_SACK = 1, 2
TCP, UDP = 6, 17
FIN, SYN, RST, ACK, ECE, CWR = 0x01, 0x02, 0x04, 0x10, 0x40, 0x80
ECN_BITS, CE = 3, 3

LINKS = {
    0: "BSD loopback",
    1: "Ethernet",
    12: "raw IP",
    14: "raw IP",
    101: "raw IP",
    108: "OpenBSD loopback",
    113: "Linux cooked",
    228: "IPv4",
    229: "IPv6",
    276: "Linux cooked 2",
}
"""Types of links whose headers are understood (tcpdump.org/linktypes.html)."""
_IP_AT = {0: 4, 12: 0, 14: 0, 101: 0, 108: 4, 228: 0, 229: 0}
_COOKED = {113: (14, 16), 276: (0, 20)}
_VLAN, _PPPOE = (0x8100, 0x88A8, 0x9100), 0x8864
_IP = (0x0800, 0x86DD)
_PPPOE_BYTES = 8
_MAX_TAGS = 4
_EXTENSIONS = (0, 43, 60)
_FRAGMENT = 44
_MAX_EXTENSIONS = 8
_IPV4_BYTES, _IPV6_BYTES, _TCP_BYTES, _UDP_BYTES = 20, 40, 20, 8
_USUAL_STAMPS = b"\x01\x01\x08\x0a"
_NOP, _SACK, _STAMPS = 1, 5, 8
_TWO_WORDS, _TCP = struct.Struct("!II"), struct.Struct("!IIBB")

MAX_CONNECTIONS = 1 << 16
"""Connections whose ends are remembered while a file is read."""

Connection = tuple[int, bytes, bytes]
"""The protocol, and address and port of both ends."""
Fields = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]
"""The fields of `ROW` after the time."""


class Decoder:
    """Reads packets of one file, and gives each connection a number."""

    def __init__(self, data: bytes) -> None:
        """Begin with a file's bytes."""
        self._data = data
        self._numbers: dict[Connection, int] = {}
        self._next = 0

    @property
    def connections(self) -> Mapping[int, Connection]:
        """The two ends of connections by number; packets from the first to the second are those that are `forth`."""
        return {number: connection for connection, number in self._numbers.items()}

    @property
    def is_full(self) -> bool:
        """Whether connections have to be forgotten before more packets are read."""
        return len(self._numbers) >= MAX_CONNECTIONS

    def forget(self, packets: Sequence[int]) -> None:
        """Forget the half of the connections with the fewest packets, of which `packets` has the count by number.

        One that goes on afterwards has another number.
        """
        known = sorted(self._numbers.items(), key=lambda item: packets[item[1]], reverse=True)
        self._numbers = dict(known[: MAX_CONNECTIONS // 2])

    def decode(self, link: int, begin: int, end: int, wire_bytes: int) -> Fields | None:
        """Return what the headers say; None where they are not all there, or are of another protocol."""
        data, at = self._data, _ip_at(self._data, link, begin, end)
        if at is None or at + _IPV4_BYTES > end:
            return None
        ip = _ipv4(data, at) if data[at] >> 4 == 4 else _ipv6(data, at, end)  # noqa: PLR2004 (versions)
        if ip is None:
            return None
        protocol, tos, size_bytes, addresses, transport = ip
        if size_bytes == 0:
            # What a network card cuts into packets is captured before it has a length.
            size_bytes = wire_bytes - (at - begin)
        header = _TCP_BYTES if protocol == TCP else _UDP_BYTES
        payload = size_bytes - (transport - at) - header
        if protocol not in (TCP, UDP) or transport + header > end or payload < 0:
            return None
        flow, forth = self._number(protocol, addresses, data[transport : transport + 4])
        if protocol == UDP:
            return flow, forth, tos, protocol, 0, size_bytes, payload, 0, 0, 0, 0, 0, 0
        seq, ack, words, flags = _TCP.unpack_from(data, transport + 4)
        options = (words >> 4) * 4 - _TCP_BYTES
        if options < 0 or options > payload:
            return None
        found = _options(data, transport + _TCP_BYTES, min(transport + _TCP_BYTES + options, end))
        return flow, forth, tos, protocol, flags, size_bytes, payload - options, seq, ack, *found

    def _number(self, protocol: int, addresses: tuple[bytes, bytes], ports: bytes) -> tuple[int, int]:
        one, other = addresses[0] + ports[:2], addresses[1] + ports[2:]
        forth = self._numbers.get((protocol, one, other))
        if forth is not None:
            return forth, 1
        back = self._numbers.get((protocol, other, one))
        if back is not None:
            return back, 0
        self._numbers[protocol, one, other] = number = self._next
        self._next += 1
        return number, 1


def ends_of(connection: Connection) -> str:
    """Return the two ends of a connection and its protocol as text."""
    protocol, one, other = connection
    return f"{_end(one)} > {_end(other)}, {'TCP' if protocol == TCP else 'UDP'}"


def _end(place: bytes) -> str:
    address, port = ipaddress.ip_address(place[:-2]), int.from_bytes(place[-2:])
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"  # noqa: PLR2004


def _ip_at(data: bytes, link: int, begin: int, end: int) -> int | None:
    """Return where the IP header begins; None where there is none."""
    if link in _IP_AT:
        return begin + _IP_AT[link]
    kind_at, at = _COOKED.get(link, (12, 14))
    if (link != 1 and link not in _COOKED) or begin + at > end:
        return None
    (kind,) = struct.unpack_from("!H", data, begin + kind_at)
    at += begin
    for _ in range(_MAX_TAGS):
        if kind not in _VLAN or at + 4 > end:
            break
        (kind,) = struct.unpack_from("!H", data, at + 2)
        at += 4
    if kind == _PPPOE:
        return at + _PPPOE_BYTES
    return at if kind in _IP else None


def _ipv4(data: bytes, at: int) -> tuple[int, int, int, tuple[bytes, bytes], int] | None:
    header = (data[at] & 0xF) * 4
    size_bytes, fragment = struct.unpack_from("!H2xH", data, at + 2)
    if header < _IPV4_BYTES or fragment & 0x1FFF:
        return None
    addresses = (data[at + 12 : at + 16], data[at + 16 : at + 20])
    return data[at + 9], data[at + 1], size_bytes, addresses, at + header


def _ipv6(data: bytes, at: int, end: int) -> tuple[int, int, int, tuple[bytes, bytes], int] | None:
    if data[at] >> 4 != 6 or at + _IPV6_BYTES > end:  # noqa: PLR2004
        return None
    first, length = struct.unpack_from("!IH", data, at)
    protocol, transport = data[at + 6], at + _IPV6_BYTES
    for _ in range(_MAX_EXTENSIONS):
        if protocol not in (*_EXTENSIONS, _FRAGMENT) or transport + 8 > end:
            break
        if protocol == _FRAGMENT and int.from_bytes(data[transport + 2 : transport + 4]) >> 3:
            return None
        extra = 0 if protocol == _FRAGMENT else data[transport + 1]
        protocol, transport = data[transport], transport + 8 + 8 * extra
    addresses = (data[at + 8 : at + 24], data[at + 24 : at + 40])
    return protocol, first >> 20 & 0xFF, length and length + _IPV6_BYTES, addresses, transport


def _options(data: bytes, at: int, end: int) -> tuple[int, int, int, int]:
    """Return timestamp, echo, the end of the first SACK block, and which of them are there."""
    stamp = echo = sack = found = 0
    if data[at : at + 4] == _USUAL_STAMPS and at + 12 <= end:
        stamp, echo = _TWO_WORDS.unpack_from(data, at + 4)
        at, found = at + 12, HAS_STAMPS
    while at + 1 < end and data[at]:
        if data[at] == _NOP:
            at += 1
            continue
        kind, length = data[at], data[at + 1]
        if length < 2 or at + length > end:  # noqa: PLR2004 (kind and length themselves)
            break
        if kind == _STAMPS and length == 10:  # noqa: PLR2004 (RFC 7323)
            stamp, echo = _TWO_WORDS.unpack_from(data, at + 2)
            found |= HAS_STAMPS
        elif kind == _SACK and length >= 10:  # noqa: PLR2004 (RFC 2018)
            _, sack = _TWO_WORDS.unpack_from(data, at + 2)
            found |= HAS_SACK
        at += length
    return stamp, echo, sack, found
