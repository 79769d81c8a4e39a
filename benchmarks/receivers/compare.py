"""Sojourn's receiver on what arrived at a kernel's: what agrees."""

import json
from collections.abc import Mapping
from typing import Any

from benchmarks.receivers.cases import CASES, Case
from benchmarks.receivers.recording import Ack, Connection
from sojourn import _native

AT_ONCE_NS = 20_000
"""Within this two acknowledgements go at the same time: arrivals are 60 us apart."""

_FLOW = {"name": "flow", "control": "newreno", "rtt": "40 ms"}
"""A group has these, which its receiver does not look at."""

_GAIN = 1 / 8
"""With which the kernel smooths round-trip times (`tcp_rcv_rtt_update`)."""


def scenario_of(transport: Mapping[str, object]) -> _native.Scenario:
    """Return one whose receiver has these keys."""
    group = {**_FLOW, "transport": transport}
    return _native.load_json(json.dumps({"duration": "1 s", "bottleneck": {"rate": "1 Mbit/s"}, "group": [group]}))


def replay(case: Case, connection: Connection, policy: str = "linux") -> list[Ack]:
    """Return what Sojourn's receiver acknowledges of a connection's arrivals, and when."""
    transport = {
        "preset": "linux",
        "timer_tick": "10 ms",
        "ack_policy": policy,
        "ecn": "accurate" if case.control == "dctcp" else case.ecn,
    }
    scenario = scenario_of(transport)
    arrivals: list[tuple[int, int | None, bool, bool, int]] = [(connection.asked_ns, None, False, False, 0)]
    smoothed_ms, last = 0.0, -1
    for at, number, marked, says, echo, age_ms in connection.arrivals:
        # The segment that completes the handshake is not measured.
        if len(arrivals) > 1 and echo != last:
            # A shorter one counts at once (tcp_rcv_rtt_update).
            longer_ms = max(age_ms, 1) - smoothed_ms
            smoothed_ms += longer_ms * (_GAIN if smoothed_ms and longer_ms > 0 else 1)
            last = echo
        arrivals.append((at, number, bool(marked), bool(says & 1), int(smoothed_ms * 1e6)))
    sends = [at for at, _, told, _ in connection.acks if told & 2]
    acks = _native.replay_receiver(scenario, arrivals, sends, connection.end_ns)
    return [(at, number, echo + 2 * data, tuple(blocks)) for at, number, echo, data, blocks in acks]


def compare(name: str, connection: Connection, policy: str = "linux") -> dict[str, Any]:
    """Return how many acknowledgements both sent, and what share of all agrees.

    One went at the same moment where both sent it within `AT_ONCE_NS`, and with the same number and echo; it is the
    same where its SACK blocks are too. What only one of them sent counts as different.
    """
    ours, theirs = replay(CASES[name], connection, policy), connection.acks
    pairs, alone = _pairs(theirs, ours)
    same = [pair for pair in pairs if pair[0][3] == pair[1][3]]
    whole = len(theirs) + len(ours) - len(pairs)
    first = min([*alone, *(theirs for theirs, mine in pairs if theirs[3] != mine[3])], default=None)
    return {
        "arrivals": len(connection.arrivals),
        "acks": len(theirs),
        "ours": len(ours),
        "same_moments": len(pairs) / whole,
        "same": len(same) / whole,
        "first_ms": None if first is None else first[0] / 1e6,
    }


def _pairs(theirs: list[Ack], ours: list[Ack]) -> tuple[list[tuple[Ack, Ack]], list[Ack]]:
    """Return those that went at the same moment, and those that only one has sent."""
    pairs: list[tuple[Ack, Ack]] = []
    alone: list[Ack] = []
    mine = 0
    for ack in theirs:
        while mine < len(ours) and ours[mine][0] < ack[0] - AT_ONCE_NS:
            alone.append(ours[mine])
            mine += 1
        if mine < len(ours) and abs(ours[mine][0] - ack[0]) <= AT_ONCE_NS and ours[mine][1:3] == ack[1:3]:
            pairs.append((ack, ours[mine]))
            mine += 1
        else:
            alone.append(ack)
    return pairs, alone + ours[mine:]
