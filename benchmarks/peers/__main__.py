"""The peers from the command line, at the top of the repository::

python -m benchmarks.peers install                      # the Debian packages, or the command that installs them
python -m benchmarks.peers run ns2 --queue red          # one run, one line of JSON
python -m benchmarks.peers time --repeats 5             # processor time of the bench scenario, in alternation
python -m benchmarks.peers reference ns2                # the validation grid, into reference/ns2.json
python -m benchmarks.peers reference ns3 --missing      # only the points that it has not
"""

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence

from benchmarks.peers.builds import PeerError
from benchmarks.peers.packages import install
from benchmarks.peers.points import BENCH, Point
from benchmarks.peers.runs import COMMANDS, run
from benchmarks.peers.saved import complete, reference, save_reference
from benchmarks.peers.timing import VARIANTS, time_peers


def _point(arguments: argparse.Namespace) -> Point:
    return Point(**{field.name: getattr(arguments, field.name) for field in dataclasses.fields(Point)})


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description="The same dumbbell in ns-2, ns-3 and htsim."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("install", help="install the Debian packages that are missing")
    one = commands.add_parser("run", help="one run, as JSON")
    timing = commands.add_parser("time", help="processor time of the bench scenario")
    grid = commands.add_parser("reference", help="the validation grid, into reference/")
    one.add_argument("peer", choices=list(COMMANDS))
    grid.add_argument("peer", choices=["ns2", "ns3"])
    one.add_argument("--seed", type=int, default=1)
    for field in dataclasses.fields(Point):
        name = "--" + field.name.replace("_", "-")
        if field.default is False:
            one.add_argument(name, dest=field.name, action="store_true")
        else:
            one.add_argument(name, dest=field.name, type=type(field.default), default=field.default)
    timing.add_argument("--repeats", type=int, default=5)
    timing.add_argument("--duration-s", type=float, default=BENCH.duration_s)
    timing.add_argument("--variant", action="append", choices=list(VARIANTS), help="default: all")
    grid.add_argument("--seeds", type=int, default=10)
    grid.add_argument("--jobs", type=int, default=1, help="runs side by side")
    grid.add_argument("--missing", action="store_true", help="keep the points that the saved document has")
    arguments = parser.parse_args(argv)
    try:
        if arguments.command == "install":
            return 0 if install() else 1
        if arguments.command == "run":
            print(json.dumps(dataclasses.asdict(run(arguments.peer, _point(arguments), arguments.seed))))
        elif arguments.command == "time":
            point = dataclasses.replace(BENCH, duration_s=arguments.duration_s)
            for row in time_peers(point, arguments.repeats, arguments.variant or tuple(VARIANTS)):
                print(json.dumps(dataclasses.asdict(row)))
        else:
            how = (arguments.peer, arguments.seeds, arguments.jobs)
            print(complete(*how) if arguments.missing else save_reference(arguments.peer, reference(*how)))
    except PeerError as error:
        print(f"peers: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
