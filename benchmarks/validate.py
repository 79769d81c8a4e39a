"""Measures how true Sojourn is and writes docs/validation.md; `make validate` runs it.

python -m benchmarks.validate            # measure, keep the raw numbers, write the page (about two minutes)
python -m benchmarks.validate --saved    # against the saved runs of the peers (some seconds)
python -m benchmarks.validate --render   # write the page again from the raw numbers
python -m benchmarks.validate --strict   # end with 1 where a disagreement has no explanation
"""

import argparse
import sys
from typing import Any

from benchmarks import agreement, ledbat_laws, machine, papers, validation_page
from benchmarks.bench import available_peers
from benchmarks.common import load, save, write_page
from benchmarks.peers import peers


def main() -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description="Validate Sojourn and write docs/validation.md.")
    parser.add_argument("--render", action="store_true", help="only write the page, from the numbers of the last run")
    parser.add_argument("--saved", action="store_true", help="do not run the peers: use their saved runs")
    parser.add_argument("--strict", action="store_true", help="end with 1 where a disagreement is unexplained")
    arguments = parser.parse_args()
    try:
        document = load("validation") if arguments.render else measure(saved=arguments.saved)
    except peers.PeerError as error:
        print(f"validate: {error}", file=sys.stderr)
        return 1
    if not arguments.render:
        save("validation", document)
    write_page("validation", validation_page.render(document))
    print(validation_page.verdict(document))
    unexplained = validation_page.unexplained(document)
    for line in unexplained:
        print(f"unexplained: {line}")
    return 1 if unexplained and arguments.strict else 0


def measure(*, saved: bool) -> dict[str, Any]:
    """Return all that the page shows."""
    have = set() if saved else available_peers()
    return {
        "machine": machine.describe(),
        "agreement": agreement.measure(have),
        "papers": papers.measure(),
        "ledbat": ledbat_laws.measure(),
    }


if __name__ == "__main__":
    raise SystemExit(main())
