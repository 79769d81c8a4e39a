"""Did the path become another one during the probe? A step of the delay that no queue can make tells it."""

from collections.abc import Mapping

import numpy as np

from sojourn.detect.features import lasting_rate
from sojourn.detect.log import EMPTY, FlowLog
from sojourn.detect.plan import FULL_BYTES, GREEDY, THIN

# A step of at least so much, and of so many packets, is another route where the least delay moves by as much: by a part
# of the step between these two. A queue that other traffic filled at once grows by more until the end.
_ROUTE_S, _ROUTE_PACKETS, _ROUTE_STAYS = 0.005, 5.0, (0.7, 1.4)
# This part of the packets meets nearly the least delay of an empty path.
_OFTEN = 0.25
# So many packets tell what the path was like before and after. Other flows that begin with the load may fill a queue
# within a packet or two, and keep it.
_FEW_PACKETS = 50


def route_change_ms(load: Mapping[str, FlowLog], rate_bps: float) -> float | None:
    """Return by how much the delay of the path changed at once during the load; None where it did not.

    The delay of a thin flow grows by no more than what is sent meanwhile takes to leave, and falls no faster than time
    passes, unless the path is another one. A burst of other traffic does not last.

    Parameters
    ----------
    load
        The log of the load.
    rate_bps
        The rate that the first trains told.
    """
    thin = load.get(THIN, EMPTY)
    rate = min(rate_bps, lasting_rate(load))
    if not rate > 0:
        return None
    flows = [(one.sent_s, np.cumsum(one.size_bytes)) for one in load.values() if len(one.sent_s)]
    least_s = max(_ROUTE_S, _ROUTE_PACKETS * FULL_BYTES * 8 / rate)
    for one in (thin, load.get(GREEDY, EMPTY)):
        sent_s, delay_s = one.sent_s[~one.lost], one.delay_s[~one.lost]
        if len(sent_s) <= 2 * _FEW_PACKETS + 1:
            continue
        total = sum(np.interp(sent_s, times, sizes, left=0.0) for times, sizes in flows)
        steps_s = np.diff(delay_s)
        longer_s, shorter_s = steps_s - np.diff(total) * 8 / rate, -steps_s - np.diff(sent_s)
        # The greedy flow sends bursts, but no packet of it overtakes another.
        beyond_s = np.maximum(longer_s, shorter_s) if one is thin else shorter_s
        place = _FEW_PACKETS + int(np.argmax(beyond_s[_FEW_PACKETS:-_FEW_PACKETS]))
        if beyond_s[place] < least_s:
            continue
        parts = delay_s[: place + 1], delay_s[place + 1 :]
        before_s, after_s = (float(part.min()) for part in parts)
        # The delay of an empty path is met again and again; over a queue that stands the least is met once.
        if any(np.quantile(part, _OFTEN) - part.min() > least_s for part in parts):
            continue
        low, high = _ROUTE_STAYS
        if low < (after_s - before_s) / float(steps_s[place]) < high:
            return (after_s - before_s) * 1e3
    return None
