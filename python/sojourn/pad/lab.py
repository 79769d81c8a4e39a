"""`sojourn pad` beside one upload on a real kernel: what it did to the delay and to the upload."""

import json
from dataclasses import dataclass
from typing import Any

from sojourn.pad.kernel import BIN_S
from sojourn.worlds.linux.kernels import Kernel
from sojourn.worlds.linux.places import work_folder

MODULE = "sojourn.pad.kernel"
RATE_BPS = 800_000
MEASURED_FIRST_S = 40.0
"""So long the tool only measures: the idle path, then the upload without padding."""
_BEFORE_WINDOW_S = 20.0
_SLOWEST = 3.0
_BOOT_S = 60.0


@dataclass(frozen=True)
class Case:
    """An uplink of 800 kbit/s with one upload."""

    queue: str
    """In the words of tc."""
    duration_s: float = 240.0
    control: str = "reno"
    arguments: tuple[str, ...] = ()
    """Further arguments of the tool."""
    kill_after_s: float | None = None
    """When the tool is killed, from the start of the case."""


@dataclass(frozen=True)
class Outcome:
    """What was measured. Delays are medians in seconds, goodputs means in bit/s."""

    delay_before_s: float
    delay_after_s: float
    goodput_before_bps: float
    goodput_after_bps: float
    padding_packets: int


def run(case: Case, kernel: Kernel) -> dict[str, Any]:
    """Run a case and return the job's report; see `sojourn.pad.kernel`."""
    with work_folder() as place:
        (place / "plan.json").write_text(json.dumps(_plan(case)), encoding="utf-8")
        kernel.run(place, timeout_s=_BOOT_S + _SLOWEST * case.duration_s, module=MODULE)
        report: dict[str, Any] = json.loads((place / "report.json").read_text(encoding="utf-8"))
    return report


def _plan(case: Case) -> dict[str, Any]:
    times = ["--duration", f"{case.duration_s} s", "--before", f"{MEASURED_FIRST_S} s"]
    kill = {} if case.kill_after_s is None else {"kill_after_s": case.kill_after_s}
    return {
        "rate_bps": RATE_BPS,
        "queue": case.queue,
        "control": case.control,
        "duration_s": case.duration_s,
        "pad": [*times, *case.arguments],
        **kill,
    }


def outcome(report: dict[str, Any]) -> Outcome:
    """Compare the second half of the time with the rule at work to 20 s before it."""
    session = report["session"]
    before = (MEASURED_FIRST_S - _BEFORE_WINDOW_S, MEASURED_FIRST_S)
    after = ((MEASURED_FIRST_S + session["elapsed_s"]) / 2, session["elapsed_s"])
    ahead_s = session["began_s"] - report["upload_began_s"]

    def delay_s(window: tuple[float, float]) -> float:
        found = sorted(rtt - session["base_s"] for at, rtt in session["rtts"] if window[0] <= at < window[1])
        return float(found[len(found) // 2])

    def goodput_bps(window: tuple[float, float]) -> float:
        first, last = (round((at + ahead_s) / BIN_S) for at in window)
        bins = report["delivered_bytes"][first:last]
        return float(8 * sum(bins) / len(bins) / BIN_S)

    return Outcome(
        delay_s(before),
        delay_s(after),
        goodput_bps(before),
        goodput_bps(after),
        session["padding_packets"],
    )
