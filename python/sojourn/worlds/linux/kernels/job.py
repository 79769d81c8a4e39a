"""Runs one job folder in a kernel and leaves nothing behind."""

import json
import re
import shlex
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sojourn import children
from sojourn.reading import input_error
from sojourn.worlds.linux.errors import (
    JobError,
    KernelError,
    Missing,
    MissingInsideError,
    NotInstalledError,
    StoppedError,
    TimedOutError,
)
from sojourn.worlds.linux.kept import CONSOLE, Kept
from sojourn.worlds.linux.kernels import guest
from sojourn.worlds.linux.kernels.kernel import INSIDE, Progress, never
from sojourn.worlds.linux.places import HIDDEN, cache_folder, is_hidden, keeper_folder
from sojourn.worlds.linux.tools import JOB_TOOLS, missing_tools

PLAN, REPORT, ERROR, PROGRESS = "plan.json", "report.json", "error.json", "progress"
_OUTPUTS = (REPORT, ERROR, PROGRESS)
_POLL_S = 0.1
_SHOWN_LINES = 8
_PANIC = re.compile(r"Kernel panic - not syncing:.*")


@dataclass(frozen=True)
class Launch:
    """How a kernel is started in a work folder."""

    command: list[str]
    """What executes, sooner or later, the work folder's `init`."""
    death_signal: signal.Signals
    """What ends it at once and in good order."""
    mounts: list[tuple[str, str]]
    modules: Path | None = None
    power_off: bool = False
    environment: dict[str, str] | None = None
    """Changes to the environment of the command itself."""


@dataclass(frozen=True)
class Job:
    """One job folder and what runs it."""

    folder: Path
    module: str
    timeout_s: float
    progress: Progress | None
    stopped: Callable[[], bool]


class Work:
    """The files of a job that is being run, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.init = folder / "init"
        self.log = folder / "log"
        self.status = folder / "status"
        self.console = folder / CONSOLE

    def write(self, job: Job, launch: Launch) -> None:
        """Write what the first process reads."""
        description = self.folder / "guest.json"
        guest.Guest(
            command=children.module(job.module, str(job.folder)),
            environment=_environment(),
            log=str(self.log),
            status=str(self.status),
            mounts=launch.mounts,
            modules=str(launch.modules) if launch.modules else None,
            power_off=launch.power_off,
        ).write(description)
        words = children.program(guest.__file__, str(description))
        self.init.write_text("#!/bin/sh\nexec " + shlex.join(words) + "\n", encoding="utf-8")
        self.init.chmod(0o700)

    def text(self, path: Path) -> str:
        """Return what a file of the job holds so far."""
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""


class JobKernel(ABC):
    """What all kernels share: everything but how they are started."""

    name: str
    summary: str
    virtual_time: bool

    @abstractmethod
    def lacks(self) -> list[Missing]:
        """Return what this machine lacks to start it."""

    @abstractmethod
    def version(self) -> str | None:
        """Return the release; see Kernel."""

    @abstractmethod
    def launch(self, work: Work) -> Launch:
        """Return how to start it. Asked only where nothing is missing."""

    def missing(self) -> list[Missing]:
        """Return what this machine lacks for jobs in it; see Kernel."""
        return [*self.lacks(), *missing_tools(JOB_TOOLS)]

    def run(
        self,
        folder: Path,
        *,
        timeout_s: float,
        progress: Progress | None = None,
        stopped: Callable[[], bool] = never,
        module: str = INSIDE,
    ) -> None:
        """Run a job; see Kernel."""
        missing = self.missing()
        if missing:
            raise NotInstalledError(f"the kernel {self.name}", missing)
        job = Job(folder.resolve(), module, timeout_s, progress, stopped)
        _check_folder(job.folder)
        for name in _OUTPUTS:
            (job.folder / name).unlink(missing_ok=True)
        with keeper_folder() as place:
            work = Work(place)
            launch = self.launch(work)
            work.write(job, launch)
            with Kept(place, launch.command, launch.death_signal, launch.environment) as kept:
                _follow(self.name, job, work, kept)
                _judge(self.name, job, work)


def _check_folder(folder: Path) -> None:
    if not (folder / PLAN).is_file():
        raise input_error(f"holds no {PLAN}", file=str(folder))
    if is_hidden(folder):
        places = ", ".join(map(str, HIDDEN))
        raise input_error(
            f"a job cannot lie below {places}: they hold something else inside a kernel", file=str(folder)
        )


def _follow(kernel: str, job: Job, work: Work, kept: Kept) -> None:
    until = time.monotonic() + job.timeout_s
    while not kept.ended(_POLL_S):
        if job.stopped():
            raise StoppedError(f"stopped: {job.folder}")
        if time.monotonic() > until:
            raise TimedOutError(
                f"the job took longer than {job.timeout_s:g} s on the kernel {kernel}{_last(work.text(work.log))}"
            )
        if job.progress is not None:
            job.progress(_fraction(job.folder / PROGRESS))


def _fraction(path: Path) -> float:
    try:
        return min(max(float(path.read_text(encoding="ascii")), 0.0), 1.0)
    except (OSError, ValueError):
        return 0.0


def _judge(kernel: str, job: Job, work: Work) -> None:
    """Raise what went wrong, if anything did."""
    error = job.folder / ERROR
    if error.is_file():
        raise _told(error)
    status, log, console = work.text(work.status), work.text(work.log), work.text(work.console)
    if not status:
        panic = _PANIC.search(console)
        what = f"panicked: {panic[0].strip()}" if panic else "ended before the job did"
        raise KernelError(f"the kernel {kernel} {what}{_last(console)}")
    if status != "0":
        raise JobError(f"the job failed inside the kernel {kernel} with exit code {status}{_last(log)}")
    if not (job.folder / REPORT).is_file():
        raise JobError(f"the job on the kernel {kernel} ended without a report{_last(log)}")


def _told(path: Path) -> Exception:
    """Return the error that the job itself reports."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        kind, message = told["kind"], str(told["message"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        return JobError(f"{path}: the job's own report of an error cannot be read ({error})")
    if kind == "input":
        return input_error(message)
    return {"missing": MissingInsideError}.get(kind, JobError)(message)


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()][-_SHOWN_LINES:]
    return "".join(f"\n  {line.rstrip()}" for line in lines)


def _environment() -> dict[str, str]:
    """Return the environment of a job: little of the user's own, so that results do not depend on it."""
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(guest.RUN / "tmp"),
        "TMPDIR": str(guest.RUN / "tmp"),
        "LANG": "C.UTF-8",
        "XDG_CACHE_HOME": str(cache_folder().parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        **children.search_path(),
    }
