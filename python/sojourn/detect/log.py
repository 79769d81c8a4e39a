"""What two hosts log of the packets between them: sent when, received when or lost, marked or not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

Times = NDArray[np.float64]


@dataclass(frozen=True)
class FlowLog:
    """The packets of one flow in the order in which they were sent."""

    sent_s: Times
    received_s: Times
    """NaN for a packet that did not arrive."""
    size_bytes: NDArray[np.int64]
    marked: NDArray[np.bool_]
    """Whether it arrived with a congestion mark (CE)."""

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Which packets did not arrive."""
        return np.isnan(self.received_s)

    @property
    def delay_s(self) -> Times:
        """One-way delay; the two clocks may differ by a constant, so only differences mean anything."""
        return self.received_s - self.sent_s

    def between(self, begin_s: float, end_s: float) -> "FlowLog":
        """Return the packets that were sent in an interval of time."""
        own = (self.sent_s >= begin_s) & (self.sent_s < end_s)
        return FlowLog(self.sent_s[own], self.received_s[own], self.size_bytes[own], self.marked[own])


EMPTY = FlowLog(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_))

Log = Mapping[str, FlowLog]
"""The flows of a probe by the names of their groups."""


def of_table(table: "pa.Table") -> dict[str, FlowLog]:
    """Return the log of both ends of each group in a table of packets of one run.

    Parameters
    ----------
    table
        Table "packets" of a simulated run or of a run on a kernel. Only the rows of both ends are read; nothing that
        happened at the bottleneck is.
    """
    events, names = _codes(table, "event")
    sent, received = (events == names.index(one) if one in names else np.zeros(len(events), bool) for one in _ENDS)
    kinds, kind_names = _codes(table, "kind")
    data = np.isin(kinds, [kind_names.index(one) for one in _DATA if one in kind_names])
    marks, mark_names = _codes(table, "ecn")
    groups, group_names = _codes(table, "group")
    columns = {name: np.asarray(table[name]) for name in ("time_ns", "size_bytes", "sojourn_ns", "index", "seq")}
    columns["marked"] = marks == mark_names.index("ce") if "ce" in mark_names else np.zeros(len(marks), bool)
    of_groups = {name: data & (groups == code) for code, name in enumerate(group_names)}
    return {name: _of_group(columns, own & sent, own & received) for name, own in of_groups.items()}


_ENDS = ("send", "receive")
_DATA = ("data", "datagram", "probe")


def _codes(table: "pa.Table", name: str) -> tuple[Any, list[str]]:
    """Return a column of names as codes, and the names."""
    column = table[name].unify_dictionaries().combine_chunks()
    return np.asarray(column.indices), column.dictionary.to_pylist()


def _of_group(columns: Mapping[str, Any], sent: Any, came: Any) -> FlowLog:
    """Lay the rows of the sender beside those of the receiver."""
    sent_ns = columns["time_ns"][sent].astype(np.int64)
    stamps = columns["time_ns"][came].astype(np.int64) - columns["sojourn_ns"][came].astype(np.int64)
    received_s = np.full(len(sent_ns), np.nan)
    marked = np.zeros(len(sent_ns), dtype=np.bool_)
    keys = [_key(times, columns, rows) for times, rows in ((sent_ns, sent), (stamps, came))]
    _, mine, theirs = np.intersect1d(*keys, return_indices=True)
    received_s[mine] = columns["time_ns"][came][theirs] / 1e9
    marked[mine] = columns["marked"][came][theirs]
    sizes = columns["size_bytes"][sent].astype(np.int64)
    # What was sent after the last arrival may still have been on its way when the run ended.
    arrived = np.flatnonzero(~np.isnan(received_s))
    whole = slice(None, arrived[-1] + 1 if len(arrived) else None)
    return FlowLog(sent_ns[whole] / 1e9, received_s[whole], sizes[whole], marked[whole])


def _key(sent_ns: Any, columns: Mapping[str, Any], rows: Any) -> Any:
    """Return a number for each packet: time of sending (35 bits are 34 s), number in its flow and the flow's place."""
    number, place = (columns[name][rows].astype(np.int64) for name in ("seq", "index"))
    return (sent_ns << 28) ^ ((number & 0xFFFFF) << 8) ^ (place & 0xFF)
