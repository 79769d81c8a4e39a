"""Measures how fast Sojourn is and writes docs/performance.md; `make bench` runs it.

python -m benchmarks.bench            # measure, keep the raw numbers, write the page (about five minutes)
python -m benchmarks.bench --quick    # one round of everything, to see that it works; nothing is written
python -m benchmarks.bench --count    # count the instructions of the disciplines (some minutes, needs valgrind)
python -m benchmarks.bench --media    # measure the media that stations share again, and write the page with them
python -m benchmarks.bench --render   # write the page again from the raw numbers
"""

import argparse
import shutil
import sys
from typing import Any

import sojourn
from benchmarks import (
    bare,
    campaigns,
    child,
    comparison,
    hotspots,
    kinds,
    machine,
    media,
    performance_page,
    queues,
    scaling,
    startup,
    targets_page,
)
from benchmarks.common import Document, load, save, say, write_page
from benchmarks.peers.packages import install, package_version
from benchmarks.peers.runs import PeerError, build_ns3

ROUNDS = 5
SCALING_REPEATS = 3
KINDS_ROUNDS = 7


def main() -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description="Measure Sojourn's speed and write docs/performance.md.")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--render", action="store_true", help="only write the page, from the numbers of the last run")
    how.add_argument("--count", action="store_true", help="only count the instructions of the disciplines")
    how.add_argument("--media", action="store_true", help="only measure the media that stations share")
    how.add_argument("--quick", action="store_true", help="one round; print the page instead of writing it")
    arguments = parser.parse_args()
    try:
        if arguments.count:
            return count()
        if arguments.media:
            return only_media()
        if arguments.render:
            write(load("performance"))
            return 0
        document = measure(quick=arguments.quick)
    except (child.ChildError, PeerError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    if arguments.quick:
        print(render(document))
        return 0
    save("performance", document)
    write(document)
    print(targets_page.verdict(document))
    return 0


def measure(*, quick: bool) -> dict[str, Any]:
    """Return all that the page shows but the instructions."""
    have = available_peers()
    profiled, counted, looped = hotspots.build(), queues.build(), bare.build()
    where = machine.describe()
    campaign = campaigns.measure(1 if quick else campaigns.ROUNDS)
    child.stay_on_one_core()
    return {
        "machine": where,
        "campaign": campaign,
        "comparison": comparison.compare(have, 1 if quick else ROUNDS),
        "bare": bare.measure() if looped else None,
        "scaling": scaling.cost_per_packet(1 if quick else SCALING_REPEATS),
        "idle": scaling.memory_of_an_idle_flow(),
        "large": scaling.large(),
        "media": {"machine": where, "rows": media.measure(1 if quick else ROUNDS)},
        "queues": queues.measure() if counted else None,
        "kinds": kinds.measure(1 if quick else KINDS_ROUNDS),
        "startup": startup.measure(),
        "hotspots": hotspots.measure() if profiled else None,
    }


def count() -> int:
    """Count the instructions of the disciplines into results/instructions.json, and write the page with them."""
    if shutil.which("valgrind") is None or not queues.build():
        print("bench: --count needs valgrind and cargo", file=sys.stderr)
        return 1
    names = [entry["name"] for entry in sojourn.catalogue()["queues"]]
    save("instructions", {"commit": machine.describe()["commit"], "rows": queues.count(names)})
    write(load("performance"))
    return 0


def only_media() -> int:
    """Measure the media that stations share, beside the other numbers of the last run."""
    child.stay_on_one_core()
    document = {**load("performance"), "media": {"machine": machine.describe(), "rows": media.measure(ROUNDS)}}
    save("performance", document)
    write(document)
    return 0


def write(document: Document) -> None:
    """Write the page for users, and the one for contributors."""
    write_page("performance", render(document))
    write_page("contributing/performance-targets", targets_page.render(document))


def render(document: Document) -> str:
    """Return the page, with the instructions that were counted last and the numbers of an older run."""
    return performance_page.render(document, load("instructions"), load("performance-before"))


def available_peers() -> set[str]:
    """Install the peers where this process may; name those that are there."""
    install()
    have = {"ns2"} if shutil.which("ns") else set()
    if package_version("libns3-dev") and shutil.which("g++"):
        say("building the ns-3 peer")
        build_ns3()
        have.add("ns3")
    return have


if __name__ == "__main__":
    raise SystemExit(main())
