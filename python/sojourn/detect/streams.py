"""From a capture to streams: the data of each connection in one direction, and how long its packets waited.

A capture stands between two hosts. A queue between the sender and the capture shows in TCP's timestamps (RFC 7323):
the time of arrival less the sender's time moves with the queue. What it drops leaves a hole in the sequence numbers. A
queue between the capture and the receiver shows in the time to the acknowledgement. What it drops comes by again.
"""

import bisect
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.detect.capture import Capture
from sojourn.detect.headers import ACK, CE, ECE, ECN_BITS, HAS_SACK, HAS_STAMPS, SYN, TCP, ends_of
from sojourn.detect.limits import Limits, limits_of
from sojourn.detect.log import FlowLog

Times = NDArray[np.float64]

MSS_BYTES = 1448
"""Payload of a full packet on an Ethernet, for packets that were captured in larger pieces."""
MAX_CONNECTIONS = 1000
"""Connections that are looked at, those with the most bytes."""
_HERTZ = (10, 100, 250, 1000, 1_000_000)
# A clock is taken for one of these rates where it differs by less, by the logarithm: while a deep buffer fills, packets
# come more slowly than they were sent.
_CLOCK_TOLERANCE = 0.45
# What is missing near the end of a capture may have been sent again after it.
_RECOVERED = 0.7
_MIN_CLOCK_S = 1.0
_MAX_SKEW = 2e-4
_MIN_SKEW_S = 20.0
_FEW = 20
# Without timestamps, what comes so soon after a later packet was overtaken and not sent again.
_MAX_REORDERED_S = 3e-3
_MAX_FRAME_BYTES = 9100
_MIN_MERGED = 0.01
# Half of the numbers of 32 bits: what is further ahead is behind.
_HALF = 1 << 31


@dataclass(frozen=True)
class Stream:
    """The packets of one connection in one direction."""

    name: str
    """Its sender and receiver, and the protocol."""
    arrived_s: Times
    """When the packets with data were captured, or in a log of both ends received."""
    size_bytes: NDArray[np.int64]
    """IP packets."""
    marked: int
    """Packets with a congestion mark (CE)."""
    ect: int
    """Packets that allow marks (ECT or CE)."""
    echoes: int = 0
    """Packets of the receiver with ECE: marks that it saw."""
    before: FlowLog | None = None
    """Waits and losses between the sender and the capture; None without timestamps of a known clock."""
    after: FlowLog | None = None
    """Waits and losses between the capture and the receiver; None without acknowledgements."""
    lost_before: int = 0
    """Packets that came only when they were sent again."""
    lost_after: int = 0
    """Packets that came by a second time."""
    missed: int = 0
    """Packets that never came by, though later ones did and there was time to send them again."""
    resolution_s: float = 0.0
    """What the delays of `before` are counted in."""
    rtt_s: float | None = None
    """The least round-trip time that was seen, the handshake's among them."""
    limits: Limits = field(default_factory=Limits)
    """What its two hosts kept from being sent."""
    merged: bool = False
    """Whether packets were captured in larger pieces than a link carries."""
    whole: bool = False
    """Whether both ends of the path were logged, and not a place in between."""

    @property
    def total_bytes(self) -> int:
        """What was captured of it."""
        return int(self.size_bytes.sum())


def of_capture(capture: Capture) -> list[Stream]:
    """Return the streams of a capture, the largest first; of many connections those with the most bytes."""
    origin_ns = int(capture.rows["time_ns"][0])
    flows, largest = capture.rows["flow"], set(_largest(capture).tolist())
    order = np.argsort(flows, kind="stable")
    bounds = np.flatnonzero(np.diff(flows[order])) + 1
    found = []
    for own in np.split(order, bounds):
        number = int(flows[own[0]])
        if number not in largest:
            continue
        name = ends_of(capture.connections[number])
        # Of a capture with one connection, as most are, nothing is copied.
        rows = capture.rows if len(own) == len(flows) else capture.rows[own]
        for forth in (1, 0):
            stream = _stream(rows, forth, name if forth else _reversed(name), origin_ns)
            if stream is not None:
                found.append(stream)
    return sorted(found, key=lambda one: -one.total_bytes)


