"""A user-mode Linux kernel for commands: what it printed."""

import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

# What the kernel needs beside what is built into it.
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
    skip = pytest.mark.skipif(shutil.which("linux.uml") is None, reason="no user-mode Linux")
    return pytest.mark.testbed(skip(test))


def on_kernel(lines: Iterable[str], folder: Path, shown: Iterable[str]) -> str:
    """Boot a kernel with a device veth0, give it the commands, and return all that was printed."""
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "modules").symlink_to("/usr/lib/uml/modules")
    script = folder / "init"
    script.write_text(
        "#!/bin/bash\nexport PATH=/usr/sbin:/usr/bin:/sbin:/bin\nmount -t proc proc /proc\n{\n"
        + "".join(f"modprobe -d {folder} {module}\n" for module in MODULES)
        + "ip link add veth0 type dummy\nip link set veth0 up\n"
        + "\n".join((*lines, *shown))
        + f"\n}} > {folder}/out 2>&1\nsync\necho o > /proc/sysrq-trigger\nsleep 5\n"
    )
    script.chmod(0o755)
    boot = ["linux.uml", "mem=256M", "rootfstype=hostfs", "rw", f"init={script}", "con=null", "con0=fd:0,fd:1"]
    subprocess.run(boot, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
    return (folder / "out").read_text()
