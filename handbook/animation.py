"""The animated queue of README and concepts: what waits at a bottleneck in two disciplines, packet by packet."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from jinja2 import Environment, FileSystemLoader, StrictUndefined

import sojourn
from handbook.pages import DOCS
from sojourn.figures.style import family
from sojourn.variants import variants

FILE = DOCS / "images" / "animated-queue.svg"
_TEMPLATE = "animation.svg"
_SCENARIO = "backups-beside-calls"
_QUEUES = ("droptail", "codel")
_FROM_S, _SHOWN_S = 40.0, 1.2
_SLOWER = 10
"""How many times longer the picture takes than the link does."""
_STILL = 0.25
"""Part of the time that is shown where nothing may move."""
_STEPS = 96
_PX_PER_MS = 1.0
_GAP_PX = 0.5
_MIN_PX = 1.0
"""Of a packet, which could not be seen if it were smaller."""
_COLUMNS = ("time_ns", "sojourn_ns", "size_bytes", "event", "group")
_YIELDING = "backups"
_RUNS = 10

Times = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """One queue: its packets in the order in which they leave, and how long it is over time."""

    title: str
    share: str
    """What the group that should yield gets, in percent."""
    wait: str
    """How long a packet waits in the mean, in ms."""
    strips: Sequence[tuple[str, str]]
    """A path for each group, and its colour: a packet lies where its departure is on the axis of time."""
    tails: Sequence[tuple[float, float]]
    """Percent of the time, and how far the queue reaches then, in px."""
    still: float
    drops: Sequence[tuple[float, float, str]]
    """Percent of the time, where on the axis, and the colour of each packet that is dropped."""


def draw() -> Path:
    """Draw the picture and return its file."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    FILE.write_text(environment.get_template(_TEMPLATE).render(**_parts()), encoding="utf-8")
    return FILE


def _parts() -> dict[str, Any]:
    base = sojourn.Scenario.load(_SCENARIO)
    scenarios = variants(base, queues=_QUEUES)
    results = {name: scenario.run(runs=1, packets=True) for name, scenario in scenarios.items()}
    # What is said is the mean of the runs of `sojourn compare`, not what one of them happens to do.
    summaries = {name: scenario.run(runs=_RUNS, series=False).summary for name, scenario in scenarios.items()}
    first = results[_QUEUES[0]]
    control = next(group.control for group in first.scenario.group if group.name == _YIELDING)
    return {
        "rows": [_row(name, result, summaries[name]) for name, result in results.items()],
        "groups": [(name, family(place)) for place, name in enumerate(_crossing(first))],
        "seconds": _SHOWN_S * _SLOWER,
        "travel": _SHOWN_S * 1e3 * _PX_PER_MS,
        "target": _milliseconds(control.target) * _PX_PER_MS,
        "rate": first.scenario.bottleneck.rate,
        "slower": _SLOWER,
        "still": _STILL,
        "ticks": range(0, 601, 100),
    }


def _milliseconds(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"ms": 1.0, "s": 1e3}[unit]


def _crossing(result: sojourn.Result) -> list[str]:
    return [group.name for group in result.scenario.group if group.direction == "forward"]


def _row(name: str, result: sojourn.Result, summary: Mapping[str, Any]) -> Row:
    record = result.runs[0]
    groups = _crossing(result)
    table = result.packets.filter(np.isin(result.packets["group"].to_numpy(zero_copy_only=False), groups))
    columns = {key: table[key].to_numpy(zero_copy_only=False) for key in _COLUMNS}
    since_ms = columns["time_ns"] / 1e6 - _FROM_S * 1e3
    left = (columns["event"] == "departure") & (columns["sojourn_ns"] > 0)
    # Departures as long after the end as the last packet that is seen can wait.
    seen = left & (since_ms >= 0) & (since_ms <= _SHOWN_S * 1e3 + record.bottleneck.queue_ms.max)
    # Whole nanoseconds first: a packet of a call comes at the very instant of a step.
    came_ms = (columns["time_ns"] - columns["sojourn_ns"])[left] / 1e6 - _FROM_S * 1e3
    tails = list(_tails(came_ms, since_ms[left]))
    colours = {group: family(place) for place, group in enumerate(groups)}
    takes_ms = columns["size_bytes"] * 8 / (result.capacity_mbps(1.0)[0] * 1e3)
    parts = {group: seen & (columns["group"] == group) for group in groups}
    # Small packets lie in front, where large ones cannot cover them.
    shown = sorted(groups, key=lambda group: float(takes_ms[parts[group]].max(initial=0)), reverse=True)
    share, wait_ms = (summary[metric]["mean"] for metric in (f"share.{_YIELDING}", "bottleneck_queue_ms_mean"))
    return Row(
        title={"droptail": "DropTail", "codel": "CoDel"}[name],
        share=f"{100 * share:.0f}",
        wait=f"{wait_ms:.0f}",
        strips=[(_path(since_ms[parts[group]], takes_ms[parts[group]]), colours[group]) for group in shown],
        tails=tails,
        still=_at(tails, 100 * _STILL),
        drops=list(_drops(columns, since_ms, colours, tails)),
    )


def _path(departs_ms: Times, takes_ms: Times) -> str:
    """Return bars as long as a packet takes, as moves along a line: each begins where its packet leaves."""
    parts, x = [], 0.0
    for place, width in zip(departs_ms * _PX_PER_MS, takes_ms * _PX_PER_MS - _GAP_PX, strict=True):
        left, long = round(float(place), 1), round(max(_MIN_PX, float(width)), 1)
        parts.append(f"m{round(left - x, 1):g} 0h{long:g}")
        x = left + long
    return "M0 0" + "".join(parts)


def _tails(came_ms: Times, left_ms: Times) -> Iterator[tuple[float, float]]:
    """Yield how long a packet still waits that is the last of the queue, step by step."""
    order = np.argsort(came_ms)
    came, left = came_ms[order], np.maximum.accumulate(left_ms[order])
    for step in range(_STEPS + 1):
        now = _SHOWN_S * 1e3 * step / _STEPS
        last = int(np.searchsorted(came, now, side="right")) - 1
        yield round(100 * step / _STEPS, 2), round(max(0.0, left[last] - now) * _PX_PER_MS, 1) if last >= 0 else 0.0


def _at(tails: Sequence[tuple[float, float]], percent: float) -> float:
    """Return how far the queue reaches at a part of the time."""
    percents, places = np.array(tails).T
    return float(np.interp(percent, percents, places))


def _drops(
    columns: dict[str, Any], since_ms: Times, colours: dict[str, str], tails: Sequence[tuple[float, float]]
) -> Iterator[tuple[float, float, str]]:
    shown = (columns["event"] == "drop") & (since_ms >= 0) & (since_ms < _SHOWN_S * 1e3)
    for when, waited, group in zip(since_ms[shown], columns["sojourn_ns"][shown], columns["group"][shown], strict=True):
        percent = 100 * when / (_SHOWN_S * 1e3)
        # One that has waited is dropped at the head, as CoDel does; any other never gets in.
        place = 0.0 if waited > 0 else _at(tails, percent)
        yield round(percent, 2), round(place, 1), colours[group]
