"""TEMPORARY until sojourn.testbed.kernels: boots the virtual-time kernel."""

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.common import ROOT

KERNEL = os.environ.get("SOJOURN_KERNEL", "/tmp/kb/linux-source-6.1/linux")  # noqa: S108

SCRIPT = f"""#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t tmpfs tmp /run; mount -t tmpfs tmp /mnt
for w in $(cat /proc/cmdline); do case $w in JOB=*) JOB=${{w#JOB=}};; esac; done
cd {ROOT} && python3 -m benchmarks.kernel.inside $JOB > $JOB/out.txt 2>&1
python3 -c 'import ctypes; ctypes.CDLL(None).reboot(0x4321fedc)'
"""


def run(folder: Path) -> None:
    init = folder / "init.sh"
    init.write_text(SCRIPT)
    init.chmod(0o755)
    command = [KERNEL, "mem=256M", "rootfstype=hostfs", "rootflags=/", "rw", f"init={init}", "time-travel=inf-cpu"]
    command += ["con=null", "con0=fd:0,fd:1", "quiet", f"umid=cf{os.getpid()}", f"JOB={folder}"]
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False, timeout=600)
    said = (folder / "out.txt").read_text()
    if said:
        print(said, file=sys.stderr)
    if not (folder / "report.json").exists():
        raise RuntimeError(said)
