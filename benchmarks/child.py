"""Child processes and what they cost."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.common import ROOT


class ChildError(RuntimeError):
    """A child failed; the message holds its last words."""


@dataclass(frozen=True)
class Child:
    """What a finished child printed and used."""

    text: str
    cpu_s: float
    """User and system time."""
    wall_s: float


# Where Python keeps what it has compiled, for all children of this process.
_BYTECODE = tempfile.TemporaryDirectory(prefix="sojourn-bytecode-")


def _environment() -> dict[str, str]:
    """Let children keep bytecode, also where this environment forbids it: an installed package has it."""
    rest = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**rest, "PYTHONPYCACHEPREFIX": _BYTECODE.name}


def run(command: Sequence[str], stdin: str = "") -> Child:
    """Run a command in the repository's root to its end."""
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as out:
        given.write(stdin)
        given.seek(0)
        with tempfile.TemporaryFile("w+") as complaint:
            begun = time.perf_counter()
            process = subprocess.Popen(command, stdin=given, stdout=out, stderr=complaint, cwd=ROOT, env=_environment())
            try:
                _, status, usage = os.wait4(process.pid, 0)
            except BaseException:
                process.kill()
                process.wait()
                raise
            wall_s = time.perf_counter() - begun
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                complaint.seek(0)
                raise ChildError(f"{' '.join(command[:4])} ...: {complaint.read().strip() or process.returncode}")
        out.seek(0)
        return Child(out.read(), usage.ru_utime + usage.ru_stime, wall_s)


def sojourn(*arguments: str) -> Child:
    """Run the command `sojourn`."""
    return run([sys.executable, "-m", "sojourn", *arguments])


def engine(scenario: Mapping[str, Any], runs: int = 1) -> dict[str, Any]:
    """Run a scenario in a process of its own; what `benchmarks.worker` prints."""
    order = json.dumps({"scenario": scenario, "runs": runs})
    answer: dict[str, Any] = json.loads(run([sys.executable, "-m", "benchmarks.worker"], order).text)
    return answer


def stay_on_one_core() -> None:
    """Keep this process and all its children on one core, so that nothing is measured on two."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
