"""An algorithm beside the usual ones, on the same seeds."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.trial.laws import CONTROL, DISCIPLINES, SEEDS, droptail, is_low_priority, kind_of, lab, mean

CONTROLS = ("newreno", "cubic", "bbr")
QUEUES: Mapping[str, Any] = {**DISCIPLINES, "droptail": droptail(500)}
"""The disciplines under which controls are compared.

DropTail has the buffer of the ready scenario `motivating-droptail`, 600 ms: with the 100 packets of `DISCIPLINES`,
120 ms, the queue would be below LEDBAT's target of 100 ms for much of the time, where LEDBAT does not mean to give way.
"""
START = {"start": {"uniform": ["0 s", "1 s"]}}
"""Flows beside each other start within a second."""
BEST_KNOWN = {True: "ledbat", False: "cubic"}
"""The control that one of low priority, and one that is not, is compared with: what hosts use today."""
_BULK = {"control": "newreno", "flows": 4}
_PAGES = {"kind": "web", "objects": 10, "size": "20 kB", "think": "2 s"}
_STEADY = {"traffic": {"kind": "cbr", "rate": "2 Mbit/s", "packet": "1500 B"}}
SITUATIONS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "5.1 bulk transfers": {"bulk": _BULK},
    "5.2 one aggressive flow": {"bulk": _BULK, "bbr": {"control": "bbr"}},
    "5.4 unresponsive traffic": {"bulk": _BULK, "steady": {**_STEADY, "flows": 3}},
    "5.5 low priority beside it": {"bulk": _BULK, "ledbat": {"control": "ledbat"}},
    "6.2 base RTTs of 5 and 200 ms": {
        "near": {"control": "newreno", "rtt": "5 ms"},
        "far": {"control": "newreno", "rtt": "200 ms"},
    },
    "7.2 bursts beside a bulk transfer": {
        "web": {"control": "newreno", "flows": 4, "traffic": _PAGES},
        "bulk": {"control": "newreno"},
        "steady": _STEADY,
    },
    "8.2 five times the load for 10 s": {
        "bulk": _BULK,
        "crowd": {"control": "newreno", "flows": 16, "start": "12 s", "stop": "22 s"},
    },
}
"""Situations in which RFC 7928 wants a discipline to be judged, by its sections, each shortened to half a minute."""


@dataclass(frozen=True)
class Row:
    """One place of the comparison, means over seeds."""

    subject: str
    """What is judged: the algorithm, or the one that it is compared with."""
    beside: str
    """The control that a control stands beside, or a discipline's situation."""
    queue: str
    share: float | None
    """Part of the goodput of both that the subject's flows have, 0 to 1; None for a discipline."""
    queue_ms_mean: float | None
    queue_ms_p99: float | None
    utilization: float | None
    jain: float | None

    @staticmethod
    def of(
        runs: Iterable[Mapping[str, Any]],
        subject: str,
        beside: str,
        queue: str,
        share: Callable[[Mapping[str, Any]], float | None] | None = None,
    ) -> "Row":
        """Return the means over these records; `share` reads the subject's part of the goodput, where it has one."""
        runs = list(runs)
        return Row(
            subject,
            beside,
            queue,
            None if share is None else mean(map(share, runs)),
            mean(run["bottleneck"]["queue_ms"]["mean"] for run in runs),
            mean(run["bottleneck"]["queue_ms"]["p99"] for run in runs),
            mean(run["bottleneck"]["utilization"] for run in runs),
            mean(run["jain_all"] for run in runs),
        )


def compare(name: str) -> Iterator[Row]:
    """Yield a control's shares beside others under six disciplines, or a discipline's queue in RFC 7928's situations.

    The best known of its kind goes through the same.
    """
    yield from _control(name) if kind_of(name) == CONTROL else _discipline(name)


def _control(name: str) -> Iterator[Row]:
    for subject in dict.fromkeys((name, BEST_KNOWN[is_low_priority(name)])):
        for queue in QUEUES:
            for other in CONTROLS:
                yield beside(subject, other, queue)


def beside(name: str, other: str, queue: str) -> Row:
    """Compare two flows of a control with two of another under one of `QUEUES`; they start within a second."""
    common = {"flows": 2, **START}
    groups = {"mine": {"control": name, **common}, "other": {"control": other, **common}}
    runs = lab(QUEUES[queue], groups).run(runs=SEEDS).runs
    return Row.of(runs, name, other, queue, lambda run: run["groups"]["mine"]["share"])


def _discipline(name: str) -> Iterator[Row]:
    for situation, groups in SITUATIONS.items():
        for queue, setting in ({name: name} | DISCIPLINES).items():
            yield Row.of(lab(setting, groups).run(runs=SEEDS).runs, queue, situation, queue)
