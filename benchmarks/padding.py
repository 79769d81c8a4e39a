"""Measures `sojourn pad` on real kernels and writes the table of docs/guide/padding.md, and its picture of the first.

python -m benchmarks.padding
"""

import sys
from pathlib import Path

from sojourn.figures import save_figure
from sojourn.pad.lab import Case, Outcome, outcome, run
from sojourn.pad.picture import picture
from sojourn.pad.screen import read
from sojourn.worlds.linux.errors import TestbedError
from sojourn.worlds.linux.kernels import kernels

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "padding.md"
BEGIN, END = "<!-- python -m benchmarks.padding: begin -->", "<!-- end -->"
CASES = (
    ("uml-virtual", Case("pfifo limit 30")),
    ("uml", Case("pfifo limit 30", duration_s=140)),
    ("host", Case("pfifo limit 30", duration_s=140)),
    ("uml-virtual", Case("pfifo limit 30", control="cubic")),
    ("uml-virtual", Case("bfifo limit 45000")),
    ("uml-virtual", Case("fq_codel")),
)
# The command's default.
TARGET_S = 0.15
HEAD = (
    "| kernel | queue | control | delay before | delay with it | goodput before | goodput with it | packets sent |",
    "|---|---|---|---:|---:|---:|---:|---:|",
)


def main() -> int:
    """Measure all cases; one whose kernel is not there stays out, with its reason on stderr."""
    rows = []
    for name, case in CASES:
        print(f"{name}: {case.queue}, {case.control}", file=sys.stderr)
        try:
            report = run(case, kernels()[name])
        except TestbedError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        rows.append(row(name, case, outcome(report)))
        if (name, case) == CASES[0]:
            save_figure(picture(read(report["session"]), TARGET_S), PAGE.with_suffix(".png"))
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    PAGE.write_text(head + "\n".join([BEGIN, "", *HEAD, *rows, "", END]) + rest.split(END, 1)[1], encoding="utf-8")
    return 0


def row(name: str, case: Case, found: Outcome) -> str:
    """Return a line of the table."""
    delays = (f"{1e3 * value:.0f} ms" for value in (found.delay_before_s, found.delay_after_s))
    goodputs = (f"{value / 1e3:.0f} kbit/s" for value in (found.goodput_before_bps, found.goodput_after_bps))
    cells = (name, f"`{case.queue}`", case.control, *delays, *goodputs, f"{found.padding_packets}")
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    raise SystemExit(main())