def _largest(capture: Capture) -> NDArray[np.int64]:
    """Return the numbers of the connections that are looked at."""
    known = np.array(sorted(capture.connections), dtype=np.int64)
    size_bytes = np.bincount(capture.rows["flow"], capture.rows["size_bytes"], minlength=known[-1] + 1)
    return known[np.argsort(-size_bytes[known], kind="stable")[:MAX_CONNECTIONS]]


def of_logs(logs: Mapping[str, FlowLog]) -> list[Stream]:
    """Return the streams of groups whose both ends were logged, the largest first."""
    found = []
    for name, log in logs.items():
        came = ~log.lost
        if came.any():
            found.append(
                Stream(
                    f"group {name}",
                    log.received_s[came],
                    log.size_bytes[came],
                    int(log.marked.sum()),
                    int(log.marked.sum()),
                    before=log,
                    lost_before=int(log.lost.sum()),
                    whole=True,
                )
            )
    return sorted(found, key=lambda one: -one.total_bytes)


def _reversed(name: str) -> str:
    ends, protocol = name.rsplit(", ", 1)
    one, other = ends.split(" > ")
    return f"{other} > {one}, {protocol}"


def _stream(rows: Any, forth: int, name: str, origin_ns: int) -> Stream | None:
    """Return what a connection's packets say of one direction; None where it has no data."""
    ours = rows["forth"] == forth
    data = rows[ours & (rows["payload_bytes"] > 0)]
    if not len(data):
        return None
    times = (data["time_ns"] - origin_ns) / 1e9
    ecn = data["tos"] & ECN_BITS
    about: dict[str, Any] = {
        "name": name,
        "arrived_s": times,
        "size_bytes": data["size_bytes"].astype(np.int64),
        "marked": int((ecn == CE).sum()),
        "ect": int((ecn != 0).sum()),
        "merged": bool(np.mean(data["size_bytes"] > _MAX_FRAME_BYTES) > _MIN_MERGED),
    }
    if data["protocol"][0] != TCP:
        return Stream(**about)
    backward = rows[~ours & (rows["flags"] & ACK > 0)]
    seen = _Sequence.of(data, times)
    clock = _Clock.of(data, times)
    acked_s = (backward["time_ns"] - origin_ns) / 1e9
    ack = _acked(backward, acked_s, times, seen)
    after = _after(data, times, seen, backward, acked_s, ack)
    rtt_s = _rtt_s(rows, data, backward, after, origin_ns)
    return Stream(
        **about,
        echoes=int(((backward["flags"] & ECE > 0) & (backward["flags"] & SYN == 0)).sum()),
        before=_before(data, times, seen, clock),
        after=after,
        lost_before=sum(hole.packets for hole in seen.lost),
        lost_after=len(seen.repeated),
        missed=sum(hole.packets for hole in seen.holes if hole.missing > 0 and hole.place < _RECOVERED * len(data)),
        resolution_s=1 / clock.hertz if clock is not None else 0.0,
        rtt_s=rtt_s,
        limits=limits_of(rows, data, seen.end, (backward, ack), {*seen.repeated, *seen.late}, rtt_s),
    )


@dataclass
class _Hole:
    """Bytes that had not come when later ones did."""

    begin: int
    end: int
    place: int
    """The packet that showed it."""
    packets: int
    missing: int
    """Bytes that have not come yet."""
    overtaken: bool = False
    """Whether they came late, but had been sent first."""


@dataclass
class _Sequence:
    """The sequence numbers of a stream without their wrap, and what was missing or came twice."""

    begin: Any
    end: Any
    holes: list[_Hole]
    repeated: dict[int, int]
    """Packets that had come by before, and which packet that was."""
    late: set[int]
    """Packets that filled a hole."""

    @property
    def lost(self) -> list[_Hole]:
        """Holes that were filled by packets sent again."""
        return [hole for hole in self.holes if hole.missing <= 0 and not hole.overtaken]

    @classmethod
    def of(cls, data: Any, times: Times) -> "_Sequence":
        begin = _unwrapped(data["seq"])
        end = begin + data["payload_bytes"]
        usual = int(np.quantile(data["payload_bytes"], 0.9))
        usual = usual if usual <= _MAX_FRAME_BYTES else MSS_BYTES
        found = cls(begin, end, [], {}, set())
        highest = np.maximum.accumulate(np.concatenate([begin[:1], end[:-1]]))
        (ahead,) = np.nonzero(begin >= highest)
        (unusual,) = np.nonzero(begin != highest)
        begins = begin[ahead]
        for place in unusual.tolist():
            low, high, top = int(begin[place]), int(end[place]), int(highest[place])
            if low > top:
                packets = max(1, round((low - top) / usual))
                found.holes.append(_Hole(top, low, place, packets, low - top))
                continue
            # Holes lie behind each other.
            at = bisect.bisect_right(found.holes, low, key=lambda one: one.begin)
            hole = found.holes[at - 1] if at else None
            if hole is not None and hole.missing > 0 and low < hole.end:
                found.late.add(place)
                hole.missing -= min(high, hole.end) - low
                hole.overtaken = _overtaken(data, times, place, hole.place)
            elif high <= top:
                # What comes ahead of all others begins further and further on.
                first = int(ahead[min(int(np.searchsorted(begins, low)), len(ahead) - 1)])
                found.repeated[place] = first if begin[first] == low and first < place else -1
        return found


