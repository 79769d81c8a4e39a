"""The engine beside a bare loop with one event per packet, in one process and in alternation."""

import json
import shutil
from typing import Any

from benchmarks import child
from benchmarks.common import ROOT, SCENARIO, say

PROGRAM = ROOT / "target" / "release" / "examples" / "bare_loop"
ROUNDS = 20


def build() -> bool:
    """Build the program; False, with a line that says why, where that cannot be."""
    if shutil.which("cargo") is None:
        say("no bare loop: cargo not found")
        return False
    say("building the bare loop")
    child.run(["cargo", "build", "--release", "--locked", "--quiet", "--example", "bare_loop", "-p", "sojourn-sim"])
    return True


def measure() -> dict[str, Any]:
    """Return the shortest times in ns for a packet and its acknowledgement: `engine_ns` and `bare_ns`."""
    say("the engine beside a bare loop")
    times: dict[str, Any] = json.loads(child.run([str(PROGRAM), str(SCENARIO), str(ROUNDS)]).text)
    return {"rounds": ROUNDS, **times}
