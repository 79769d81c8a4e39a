"""Measures how fast Sojourn is and writes docs/performance.md; `make bench` runs it.

python -m benchmarks.bench                  # measure, keep the raw numbers, write the page (about five minutes)
python -m benchmarks.bench --quick          # one round of everything, to see that it works; nothing is written
python -m benchmarks.bench --count          # count the instructions of the disciplines (some minutes, needs valgrind)
python -m benchmarks.bench --only media     # measure the media that stations share again, and write the page with them
python -m benchmarks.bench --only mix       # what people run again, with the peers (a quarter of an hour)
python -m benchmarks.bench --only comparison  # the dumbbell in all simulators again; --only scaling: many flows
python -m benchmarks.bench --only hotspots  # the same of where the time goes
python -m benchmarks.bench --only workers   # a million runs on 64 processes that rest (12 GB of memory)
python -m benchmarks.bench --render         # write the page again from the raw numbers
"""

import argparse
import shutil
import sys
from collections.abc import Callable
from typing import Any

import sojourn
from benchmarks import (
    aims,
    bare,
    campaigns,
    child,
    comparison,
    hotspots,
    kinds,
    machine,
    media,
    mix,
    performance_page,
    queues,
    scaling,
    startup,
    workers,
)
from benchmarks.common import Document, load, save, say, write_page
from benchmarks.peers.builds import PeerError, build_htsim, build_ns3
from benchmarks.peers.packages import install, package_version

ROUNDS = 5
SCALING_REPEATS = 3
KINDS_ROUNDS = 7


def main() -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description="Measure Sojourn's speed and write docs/performance.md.")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--render", action="store_true", help="only write the page, from the numbers of the last run")
    how.add_argument("--count", action="store_true", help="only count the instructions of the disciplines")
    how.add_argument("--only", choices=PARTS, help="only measure this part again, beside the numbers of the last run")
    how.add_argument("--quick", action="store_true", help="one round; print the page instead of writing it")
    arguments = parser.parse_args()
    try:
        if arguments.count:
            return count()
        if arguments.only:
            write(measure_part(arguments.only))
            return 0
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
    print(aims.verdict(document))
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
        # Too large for every run.
        "workers": load("performance").get("workers"),
        "comparison": the_comparison(have, 1 if quick else ROUNDS),
        "mix": the_mix(have),
        "bare": bare.measure() if looped else None,
        "scaling": the_scaling(have, 1 if quick else SCALING_REPEATS),
        "idle": scaling.memory_of_an_idle_flow(),
        "large": scaling.large(),
        "media": the_media(1 if quick else ROUNDS),
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


def the_media(rounds: int) -> Document:
    """Return what the media that stations share cost, and where."""
    child.stay_on_one_core()
    return {"machine": machine.describe(), "rows": media.measure(rounds)}


def the_mix(have: set[str]) -> Document:
    """Return what a packet costs in what people run, and of which commit that is."""
    child.stay_on_one_core()
    return {"commit": machine.describe()["commit"], "rows": mix.count(have)}


def the_comparison(have: set[str], rounds: int) -> Document:
    """Return what the dumbbell costs here and in the peers, and where."""
    child.stay_on_one_core()
    return {"machine": machine.describe(), **comparison.compare(have, rounds)}


def the_scaling(have: set[str], repeats: int) -> Document:
    """Return what a packet costs at few and at many flows, and where."""
    child.stay_on_one_core()
    return {"machine": machine.describe(), "rows": scaling.cost_per_packet(repeats, have)}


def the_workers() -> Document:
    """Return what a million runs on many workers cost, and where."""
    return {"machine": machine.describe(), **workers.measure()}


def the_hotspots() -> dict[str, Any] | None:
    """Return where the time goes, where that can be seen."""
    return hotspots.measure() if hotspots.build() else None


PARTS: dict[str, Callable[[], Any]] = {
    "media": lambda: the_media(ROUNDS),
    "mix": lambda: the_mix(available_peers()),
    "comparison": lambda: the_comparison(available_peers(), ROUNDS),
    "scaling": lambda: the_scaling(available_peers(), SCALING_REPEATS),
    "workers": the_workers,
    "hotspots": the_hotspots,
}
"""What can be measured alone."""


def measure_part(part: str) -> Document:
    """Measure one part again and keep it beside the numbers of the last run; all of them."""
    document = {**load("performance"), part: PARTS[part]()}
    save("performance", document)
    return document


def write(document: Document) -> None:
    """Write the page."""
    write_page("performance", render(document))


def render(document: Document) -> str:
    """Return the page, with the instructions that were counted last."""
    return performance_page.render(document, load("instructions"))


def available_peers() -> set[str]:
    """Install the peers where this process may; name those that are there."""
    install()
    have = {"ns2"} if shutil.which("ns") else set()
    if package_version("libns3-dev") and shutil.which("g++"):
        say("building the ns-3 peer")
        build_ns3()
        have.add("ns3")
    try:
        say("building the htsim peer")
        build_htsim()
        have.add("htsim")
    except PeerError as error:
        say(f"no htsim: {error}")
    return have


if __name__ == "__main__":
    raise SystemExit(main())
