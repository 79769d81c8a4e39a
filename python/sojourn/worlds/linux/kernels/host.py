"""The machine's own kernel, in network, mount and process namespaces that vanish with the job."""

import functools
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from sojourn.worlds.linux.clock import steady_clock
from sojourn.worlds.linux.errors import Missing
from sojourn.worlds.linux.kernels.job import JobKernel, Launch, Work
from sojourn.worlds.linux.kernels.kernel import INSIDE, Progress, never
from sojourn.worlds.linux.tools import UNSHARE, missing_tools

_NAMESPACES = ("--net", "--mount", "--pid", "--ipc", "--fork", "--kill-child=KILL", "--mount-proc")
_OWN_USERS = ("--user", "--map-root-user")
_MOUNTS = [("tmpfs", "/run"), ("sysfs", "/sys")]
_TRY_S = 10


class Host(JobKernel):
    """The machine's own kernel: as root, or in a user namespace where the system lets a user have one."""

    name = "host"
    summary = "this machine's own kernel, in namespaces; real time; needs root or user namespaces"
    virtual_time = False

    def lacks(self) -> list[Missing]:
        """Return what this machine lacks for it."""
        if not sys.platform.startswith("linux"):
            return [Missing("Linux", advice="Run it on Linux, or in a virtual machine with Linux")]
        if UNSHARE.path() is None:
            return missing_tools([UNSHARE])
        if _namespaces() is None:
            return [
                Missing(
                    "root, or user namespaces for users, which this system does not allow",
                    advice="Run as root, or use the kernel uml, which needs neither",
                )
            ]
        return []

    def version(self) -> str | None:
        """Return the release of the running kernel."""
        return os.uname().release

    def launch(self, work: Work) -> Launch:
        """Return how to start a job in namespaces."""
        return Launch([UNSHARE.name, *(_namespaces() or ()), str(work.init)], signal.SIGKILL, _MOUNTS)

    def run(
        self,
        folder: Path,
        *,
        timeout_s: float,
        progress: Progress | None = None,
        stopped: Callable[[], bool] = never,
        module: str = INSIDE,
    ) -> None:
        """Run a job; see Kernel. Packets bear the machine's own time, which must not jump meanwhile."""
        with steady_clock():
            super().run(folder, timeout_s=timeout_s, progress=progress, stopped=stopped, module=module)


@functools.cache
def _namespaces() -> tuple[str, ...] | None:
    """Return the options that give this user a network of its own; None where none do."""
    for options in (_NAMESPACES, (*_OWN_USERS, *_NAMESPACES)):
        tried = subprocess.run(
            [UNSHARE.name, *options, "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_TRY_S
        )
        if tried.returncode == 0:
            return options
    return None
