"""User-mode Linux: a kernel that is an ordinary program. No root, no modules of the host."""

import functools
import platform
import re
import shutil
import signal
import subprocess
from abc import abstractmethod
from pathlib import Path

from sojourn.worlds.linux.build import BUILD_COMMAND, built_kernel
from sojourn.worlds.linux.errors import KernelError, Missing
from sojourn.worlds.linux.kept import Kept
from sojourn.worlds.linux.kernels.job import JobKernel, Launch, Work
from sojourn.worlds.linux.places import keeper_folder, memory_folder
from sojourn.worlds.linux.tools import MODPROBE, missing_tools

MEMORY_BYTES = 512 << 20
_PROGRAM = "linux.uml"
_MACHINES = ("x86_64", "i686")
_MOUNTS = [("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run")]
_ASK_S = 20
# The clock of a virtual machine begins at the same instant in every run: 2026-01-01 00:00:00 UTC.
_BEGIN_NS = 1_767_225_600_000_000_000
# A first process that has nothing to do, in a kernel that has little memory to prepare.
_TRIAL, _TRIAL_BYTES, _TRIAL_S = Path("/bin/true"), 64 << 20, 10
# Linux panics when its first process ends, and tells how it ended. These bits are the signal that killed it.
_ENDED, _SIGNAL_BITS = re.compile(r"Attempted to kill init! exitcode=0x([0-9a-f]+)"), 0x7F
_ELSEWHERE = "Use the kernel host, or another machine"


class _UserMode(JobKernel):
    """What the two kinds share."""

    options: tuple[str, ...] = ()
    """Boot parameters of this kind."""

    def lacks(self) -> list[Missing]:
        """Return what this machine lacks for it."""
        lacks = self.absent()
        program = self.program()
        if lacks or program is None or (number := _killed_by(program, self.options)) is None:
            return lacks
        what = f"a processor on which {program} can run programs (signal {number} killed its first process)"
        return [Missing(what, advice=_ELSEWHERE)]

    def launch(self, work: Work) -> Launch:
        """Return how to boot it."""
        program = self.program()
        assert program is not None, "asked before"  # noqa: S101
        return _boot(program, work, work.init, MEMORY_BYTES, self.options, self.modules(program))

    def version(self) -> str | None:
        """Return the kernel's release."""
        program = self.program()
        return None if program is None else release(program)

    @abstractmethod
    def absent(self) -> list[Missing]:
        """Return what is not there, as far as can be told without a boot."""

    @abstractmethod
    def program(self) -> Path | None:
        """Return the kernel; None where there is none."""

    def modules(self, _program: Path) -> Path | None:
        """Return the folder of the kernel's modules; None where there is none."""
        return None


class Uml(_UserMode):
    """Debian's user-mode Linux: real time, one processor, modules loaded when asked for."""

    name = "uml"
    summary = "Debian's user-mode Linux: real time; needs no root"
    virtual_time = False

    def absent(self) -> list[Missing]:
        """Return what is not there."""
        lacks = _unfit_machine()
        program = self.program()
        if program is None:
            lacks.append(Missing(f"{_PROGRAM} (user-mode Linux)", "user-mode-linux"))
        elif self.modules(program) is None:
            lacks.append(Missing(f"the modules of {program}", "user-mode-linux"))
        return [*lacks, *missing_tools([MODPROBE])]

    def program(self) -> Path | None:
        """Return the program on the path; None where there is none."""
        found = shutil.which(_PROGRAM)
        return None if found is None else Path(found)

    def modules(self, program: Path) -> Path | None:
        """Return the folder of the modules: beside the program, so that an unpacked package will do."""
        folder = program.resolve().parents[1] / "lib" / "uml" / "modules" / (release(program) or "none")
        return folder if folder.is_dir() else None


class UmlVirtual(_UserMode):
    """User-mode Linux built with time travel: time passes only with the work done."""

    name = "uml-virtual"
    summary = "user-mode Linux with virtual time: exact, whatever else the machine does; needs no root; built once"
    virtual_time = True
    options = ("time-travel=inf-cpu", f"time-travel-start={_BEGIN_NS}")

    def absent(self) -> list[Missing]:
        """Return what is not there."""
        lacks = _unfit_machine()
        if not lacks and self.program() is None:
            lacks.append(Missing("a kernel built with virtual time", advice=f"To build it: {BUILD_COMMAND}"))
        return lacks

    def program(self) -> Path | None:
        """Return the kernel that was built; None where there is none."""
        return built_kernel()


@functools.cache
def release(program: Path) -> str | None:
    """Ask a user-mode Linux for its release."""
    asked = subprocess.run(
        [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=_ASK_S
    )
    return asked.stdout.strip() or None


@functools.cache
def _killed_by(program: Path, options: tuple[str, ...]) -> int | None:
    """Boot a kernel once; return the signal that killed its first process.

    There are processors on which every program in it dies at once. None where the process ran. None also where the
    trial shows neither, so that no kernel that works is refused.
    """
    try:
        with keeper_folder() as place:
            work = Work(place)
            launch = _boot(program, work, _TRIAL, _TRIAL_BYTES, options)
            with Kept(place, launch.command, launch.death_signal, launch.environment) as kept:
                kept.ended(_TRIAL_S)
                ended = _ENDED.search(work.text(work.console))
    except (KernelError, OSError):
        return None
    return int(ended[1], 16) & _SIGNAL_BITS or None if ended else None


def _boot(
    program: Path, work: Work, init: Path, memory_bytes: int, options: tuple[str, ...], modules: Path | None = None
) -> Launch:
    command = [
        str(program),
        f"mem={memory_bytes >> 20}M",
        "rootfstype=hostfs",
        "rootflags=/",
        "rw",
        f"init={init}",
        "con=null",
        "con0=null,fd:1",
        "quiet",
        # Its files of process and console lie in the work folder too, not in the user's home.
        f"umid={work.folder.name}",
        f"uml_dir={work.folder}/",
        # After a panic it is to end, not to start again.
        "panic=0",
        *options,
    ]
    # Its memory is a file in TMPDIR that has no name.
    environment = {"TMPDIR": str(memory_folder(memory_bytes))}
    return Launch(command, signal.SIGTERM, _MOUNTS, modules, power_off=True, environment=environment)


def _unfit_machine() -> list[Missing]:
    if platform.system() == "Linux" and platform.machine() in _MACHINES:
        return []
    found = f"{platform.system()} on {platform.machine()}"
    return [Missing(f"Linux on an x86 processor (this is {found})", advice=_ELSEWHERE)]
