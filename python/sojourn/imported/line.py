"""A line as a measurement shows it, and the scenario that it makes."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sojourn.reading import input_error, printable, toml_value

UP, DOWN = "up", "down"
TWINS = 16
"""Lines that are drawn where something is not known."""
FULL_BYTES = 1500
PAYLOAD_SHARE = 1448 / FULL_BYTES
"""Payload of a full packet of TCP with timestamps over Ethernet: goodput is this part of what IP packets take."""
_RTT_MS = (10.0, 100.0)
"""Where a round-trip time may lie that nothing says."""
_BUFFER_MS = (20.0, 500.0)
"""Where a buffer may lie of which nothing was seen."""
_DURATION_S, _WARMUP_S, _LEAST_S = 30, 5, 3
_SAME = 1.005


@dataclass(frozen=True)
class Estimate:
    """A number with what says it, and the range in which it may be."""

    value: float
    source: str
    """What in the file says so, and how."""
    low: float | None = None
    high: float | None = None
    """None where the value is taken as it is."""

    @property
    def is_known(self) -> bool:
        """Whether the ends are so near that nobody need try them."""
        return self.low is None or self.high is None or self.high <= _SAME * self.low


@dataclass(frozen=True)
class Way:
    """One direction of a line."""

    rate_mbps: Estimate | None = None
    """As IP packets; None for a recorded link."""
    trace: Sequence[int] | None = None
    """A recorded link: times in ms, each a chance to send a full packet."""
    trace_source: str = ""
    queue: Mapping[str, Any] | None = None
    """The table of its queue; None where nothing says which, so that it is taken as a FIFO."""
    queue_source: str = ""
    others: tuple[Mapping[str, Any], ...] = ()
    """Tables of queues that it may be as well: the one whose twin is nearest to the measurement is taken."""
    buffer_ms: Estimate | None = None
    """How long the last packet of a full FIFO waits."""
    loss: Estimate | None = None
    """Probability of a loss that no queue makes."""
    framing: Mapping[str, Any] | None = None
    """What a shaper counts beside IP packets, as a link's framing; None where it counts these."""
    policer: Mapping[str, Any] | None = None
    """A token bucket before the queue; None where there is none."""
    policer_source: str = "the filter's policer"
    flows: int = 1
    """Bulk flows that were measured in this direction."""
    has_traffic: bool = True
    """Whether traffic was measured; a router's settings have none."""


@dataclass(frozen=True)
class Measured:
    """A number of the measurement that a run of the scenario has, too."""

    label: str
    metric: str
    """As the summary of a result calls it."""
    value: float
    unit: str = "ms"


@dataclass(frozen=True)
class Value:
    """A key of the scenario, and what says its value."""

    key: str
    value: Any
    source: str
    range: str | None = None
    """Its range as the scenario's `unknown` has it; None where the value is known."""


@dataclass(frozen=True)
class Imported:
    """What a file says of a line."""

    kind: str
    file: str
    ways: Mapping[str, Way]
    """By `UP` and `DOWN`; at least one."""
    rtt_ms: Estimate | None = None
    """Without a queue."""
    seconds: float | None = None
    """How long was measured; a run of the scenario lasts as long. None for settings."""
    measured: tuple[Measured, ...] = ()
    """What a run of the line can be set beside."""
    control: str | None = None
    """The congestion control of what was measured, as Sojourn calls it; None where nothing says."""
    remarks: tuple[str, ...] = ()
    """What cannot be known from such a file, and what was wrong with it."""

    @functools.cached_property
    def values(self) -> tuple[Value, ...]:
        """The keys of the scenario, in the order of the file."""
        return tuple(_values(self))

    @property
    def unknown(self) -> list[str]:
        """The ranges of what the file leaves open; groups share that of a round-trip time."""
        ranges: dict[tuple[str, str], list[str]] = {}
        for one in self.values:
            if one.range is not None:
                ranges.setdefault((one.range, one.source), []).append(one.key)
        return [f"{','.join(keys)}={span}" for (span, _), keys in ranges.items()]

    @property
    def trace(self) -> Sequence[int] | None:
        """The recorded link, where there is one; the scenario names it `TRACE` beside itself."""
        return next((way.trace for way in self.ways.values() if way.trace is not None), None)

    def tables(self) -> dict[str, Any]:
        """Return the scenario as tables."""
        groups: dict[str, dict[str, Any]] = {}
        tables: dict[str, Any] = {"unknown": self.unknown} if self.unknown else {}
        for one in self.values:
            first, *rest = one.key.split(".")
            if first == "group":
                groups.setdefault(rest[0], {"name": rest[0]})[rest[1]] = one.value
            elif rest:
                tables.setdefault(first, {})[".".join(rest)] = one.value
            else:
                tables[first] = one.value
        links: dict[str, Any] = {
            name: _nested(tables.pop(name)) for name in ("bottleneck", "reverse") if name in tables
        }
        return {**tables, **links, "group": list(groups.values())}

    def toml(self) -> str:
        """Return the scenario as a file in which each value says where it comes from."""
        lines = [_comment(f"The line of {self.file}, as `sojourn import` read it ({self.kind}).")]
        lines += [_comment(remark) for remark in self.remarks]
        if self.unknown:
            lines += ["", "# Where each of these may be; `sojourn whatif` and `sojourn tune` try all of it."]
            lines += ["unknown = [", *(f"    {toml_value(one)}," for one in self.unknown), "]"]
        section = ""
        for one in self.values:
            head, _, key = one.key.rpartition(".")
            if head != section:
                section = head
                lines += ["", *_heading(head)]
            lines += [*([_comment(one.source)] if one.source else []), f"{key} = {toml_value(one.value, str)}"]
        return "\n".join(lines) + "\n"

    def document(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "kind": self.kind,
            "file": self.file,
            "values": [asdict(one) for one in self.values],
            "measured": [asdict(one) for one in self.measured],
            "remarks": list(self.remarks),
        }


