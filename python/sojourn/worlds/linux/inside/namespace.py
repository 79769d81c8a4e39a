"""Network namespaces: makes them, enters them, removes them."""

import ctypes
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_CLONE_NEWNET = 0x40000000
_NETNS = Path("/run/netns")
_OWN = Path("/proc/self/ns/net")
_LIBC = ctypes.CDLL(None, use_errno=True)


class CommandError(Exception):
    """A command of iproute2 failed; the text is what it said."""


@contextmanager
def namespaces(names: Sequence[str]) -> Iterator[None]:
    """Have network namespaces for a while, whose names are this process's own."""
    try:
        batch("ip", [f"netns add {name}" for name in names])
        yield
    finally:
        with suppress(CommandError):
            batch("ip", [f"netns del {name}" for name in names if (_NETNS / name).exists()])


@contextmanager
def entered(name: str) -> Iterator[None]:
    """Be in a namespace: sockets made, files of /proc/sys read and processes started here belong to it."""
    own = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
    try:
        enter(name)
        try:
            yield
        finally:
            _set(own)
    finally:
        os.close(own)


def enter(name: str) -> None:
    """Go into a namespace for good."""
    other = os.open(_NETNS / name, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _set(other)
    finally:
        os.close(other)


def batch(tool: str, lines: Sequence[str], name: str | None = None) -> None:
    """Let `ip` or `tc` execute lines in a namespace; raises CommandError with the line that failed."""
    where = ("-n", name) if name else ()
    run(tool, *where, "-batch", "-", lines=lines)


def configure(values: Mapping[str, str]) -> None:
    """Set the kernel's network settings of the namespace that this process is in; raises CommandError.

    Not every kernel has IPv6, or all settings of `net.core`; what is not there does nothing.
    """
    for key, value in values.items():
        path = Path("/proc/sys", *key.split("."))
        if path.exists():
            path.write_text(value, encoding="ascii")
        elif key.startswith("net.ipv4."):
            raise CommandError(f"this kernel has no setting {key}")


def run(*command: str, lines: Sequence[str] = ()) -> str:
    """Run a command and return what it printed; raises CommandError."""
    text = "".join(f"{line}\n" for line in lines)
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise CommandError(f"{command[0]}: no such command") from None
    if done.returncode != 0:
        raise CommandError(_complaint(command, lines, done.stderr))
    return done.stdout


def _complaint(command: Sequence[str], lines: Sequence[str], said: str) -> str:
    """Join what a command said with the line of the batch that it was about."""
    text = " ".join(said.split())
    marker = "Command failed -:"
    if marker in text:
        number = text.split(marker)[1].split()[0]
        if number.isdigit() and 0 < int(number) <= len(lines):
            text = f"{lines[int(number) - 1]}: {text.split(marker)[0].strip()}"
    return f"{command[0]}: {text}"


def _set(descriptor: int) -> None:
    if _LIBC.setns(descriptor, _CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"entering a network namespace: {os.strerror(number)}")
