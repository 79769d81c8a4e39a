"""`python -m benchmarks.scout_knows`: up to where scout knows under fair queueing how fast a link is.

One best-effort download (CUBIC) beside one of scout under FQ-CoDel in both directions, 20 ms, two runs of 30 s. First
the rate of the way back falls, with and without the receiver's clock; then delays vary behind the queue. Three minutes
on two processors.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from benchmarks.detector.tables import table
from sojourn import api, plugins
from sojourn.study.find import find_folder

RUNS = 2
DOWN_MBPS = 100.0
UP_MBPS = (50.0, 25.0, 12.5, 10.0, 5.0, 2.5, 1.0)
RATES_MBPS = (10.0, 20.0, 50.0, 100.0, 200.0)
JITTERS_MS = (1, 3, 12)
PACKET_BITS, SINGLES = 12_000, 16
"""scout's singles tell a link from its half up to SINGLES packets in the time by which delays vary."""
QUEUE = {"kind": "fq_codel", "preset": "linux"}


@dataclass(frozen=True)
class Case:
    """A link in both directions, and the background control."""

    control: str
    down_mbps: float
    up_mbps: float
    jitter_ms: int = 0


def met(case: Case) -> tuple[float, float]:
    """Return what best effort keeps beside the background, and what that uses alone of what best effort does."""
    plugins.load(find_folder("answer").folder / "ablations.py")
    alone, both, background = (_goodputs(case, names) for names in (["tcp"], ["tcp", "low"], ["low"]))
    return both["tcp"] / alone["tcp"], background["low"] / alone["tcp"]


def _goodputs(case: Case, names: list[str]) -> dict[str, float]:
    common = {"transport": "linux", "rtt": "20 ms", "start": {"uniform": ["0 s", "1 s"]}}
    controls = {"tcp": "cubic", "low": case.control}
    links = {
        "bottleneck": {"rate": f"{case.down_mbps} Mbit/s", "queue": QUEUE, "jitter": f"{case.jitter_ms} ms"},
        "reverse": {"rate": f"{case.up_mbps} Mbit/s", "queue": QUEUE},
    }
    groups = [{"name": name, "control": controls[name], **common} for name in names]
    scenario = api.scenario({"duration": "30 s", "warmup": "10 s", **links, "group": groups})
    result = scenario.run(runs=RUNS, series=False, jobs=1)
    return {name: sum(run.groups[name].goodput_mbps for run in result.runs) / RUNS for name in names}


def main() -> None:
    """Print both tables."""
    back = [Case(control, DOWN_MBPS, up) for up in UP_MBPS for control in ("scout", "scout-without-stamps")]
    varying = [Case("scout", rate, rate, jitter) for jitter in JITTERS_MS for rate in RATES_MBPS]
    with ProcessPoolExecutor(2) as pool:
        found = [[f"{kept:.0%}", f"{used:.0%}"] for kept, used in pool.map(met, back + varying)]
    heads = ["up [Mbit/s]", "down : up", "kept", "used alone", "kept without stamps", "used alone without"]
    pairs = zip(UP_MBPS, found[: len(back) : 2], found[1 : len(back) : 2], strict=True)
    print(table(heads, [[f"{up:g}", f"{DOWN_MBPS / up:g}", *one, *other] for up, one, other in pairs]))
    heads = ["delays vary by [ms]", "rate [Mbit/s]", "known up to [Mbit/s]", "kept", "used alone"]
    bound = {jitter: SINGLES * PACKET_BITS / jitter / 1000 for jitter in JITTERS_MS}
    rows = [[f"{one.jitter_ms}", f"{one.down_mbps:g}", f"{bound[one.jitter_ms]:g}"] for one in varying]
    print(table(heads, [[*row, *cells] for row, cells in zip(rows, found[len(back) :], strict=True)]))


if __name__ == "__main__":
    main()
