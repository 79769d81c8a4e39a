"""Kernels that can run a job.

The choice `auto` takes the first of `uml-virtual`, `uml` and `host` that is there: virtual time is exact and does not
depend on the machine's load; Debian's user-mode Linux has every discipline of the study where a host's kernel may have
few.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from sojourn.testbed.errors import Missing, NotInstalledError

Progress = Callable[[float], None]
"""Takes the done fraction of a job."""

INSIDE = "sojourn.testbed.inside"
AUTO = "auto"


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
        """Return what this machine lacks for it, quickly: nothing is started."""

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


def kernels() -> dict[str, Kernel]:
    """Return all kernels by name, best first, whether there or not."""
    from sojourn.testbed.kernels.host import Host
    from sojourn.testbed.kernels.uml import Uml, UmlVirtual

    found: list[Kernel] = [UmlVirtual(), Uml(), Host()]
    return {kernel.name: kernel for kernel in found}


def choose(name: str = AUTO, among: Sequence[Kernel] | None = None) -> Kernel:
    """Return the kernel of that name, or the best that is there for `auto`.

    Raises NotInstalledError where the machine lacks something for it, InputError for an unknown name.
    """
    from sojourn.reading import unknown_name

    known = kernels() if among is None else {kernel.name: kernel for kernel in among}
    if name != AUTO and name not in known:
        raise unknown_name("no kernel is called", name, [*known, AUTO])
    candidates = list(known.values()) if name == AUTO else [known[name]]
    lacks = {kernel.name: kernel.missing() for kernel in candidates}
    for kernel in candidates:
        if not lacks[kernel.name]:
            return kernel
    # Of several that are not there the message shows the one that needs the least work.
    nearest = min(lacks, key=lambda kernel: (any(not item.package for item in lacks[kernel]), len(lacks[kernel])))
    raise NotInstalledError(f"the kernel {nearest}", lacks[nearest])
