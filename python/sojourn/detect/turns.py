"""Do flows take turns? Trains beside a greedy flow tell it, without a loss and without the rate.

Packets sent back to back leave a shared queue back to back, however long they waited. Where flows take turns, packets
of the greedy flow leave between them. So the packets of the greedy flow that arrive between the first and the last one
of a train are counted. Six trains are 54 kB.
"""

import numpy as np

from sojourn.detect.features import find_rate
from sojourn.detect.log import EMPTY, Log
from sojourn.detect.plan import FULL, FULL_BYTES, FULL_COUNT, GREEDY
from sojourn.detect.waits import waiting

TRAINS = 6
"""As many trains are looked at, the first that met a backlog of the greedy flow."""
_MIN_TRAINS = 2
# The greedy flow has a backlog where its packets wait longer than so many packets take.
_MIN_BACKLOG = 2.0
# A train of six has five gaps; in a shared queue other flows seldom come between, and at most one packet of them.
_MIN_BETWEEN = 1.5
# The queue fills first.
_SETTLED = 0.1


def takes_turns(find: Log, load: Log) -> bool | None:
    """Return whether flows take turns; None where too few trains met a backlog.

    Parameters
    ----------
    find, load
        The logs of the first two stages.
    """
    full, greedy, rate = load.get(FULL, EMPTY), load.get(GREEDY, EMPTY), find_rate(find)
    came = ~greedy.lost
    if not rate > 0 or not came.any():
        return None
    begin_s = float(greedy.sent_s[0])
    whole = len(full.sent_s) // FULL_COUNT * FULL_COUNT
    sent_s = full.sent_s[:whole:FULL_COUNT]
    arrived_s = full.received_s[:whole].reshape(-1, FULL_COUNT)
    backlog = np.interp(sent_s, greedy.sent_s[came], waiting(greedy)[came]) * rate / 8 / FULL_BYTES
    settled_s = begin_s + _SETTLED * (float(greedy.sent_s[-1]) - begin_s)
    usable = (sent_s > settled_s) & ~np.isnan(arrived_s).any(axis=1) & (backlog > _MIN_BACKLOG)
    trains = arrived_s[usable][:TRAINS]
    if len(trains) < _MIN_TRAINS:
        return None
    others = np.sort(greedy.received_s[came])
    between = np.searchsorted(others, trains[:, -1]) - np.searchsorted(others, trains[:, 0])
    return bool(np.median(between) > _MIN_BETWEEN)
