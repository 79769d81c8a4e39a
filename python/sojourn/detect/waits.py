"""Statistics of what packets waited, for the features of a probe and of a download; NaN for what is not known."""

from typing import Any

import numpy as np

from sojourn.detect.log import FlowLog, Times

NOTHING = float("nan")
# Loss and delay of less than these are noise of hosts.
_MIN_S = 1e-4
FEW = 5
"""With fewer events than these nothing is said of their spacing."""
# Packets before and after a loss whose delays are compared.
_AROUND = 10


def waiting(flow: FlowLog, base_s: float | None = None) -> Times:
    """Return each packet's delay above the least; NaN for those lost."""
    if flow.lost.all():
        return flow.delay_s
    base = float(np.nanmin(flow.delay_s)) if base_s is None else base_s
    return flow.delay_s - base


def wait_ms(flow: FlowLog, fraction: float) -> float:
    """Return a quantile of what those packets waited that arrived, in ms."""
    delay = flow.delay_s[~flow.lost]
    return float(np.quantile(delay, fraction) - delay.min()) * 1e3 if len(delay) else NOTHING


def ranks(flow: FlowLog, wait: Times) -> Times:
    """Return for each packet the rank, 0 to 1, of the delay of the last arrival before it, or its own."""
    known = np.sort(wait[~flow.lost])
    if not len(known):
        return np.full(len(wait), NOTHING)
    filled = last_waits(wait)
    # Half of those that are equal count as lower, so that a constant delay has the rank one half.
    low, high = np.searchsorted(known, filled, "left"), np.searchsorted(known, filled, "right")
    return np.where(np.isnan(filled), NOTHING, (low + high) / 2 / len(known))


def last_waits(wait: Times) -> Times:
    """Return the delays with that of the last arrival in the place of a lost packet's."""
    places = np.where(np.isnan(wait), 0, np.arange(len(wait)))
    return wait[np.maximum.accumulate(places)] if len(wait) else wait


def slope_after(wait: Times, lost: Any, packet_s: float) -> float:
    """Return how much longer the tenth packet after a loss waited than the tenth before it, in packet times."""
    places = np.flatnonzero(lost)
    places = places[(places >= _AROUND) & (places < len(wait) - _AROUND)]
    return quantile((wait[places + _AROUND] - wait[places - _AROUND]) / packet_s, 0.5) if len(places) else NOTHING


def lag_correlation(gaps: Times) -> float:
    """Return the correlation of each gap with the next one."""
    if len(gaps) < 2 * FEW or np.std(gaps) == 0:
        return NOTHING
    return float(np.corrcoef(gaps[:-1], gaps[1:])[0, 1]) if np.std(gaps[:-1]) and np.std(gaps[1:]) else NOTHING


def ratio(one: float, other: float) -> float:
    """Return a ratio of times or rates, bounded where the other is next to nothing."""
    if np.isnan(one) or np.isnan(other):
        return NOTHING
    return float(np.clip(one / max(other, _MIN_S), -100.0, 100.0))


def log10(value: float) -> float:
    """Return the logarithm, bounded below."""
    return float(np.log10(max(value, 1e-6))) if not np.isnan(value) else NOTHING


def mean(values: Any) -> float:
    """Return the mean of numbers or flags."""
    return float(np.mean(values)) if len(values) and not np.isnan(values).all() else NOTHING


def quantile(values: Times, fraction: float) -> float:
    """Return a quantile of those that are known."""
    known = values[~np.isnan(values)]
    return float(np.quantile(known, fraction)) if len(known) else NOTHING
