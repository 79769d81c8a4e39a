"""The registry of metrics: what a run measures, under one name with one unit in records, tables and figures.

The engine declares them where its record does (`crates/sojourn-sim/src/record.rs`).

A name is the path of a number in the run record, joined by underscores: `bottleneck_queue_ms_p99`, and below a group
`queue_ms_p99`. What belongs to one group of a result carries the group's name behind a dot: `share.tcp`.
"""

import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sojourn import _native

FRACTION = "0 to 1"
"""The unit of shares, rates and indices, which people read in percent or as they are."""
COUNT = ""
BOTTLENECK, REVERSE, HOPS, STATIONS = "bottleneck", "reverse", "hops", "stations"
MAIN = (BOTTLENECK, REVERSE)
PHASES = "phases"
JAIN_ALL = "jain_all"


@dataclass(frozen=True)
class Metric:
    """A number that runs measure."""

    name: str
    unit: str
    """Its unit; `FRACTION` for what lies between 0 and 1, empty for a plain number."""
    meaning: str
    percent: bool = False
    """Whether figures show it in percent."""


def _of(part: str) -> tuple[Metric, ...]:
    return tuple(Metric(**one) for one in _DECLARED[part])


_DECLARED: dict[str, list[dict[str, Any]]] = json.loads(_native.metrics())
_PINGED = "queueing delay as pings see it, on a real network only"


def _as_pinged(metrics: Iterable[Metric]) -> Iterator[Metric]:
    """Yield the metrics of a queue's delay as those of what pings see of it."""
    for metric in metrics:
        if metric.name.startswith("queue_ms_"):
            _, part = metric.meaning.split(": ")
            yield replace(metric, name=f"ping{metric.name.removeprefix('queue')}", meaning=f"{_PINGED}: {part}")
    yield Metric("ping_ms_base", "ms", f"{_PINGED}: subtracted base")


CLASS = _of("class")
"""Of a queue inside a discipline."""

_LINK = _of("link")
LINK = (*(one for one in _LINK if not one.name.startswith("access_")), *_as_pinged(_LINK))
"""Of a link; in the table `runs` with the link's name in front."""

AIR = (*(one for one in _LINK if one.name.startswith("access_")), *_of("station"))
"""Of a link on a medium that stations share, beside those of every link; the last four of stations only."""

GROUP = _of("group")
"""Of a group of flows."""

COMPLETION = tuple(one for one in GROUP if one.name.startswith("fct_ms_"))
"""Of the transfers of a size."""

RUN = _of("run")
"""Of a whole run."""

PHASE_LINK = _of("phase_link")
"""Of a link in a phase."""

PHASE_GROUP = _of("phase_group")
"""Of a group in a phase."""

_BY_SIZE = "fct_by_size_ms_"
_BY_NAME = {metric.name: metric for metric in (*GROUP, *LINK, *AIR, *RUN)}


def find(column: str) -> Metric | None:
    """Return the metric of a column of a table; None where the column is no metric.

    >>> find("bottleneck_queue_ms_p999").meaning, find("share.tcp").unit, find("bottleneck.rate")
    ('sojourn time in the queue: 99.9th percentile', '0 to 1', None)
    >>> find("fct_by_size_ms_10kB_mean.web").meaning
    'completion time of a transfer: mean, sizes from 10kB'
    >>> find("phases_slow_bottleneck_queue_ms_p95").unit, find("phases_slow_goodput_mbps.tcp").unit
    ('ms', 'Mbit/s')
    """
    return _find(column)


@functools.cache
def _find(column: str) -> Metric | None:
    if column in _BY_NAME:
        return _BY_NAME[column]
    if column.startswith((f"{BOTTLENECK}_", f"{REVERSE}_", f"{HOPS}_", f"{STATIONS}_")):
        return _longest(column, (*LINK, *AIR))
    metric, dot, _group = column.partition(".")
    if dot and metric.startswith(_BY_SIZE):
        size, _, part = metric.removeprefix(_BY_SIZE).rpartition("_")
        known = _BY_NAME.get(f"fct_ms_{part}")
        return known and replace(known, name=metric, meaning=f"{known.meaning}, sizes from {size}")
    if column.startswith(f"{PHASES}_"):
        return _longest(metric, PHASE_GROUP if dot else PHASE_LINK)
    return _BY_NAME.get(metric) if dot else None


def _longest(column: str, metrics: Iterable[Metric]) -> Metric | None:
    """Return the metric with the longest name that ends the name of the column."""
    ends = (metric for metric in metrics if column.endswith(f"_{metric.name}"))
    return max(ends, key=lambda metric: len(metric.name), default=None)


