"""Sojourn's queue on a kernel's arrivals and transmissions: what agrees."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.kernel.cases import Case
from benchmarks.kernel.recording import Recording
from sojourn import _native


@dataclass(frozen=True)
class Fates:
    """What became of each packet, in the order of arrival."""

    left: NDArray[np.bool_]
    place: NDArray[np.int64]
    """How many left before; -1 where it was dropped."""
    left_ns: NDArray[np.int64]
    """When; -1 where it was dropped."""
    marked: NDArray[np.bool_]


def recorded(recording: Recording) -> Fates:
    """Return the fates in the kernel."""
    place = recording.place()
    left_ns = np.where(place >= 0, recording.left_ns[place], -1)
    return Fates(place >= 0, place, left_ns, recording.marked())


class Replayer:
    """Sojourn's queue, to be led through one recording again and again.

    It is asked for packets when the kernel's was, or, where chance decides, as the case's link asks.
    """

    def __init__(self, case: Case, recording: Recording) -> None:
        self._scenario = _native.load_json(json.dumps(case.scenario()))
        columns = (recording.arrived_ns, recording.flow, recording.bytes, recording.tos)
        times, flows, sizes, tos = (column.tolist() for column in columns)
        self._packets = (times, flows, sizes, tos)
        recorded_moments = (recording.left_ns.tolist(), recording.before.tolist())
        self._service = case.link if case.random else recorded_moments

    def fates(self, seed: int = 1) -> Fates:
        """Return the fates in Sojourn's queue, which draws its lots from `seed`."""
        columns = _native.replay(self._scenario, self._packets, self._service, seed)
        ends, times, places, marks = (np.frombuffer(column[2], dtype=column[1]) for column in columns)
        codes = {name: code for code, name in enumerate(columns[0][3] or [])}
        left = ends == codes["left"]
        return Fates(
            left=left,
            place=np.where(left, places.astype(np.int64), -1),
            left_ns=np.where(left, times.astype(np.int64), -1),
            marked=(marks == 1) & left,
        )


def exact(case: Case, recording: Recording) -> dict[str, Any]:
    """Return how far each packet's fate and the order of departures agree, as fractions.

    A fate is whether a packet left, and whether marked. The order agrees as far as packets that left in both need not
    be moved. Packets that wait yet when the kernel's last one left count as dropped.
    """
    kernel, ours = recorded(recording), Replayer(case, recording).fates()
    same = (kernel.left == ours.left) & (kernel.marked == ours.marked)
    both = kernel.left & ours.left
    in_order = longest_rising(ours.place[both][np.argsort(kernel.place[both])])
    different = np.flatnonzero(~same)
    return {
        "packets": recording.packets,
        "kernel_dropped": int(np.count_nonzero(~kernel.left)),
        "kernel_marked": int(np.count_nonzero(kernel.marked)),
        "dropped": int(np.count_nonzero(~ours.left)),
        "marked": int(np.count_nonzero(ours.marked)),
        "same_fate": float(np.mean(same)),
        "same_order": in_order / max(1, int(np.count_nonzero(both))),
        "same_moment": float(np.mean(kernel.left_ns[both] == ours.left_ns[both])),
        "first_difference": int(different[0]) if len(different) else None,
    }


def longest_rising(values: NDArray[np.int64]) -> int:
    """Return the length of the longest rising subsequence: how many packets need not move to have the same order."""
    ends: list[int] = []
    for value in values.tolist():
        at = int(np.searchsorted(ends, value))
        ends[at : at + 1] = [value]
    return len(ends)
