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
    waits: int = 0
    """Packets that are still in the queue after the last departure."""


def recorded(recording: Recording) -> Fates:
    """Return the fates in the kernel."""
    place = recording.place()
    left_ns = np.where(place >= 0, recording.left_ns[place], -1)
    return Fates(place >= 0, place, left_ns, recording.marked())


def replayed(case: Case, recording: Recording, seed: int = 1) -> Fates:
    """Return the fates in Sojourn's queue.

    It is asked for packets when the kernel's was, or, where chance decides, when the packet before has been sent.
    """
    start = int(recording.arrived_ns[0])
    opportunities = None
    if not case.random:
        opportunities = (recording.left_ns.tolist(), recording.before.tolist())
    columns = _native.replay(_scenario(case), _packets(recording), opportunities, seed)
    ends, times, places, marks = (np.frombuffer(column[2], dtype=column[1]) for column in columns)
    codes = {name: code for code, name in enumerate(columns[0][3] or [])}
    left = ends == codes["left"]
    assert start >= 0
    return Fates(
        left=left,
        place=np.where(left, places.astype(np.int64), -1),
        left_ns=np.where(left, times.astype(np.int64), -1),
        marked=(marks == 1) & left,
        waits=int(np.count_nonzero(ends == codes["waits"])),
    )


def _packets(recording: Recording) -> tuple[list[int], list[int], list[int], list[int]]:
    columns = (recording.arrived_ns, recording.flow, recording.bytes, recording.tos)
    times, flows, sizes, tos = (column.tolist() for column in columns)
    return times, flows, sizes, tos


def _scenario(case: Case) -> _native.Scenario:
    return _native.load_json(json.dumps(case.scenario()))


def exact(case: Case, recording: Recording) -> dict[str, Any]:
    """Return how far each packet's fate and the order of departures agree."""
    kernel, ours = recorded(recording), replayed(case, recording)
    same = (kernel.left == ours.left) & (kernel.marked == ours.marked)
    both = kernel.left & ours.left
    in_order = _longest_rising(ours.place[both][np.argsort(kernel.place[both])])
    different = np.flatnonzero(~same)
    return {
        "packets": recording.packets,
        "kernel_dropped": int(np.count_nonzero(~kernel.left)),
        "kernel_marked": int(np.count_nonzero(kernel.marked)),
        "dropped": int(np.count_nonzero(~ours.left)),
        "marked": int(np.count_nonzero(ours.marked)),
        "same_fate": float(np.mean(same)),
        "same_order": in_order / max(1, np.count_nonzero(both)),
        "same_moment": float(np.mean(kernel.left_ns[both] == ours.left_ns[both])) if both.any() else 1.0,
        "first_difference": int(different[0]) if len(different) else None,
    }


def _longest_rising(values: NDArray[np.int64]) -> int:
    """Return the length of the longest rising subsequence: how many packets need not move to have the same order."""
    ends: list[int] = []
    for value in values.tolist():
        at = int(np.searchsorted(ends, value))
        ends[at : at + 1] = [value]
    return len(ends)
