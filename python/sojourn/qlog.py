"""Logs of senders in the format qlog: read, and compared decision by decision.

Read are qlog files of one connection, contained (JSON) or as a sequence of texts (RFC 7464), of any version of
draft-ietf-quic-qlog-main-schema whose events have a name: those of Sojourn (`sojourn run --qlog`), quinn, quiche and
others.
"""

import json
import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, TextIO

from sojourn.reading import input_error, shown

SENT, LOST, WINDOW, STATE, REDUCTION = "sent", "lost", "window", "state", "reduction"
KINDS = (SENT, LOST, WINDOW, STATE, REDUCTION)
"""Kinds of decisions: a packet sent, a packet taken for lost, another congestion window, another state, and a window
that is reduced at once: its part that is left is what different implementations have in common."""
EXACT = (SENT, LOST, WINDOW, STATE)
"""What two runs of one implementation share."""
WITHIN_MS = 1e-3
TOLERANCE, OF_REDUCTION = 0.01, 0.05
"""By what part values may differ. A window is whole segments in one implementation and bytes in another, and what it
grew by with the acknowledgement that shows a loss is in one log before that and in another never."""
SHOWN = 3
"""Decisions before the first that differs which are shown."""
PART_CHARACTERS, MOST_CHARACTERS = 1 << 16, 1 << 30
"""What is read at once, and what a text may have: a contained log is one, a sequence has one for each event."""
_SEPARATOR = "\x1e"
_MS_IN = {"ms": 1.0, "us": 1e-3}
_LEAST_REDUCTION = 0.98
"""A window that keeps more than this part of itself was not reduced: slow start ended."""
_REPAIRING = ("recovery", "loss")


_SAID: dict[str, str] = {
    SENT: "a packet of {:.0f} B is sent",
    LOST: "packet {:.0f} is taken for lost",
    WINDOW: "the window becomes {:,.0f} B",
    STATE: "the state becomes {}",
    REDUCTION: "the window is reduced to {:.3f} of itself",
}


@dataclass(frozen=True, slots=True)
class Decision:
    """What a sender decided."""

    time_ms: float
    kind: str
    """One of KINDS."""
    value: float | str
    """Bytes of a packet sent, number of a packet lost, bytes of a window, name of a state, or the part that is left."""

    @property
    def text(self) -> str:
        """The same in words."""
        return _SAID[self.kind].format(self.value)


@dataclass(frozen=True)
class Log:
    """A log of one connection, which is read anew for each use."""

    path: Path

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.path.name

    def of(self, kinds: Sequence[str] = KINDS) -> Iterator[Decision]:
        """Return the decisions of some kinds, one after the other: a log may be larger than memory.

        Raises InputError where the file is no qlog of one connection from there on.
        """
        return (one for one in _read(self.path) if one.kind in kinds)


@dataclass(frozen=True)
class Difference:
    """The first decision in which two logs differ."""

    number: int
    """Which one, from 1."""
    ours: Decision | None
    """Of the first log; None where that has ended."""
    theirs: Decision | None
    before: tuple[tuple[Decision, Decision], ...]
    """The last ones that both have, at most three."""
    why: str
    """What differs, in words."""


@dataclass(frozen=True)
class Compared:
    """Two logs side by side."""

    names: tuple[str, str]
    kinds: tuple[str, ...]
    alike: int
    """Decisions before the first that differs."""
    difference: Difference | None

    @property
    def sentence(self) -> str:
        """What was found."""
        what = ", ".join(self.kinds)
        if self.difference is None:
            return f"No decision differs: {self.alike:,} of both ({what}) are alike."
        one = self.difference
        return f"Decision {one.number:,} ({what}) is the first that differs: {one.why}."

    def document(self) -> dict[str, Any]:
        """Return the same as JSON has it."""

        def said(one: Decision | None) -> dict[str, Any] | None:
            return None if one is None else {"time_ms": one.time_ms, "kind": one.kind, "value": one.value}

        found = self.difference
        return {
            "logs": list(self.names),
            "kinds": list(self.kinds),
            "alike": self.alike,
            "difference": None
            if found is None
            else {"number": found.number, "decisions": [said(found.ours), said(found.theirs)], "why": found.why},
        }


def read(path: str | os.PathLike[str]) -> Log:
    """Read the decisions of a log.

    Raises InputError where the file is no qlog of one connection, as far as its first decision.
    """
    log = Log(Path(path))
    if next(log.of(), None) is None:
        raise input_error(f"holds no decision of a sender; allowed: events of {', '.join(_READERS)}", file=str(path))
    return log


def compare(
    ours: Log,
    theirs: Log,
    kinds: Sequence[str] = EXACT,
    within_ms: float | None = None,
    tolerance: float | None = None,
) -> Compared:
    """Find the first decision in which two logs differ.

    Parameters
    ----------
    kinds
        The kinds of decisions that count, some of KINDS; each by itself or all in their order.
    within_ms
        How far apart in time the same decision may be; None is WITHIN_MS, and no bound where reductions are compared.
    tolerance
        By what part of the larger one two values may differ; None is TOLERANCE, and OF_REDUCTION for reductions.
    """
    across = REDUCTION in kinds
    bound_ms = (math.inf if across else WITHIN_MS) if within_ms is None else within_ms
    part = (OF_REDUCTION if across else TOLERANCE) if tolerance is None else tolerance
    alike = 0
    last: deque[tuple[Decision, Decision]] = deque(maxlen=SHOWN)
    for one, other in zip_longest(ours.of(kinds), theirs.of(kinds)):
        why = _why(one, other, bound_ms, part)
        if why is not None:
            found = Difference(alike + 1, one, other, tuple(last), why)
            return Compared((ours.name, theirs.name), tuple(kinds), alike, found)
        alike += 1
        last.append((one, other))
    return Compared((ours.name, theirs.name), tuple(kinds), alike, None)


