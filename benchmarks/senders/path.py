"""The path and the receiver that the kernel's sender meets: everything that happens on them is written down.

Segments are numbered from 0, times are µs. Only the standard library is used: it runs inside the kernel.
"""

from dataclasses import dataclass, field
from typing import Any

HEADER_BYTES = 52
MAX_BLOCKS = 3


@dataclass
class Path:
    """A bottleneck of one rate behind a tail-drop queue, and a delay; half of it in each direction."""

    rate_bit_per_s: int
    rtt_us: int
    buffer_packets: int
    mark_at: int | None = None
    """From how many waiting packets on capable ones are marked."""
    lose: list[list[int]] = field(default_factory=list)
    """Transmissions that are lost: number, and how often it had been sent before."""
    hold: list[list[int]] = field(default_factory=list)
    """Transmissions that are late: number, how often it had been sent before, and by how many µs."""
    steps: list[list[int]] = field(default_factory=list)
    """From when on (µs) the round trip is how much longer (µs), in the order of time."""
    silent: list[list[int]] = field(default_factory=list)
    """From when to when (µs) everything is lost that enters."""
    repeat: list[int] = field(default_factory=list)
    """Acknowledgements that arrive three times, counted from 0."""

    def __post_init__(self) -> None:
        self._leaving: list[float] = []
        self._lost = {(number, nth) for number, nth in self.lose}
        self._held = {(number, nth): late for number, nth, late in self.hold}

    def cross(self, now_us: float, number: int, nth: int, payload_bytes: int, *, capable: bool) -> Any:
        """Return when a segment arrives, and whether it is marked; None where it is lost."""
        self._leaving = [leaves for leaves in self._leaving if leaves > now_us]
        if (number, nth) in self._lost or any(start <= now_us < end for start, end in self.silent):
            return None
        if len(self._leaving) > self.buffer_packets:
            return None
        marked = capable and self.mark_at is not None and len(self._leaving) >= self.mark_at
        began = max(now_us, self._leaving[-1] if self._leaving else 0)
        leaves = began + (payload_bytes + HEADER_BYTES) * 8e6 / self.rate_bit_per_s
        self._leaving.append(leaves)
        return leaves + self.one_way_us(leaves) + self._held.get((number, nth), 0), marked

    def one_way_us(self, now_us: float) -> float:
        """Return the delay of one direction at a time."""
        extra = 0
        for start, more in self.steps:
            if start <= now_us:
                extra = more
        return (self.rtt_us + extra) / 2


@dataclass
class Answer:
    """An acknowledgement."""

    number: int
    blocks: list[tuple[int, int]]
    stamp: Any
    """Of the segment that is echoed, as it was given."""
    marked: bool
    cause: Any
    """Stamp of the segment that caused it."""


class Receiver:
    """Acknowledges every second segment, or after a while; with SACK and DSACK (RFC 2018, 2883, 5681, 7323)."""

    def __init__(self, delay_us: int, *, accurate: bool) -> None:
        self.due_us: float | None = None
        """When a delayed acknowledgement is due."""
        self._delay_us = delay_us
        self._accurate = accurate
        self._next = 0
        self._ranges: list[tuple[int, int]] = []
        self._recent: list[int] = []
        self._pending = 0
        self._last_acked = 0
        self._stamp: Any = None
        self._cause: Any = None
        self._echo = False

    def on_data(self, number: int, stamp: Any, now_us: float, *, marked: bool, cwr: bool) -> list[Answer]:
        """Take a segment; return what is to be acknowledged at once."""
        answers = []
        if self._accurate and marked != self._echo and self._pending:
            answers.append(self._answer(None))
        changed = self._accurate and marked != self._echo
        self._echo = marked if self._accurate else marked or (self._echo and not cwr)
        self._cause = stamp
        had_gap = bool(self._ranges)
        repeated = self._has(number)
        if number <= self._last_acked:
            self._stamp = stamp
        if not repeated:
            self._take(number)
        self._pending += 1
        if had_gap or self._ranges or repeated:
            return [*answers, self._answer(number if repeated else None)]
        if (changed and not answers) or self._pending >= 2:  # noqa: PLR2004 (RFC 5681 section 4.2)
            return [*answers, self._answer(None)]
        if self.due_us is None:
            self.due_us = now_us + self._delay_us
        return answers

    def on_due(self) -> Answer:
        """Return the delayed acknowledgement."""
        return self._answer(None)

    def _has(self, number: int) -> bool:
        return number < self._next or any(start <= number < end for start, end in self._ranges)

    def _take(self, number: int) -> None:
        ranges = sorted([*self._ranges, (number, number + 1)])
        merged: list[tuple[int, int]] = []
        for start, end in ranges:
            if merged and merged[-1][1] == start:
                merged[-1] = (merged[-1][0], end)
            else:
                merged.append((start, end))
        if merged[0][0] <= self._next:
            self._next = merged.pop(0)[1]
        self._ranges = merged
        self._recent.insert(0, number)

    def _answer(self, repeated: int | None) -> Answer:
        self._recent = [number for number in self._recent if number >= self._next]
        ranges: list[tuple[int, int]] = []
        for number in self._recent:
            block = next(block for block in self._ranges if block[0] <= number < block[1])
            if block not in ranges:
                ranges.append(block)
        twice = [] if repeated is None else [(repeated, repeated + 1)]
        self._pending, self.due_us, self._last_acked = 0, None, self._next
        return Answer(self._next, [*twice, *ranges][:MAX_BLOCKS], self._stamp, self._echo, self._cause)
