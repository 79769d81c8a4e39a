"""Lots that the kernel drew, as far as its recordings show them: Sojourn's sender gets the same ones.

CDG draws whether it answers a rising delay; where it does, its state becomes CWR without a mark. BBR draws the first
phase of each cycle; its pacing gain shows where cycles begin, and the windows from then on show with which phase.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from benchmarks.senders.recording import Connection

LOTS = 1_000_000
"""A lot is given in parts of one in so many."""

_OPEN, _DISORDER, _CWR = 0, 1, 2
_PHASES = 7
"""BBR's first phases to choose from."""

_DRAIN_GAIN = 88
_EMPTY = 4
"""Segments with which BBR empties the path."""

Found = TypeVar("Found")


@dataclass(frozen=True)
class Lot:
    """From an input on, every lot is this."""

    place: int
    """Before which input it holds."""
    value: int
    """In parts of `LOTS`."""


def of_backoffs(connection: Connection) -> list[Lot]:
    """Return CDG's lots: the least where the kernel backed off upon an acknowledgement, and the greatest elsewhere."""
    state = connection.states["ca_state"]
    before = np.concatenate([[_OPEN], state[:-1]])
    acks = connection.acks[connection.looks]
    marked = np.zeros(len(state), dtype=bool)
    marked[acks] = connection.marked == 1
    answers = acks & ~marked & (state == _CWR) & (before <= _DISORDER)
    places = np.flatnonzero(connection.looks)
    values = np.where(answers, 0, LOTS - 1)
    changes = np.flatnonzero(np.diff(values, prepend=-1) != 0)
    return [Lot(int(places[change]), int(values[change])) for change in changes]


def of_cycles(
    connection: Connection, replay: Callable[[Sequence[Lot]], Found], agreeing: Callable[[Found], int]
) -> Found:
    """Return the replay with BBR's lots: for each cycle the first phase with which most windows agree."""
    drawn: list[Lot] = []
    best = replay(drawn)
    # Each holds from the cycle before on: Sojourn's may begin upon another acknowledgement.
    for place in [0, *(place + 1 for place in _cycles(connection))][:-1]:
        found = [(phase, replay([*drawn, Lot(place, _phase(phase))])) for phase in range(_PHASES)]
        phase, best = max(found, key=lambda row: agreeing(row[1]))
        drawn.append(Lot(place, _phase(phase)))
    return best


def _phase(number: int) -> int:
    return (2 * number + 1) * LOTS // (2 * _PHASES)


def _cycles(connection: Connection) -> Iterator[int]:
    """Yield the inputs upon which a cycle begins: after draining, and after the path has been emptied."""
    gain, cwnd = connection.states["pacing_gain"], connection.states["cwnd"]
    places = np.flatnonzero(connection.looks)
    drained = (gain[:-1] == _DRAIN_GAIN) & (gain[1:] != _DRAIN_GAIN)
    emptied = (cwnd[:-1] <= _EMPTY) & (cwnd[1:] > _EMPTY) & (gain[1:] > _DRAIN_GAIN)
    for change in np.flatnonzero(drained | emptied):
        yield int(places[change + 1])
