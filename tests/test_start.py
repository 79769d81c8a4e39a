"""What starting costs: commands that run nothing read no library for numbers, tables or figures."""

import json
import subprocess
import sys

import pytest

HEAVY = {"matplotlib", "scipy", "pandas", "pyarrow", "polars", "dask", "distributed", "duckdb", "numpy", "rich"}
# Numbers of several runs need no library either.
OF_A_RUN = HEAVY - {"rich", "pyarrow"}
# Of the standard library: what draws many other modules in for a function that few commands call.
RARE = {"statistics", "tempfile", "html"}
_ASK = """
import json, sys
from sojourn.cli import run_command_line

try:
    run_command_line(sys.argv[1:])
except SystemExit:
    pass
print("\\n" + json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def read(*arguments: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", _ASK, *arguments], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("arguments", [["--help"], ["list"], ["list", "queues"], ["list", "presets"], ["paper"]])
def test_commands_that_only_tell_something_read_nothing_heavy(arguments: list[str]) -> None:
    assert read(*arguments) & HEAVY == set()


def test_several_runs_read_nothing_for_their_statistics() -> None:
    once, twice = (read("run", "motivating-red", "--set", "duration=1 s", "--runs", runs) for runs in ("1", "2"))
    assert twice - once == set()
    assert twice & OF_A_RUN == set()
    assert twice & RARE == set()
