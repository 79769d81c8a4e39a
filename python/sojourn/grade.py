"""How responsive a path is under load: round trips in a minute, and the grade that speed tests give.

Responsiveness is that of draft-ietf-ippm-responsiveness-08, "Aggregating the Measurements", without TLS: the mean of
two parts, each a minute over a round-trip time. One part has probes beside the load, here pings. The other has the
flows that make the load, here what their senders measure, which the draft allows. Each is a mean without the longest
5 %.

The grade is that of DSLReports (www.dslreports.com/faq/17930), by how much longer a round trip takes under load. That
test loads one direction after the other and takes the mean; here the load is the scenario's.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn import _native
from sojourn.data.statistics import Statistic, statistic
from sojourn.report import Shown
from sojourn.worlds.world import Wanted

if TYPE_CHECKING:
    from sojourn.measured import Measured

THRESHOLDS_MS = (("A+", 5.0), ("A", 30.0), ("B", 60.0), ("C", 200.0), ("D", 400.0))
"""Each grade, and what the increase of the round-trip time must be below."""
WORST = "F"
PING = "ping"
"""The kind of traffic that measures."""
COLUMNS = (
    Shown("ping [ms more]", "increase_ms"),
    Shown("round trips/min", "rpm", decimals=0),
    Shown("of pings", "pings_rpm", decimals=0),
    Shown("of load", "load_rpm", decimals=0),
)


@dataclass(frozen=True)
class Grade:
    """What a path is worth under load."""

    increase_ms: Statistic
    """How much longer a ping takes than on the idle path."""
    rpm: Statistic
    """Round trips in a minute: the mean of the two below."""
    pings_rpm: Statistic
    load_rpm: Statistic

    @property
    def letter(self) -> str:
        """A+ to F; empty where no ping came back."""
        increase = self.increase_ms["mean"]
        return "" if increase is None else letter(increase)

    def cells(self) -> list[str]:
        """Return the grade and the numbers of `COLUMNS` as text."""
        return [self.letter, *(column.cell(getattr(self, column.metric)) for column in COLUMNS)]

    def row(self) -> dict[str, Any]:
        """Return the same as numbers."""
        return {"grade": self.letter or None, **{one.metric: getattr(self, one.metric)["mean"] for one in COLUMNS}}


def letter(increase_ms: float) -> str:
    """Return the grade for an increase of the round-trip time.

    >>> [letter(ms) for ms in (0, 5, 59.9, 399, 400)]
    ['A+', 'A', 'B', 'D', 'F']
    """
    return next((name for name, below in THRESHOLDS_MS if increase_ms < below), WORST)


def pings(scenario: Mapping[str, Any]) -> list[str]:
    """Return the groups that measure: pings without a mark, else all pings."""
    found = [group for group in scenario["group"] if group["traffic"]["kind"] == PING]
    plain = [group for group in found if group.get("dscp", "default") == "default"]
    return [group["name"] for group in plain or found]


def graded(result: "Measured") -> Grade | None:
    """Return the grade of a simulation; None where the scenario has no pings.

    The idle path is the same scenario with nothing but the pings, run once.
    """
    names = pings(result.scenario)
    if not names:
        return None
    idle_ms = _idle_ms(result, names)
    load = {group["name"]: group["flows"] for group in result.scenario["group"] if group["traffic"]["kind"] == "bulk"}
    rtts = [_mean([run["groups"][name]["rtt_ms"]["mean"] for name in names]) for run in result.runs]
    increases = [None if rtt is None or idle_ms is None else max(0.0, rtt - idle_ms) for rtt in rtts]
    beside = [_rpm(run, dict.fromkeys(names, 1)) for run in result.runs]
    inside = [_rpm(run, load) for run in result.runs]
    both = [one if other is None else _mean([one, other]) for one, other in zip(beside, inside, strict=True)]
    return Grade(statistic(increases), statistic(both), statistic(beside), statistic(inside))


def note() -> str:
    """Say what the grades are."""
    bounds = ", ".join(f"{name} below {bound:g}" for name, bound in THRESHOLDS_MS)
    return (
        f"Grades are those of DSLReports, by how many ms longer a ping takes under load: {bounds}, else {WORST}. "
        "Responsiveness as in draft-ietf-ippm-responsiveness-08."
    )


def sentence(result: "Measured") -> str:
    """Say how responsive the path was; empty where nothing measured it."""
    grade = graded(result)
    if grade is None or grade.rpm["mean"] is None:
        return ""
    increase, rpm, beside, inside = grade.cells()[1:]
    return (
        f"Responsiveness: {rpm} round trips per minute, {beside} of pings and {inside} of the load. "
        f"Grade {grade.letter}: under load a ping takes {increase} ms longer (DSLReports: {_said(grade.letter)})."
    )


def _said(grade: str) -> str:
    bounds = dict(THRESHOLDS_MS)
    return f"below {bounds[grade]:g} ms" if grade in bounds else f"{THRESHOLDS_MS[-1][1]:g} ms or more"


def _idle_ms(result: "Measured", names: Sequence[str]) -> float | None:
    """Return the mean round-trip time of the pings where nothing else is sent."""
    resolved = {key: value for key, value in result.scenario.items() if key not in ("change", "phase")}
    own = [group for group in resolved["group"] if group["name"] in names]
    # What links become while the run goes on is of the path; what groups become is of the load.
    changes = [_without_groups(change) for change in result.scenario.get("change", [])]
    changes = [change for change in changes if len(change) > 1]
    idle = _native.load_json(json.dumps({**resolved, "group": own, **({"change": changes} if changes else {})}))
    (run,) = idle.run([idle.seed], 1, Wanted().native, None)
    groups = json.loads(run.record())["groups"]
    return _mean([groups[name]["rtt_ms"]["mean"] for name in names])


def _without_groups(change: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in change.items() if key != "group"}


def _rpm(run: Mapping[str, Any], flows: Mapping[str, int]) -> float | None:
    """Return a minute over the mean of the groups' round-trip times, each counted as often as it has flows."""
    known = [(flows[name], rpm) for name in flows if (rpm := run["groups"][name]["rpm"]) is not None]
    return sum(count for count, _ in known) / sum(count / rpm for count, rpm in known) if known else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
