"""What is looked at of the headers of a captured packet, as the engine's reader of captures lays it out."""

import ipaddress

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
        ("window", "<u2"),
        ("scale", "u1"),
        ("options", "u1"),
    ]
)
"""A packet: `forth` is 1 in one of the two directions of its connection; `stamp`, `echo`, `sack` (the end of the
first block) and `scale` are the options of TCP that `options` says are there; `window` is not scaled."""
HAS_STAMPS, HAS_SACK, HAS_SCALE = 1, 2, 4
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

Connection = tuple[int, bytes, bytes]
"""The protocol, and address and port of both ends."""


def ends_of(connection: Connection) -> str:
    """Return the two ends of a connection and its protocol as text."""
    protocol, one, other = connection
    return f"{_end(one)} > {_end(other)}, {'TCP' if protocol == TCP else 'UDP'}"


def _end(place: bytes) -> str:
    address, port = ipaddress.ip_address(place[:-2]), int.from_bytes(place[-2:])
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"  # noqa: PLR2004
