"""Runs the kernel's TCP over mm-delay and mm-link, and reads mm-link's log.

What needs root, each inside a network namespace that `unshare` makes for the run and that ends with it: addresses and
routes and address translation (by the shells), forwarding (a sysctl of the namespace), and the senders' choice of a
congestion control that is not for everybody. The shells have to be owned by root and setuid, as `make install` leaves
them. Here they are copied to a private folder for the time of a run.
"""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.mahimahi.cells import DURATION_S, QUEUES, RTT_MS, Cell, write_return_link

SHELLS = ("mm-delay", "mm-link")
INSIDE = str(Path(__file__).with_name("inside.py"))
_HELPERS = ("ip", "iptables", "nsenter", "unshare", "dnsmasq")
_GRACE_S = 30


class ShellError(Exception):
    """The shells are not there, may not run, or have failed."""


@dataclass(frozen=True)
class Measured:
    """What crossed the link."""

    mean_ms: float
    median_ms: float
    packets: int
    """That left the link."""
    drops: int
    """Before the queue: what CoDel drops behind it is not in the log."""
    load: float
    """Of the machine while it ran (one minute's average at the end)."""


def find(folder: Path | None) -> dict[str, Path]:
    """Return the shells, from a folder or the PATH.

    Raises ShellError where something is missing.
    """
    if os.geteuid() != 0:
        raise ShellError("Mahimahi's shells make network namespaces and set sysctls in them, which needs root")
    for helper in _HELPERS:
        if shutil.which(helper, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None:
            raise ShellError(f"found no {helper}, which the run needs")
    where = {name: shutil.which(name, path=None if folder is None else str(folder)) for name in SHELLS}
    missing = [name for name, path in where.items() if path is None]
    if missing:
        raise ShellError(
            f"found no {' and '.join(missing)} {'on the PATH' if folder is None else f'in {folder}'}; "
            "build github.com/ravinet/mahimahi and name the folder with --shells"
        )
    return {name: Path(path) for name, path in where.items() if path is not None}


def run(cell: Cell, shells: dict[str, Path]) -> Measured:
    """Run a cell in real time.

    Raises ShellError where a shell fails.
    """
    with private(shells) as folder:
        shutil.copyfile(cell.trace, folder / "link")
        back, log = write_return_link(folder), folder / "log"
        log.touch(mode=0o666)
        log.chmod(0o666)
        queue = QUEUES[cell.queue]
        delay = [str(folder / "mm-delay"), str(RTT_MS // 2)]
        link = [
            *(str(folder / "mm-link"), str(folder / "link"), str(back)),
            *(f"--uplink-queue={queue.shell}", f"--uplink-queue-args={queue.arguments}", f"--uplink-log={log}", "--"),
        ]
        shells_of = {"delay": delay, "link": link}
        plan = {**shells_of, "control": cell.control, "flows": cell.flows, "seconds": DURATION_S}
        inside = ["unshare", "--net", sys.executable, INSIDE, json.dumps(plan)]
        try:
            done = subprocess.run(
                inside, capture_output=True, text=True, check=False, timeout=DURATION_S + _GRACE_S, env=_environment()
            )
        except subprocess.TimeoutExpired as error:
            raise ShellError(f"{cell.name}: no end after {DURATION_S + _GRACE_S} s") from error
        if done.returncode:
            raise ShellError(f"{cell.name}: {done.stderr.strip() or f'ended with {done.returncode}'}")
        return read_log(log.read_text(encoding="ascii"), os.getloadavg()[0])


def read_log(text: str, load: float) -> Measured:
    """Return what a log of mm-link says: "+" arrivals, "-" departures with their delay, "d" drops.

    Arrivals give the end of the measured time: DURATION_S after the first.
    """
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    arrivals = [int(row[0]) for row in rows if row[1] == "+"]
    if not arrivals:
        raise ShellError("the log of mm-link has no packet")
    end_ms = min(arrivals) + DURATION_S * 1000
    rows = [row for row in rows if int(row[0]) < end_ms]
    delays = np.array([float(row[3]) for row in rows if row[1] == "-"])
    drops = sum(int(row[2]) for row in rows if row[1] == "d")
    return Measured(
        mean_ms=float(delays.mean()), median_ms=float(np.median(delays)), packets=len(delays), drops=drops, load=load
    )


@contextmanager
def private(shells: dict[str, Path]) -> Iterator[Path]:
    """Yield a folder with setuid copies of the shells."""
    with tempfile.TemporaryDirectory(prefix="sojourn-mahimahi-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for shell, path in shells.items():
            shutil.copyfile(path, folder / shell)
            (folder / shell).chmod(stat.S_ISUID | 0o755)
        yield folder


def _environment() -> dict[str, str]:
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
