"""The first process of a kernel or of its own namespaces. Run as a program: `python -I -S guest.py GUEST.JSON`.

It mounts what the job needs, lets the kernel find its modules, runs the job, writes its exit code, and switches the
kernel off where there is one. It may use nothing but the standard library and needs no tool.
"""

import ctypes
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

RUN = Path("/run")
_POWER_OFF = 0x4321FEDC
_SCRIPT_MODE = 0o755


@dataclass(frozen=True)
class Guest:
    """What the first process does."""

    command: list[str]
    environment: dict[str, str]
    log: str
    """The file that takes what the command prints."""
    status: str
    """The file that takes its exit code, written last."""
    mounts: list[tuple[str, str]]
    """File systems to mount: type and place."""
    modules: str | None
    """The folder of a kernel version's modules, where the kernel has any of its own."""
    power_off: bool

    def write(self, path: Path) -> None:
        """Write the description that the program reads."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")


def main(description: str) -> int:
    """Prepare, run the job, clean up."""
    guest = Guest(**json.loads(Path(description).read_text(encoding="utf-8")))
    try:
        for kind, place in guest.mounts:
            _mount(kind, place)
        (RUN / "tmp").mkdir(exist_ok=True)
        if guest.modules is not None:
            _serve_modules(Path(guest.modules))
        code = _run(guest)
    except OSError as error:
        Path(guest.log).write_text(f"preparing the kernel failed: {error}\n", encoding="utf-8")
        code = 1
    _write_status(Path(guest.status), code)
    if guest.power_off:
        os.sync()
        ctypes.CDLL(None).reboot(_POWER_OFF)
    return code


def _mount(kind: str, place: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(kind.encode(), place.encode(), kind.encode(), 0, None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mounting {kind}: {os.strerror(number)}", place)


def _serve_modules(modules: Path) -> None:
    """Let the kernel load a module when someone first asks for it."""
    root = RUN / "modules"
    home = root / "lib" / "modules"
    home.mkdir(parents=True)
    (home / modules.name).symlink_to(modules)
    program = RUN / "modprobe"
    program.write_text(f'#!/bin/sh\nexec /sbin/modprobe -d {root} "$@"\n', encoding="utf-8")
    program.chmod(_SCRIPT_MODE)
    Path("/proc/sys/kernel/modprobe").write_text(str(program), encoding="utf-8")


def _run(guest: Guest) -> int:
    child = os.fork()
    if not child:
        _execute(guest.command, guest.environment, guest.log)
    while True:
        # As the first process it inherits all orphans.
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def _execute(command: list[str], environment: Mapping[str, str], log: str) -> None:
    try:
        os.setsid()
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.execvpe(command[0], command, environment)  # noqa: S606 (no shell is wanted)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def _write_status(path: Path, code: int) -> None:
    beside = path.with_suffix(".new")
    beside.write_text(str(code), encoding="ascii")
    beside.replace(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
