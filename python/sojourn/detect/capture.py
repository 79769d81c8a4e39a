"""Captures of packets: pcap and pcapng files, read within bounds and up to the first damage.

Formats: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng. Only what is in front of a packet's payload is looked at.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sojourn import _native
from sojourn.detect.headers import LINKS, ROW, Connection
from sojourn.faults import input_error
from sojourn.reading import check_regular

MAX_PACKETS = 8_000_000
"""A download of a minute at 1 Gbit/s has as many with its acknowledgements."""
HEADERS_BYTES = 96
"""As many have Ethernet, IPv4 and TCP with all its options, and a little more."""
_SECTION = bytes.fromhex("0a0d0d0a")
_MAGIC_BYTES = 4
_BEGIN_BYTES = 4096
"""Of a file in which its first header, and that of its first interface, are looked for."""
_BACK_NS, _PAUSE_NS = 1_000_000_000, 60_000_000_000
"""Times may be out of order by less, as those of several queues of a network card; a pause is no transfer."""
SUFFIXES = (".pcap", ".pcapng", ".cap")
MAGICS = tuple(bytes.fromhex(one) for one in ("d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a"))
"""How pcap and pcapng files begin."""
_WHAT = "a capture"
_ALLOWED = "a pcap or pcapng file, as tcpdump, dumpcap and Wireshark write"
_OTHERS = {
    b"\x1f\x8b": "is compressed; unpack it with gunzip",
    b"\x28\xb5\x2f\xfd": "is compressed; unpack it with unzstd",
    b"PK": "is a ZIP archive; unpack it",
}


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
    snapped_bytes: int | None = None
    """To how many bytes packets were cut as they were captured, where that is less than all headers may have."""

    @property
    def total(self) -> int:
        """How many connections were seen."""
        return int(self.rows["flow"].max()) + 1


def read_capture(path: Path) -> Capture:
    """Read a capture piece by piece.

    A file that ends in the middle of a packet, or is damaged, is read up to there, and one with more than `MAX_PACKETS`
    up to these.

    Raises
    ------
    InputError
        The file is no capture, or has no packet that can be used.
    """
    check_regular(path, _WHAT)
    try:
        with path.open("rb") as file:
            begin = file.read(_BEGIN_BYTES)
        _check_begin(begin, str(path))
        rows, connections, packets, links, damage = _native.read_capture(path, MAX_PACKETS)
    except OSError as error:
        raise input_error(f"cannot be read: {error.strerror or error}", file=str(path)) from None
    if not rows:
        raise _nothing(str(path), packets, set(links), damage)
    every = _joined(rows)
    table, jump = _of_one_clock(every)
    if (np.diff(table["time_ns"]) < 0).any():
        table = table[np.argsort(table["time_ns"], kind="stable")]
    ends = {number: (protocol, one, other) for number, protocol, one, other in connections}
    return Capture(table, ends, packets - len(every), jump or damage, _snapped_bytes(begin))


def _snapped_bytes(data: bytes) -> int | None:
    """Return to how many bytes a file says that its packets were cut, where headers may be longer.

    pcap says it once (draft-ietf-opsawg-pcap, section 4), pcapng of each interface, of which the first is looked at
    (draft-ietf-opsawg-pcapng, section 4.2).
    """
    order: Literal["little", "big"] = "little" if data[:1] in (b"\xd4", b"\x4d") or data[8:9] == b"\x4d" else "big"
    at = 16
    if data[:4] == _SECTION:
        at = int.from_bytes(data[4:8], order)
        if int.from_bytes(data[at : at + 4], order) != 1:
            return None
        at += 12
    snapped = int.from_bytes(data[at : at + 4], order)
    return snapped if 0 < snapped < HEADERS_BYTES else None


def _joined(parts: list[bytes]) -> NDArray[np.void]:
    """Return rows that lie in parts as one array; each part is freed once it has been copied."""
    table = np.empty(sum(map(len, parts)) // ROW.itemsize, dtype=ROW)
    end = len(table)
    while parts:
        own = np.frombuffer(parts.pop(), dtype=ROW)
        end -= len(own)
        table[end : end + len(own)] = own
    return table


def _of_one_clock(table: NDArray[np.void]) -> tuple[NDArray[np.void], str | None]:
    """Return the longest part of a capture between jumps of its clock, and where it was cut; None where it was not."""
    steps = np.diff(table["time_ns"])
    (jumps,) = np.nonzero((steps < -_BACK_NS) | (steps > _PAUSE_NS))
    if not len(jumps):
        return table, None
    edges = [0, *(jumps + 1).tolist(), len(table)]
    begin, end = max(itertools.pairwise(edges), key=lambda part: part[1] - part[0])
    first = int(jumps[0])
    return table[begin:end], (
        f"its clock jumps by {steps[first] / 1e9:.3g} s after {first + 1} packets, or nothing was captured so long; "
        f"{end - begin} packets without such a jump were read"
    )


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
    return input_error(message, file=file, allowed=f"a capture with at least {HEADERS_BYTES} bytes of each packet")


def _check_begin(data: bytes, file: str) -> None:
    """Raise InputError for a file whose first four bytes are of neither format."""
    if not data:
        raise input_error(f"the file is empty; allowed: {_ALLOWED}", file=file, found="0 bytes", allowed=_ALLOWED)
    if data[:_MAGIC_BYTES] in MAGICS:
        return
    for begin, complaint in _OTHERS.items():
        if data.startswith(begin):
            raise input_error(f"{complaint}; allowed: {_ALLOWED}", file=file, allowed=_ALLOWED)
    found = data[:_MAGIC_BYTES].hex(" ")
    raise input_error(f"begins with {found}; allowed: {_ALLOWED}", file=file, found=found, allowed=_ALLOWED)
