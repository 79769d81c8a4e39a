"""What the Python half may cost; exits with 1 where a budget is missed: `python -m benchmarks.budgets`.

Two processors and an idle machine are needed for the first; the others count CPU time, of which the least of some
repetitions is right on a busy machine, too.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import child
from benchmarks.common import say

ROUNDS, REPETITIONS = 3, 10
SEEDS = 600
ONE_POINT = f'base = "motivating-red"\nseeds = {SEEDS}\n[set]\nduration = "100 s"\n'


def one_point(jobs: int) -> float:
    """Return the shortest wall time of a sweep of one point with many seeds, in seconds."""
    say(f"1 point x {SEEDS} seeds with {jobs} job{'s' if jobs > 1 else ''}")
    times = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "sweep.toml").write_text(ONE_POINT, encoding="utf-8")
            words = ("sweep", f"{folder}/sweep.toml", "--out", f"{folder}/out", "--jobs", str(jobs))
            times.append(child.sojourn(*words).wall_s)
    return min(times)


def cpu_s(*arguments: str) -> float:
    """Return the least CPU time of a command in seconds."""
    say(f"sojourn {' '.join(arguments)}")
    return min(child.sojourn(*arguments).cpu_s for _ in range(REPETITIONS))


def of_runs(runs: int) -> float:
    """Return the least CPU time of a scenario of one second with some runs, in seconds."""
    return cpu_s("run", "motivating-red", "--set", "duration=1 s", "--runs", str(runs), "--json")


# What is measured, its number, the bound, and whether it is a lower one.
Budget = tuple[str, Callable[[], float], float, bool]
BUDGETS: Sequence[Budget] = (
    (f"1 point x {SEEDS} seeds: two processors over one", lambda: one_point(1) / one_point(2), 1.8, True),
    ("`sojourn run`: CPU of --runs 2 over that of --runs 1", lambda: of_runs(2) / of_runs(1), 1.3, False),
    ("`sojourn --help`: CPU [s]", lambda: cpu_s("--help"), 0.25, False),
    ("`sojourn list`: CPU [s]", lambda: cpu_s("list"), 0.25, False),
    ("`sojourn paper`: CPU [s]", lambda: cpu_s("paper"), 0.25, False),
)


def main() -> int:
    """Measure each budget and print it beside its bound."""
    missed = 0
    for what, measure, bound, is_lower in BUDGETS:
        if is_lower and len(os.sched_getaffinity(0)) == 1:
            print(f"{what}: left out, since this process may use one processor only")
            continue
        found = measure()
        kept = found >= bound if is_lower else found <= bound
        missed += not kept
        print(f"{what}: {found:.2f}, {'at least' if is_lower else 'at most'} {bound}: {'kept' if kept else 'MISSED'}")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
