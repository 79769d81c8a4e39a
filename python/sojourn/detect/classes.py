"""Classes: whether a code point counts, what it leaves, and whether ECT(1) has a queue of its own."""

import numpy as np
from scipy.stats import fisher_exact

from sojourn.detect.log import EMPTY, FlowLog, Log
from sojourn.detect.plan import FULL_BYTES, GREEDY, LOW, PLAIN, SCALABLE
from sojourn.detect.waits import quantile, waiting

# What may wait is known up to its last arrival, so that few of its packets are left under strict priority.
_FEW_PACKETS, _FEW_LEFT = 50, 20
# The flow that may wait loses so much more, or waits so many times as long, where code points count.
_MORE_LOST, _LONGER = 0.1, 3.0
# A queue is one where so many packets wait.
_MIN_QUEUE_PACKETS = 3.0
# Less of the rate than this is a packet that slipped through.
_NOTHING = 0.01
# ECT(1) of L4S is marked so many times as often, which chance alone explains with this probability (Fisher's exact
# test), and its packets do not wait longer.
_MORE_MARKED, _CHANCE = 3.0, 1e-3
# Fewer packets, or fewer marks of both flows, do not tell.
_FEW_OF_L4S, _FEW_MARKS = 10, 5


def code_points_count(log: Log, rate_bps: float) -> bool | None:
    """Return whether of two flows the one whose code point says that it may wait pays for the other.

    Where no code point counts, it loses and waits as much or less, since it sends a little less. None where the log of
    the stage does not tell.
    """
    plain, low = (_settled(log.get(name, EMPTY)) for name in (PLAIN, LOW))
    if (~plain.lost).sum() < _FEW_PACKETS or len(low.sent_s) < _FEW_LEFT:
        return None
    more_lost = float(low.lost.mean() - plain.lost.mean())
    if low.lost.all():
        return True
    waits = [quantile(waiting(one), 0.5) for one in (plain, low)]
    packet_s = FULL_BYTES * 8 / rate_bps
    longer = waits[1] > _LONGER * waits[0] + _MIN_QUEUE_PACKETS * packet_s
    if more_lost > _MORE_LOST or longer:
        return True
    any_queue = max(waits) > _MIN_QUEUE_PACKETS * packet_s or bool(plain.lost.any() or low.lost.any())
    return False if any_queue else None


def low_share(log: Log, rate_bps: float) -> float | None:
    """Return which share of the rate the flow that may wait got while the other one took all there is.

    Strict priority leaves 0. None where the log of the stage does not tell.
    """
    plain, low = log.get(PLAIN, EMPTY), log.get(LOW, EMPTY)
    if (~plain.lost).sum() < _FEW_PACKETS:
        return None
    # Both stop at the same time, and then what waits leaves in any order.
    last_s, base_s = float(plain.sent_s[-1]), float(np.nanmin(plain.delay_s))
    begin_s, end_s = base_s + last_s / 2, base_s + last_s
    came = (low.received_s >= begin_s) & (low.received_s < end_s)
    share = float(low.size_bytes[came].sum()) * 8 / (end_s - begin_s) / rate_bps
    return share if share > _NOTHING else 0.0


def has_l4s(log: Log) -> bool | None:
    """Return whether packets with ECT(1) are marked more than such with ECT(0), and wait in a shorter queue (RFC 9332).

    None where the log of the stage does not tell, as where too few arrived.
    """
    classic, scalable = (log.get(name, EMPTY) for name in (GREEDY, SCALABLE))
    came, came_too = ~classic.lost, ~scalable.lost
    marks, marks_too = int(classic.marked[came].sum()), int(scalable.marked[came_too].sum())
    if min(came.sum(), came_too.sum()) < _FEW_OF_L4S or marks + marks_too < _FEW_MARKS:
        return None
    counts = [[marks_too, int(came_too.sum()) - marks_too], [marks, int(came.sum()) - marks]]
    is_more = marks_too / came_too.sum() > _MORE_MARKED * marks / came.sum()
    if not is_more or fisher_exact(counts, alternative="greater").pvalue > _CHANCE:
        return False
    base_s = min(float(np.nanmin(one.delay_s)) for one in log.values() if not one.lost.all())
    # A queue that both share is as long for the one as for the other at each time. Where flows have queues of their
    # own, the one that is marked more is the one that waits longer.
    beside = np.interp(scalable.sent_s[came_too], classic.sent_s[came], waiting(classic, base_s)[came])
    wait = waiting(scalable, base_s)[came_too]
    return bool(np.median(wait) <= np.median(beside))


def _settled(flow: FlowLog) -> FlowLog:
    """Return the later half of a flow: a deep buffer has to fill first."""
    return flow.between(float(flow.sent_s[-1]) / 2, np.inf) if len(flow.sent_s) else flow
