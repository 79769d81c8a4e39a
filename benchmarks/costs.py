"""What a packet costs in a program that simulates: instructions, and processor time in alternation with others.

Both are differences of a longer and a shorter run, free of reading files, building and starting. Instructions are
counted with valgrind, so that they depend neither on caches nor on what else the machine does.
"""

import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks import child
from benchmarks.common import say

PAYLOAD_BYTES = 1460
"""What one packet carries, for which costs are given."""
ROUNDS = 3


@dataclass(frozen=True)
class Program:
    """A simulator's way to run a case.

    Attributes:
        command: of simulated seconds and runs, one after the other in one process.
        delivered_bits: what all its runs delivered, of simulated seconds and what it printed.
        lengths_s: simulated seconds of the two runs that are compared.
        runs: how many are timed in one process; 1 where it cannot have more.
    """

    command: Callable[[int, int], Sequence[str]]
    delivered_bits: Callable[[int, str], float]
    lengths_s: tuple[int, int]
    runs: int = 1


def engine_bits(_: int, text: str) -> float:
    """Read what the example `run` of sojourn-sim prints of its runs."""
    return 8.0 * sum(int(found) for found in re.findall(r"(\d+) bytes delivered", text))


def peer_bits(duration_s: int, text: str) -> float:
    """Read what the peers' dumbbells print of a run without warm-up."""
    found = json.loads(text[text.index('{"peer"') :])
    return float(duration_s * (found["goodput_1_bps"] + found["goodput_2_bps"]))


def exported_bits(duration_s: int, text: str) -> float:
    """Read what a scenario exported to ns-3 prints of a run without warm-up."""
    return float(duration_s * 1e6 * sum(json.loads(text)["goodput_mbps"].values()))


def instructions(program: Program) -> float:
    """Return the instructions for a packet."""
    less, more = (_counted(program, seconds) for seconds in program.lengths_s)
    return (more[0] - less[0]) / (more[1] - less[1]) * PAYLOAD_BYTES * 8.0


def nanoseconds(programs: Mapping[str, Program], rounds: int = ROUNDS) -> dict[str, dict[str, Any]]:
    """Return the processor time for a packet, least, median and most, of programs that take turns."""
    taken: dict[str, list[float]] = {name: [] for name in programs}
    for turn in range(rounds):
        say(f"time of {', '.join(programs)} ({turn + 1} of {rounds})")
        for name, program in programs.items():
            taken[name].append(_timed(program))
    return {name: {"ns": median(each), "ns_least": min(each), "ns_most": max(each)} for name, each in taken.items()}


def _timed(program: Program) -> float:
    cost = []
    for seconds in program.lengths_s:
        done = child.run(program.command(seconds, program.runs))
        cost.append((done.cpu_s, program.delivered_bits(seconds, done.text)))
    (less_s, less), (more_s, more) = cost
    return 1e9 * (more_s - less_s) / (more - less) * PAYLOAD_BYTES * 8.0


def _counted(program: Program, seconds: int) -> tuple[int, float]:
    """Return the instructions of a process, and the bits that its run delivered."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"--cachegrind-out-file={folder}/out"
        counting = ["valgrind", "--tool=cachegrind", "--cache-sim=no", out, f"--log-file={folder}/log"]
        text = child.run([*counting, *program.command(seconds, 1)]).text
        with open(f"{folder}/log", encoding="utf-8") as log:
            found = re.search(r"I +refs: +([\d,]+)", log.read())
    if found is None:
        raise child.ChildError("valgrind printed no count of instructions")
    return int(found[1].replace(",", "")), program.delivered_bits(seconds, text)
