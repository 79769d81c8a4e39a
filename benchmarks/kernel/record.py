"""Records anew what the kernel does: one boot for each case."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.common import ROOT, say
from benchmarks.kernel import recording
from benchmarks.kernel.cases import RATE_BIT_PER_S, Case
from sojourn.worlds.linux.kernels import choose
from sojourn.worlds.linux.places import work_folder
from sojourn.worlds.linux.pool import run_all

KERNEL = "uml-virtual"
"""The only one whose times are exact."""

SEED = 1
"""Of the schedules."""

_TIMEOUT_S = 600


def record(cases: Sequence[Case]) -> None:
    """Send each case's packets through the kernel's qdisc and keep what became of them.

    Raises TestbedError where the kernel is not there or fails.
    """
    kernel = choose(KERNEL)
    with work_folder() as base, importable():
        folders = {base / f"job{number}": case for number, case in enumerate(cases)}
        for folder, case in folders.items():
            _write_job(folder, case)

        def done(folder: Path) -> None:
            case = folders[folder]
            about = {
                "case": case.name,
                "tc": case.tc(),
                "workload": case.workload,
                "seed": SEED,
                "rate_bit_per_s": RATE_BIT_PER_S,
            }
            path = recording.save(case.name, recording.read_job(folder, about))
            say(f"recorded {path.name}: {path.stat().st_size} B")

        run_all(kernel, list(folders), timeout_s=_TIMEOUT_S, done=done, module="benchmarks.kernel.inside")


def _write_job(folder: Path, case: Case) -> None:
    folder.mkdir()
    (folder / "schedule.bin").write_bytes(case.load.schedule(SEED))
    plan = {"rate_bit_per_s": RATE_BIT_PER_S, "tc": case.tc()}
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")


@contextmanager
def importable() -> Iterator[None]:
    """Let the kernel's Python find this package, which is not installed."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(ROOT)
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
