"""What enqueue and dequeue cost in each discipline at few and at many backlogged flows.

The program that measures is crates/sojourn-queue/examples/cost.rs; without cargo there is no measurement. Instructions
are counted with valgrind: they do not depend on caches or on what else the machine does, and take minutes.
"""

import json
import re
import shutil
from typing import Any

from benchmarks import child
from benchmarks.common import ROOT, say

PROGRAM = ROOT / "target" / "release" / "examples" / "cost"
BATCHES = 51
# Two counts, of which the difference is free of the building of the queue.
COUNTED_BATCHES = (2, 4)
BATCH = 10_000
FEW, MANY = 10, 50_000
LOADS = ("backlog", "overload")


def build() -> bool:
    """Build the program that measures; False, with a line that says why, where that cannot be."""
    if shutil.which("cargo") is None:
        say("no costs of disciplines: cargo not found")
        return False
    say("building the program that measures the disciplines")
    child.run(["cargo", "build", "--release", "--locked", "--quiet", "--example", "cost", "-p", "sojourn-queue"])
    return True


def measure() -> list[dict[str, Any]]:
    """Return one row for each discipline, load and number of flows."""
    say("disciplines at 1 to 50,000 backlogged flows")
    return [json.loads(line) for line in child.run([str(PROGRAM), str(BATCHES)]).text.splitlines()]


def count(names: list[str]) -> list[dict[str, Any]]:
    """Return the instructions of a packet for each discipline and load, at few and at many flows."""
    rows = []
    for name in names:
        for load in LOADS:
            say(f"instructions of {name} under {load}")
            few, many = (_instructions(load, flows, name) for flows in (FEW, MANY))
            if few is not None and many is not None:
                rows.append({"discipline": name, "load": load, "few": few, "many": many})
    return rows


def _instructions(load: str, flows: int, name: str) -> float | None:
    less, more = (_collected(batches, load, flows, name) for batches in COUNTED_BATCHES)
    if less is None or more is None:
        return None
    return (more - less) / ((COUNTED_BATCHES[1] - COUNTED_BATCHES[0]) * BATCH)


def _collected(batches: int, load: str, flows: int, name: str) -> int | None:
    """Return the instructions of a whole process; None where the discipline refuses this load."""
    program = [str(PROGRAM), str(batches), load, str(flows), name]
    log = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-fd=1"]
    text = child.run([*log, *program]).text
    found = re.search(r"Collected : (\d+)", text)
    return int(found[1]) if found and '"discipline"' in text else None
