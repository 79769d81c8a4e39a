"""What a kernel's qdisc did with each packet, as it is kept in recordings/."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import archive
from benchmarks.archive import steps

RECORDINGS = Path(__file__).resolve().parent / "recordings"

_EVENTS = np.dtype(
    [("time_ns", "<i8"), ("number", "<u4"), ("bytes", "<u2"), ("tos", "u1"), ("leaves", "u1")], align=False
)
_SCHEDULE = np.dtype([("at_ns", "<i8"), ("flow", "<u4"), ("bytes", "<u2"), ("tos", "u1"), ("pad", "u1")], align=False)
_CE = 3
"""The ECN field of a marked packet, which fills it."""
_TICK_NS = 256
"""A kernel in virtual time counts in these."""


@dataclass(frozen=True)
class Recording:
    """Packets in the order of their arrival, and departures in theirs.

    Times are ns of the kernel's monotonic clock. `before[k]` is how many packets had arrived when the k-th left; `left`
    says which packet that was, by its place in the order of arrival, `left_tos` its TOS byte then.
    """

    about: dict[str, Any]
    arrived_ns: NDArray[np.int64]
    flow: NDArray[np.int64]
    bytes: NDArray[np.int64]
    tos: NDArray[np.int64]
    left_ns: NDArray[np.int64]
    left: NDArray[np.int64]
    left_tos: NDArray[np.int64]
    before: NDArray[np.int64]

    @property
    def packets(self) -> int:
        """Number of packets that arrived."""
        return len(self.arrived_ns)

    def place(self) -> NDArray[np.int64]:
        """Return for each packet how many left before it; -1 where it was dropped."""
        place = np.full(self.packets, -1)
        place[self.left] = np.arange(len(self.left))
        return place

    def marked(self) -> NDArray[np.bool_]:
        """Return for each packet whether it left with a mark that it had not brought."""
        marked = np.zeros(self.packets, dtype=bool)
        marked[self.left] = (self.left_tos & _CE == _CE) & (self.tos[self.left] & _CE != _CE)
        return marked


def read_job(folder: Path, about: dict[str, Any]) -> Recording:
    """Return what `inside` wrote to a job's folder.

    Raises
    ------
    ValueError
        Where the recorder missed packets, or saw what cannot be.
    """
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    if report["lost"]:
        raise ValueError(f"{folder}: the recorder missed {report['lost']} packets")
    events = np.frombuffer((folder / "events.bin").read_bytes(), dtype=_EVENTS)
    schedule = np.frombuffer((folder / "schedule.bin").read_bytes(), dtype=_SCHEDULE)
    leaves = events["leaves"] == 1
    arrivals, departures = events[~leaves], events[leaves]
    order = np.empty(len(schedule), dtype=np.int64)
    order[arrivals["number"]] = np.arange(len(arrivals))
    return Recording(
        about={**about, "kernel": report["kernel"], "qdiscs": report["qdiscs"]},
        arrived_ns=arrivals["time_ns"].astype(np.int64),
        flow=schedule["flow"][arrivals["number"]].astype(np.int64),
        bytes=arrivals["bytes"].astype(np.int64),
        tos=arrivals["tos"].astype(np.int64),
        left_ns=departures["time_ns"].astype(np.int64),
        left=order[departures["number"]],
        left_tos=departures["tos"].astype(np.int64),
        before=np.cumsum(~leaves)[leaves],
    )


def save(name: str, recording: Recording) -> Path:
    """Write a recording to recordings/NAME.zip, small: differences, in the narrowest types, compressed.

    Raises
    ------
    ValueError
        If something would not be the same when read again.
    """
    path = RECORDINGS / f"{name.replace(' ', '-')}.zip"
    columns = {
        "arrived": steps(recording.arrived_ns // _TICK_NS),
        "flow": recording.flow,
        "bytes": recording.bytes,
        "tos": recording.tos,
        "late": _late(recording),
        "left": steps(recording.left),
        "left_tos": recording.left_tos ^ recording.tos[recording.left],
        "before": recording.before - _arrived_by(recording.arrived_ns, recording.left_ns),
    }
    archive.write(path, recording.about, columns)
    again = load(name)
    for field in ("arrived_ns", "flow", "bytes", "tos", "left_ns", "left", "left_tos", "before"):
        if not np.array_equal(getattr(again, field), getattr(recording, field)):
            raise ValueError(
                f"{path.name}: {field} would not be read as it was recorded; its times are no multiple of "
                f"{_TICK_NS} ns: was the kernel in virtual time?"
            )
    return path


def load(name: str) -> Recording:
    """Read recordings/NAME.zip."""
    about, columns = archive.read(RECORDINGS / f"{name.replace(' ', '-')}.zip")
    arrived, sizes = np.cumsum(columns["arrived"]), columns["bytes"]
    left, tos = np.cumsum(columns["left"]), columns["tos"]
    left_ns = _left_at(columns["late"], arrived[left], sizes[left], about["rate_bit_per_s"]) * _TICK_NS
    return Recording(
        about=about,
        arrived_ns=arrived * _TICK_NS,
        flow=columns["flow"],
        bytes=sizes,
        tos=tos,
        left_ns=left_ns,
        left=left,
        left_tos=columns["left_tos"] ^ tos[left],
        before=columns["before"] + _arrived_by(arrived * _TICK_NS, left_ns),
    )


def _late(recording: Recording) -> NDArray[np.int64]:
    """Return how many ticks after it could leave each packet left: nearly always none or one."""
    left_at, arrived = recording.left_ns // _TICK_NS, recording.arrived_ns[recording.left] // _TICK_NS
    sent = _ticks_on_wire(recording.bytes[recording.left], recording.about["rate_bit_per_s"])
    free = np.concatenate([[0], (left_at + sent)[:-1]])
    late: NDArray[np.int64] = left_at - np.maximum(free, arrived)
    return late


def _left_at(
    late: NDArray[np.int64], arrived: NDArray[np.int64], sizes: NDArray[np.int64], rate_bit_per_s: int
) -> NDArray[np.int64]:
    """Return the ticks at which packets left, of which `_late` has been kept."""
    left_at, free = np.empty_like(late), 0
    sent = _ticks_on_wire(sizes, rate_bit_per_s).tolist()
    for index, (ticks, came) in enumerate(zip(late.tolist(), arrived.tolist(), strict=True)):
        left_at[index] = max(free, came) + ticks
        free = int(left_at[index]) + sent[index]
    return left_at


def _ticks_on_wire(sizes: NDArray[np.int64], rate_bit_per_s: int) -> NDArray[np.int64]:
    return sizes * 8 * 10**9 // rate_bit_per_s // _TICK_NS


def _arrived_by(arrived_ns: NDArray[np.int64], times_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many packets had arrived at each time, those of the same time included."""
    counts: NDArray[np.int64] = np.searchsorted(arrived_ns, times_ns, side="right")
    return counts
