"""A real kernel's TCP over Mahimahi's link shell, beside Sojourn; writes a page of docs/validation::

python -m benchmarks.mahimahi                             # Sojourn again, beside the stored runs of the kernel
python -m benchmarks.mahimahi TRACE ...                   # over these recorded links too
python -m benchmarks.mahimahi --live --shells DIR TRACE   # root: run the kernel too, in real time (20 minutes a link)
python -m benchmarks.mahimahi --render                    # only write the page
"""

import argparse
import platform
import sys
from pathlib import Path
from typing import Any

import sojourn
from benchmarks.common import RESULTS, ROOT, load, save, say, write_page
from benchmarks.mahimahi import pages
from benchmarks.mahimahi.cells import CONTROLS, DURATION_S, FLOWS, QUEUES, Cell
from benchmarks.mahimahi.shell import ShellError, find, run

NAME = "mahimahi"
OWN = ROOT / "scenarios" / "traces" / "synthetic-lte"
RUNS = 5
_METRICS = {
    "mean_ms": "queue_ms_mean",
    "median_ms": "queue_ms_p50",
    "packets": "departures",
    "drops": "drops",
}


def main() -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mahimahi", description="Compare with a kernel's TCP over Mahimahi's link shell."
    )
    parser.add_argument("traces", nargs="*", type=Path, metavar="TRACE", help="recorded links beside the project's own")
    parser.add_argument(
        "--live", action="store_true", help="run the kernel over these links, or over the project's own"
    )
    parser.add_argument("--shells", type=Path, metavar="DIR", help="where mm-delay and mm-link are; otherwise the PATH")
    parser.add_argument("--render", action="store_true", help="only write the page, from the stored numbers")
    arguments = parser.parse_args()
    for trace in arguments.traces:
        if not trace.is_file():
            print(f"mahimahi: found no recording {trace}", file=sys.stderr)
            return 2
    if arguments.live:
        try:
            live(arguments.traces or [OWN], find(arguments.shells))
        except ShellError as error:
            print(f"mahimahi: skipped: {error}", file=sys.stderr)
            return 1
    if not arguments.render:
        for trace in {OWN: None, **dict.fromkeys(arguments.traces)}:
            simulate(trace)
    write_page("validation/mahimahi", "\n\n".join(pages.render(load(NAME))))
    return 0


def cells(trace: Path) -> list[Cell]:
    """Return all cells of a recorded link."""
    return [Cell(trace, queue, control, flows) for flows in FLOWS for queue in QUEUES for control in CONTROLS]


def live(traces: list[Path], shells: dict[str, Path]) -> None:
    """Run the kernel over links, one cell after the other; keep what was measured."""
    for trace in traces:
        for cell in cells(trace):
            say(f"{cell.name}: {DURATION_S} s")
            _keep(cell, "kernel", vars(run(cell, shells)))


def simulate(trace: Path) -> None:
    """Run Sojourn over a link; keep what was measured."""
    for cell in cells(trace):
        summary = sojourn.scenario(cell.scenario()).run(runs=RUNS, series=False).summary
        means = {name: summary[f"bottleneck_{metric}"]["mean"] for name, metric in _METRICS.items()}
        _keep(cell, "sojourn", means)


def _keep(cell: Cell, who: str, measured: dict[str, Any]) -> None:
    known: dict[str, Any] = {"kernel": "", "seconds": DURATION_S, "cells": {}}
    if (RESULTS / f"{NAME}.json").exists():
        known = load(NAME)
    known["kernel"] = platform.release().split("-")[0] if who == "kernel" else known["kernel"]
    known["cells"].setdefault(cell.name, {})[who] = measured
    save(NAME, known)


if __name__ == "__main__":
    raise SystemExit(main())
