"""What the page says of twins: how often one fits, how often an unknown queue is told, and how long it takes."""

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.detector.collect import RESULTS
from benchmarks.detector.seen import Seen, split
from benchmarks.detector.tables import share, table


def auroc(known: Sequence[Seen], new: Sequence[Seen], of: Callable[[Seen], float]) -> float:
    """Return how often a probe of a queue that was left out is stranger than one of a known queue."""
    if not known or not new:
        return float("nan")
    pairs = [(of(other), of(one)) for one in known for other in new]
    return float(np.mean([(high > low) + 0.5 * (high == low) for high, low in pairs]))


def _novelty(one: Seen) -> float:
    return one.judged.novelty


def strange(one: Seen) -> float:
    """Return how unlike all known queues a probe is, its twin taken into account; above 1 it is called unknown."""
    return float(one.about["strange"])


def _twin_apart(one: Seen) -> float:
    found = one.about["twin"]
    return float("nan") if found is None else float(found["distance"] / found["limit"])


_METHOD = (
    "After the forest has named a queue, that queue is simulated under the same probe. The waits, losses, marks and "
    "times between losses of each flow are compared, by Wasserstein distances of logarithms and differences of "
    "shares. The name is said only where their mean is within a limit, the distance from the training within "
    "another, and the sum of both within a third. Of simulated probes of known queues 95 % keep all three; none of "
    "these trained a forest. Policers and shapers have no twin."
)
TRIED = RESULTS / "choice.txt"
"""Tables that `benchmarks.detector.choose` writes."""
_TRIED = (
    "`python -m benchmarks.detector.choose MODEL.npz --out FILE` makes these tables, by which the model and the "
    "rule are chosen. A rule orders probes by how unlike all known queues they are. No probe of a kernel or of ns-3 "
    "takes part."
)
_CHOICE = (
    "The rule was chosen by simulated probes of six disciplines (ared, sqf, sfb, blue, pi2, cobalt) that are "
    "neither in training nor in this table. What was tried stands below. The twin was changed after looks at the "
    "kernel's probes. The rate of its link was that of whole trains, which other traffic slows down. PIE's other "
    "update times were added, and up to 3 % of a missing rate is ignored instead of 2 %. The limit of the novelty "
    "was added after a table like this one was seen. So the kernel's columns are no independent test of the twin. "
    "Why the limits let so many unknown queues pass is open: separate limits for paths with and without a missing "
    "rate were nearly the same."
)


def section(real: Sequence[Seen], simulated: Sequence[Seen]) -> list[str]:
    """Return the part of the page about twins."""
    title = "## Is a name said that does not fit?"
    return [title, _METHOD, _CHOICE, *_table(real, simulated), _TRIED, TRIED.read_text(encoding="utf-8").strip()]


def _known(seen: Sequence[Seen], of: Callable[[Seen], float]) -> list[Seen]:
    return [one for one in seen if not np.isnan(of(one))]


def _table(real: Sequence[Seen], simulated: Sequence[Seen]) -> list[str]:
    groups = [*split(real), *split(simulated)]

    def row(words: str, flags: Callable[[Seen], bool], own: Callable[[Seen], bool] = lambda _: True) -> list[str]:
        return [words, *(share([flags(one) for one in seen if own(one)]) for seen in groups)]

    def area(words: str, of: Callable[[Seen], float]) -> list[str]:
        found = [f"{auroc(_known(known, of), _known(new, of), of):.2f}" for known, new in (groups[:2], groups[2:])]
        return [words, "", found[0], "", found[1]]

    rows = [
        row("called unknown without a twin", lambda one: one.judged.is_new),
        row(
            "the twin does not fit",
            lambda one: not one.about["twin"]["fits"],
            lambda one: one.about["twin"] is not None,
        ),
        row("called unknown", lambda one: one.about["is_new"]),
        row("the same, where the name is right", lambda one: one.about["is_new"], lambda one: one.right),
        row("the name is right, where one is said", lambda one: one.right, lambda one: not one.about["is_new"]),
        area("AUROC without a twin", _novelty),
        area("AUROC of the twin alone", _twin_apart),
        area("AUROC of both", strange),
    ]
    heads = ("probes of a", "kernel, known", "kernel, left out", "simulation, known", "simulation, left out")
    work = [one.about["answer_cpu_s"] for one in (*real, *simulated)]
    text = (
        f"An answer with its twin takes {np.median(work):.2f} s of one processor in the median of all these probes, "
        f"{np.quantile(work, 0.95):.2f} s in 95 % of them and {max(work):.2f} s at most."
    )
    return [table(heads, rows), text]
