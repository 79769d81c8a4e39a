"""What runs at the ends of a path, and what these are called."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.reading import input_error

NAME = "shell"
"""The world's name."""
PROGRAM = "program"
"""The traffic of groups whose packets come from programs."""
SENDER, RECEIVER = "sender", "receiver"
"""The ends of the path."""
TIMER, BUSY, REAL_TIME = "timer", "busy", "real-time"
TIMINGS = (TIMER, BUSY, REAL_TIME)
"""How the path waits: it sleeps, it never sleeps, or it sleeps and runs before all that has no real-time priority."""


@dataclass(frozen=True)
class Ends:
    """What runs at both ends of the path."""

    command: tuple[str, ...]
    server: tuple[str, ...] = ()
    at_receiver: bool = False
    """Whether the command is where forward packets go to, not where they come from."""
    udp: tuple[str, str] | None = None
    """A local and a remote address, between which datagrams are forwarded in place of all that the command sends."""
    internet: bool = False
    """Whether the path leads on to all that this machine can reach."""
    timing: str = TIMER
    """How the path waits for what is due next: one of TIMINGS."""
    to_errors: bool = False
    """Whether what the command prints goes to the standard error, since results go to the standard output."""


def words(text: str, key: str) -> tuple[str, ...]:
    """Split a command as a shell would; raises InputError."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise input_error(f"{key}: {error}", key=key, found=text) from error


def carried(groups: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the groups whose packets come from programs."""
    return [group for group in groups if group["traffic"]["kind"] == PROGRAM]
