"""TCP segments in IPv4 packets, as a TUN device takes and gives them; only what a scripted peer needs.

`SENDER` is the kernel's address in all of this, also where it receives.
"""

import socket
import struct
from dataclasses import dataclass

MSS_BYTES = 1460
"""What the peer announces."""

PAYLOAD_BYTES = MSS_BYTES - 12
"""Of a full segment beside the timestamp option."""

SENDER, PEER = "10.77.0.1", "10.77.0.2"
PORT = 5001

FIN, SYN, RST, PSH, ACK, ECE, CWR = 0x01, 0x02, 0x04, 0x08, 0x10, 0x40, 0x80
CE = 3
_IP = struct.Struct("!BBHHHBBH4s4s")
_TCP = struct.Struct("!HHIIBBHHH")
_BLOCK = struct.Struct("!II")
_BLOCKS, _STAMPS = 5, 8
_WINDOW, _WINDOW_SCALE = 0xFFFF, 10
_TCP_PROTOCOL = 6
_VERSION_AND_LENGTH = 0x45


@dataclass(frozen=True)
class Segment:
    """What the sender sent."""

    flags: int
    sequence: int
    payload_bytes: int
    stamp: int
    """TSval."""
    port: int
    capable: bool
    """Whether it may be marked."""
    number: int = 0
    """Next byte wanted."""
    blocks: tuple[tuple[int, int], ...] = ()
    """SACK blocks."""


def parse(packet: bytes) -> Segment | None:
    """Read a packet of the sender; None where it is no TCP over IPv4."""
    if len(packet) < _IP.size + _TCP.size or packet[0] != _VERSION_AND_LENGTH or packet[9] != _TCP_PROTOCOL:
        return None
    total = struct.unpack_from("!H", packet, 2)[0]
    source, _, sequence, number, offset, flags, *_ = _TCP.unpack_from(packet, _IP.size)
    header = (offset >> 4) * 4
    options = _options(packet[_IP.size + _TCP.size : _IP.size + header])
    return Segment(
        flags,
        sequence,
        total - _IP.size - header,
        int.from_bytes(options.get(_STAMPS, b"")[:4]),
        source,
        packet[1] & CE in (1, 2),
        number,
        tuple(_BLOCK.iter_unpack(options.get(_BLOCKS, b""))),
    )


def _options(options: bytes) -> dict[int, bytes]:
    found = {}
    at = 0
    while at < len(options) and options[at] != 0:
        kind = options[at]
        if kind == 1:
            at += 1
            continue
        found[kind] = options[at + 2 : at + options[at + 1]]
        at += options[at + 1]
    return found


def accept(segment: Segment, now_ms: int, *, ecn: bool) -> bytes:
    """Return the SYN-ACK that answers a SYN."""
    flags = SYN | ACK | (ECE if ecn else 0)
    return _packet(segment.port, flags, 0, segment.sequence + 1, _opening(now_ms, segment.stamp))


def request(port: int, now_ms: int, *, ecn: bool) -> bytes:
    """Return a SYN to a port."""
    return _packet(port, SYN | (ECE | CWR if ecn else 0), 0, 0, _opening(now_ms, 0))


def data(port: int, number: int, wanted: int, echo: int, now_ms: int, *, ect: int, flags: int) -> bytes:
    """Return full segment `number`, with `flags` and ACK, where the byte `wanted` is the next of the other way."""
    options = struct.pack("!BBBBII", 1, 1, 8, 10, now_ms, echo)
    return _packet(
        port, ACK | flags, 1 + number * PAYLOAD_BYTES, wanted, options, payload=bytes(PAYLOAD_BYTES), ect=ect
    )


def _opening(now_ms: int, echo: int) -> bytes:
    options = struct.pack("!BBH", 2, 4, MSS_BYTES)
    options += struct.pack("!BB BBII", 4, 2, 8, 10, now_ms, echo)
    return options + struct.pack("!BBBB", 1, 3, 3, _WINDOW_SCALE)


@dataclass(frozen=True)
class Acknowledgement:
    """What the peer answers."""

    number: int
    """Next byte wanted, as a sequence number."""
    echo: int
    """TSecr."""
    blocks: list[tuple[int, int]]
    """SACK blocks as sequence numbers."""
    marked: bool


def acknowledge(port: int, ack: Acknowledgement, now_ms: int, sent: int = 0) -> bytes:
    """Return an acknowledgement of a peer that has sent so many segments."""
    options = struct.pack("!BBBBII", 1, 1, 8, 10, now_ms, ack.echo)
    if ack.blocks:
        options += struct.pack("!BBBB", 1, 1, 5, 2 + 8 * len(ack.blocks))
        for start, end in ack.blocks:
            options += struct.pack("!II", start & 0xFFFFFFFF, end & 0xFFFFFFFF)
    return _packet(port, ACK | (ECE if ack.marked else 0), 1 + sent * PAYLOAD_BYTES, ack.number, options)


def _packet(
    port: int, flags: int, sequence: int, number: int, options: bytes, *, payload: bytes = b"", ect: int = 0
) -> bytes:
    source, target = socket.inet_aton(PEER), socket.inet_aton(SENDER)
    length = _TCP.size + len(options)
    total = length + len(payload)

    def tcp(checksum: int) -> bytes:
        fields = (PORT, port, sequence, number & 0xFFFFFFFF, length // 4 << 4, flags, _WINDOW, checksum, 0)
        return _TCP.pack(*fields) + options + payload

    def ip(checksum: int) -> bytes:
        return _IP.pack(_VERSION_AND_LENGTH, ect, _IP.size + total, 0, 0, 64, _TCP_PROTOCOL, checksum, source, target)

    pseudo = source + target + struct.pack("!BBH", 0, _TCP_PROTOCOL, total)
    return ip(_checksum(ip(0))) + tcp(_checksum(pseudo + tcp(0)))


def _checksum(data: bytes) -> int:
    words: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while words >> 16:
        words = (words & 0xFFFF) + (words >> 16)
    return ~words & 0xFFFF
