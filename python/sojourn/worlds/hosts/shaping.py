"""Holds a bottleneck on an interface: `python -m sojourn.worlds.hosts.shaping FOLDER`, a program of its own.

FOLDER/steps.json has the interface and the lines for `tc -batch`; FOLDER/state.json is written when they are done, or
have failed, with the error. SIGTERM, which its keeper sends when the run ends or whoever asked for it is killed, undoes
them all: the root discipline is deleted, and the interface has again what the kernel gives it.

What is set here has the handle HANDLE. While it is held, the holder has a lock on a file of the interface's name and
network in a folder that only root can enter. So what bears the handle and is not locked was left by a holder that was
killed. Its keeper removes it (`... shaping --undo INTERFACE`) when the run ends, and so does the run itself; where all
three were killed at once, the next to shape the interface or `sojourn testbed clean` does.
"""

import fcntl
import json
import os
import signal
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sojourn.worlds.linux.inside.namespace import CommandError, batch, run
from sojourn.worlds.linux.places import cache_folder

HANDLE = "50f0:"
"""Handle of the root disciplines that are set here."""
STEPS, STATE = "steps.json", "state.json"
UNDO = "--undo"
_LOCKS = Path("/run/sojourn")
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# The kernel gives its own disciplines this one.
_NO_HANDLE = "0:"


class InUseError(Exception):
    """Somebody has set something on the interface; the text says what, and what would help."""


def main(arguments: list[str]) -> int:
    """Hold what a folder says, until asked to end; or undo what nobody holds."""
    if arguments[0] == UNDO:
        remove_from(arguments[1])
        return 0
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
    return [interface for interface in left() if remove_from(interface)]


def remove_from(interface: str) -> bool:
    """Remove what a killed holder has left on an interface; tell whether there was anything."""
    try:
        with _owned(interface):
            found = is_set(interface)
            _remove(interface)
            return found
    except (CommandError, InUseError):
        return False


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
    """Have the lock of an interface; raises InUseError where another process has it, or nobody can."""
    lock = None
    try:
        while lock is None:
            lock = _locked(interface)
        yield
    finally:
        if lock is not None:
            _lock_file(interface).unlink(missing_ok=True)
            os.close(lock)


def _locked(interface: str) -> int | None:
    """Return the open lock file, which is locked; None where it was removed meanwhile."""
    file = _lock_file(interface)
    try:
        lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InUseError(f"the lock {file} cannot be made ({error.strerror})") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_nlink:
            return lock
    except OSError:
        os.close(lock)
        raise InUseError(f"{interface} is being shaped for another run; only one at a time can be") from None
    os.close(lock)
    return None


def _lock_file(interface: str) -> Path:
    """Return where the lock of an interface of this network is; raises InUseError where others could make it."""
    network = Path("/proc/self/ns/net").stat().st_ino
    return _lock_folder() / f"shaping-{network}-{interface}.lock"


def _lock_folder() -> Path:
    """Return a folder that nobody but this user can write to: root's, or in a network of one's own the user's."""
    for folder in (_LOCKS, cache_folder() / "locks"):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = folder.lstat()
        except OSError:
            continue
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & 0o077:
            return folder
    raise InUseError(f"{_LOCKS} is not a folder of this user's alone; to put that right: rm -r {_LOCKS}")


def _is_held(interface: str) -> bool:
    try:
        with _owned(interface):
            return False
    except InUseError:
        return True


def _write(folder: Path, error: str | None) -> None:
    unfinished = folder / f".{STATE}"
    unfinished.write_text(json.dumps({"error": error}), encoding="utf-8")
    unfinished.rename(folder / STATE)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