def _why(one: Decision | None, other: Decision | None, within_ms: float, tolerance: float) -> str | None:
    """Say what differs between two decisions, if anything does."""
    if one is None or other is None:
        return f"the {'first' if one is None else 'second'} log has ended"
    if one.kind != other.kind:
        return f"{one.text} in one, {other.text} in the other"
    if isinstance(one.value, str) or isinstance(other.value, str):
        same = one.value == other.value
    else:
        same = abs(one.value - other.value) <= tolerance * max(abs(one.value), abs(other.value))
    if not same:
        return f"{one.text} in one, {other.text} in the other"
    apart_ms = abs(one.time_ms - other.time_ms)
    if apart_ms > within_ms:
        return f"{one.text}, at times {apart_ms:.6g} ms apart"
    return None


def _read(path: Path) -> Iterator[Decision]:
    """Return the decisions in a file."""
    try:
        with path.open(encoding="utf-8") as file:
            head, events = _parts(file, str(path))
            yield from _decisions(events, _unit_ms(head), str(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not UTF-8"
        raise input_error(f"cannot be read as qlog: {reason}", file=str(path)) from None


def _parts(file: TextIO, name: str) -> tuple[dict[str, Any], Iterator[Any]]:
    """Return what a log says of itself, and its events."""
    texts = _texts(file)
    first = next(texts, "")
    if not first:
        head = _json(next(texts, ""), name)
        return _trace(head.get("trace") or {}), (_json(one, name) for one in texts if one.strip())
    log = _json(first, name)
    traces = log.get("traces")
    if not isinstance(traces, list) or len(traces) != 1 or not isinstance(traces[0], dict):
        found = f"{len(traces)} traces" if isinstance(traces, list) else "no traces"
        raise input_error(f"found {found}; allowed: a qlog of one connection", file=name, found=found)
    return _trace(traces[0]), iter(traces[0].get("events") or [])


def _texts(file: TextIO) -> Iterator[str]:
    """Return what is before the first separator, and what is between any two."""
    rest = ""
    while part := file.read(PART_CHARACTERS):
        *whole, rest = (rest + part).split(_SEPARATOR)
        yield from whole
        if len(rest) > MOST_CHARACTERS:
            raise input_error(f"has a text of more than {MOST_CHARACTERS:,} characters", file=file.name)
    yield rest


def _trace(trace: Any) -> dict[str, Any]:
    return trace if isinstance(trace, dict) else {}


def _json(text: str, file: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise input_error(f"is no qlog: found {shown(text[:40])}", file=file)
    return found


def _unit_ms(trace: dict[str, Any]) -> float:
    """Return how many ms a unit of time is: old versions may say otherwise."""
    configuration = trace.get("configuration")
    unit = configuration.get("time_units", "ms") if isinstance(configuration, dict) else "ms"
    return _MS_IN.get(unit, 1.0)


def _decisions(events: Iterator[Any], unit_ms: float, file: str) -> Iterator[Decision]:
    state = _Sender()
    for event in events:
        if not isinstance(event, dict):
            continue
        name, data, time = event.get("name"), event.get("data"), event.get("time")
        if not isinstance(name, str) or not isinstance(data, dict) or not isinstance(time, (int, float)):
            continue
        reader = _READERS.get(name.rpartition(":")[2].removeprefix("recovery_"))
        if reader is None:
            continue
        try:
            found = list(reader(state, data))
        except (TypeError, ValueError, AttributeError):
            raise input_error(f"found {shown(data)} in an event {name}", file=file) from None
        for kind, value in found:
            yield Decision(time * unit_ms, kind, value)


Said = tuple[str, float | str]


class _Sender:
    """What is known of a sender before its next event."""

    def __init__(self) -> None:
        self.window: float | None = None
        self.state: str | None = None
        self.has_repaired = False

    def sent(self, data: dict[str, Any]) -> Iterator[Said]:
        # Quinn has it in the header.
        yield SENT, float((data.get("raw") or data.get("header") or {}).get("length", 0))

    def lost(self, data: dict[str, Any]) -> Iterator[Said]:
        yield LOST, float((data.get("header") or {}).get("packet_number", -1))

    def measured(self, data: dict[str, Any]) -> Iterator[Said]:
        before = self.window or math.inf
        window, threshold = data.get("congestion_window"), data.get("ssthresh")
        # Where the window follows ssthresh in steps (RFC 9937), the steps are no decisions of their own.
        follows = self.state in _REPAIRING or self.has_repaired
        self.has_repaired = False
        left = float(threshold if threshold is not None else before if follows else window or before)
        if left < _LEAST_REDUCTION * before < math.inf:
            yield REDUCTION, left / before
        if window is not None and float(window) != before:
            self.window = float(window)
            yield WINDOW, self.window

    def moved(self, data: dict[str, Any]) -> Iterator[Said]:
        new = str(data["new"]) if "new" in data else None
        if new is not None and new != self.state:
            self.has_repaired = self.state in _REPAIRING
            self.state = new
            yield STATE, new


_READERS: dict[str, Callable[[_Sender, dict[str, Any]], Iterator[Said]]] = {
    "packet_sent": _Sender.sent,
    "packet_lost": _Sender.lost,
    "metrics_updated": _Sender.measured,
    "congestion_state_updated": _Sender.moved,
}
