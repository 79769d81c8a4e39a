"""What a line carries, for a shaper before it: never from what one flow got that answers to losses.

Three things tell it, and an advice needs two of them to agree. Trains leave a bottleneck at its rate, but for a token
bucket's burst, and for others whose packets come between them where flows take turns. Small trains fit into one turn,
so that nothing comes between. What arrives of a load that fills the line, and goes on where it is lost, is its rate,
less what others have.
"""

from dataclasses import dataclass

import numpy as np

from sojourn.detect.features import lasting_rate, train_gaps
from sojourn.detect.log import EMPTY, Log
from sojourn.detect.plan import FULL, FULL_BYTES, FULL_COUNT, SMALL, SMALL_BYTES, SMALL_COUNT, Stage
from sojourn.detect.waits import NOTHING, quantile

ALIKE = 1.06
"""Rates of one line differ by at most this, as averages by what is lost; others on it make them differ more."""
# Gaps of small packets are short, so that delays which vary move them more.
_SMALL = 1.12
# A load that is more than the line can carry loses at least so much of itself; chance and policers' bursts take less.
_FILLS = 0.93
# Of what is sent of an overload on a line of its own, all but the surplus arrives.
_BUCKET = (0.8, 0.87)
_STEADY = 1.03
# Of small trains the quicker quarter counts: others may come between those of the rest.
_LATE = 0.75
# So many gaps at the end of a train tell its rate.
_LAST = 2


@dataclass(frozen=True)
class Carries:
    """What is known of a line's rate, as IP packets in the direction of the probe."""

    low_mbps: float | None = None
    high_mbps: float | None = None
    """None where nothing can be said."""
    why_not: str = ""
    """Why nothing can be said, as the end of a sentence."""
    varies: bool = False
    """Whether a standing queue was left at rates that differ from time to time."""


def carries(logs: dict[str, Log], stages: list[Stage], *, is_full: bool) -> Carries:
    """Return what a line carries by what a probe has seen.

    Parameters
    ----------
    logs, stages
        The logs of the stages that were sent, and the stages.
    is_full
        Whether the greedy flow filled the queue (`sojourn.detect.probe.was_full`).
    """
    load = logs.get("load", {})
    trains, small, greedy = _ends_of_trains(logs.get("find", {})), _small_trains(load), lasting_rate(load)
    if not (trains > 0 and greedy > 0):
        return Carries(why_not="too few packets arrived")
    if small > _SMALL * trains:
        return Carries(
            why_not=f"small packets left at {_text(small)} and full ones at {_text(trains)}: others were on "
            "the line, or its delays vary"
        )
    if not logs.get("overload"):
        return _by_greedy(trains, greedy, is_full=is_full)
    offered = next(stage.overload_bps for stage in stages if stage.name == "overload")
    return _by_overload(trains, greedy, lasting_rate(logs["overload"]) / offered, offered, is_full=is_full)


def _by_overload(trains: float, greedy: float, part: float, offered: float, *, is_full: bool) -> Carries:
    """Return what a load tells that goes on where it is lost, of which a part arrived."""
    arrived = part * offered
    if not part <= _FILLS:
        got = f"but the greedy flow got {_text(greedy)}, and nothing that was sent filled the line"
        return Carries(why_not=f"trains left at {_text(trains)}, {got}")
    if _is_alike(trains, arrived, ALIKE):
        return _between(trains, arrived)
    is_bucket = trains > arrived and _BUCKET[0] < part < _BUCKET[1] and is_full
    if is_bucket and _is_alike(arrived, greedy, _STEADY):
        return _between(arrived, greedy)
    why = "others were on the line, its delays vary, or short bursts pass faster"
    return Carries(
        why_not=f"trains left at {_text(trains)}, and of a load that filled the line {_text(arrived)} arrived: {why}"
    )


def _by_greedy(trains: float, greedy: float, *, is_full: bool) -> Carries:
    if is_full and _is_alike(trains, greedy, ALIKE):
        return _between(trains, greedy)
    return Carries(why_not=f"trains left at {_text(trains)}, but the greedy flow got {_text(greedy)}")


def _is_alike(one: float, other: float, most: float) -> bool:
    return max(one, other) <= most * min(one, other)


def _between(one: float, other: float) -> Carries:
    return Carries(min(one, other) / 1e6, max(one, other) / 1e6)


def _ends_of_trains(find: Log) -> float:
    """Return the rate at which the last packets of the first trains left: a small bucket lets the first ones pass."""
    train = find.get(FULL, EMPTY)
    arrivals = train.received_s[: len(train.sent_s) // FULL_COUNT * FULL_COUNT].reshape(-1, FULL_COUNT)
    gaps = (arrivals[:, -1] - arrivals[:, -1 - _LAST]) / _LAST
    gap = quantile(gaps[~np.isnan(gaps)], 0.5)
    return FULL_BYTES * 8 / gap if gap > 0 else NOTHING


def _small_trains(load: Log) -> float:
    """Return the rate at which small trains left, of the quicker quarter; NaN where none arrived."""
    gaps = train_gaps(load.get(SMALL, EMPTY), SMALL_COUNT)
    gap = float(np.quantile(gaps, 1 - _LATE)) if len(gaps) else NOTHING
    return SMALL_BYTES * 8 / gap if gap > 0 else NOTHING


def _text(bps: float) -> str:
    return f"{bps / 1e6:.3g} Mbit/s"
