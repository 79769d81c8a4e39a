"""`python -m benchmarks.detector.advised`: what a call gains by the command that `sojourn detect` prints.

Each line of the population, both directions up to 300 Mbit/s, is probed. Where a command is printed it is carried out:
a CAKE with that bandwidth stands before the line, or behind it on the way down. A call beside one CUBIC flow, and what
the home does, cross both for 30 s.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn import api
from sojourn.detect.answer import answer, decided
from sojourn.detect.population import SIDES, Crossed, crossed
from sojourn.detect.probe import over, probe
from sojourn.detect.remedies import SHAPED, remedy
from sojourn.detect.stored import load_model
from sojourn.registry import catalogue

FASTEST_MBPS = 300.0
_DELAY, _MOS = "voip_delay_ms_p99.call", "voip_mos.call"
_ROUTER_MBPS = 1000


@dataclass(frozen=True)
class Gain:
    """A call without what is advised and with it, on a line."""

    case: str
    delays_ms: tuple[float, float]
    """The 99th percentile of the one-way delay."""
    mos: tuple[float, float]


def gained(one: tuple[str, str]) -> Gain | None:
    """Return what a call gains on a line; None where no command is printed."""
    of, model = crossed(*one), load_model()
    seen = probe(over(of.path, 1), decided=decided(model), rtt_ms=lambda: of.path.rtt_ms)
    said = answer(seen, model)
    advised = remedy(said, of.path.rtt_ms)
    if advised is None or advised.command is None or said.line.low_mbps is None:
        return None
    plain, shaped = (_call(of, mbps) for mbps in (None, SHAPED * said.line.low_mbps))
    return Gain(" ".join(one), (plain[0], shaped[0]), (plain[1], shaped[1]))


def _call(of: Crossed, shaped_mbps: float | None) -> tuple[float, float]:
    rtt = of.path.rtt
    links: dict[str, Any] = dict(of.path.links)
    if shaped_mbps is not None:
        queue = {"kind": "cake", "bandwidth": f"{shaped_mbps:.6f} Mbit/s"}
        place = "before" if of.side == "up" else "after"
        router = {"name": "router", "at": place, "rate": f"{_ROUTER_MBPS} Mbit/s", "queue": queue}
        hops = links.get("hop", [])
        links["hop"] = [router, *hops] if of.side == "up" else [*hops, router]
    bulk = {"name": "bulk", "rtt": rtt, "control": "cubic", "transport": "linux", "start": "2 s"}
    groups = [{"name": "call", "traffic": "voip", "rtt": rtt}, bulk, *of.path.others]
    tables = {"duration": "30 s", "warmup": "5 s", **links, "group": groups}
    summary = api.scenario(tables).run(series=False, jobs=1).summary
    delay, mos = (summary[name]["mean"] for name in (_DELAY, _MOS))
    return float(delay or 0.0), float(mos or 0.0)


def main() -> None:
    """Print the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each Nth line and direction only")
    step = parser.parse_args().every
    every = [(line["name"], side) for line in catalogue()["lines"] for side in SIDES]
    chosen = [one for one in every if crossed(*one).rate_mbps <= FASTEST_MBPS][::step]
    with ProcessPoolExecutor(2) as pool:
        found = [one for one in pool.map(gained, chosen, chunksize=4) if one is not None]
    delays, mos = np.array([one.delays_ms for one in found]), np.array([one.mos for one in found])
    print(f"a command on {len(found)} of {len(chosen)} lines and directions")
    for words, of in (("without it", 0), ("with it", 1)):
        print(
            f"{words}: 99 % of a call's packets take at most {np.median(delays[:, of]):.4g} ms in the median of lines, "
            f"{np.quantile(delays[:, of], 0.9):.4g} ms on nine of ten; its MOS is {np.median(mos[:, of]):.2f} in the "
            f"median, {mos[:, of].min():.2f} at least"
        )
    worse = [one for one in found if one.delays_ms[1] > one.delays_ms[0]]
    print(f"longer with it on {len(worse)} of {len(found)}")
    for one in sorted(worse, key=lambda one: one.delays_ms[0] - one.delays_ms[1])[:10]:
        print(f"  {one.case}: {one.delays_ms[0]:.1f} ms without it, {one.delays_ms[1]:.1f} ms with it")


if __name__ == "__main__":
    main()