def links(record: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the links of a run record: the name that their metrics have in front, and what was measured there.

    >>> [name for name, _ in links({"bottleneck": {}, "hops": {"gateway": {}}})]
    ['bottleneck', 'hops_gateway']
    """
    for name in MAIN:
        if record.get(name) is not None:
            yield name, record[name]
    for kind in (HOPS, STATIONS):
        for name, link in (record.get(kind) or {}).items():
            yield f"{kind}_{name}", link


def of_links(links: Iterable[str]) -> tuple[Metric, ...]:
    """Return the metrics of links with these names: more where stations share a medium.

    >>> len(of_links(["bottleneck"])) == len(LINK), len(of_links(["bottleneck", "stations_near"])) > len(LINK)
    (True, True)
    """
    return (*LINK, *AIR) if any(link.startswith(f"{STATIONS}_") for link in links) else LINK


def values(record: Mapping[str, Any]) -> dict[str, float | None]:
    """Return every metric of a run record.

    >>> values({"bottleneck": {"utilization": 0.9}, "groups": {"tcp": {"share": 1.0}}, "jain_all": None})
    {'bottleneck_utilization': 0.9, 'share.tcp': 1.0, 'jain_all': None}
    """
    found = {name: value for link, of in links(record) for name, value in leaves(of, f"{link}_")}
    for group, of in record["groups"].items():
        found.update((f"{name}.{group}", value) for name, value in leaves(of))
    found[JAIN_ALL] = record[JAIN_ALL]
    for phase, of in (record.get(PHASES) or {}).items():
        before = f"{PHASES}_{phase}_"
        found.update((f"{before}{name}", value) for link, at in links(of) for name, value in leaves(at, f"{link}_"))
        for group, measured in of["groups"].items():
            found.update((f"{before}{name}.{group}", value) for name, value in leaves(measured))
    return found


def leaves(tree: Mapping[str, Any], prefix: str = "") -> list[tuple[str, float | None]]:
    """Return the numbers of a tree under their paths, joined by underscores.

    >>> dict(leaves({"queue_ms": {"mean": 4.5}, "drops": 3}, "bottleneck_"))
    {'bottleneck_queue_ms_mean': 4.5, 'bottleneck_drops': 3}
    """
    found: list[tuple[str, float | None]] = []
    for name, value in tree.items():
        # Records are read from JSON. To ask for any Mapping takes ten times as long, at a hundred numbers of every run.
        if isinstance(value, dict):
            found += leaves(value, f"{prefix}{name}_")
        else:
            found.append((prefix + name, value))
    return found


def label(column: str) -> str:
    """Return what a figure's axis or a table's head says: the name, with its unit where it is a metric that has one.

    >>> label("bottleneck_queue_ms_p99"), label("share"), label("bottleneck.rate_mbps")
    ('bottleneck_queue_ms_p99 [ms]', 'share [%]', 'bottleneck.rate_mbps')
    """
    metric = find(column)
    if metric is None or not metric.unit:
        return column
    return f"{column} [{'%' if metric.percent else metric.unit}]"


def key_words(key: str) -> str:
    """Return the dotted key of a scenario in words; anything else as it is.

    >>> [key_words(key) for key in ("bottleneck.queue.kind", "group.tcp.flows", "group.tcp.control.target", "case")]
    ['queue of the bottleneck', 'flows of tcp', 'target of the control of tcp', 'case']
    """
    first, *rest = key.removesuffix(".kind").split(".")
    if not rest:
        return key
    owner, inner = (rest[0], rest[1:]) if first in _NAMED else (f"the {_LINKS.get(first, first)}", rest)
    words = [part.replace("_", " ") for part in reversed(inner)]
    return " of the ".join(words) + f" of {owner}" if words else key


_NAMED = ("group", "hop")
"""Tables of a scenario whose parts have names."""
_LINKS = {"reverse": "return link"}


def title(column: str) -> str:
    """Return what a figure's axis says: in words where the column is a metric, with its unit.

    >>> title("bottleneck_queue_ms_p99"), title("share.tcp"), title("bottleneck.rate_mbps"), title("case")
    ('sojourn time in the queue: 99th percentile [ms]', 'share [%], tcp', 'rate of the bottleneck [Mbit/s]', 'case')
    """
    metric = find(column)
    if metric is None:
        name, _, unit = column.rpartition("_")
        return f"{key_words(name)} [{_UNITS[unit]}]" if name and unit in _UNITS else key_words(column)
    _, _, group = column.partition(".")
    words = metric.name.replace("_", " ") if metric.percent else metric.meaning
    unit = "%" if metric.percent else metric.unit
    return f"{words}{f' [{unit}]' if unit else ''}{f', {group}' if group else ''}"


_UNITS = {"mbps": "Mbit/s", "ms": "ms", "s": "s", "packets": "packets", "bytes": "bytes"}
"""What the names of columns of quantities end in."""
