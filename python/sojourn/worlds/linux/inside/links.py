"""What the links of a plan count, and how they change while it runs."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sojourn.worlds.linux.inside.counters import Reader
from sojourn.worlds.linux.inside.namespace import batch, entered

NAMES = ("packets", "bytes", "drops", "lost")
"""What is counted of a link: what waits, and what its queue dropped and the wire behind it lost since the start."""


class Link:
    """The counters of a link's queue, also where others take its place."""

    def __init__(self, where: Mapping[str, str]) -> None:
        with entered(where["namespace"]):
            self._queue = Reader(where["device"], where["handle"])
            self._outside = Reader(where["device"], None)
        with entered(where["behind"]):
            self._lossy = Reader(where["lossy"], None)
        self._earlier_drops = 0

    def close(self) -> None:
        """Close the readers."""
        for reader in (self._queue, self._outside, self._lossy):
            reader.close()

    def read(self) -> tuple[int, ...] | None:
        """Return the values of NAMES; None where there is no queue."""
        counted, behind = self._queue.read(), self._lossy.read()
        if counted is None:
            return None
        lost = behind.drops if behind is not None else 0
        return counted.queued_packets, counted.queued_bytes, self._earlier_drops + counted.drops, lost

    def change(self, change: Mapping[str, Any]) -> None:
        """Let `tc` make a change. What waits in a queue that gives way is dropped, and counted by what is around it."""
        counted, around = self._queue.read(), self._outside.read()
        for namespace, lines in change["tc"].items():
            if lines:
                batch("tc", lines, namespace)
        if "handle" not in change or counted is None or around is None:
            return
        self._queue.follow(change["handle"])
        fresh, after = self._queue.read(), self._outside.read()
        if fresh is not None and after is not None:
            self._earlier_drops += counted.drops + (after.drops - around.drops) - fresh.drops


@contextmanager
def links(watched: Mapping[str, Mapping[str, str]]) -> Iterator[dict[str, Link]]:
    """Have the links of a plan."""
    made: dict[str, Link] = {}
    try:
        for key, where in watched.items():
            made[key] = Link(where)
        yield made
    finally:
        for link in made.values():
            link.close()


def moments(
    bins: int, bin_s: float, changes: Sequence[Mapping[str, Any]]
) -> list[tuple[float, Mapping[str, Any] | None]]:
    """Return the times of a run at which something is to be done, in order: a change, or else the end of a bin.

    A change at the end of a bin belongs to the next one, as in a simulation.
    """
    ends = [(round(number * bin_s, 9), None) for number in range(bins + 1)]
    return sorted(
        [*ends, *((change["at_s"], change) for change in changes)], key=lambda one: (one[0], one[1] is not None)
    )
