"""What a kernel's receiver acknowledged, as it is recorded and kept in recordings.zip."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import archive
from benchmarks.common import say
from benchmarks.kernel.record import KERNEL, importable
from benchmarks.receivers.cases import CASES
from sojourn.worlds.linux.kernels import choose
from sojourn.worlds.linux.places import work_folder
from sojourn.worlds.linux.pool import run_all

RECORDINGS = Path(__file__).resolve().parent / "recordings.zip"
_TIMEOUT_S = 900

Ack = tuple[int, int, int, tuple[tuple[int, ...], ...]]
"""Time (ns), next number expected, what else it says (1: a mark is echoed; 2: it goes with data), SACK blocks."""


@dataclass(frozen=True)
class Connection:
    """What arrived and what was acknowledged. Times are ns since a tick of the kernel."""

    asked_ns: int
    """When the SYN came, which was answered at once."""
    end_ns: int
    arrivals: list[tuple[int, ...]]
    """Time, number, whether marked, what it says (1: CWR; 2: PSH), timestamp echoed, and how old that was (ms)."""
    acks: list[Ack]


def record() -> None:
    """Lead the kernel's receiver through all cases and keep what came of them.

    Raises TestbedError where the kernel is not there or fails.
    """
    kernel = choose(KERNEL)
    with work_folder() as base, importable():
        folder = base / "job"
        folder.mkdir()
        plan = [case.plan(name) for name, case in CASES.items()]
        (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")

        def done(folder: Path) -> None:
            release = json.loads((folder / "report.json").read_text(encoding="utf-8"))["kernel"]
            documents = {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in CASES}
            _save({name: _parse(document) for name, document in documents.items()}, release)
            say(f"recorded {RECORDINGS.name}: {RECORDINGS.stat().st_size} B")

        run_all(kernel, [folder], timeout_s=_TIMEOUT_S, done=done, module="benchmarks.receivers.inside")


def _parse(document: Mapping[str, Any]) -> Connection:
    arrivals = [tuple(row) for row in document["arrivals"]]
    acks = [(at, number, echo, tuple(map(tuple, blocks))) for at, number, echo, blocks in document["acks"]]
    return Connection(document["asked_ns"], document["end_ns"], arrivals, acks)


def _save(connections: Mapping[str, Connection], release: str) -> None:
    about: dict[str, Any] = {"kernel": release, "cases": {}}
    rows: dict[str, list[Any]] = {"arrivals": [], "acks": [], "edges": []}
    for name, connection in connections.items():
        about["cases"][name] = {
            "asked_ns": connection.asked_ns,
            "end_ns": connection.end_ns,
            "arrivals": len(connection.arrivals),
            "acks": len(connection.acks),
        }
        rows["arrivals"] += connection.arrivals
        rows["acks"] += [(at, number, echo, len(blocks)) for at, number, echo, blocks in connection.acks]
        rows["edges"] += [edge for *_, blocks in connection.acks for block in blocks for edge in block]
    columns = {name: np.array(found, dtype=np.int64).ravel() for name, found in rows.items()}
    archive.write(RECORDINGS, about, columns)
    if load() != (release, dict(connections)):
        raise ValueError(f"{RECORDINGS.name} would not be read as it was recorded")


def load() -> tuple[str, dict[str, Connection]]:
    """Return the kernel's release and the connections by case."""
    about, columns = archive.read(RECORDINGS)
    arrivals = iter(columns["arrivals"].reshape(-1, 6).tolist())
    acks = iter(columns["acks"].reshape(-1, 4).tolist())
    edges = iter(columns["edges"].reshape(-1, 2).tolist())
    connections = {}
    for name, case in about["cases"].items():
        taken = [tuple(next(arrivals)) for _ in range(case["arrivals"])]
        answers = []
        for _ in range(case["acks"]):
            at, number, echo, blocks = next(acks)
            answers.append((at, number, echo, tuple(tuple(next(edges)) for _ in range(blocks))))
        connections[name] = Connection(case["asked_ns"], case["end_ns"], taken, answers)
    return about["kernel"], connections
