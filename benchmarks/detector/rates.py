"""`python -m benchmarks.detector.rates`: on how many lines that people have a rate is advised, and on how many wrongly.

From a probe and from a capture of a download, each on every line and direction, with what the home does. Two minutes.
"""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

from sojourn import api
from sojourn.detect.bandwidth import Carries, carries
from sojourn.detect.log import of_table
from sojourn.detect.passive import passive
from sojourn.detect.plan import Path
from sojourn.detect.population import SIDES, crossed
from sojourn.detect.probe import over, probe, was_full
from sojourn.detect.remedies import SHAPED
from sojourn.detect.stored import load_model
from sojourn.detect.streams import of_logs
from sojourn.registry import catalogue

FASTEST_DOWN_MBPS, FASTEST_CAPTURED_MBPS = 500.0, 300.0
LineAndSide = tuple[str, str]


def lines() -> list[LineAndSide]:
    """Return every line of the population with each direction."""
    return [(line["name"], side) for line in catalogue()["lines"] for side in SIDES]


def is_probed(one: LineAndSide) -> bool:
    """Tell whether a line is probed: all but the gigabit plans' ways down."""
    return one[1] == "up" or crossed(*one).rate_mbps <= FASTEST_DOWN_MBPS


def is_captured(one: LineAndSide) -> bool:
    """Tell whether a download on a line is captured."""
    return crossed(*one).rate_mbps <= FASTEST_CAPTURED_MBPS


def told(path: Path) -> Carries:
    """Return what a probe tells of a path."""
    seen = probe(over(path, 1))
    load = seen.logs.get("load", {})
    return carries(seen.logs, seen.stages, is_full=bool(load) and was_full(load, seen.rate_bps))


def probed(one: LineAndSide) -> Carries:
    """Return what a probe tells of a line."""
    return told(crossed(*one).path)


def captured(one: LineAndSide) -> Carries:
    """Return what a capture of a download on a line tells; what the home does besides is not captured."""
    of = crossed(*one)
    seconds = min(15, max(5, 800 / of.rate_mbps))
    download = {"name": "download", "rtt": of.path.rtt, "control": "cubic", "transport": "linux"}
    tables = {"duration": f"{seconds} s", **of.path.links, "group": [download, *of.path.others]}
    packets = api.scenario(tables).run(series=False, packets=True, jobs=1).packets
    return passive(of_logs({"download": of_table(packets)["download"]}), load_model()).line


def holds(found: Carries, true_mbps: float) -> bool:
    """Tell whether what is advised is neither under 80 % nor above 100 % of the true rate, or nothing is."""
    return found.low_mbps is None or 0.8 * true_mbps <= SHAPED * found.low_mbps <= true_mbps


def main() -> None:
    """Print the numbers."""
    ways: list[tuple[str, Callable[[LineAndSide], bool], Callable[[LineAndSide], Carries]]] = [
        ("probes", is_probed, probed),
        ("captures", is_captured, captured),
    ]
    with ProcessPoolExecutor(2) as pool:
        for words, takes, tells in ways:
            chosen = [one for one in lines() if takes(one)]
            found = list(pool.map(tells, chosen, chunksize=8))
            given = sum(one.low_mbps is not None for one in found)
            wrong = [on for on, one in zip(chosen, found, strict=True) if not holds(one, crossed(*on).rate_mbps)]
            print(f"{words}: a rate on {given} of {len(chosen)} lines and directions, {len(wrong)} wrong {wrong or ''}")


if __name__ == "__main__":
    main()
