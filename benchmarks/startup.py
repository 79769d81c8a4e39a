"""What the command takes to come up: `sojourn --help`, and a scenario of one simulated second."""

from statistics import median
from typing import Any

from benchmarks import child
from benchmarks.common import say

REPETITIONS = 10
AIM_S = 0.3
COMMANDS = {
    "sojourn --help": ["--help"],
    **{
        f"sojourn run motivating-red --set 'duration=1 s' --runs {runs}": [
            *("run", "motivating-red", "--set", "duration=1 s"),
            *("--runs", str(runs)),
        ]
        for runs in (1, 10)
    },
}


def measure() -> list[dict[str, Any]]:
    """Return the median wall time and the least CPU time of each command."""
    say("start-up of the command")
    rows = []
    for name, arguments in COMMANDS.items():
        taken = [child.sojourn(*arguments) for _ in range(REPETITIONS)]
        wall_s, cpu_s = median(one.wall_s for one in taken), min(one.cpu_s for one in taken)
        rows.append({"command": name, "wall_s": wall_s, "cpu_s": cpu_s, "aim_s": AIM_S})
    return rows
