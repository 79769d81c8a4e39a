"""Lays Sojourn's senders beside a real kernel's TCP, segment by segment, and writes a page of docs/validation.

python -m benchmarks.senders                     # replay the stored recordings, write the page
python -m benchmarks.senders --live              # record all of them first (five minutes), or the controls named
python -m benchmarks.senders --strict            # end with 1 where a share is lower than it was
python -m benchmarks.senders --trace reno short-tail 0.2 0.4     # what both did between two times (s)
"""

import argparse
import sys
from typing import Any

from benchmarks.common import load, save, say, write_page
from benchmarks.senders import compare, pages, recording, trace
from benchmarks.senders.cases import SENDERS, WORKLOADS
from benchmarks.senders.record import record
from sojourn.worlds.linux.errors import TestbedError

RESULTS = "sender-conformance"


def main() -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.senders", description="Compare senders with the kernel's TCP, segment by segment."
    )
    parser.add_argument(
        "--live",
        nargs="*",
        metavar="CONTROL",
        choices=list(SENDERS),
        help="record what the kernel does anew: with these controls, or with all",
    )
    parser.add_argument("--trace", nargs=4, metavar=("CONTROL", "WORKLOAD", "FROM", "TO"), help="show one recording")
    parser.add_argument("--render", action="store_true", help="only write the page, from the numbers of the last run")
    parser.add_argument("--strict", action="store_true", help="end with 1 where a share is lower than it was")
    arguments = parser.parse_args()
    if arguments.trace:
        return _trace(*arguments.trace)
    if arguments.live is not None:
        try:
            record([SENDERS[name] for name in arguments.live or SENDERS])
        except (TestbedError, ValueError) as error:
            print(f"senders: {error}", file=sys.stderr)
            return 1
    before = load(RESULTS) if arguments.strict else None
    if not arguments.render:
        save(RESULTS, measure())
    document = load(RESULTS)
    write_page("validation/sender-conformance", "\n\n".join(pages.render(document)))
    print(pages.verdict(document))
    lower = pages.lower(before, document) if before else []
    for line in lower:
        print(f"lower than it was: {line}")
    return 1 if lower else 0


def measure() -> dict[str, Any]:
    """Return all numbers of the page, from the stored recordings."""
    results: dict[str, Any] = {"kernel": "", "senders": {}}
    for name, sender in SENDERS.items():
        say(name)
        about, connections = recording.load(name)
        results["kernel"] = about["kernel"]
        results["senders"][name] = {
            workload: compare.compare(sender, workload, connections[workload]) for workload in WORKLOADS
        }
    return results


def _trace(control: str, workload: str, start_s: str, end_s: str) -> int:
    for what, value, known in (("control", control, SENDERS), ("workload", workload, WORKLOADS)):
        if value not in known:
            print(f"senders: found the {what} {value!r}; allowed: {', '.join(known)}", file=sys.stderr)
            return 2
    connection = recording.load(control)[1][workload]
    for line in trace.lines(SENDERS[control], workload, connection, float(start_s), float(end_s)):
        print(line)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
