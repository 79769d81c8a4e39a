"""Measures how true Sojourn is and writes docs/validation.md and the pages below it; `make validate` runs it.

python -m benchmarks.validate            # run Sojourn, compare with the saved runs of the peers, write the pages
python -m benchmarks.validate --live     # run the peers as well, and save their runs (half an hour)
python -m benchmarks.validate --render   # write the pages again from the raw numbers
python -m benchmarks.validate --strict   # end with 1 where a disagreement has no explanation
"""

import argparse
import sys
from typing import Any

from benchmarks import agreement, behaviour, ledbat_laws, machine, papers, validation_pages
from benchmarks.bench import available_peers
from benchmarks.common import load, save, write_page
from benchmarks.peers.builds import PeerError


def main() -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description="Validate Sojourn and write docs/validation.md.")
    parser.add_argument("--render", action="store_true", help="only write the pages, from the numbers of the last run")
    parser.add_argument("--live", action="store_true", help="run the peers, too, and save what they say")
    parser.add_argument("--strict", action="store_true", help="end with 1 where a disagreement is unexplained")
    arguments = parser.parse_args()
    try:
        document = load("validation") if arguments.render else measure(live=arguments.live)
    except PeerError as error:
        print(f"validate: {error}", file=sys.stderr)
        return 1
    if not arguments.render:
        save("validation", document)
    for name, text in validation_pages.render(document).items():
        write_page(name, text)
    print(validation_pages.verdict(document))
    unexplained = validation_pages.unexplained(document)
    for line in unexplained:
        print(f"unexplained: {line}")
    return 1 if unexplained and arguments.strict else 0


def measure(*, live: bool) -> dict[str, Any]:
    """Return all that the pages show."""
    missing = {"ns2", "ns3"} - available_peers() if live else set()
    if missing:
        raise PeerError(f"not installed: {', '.join(sorted(missing))}; without --live their saved runs are used")
    return {
        "machine": machine.describe(),
        "agreement": agreement.measure(live),
        "papers": papers.measure(),
        "ledbat": ledbat_laws.measure(),
        "behaviour": behaviour.measure(),
    }


if __name__ == "__main__":
    raise SystemExit(main())
