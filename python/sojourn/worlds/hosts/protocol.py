"""What an agent and its peer say to each other: one JSON object a line, over one TCP connection.

The agent speaks first. `c` is the peer that asks for a run, `a` the agent:

| | message | with |
|---|---|---|
| a | hello | protocol, software, secret (whether it wants one) |
| c | hello | protocol, software, share (see `handshake`; empty where no secret is wanted) |
| a | proof | share, proof: that it knows the secret; only where one is wanted |
| c | proof | proof; only then |
| a | welcome | limits (see `admission.Limits`) |
| c | time | nothing |
| a | time | now_s: its CLOCK_MONOTONIC |
| c | run | start_at_s (on the agent's clock), duration_s, bin_s, flows (see `admission`) |
| a | ready | nothing: the sockets of its endpoints are open |
| both | beat | nothing: still there; once a second from `run` on |
| a | report | report: what its endpoints saw (crates/sojourn-wire/src/report.rs); kernel |
| c | bye | nothing |
| both | error | kind (busy, failed, input, late, limit, missing, protocol, secret), message; who says so then closes |

No message has an address or a port: flow number i is received at the port of the control connection + 1 + i. A run has
one connection: when it ends, or is silent for too long, so do all flows.
"""

import json
import math
from typing import Any, NoReturn

PROTOCOL = 3
DEFAULT_PORT = 5340
SHORT_LINE_BYTES = 4096
"""Longest line of one who has not shown the secret."""
REQUEST_BYTES = 1 << 20
"""Longest line that an agent takes from a peer that has."""
REPORT_BYTES = 64 << 20
"""Longest line that a peer takes from its agent."""
_MAX_LETTERS = 2000
BUSY, LATE = "busy", "late"
"""Kinds of errors after which the peer asks once more: there is no place, or the run would have begun too early."""

Message = dict[str, Any]


class ProtocolError(Exception):
    """The other side says what the protocol does not have; the text says what."""


class Decoder:
    """Takes bytes as they come and gives whole messages."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        """Longest line; may be raised between two messages."""
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[Message]:
        """Return the messages that `data` completes; raises ProtocolError."""
        *ends, rest = data.split(b"\n")
        found = []
        for end in ends:
            self._keep(end)
            found.append(_read(b"".join(self._parts)))
            self._parts, self._size = [], 0
        self._keep(rest)
        return found

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self.limit_bytes:
            raise ProtocolError(f"a line has more than {self.limit_bytes} bytes")
        if part:
            self._parts.append(part)


def encode(message: Message) -> bytes:
    """Return a message as a line."""
    return json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _read(line: bytes) -> Message:
    try:
        found = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise ProtocolError("a line is not JSON") from None
    if not isinstance(found, dict) or not isinstance(found.get("type"), str):
        raise ProtocolError("a line is no object with a type")
    return found


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def text(message: Message, key: str) -> str:
    """Return a text of a message."""
    found = message.get(key)
    if not isinstance(found, str):
        raise ProtocolError(f"{message['type']}: {key} is no text")
    return found


def sentence(said: str) -> str:
    """Return what the other side said, fit for a terminal."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in said[:_MAX_LETTERS])


def number(message: Message, key: str) -> float:
    """Return a finite number of a message."""
    found = message.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise ProtocolError(f"{message['type']}: {key} is no number")
    try:
        value = float(found)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise ProtocolError(f"{message['type']}: {key} is no finite number")
    return value


def whole(message: Message, key: str, most: int) -> int:
    """Return a whole number from 0 to `most`."""
    found = message.get(key)
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= most:
        raise ProtocolError(f"{message['type']}: {key} is no whole number from 0 to {most}")
    return found


def entries(message: Message, key: str) -> list[Message]:
    """Return a list of objects, each with the message's type for messages about it."""
    found = message.get(key)
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise ProtocolError(f"{message['type']}: {key} is no list of objects")
    return [{**entry, "type": f"{message['type']}: {key}[{place}]"} for place, entry in enumerate(found)]


def table(message: Message, key: str) -> Message:
    """Return an object within a message."""
    found = message.get(key)
    if not isinstance(found, dict):
        raise ProtocolError(f"{message['type']}: {key} is no object")
    return found