def _unwrapped(numbers: Any) -> Any:
    """Return numbers of 32 bits that go on over the wrap, as 64 bits; the first one stays."""
    steps = np.diff(numbers).astype(np.uint32).view(np.int32).astype(np.int64)
    return np.concatenate([numbers[:1].astype(np.int64), numbers[0].astype(np.int64) + np.cumsum(steps)])


def _overtaken(data: Any, times: Times, place: int, shown: int) -> bool:
    """Tell whether a packet that came late had been sent before the one that showed its hole."""
    if data["options"][place] & data["options"][shown] & HAS_STAMPS:
        ahead = int(data["stamp"][place]) - int(data["stamp"][shown])
        return (ahead + _HALF) % (2 * _HALF) - _HALF <= 0
    return bool(times[place] - times[shown] < _MAX_REORDERED_S)


@dataclass(frozen=True)
class _Clock:
    """The sender's clock as its timestamps show it."""

    hertz: int
    sent_s: Times
    """When each packet was sent, on the clock of the capture but for a constant."""

    @classmethod
    def of(cls, data: Any, times: Times) -> "_Clock | None":
        """Return the clock; None where there are no timestamps, or they follow no usual clock."""
        if not (data["options"] & HAS_STAMPS).all() or len(data) < _FEW:
            return None
        ticks = _unwrapped(data["stamp"])
        seconds, counted = float(times[-1] - times[0]), float(ticks[-1] - ticks[0])
        if seconds < _MIN_CLOCK_S or counted < _FEW:
            return None
        hertz = min(_HERTZ, key=lambda one: abs(np.log(counted / seconds / one)))
        if abs(np.log(counted / seconds / hertz)) > _CLOCK_TOLERANCE:
            return None
        sent_s = (ticks - ticks[0]) / hertz
        sent_s = sent_s + _drift(sent_s, times - sent_s)
        return cls(hertz, sent_s + float((times - sent_s).min()))


def _drift(sent_s: Times, delay_s: Times) -> Times:
    """Return what the two clocks drift apart, as the lower hull of the delays shows it; 0 where it may be the queue."""
    if sent_s[-1] - sent_s[0] < _MIN_SKEW_S:
        return np.zeros(len(sent_s))
    seconds = np.floor(sent_s - sent_s.min()).astype(np.int64)
    order = np.lexsort((delay_s, seconds))
    least = order[np.flatnonzero(np.diff(seconds[order], prepend=-1))]
    hull: list[tuple[float, float]] = []
    for x, y in zip(sent_s[least].tolist(), delay_s[least].tolist(), strict=True):
        while len(hull) > 1 and (hull[-1][1] - hull[-2][1]) * (x - hull[-2][0]) >= (y - hull[-2][1]) * (
            hull[-1][0] - hull[-2][0]
        ):
            hull.pop()
        hull.append((x, y))
    middle = float(sent_s[least].mean())
    (x, y), (later, higher) = next(pair for pair in itertools.pairwise(hull) if pair[1][0] >= middle)
    slope = (higher - y) / (later - x)
    return slope * (sent_s - sent_s[0]) if abs(slope) <= _MAX_SKEW else np.zeros(len(sent_s))


