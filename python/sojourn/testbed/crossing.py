"""What a queue did to each packet: captures on both sides of it, laid beside each other."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

_HEADER_BYTES = 32
_MAGIC = b"SJPKTS01"
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
        ("left", "u1"),
        ("tcp_flags", "u1"),
        ("unused", "u1"),
        ("seq", "<u4"),
        ("ack", "<u4"),
        ("payload", "<u8"),
    ]
)
# What a router leaves alone: all that tells one packet from another.
_IDENTITY = (
    "source",
    "destination",
    "source_port",
    "destination_port",
    "ip_id",
    "protocol",
    "tcp_flags",
    "seq",
    "ack",
    "payload",
)
_ECN_MASK = 3
_CE = 3
_COUNT_BITS = 24


@dataclass(frozen=True)
class Crossing:
    """Packets that came to a queue, in order of arrival, and what became of them. Times are seconds of the run."""

    entered_s: Any
    left_s: Any
    """NaN where a packet was not seen behind the queue."""
    bytes: Any
    source: Any
    """The sender's address as a number."""
    destination: Any
    marked: Any
    dropped: Any
    """Whether a later packet of the same sender and receiver has left although it has not."""

    @property
    def delay_ms(self) -> Any:
        """Sojourn time of each packet in ms."""
        return (self.left_s - self.entered_s) * 1e3


def read(path: Path) -> tuple[float, Any]:
    """Read a capture: the start of the run in ns of the capture's clock, and its rows."""
    data = path.read_bytes()
    if data[:8] != _MAGIC or int.from_bytes(data[8:12], "little") != ROW.itemsize:
        raise ValueError(f"{path}: not a capture of this version")
    return float(int.from_bytes(data[16:24], "little")), np.frombuffer(data, dtype=ROW, offset=_HEADER_BYTES)


def crossing(before: Path, after: Path, toward: tuple[int, int]) -> Crossing:
    """Lay the capture before a queue beside the one behind it.

    `toward` holds network and mask of the receivers' addresses: what comes the other way is none of this queue's.
    """
    start_ns, entered = read(before)
    _, left = read(after)
    entered = _toward(entered[entered["left"] == 0], toward)
    left = _toward(left[left["left"] == 1], toward)
    found = _partners(entered, left)
    seen = found >= 0
    left_ns = np.where(seen, left["time_ns"][np.maximum(found, 0)] if len(left) else 0, 0).astype(np.float64)
    left_s = np.where(seen, (left_ns - start_ns) / 1e9, np.nan)
    ecn_after = np.where(seen, left["tos"][np.maximum(found, 0)] if len(left) else 0, 0) & _ECN_MASK
    marked = seen & (ecn_after == _CE) & ((entered["tos"] & _ECN_MASK) != _CE)
    entered_s = (entered["time_ns"].astype(np.float64) - start_ns) / 1e9
    dropped = _overtaken(entered, seen)
    return Crossing(
        entered_s, left_s, entered["bytes"].astype(np.int64), entered["source"], entered["destination"], marked, dropped
    )


def _toward(rows: Any, toward: tuple[int, int]) -> Any:
    network, mask = toward
    return rows[(rows["destination"] & np.uint32(mask)) == network]


def _partners(entered: Any, left: Any) -> Any:
    """Return for each packet that entered its place among those that left, or -1.

    Equal packets (the network's own copies aside, only those of a counter that has come round) pair up in order.
    """
    both = np.concatenate([entered, left])[list(_IDENTITY)]
    _, code = np.unique(both, return_inverse=True)
    first, second = code[: len(entered)], code[len(entered) :]
    keys = _numbered(first), _numbered(second)
    order = np.argsort(keys[1], kind="stable")
    place = np.searchsorted(keys[1], keys[0], sorter=order)
    if not len(left):
        return np.full(len(entered), -1)
    candidate = order[np.minimum(place, len(left) - 1)]
    return np.where((place < len(left)) & (keys[1][candidate] == keys[0]), candidate, -1)


def _numbered(codes: Any) -> Any:
    """Return keys that also tell the first, second ... occurrence of a code apart."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(codes) else np.array([], dtype=int)
    counts = np.arange(len(codes)) - np.repeat(starts, np.diff(np.r_[starts, len(codes)]))
    keys = np.empty(len(codes), dtype=np.int64)
    keys[order] = (ordered.astype(np.int64) << _COUNT_BITS) + counts
    return keys


def _overtaken(entered: Any, seen: Any) -> Any:
    """Return which packets did not leave although a later one between the same hosts did."""
    _, pair = np.unique(entered[["source", "destination", "source_port", "destination_port"]], return_inverse=True)
    last = np.full(pair.max() + 1 if len(pair) else 0, -1)
    np.maximum.at(last, pair[seen], np.flatnonzero(seen))
    return ~seen & (np.arange(len(entered)) < last[pair]) if len(pair) else np.zeros(0, dtype=bool)
