"""A million runs on 64 workers, which rest for as long as they would simulate: what is left is the scheduler's work."""

import contextlib
import importlib
import json
import os
import sys
import tempfile
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks import child
from benchmarks.common import say
from sojourn.data.dataset import Dataset
from sojourn.study.find import find_folder
from sojourn.study.lab import Lab
from sojourn.sweeps import cluster
from sojourn.sweeps.local import batch_size
from sojourn.sweeps.work import run_batch

WORKERS = 64
RUNS = 1_000_000
# Batches that tell how long one takes.
_TRIED = 10
# For the workers: where the parts of a batch are, and how long one takes.
_PARTS, _BATCH_S = "SOJOURN_BENCH_PARTS", "SOJOURN_BENCH_BATCH_S"


def measure() -> dict[str, Any]:
    """Return what the sweep took, what it would take at best, and the processor time of all that is not a worker."""
    say(f"{RUNS:,} runs on {WORKERS} workers that rest")
    taken: dict[str, Any] = json.loads(child.run([sys.executable, "-m", "benchmarks.workers"]).text)
    return taken


@cache
def batch() -> dict[str, bytes]:
    """Return the parts of a batch that was run."""
    return {place.name: place.read_bytes() for place in Path(os.environ[_PARTS]).iterdir()}


def rest(_plan: Any, _batch: Any, **_rest: Any) -> dict[str, bytes]:
    """Take as long as a batch, and return the parts of one."""
    time.sleep(float(os.environ[_BATCH_S]))
    return batch()


def main() -> None:
    """Run a batch, sweep, print."""
    dask, distributed = importlib.import_module("dask"), importlib.import_module("distributed")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        plan = Lab(folder, 1).plan("capacity", find_folder("gong").plan("capacity"))
        plan = replace(plan, seeds=RUNS // plan.points)
        dataset = Dataset.create(folder / "capacity", plan, *batch_size(plan))
        spread = dataset.batches[:: len(dataset.batches) // _TRIED]
        begun = time.perf_counter()
        *_, parts = (run_batch(plan, tried, dataset.provenance) for tried in spread)
        batch_s = (time.perf_counter() - begun) / len(spread)
        (folder / "parts").mkdir()
        for name, content in parts.items():
            (folder / "parts" / name).write_bytes(content)
        os.environ |= {_PARTS: str(folder / "parts"), _BATCH_S: str(batch_s)}
        stack.enter_context(mock.patch.object(cluster, "run_batch", rest))
        stack.enter_context(dask.config.set(cluster.SETTINGS))
        settings = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
        running = stack.enter_context(distributed.LocalCluster(n_workers=WORKERS, **settings))
        with distributed.Client(running) as client:
            client.run(batch)
        begun, before_s = time.perf_counter(), time.process_time()
        cluster.run_cluster(plan, dataset, running.scheduler_address, lambda status: None)
        wall_s, cpu_s = time.perf_counter() - begun, time.process_time() - before_s
    batches = len(dataset.batches)
    found = {"workers": WORKERS, "runs": plan.runs, "batches": batches, "batch_s": batch_s}
    print(json.dumps({**found, "wall_s": wall_s, "best_s": -(-batches // WORKERS) * batch_s, "cpu_s": cpu_s}))


if __name__ == "__main__":
    main()
