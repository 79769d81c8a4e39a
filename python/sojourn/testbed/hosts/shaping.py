"""Holds a bottleneck on an interface: `python -m sojourn.testbed.hosts.shaping FOLDER`, a program of its own.

FOLDER/steps.json has the interface and the lines for `tc -batch`; FOLDER/state.json is written when they are done, or
have failed, with the error. SIGTERM, which its keeper sends when the run ends or whoever asked for it is killed, undoes
them all: the root discipline is deleted, and the interface has again what the kernel gives it.

What is set here has the handle HANDLE, and while it is held there is a socket with the interface's name in the abstract
names of its network, which ends with the process. So what bears the handle and has no such socket was left by a holder
that was killed together with its keeper, and may be removed by the next.
"""

import json
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sojourn.testbed.inside.namespace import CommandError, batch, run

HANDLE = "50f0:"
"""Handle of the root disciplines that are set here."""
STEPS, STATE = "steps.json", "state.json"
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# The kernel gives its own disciplines this one.
_NO_HANDLE = "0:"


class InUseError(Exception):
    """Somebody has set something on the interface; the text says what, and what would help."""


def main(arguments: list[str]) -> int:
    """Hold what a folder says, until asked to end."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    folder = Path(arguments[0])
    steps = json.loads((folder / STEPS).read_text(encoding="utf-8"))
    interface = steps["interface"]
    try:
        with _owned(interface):
            _clear(interface)
            try:
                batch("tc", steps["lines"])
                _write(folder, None)
                signal.sigwait(_ENDING)
            finally:
                _remove(interface)
    except (CommandError, InUseError) as error:
        _write(folder, str(error))
        return 1
    return 0


def undo_command(interface: str) -> str:
    """Return the command that undoes it."""
    return f"tc qdisc del dev {interface} root"


def check(interface: str) -> None:
    """Raise InUseError where somebody else has set a root discipline, CommandError where there is no such interface."""
    found = _set_by_somebody(interface)
    if found is not None and found["handle"] != HANDLE:
        raise InUseError(
            f"{interface} has a root discipline that somebody has set ({found['kind']} {found['handle']}), and what "
            f"is taken away cannot be given back here. To do without it: {undo_command(interface)}"
        )


def left() -> list[str]:
    """Return the interfaces of this network with a bottleneck that nobody holds any more."""
    names = [str(link["ifname"]) for link in json.loads(run("ip", "-j", "link", "show"))]
    return [name for name in names if is_set(name) and not _is_held(name)]


def is_set(interface: str) -> bool:
    """Tell whether an interface has a bottleneck that was set here."""
    found = _set_by_somebody(interface)
    return found is not None and found["handle"] == HANDLE


def remove_left() -> list[str]:
    """Remove what is left; return the interfaces."""
    found = left()
    for interface in found:
        _remove(interface)
    return found


def _set_by_somebody(interface: str) -> dict[str, Any] | None:
    """Return an interface's root discipline, unless it is the kernel's own choice."""
    told = json.loads(run("tc", "-j", "qdisc", "show", "dev", interface))
    return next((one for one in told if one.get("root") and one["handle"] != _NO_HANDLE), None)


def _clear(interface: str) -> None:
    """Take away what a killed holder has left; raises InUseError for anything else."""
    check(interface)
    if is_set(interface):
        _remove(interface)


def _remove(interface: str) -> None:
    if is_set(interface):
        run(*undo_command(interface).split())


@contextmanager
def _owned(interface: str) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as name:
        try:
            name.bind(_name(interface))
        except OSError:
            raise InUseError(f"{interface} is being shaped for another run; only one at a time can be") from None
        yield


def _is_held(interface: str) -> bool:
    try:
        with _owned(interface):
            return False
    except InUseError:
        return True


def _name(interface: str) -> str:
    return f"\0sojourn.shaping.{interface}"


def _write(folder: Path, error: str | None) -> None:
    unfinished = folder / f".{STATE}"
    unfinished.write_text(json.dumps({"error": error}), encoding="utf-8")
    unfinished.rename(folder / STATE)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
