"""Sojourn's sender on the acknowledgements that a kernel's got: what agrees."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.kernel.compare import longest_rising
from benchmarks.senders import lots
from benchmarks.senders.cases import WORKLOADS, Sender
from benchmarks.senders.lots import Lot
from benchmarks.senders.packets import PAYLOAD_BYTES
from benchmarks.senders.recording import INFINITE, KINDS, Column, Connection
from sojourn import _native

TICK_NS = 10_000_000
"""Of the kernel's timers."""

WHEEL_TICKS = 512
"""After which the levels of the kernel's timer wheel that are used here have turned."""

BOOT_TICKS = 208
"""Where the wheel stands when the kernel's clock starts: `INITIAL_JIFFIES`, which is -300 s."""

AT_ONCE_NS = 100_000
"""Within this a segment went out upon the same acknowledgement: they are much further apart."""

CA_STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")
"""What `tcpi_ca_state` means."""


@dataclass(frozen=True)
class Replayed:
    """What Sojourn's sender did."""

    sent_ns: Column
    number: Column
    nth: Column
    """How often the segment had been sent before."""
    cwnd: NDArray[np.float64]
    """After each input."""
    ssthresh: NDArray[np.float64]
    rto_s: NDArray[np.float64]


def replay(sender: Sender, workload: str, connection: Connection) -> Replayed:
    """Lead Sojourn's sender through a connection's inputs, with the lots that the kernel drew."""

    def lead(drawn: Sequence[Lot]) -> Replayed:
        return _lead(sender, workload, connection, drawn)

    if sender.name == "cdg":
        return lead(lots.of_backoffs(connection))
    if sender.name == "bbr":
        return lots.of_cycles(connection, lead, lambda ours: int(np.count_nonzero(_same_window(connection, ours))))
    return lead([])


def _lead(sender: Sender, workload: str, connection: Connection, drawn: Sequence[Lot]) -> Replayed:
    scenario = _native.load_json(json.dumps(sender.scenario(WORKLOADS[workload])))
    # The timer wheel turns with the kernel's clock, which was running before.
    began_ns = (connection.start_tick + BOOT_TICKS) % WHEEL_TICKS * TICK_NS
    inputs = _inputs(connection, drawn)
    times = [time_ns + began_ns for time_ns, _, _ in inputs]
    kinds = [kind for _, kind, _ in inputs]
    acks = zip(
        (connection.echo_ns + began_ns).tolist(),
        connection.delay_ns.tolist(),
        (connection.marked == 1).tolist(),
        connection.sack(),
        strict=True,
    )
    rows = (times, kinds, [value for _, _, value in inputs], list(acks))
    sent, states = _native.replay_sender(scenario, rows, 1)
    sent_ns, numbers, kind = (np.frombuffer(column[2], dtype=column[1]) for column in sent)
    data = kind != (sent[2][3] or []).index("syn")
    number = numbers[data].astype(np.int64)
    after = np.array(kinds) != "lot"
    cwnd, ssthresh, _, rto = (np.frombuffer(column[2], dtype=column[1])[after] for column in states)
    return Replayed(sent_ns[data].astype(np.int64) - began_ns, number, repeats(number), cwnd, ssthresh, rto)


def _inputs(connection: Connection, drawn: Sequence[Lot]) -> list[tuple[int, str, int]]:
    """Return times, events and values as `replay_sender` takes them."""
    values = {lot.place: lot.value for lot in drawn}
    inputs = []
    rows = zip(connection.time_ns.tolist(), connection.kind.tolist(), connection.value.tolist(), strict=True)
    for place, (time_ns, code, value) in enumerate(rows):
        if place in values:
            inputs.append((time_ns, "lot", values[place]))
        kind = KINDS[code]
        inputs.append((time_ns, kind, value * PAYLOAD_BYTES if kind == "supply" else value))
    return inputs


def repeats(numbers: Column) -> Column:
    """Return for each segment how often its number came before."""
    order = np.argsort(numbers, kind="stable")
    in_order = numbers[order]
    place = np.arange(len(numbers))
    begins = np.where(np.diff(in_order, prepend=-1) != 0, place, 0)
    result = np.empty(len(numbers), dtype=np.int64)
    result[order] = place - np.maximum.accumulate(begins)
    return result


