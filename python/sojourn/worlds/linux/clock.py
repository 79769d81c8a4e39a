"""Notices a clock that jumps during a measurement in real time."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sojourn.worlds.linux.errors import ClockJumpedError

# Programs that keep the time set it at once only where it is off by more than this; smaller errors they make good by
# running a little faster or slower, which moves all clocks alike.
_TOLERATED_S = 0.05
_READINGS = 5


def wall_offset_s() -> float:
    """Return the wall clock less the running time.

    It is the narrowest of a few readings, so that a busy machine does no harm.
    """
    readings = []
    for _ in range(_READINGS):
        before = time.monotonic()
        wall = time.time()
        after = time.monotonic()
        readings.append((after - before, wall - (before + after) / 2))
    return min(readings)[1]


@contextmanager
def steady_clock(offset_s: Callable[[], float] = wall_offset_s) -> Iterator[None]:
    """Raise ClockJumpedError at the end if the wall clock was set, or the machine slept, in between.

    Packets are stamped with the wall clock, so such a measurement is worth nothing.
    """
    before = offset_s()
    yield
    jump = offset_s() - before
    if abs(jump) > _TOLERATED_S:
        raise ClockJumpedError(
            f"the clock jumped by {jump:+.2f} s during the measurement: it was set, or the machine slept. "
            "Run it again, or use the kernel uml-virtual, which has a clock of its own"
        )
