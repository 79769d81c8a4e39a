"""The registry of metrics: what a run measures, under one name with one unit in records, tables and figures.

A name is the path of a number in the run record, joined by underscores: `bottleneck_queue_ms_p99`, and below a group
`queue_ms_p99`. What belongs to one group of a result carries the group's name behind a dot: `share.tcp`.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

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


def _spread(name: str, meaning: str, *parts: str, unit: str = "ms") -> tuple[Metric, ...]:
    words = {"count": "number", "mean": "mean", "min": "minimum", "max": "maximum", "base": "subtracted base"}
    return tuple(
        Metric(f"{name}_{part}", COUNT if part == "count" else unit, f"{meaning}: {words.get(part) or _quantile(part)}")
        for part in parts
    )


def _quantile(part: str) -> str:
    digits = part.removeprefix("p")
    return f"{digits[:2]}.{digits[2:]}th percentile" if len(digits) > 2 else f"{digits}th percentile"  # noqa: PLR2004


def _share(name: str, meaning: str) -> Metric:
    return Metric(name, FRACTION, meaning, percent=True)


_QUANTILES = ("p10", "p25", "p50", "p75", "p90", "p95", "p99", "p999")
_SOJOURN = ("mean", *_QUANTILES, "max")
_TAIL = ("p50", "p90", "p95", "p99", "p999")
_COMPLETION = ("count", "mean", *_TAIL)

CLASS = (
    *_spread("queue_ms", "sojourn time in the queue", *_SOJOURN),
    Metric("departures", "packets", "packets that left the queue for the link"),
    Metric("drops", "packets", "packets dropped by the queue, or lost on the link"),
    Metric("marks", "packets", "packets marked with congestion experienced"),
)
"""Of a queue inside a discipline."""

LINK = (
    _share("utilization", "bits sent over bits that could have been sent"),
    *_spread("queue_packets", "packets that wait", "mean", "max", unit="packets"),
    *_spread("queue_bytes", "bytes that wait", "mean", "max", unit="bytes"),
    *CLASS,
    Metric("arrivals", "packets", "packets offered to the queue"),
    _share("drop_rate", "drops over arrivals"),
    *_spread("ping_ms", "queueing delay as pings see it, on a real network only", *_SOJOURN, "base"),
)
"""Of a link; in the table `runs` with the link's name in front."""

AIR = (
    Metric("access_exchanges", COUNT, "exchanges that were begun on the medium; transport blocks of a cell"),
    Metric("access_collisions", COUNT, "exchanges that met another one"),
    Metric("access_aggregate", "packets", "packets in an exchange, on average"),
    Metric("access_retries", "packets", "packets that had to be sent again, each time counted"),
    Metric("access_given_up", "packets", "packets given up after the last try"),
    *_spread("access_ms", "from the queue to the other side of the medium", *_SOJOURN),
    Metric("goodput_down_mbps", "Mbit/s", "delivered payload of the flows to a station"),
    Metric("goodput_up_mbps", "Mbit/s", "delivered payload of the flows from a station"),
    _share("air_down", "time in which the medium carried what was sent to a station"),
    _share("air_up", "time in which the medium carried what a station sent"),
)
"""Of a link on a medium that stations share, beside those of every link; the last four of stations only."""

COMPLETION = _spread("fct_ms", "completion time of a transfer", *_COMPLETION)

GROUP = (
    _share("share", "delivered payload over that of all groups of its direction"),
    Metric("goodput_mbps", "Mbit/s", "delivered payload, all flows together"),
    _share("drop_rate", "data packets dropped over those sent"),
    _share("mark_rate", "data packets marked over those sent"),
    _share("ack_drop_rate", "acknowledgements of its data dropped over those sent"),
    Metric("syn_drops", "packets", "SYNs and SYN-ACKs dropped"),
    Metric("retransmissions", "packets", "data packets sent again"),
    Metric("timeouts", COUNT, "retransmission timeouts"),
    Metric("jain", FRACTION, "Jain's fairness index of its flows' goodputs"),
    *_spread("rtt_ms", "round-trip time that its senders measured", "mean", *_TAIL),
    Metric("rpm", "per minute", "round trips in a minute: 60 s over the mean of the shortest 95 % of these times"),
    *_spread("queue_ms", "sojourn time of its data packets at the main link of their direction", *_SOJOURN),
    *_spread("delay_ms", "one-way delay of its data packets", "min", "mean", *_TAIL, "max"),
    *_spread("pdv_ms", "one-way delay beyond the shortest of the flow (RFC 5481)", *_SOJOURN),
    *_spread("startup_ms", "from the first packet of a connection, or a request, to the first byte", *_COMPLETION),
    *COMPLETION,
    *_spread("page_ms", "time of a page, from the first request to the last byte", *_COMPLETION),
    Metric("transfers_waited", COUNT, "transfers that waited for a connection of their flow"),
    Metric("padding_packets_per_second", "packets/s", "padding sent, all flows together, without probes"),
    Metric("padding_rests", COUNT, "how often adaptive padding was given up"),
    *_spread("voip_delay_ms", "one-way delay of a call's packets", "min", "mean", *_TAIL, "max"),
    Metric("voip_jitter_ms", "ms", "interarrival jitter of calls (RFC 3550)"),
    _share("voip_loss", "call packets dropped over those that were dropped or arrived"),
    _share("voip_late", "call packets that came too late to be played over the same"),
    Metric("voip_mouth_to_ear_ms", "ms", "mean delay from mouth to ear"),
    Metric("voip_r_factor", "0 to 100", "R of the E-model (ITU-T G.107)"),
    Metric("voip_mos", "1 to 4.5", "mean opinion score"),
    *_spread("train_ms", "time that a whole train of packets takes", *_COMPLETION),
    _share("train_broken", "trains of which a packet did not arrive"),
    Metric("video_rate_mbps", "Mbit/s", "mean rate of the segments of video that arrived"),
    Metric("video_switches", COUNT, "changes of rate of video"),
    Metric("video_stalls", COUNT, "times at which a player's buffer ran out"),
    Metric("video_stall_s", "s", "time without play after the start"),
    Metric("video_startup_ms", "ms", "time from the start of the flow to play"),
)
"""Of a group of flows."""

RUN = (Metric(JAIN_ALL, FRACTION, "Jain's fairness index of the goodputs of all flows"),)
"""Of a whole run."""

_OF_PHASE_LINKS = {
    *("utilization", "queue_packets_mean", "arrivals", "departures", "drops", "marks", "drop_rate"),
    *(f"queue_ms_{part}" for part in ("mean", *_TAIL)),
}
PHASE_LINK = tuple(metric for metric in LINK if metric.name in _OF_PHASE_LINKS)
"""Of a link in a phase."""
PHASE_GROUP = tuple(metric for metric in GROUP if metric.name in {"share", "goodput_mbps", "drop_rate", "mark_rate"})
"""Of a group in a phase."""

_BY_NAME = {metric.name: metric for metric in (*GROUP, *LINK, *AIR, *RUN)}


def find(column: str) -> Metric | None:
    """Return the metric of a column of a table; None where the column is no metric.

    >>> find("bottleneck_queue_ms_p999").meaning, find("share.tcp").unit, find("bottleneck.rate")
    ('sojourn time in the queue: 99.9th percentile', '0 to 1', None)
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
