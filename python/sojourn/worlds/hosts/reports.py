"""What an agent reports, checked: nothing but known values of the right type, range and length is taken from it."""

import math
from collections.abc import Callable
from typing import Any

from sojourn.worlds.hosts import logs, protocol
from sojourn.worlds.hosts.protocol import Message, ProtocolError
from sojourn.worlds.hosts.running import LINGER_S
from sojourn.worlds.linux.plan import Job
from sojourn.worlds.linux.plan.flows import Flow

_MAX_BYTES = 1 << 50
_MAX_COUNT = 1 << 40
_MAX_RTT_MS = 1e7
_MAX_CWND_PACKETS = 1e9
_MAX_COMPLETIONS = 1_000_000
_MAX_PROBLEM_LETTERS = 300
_MAX_KERNEL_LETTERS = 100
# Clocks of the two hosts differ, and receivers begin a moment before the run.
_SLACK_S = 60.0

Check = Callable[[Any], bool]


def flows(told: Message, job: Job) -> list[Message]:
    """Return the agent's ends of the flows of a job; raises ProtocolError."""
    entries = protocol.entries({**protocol.table(told, "report"), "type": "report"}, "flows")
    if [entry.get("id") for entry in entries] != [flow.id for flow in job.flows]:
        raise ProtocolError("report: its flows are not those of the run")
    checks = _Checks(job)
    return [checks.taken(entry, flow) for entry, flow in zip(entries, job.flows, strict=True)]


def kernel(told: Message) -> str:
    """Return the agent's kernel, fit for a record and a terminal."""
    return protocol.sentence(protocol.text(told, "kernel"))[:_MAX_KERNEL_LETTERS].replace("\n", "?")


class _Checks:
    """What the values of a job's report may be."""

    def __init__(self, job: Job) -> None:
        self._run_s = float(job.plan["duration_s"]) + LINGER_S
        self._bins = math.ceil(self._run_s / float(job.plan["bin_s"])) + 1

    def taken(self, entry: Message, flow: Flow) -> Message:
        """Return what is known of one end of a flow; anything else that is said of it is left out."""
        found: Message = {"id": flow.id}
        for key, check in (self._receiver() if flow.forward else self._sender()).items():
            value = entry.get(key)
            if value is None:
                continue
            if not check(value):
                raise ProtocolError(f"{entry['type']}: {key} is not what an end of a flow reports")
            found[key] = value
        if flow.forward and "delivered_bytes" not in found:
            raise ProtocolError(f"{entry['type']}: it has no delivered_bytes")
        if entry.get("problem") is not None:
            found["problem"] = protocol.sentence(protocol.text(entry, "problem"))[:_MAX_PROBLEM_LETTERS]
        return found

    def _receiver(self) -> dict[str, Check]:
        # Over libutp it is the receiver who knows when a transfer was whole.
        return {
            "packets": lambda value: logs.is_log(value, arrivals=True),
            "delivered_bytes": self._per_bin(lambda value: _is_whole(value, _MAX_BYTES)),
            "completions": self._are_completions,
        }

    def _sender(self) -> dict[str, Check]:
        return {
            "packets": lambda value: logs.is_log(value, arrivals=False),
            "completions": self._are_completions,
            "sent_bytes": lambda value: _is_whole(value, _MAX_BYTES),
            "skipped_packets": lambda value: _is_whole(value, _MAX_COUNT),
            "retransmissions": lambda value: _is_whole(value, _MAX_COUNT),
            "timeouts": lambda value: _is_whole(value, _MAX_COUNT),
            "rtt_ms": self._per_bin(lambda value: value is None or _is_number(value, _MAX_RTT_MS)),
            "cwnd_packets": self._per_bin(lambda value: value is None or _is_number(value, _MAX_CWND_PACKETS)),
        }

    def _per_bin(self, check: Check) -> Check:
        return lambda values: isinstance(values, list) and len(values) <= self._bins and all(map(check, values))

    def _are_completions(self, values: Any) -> bool:
        return isinstance(values, list) and len(values) <= _MAX_COMPLETIONS and all(map(self._is_completion, values))

    def _is_completion(self, value: Any) -> bool:
        return (
            isinstance(value, list)
            and len(value) == 2  # noqa: PLR2004 (seconds and bytes)
            and _is_number(value[0], self._run_s + _SLACK_S)
            and _is_whole(value[1], _MAX_BYTES)
        )


def _is_whole(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _is_number(value: Any, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most
