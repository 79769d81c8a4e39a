"""What a campaign costs: capacity and buffer of Gong et al., with one job, with all, and on a Dask cluster."""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import child
from benchmarks.common import say

ROUNDS = 3
_PROGRAM = """
import json, sys, time
from contextlib import nullcontext
from pathlib import Path
from sojourn.data.dataset import Dataset
from sojourn.study.find import find_folder
from sojourn.study.lab import Lab
from sojourn.sweeps.local import batch_size, run_local

folder, jobs, how = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]

def cluster():
    import dask
    from distributed import LocalCluster
    from sojourn.sweeps.cluster import SETTINGS
    # As `--cluster local:N` has them.
    dask.config.set(SETTINGS)
    return LocalCluster(n_workers=jobs, threads_per_worker=1, host="127.0.0.1", dashboard_address=None)

def warm():
    import sojourn.sweeps.work, pyarrow

if __name__ == "__main__":
    with nullcontext() if how == "local" else cluster() as running:
        if running:
            from distributed import Client
            from sojourn.sweeps.cluster import run_cluster
            with Client(running) as client:
                client.run(warm)
        begun = time.perf_counter()
        plan = Lab(folder, jobs).plan("capacity", find_folder("gong").plan("capacity"))
        dataset = Dataset.create(folder / "capacity", plan, *batch_size(plan))
        if running:
            run_cluster(plan, dataset, running.scheduler_address, lambda status: None)
        else:
            run_local(plan, dataset, jobs, lambda status: None)
        wall_s = time.perf_counter() - begun
    print(json.dumps({"runs": plan.runs, "wall_s": wall_s}))
"""


def measure(rounds: int) -> list[dict[str, Any]]:
    """Return runs and the shortest wall time for each number of jobs; before the process is bound to one processor.

    With all processors, local threads and a Dask cluster of as many processes take turns. The cluster runs already.
    """
    processors = len(os.sched_getaffinity(0))
    ways = [(jobs, "local") for jobs in sorted({1, processors})] + [(processors, "dask")]
    taken: dict[tuple[int, str], list[dict[str, Any]]] = {way: [] for way in ways}
    for turn in range(rounds):
        for jobs, how in ways:
            say(f"a campaign, {how}, {jobs} job{'s' if jobs > 1 else ''} ({turn + 1} of {rounds})")
            taken[jobs, how].append(_once(jobs, how))
    return [min(rows, key=lambda row: row["wall_s"]) for rows in taken.values()]


def _once(jobs: int, how: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        # A file, which the processes of a cluster can import.
        program = Path(folder) / "campaign.py"
        program.write_text(_PROGRAM, encoding="utf-8")
        done = child.run([sys.executable, str(program), f"{folder}/out", str(jobs), how])
    return {"jobs": jobs, "how": how, "cpu_s": done.cpu_s, **json.loads(done.text)}
