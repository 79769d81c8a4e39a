"""Lays Sojourn's queues beside a real kernel's qdiscs, packet by packet, and writes a page of docs/validation.

python -m benchmarks.conformance            # replay the stored recordings, write the page
python -m benchmarks.conformance --live     # record all of them first (three minutes), or the cases named
python -m benchmarks.conformance --strict   # end with 1 where a comparison does not come out as it should
"""

import argparse
import sys
from typing import Any

from benchmarks.common import load, save, say, write_page
from benchmarks.kernel import compare, distributions, pages, recording
from benchmarks.kernel.cases import CASES, CONTROLS, RECORDED, Case
from benchmarks.kernel.record import record
from sojourn.worlds.linux.errors import TestbedError

RESULTS = "kernel-conformance"


def main() -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description="Compare queues with the kernel's qdiscs, packet by packet.")
    parser.add_argument(
        "--live",
        nargs="*",
        metavar="CASE",
        choices=[case.name for case in RECORDED],
        help="record what the kernel does anew: in these cases, or in all",
    )
    parser.add_argument("--render", action="store_true", help="only write the page, from the numbers of the last run")
    parser.add_argument("--strict", action="store_true", help="end with 1 where something is not as it should be")
    arguments = parser.parse_args()
    if arguments.live is not None:
        try:
            record([case for case in RECORDED if not arguments.live or case.name in arguments.live])
        except (TestbedError, ValueError) as error:
            print(f"conformance: {error}", file=sys.stderr)
            return 1
    if not arguments.render:
        save(RESULTS, measure())
    document = load(RESULTS)
    write_page("validation/kernel-conformance", "\n\n".join(pages.render(document)))
    wrong = pages.unexpected(document)
    print(f"{len(document['cases']) + len(document['controls']) - len(wrong)} comparisons came out as they should.")
    for line in wrong:
        print(f"not as it should be: {line}")
    return 1 if wrong and arguments.strict else 0


def measure() -> dict[str, Any]:
    """Return all numbers of the page, from the stored recordings."""
    return {
        "cases": {case.name: _measure(case) for case in CASES},
        "controls": {case.name: _measure(case) for case in CONTROLS},
        "kernel": recording.load(CASES[0].recorded_as).about["kernel"],
    }


def _measure(case: Case) -> dict[str, Any]:
    say(case.name)
    what = recording.load(case.recorded_as)
    return distributions.compare(case, what) if case.random else compare.exact(case, what)


if __name__ == "__main__":
    raise SystemExit(main())
