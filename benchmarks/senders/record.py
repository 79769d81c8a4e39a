"""Records anew what the kernel's TCP does: one boot for each control."""

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import say
from benchmarks.kernel.record import KERNEL, importable
from benchmarks.senders import recording
from benchmarks.senders.cases import WORKLOADS, Sender
from sojourn.worlds.linux.kernels import choose
from sojourn.worlds.linux.places import work_folder
from sojourn.worlds.linux.pool import run_all

_TIMEOUT_S = 900


def record(senders: Sequence[Sender]) -> None:
    """Lead each control's connections through all workloads and keep what came of them.

    Raises TestbedError where the kernel is not there or fails.
    """
    kernel = choose(KERNEL)
    with work_folder() as base, importable():
        folders = {base / f"job{number}": sender for number, sender in enumerate(senders)}
        for folder, sender in folders.items():
            _write_job(folder, sender)

        def done(folder: Path) -> None:
            sender = folders[folder]
            report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
            runs = {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in WORKLOADS}
            connections = {name: recording.parse(run) for name, run in runs.items()}
            path = recording.save(sender.name, {**_plan(sender), "kernel": report["kernel"]}, connections)
            say(f"recorded {path.name}: {path.stat().st_size} B")

        run_all(kernel, list(folders), timeout_s=_TIMEOUT_S, done=done, module="benchmarks.senders.inside")


def _plan(sender: Sender) -> dict[str, object]:
    runs = [workload.plan(name, ecn=sender.ecn) for name, workload in WORKLOADS.items()]
    return {"control": sender.module or sender.name, "bursts": sender.bursts, "plan": runs}


def _write_job(folder: Path, sender: Sender) -> None:
    folder.mkdir()
    plan = _plan(sender)
    job = {"control": plan["control"], "bursts": plan["bursts"], "runs": plan["plan"]}
    (folder / "plan.json").write_text(json.dumps(job), encoding="utf-8")
