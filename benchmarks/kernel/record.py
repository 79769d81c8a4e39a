"""Records anew what the kernel does: one boot for each case."""

import json
import tempfile
from pathlib import Path

from benchmarks.kernel import recording
from benchmarks.kernel.boot import run
from benchmarks.kernel.cases import RATE_BIT_PER_S, Case

SEED = 1
"""Of the schedules."""


def record(case: Case) -> Path:
    """Send the case's packets through the kernel's qdisc and keep what became of them."""
    with tempfile.TemporaryDirectory(prefix="sojourn-") as name:
        folder = Path(name)
        (folder / "schedule.bin").write_bytes(case.load.schedule(SEED))
        plan = {"rate_bit_per_s": RATE_BIT_PER_S, "tc": case.tc()}
        (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        run(folder)
        about = {"case": case.name, "tc": case.tc(), "workload": case.workload, "seed": SEED}
        return recording.save(case.name, recording.read_job(folder, about))
