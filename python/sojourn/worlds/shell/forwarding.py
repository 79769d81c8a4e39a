"""A UDP port whose datagrams cross the path: the way without namespaces."""

import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from sojourn.reading import input_error

_HERE = "127.0.0.1"
_FORM = "PORT:HOST:PORT"
_ENDS_S = 2.0


@dataclass
class Forwarding:
    """The addresses between which datagrams go, and the program that sends to the first, where there is one."""

    devices: tuple[str, str]
    process: subprocess.Popen[bytes] | None
    asked_to_end: list[bool] = field(default_factory=list)

    dropped: int = 0
    """Packets that the kernel had no room for; it does not say."""

    @property
    def status(self) -> int | None:
        """What the program ended with; None where it goes on, or there is none."""
        return None if self.process is None else self.process.poll()

    def has_ended(self) -> bool:
        """Whether the program has ended, or without one whether Ctrl-C was pressed."""
        return bool(self.asked_to_end) if self.process is None else self.process.poll() is not None

    def begin(self) -> None:
        """Do nothing: the program need not wait."""


def addresses(text: str) -> tuple[str, str]:
    """Return the local and the remote address of PORT:HOST:PORT; raises InputError.

    >>> addresses("5000:127.0.0.1:6000")
    ('127.0.0.1:5000', '127.0.0.1:6000')
    """
    local, _, rest = text.partition(":")
    host, _, remote = rest.rpartition(":")
    if not (local.isdecimal() and remote.isdecimal() and host):
        raise input_error(f"--udp: found {text!r}; allowed: {_FORM}", key="--udp", found=text, allowed=_FORM)
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(remote), type=socket.SOCK_DGRAM)[0][4][0]
    except (OSError, OverflowError) as error:
        raise input_error(f"--udp: {host}: {error}", key="--udp", found=text) from error
    return f"{_HERE}:{local}", f"[{found}]:{remote}" if ":" in str(found) else f"{found}:{remote}"


@contextmanager
def forwarded(udp: tuple[str, str], command: Sequence[str], *, to_errors: bool) -> Iterator[Forwarding]:
    """Start the program, where there is one; raises InputError where it cannot be run."""
    try:
        process = subprocess.Popen(command, stdout=sys.stderr if to_errors else None) if command else None
    except OSError as error:
        raise input_error(f"the command cannot be run: {error}", key="command") from error
    if process is None:
        sys.stderr.write(f"datagrams to {udp[0]} cross the path to {udp[1]} until Ctrl-C\n")
    try:
        yield Forwarding(udp, process)
    finally:
        if process is not None and process.poll() is None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_ENDS_S)
            process.kill()
            process.wait()
