"""What a queue did to each packet of a run: its fate, in seconds of the run."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from sojourn.worlds.linux.captures import ADDRESSING, ECN_BITS, Capture, match, read_capture


@dataclass(frozen=True)
class Crossing:
    """Packets that came to a queue, in order of arrival, and what became of them."""

    entered_s: Any
    left_s: Any
    """NaN where a packet was not seen behind the queue."""
    bytes: Any
    source: Any
    """The sender's address as a number."""
    destination: Any
    tos: Any
    """The byte with code point and ECN field that a packet came with."""
    capable: Any
    """Whether a packet came as one that can be marked."""
    marked: Any
    dropped: Any
    """Whether a later packet of the same connection has left although this one has not.

    What came last may still have been waiting when the run ended.
    """

    @property
    def delay_ms(self) -> Any:
        """Sojourn time of each packet in ms."""
        return (self.left_s - self.entered_s) * 1e3

    def only(self, which: Any) -> "Crossing":
        """Return some of the packets, as a mask or as indices say."""
        return Crossing(*(getattr(self, field.name)[which] for field in fields(self)))


def crossing(before: Path, after: Path, toward: tuple[int, int]) -> Crossing:
    """Lay the capture before a queue beside the one behind it.

    `toward` holds network and mask of the receivers' addresses: what goes the other way is none of this queue's. A
    capture holds one direction of its interface only.
    """
    front, back = (read_capture(path) for path in (before, after))
    fates = match(_toward(front, toward), _toward(back, toward))
    rows = fates.arrived
    entered_s = (rows["time_ns"].astype(np.int64) - front.start_ns) / 1e9
    left_s = np.where(fates.passed, (fates.left_ns - front.start_ns) / 1e9, np.nan)
    return Crossing(
        entered_s,
        left_s,
        rows["bytes"].astype(np.int64),
        rows["source"],
        rows["destination"],
        rows["tos"],
        (rows["tos"] & ECN_BITS) != 0,
        fates.marked,
        _overtaken(rows, fates.passed),
    )


def _toward(capture: Capture, toward: tuple[int, int]) -> Capture:
    network, mask = toward
    return Capture(capture.rows[(capture.rows["destination"] & np.uint32(mask)) == network], capture.start_ns)


def _overtaken(rows: Any, passed: Any) -> Any:
    if not len(rows):
        return np.zeros(0, dtype=bool)
    _, connection = np.unique(rows[ADDRESSING], return_inverse=True)
    last = np.full(connection.max() + 1, -1)
    np.maximum.at(last, connection[passed], np.flatnonzero(passed))
    return ~passed & (np.arange(len(rows)) < last[connection])
