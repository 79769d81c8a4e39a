"""Lays Sojourn's receiver beside a real kernel's TCP, arrival by arrival, and writes a page of docs/validation.

python -m benchmarks.receivers             # replay the stored recordings, write the page
python -m benchmarks.receivers --live      # record them first (20 seconds)
python -m benchmarks.receivers --strict    # end with 1 where a share is lower than it was
"""

import argparse
import sys
from typing import Any

from benchmarks.common import load, save, write_page
from benchmarks.receivers import compare, pages, recording
from sojourn.worlds.linux.errors import TestbedError

RESULTS = "receiver-conformance"


def main() -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.receivers",
        description="Compare the receiver with the kernel's TCP, arrival by arrival.",
    )
    parser.add_argument("--live", action="store_true", help="record what the kernel does anew")
    parser.add_argument("--render", action="store_true", help="only write the page, from the numbers of the last run")
    parser.add_argument("--strict", action="store_true", help="end with 1 where a share is lower than it was")
    arguments = parser.parse_args()
    if arguments.live:
        try:
            recording.record()
        except (TestbedError, ValueError) as error:
            print(f"receivers: {error}", file=sys.stderr)
            return 1
    before = load(RESULTS) if arguments.strict else None
    if not arguments.render:
        save(RESULTS, measure())
    document = load(RESULTS)
    write_page("validation/receiver-conformance", "\n\n".join(pages.render(document)))
    print(pages.verdict(document))
    lower = pages.lower(before, document) if before else []
    for line in lower:
        print(f"lower than it was: {line}")
    return 1 if lower else 0


def measure() -> dict[str, Any]:
    """Return all numbers of the page, from the stored recordings."""
    kernel, connections = recording.load()
    return {
        "kernel": kernel,
        "cases": {name: compare.compare(name, connection) for name, connection in connections.items()},
        "count": {name: compare.compare(name, connection, "count") for name, connection in connections.items()},
    }


if __name__ == "__main__":
    raise SystemExit(main())
