"""What a campaign costs: capacity and buffer of Gong et al., in processes of their own with one job and all."""

import json
import os
import sys
import tempfile
from typing import Any

from benchmarks import child
from benchmarks.common import say

ROUNDS = 3
_PROGRAM = """
import json, sys, time
from pathlib import Path
from sojourn.study.find import find_folder
from sojourn.study.lab import DATA, Lab
from sojourn.sweeps import Dataset

folder = Path(sys.argv[1])
begun = time.perf_counter()
lab = Lab(folder, int(sys.argv[2]))
lab.run(lab.plan("capacity", find_folder("gong").plan("capacity")))
wall_s = time.perf_counter() - begun
(place,) = (folder / DATA).iterdir()
asked = Dataset.open(place).description
print(json.dumps({"runs": asked["points"] * asked["seeds"], "wall_s": wall_s}))
"""


def measure(rounds: int) -> list[dict[str, Any]]:
    """Return runs and the shortest wall time for each number of jobs; before the process is bound to one processor."""
    processors = len(os.sched_getaffinity(0))
    return [_shortest(jobs, rounds) for jobs in sorted({1, processors})]


def _shortest(jobs: int, rounds: int) -> dict[str, Any]:
    say(f"a campaign with {jobs} job{'s' if jobs > 1 else ''}")
    rows = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            done = child.run([sys.executable, "-c", _PROGRAM, folder, str(jobs)])
        rows.append({"jobs": jobs, "cpu_s": done.cpu_s, **json.loads(done.text)})
    return min(rows, key=lambda row: row["wall_s"])