TRACE = "line.trace"
"""The file of the recorded link, beside the scenario."""


def _nested(keys: Mapping[str, Any]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in keys.items():
        *above, last = key.split(".")
        inner = table
        for name in above:
            inner = inner.setdefault(name, {})
        inner[last] = value
    return table


def _comment(text: str) -> str:
    """Return a text of a foreign file as a comment of one line."""
    return f"# {' '.join(printable(text).split())}"


def _heading(head: str) -> list[str]:
    if head.startswith("group."):
        return ["[[group]]", f"name = {toml_value(head.removeprefix('group.'))}"]
    return [f"[{head}]"] if head else []


def _values(found: Imported) -> list[Value]:
    """Return the keys of the scenario, in the order of the file."""
    if not found.ways:
        raise input_error("says nothing of a link", file=found.file, allowed="a rate, a queue or a recorded link")
    first, *second = sorted(found.ways, key=(UP, DOWN).index)
    values = [
        Value("name", "line", ""),
        *_times(found.seconds),
        *_of_link("bottleneck", first, found.ways[first]),
    ]
    for name in second:
        values += _of_link("reverse", name, found.ways[name])
    rtt = _unit("rtt", found.rtt_ms or _unseen(_RTT_MS, "round-trip time"), "ms")
    said = "the file names it" if found.control else "not in the file: what most senders use"
    for name, direction in ((first, "forward"), *((name, "reverse") for name in second)):
        way = found.ways[name]
        group = f"group.{'upload' if name == UP else 'download'}"
        values += [
            Value(f"{group}.control", found.control or "cubic", said),
            Value(f"{group}.transport", "linux", ""),
            Value(f"{group}.flows", way.flows, "as measured" if way.has_traffic else "not in the file"),
            Value(f"{group}.rtt", rtt.value, rtt.source, rtt.range),
        ]
        values += [Value(f"{group}.direction", direction, "")] if direction == "reverse" else []
    return values


def _times(seconds: float | None) -> list[Value]:
    if seconds is None:
        return [
            Value("duration", f"{_DURATION_S} s", "of a run; not of the file"),
            Value("warmup", f"{_WARMUP_S} s", ""),
        ]
    return [Value("duration", f"{max(seconds, _LEAST_S):.4g} s", "as long as was measured")]


def _of_link(link: str, name: str, way: Way) -> list[Value]:
    found = []
    if way.trace is not None:
        found.append(Value(f"{link}.trace", TRACE, way.trace_source))
    elif way.rate_mbps is not None:
        one = _unit("rate", way.rate_mbps, "Mbit/s")
        found.append(Value(f"{link}.rate", one.value, f"{name}: {one.source}", one.range))
    else:
        raise input_error(f"found a queue {name} and no rate, which a line needs", key=f"{link}.rate", found="no rate")
    if way.framing is not None:
        found.append(Value(f"{link}.framing", dict(way.framing), "what the shaper counts of a packet"))
    if way.policer is not None:
        found.append(Value(f"{link}.policer", dict(way.policer), way.policer_source))
    if way.loss is not None:
        found.append(Value(f"{link}.loss", way.loss.value, way.loss.source))
    if way.queue is not None:
        return [*found, Value(f"{link}.queue", dict(way.queue), way.queue_source)]
    limit = _unit("limit", way.buffer_ms or _unseen(_BUFFER_MS, "buffer"), "ms")
    why = way.queue_source or "which queue it is cannot be told from such a file: taken as a FIFO"
    return [
        *found,
        Value(f"{link}.queue.kind", "droptail", why),
        Value(f"{link}.queue.limit", limit.value, limit.source, limit.range),
    ]


def _unseen(ends: tuple[float, float], what: str) -> Estimate:
    low, high = ends
    return Estimate((low * high) ** 0.5, f"the file says nothing of the {what}", low, high)


def _unit(key: str, one: Estimate, unit: str) -> Value:
    span = None if one.is_known else f"{one.low:.4g}..{one.high:.4g} {unit}"
    between = "" if one.is_known else f" ({one.low:.4g} to {one.high:.4g})"
    return Value(key, f"{one.value:.4g} {unit}", f"{one.source}{between}", span)
