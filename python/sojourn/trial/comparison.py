"""An algorithm beside the usual ones, on the same seeds."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sojourn.api import Scenario
from sojourn.data.statistics import statistic
from sojourn.trial.laws import CONTROL, droptail, kind_of, lab

SEEDS = 3
DISCIPLINES: dict[str, Any] = {
    "droptail": droptail(100),
    "red": {"kind": "red", "limit": "100 packets"},
    "codel": "codel",
    "pie": "pie",
    "fq_codel": "fq_codel",
    "cake": "cake",
}
CONTROLS = ("newreno", "cubic", "bbr")


@dataclass(frozen=True)
class Row:
    """One place of the comparison, means over seeds."""

    subject: str
    """What is judged: the algorithm, or the one that it is compared with."""
    beside: str
    share: float | None
    """Part of the goodput of both that the subject's flows have, 0 to 1; None for a discipline."""
    queue_ms_mean: float | None
    queue_ms_p99: float | None
    utilization: float | None
    jain: float | None


def compare(name: str) -> Iterator[Row]:
    """Yield a control's shares beside others under six disciplines, or a discipline's queue beside six others'."""
    if kind_of(name) == CONTROL:
        for queue, setting in DISCIPLINES.items():
            for other in CONTROLS:
                groups = {"mine": {"control": name, "flows": 2}, "other": {"control": other, "flows": 2}}
                yield _row(lab(setting, groups), name, f"{other}, {queue}", share_of="mine")
        return
    for control in CONTROLS:
        groups = {"a": {"control": control, "flows": 4}}
        for queue, setting in ({name: name} | DISCIPLINES).items():
            yield _row(lab(setting, groups), queue, control)


def _row(lab: Scenario, subject: str, beside: str, *, share_of: str | None = None) -> Row:
    runs = lab.run(runs=SEEDS).runs

    def mean(values: Iterator[float | None]) -> float | None:
        return statistic(list(values))["mean"]

    return Row(
        subject,
        beside,
        None if share_of is None else mean(run["groups"][share_of]["share"] for run in runs),
        mean(run["bottleneck"]["queue_ms"]["mean"] for run in runs),
        mean(run["bottleneck"]["queue_ms"]["p99"] for run in runs),
        mean(run["bottleneck"]["utilization"] for run in runs),
        mean(run["jain"] for run in runs),
    )
