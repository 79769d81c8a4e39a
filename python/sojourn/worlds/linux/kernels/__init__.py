"""Kernels that can run a job.

The choice `auto` takes the first of `uml-virtual`, `uml` and `host` that is there: virtual time is exact and does not
depend on the machine's load; Debian's user-mode Linux has every discipline of the study where a host's kernel may have
few.
"""

from collections.abc import Sequence

from sojourn.worlds.linux.errors import NotInstalledError
from sojourn.worlds.linux.kernels.kernel import INSIDE, Kernel, Progress, never

__all__ = ["AUTO", "INSIDE", "Kernel", "Progress", "choose", "kernels", "never"]

AUTO = "auto"


def kernels() -> dict[str, Kernel]:
    """Return all kernels by name, best first, whether there or not."""
    from sojourn.worlds.linux.kernels.host import Host
    from sojourn.worlds.linux.kernels.uml import Uml, UmlVirtual

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
    lacks = {}
    for kernel in candidates:
        lacks[kernel.name] = kernel.missing()
        if not lacks[kernel.name]:
            return kernel
    # Of several that are not there the message shows the one that needs the least work.
    nearest = min(lacks, key=lambda kernel: (any(not item.package for item in lacks[kernel]), len(lacks[kernel])))
    raise NotInstalledError(f"the kernel {nearest}", lacks[nearest])