def _before(data: Any, times: Times, seen: _Sequence, clock: _Clock | None) -> FlowLog | None:
    """Lay what came, and what did not, in the order in which it was sent; None where less came than did not."""
    if clock is None or sum(hole.packets for hole in seen.lost) > len(data):
        return None
    places = np.array([hole.place for hole in seen.lost for _ in range(hole.packets)], dtype=np.int64)
    sent_s = np.insert(clock.sent_s, places, clock.sent_s[places])
    received_s = np.insert(times, places, np.nan)
    sizes = np.insert(data["size_bytes"].astype(np.int64), places, data["size_bytes"][places])
    marked = np.insert(data["tos"] & ECN_BITS == CE, places, False)
    order = np.argsort(sent_s, kind="stable")
    return FlowLog(sent_s[order], received_s[order], sizes[order], marked[order])


def _acked(backward: Any, acked_s: Times, times: Times, seen: _Sequence) -> NDArray[np.int64]:
    """Return the acknowledgement numbers without their wrap."""
    near = np.searchsorted(times, acked_s)
    reference = seen.end[np.clip(near - 1, 0, len(times) - 1)]
    ack: NDArray[np.int64] = reference + _signed(backward["ack"], reference)
    return ack


def _after(
    data: Any, times: Times, seen: _Sequence, backward: Any, acked_s: Times, ack: NDArray[np.int64]
) -> FlowLog | None:
    """Return the time to the acknowledgement of each packet that alone can have led to one, and what was sent again."""
    if not len(backward):
        return None
    is_first = np.ones(len(data), dtype=np.bool_)
    is_first[[*seen.repeated, *seen.late]] = False
    own = np.flatnonzero(is_first)
    ends, begins = seen.end[own], seen.begin[own]
    sack = np.where(backward["options"] & HAS_SACK, ack + _signed(backward["sack"], ack), 0)
    advances = ack > np.concatenate([[np.int64(-1) << 62], np.maximum.accumulate(ack)[:-1]])
    targets = np.where(advances, ack, sack)
    received_s = np.full(len(data), np.nan)
    # From the last to the first, so that the first acknowledgement of a packet remains.
    at = np.searchsorted(ends, targets)
    known = (at < len(ends)) & (targets > 0)
    known[known] = (begins[at[known]] < targets[known]) & (acked_s[known] >= times[own[at[known]]])
    received_s[own[at[known]][::-1]] = acked_s[known][::-1]
    again = [(place, origin) for place, origin in seen.repeated.items() if origin >= 0]
    lost = [origin for place, origin in again if not received_s[origin] <= times[place]]
    received_s[[origin for _, origin in again]] = np.nan
    kept = ~np.isnan(received_s)
    kept[lost] = True
    marks = np.zeros(int(kept.sum()), dtype=np.bool_)
    return FlowLog(times[kept], received_s[kept], data["size_bytes"][kept].astype(np.int64), marks)


def _signed(numbers: Any, reference: Any) -> Any:
    """Return how far numbers of 32 bits are from numbers without a wrap."""
    return (numbers.astype(np.int64) - reference).astype(np.uint32).view(np.int32).astype(np.int64)


def _rtt_s(rows: Any, data: Any, backward: Any, after: FlowLog | None, origin_ns: int) -> float | None:
    """Return the least round-trip time that can be seen from one place.

    The initiator's next packet passes one round trip after its SYN, wherever the capture is. While data flow, the time
    to the acknowledgement and the time from there to the data that it led to (RFC 7323's echo) make one.
    """
    found = []
    syn = rows[(rows["flags"] & SYN > 0) & (rows["flags"] & ACK == 0)]
    if len(syn):
        after_syn = rows[(rows["forth"] == syn["forth"][-1]) & (rows["time_ns"] > syn["time_ns"][-1])]
        if len(after_syn):
            found.append(float(after_syn["time_ns"][0] - syn["time_ns"][-1]) / 1e9)
    if after is not None and not after.lost.all() and (backward["options"] & HAS_STAMPS).all():
        stamps, first = np.unique(backward["stamp"], return_index=True)
        at = np.searchsorted(stamps, data["echo"])
        known = at < len(stamps)
        known[known] = stamps[at[known]] == data["echo"][known]
        turns_s = (data["time_ns"][known] - backward["time_ns"][first[at[known]]]) / 1e9
        turns_s = turns_s[turns_s > 0]
        if len(turns_s):
            found.append(float(turns_s.min()) + float(np.nanmin(after.delay_s)))
    return min(found, default=None)
