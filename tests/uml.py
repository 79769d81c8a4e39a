"""A user-mode Linux kernel for commands: what it printed."""

import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from sojourn.worlds.linux.build import built_kernel

# What Debian's kernel needs beside what is built into it; that of `sojourn testbed build-kernel` has all of it.
MODULES = (
    *(
        "ifb",
        "dummy",
        "act_mirred",
        "act_police",
        "cls_matchall",
        "cls_u32",
    ),
    *(
        "sch_ingress",
        "sch_htb",
        "sch_tbf",
        "sch_prio",
        "sch_drr",
        "sch_cake",
        "sch_codel",
        "sch_fq_codel",
        "sch_fq_pie",
    ),
    *("sch_pie", "sch_red", "sch_choke", "sch_sfq", "sch_sfb", "sch_hhf"),
)


def in_kernel(test: Callable[..., Any]) -> Any:
    """Mark a test that boots one."""
    skip = pytest.mark.skipif(kernel() is None, reason="no user-mode Linux")
    return pytest.mark.testbed(skip(test))


def kernel() -> str | None:
    """Return the kernel that was built, or Debian's; None where there is neither."""
    built = built_kernel()
    return str(built) if built is not None else shutil.which("linux.uml")


def on_kernel(lines: Iterable[str], folder: Path, shown: Iterable[str]) -> str:
    """Boot a kernel with a device veth0, give it the commands, and return all that was printed."""
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "modules").symlink_to("/usr/lib/uml/modules")
    script = folder / "init"
    script.write_text(
        "#!/bin/bash\nexport PATH=/usr/sbin:/usr/bin:/sbin:/bin\nmount -t proc proc /proc\n{\n"
        + "".join(f"modprobe -q -d {folder} {module}\n" for module in MODULES)
        + "ip link add veth0 type dummy\nip link set veth0 up\n"
        + "\n".join((*lines, *shown))
        + f"\n}} > {folder}/out 2>&1\nsync\necho o > /proc/sysrq-trigger\nsleep 5\n"
    )
    script.chmod(0o755)
    boot = [str(kernel()), "mem=256M", "rootfstype=hostfs", "rw", f"init={script}", "con=null", "con0=fd:0,fd:1"]
    subprocess.run(boot, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
    return (folder / "out").read_text()
