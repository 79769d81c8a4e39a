"""Recorded links: rates over time as times at which a full packet may be sent."""

from itertools import pairwise

import numpy as np

from sojourn.detect.passive import Leaving
from sojourn.imported.line import FULL_BYTES
from sojourn.reading import input_error

_MOST_PACKETS = 20_000_000
_FULL_KBIT = FULL_BYTES * 8 / 1e3
# A rate is told for each tenth of a second that a standing queue filled at least half.
_STEP_S, _FILLED = 0.1, 0.5


def opportunities(times_s: np.ndarray, rates_kbps: np.ndarray) -> list[int]:
    """Return times in ms at which a full packet may be sent, from rates that hold until the next one.

    Raises InputError where that would be a link of more packets than a scenario should have.

    >>> opportunities(np.array([10.0, 10.004, 10.009]), np.array([12_000.0, 6_000.0, 0.0]))
    [1, 2, 3, 4, 6, 8]
    """
    spans = np.diff(times_s)
    count = float(np.nansum(np.where(spans > 0, rates_kbps[:-1] * spans, 0.0))) / _FULL_KBIT
    if count > _MOST_PACKETS:
        message = f"found {count:.3g} packets of a recorded link; allowed: at most {_MOST_PACKETS:,}"
        raise input_error(message, found=f"{count:.3g}", allowed=f"{_MOST_PACKETS:,}")
    found: list[int] = []
    credit = 0.0
    for (begin, end), rate in zip(pairwise(times_s), rates_kbps[:-1], strict=True):
        if not rate > 0 or end <= begin:
            continue
        bits = rate * 1e3 * (end - begin)
        first = (begin - times_s[0]) * 1e3
        packet = FULL_BYTES * 8
        count = int((credit + bits) // packet)
        found += [round(first + ((place + 1) * packet - credit) / rate) for place in range(count)]
        credit += bits - count * packet
    return found


def rates_over_time(left: Leaving) -> tuple[np.ndarray, np.ndarray]:
    """Return times in s, and the rates in kbit/s at which a queue was left from each of them on.

    Where no queue stood, the rate is that of the nearest time at which one did.
    """
    count = max(int((left.at_s[-1] - left.at_s[0]) / _STEP_S), 1)
    times = left.at_s[0] + _STEP_S * np.arange(count + 1)
    own = left.stands
    place = np.clip(((left.at_s[own] - times[0]) / _STEP_S).astype(int), 0, count - 1)
    seconds = np.bincount(place, left.gaps_s[own], count)
    kbits = np.bincount(place, left.size_bytes[own], count) * 8 / 1e3
    known = np.flatnonzero(seconds >= _FILLED * _STEP_S)
    if not len(known):
        return times, np.full(count + 1, kbits.sum() / max(seconds.sum(), _STEP_S))
    nearest = known[np.abs(np.arange(count)[:, None] - known[None, :]).argmin(axis=1)]
    rates = kbits[nearest] / seconds[nearest]
    return times, np.append(rates, rates[-1])
