"""Keeps a command and all it starts, and ends them with whoever asked for it. Run as a program of its own.

`python -I -S keeper.py FOLDER SIGNAL AFTER COMMAND...` starts the command, with its output in FOLDER/console. Standard
input is the lifeline: at its end, which comes also when the asking process is killed, the command gets SIGNAL, whatever
is left of its descendants is killed, the command AFTER is run (a list in JSON; empty for none), and FOLDER is removed.
When the command ends by itself its exit code is written to standard output (negative for a signal), and the folder
stays until the lifeline ends.

Should this process itself be killed, the command gets SIGNAL from the kernel.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

CONSOLE = "console"
_SET_PDEATHSIG = 1
_SET_CHILD_SUBREAPER = 36
_GRACE_S = 1.0
_UNDO_S = 20.0
_LIFELINE = 0


def main(arguments: Sequence[str]) -> int:
    """Keep one command."""
    folder, death_signal, after, *command = arguments
    # Orphans of the command become children of this process, which can then find and end them.
    _prctl(_SET_CHILD_SUBREAPER, 1)
    child = _start(Path(folder), int(death_signal), command)
    try:
        if _ends_first(child):
            _, status = os.waitpid(child, 0)
            _end_all()
            os.write(1, f"{os.waitstatus_to_exitcode(status)}\n".encode())
            _wait_for_lifeline()
        else:
            _ask_to_end(child, int(death_signal))
            _end_all()
    finally:
        _undo(json.loads(after))
        _remove(Path(folder))
    return 0


def _undo(command: list[str]) -> None:
    """Undo what the command was to undo itself, had nobody killed it."""
    if command:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=_UNDO_S)


def _start(folder: Path, death_signal: int, command: list[str]) -> int:
    keeper = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        # A session of its own: user-mode Linux signals its whole process group when it panics.
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        console = os.open(folder / CONSOLE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(console, 1)
        os.dup2(console, 2)
        _prctl(_SET_PDEATHSIG, death_signal)
        if os.getppid() == keeper:
            os.execvp(command[0], command)  # noqa: S606 (no shell is wanted)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def _ends_first(child: int) -> bool:
    """Wait for the end of the child or of the lifeline; tell whether it was the child."""
    process = os.pidfd_open(child)
    try:
        ready, _, _ = select.select([process, _LIFELINE], [], [])
        return process in ready
    finally:
        os.close(process)


def _wait_for_lifeline() -> None:
    os.close(1)
    os.read(_LIFELINE, 1)


def _ask_to_end(child: int, death_signal: int) -> None:
    """Let the command end in its own way, for a moment: user-mode Linux then stops what it traces in good order."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, death_signal)
    until = time.monotonic() + _GRACE_S
    while time.monotonic() < until:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return
        time.sleep(0.005)


def _end_all() -> None:
    """Kill children until there are none; those of a killed one become children of this process."""
    while True:
        for pid in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def _remove(folder: Path) -> None:
    """Remove a folder, again and again for a while: others that are being ended may still write to it."""
    until = time.monotonic() + _GRACE_S
    shutil.rmtree(folder, ignore_errors=True)
    while folder.exists() and time.monotonic() < until:
        time.sleep(0.01)
        shutil.rmtree(folder, ignore_errors=True)


def _children() -> list[int]:
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                status = Path(entry.path, "stat").read_text(encoding="ascii", errors="replace")
                # The name of the program, in brackets, may hold anything; the parent is the second field behind it.
                if int(status.rpartition(")")[2].split()[1]) == os.getpid():
                    found.append(int(entry.name))
    return found


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
