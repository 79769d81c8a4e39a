"""What a kernel that can run a job is."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from sojourn.worlds.linux.errors import Missing

Progress = Callable[[float], None]
"""Takes the done fraction of a job."""

INSIDE = "sojourn.worlds.linux.inside"


def never() -> bool:
    """Tell a job to go on."""
    return False


class Kernel(Protocol):
    """A Linux kernel that can run jobs."""

    name: str
    summary: str
    virtual_time: bool
    """Whether time passes only with the work done, so that results do not depend on the machine."""

    def missing(self) -> list[Missing]:
        """Return what this machine lacks for it.

        Where only a trial can tell, it is made once in a process, and takes a second or two.
        """

    def version(self) -> str | None:
        """Return the release, such as 6.1.176; None where there is no kernel."""

    def run(
        self,
        folder: Path,
        *,
        timeout_s: float,
        progress: Progress | None = None,
        stopped: Callable[[], bool] = never,
        module: str = INSIDE,
    ) -> None:
        """Execute `python -m MODULE FOLDER` as root of its own network, and wait.

        The folder holds plan.json before and report.json after. `timeout_s` is in seconds of the machine, boot
        included; `stopped` is asked ten times a second. Raises InputError where the plan is wrong, else a
        TestbedError; either way, and when interrupted or killed, nothing but the folder is left.
        """
