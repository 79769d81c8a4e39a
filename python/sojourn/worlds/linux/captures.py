"""Captures of the testbed: packets on both sides of a queue, and what happened to each in between.

The format of a file is described in crates/sojourn-wire/src/capture.rs. A packet is recognised behind the queue by what
no router changes: protocol, addresses, ports, identification of the IP header, sequence numbers of TCP, the first eight
bytes of a datagram. Where that occurs more than once, the copies are told apart by their order.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

MAGIC = b"SJPKTS01"
HEADER_BYTES = 32
ROW = np.dtype(
    [
        ("time_ns", "<u8"),
        ("bytes", "<u4"),
        ("source", "<u4"),
        ("destination", "<u4"),
        ("source_port", "<u2"),
        ("destination_port", "<u2"),
        ("ip_id", "<u2"),
        ("protocol", "u1"),
        ("tos", "u1"),
        ("ttl", "u1"),
        ("outgoing", "u1"),
        ("tcp_flags", "u1"),
        ("unused", "u1"),
        ("seq", "<u4"),
        ("ack", "<u4"),
        ("payload", "<u8"),
    ]
)
ADDRESSING = ["protocol", "source", "destination", "source_port", "destination_port"]
KEY = np.dtype([(name, ROW[name]) for name in (*ADDRESSING, "ip_id", "tcp_flags", "seq", "ack", "payload")])
"""What recognises a packet."""

ECN_BITS = 3


class CaptureError(ValueError):
    """A file is no capture, or two captures do not belong together."""


@dataclass(frozen=True)
class Capture:
    """Packets that crossed an interface, in the order in which the kernel kept them."""

    rows: NDArray[np.void]
    """One row of type `ROW` for each packet; times in ns of CLOCK_MONOTONIC."""
    start_ns: int
    """Start of the run, ns of CLOCK_MONOTONIC."""

    @property
    def time_s(self) -> NDArray[np.float64]:
        """Times from the start of the run, in seconds; negative before it."""
        return (self.rows["time_ns"].astype(np.int64) - self.start_ns) / 1e9

    def only(self, *, outgoing: bool) -> "Capture":
        """Return the packets that left by the interface, or those that came in."""
        return Capture(self.rows[self.rows["outgoing"] == outgoing], self.start_ns)


@dataclass(frozen=True)
class Fates:
    """What a queue did to each packet that came to it, in the order of arrival."""

    arrived: NDArray[np.void]
    """The rows of the packets before the queue."""
    left_ns: NDArray[np.int64]
    """When each left, ns of CLOCK_MONOTONIC; -1 for those that did not."""
    marked: NDArray[np.bool_]
    """Whether it left with a congestion mark (CE) that it did not come with."""
    unknown: int
    """Packets behind the queue that never came to it: other traffic, or captured before the capture in front began."""

    @property
    def passed(self) -> NDArray[np.bool_]:
        """Whether each packet left."""
        return self.left_ns >= 0

    @property
    def delay_s(self) -> NDArray[np.float64]:
        """Time from arrival to the end of the wait, in seconds; NaN for packets that did not leave.

        The kernel stamps a packet that leaves when it hands it to the device, so that the packet's own transmission is
        no part of it where a shaper sits in front of a fast device.
        """
        waited = (self.left_ns - self.arrived["time_ns"].astype(np.int64)) / 1e9
        return np.where(self.passed, waited, np.nan)

    def dropped(self, *, settled_s: float = 0.0) -> NDArray[np.bool_]:
        """Return which packets were dropped.

        A packet that came in the last `settled_s` before the end of the capture may still have been in the queue, so
        it does not count; the default trusts that the queue was empty at the end.
        """
        if len(self.arrived) == 0:
            return np.zeros(0, dtype=bool)
        times = self.arrived["time_ns"].astype(np.int64)
        last = max(int(times[-1]), int(self.left_ns.max()))
        return ~self.passed & (times <= last - round(settled_s * 1e9))


def read_capture(path: Path | str) -> Capture:
    """Read a capture.

    Raises
    ------
    CaptureError
        The file is none, or its last row is not whole.
    OSError
        It cannot be read.
    """
    data = Path(path).read_bytes()
    if data[:8] != MAGIC or len(data) < HEADER_BYTES:
        raise CaptureError(f"{path}: found no capture of Sojourn's testbed")
    row_bytes = int.from_bytes(data[8:12], "little")
    if row_bytes != ROW.itemsize:
        raise CaptureError(f"{path}: rows have {row_bytes} bytes; this version reads {ROW.itemsize}")
    if (len(data) - HEADER_BYTES) % ROW.itemsize:
        raise CaptureError(f"{path}: the last row is not whole; was its writer killed?")
    return Capture(np.frombuffer(data, dtype=ROW, offset=HEADER_BYTES), int.from_bytes(data[16:24], "little"))


def match(before: Capture, after: Capture) -> Fates:
    """Return what happened to the packets of `before` on their way to `after`.

    Parameters
    ----------
    before
        What came to the queue: the interface that it came in by.
    after
        What left it: the interface with the queue.
    """
    if before.start_ns != after.start_ns:
        raise CaptureError("the two captures are of different runs: their starts differ")
    order = np.argsort(before.rows["time_ns"], kind="stable")
    first, second = before.rows[order], after.rows[np.argsort(after.rows["time_ns"], kind="stable")]
    names, copies = _named(first, second)
    left_ns = np.full(len(first), -1, dtype=np.int64)
    marked = np.zeros(len(first), dtype=bool)
    # The k-th copy before the queue is the k-th one behind it.
    keys = names * (int(copies.max(initial=0)) + 1) + copies
    _, mine, theirs = np.intersect1d(keys[: len(first)], keys[len(first) :], assume_unique=True, return_indices=True)
    left_ns[mine] = second["time_ns"][theirs].astype(np.int64)
    marked[mine] = _is_ce(second["tos"][theirs]) & ~_is_ce(first["tos"][mine])
    early = left_ns[mine] < first["time_ns"][mine].astype(np.int64)
    if early.any():
        raise CaptureError(f"{int(early.sum())} packets left before they came: are the captures the wrong way round?")
    return Fates(first, left_ns, marked, len(second) - len(mine))


def _named(first: NDArray[np.void], second: NDArray[np.void]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a number for each row, the same for the same packet, and how many of the same came before it."""
    both = np.zeros(len(first) + len(second), dtype=KEY)
    for name in KEY.fields or ():
        both[name] = np.concatenate([first[name], second[name]])
    _, names = np.unique(both.view(np.dtype((np.void, KEY.itemsize))), return_inverse=True)
    names = names.reshape(-1).astype(np.int64)
    halves = [names[: len(first)], names[len(first) :]]
    return names, np.concatenate([_copies(half) for half in halves])


def _copies(names: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each entry how many of the same came before it."""
    order = np.argsort(names, kind="stable")
    ordered = names[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(names) else np.zeros(0, dtype=np.int64)
    lengths = np.diff(np.r_[starts, len(names)])
    copies = np.empty(len(names), dtype=np.int64)
    copies[order] = np.arange(len(names)) - np.repeat(starts, lengths)
    return copies


def _is_ce(tos: NDArray[np.uint8]) -> NDArray[np.bool_]:
    marks: NDArray[np.bool_] = (tos & ECN_BITS) == ECN_BITS
    return marks