def compare(sender: Sender, workload: str, connection: Connection) -> dict[str, Any]:
    """Return how far the segments, their times and the windows agree, as fractions, and where they first do not.

    A segment is a number and how often it was sent before. It is the same where both sent it within a tick, in the same
    order as the others that are. What only one of them sent counts as different. A segment went out at once where both
    sent it on the same acknowledgement. Windows are compared after each acknowledgement, in whole segments.
    """
    ours = replay(sender, workload, connection)
    matched, late_ns = _matched(connection, ours)
    same = matched[np.abs(late_ns) <= TICK_NS]
    all_sent = len(connection.number) + len(ours.number) - len(matched)
    acks = connection.acks
    same_window = _same_window(connection, ours)
    same_threshold = _same_threshold(connection.state("ssthresh"), ours.ssthresh[acks])
    late_rto_s = np.abs(ours.rto_s[acks] - connection.state("rto_us") / 1e6)
    return {
        "segments": len(connection.number),
        "sent": len(ours.number),
        "again": int(np.count_nonzero(connection.nth)),
        "sent_again": int(np.count_nonzero(ours.nth)),
        "acks": int(np.count_nonzero(acks)),
        "same_segments": longest_rising(same[:, 1]) / all_sent,
        "same_moments": int(np.count_nonzero(np.abs(late_ns) <= AT_ONCE_NS)) / all_sent,
        "same_windows": float(np.mean(same_window)),
        "same_thresholds": float(np.mean(same_threshold)),
        "same_timeouts": float(np.mean(late_rto_s <= TICK_NS / 1e9 + 1e-9)),
        "first_segment": _first_segment(connection, ours),
        "first_window": _first_window(connection, ours, same_window),
        "first_state": _first_state(connection, ours, same_window),
    }


def _matched(kernel: Connection, ours: Replayed) -> tuple[Column, Column]:
    """Return pairs of places in both lists that hold the same segment, and by how much later ours is (ns)."""
    where = {key: place for place, key in enumerate(zip(ours.number.tolist(), ours.nth.tolist(), strict=True))}
    keys = enumerate(zip(kernel.number.tolist(), kernel.nth.tolist(), strict=True))
    pairs = np.array([(place, where[key]) for place, key in keys if key in where], dtype=np.int64).reshape(-1, 2)
    return pairs, ours.sent_ns[pairs[:, 1]] - kernel.sent_ns[pairs[:, 0]]


def _same_window(kernel: Connection, ours: Replayed) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = np.floor(ours.cwnd[kernel.acks] + 1e-9) == kernel.state("cwnd")
    return same


def _same_threshold(kernel: Column, ours: NDArray[np.float64]) -> NDArray[np.bool_]:
    unset = kernel >= INFINITE
    same: NDArray[np.bool_] = np.where(unset, ours >= INFINITE, np.floor(ours + 1e-9) == kernel)
    return same


def _first_state(kernel: Connection, ours: Replayed, same: NDArray[np.bool_]) -> str | None:
    """Return the state of the kernel's sender at the first difference; None where there is none."""
    moments = []
    if not same.all():
        moments.append(float(kernel.time_ns[kernel.acks][np.argmin(same)]))
    if (segment := _first_segment(kernel, ours)) is not None:
        moments += [row["ms"] * 1e6 for row in (segment["kernel"], segment["ours"]) if row is not None]
    if not moments:
        return None
    place = int(np.searchsorted(kernel.time_ns[kernel.looks], min(moments) + AT_ONCE_NS, side="right")) - 1
    return CA_STATES[int(kernel.states["ca_state"][place])]


def _first_segment(kernel: Connection, ours: Replayed) -> dict[str, Any] | None:
    """Return the first place at which the lists of segments differ, or None."""
    shared = min(len(kernel.number), len(ours.number))
    differs = (
        (kernel.number[:shared] != ours.number[:shared])
        | (kernel.nth[:shared] != ours.nth[:shared])
        | (np.abs(kernel.sent_ns[:shared] - ours.sent_ns[:shared]) > TICK_NS)
    )
    if not differs.any() and len(kernel.number) == len(ours.number):
        return None
    place = int(np.argmax(differs)) if differs.any() else shared

    def row(what: Connection | Replayed) -> dict[str, Any] | None:
        if place >= len(what.number):
            return None
        return {"ms": float(what.sent_ns[place]) / 1e6, "number": int(what.number[place]), "nth": int(what.nth[place])}

    return {"place": place, "kernel": row(kernel), "ours": row(ours)}


def _first_window(kernel: Connection, ours: Replayed, same: NDArray[np.bool_]) -> dict[str, Any] | None:
    if same.all():
        return None
    place = int(np.argmin(same))
    return {
        "ms": float(kernel.time_ns[kernel.acks][place]) / 1e6,
        "kernel": int(kernel.state("cwnd")[place]),
        "ours": float(ours.cwnd[kernel.acks][place]),
    }
